import Foundation
import Payments
import WebServer

/// Where to report a vulnerability, for who finds one. Source: RFC 9116.
///
/// Whoever runs the terminal names the address in its configuration; without one nothing is served, since an address that
/// nobody reads is worse. `Expires` follows the clock: what is said is read from the configuration that is in use now.
struct SecurityContact: Sendable {
    static let path = "/.well-known/security.txt"
    private static let validDays = 90

    /// With its scheme: `mailto:`, `https:` or `tel:`.
    let address: String
    /// `https://…` of the terminal, without a path.
    let page: String

    func response(at now: WallTime) -> WebResponse {
        let day: Int64 = 86_400_000
        let expires = (now.millisecondsSince1970 / day + Int64(Self.validDays)) * day
        let date = Date(timeIntervalSince1970: Double(expires) / 1000)
        let text = """
            Contact: \(address)
            Expires: \(date.formatted(Date.ISO8601FormatStyle()))
            Preferred-Languages: en
            Canonical: \(page)\(Self.path)

            """
        return .file(Array(text.utf8), contentType: "text/plain; charset=utf-8")
    }
}
