/// A payment link of WalletConnect Pay, read strictly: what it names is known, and so is that it can be trusted.
///
/// Source: WalletConnect Pay documentation, payment links; the official SDK's `extract_payment_id`.
public struct PaymentLink: Sendable, Hashable {
    /// The payment that it is about.
    public let paymentID: PaymentID

    /// Why a text is no payment link.
    public enum Refusal: Error, Sendable, Equatable {
        case empty
        case tooLong
        /// Neither a link, nor a pairing URI that carries one, nor a payment ID.
        case unsupportedFormat
        /// A link, but not to a host that may be trusted with payments.
        case untrustedHost(String)
        /// A link to the right host that names no payment.
        case noPaymentID
    }

    /// Reads a link with `pid`, a link with the ID as its path, a bare `pay_…`, or a `wc:` URI with one of them as `pay=`;
    /// plain, or percent-encoded once or twice.
    public init(_ text: String, hosts: LinkHosts = .walletConnectPay) throws(Refusal) {
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= 4096 else { throw .tooLong }
        var candidate = text
        var refusal = Refusal.unsupportedFormat
        for _ in 0..<3 {
            do throws(Refusal) {
                self = try PaymentLink(decoded: candidate, hosts: hosts)
                return
            } catch {
                // The most telling reason stays: a form that was understood beats one that was not.
                if error != .unsupportedFormat { refusal = error }
            }
            guard let next = PercentEncoding.decode(candidate), next != candidate else { break }
            candidate = next
        }
        throw refusal
    }

    private init(decoded text: String, hosts: LinkHosts) throws(Refusal) {
        if let id = PaymentID(text) {
            paymentID = id
        } else if text.lowercased().hasPrefix("wc:") {
            self = try Self.carried(by: text, hosts: hosts)
        } else if let address = WebAddress(text) {
            guard address.isSecure, hosts.contain(address.host), address.port == nil || address.port == 443 else {
                throw .untrustedHost(address.host)
            }
            guard let id = PaymentID(address.item("pid") ?? String(address.path.drop { $0 == "/" })) else {
                throw .noPaymentID
            }
            paymentID = id
        } else {
            throw .unsupportedFormat
        }
    }

    private static func carried(by uri: String, hosts: LinkHosts) throws(Refusal) -> PaymentLink {
        guard let mark = uri.firstIndex(of: "?") else { throw .unsupportedFormat }
        for pair in uri[uri.index(after: mark)...].split(separator: "&") where pair.hasPrefix("pay=") {
            guard let link = PercentEncoding.decode(pair.dropFirst(4)), !link.lowercased().hasPrefix("wc:") else {
                throw .unsupportedFormat  // A URI within a URI would go on for ever.
            }
            return try PaymentLink(link, hosts: hosts)
        }
        throw .unsupportedFormat
    }

    /// Whether a link that came with a payment names that payment, as far as it names one at all.
    ///
    /// True for a link that names none, such as a short link. False where one of its names is another payment's: of two
    /// names a wallet may follow either.
    static func names(_ id: PaymentID, in link: String) -> Bool {
        guard let address = WebAddress(link) else { return false }
        var named = address.items("pid")
        if let id = PaymentID(String(address.path.drop { $0 == "/" })) { named.append(id.rawValue) }
        return named.allSatisfy { $0 == id.rawValue }
    }

    /// Whether a text looks like a payment link, as the official SDK decides it: by six pieces of text anywhere in it.
    ///
    /// Says yes to much that is none, such as `https://applepay.com/`: good enough to choose a way, never to trust one.
    /// Source: reown-swift, `PaymentLinkDetector`.
    public static func isPaymentLink(_ text: String) -> Bool {
        let lower = text.lowercased()
        return ["pay.", "pay=", "pay_", "pay%2e", "pay%3d", "pay%5f"].contains { lower.contains($0) }
    }
}
