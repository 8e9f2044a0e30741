import Dispatch
import Testing

/// Starts Swift Testing. Without a file of this name SwiftPM writes one, and looks for XCTest's tests in the compiler's index for it,
/// which costs each build and finds none. Source: SwiftPM 6.3, `SwiftTarget.testEntryPointNames`.
@main struct TestRunner {
    // Not asynchronous itself: the programs under test have an asynchronous `main` each, and the linker would take one of theirs.
    static func main() {
        Task { await Testing.__swiftPMEntryPoint() as Never }
        dispatchMain()
    }
}
