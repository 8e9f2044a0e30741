/// What a phone asks for over Improv.
///
/// Source: improv-wifi.com/ble, "RPC Command".
enum ImprovCommand: Sendable, Equatable {
    /// Join this network.
    case join(ImprovNetwork)
    /// Something that this terminal does not know, or does not do.
    case unknown(UInt8)
}

/// A network and its passphrase as a phone sent them: any bytes at all. The passphrase never shows in a text.
public struct ImprovNetwork: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// 0 to 253 bytes that should be the network's name in UTF-8.
    public let name: [UInt8]
    /// 0 to 253 bytes; empty for a network without a passphrase.
    public let passphrase: [UInt8]

    init(name: [UInt8], passphrase: [UInt8]) { (self.name, self.passphrase) = (name, passphrase) }

    public var description: String { "a network of \(name.count) bytes" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a phone wrote: a packet of Improv, a part of one, or anything at all. A passphrase may be in it, so it never shows in a text.
public struct ImprovPiece: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public var description: String { "a piece of \(bytes.count) bytes" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Packets of Improv: a command's number, the length of its data, the data, and the low byte of the sum of all before.
///
/// Source: improv-wifi.com/ble, "RPC Command" and "RPC Result".
public enum ImprovPacket {
    /// Bytes of the longest packet: two before the data, 255 of data, one after.
    static let longest = 258

    /// What a whole packet asks for; nil where length, checksum or strings are wrong.
    static func command(_ packet: [UInt8]) -> ImprovCommand? {
        guard packet.count >= 3, packet.count == Int(packet[1]) + 3, checksum(packet.dropLast()) == packet.last else {
            return nil
        }
        let data = packet[2..<(packet.count - 1)]
        switch packet[0] {
        case 1:
            guard let strings = strings(data), strings.count == 2 else { return nil }
            return .join(ImprovNetwork(name: strings[0], passphrase: strings[1]))
        default: return .unknown(packet[0])
        }
    }

    /// The answer to a command. Strings that have no room in it, at most 255 bytes each and 255 together with one byte before
    /// each, are left out, and all after them.
    public static func result(of command: UInt8, _ strings: [String]) -> [UInt8] {
        var data: [UInt8] = []
        for string in strings {
            let bytes = Array(string.utf8)
            guard data.count + 1 + bytes.count <= 255 else { break }
            data.append(UInt8(bytes.count))
            data += bytes
        }
        let packet = [command, UInt8(data.count)] + data
        return packet + [checksum(packet[...])]
    }

    /// Each with its length before it; nil where they do not fill the data.
    private static func strings(_ data: ArraySlice<UInt8>) -> [[UInt8]]? {
        var (rest, strings) = (data, [[UInt8]]())
        while let length = rest.popFirst() {
            guard rest.count >= Int(length) else { return nil }
            strings.append(Array(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        return strings
    }

    static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt8 { bytes.reduce(0) { $0 &+ $1 } }
}

/// Puts a packet together from the pieces that a phone writes. Keeps less than ``ImprovPacket/longest`` bytes.
struct ImprovAssembler: Sendable, Equatable {
    /// What a piece came to.
    enum Outcome: Sendable, Equatable {
        /// A part of a packet; more has to come.
        case unfinished
        case command(ImprovCommand)
        /// No packet of Improv. What was kept of it is gone.
        case invalid
    }

    /// From one piece to the next. A later one begins a new packet: what came before it was given up.
    static let pause = Duration.seconds(5)

    private(set) var kept = ImprovPiece([])
    private var last = Duration.zero

    /// Takes one written value, which came at `now` on a clock that nobody can set back.
    mutating func take(_ piece: ImprovPiece, at now: Duration) -> Outcome {
        let before = now - last > Self.pause ? [] : kept.bytes
        (kept, last) = (ImprovPiece([]), now)
        guard !piece.bytes.isEmpty, before.count + piece.bytes.count <= ImprovPacket.longest else { return .invalid }
        let packet = before + piece.bytes
        // The second byte says how long it is.
        guard packet.count >= 2, packet.count >= Int(packet[1]) + 3 else {
            kept = ImprovPiece(packet)
            return .unfinished
        }
        return ImprovPacket.command(packet).map(Outcome.command) ?? .invalid
    }
}
