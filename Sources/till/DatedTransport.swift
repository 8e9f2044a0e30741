import Console
import FoundationEssentials
import Locks
import Payments
import Terminal
import WalletConnectPay

/// Carries requests out, and notes how far the other side's clock is from this machine's. Where the other side's certificate is
/// not believed and nobody has set this machine's clock, it is the clock that is said to be at fault.
final class DatedTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let now: @Sendable () -> WallTime
    private let clockIsSet: @Sendable () -> Bool
    private let last = Mutex<MachineView.Offset?>(nil)

    /// - Parameter clockIsSet: Whether the kernel hears the time from outside.
    init(
        _ transport: any HTTPTransport,
        clockIsSet: @escaping @Sendable () -> Bool = { true },
        now: @escaping @Sendable () -> WallTime
    ) {
        (self.transport, self.clockIsSet, self.now) = (transport, clockIsSet, now)
    }

    /// By the last answer that said a time; nil before one came.
    var offset: MachineView.Offset? { last.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let sent = now()
        let response: HTTPResponse
        do throws(TransportError) { response = try await transport.send(request) } catch {
            guard error == .untrustedCertificate, !clockIsSet() else { throw error }
            throw .notSent(reason: GatewayLight.clockIsNotSet)
        }
        let received = now()
        // An answer that took long says little of the time: its date was written somewhere in between.
        let took = sent.duration(to: received)
        if (.zero...Duration.seconds(2)).contains(took), let date = response.header("Date").flatMap(Self.time) {
            let middle = (sent.millisecondsSince1970 + received.millisecondsSince1970) / 2
            let offset = MachineView.Offset(milliseconds: date.millisecondsSince1970 + 500 - middle, at: received)
            last.withLock { $0 = offset }
        }
        return response
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`. Source: RFC 9110, section 5.6.7; the two obsolete forms are not read.
    static func time(_ text: String) -> WallTime? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].count == 4, parts[0].hasSuffix(","), parts[5] == "GMT",
            let month = months.firstIndex(of: String(parts[2])), let day = number(parts[1], 1...31),
            let year = number(parts[3], 1970...9999)
        else { return nil }
        let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], 0...23), let minute = number(clock[1], 0...59),
            let second = number(clock[2], 0...60)
        else { return nil }
        let components = DateComponents(
            timeZone: .gmt,
            year: year,
            month: month + 1,
            day: day,
            hour: hour,
            minute: minute,
            second: second
        )
        return Calendar(identifier: .gregorian).date(from: components)
            .map { WallTime(millisecondsSince1970: Int64($0.timeIntervalSince1970) * 1000) }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func number(_ text: Substring, _ range: ClosedRange<Int>) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
}
