// swift-tools-version: 6.2
import PackageDescription

// Apart from the project's own package: everything in it is built with the fuzzer's instrumentation. See scripts/fuzz.
let package = Package(
    name: "till-fuzz",
    dependencies: [.package(name: "till", path: "../..")],
    targets: [
        .systemLibrary(name: "CFuzzer"),
        .executableTarget(
            name: "till-fuzz",
            dependencies: [
                "CFuzzer", .product(name: "TapProtocol", package: "till"),
                .product(name: "TapSigning", package: "till"), .product(name: "Ethereum", package: "till"),
                .product(name: "Improv", package: "till"),
                .product(name: "Acquirer", package: "till"), .product(name: "WalletConnectPay", package: "till"),
            ]
        ),
    ]
)
