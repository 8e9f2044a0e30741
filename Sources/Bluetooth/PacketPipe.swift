import DBus
import Dispatch
import Glibc
import Locks

/// One end of a socket that carries whole packets between this process and bluetoothd: one packet is one ATT value.
///
/// What comes is read at once, whoever waits for it: bluetoothd drops a notification when its socket is full.
/// Source: BlueZ 5.66 src/gatt-client.c, `create_sock`, `notify_io_cb`.
final class PacketPipe: Sendable {
    /// Packets as they came. Ends when the other end is closed, with an error if too many were kept.
    let packets: AsyncThrowingStream<[UInt8], any Error>

    /// The descriptor, until it is closed: from then on its number may be somebody else's.
    private final class Socket: Sendable {
        let number: Mutex<Int32?>

        init(_ number: Int32) { self.number = Mutex(number) }

        func close() {
            number.withLock { number in
                if let number { Glibc.close(number) }
                number = nil
            }
        }
    }

    /// Packets that nobody has read yet. A payment takes some tens.
    private static let limit = 4_096
    /// Longer than any ATT value. Source: Bluetooth Core 5.4, Vol 3, Part F, 3.2.9.
    private static let packetBytes = 1_024

    private let socket: Socket
    private let source: Mutex<any DispatchSourceRead>
    private let continuation: AsyncThrowingStream<[UInt8], any Error>.Continuation
    private let order = Turnstile()

    /// - Returns: `nil` if somebody took the descriptor before.
    init?(_ descriptor: BusDescriptor, reads: Bool = true) {
        guard let number = descriptor.take() else { return nil }
        (packets, continuation) = AsyncThrowingStream.makeStream(
            of: [UInt8].self,
            bufferingPolicy: .bufferingOldest(Self.limit)
        )
        let continuation = continuation
        let source = DispatchSource.makeReadSource(
            fileDescriptor: number,
            queue: DispatchQueue(label: "bluetooth pipe")
        )
        source.setEventHandler {
            // A pipe for writing is read too: its end is the phone's leaving.
            if Self.drain(number, into: continuation) { source.cancel() }
        }
        let socket = Socket(number)
        source.setCancelHandler {
            socket.close()
            continuation.finish()
        }
        source.activate()
        self.socket = socket
        self.source = Mutex(source)
    }

    deinit { close() }

    /// Ends both directions. May be called twice.
    func close() {
        source.withLock { $0.cancel() }
        continuation.finish()
    }

    var isOpen: Bool { source.withLock { !$0.isCancelled } }

    /// Sends one packet, after those before it. Waits while the other end is full; cancel it to stop waiting.
    func send(_ packet: [UInt8]) async throws(BluetoothError) {
        try await order.enter()
        defer { order.leave() }
        while true {
            switch attempt(packet) {
            case .sent: return
            case .gone: throw .disconnected
            case .full(let waiter):
                await Self.untilWritable(waiter)
                if Task.isCancelled { throw .cancelled }
            }
        }
    }

    /// Sends one packet where nothing has to be waited for: no packet is before it, and the other end has room.
    /// - Returns: Whether it went.
    func sendAtOnce(_ packet: [UInt8]) throws(BluetoothError) -> Bool {
        guard order.enterAtOnce() else { return false }
        defer { order.leave() }
        switch attempt(packet) {
        case .sent: return true
        case .gone: throw .disconnected
        case .full(let waiter):
            Glibc.close(waiter)
            return false
        }
    }

    private enum Attempt {
        case sent, gone
        /// With a duplicate of the socket to wait on.
        case full(Int32)
    }

    private func attempt(_ packet: [UInt8]) -> Attempt {
        guard isOpen else { return .gone }
        // Under the lock, so that the number is still this socket's.
        return socket.number.withLock { number in
            guard let number else { return .gone }
            while true {
                let sent = unsafe Glibc.send(number, packet, packet.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                if sent >= 0 { return .sent }
                switch errno {
                case EINTR: continue
                case EAGAIN:
                    let waiter = fcntl(number, F_DUPFD_CLOEXEC, 0)
                    return waiter >= 0 ? .full(waiter) : .gone
                default: return .gone
                }
            }
        }
    }

    private static func untilWritable(_ number: Int32) async {
        let source = WriteWait(number)
        await withTaskCancellationHandler {
            await withCheckedContinuation { source.start($0) }
        } onCancel: {
            source.cancel()
        }
    }

    /// - Returns: Whether the other end is closed.
    private static func drain(
        _ number: Int32,
        into continuation: AsyncThrowingStream<[UInt8], any Error>.Continuation
    ) -> Bool {
        var buffer = [UInt8](repeating: 0, count: packetBytes)
        while true {
            let count = unsafe recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count < 0 {
                if errno == EINTR { continue }
                return errno != EAGAIN
            }
            if count == 0, isHungUp(number) { return true }
            if case .dropped = continuation.yield(Array(buffer.prefix(count))) {
                continuation.finish(throwing: BluetoothError.flooded)
                return true
            }
        }
    }

    /// An empty packet and the end both read as nothing.
    private static func isHungUp(_ number: Int32) -> Bool {
        let readHangUp: Int16 = 0x2000  // POLLRDHUP, which Swift's Glibc leaves out.
        var poller = pollfd(fd: number, events: readHangUp, revents: 0)
        return unsafe poll(&poller, 1, 0) > 0 && poller.revents & (readHangUp | Int16(POLLHUP | POLLERR)) != 0
    }
}

/// Waits once until a socket takes a packet. Owns its duplicate of the socket.
private final class WriteWait: Sendable {
    private enum State {
        case idle(Int32)
        case waiting(any DispatchSourceWrite)
        case over
    }

    private let state: Mutex<State>

    init(_ number: Int32) { state = Mutex(.idle(number)) }

    func start(_ continuation: CheckedContinuation<Void, Never>) {
        let isOver = state.withLock { state in
            guard case .idle(let number) = state else { return true }
            let source = DispatchSource.makeWriteSource(
                fileDescriptor: number,
                queue: DispatchQueue(label: "bluetooth pipe")
            )
            source.setEventHandler { source.cancel() }
            source.setCancelHandler {
                Glibc.close(number)
                continuation.resume()
            }
            state = .waiting(source)
            source.activate()
            return false
        }
        if isOver { continuation.resume() }
    }

    func cancel() {
        state.withLock { state in
            switch state {
            case .idle(let number): Glibc.close(number)
            case .waiting(let source): source.cancel()
            case .over: break
            }
            state = .over
        }
    }
}
