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

let package = Package(
    name: "till",
    targets: [
        .target(name: "Payments", swiftSettings: swift6),
        .testTarget(name: "PaymentsTests", dependencies: ["Payments"], swiftSettings: swift6),
    ]
)
