import Foundation
import Logging
import Payments
import Terminal

/// Looks after the page's certificate while the time may not be known yet: by a clock that nobody has set nothing is renewed and
/// nothing ends, and a terminal that has just started may have such a one.
struct CertificateKeeper: Sendable {
    let folder: String
    let names: [String]
    let localNames: [String]
    /// Whether the clock is set; nil where nobody can say, and the clock is believed then.
    let clockIsSet: @Sendable () -> Bool?
    /// The time by the clock; another in tests.
    var now: @Sendable () -> Date = { Date() }

    /// The certificate that a start serves.
    struct Choice: Sendable, Equatable {
        var page: PageCertificate
        /// Why the owner's certificate is not the one; nil where it is, or there is none.
        var objection: OwnersCertificate.Objection?
    }

    /// The certificate to serve: the owner's where there is a good one.
    /// - Parameter builtAt: When the program was built: a new certificate begins there where the time is not known, and holds
    ///   for a year once it is.
    /// - Throws: What the file system says.
    func load(builtAt: WallTime?) throws -> Choice {
        try load(orAt: date(builtAt))
    }

    /// The terminal's own certificate, for a server that the owner's one does not start.
    func device(builtAt: WallTime?) throws -> PageCertificate {
        try device(orAt: date(builtAt))
    }

    /// The certificate that the next start serves.
    /// - Throws: What the file system says.
    func next() throws -> Choice { try load(orAt: now()) }

    /// Has the next start serve a certificate that holds for longer, where the time has become known or the old one's end has
    /// come near, until cancelled.
    func run(_ clock: TerminalClock, _ logger: Logger, serving certificate: PageCertificate) async {
        var last = certificate.fingerprint
        while true {
            do { try await clock.sleep(.seconds(3600)) } catch { return }  // The terminal stops.
            guard clockIsSet() ?? true else { continue }
            do {
                let newest = try next()
                guard newest.page.fingerprint != last else { continue }
                last = newest.page.fingerprint
                logger.notice("the page has a new certificate from the next start on")
            } catch { logger.error("the page's certificate cannot be renewed", metadata: ["error": "\(error)"]) }
        }
    }

    /// The time; nil where the clock cannot be believed.
    var knownTime: Date? { clockIsSet() ?? true ? now() : nil }

    private func date(_ builtAt: WallTime?) -> Date {
        builtAt.map { Date(timeIntervalSince1970: Double($0.secondsSince1970)) } ?? now()
    }

    private func load(orAt fallback: Date) throws -> Choice {
        var objection: OwnersCertificate.Objection?
        do throws(OwnersCertificate.Objection) {
            if let own = try OwnersCertificate.stored(in: folder, at: knownTime) {
                return Choice(page: own.page, objection: nil)
            }
        } catch { objection = error }
        return Choice(page: try device(orAt: fallback), objection: objection)
    }

    private func device(orAt fallback: Date) throws -> PageCertificate {
        let time = knownTime
        return try DeviceCertificate.loadOrCreate(
            in: folder,
            names: names,
            localNames: localNames,
            at: time ?? fallback,
            isTimeKnown: time != nil
        )
    }
}
