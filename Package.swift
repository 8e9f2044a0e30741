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

/// As a package of others compiles what uses the libraries: without this package's own settings, and with no warning.
let outside: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// The test targets to declare, by name without `Tests` and separated by commas; all of them where it is not set. A test bundle
/// links what it declares, so whoever plays one part builds no other.
let chosenTests = Context.environment["TILL_TESTS"].map { Set($0.split(separator: ",").map { "\($0)Tests" }) }

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")

let package = Package(
    name: "till",
    products: [
        // Whoever executes payments over BLE, as terminals and phones ask it.
        .library(name: "Acquirer", targets: ["Acquirer"]),
        // BlueZ as central and as peripheral.
        .library(name: "Bluetooth", targets: ["Bluetooth"]),
        // What a wallet compares before it signs.
        .library(name: "Ethereum", targets: ["Ethereum"]),
        // Wi-Fi settings from a phone, the device's side.
        .library(name: "Improv", targets: ["Improv"]),
        // JSON that keeps every digit: the values of sessions' requests.
        .library(name: "StrictJSON", targets: ["StrictJSON"]),
        // Payments over BLE, both sides: no C and no system library, for apps too.
        .library(name: "TapProtocol", targets: ["TapProtocol"]),
        // A phone's checks before its account signs for such a payment.
        .library(name: "TapSigning", targets: ["TapSigning"]),
        .library(name: "WalletConnect", targets: ["WalletConnect"]),
        // With a relay client that reaches the network.
        .library(name: "WalletConnectNet", targets: ["WalletConnect", "WebSocket"]),
        .library(name: "WalletConnectPay", targets: ["WalletConnectPay"]),
        // With an HTTP client, so that `WalletConnectPay.configure` needs no transport.
        .library(name: "WalletConnectPayNet", targets: ["WalletConnectPay", "Net"]),
    ],
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
        // C libraries: a module map each, and a shim for what Swift cannot import. One importer each.
        .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        // What libmicrohttpd answers by itself, in the server's words.
        .target(name: "CMicrohttpdRefusals", linkerSettings: [.linkedLibrary("microhttpd"), .linkedLibrary("gnutls")]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CQRencode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CPango", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"])]),
        .systemLibrary(name: "CPaperPDF", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"])]),
        .systemLibrary(name: "CZBar", pkgConfig: "zbar", providers: [.apt(["libzbar-dev"])]),
        .systemLibrary(name: "CLinuxFramebuffer"),
        .systemLibrary(name: "CDRM", pkgConfig: "libdrm", providers: [.apt(["libdrm-dev"])]),
        .systemLibrary(name: "CLinuxInput"),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CClock"),
        .systemLibrary(name: "CSecp256k1", pkgConfig: "libsecp256k1", providers: [.apt(["libsecp256k1-dev"])]),
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CPostgres"),
        .systemLibrary(name: "CNettle", pkgConfig: "nettle", providers: [.apt(["nettle-dev"])]),
        .systemLibrary(name: "CZxcvbn", providers: [.apt(["libzxcvbn-dev"])]),
        .systemLibrary(name: "CALSA", pkgConfig: "alsa", providers: [.apt(["libasound2-dev"])]),

        // The mutex and the atomic values of all layers.
        .target(name: "Locks", swiftSettings: swift6),

        // Core: decides. No I/O, no clock of its own.
        .target(name: "Payments", swiftSettings: swift6),
        .target(name: "Receipts", dependencies: ["Payments"], swiftSettings: swift6),
        .target(name: "StrictJSON", swiftSettings: swift6),
        // Wi-Fi settings from a phone over Bluetooth.
        .target(name: "Improv", swiftSettings: swift6),
        .target(name: "Packing", dependencies: ["CZlib"], swiftSettings: swift6),
        .target(name: "Ethereum", dependencies: ["StrictJSON", "CSecp256k1", "CNettle"], swiftSettings: swift6),
        .target(
            name: "TapProtocol",
            dependencies: [.product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: swift6
        ),
        .target(name: "TapSigning", dependencies: ["Ethereum", "StrictJSON", "TapProtocol"], swiftSettings: swift6),
        .target(
            name: "WalletConnect",
            dependencies: ["Ethereum", "Locks", "StrictJSON", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: swift6
        ),
        .target(name: "WalletConnectPay", dependencies: ["Locks", "StrictJSON"], swiftSettings: swift6),
        .target(
            name: "Acquirer",
            dependencies: [
                "TapProtocol", "StrictJSON", "WalletConnectPay", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: swift6
        ),

        // Adapters: each touches one outside thing and knows no other adapter.
        .target(
            name: "Journal",
            dependencies: [
                "Locks", "Payments", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: swift6
        ),
        .target(name: "Net", dependencies: ["Locks", "WalletConnectPay", asyncHTTPClient], swiftSettings: swift6),
        .target(name: "DBus", dependencies: ["CDBus", "Locks"], swiftSettings: swift6),
        .target(name: "Avahi", dependencies: ["DBus", "Locks"], swiftSettings: swift6),
        .target(name: "Bluetooth", dependencies: ["DBus", "Locks"], swiftSettings: swift6),
        // Networks without a cable, through iwd.
        .target(name: "WiFi", dependencies: ["DBus", "Locks"], swiftSettings: swift6),
        // The update service, RAUC.
        .target(name: "Updates", dependencies: ["DBus"], swiftSettings: swift6),
        .target(
            name: "WebSocket",
            dependencies: [
                "Locks", "WalletConnect", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: swift6
        ),
        .target(name: "Executors", swiftSettings: swift6),
        .target(
            name: "Paper",
            dependencies: ["CPaperPDF", "Executors", "Locks", "Payments", "Receipts"],
            swiftSettings: swift6
        ),
        .target(
            name: "WebServer",
            dependencies: ["CMicrohttpd", "CMicrohttpdRefusals", "Locks", "Packing"],
            swiftSettings: swift6
        ),
        .target(name: "Keypad", dependencies: ["CLinuxInput", "Locks", "Payments"], swiftSettings: swift6),
        .target(name: "Postgres", dependencies: ["CPostgres", "Executors"], swiftSettings: swift6),
        .target(name: "Sound", dependencies: ["CALSA", "Executors", "Payments"], swiftSettings: swift6),
        .target(name: "Supervision", swiftSettings: swift6),
        .target(name: "Machine", swiftSettings: swift6),
        .target(
            name: "Screen",
            dependencies: ["CDRM", "CQRencode", "CPango", "CZBar", "CLinuxFramebuffer", "Executors", "Packing"],
            swiftSettings: swift6
        ),

        // Appliance: composes.
        .target(
            name: "Backup",
            dependencies: [
                "CZxcvbn", "Journal", "Locks", "Payments", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: swift6
        ),
        .target(
            name: "Terminal",
            dependencies: [
                "Acquirer", "Bluetooth", "Ethereum", "Executors", "Improv", "Locks", "Payments", "StrictJSON",
                "TapProtocol",
                "WalletConnect", "WalletConnectPay", "Journal", "Keypad", "Packing", "Screen", "Sound", "WiFi", logging,
            ],
            swiftSettings: swift6
        ),
        .target(
            name: "Console",
            dependencies: [
                "Backup", "Locks", "Machine", "Packing", "Paper", "Payments", "Receipts", "Sound", "StrictJSON",
                "Terminal", "Journal", "WalletConnect", "WebServer", "WiFi", logging,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: swift6
        ),
        .target(
            name: "Sandbox",
            dependencies: [
                "Acquirer", "Executors", "Locks", "Payments", "StrictJSON", "Ethereum", "TapProtocol", "TapSigning",
                "WalletConnectPay",
                "WalletConnect", "WebServer", "WebSocket", logging, .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: swift6
        ),

        // Programs: parse, build, run.
        .executableTarget(
            name: "till",
            dependencies: [
                "CClock", "CMalloc", "Acquirer", "Avahi", "Backup", "Bluetooth", "Locks", "Payments", "WalletConnect",
                "WalletConnectPay", "WebSocket", "DBus", "Journal", "Keypad", "Machine", "Net", "Postgres",
                "Supervision", "Updates", "WebServer", "Screen", "Sound", "WiFi", "Terminal", "Console", argumentParser,
                logging, serviceLifecycle, unixSignals, "Yams",
            ],
            swiftSettings: swift6
        ),
        .executableTarget(
            name: "till-sandbox",
            dependencies: [
                "Acquirer", "Bluetooth", "Payments", "StrictJSON", "Ethereum", "TapProtocol", "WalletConnectPay", "Net",
                "WalletConnect", "WebServer", "WebSocket", "Sandbox",
                argumentParser, logging, serviceLifecycle, unixSignals, "Yams",
            ],
            swiftSettings: swift6
        ),

        .executableTarget(
            name: "till-example-wallet",
            dependencies: ["Ethereum", "Net", "WalletConnectPay"],
            swiftSettings: swift6
        ),

        .executableTarget(
            name: "till-example-connect",
            dependencies: ["Ethereum", "WalletConnect", "WebSocket"],
            swiftSettings: swift6
        ),

        .executableTarget(name: "till-radio-check", dependencies: ["Bluetooth", "Locks"], swiftSettings: swift6),

        .executableTarget(
            name: "till-bench-journal",
            dependencies: [
                "Executors", "Journal", "Payments",
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: swift6
        ),
        .executableTarget(
            name: "till-bench-history",
            dependencies: ["Console", "Journal", "Payments", "Terminal"],
            swiftSettings: swift6
        ),
        .executableTarget(
            name: "till-bench-payment",
            dependencies: [
                "Console", "Ethereum", "Journal", "Locks", "Net", "Payments", "Sandbox", "Screen", "Terminal",
                "WalletConnectPay", asyncHTTPClient, logging, subprocess,
            ],
            swiftSettings: swift6
        ),
        .executableTarget(
            name: "till-bench-connect",
            dependencies: [
                "Ethereum", "Journal", "StrictJSON", "Terminal", "WalletConnect", "WebSocket", "till-sandbox",
                subprocess,
            ],
            swiftSettings: swift6
        ),
        .executableTarget(
            name: "till-bench-relay",
            dependencies: ["Locks", "StrictJSON", "WalletConnect", "WebSocket", "till-sandbox", subprocess],
            swiftSettings: swift6
        ),
        .executableTarget(name: "till-bench-screen", dependencies: ["Screen", subprocess], swiftSettings: swift6),
        .executableTarget(name: "till-bench-tap", dependencies: ["TapProtocol"], swiftSettings: swift6),
        .executableTarget(name: "till-bench-web", dependencies: ["Locks", "WebServer"], swiftSettings: swift6),

        // What tests share, beside them: of no product and imported by tests alone. Light, so that a target of the core builds no
        // other for it; what takes the terminal or starts a program has a kit of its own.
        .target(
            name: "TestSupport",
            dependencies: ["Locks", "Payments"],
            path: "Tests/TestSupport",
            swiftSettings: swift6
        ),
        .target(
            name: "BusTestSupport",
            dependencies: [subprocess],
            path: "Tests/BusTestSupport",
            swiftSettings: swift6
        ),
        .target(
            name: "TerminalTestSupport",
            dependencies: ["Journal", "Locks", "Payments", "Terminal", "TestSupport"],
            path: "Tests/TerminalTestSupport",
            swiftSettings: swift6
        ),

        // Tests.
        .testTarget(
            name: "BackupTests",
            dependencies: [
                "Backup", "Journal", "Payments", "TestSupport", subprocess,
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "Backup", "Console", "Journal", "Locks", "Machine", "Packing", "Paper", "Payments", "Receipts",
                "Screen", "Sound", "StrictJSON", "TapProtocol", "Terminal", "TerminalTestSupport", "TestSupport",
                "WalletConnect", "WalletConnectPay", "WebServer", "WiFi", logging, subprocess,
                .product(name: "Crypto", package: "swift-crypto"), .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "UpdatesTests",
            dependencies: ["BusTestSupport", "DBus", "Locks", "Updates", subprocess],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "DBusTests",
            dependencies: ["BusTestSupport", "DBus", "Locks"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "AvahiTests",
            dependencies: ["Avahi", "BusTestSupport", "DBus", "Locks", subprocess],
            exclude: ["network"],
            swiftSettings: swift6
        ),
        .testTarget(name: "ImprovTests", dependencies: ["Improv"], swiftSettings: swift6),
        .testTarget(
            name: "WiFiTests",
            dependencies: ["BusTestSupport", "DBus", "Locks", "WiFi"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "BluetoothTests",
            dependencies: ["Bluetooth", "BusTestSupport", "DBus", "Locks"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "JournalTests",
            dependencies: [
                "Journal", "Locks", "Payments", "till-bench-journal", "TestSupport", subprocess,
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["Files"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "AcquirerTests",
            dependencies: [
                "Acquirer", "Locks", "Net", "Payments", "Sandbox", "StrictJSON", "TapProtocol", "TestSupport",
                "WalletConnectPay",
            ],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "SandboxTests",
            dependencies: [
                "Locks", "Sandbox", "StrictJSON", "Ethereum", "Net", "Payments", "TestSupport", "WalletConnectPay",
                "WebServer", subprocess, .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["Vectors"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "PhoneTests",
            dependencies: ["Ethereum", "Locks", "Payments", "Sandbox", "StrictJSON", "TapProtocol", "TestSupport"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "WalletConnectPayTests",
            dependencies: ["Locks", "WalletConnectPay"],
            exclude: ["Vectors"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "SnippetTests",
            dependencies: ["Net", "WalletConnect", "WalletConnectPay", "WebSocket"],
            swiftSettings: outside
        ),
        .testTarget(
            name: "NetTests",
            dependencies: ["Locks", "Net", "WalletConnectPay", subprocess],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "RelayTests",
            dependencies: [
                "Locks", "Sandbox", "StrictJSON", "Payments", "TestSupport", "WalletConnect", "WebSocket",
                "till-sandbox", subprocess, .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["Certificates", "Vectors"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "ConnectWalletTests",
            dependencies: [
                "Ethereum", "Payments", "Sandbox", "StrictJSON", "TestSupport", "WalletConnect", "WebSocket",
                "till-example-connect", "till-sandbox", subprocess,
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["foreign_wallet.py", "requirements.txt", "typed_data.py"],
            swiftSettings: swift6
        ),
        .testTarget(name: "KeypadTests", dependencies: ["Keypad", "Locks", "Payments"], swiftSettings: swift6),
        .testTarget(name: "MachineTests", dependencies: ["Machine"], swiftSettings: swift6),
        .testTarget(name: "SoundTests", dependencies: ["Sound"], swiftSettings: swift6),
        .testTarget(name: "SupervisionTests", dependencies: ["Supervision", subprocess], swiftSettings: swift6),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", subprocess], swiftSettings: swift6),
        .testTarget(
            name: "PaperTests",
            dependencies: ["Paper", "Payments", "Receipts", "TestSupport"],
            swiftSettings: swift6
        ),
        .testTarget(name: "PaymentsTests", dependencies: ["Payments", "TestSupport"], swiftSettings: swift6),
        .testTarget(name: "ReceiptsTests", dependencies: ["Payments", "Receipts"], swiftSettings: swift6),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON", "TestSupport"], swiftSettings: swift6),
        .testTarget(
            name: "EthereumTests",
            dependencies: ["Ethereum", "StrictJSON", "TestSupport"],
            exclude: ["Vectors"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "TapProtocolTests",
            dependencies: [
                "TapProtocol", "TapSigning", "Ethereum", "StrictJSON", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            exclude: ["Vectors"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "WalletConnectTests",
            dependencies: [
                "Locks", "TestSupport", "WalletConnect", "Ethereum", "StrictJSON",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            exclude: ["Vectors"],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "TerminalTests",
            dependencies: [
                "Improv", "Locks", "Terminal", "Journal", "Keypad", "Payments", "Screen", "Sound",
                "TerminalTestSupport", "TestSupport", "WalletConnect", "WalletConnectPay", "WiFi", logging,
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "TapRailTests",
            dependencies: [
                "Acquirer", "CMalloc", "Ethereum", "Locks", "Terminal", "TapProtocol", "Journal", "Payments", "Sandbox",
                "Screen", "TerminalTestSupport", "TestSupport", "WalletConnectPay", logging,
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "ConnectRailTests",
            dependencies: [
                "Ethereum", "Locks", "Terminal", "Journal", "Payments", "Sandbox", "StrictJSON", "TerminalTestSupport",
                "TestSupport", "WalletConnect", "WalletConnectPay", "WebSocket", logging,
            ],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "ProgramTests",
            dependencies: [
                "till", "Bluetooth", "till-sandbox", "till-example-wallet", "Journal", "Locks", "Net", "Payments",
                "Postgres", "Terminal", "TestSupport", "WalletConnectPay", asyncHTTPClient, logging, subprocess,
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "AgreementTests",
            dependencies: [
                "Ethereum", "Journal", "Locks", "Payments", "Sandbox", "Terminal", "TerminalTestSupport", "TestSupport",
                "WalletConnectPay", logging,
            ],
            swiftSettings: swift6
        ),
        .testTarget(name: "PackingTests", dependencies: ["CZlib", "Packing"], swiftSettings: swift6),
        .testTarget(
            name: "WebServerTests",
            dependencies: ["Locks", "Packing", "WebServer", subprocess],
            swiftSettings: swift6
        ),
        .testTarget(
            name: "ScreenTests",
            dependencies: ["Locks", "Packing", "Screen", "TestSupport", "WalletConnectPay", subprocess],
            swiftSettings: swift6
        ),
    ]
)

/// What computes, and the tests that do: code that the tests run a million times over. They are optimised also where the rest is not;
/// to optimise what runs once takes longer than it saves. Only for the build that `scripts/compile` makes: SwiftPM takes no package
/// with such flags as a dependency. Source: docs/decisions/0030-building-for-tests.md.
let computing: Set = [
    "Locks", "StrictJSON", "Payments", "TapProtocol", "TapSigning", "Ethereum", "Screen",
    "PaymentsTests", "ScreenTests",
]
if Context.environment["TILL_OPTIMISED"] != nil {
    for target in package.targets where computing.contains(target.name) {
        target.swiftSettings?.append(.unsafeFlags(["-O"]))
    }
}

if let chosenTests {
    package.targets.removeAll { $0.type == .test && !chosenTests.contains($0.name) }
}
