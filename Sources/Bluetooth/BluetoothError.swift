import DBus

/// Why a phone could not be reached, or a link ended. None of these says anything about money.
public enum BluetoothError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The radio is off or gone. Wait for ``RadioState/ready(_:)``; nothing needs to be set up again.
    case unavailable(RadioState.Reason)
    /// No such phone has been seen lately. Scan again: its address may have changed.
    case unknownPhone(BluetoothAddress)
    /// A stage took longer than it may. The phone was let go; try again after a while.
    case tooSlow(Stage, after: Duration)
    /// BlueZ said no at a stage. Let the phone go; try again after a while.
    case refused(Stage, name: String, text: String)
    /// The link ended: out of reach, switched off, or the phone's wish.
    case disconnected
    /// The phone takes no fragments of a usable size.
    case valueTooShort(maximumBytes: Int)
    /// The phone sent more than the terminal keeps for it. It was let go.
    case flooded
    /// The calling task was cancelled. What had begun was undone.
    case cancelled

    /// What a link goes through, in this order.
    public enum Stage: String, Sendable, CaseIterable {
        case stopScanning, connect, resolve, open, read, send
        /// As a peripheral.
        case register
    }

    public var description: String {
        switch self {
        case .unavailable(let reason): reason.description
        case .unknownPhone(let address): "no phone \(address) is in sight"
        case .tooSlow(let stage, let after): "the phone was too slow to \(stage.rawValue): \(after)"
        case .refused(let stage, let name, let text): "\(stage.rawValue) refused: \(name) \(text)"
        case .disconnected: "the link to the phone ended"
        case .valueTooShort(let bytes): "the phone takes only \(bytes) bytes at once"
        case .flooded: "the phone sent more than can be kept"
        case .cancelled: "cancelled"
        }
    }

    init(_ error: BusError, at stage: Stage) {
        switch error {
        case .refused(let name, let text): self = .refused(stage, name: name, text: text)
        case .noAnswer(let after): self = .tooSlow(stage, after: after)
        case .cancelled: self = .cancelled
        case .disconnected(let reason): self = .unavailable(.noBus(reason))
        case .notSent(let reason), .unreadable(let reason): self = .refused(stage, name: "", text: reason)
        }
    }
}

/// Whether the radio can be used.
public enum RadioState: Sendable, Equatable {
    case ready(Radio)
    case unavailable(Reason)

    /// The adapter in use.
    public struct Radio: Sendable, Equatable {
        /// Such as `hci0`.
        public let name: String
        public let address: BluetoothAddress?
    }

    /// Why there is no radio. All heal by themselves when the cause goes.
    public enum Reason: Sendable, Equatable, CustomStringConvertible {
        /// Not looked yet.
        case starting
        /// No message bus: a defect of the machine's setup.
        case noBus(String)
        /// bluetoothd does not run.
        case noDaemon
        /// bluetoothd does not know an adapter of this name, or none at all.
        case noAdapter(String?)
        /// Off, and not to be switched on by this program, or not on yet.
        case poweredOff
        /// A switch of the machine, or flight mode, holds it off.
        case blocked
        /// bluetoothd refuses what is needed, in its words.
        case refused(String)

        public var description: String {
            switch self {
            case .starting: "Bluetooth is starting"
            case .noBus(let reason): "no message bus: \(reason)"
            case .noDaemon: "bluetoothd does not run"
            case .noAdapter(let name):
                name.map { "there is no Bluetooth adapter \($0)" } ?? "there is no Bluetooth adapter"
            case .poweredOff: "the Bluetooth adapter is off"
            case .blocked: "a switch of this machine holds Bluetooth off (rfkill)"
            case .refused(let text): "bluetoothd refuses: \(text)"
            }
        }
    }

    public var isReady: Bool { if case .ready = self { true } else { false } }
}

/// How long each stage may take, and when to try again.
public struct BluetoothTimings: Sendable {
    /// Source: BPP/1 section 13, T_conn.
    public var connect = Duration.seconds(5)
    /// Source: BPP/1 section 13, T_disc.
    public var resolve = Duration.seconds(5)
    /// Both pipes, and by itself a read. Source: BPP/1 section 13, T_hello.
    public var open = Duration.seconds(2)
    /// One fragment into a full pipe.
    public var send = Duration.seconds(3)
    public var stopScanning = Duration.seconds(2)
    /// Disconnecting, and by itself removing, a phone that is done. BlueZ needs some 3 s for a phone that is connected.
    public var remove = Duration.seconds(5)
    /// Between tries of one connect, within its time. Source: BPP/1 section 12.2.
    public var connectRetries: [Duration] = [.milliseconds(300), .seconds(1), .seconds(2)]
    /// Until a scan that was refused is asked for again.
    public var scanRetry = Duration.seconds(1)
    /// A scan that is refused for so long is told to whoever waits for phones. Longer than the kernel's own scan for a
    /// bluetoothd that crashed goes on. Source: Linux 6.1 include/net/bluetooth/hci_core.h, DISCOV_LE_TIMEOUT, 10.24 s.
    public var scanRefusal = Duration.seconds(20)
    /// A scan that saw no wanted phone for so long is started anew: some controllers tell of a phone once a scan.
    public var scanRestart = Duration.seconds(2)
    /// Between tries to reach the bus, to switch the adapter on, and to remove phones that could not be removed.
    public var healing: [Duration] = [.milliseconds(200), .milliseconds(500), .seconds(1), .seconds(2), .seconds(5)]

    public init() {}
}
