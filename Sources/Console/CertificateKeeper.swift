import Foundation
import Logging
import Payments
import Terminal

/// Looks after the terminal's own certificate while the time may not be known yet: by a clock that nobody has set nothing is
/// renewed, and a terminal that has just started may have such a one.
struct CertificateKeeper: Sendable {
    let folder: String
    let names: [String]
    let localNames: [String]
    /// Nil where nobody can say: then the clock is believed.
    let clockIsSet: @Sendable () -> Bool?
    /// By the clock; another in tests.
    var now: @Sendable () -> Date = { Date() }

    /// The certificate to serve.
    /// - Parameter builtAt: When the program was built: a new certificate begins there where the time is not known, and holds
    ///   for a year once it is.
    /// - Throws: What the file system says.
    func load(builtAt: WallTime?) throws -> DeviceCertificate {
        let isTimeKnown = clockIsSet() ?? true
        let built = builtAt.map { Date(timeIntervalSince1970: Double($0.secondsSince1970)) }
        return try load(at: isTimeKnown ? now() : built ?? now(), isTimeKnown)
    }

    /// Has the next start serve a certificate that holds for longer, where the time has become known or the old one's end has
    /// come near, until cancelled.
    func run(_ clock: TerminalClock, _ logger: Logger, serving certificate: DeviceCertificate) async {
        var next = certificate.fingerprint
        while true {
            do { try await clock.sleep(.seconds(3600)) } catch { return }  // The terminal stops.
            guard clockIsSet() ?? true else { continue }
            do {
                let newest = try load(at: now(), true)
                guard newest.fingerprint != next else { continue }
                next = newest.fingerprint
                logger.notice("the page has a new certificate from the next start on; its key stays")
            } catch { logger.error("the page's certificate cannot be renewed", metadata: ["error": "\(error)"]) }
        }
    }

    private func load(at date: Date, _ isTimeKnown: Bool) throws -> DeviceCertificate {
        try DeviceCertificate.loadOrCreate(
            in: folder,
            names: names,
            localNames: localNames,
            at: date,
            isTimeKnown: isTimeKnown
        )
    }
}
