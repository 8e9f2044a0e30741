import Testing

/// Starts Swift Testing. Without a file of this name SwiftPM writes one, and looks for XCTest's tests in the compiler's index,
/// which costs each build and finds none. Source: SwiftPM 6.3, `SwiftTarget.testEntryPointNames`.
@main struct TestRunner {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
