import DBus
import Locks

/// A phone that is connected, with both pipes open. Close it when done; the phone is then disconnected and forgotten.
public final class Link: Sendable {
    /// How long each stage of the connecting took.
    public struct Times: Sendable, Equatable {
        public var stopScanning = Duration.zero
        public var connect = Duration.zero
        public var resolve = Duration.zero
        public var open = Duration.zero
    }

    public let address: BluetoothAddress
    /// Bytes of one value in either direction, 20 to 512.
    public let maximumValueLength: Int
    public let times: Times
    /// Notifications, in order. Ends when the link is down, with ``BluetoothError/flooded`` if that was the reason.
    /// For one reader.
    public var fragments: AsyncThrowingStream<[UInt8], any Error> { incoming.packets }

    private let central: BluetoothCentral
    private let path: ObjectPath
    private let epoch: Int
    private let read: ObjectPath
    private let incoming: PacketPipe
    private let outgoing: PacketPipe
    /// What the reading at the opening came to, until somebody asks for it.
    private let firstValue: Mutex<Result<[UInt8], BluetoothError>?>
    private let closing = Mutex<Task<Void, Never>?>(nil)

    init(_ opened: OpenedPipes, _ phone: HeldPhone, read: ObjectPath, times: Times, central: BluetoothCentral) {
        address = phone.address
        maximumValueLength = opened.maximumValueLength
        (incoming, outgoing) = (opened.incoming, opened.outgoing)
        (path, epoch) = (phone.path, phone.epoch)
        firstValue = Mutex(opened.firstValue)
        self.times = times
        self.read = read
        self.central = central
    }

    deinit {
        guard closing.withLock({ $0 == nil }) else { return }
        // Nobody closed it: the pipes go with this object, and the central forgets the phone.
        central.abandon(HeldPhone(address: address, path: path, epoch: epoch))
    }

    public var isOpen: Bool { incoming.isOpen && outgoing.isOpen }

    /// Reads the characteristic for reading, anew each time; the first reading was begun while the pipes were opened.
    public func read() async throws(BluetoothError) -> [UInt8] {
        let first = firstValue.withLock { value in
            defer { value = nil }
            return value
        }
        if let first { return try first.get() }
        return try await central.bluez.read(read)
    }

    /// Writes one value without a response, after those before it.
    ///
    /// - Throws: ``BluetoothError/tooSlow(_:after:)`` if the phone takes nothing; close the link then, since whether
    ///   the value went is not known.
    public func send(_ value: [UInt8]) async throws(BluetoothError) {
        if try sendAtOnce(value) { return }
        let outgoing = outgoing
        try await within(central.timings.send, clock: central.clock, stage: .send) { () throws(BluetoothError) in
            try await outgoing.send(value)
        }
    }

    /// Writes one value without a response where nothing has to be waited for.
    ///
    /// - Returns: Whether it went; ``send(_:)`` waits.
    public func sendAtOnce(_ value: [UInt8]) throws(BluetoothError) -> Bool {
        guard !value.isEmpty, value.count <= maximumValueLength else {
            throw .refused(.send, name: "", text: "\(value.count) bytes in a value of 1 to \(maximumValueLength)")
        }
        return try outgoing.sendAtOnce(value)
    }

    /// Disconnects the phone and removes it from bluetoothd. Returns when that is done, or cannot be done yet and is
    /// noted for later. Not undone by a cancelled task. May be called twice.
    public func close() async {
        incoming.close()
        outgoing.close()
        let (central, phone) = (central, HeldPhone(address: address, path: path, epoch: epoch))
        let task = closing.withLock { closing in
            let task = closing ?? Task { await central.bluez.discard(phone.path, of: phone.epoch) }
            closing = task
            return task
        }
        await task.value
    }
}

/// A phone that is in use, and of which bluetoothd.
struct HeldPhone: Sendable {
    let address: BluetoothAddress
    let path: ObjectPath
    let epoch: Int
}

struct OpenedPipes: Sendable {
    let incoming: PacketPipe
    let outgoing: PacketPipe
    let maximumValueLength: Int
    /// What was read meanwhile, or why nothing was.
    let firstValue: Result<[UInt8], BluetoothError>
}
