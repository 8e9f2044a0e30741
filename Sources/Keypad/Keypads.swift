import CLinuxInput
import Dispatch
import Glibc
import Locks
public import Payments

/// What happened at the keypads.
public enum KeypadEvent: Sendable, Equatable {
    case pressed(CounterKey)
    /// Keys may be missing: a device fell off, dropped some, typed faster than people do, or nobody took them in time.
    case lost
    /// `+` and `-` were held together for eight seconds.
    case heldForErasing
    /// - Parameter name: The device's own word for itself, printable ASCII, at most 80 characters. For the log.
    case connected(name: String)
    case disconnected
}

/// The numeric keypads and keyboards of this machine, those too that are plugged in later.
///
/// They are kept from everybody else while this runs: no key reaches the console behind the screen. Where there are none,
/// or none may be read, nothing happens until there are. Needs the group `input`.
/// Source: linux/input.h; kernel, Documentation/input/event-codes.rst.
public final class Keypads: Sendable {
    /// Ends when ``run()`` does. Whoever is too slow loses the newest events, and is told so by ``KeypadEvent/lost``.
    public let events: AsyncStream<KeypadEvent>

    private let folder: String
    private let questions: InputQuestions
    private let outlet: Outlet

    /// - Parameter folder: Where the kernel's devices are.
    public convenience init(folder: String = "/dev/input") { self.init(folder: folder, questions: .kernel) }

    init(folder: String, questions: InputQuestions) {
        (self.folder, self.questions) = (folder, questions)
        let (stream, continuation) = AsyncStream.makeStream(of: KeypadEvent.self, bufferingPolicy: .bufferingOldest(64))
        (events, outlet) = (stream, Outlet(continuation))
    }

    /// Hands events on and never waits for who takes them.
    private final class Outlet: Sendable {
        private let continuation: AsyncStream<KeypadEvent>.Continuation
        private let hasLost = Mutex(false)

        init(_ continuation: AsyncStream<KeypadEvent>.Continuation) { self.continuation = continuation }

        func give(_ event: KeypadEvent) {
            hasLost.withLock { hasLost in
                if hasLost {
                    guard case .enqueued = continuation.yield(.lost) else { return }
                    hasLost = false
                }
                if case .dropped = continuation.yield(event) { hasLost = true }
            }
        }

        func finish() { continuation.finish() }
    }

    /// Listens until cancelled, and gives the devices back. Once only. Where the machine has no room for it, it ends at once
    /// and the terminal goes on without keys.
    public func run() async {
        defer { outlet.finish() }
        let wake = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard wake >= 0 else { return }
        defer { close(wake) }
        let (folder, questions, outlet) = (folder, questions, outlet)
        // A queue of its own: waiting for keys takes all its time.
        let queue = DispatchQueue(label: "keypad")
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async {
                    var loop = InputLoop(folder: folder, questions: questions, wake: wake) { outlet.give($0) }
                    loop.run()
                    continuation.resume()
                }
            }
        } onCancel: {
            // Closed only after the loop has ended, which waits for this.
            eventfd_write(wake, 1)
        }
    }
}
