// swift-tools-version: 6.2
import PackageDescription

let swift6: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")

let package = Package(
    name: "till",
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
    ],
    targets: [
        .systemLibrary(name: "CSecp256k1", pkgConfig: "libsecp256k1", providers: [.apt(["libsecp256k1-dev"])]),
        .systemLibrary(name: "CNettle", pkgConfig: "nettle", providers: [.apt(["nettle-dev"])]),
        .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(name: "StrictJSON", swiftSettings: swift6),
        .target(name: "Ethereum", dependencies: ["StrictJSON", "CSecp256k1", "CNettle"], swiftSettings: swift6),
        .target(name: "Payments", swiftSettings: swift6),
        .target(name: "WalletConnectPay", swiftSettings: swift6),
        .target(
            name: "WalletConnect",
            dependencies: ["Ethereum", "StrictJSON", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: swift6
        ),
        .target(name: "WebServer", dependencies: ["CMicrohttpd"], swiftSettings: swift6),
        .target(
            name: "WebSocket",
            dependencies: [
                "WalletConnect",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: swift6
        ),
        .target(name: "Net", dependencies: ["WalletConnectPay", asyncHTTPClient], swiftSettings: swift6),
        .target(
            name: "Sandbox",
            dependencies: [
                "Payments", "StrictJSON", "Ethereum", "WalletConnect", "WalletConnectPay", "WebServer", "WebSocket",
                logging, .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: swift6
        ),
        .executableTarget(
            name: "till-sandbox",
            dependencies: [
                "Payments", "StrictJSON", "Ethereum", "WalletConnectPay", "Net", "WebServer", "WebSocket", "Sandbox",
                argumentParser, logging, serviceLifecycle, unixSignals, "Yams",
            ],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "RelayTests",
            dependencies: [
                "Sandbox", "StrictJSON", "Payments", "WalletConnect", "WebSocket", "till-sandbox", subprocess,
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["Certificates", "Vectors"],
            swiftSettings: swift6
        ),
        .executableTarget(
            name: "till-bench-relay",
            dependencies: [
                "StrictJSON", "WalletConnect", "WebSocket", "till-sandbox", subprocess,
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: swift6
        ),
    ]
)
