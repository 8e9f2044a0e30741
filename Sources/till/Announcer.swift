import FoundationEssentials
import Glibc
import Payments
import Terminal

/// Tells a program that runs the terminal for development or tests what its screen shows, one JSON object a line.
///
/// Off unless asked for: it carries the claim code, which belongs on the device's screen and nowhere else.
struct Announcer: Sendable {
    private struct Line: Encodable {
        var event: String
        var url: String?
        var code: String?
        var id: String?
        var state: String?
        var link: String?
        /// Where the customer's own phone follows it.
        var page: String?
        var readable: Bool?
        var checking: Int?
        var unresolved: Bool?
        var late: Bool?
        /// Milliseconds since 1970, to set beside the times of other programs on this machine.
        var at: Int64
    }

    let descriptor: Int32

    /// Why nothing can be written down, and where the page that says so is.
    func trouble(_ code: String, pageAt url: String?) {
        write(Line(event: "trouble", url: url, code: code, at: WallTime.now.millisecondsSince1970))
    }

    /// Writes a line for each change until cancelled.
    func run(_ desk: ChargeDesk) async {
        var last: Line?
        for await snapshot in await desk.snapshots() {
            var line = Line(event: "idle", at: WallTime.now.millisecondsSince1970)
            switch snapshot.phase {
            case .starting(let checking): (line.event, line.checking) = ("starting", checking)
            case .unclaimed(let invitation):
                (line.event, line.url, line.code) = ("claim", invitation.url, invitation.code)
            case .resetting(let invitation):
                (line.event, line.url, line.code) = ("reset", invitation.url, invitation.code)
            case .setup: line.event = "setup"
            case .idle: break
            case .charging(let charge):
                line.event = "charge"
                line.id = charge.id.rawValue
                line.code = charge.charge.terms.code.rawValue
                line.state = charge.charge.state.rawValue
                line.link = charge.link
                line.page = charge.page?.address
                line.readable = charge.isReadableOnScreen
                line.unresolved = charge.isUnresolved
                line.late = charge.charge.isLate
            }
            if let last, Self.isSame(last, line) { continue }
            write(line)
            last = line
        }
    }

    func listening(at url: String) { write(Line(event: "listening", url: url, at: WallTime.now.millisecondsSince1970)) }

    private static func isSame(_ one: Line, _ other: Line) -> Bool {
        one.event == other.event && one.url == other.url && one.code == other.code && one.id == other.id
            && one.state == other.state && one.link == other.link && one.page == other.page
            && one.readable == other.readable
            && one.checking == other.checking && one.unresolved == other.unresolved && one.late == other.late
    }

    private func write(_ line: Line) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings, numbers and flags: there is nothing in it that could not be encoded.
        guard var bytes = (try? encoder.encode(line)).map(Array.init) else { return }
        bytes.append(UInt8(ascii: "\n"))
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            // The reader is gone: it does not want to know any more, and the terminal goes on.
            guard written > 0 else { return }
            rest = rest.dropFirst(written)
        }
    }
}
