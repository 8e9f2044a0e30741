import Ethereum
import Payments
import StrictJSON

/// One line of a state file: what was asked of the gateway, and everything else that decided what came of it.
///
/// A line is the checksum of the rest, a blank, and one JSON object.
struct StateRecord: Sendable, Equatable {
    enum Kind: String {
        /// How the gateway was configured from here on.
        case settings
        /// A call of a merchant, a wallet or a browser.
        case call
        /// An order of the control API.
        case control
    }

    let kind: Kind
    let at: WallTime
    let content: ExactJSON

    /// Without the line feed.
    var line: String {
        let text = ExactJSON.members([
            "kind": .string(kind.rawValue), "at": .integer(at.millisecondsSince1970), "content": content,
        ]).text
        return Self.checksum(text) + " " + text
    }

    init(_ kind: Kind, at: WallTime, _ content: ExactJSON) { (self.kind, self.at, self.content) = (kind, at, content) }

    /// Nil for a line that is not what was written.
    init?(line: String) {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, Self.checksum(String(parts[1])) == parts[0],
            let json = try? ExactJSON(parsing: Array(parts[1].utf8), limits: .init(bytes: 1 << 22, depth: 64)),
            let kind = json["kind"]?.stringValue.flatMap(Kind.init), let at = json["at"]?.integerValue,
            let content = json["content"]
        else { return nil }
        self.init(kind, at: WallTime(millisecondsSince1970: at), content)
    }

    /// 64 bits of Keccak-256: there is no enemy here, only worn disks and editors.
    static func checksum(_ text: String) -> String { hex(keccak256(Array(text.utf8)).bytes.prefix(8)) }
}

/// Why a state file cannot be used, for the person who started the gateway or the phone.
public struct StateFileError: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String

    public init(description: String) { self.description = description }
}
