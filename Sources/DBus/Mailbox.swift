import CDBus
import Glibc
import Locks

/// What other threads want the thread of a connection to do.
final class Mailbox: Sendable {
    typealias Command = @Sendable (BusLoop) -> Void

    private struct State {
        var commands: [Command] = []
        var failure: BusError?
        var isOpen = true
    }

    private let state = Mutex(State())
    /// Wakes the thread; closed with this object, which the thread holds.
    let wake: Int32

    init() throws(BusError) {
        wake = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard wake >= 0 else { throw .disconnected(reason: "no descriptor left to wake a thread with") }
    }

    deinit { close(wake) }

    /// - Returns: False once the thread has ended; the command was dropped then.
    @discardableResult
    func post(_ command: @escaping Command) -> Bool {
        let taken = state.withLock { state in
            guard state.isOpen else { return false }
            state.commands.append(command)
            return true
        }
        if taken { eventfd_write(wake, 1) }
        return taken
    }

    func takeAll() -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// The last commands. Nothing is taken from here on.
    func shut(_ failure: BusError) -> [Command] {
        state.withLock { state in
            defer { state = State(commands: [], failure: failure, isOpen: false) }
            return state.commands
        }
    }

    /// Why nothing is taken any more.
    var failure: BusError? { state.withLock { $0.failure } }

    func rest() {
        var count: eventfd_t = 0
        unsafe eventfd_read(wake, &count)
    }
}

/// A thread of its own, so that a C library's work never holds the shared pool.
enum BusThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    static func start(_ run: @escaping @Sendable () -> Void) throws(BusError) {
        let context = unsafe Unmanaged.passRetained(Body(run))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread,
            nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            context.toOpaque()
        )
        guard result == 0 else {
            unsafe context.release()
            throw .disconnected(reason: "no thread could be started")
        }
        pthread_detach(thread)
    }
}
