import Foundation
import Payments

/// What a program wants on the screen, checked.
struct MessageForm: Sendable, Equatable {
    enum Kind: String, Sendable, CaseIterable {
        /// Words.
        case text
        /// A code that opens a page on the customer's phone.
        case qr
        /// A question with two answers.
        case confirm
        /// A question with up to six.
        case choose
    }

    static let seconds: ClosedRange<Int64> = 5...600
    static let usualSeconds: Int64 = 60

    let kind: Kind
    let title: String
    let text: String
    /// Of the code.
    let content: String?
    /// What can be answered.
    let options: [String]
    let seconds: Int

    /// - Throws: ``Problem`` 400 or 422. Nothing is shown then.
    init(_ body: [UInt8], paymentHosts: [String]) throws(Problem) {
        var form = try Form(body)
        let kind = form.text("kind", limit: 20)
        title = form.text("title", limit: 60).trimmingCharacters(in: .whitespaces)
        text = form.text("text", limit: 200).trimmingCharacters(in: .whitespaces)
        let content = form.optionalText("content", limit: 300)
        let options = form.texts("options", limit: 6, each: 40)?.map { $0.trimmingCharacters(in: .whitespaces) }
        let seconds = form.integer("seconds")
        try form.finish()
        guard let kind = Kind(rawValue: kind) else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Self.wrong("kind", "kind_unknown", "There is no such kind of message.", "Use one of \(kinds).")
        }
        self.kind = kind
        guard !title.isEmpty else {
            throw Self.wrong("title", "required", "The message has no title.", "Say in a few words what it is about.")
        }
        guard (seconds.map(Self.seconds.contains) ?? true) else {
            throw Self.wrong(
                "seconds",
                "out_of_range",
                "A message cannot stay that long or that short.",
                "Use \(Self.seconds.lowerBound) to \(Self.seconds.upperBound) seconds."
            )
        }
        self.seconds = Int(seconds ?? Self.usualSeconds)
        guard (content != nil) == (kind == .qr) else {
            throw Self.wrong(
                "content",
                "not_for_this_kind",
                "A code, and nothing else, has content.",
                "Use kind qr for it."
            )
        }
        if let content, !Self.isHarmless(content, paymentHosts) {
            throw Self.wrong(
                "content",
                "code_not_allowed",
                "This is no plain https address, or it looks like a payment. The screen shows codes to pay for charges alone.",
                "Use the https address of a page that takes no money; to be paid, open a charge."
            )
        }
        self.content = content
        self.options = try Self.answers(options, kind)
    }

    private static func answers(_ options: [String]?, _ kind: Kind) throws(Problem) -> [String] {
        let given = options ?? []
        let isRight =
            switch kind {
            case .text, .qr: given.isEmpty
            case .confirm: options == nil || given.count == 2
            case .choose: (2...6).contains(given.count)
            }
        guard isRight, !given.contains(where: \.isEmpty), Set(given).count == given.count else {
            throw wrong(
                "options",
                "options_wrong",
                "These answers do not fit this kind of message.",
                "Send 2 different answers for confirm, 2 to 6 for choose, and none for the others."
            )
        }
        return kind == .confirm && given.isEmpty ? ["Yes", "No"] : given
    }

    private static func wrong(_ field: String, _ code: String, _ message: String, _ action: String) -> Problem {
        .field(field, Payments.Reason(code: code, message: message, action: action))
    }

    // MARK: - Codes

    /// Schemes and parts of addresses by which wallets are paid, wherever they stand in one.
    private static let payable = [
        "wc:", "bpp:", "upi:", "lnurl", "lightning:", "bitcoin:", "ethereum:", "solana:", "eip155:", "pid=", "pay=",
        "amount=", "symkey=", "javascript:", "data:",
    ]
    /// Parts of hosts' names that say that money is taken there.
    private static let paying: Set<Substring> = ["pay", "payment", "payments", "checkout", "wallet", "donate"]

    /// Whether an address may stand in a code: a page over https that does not look like a payment. It is a fence against
    /// mistakes and against the plainest misuse; the page's words that it is no payment are the other one.
    static func isHarmless(_ text: String, _ paymentHosts: [String]) -> Bool {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), text.lowercased().hasPrefix("https://"),
            let address = URLComponents(string: text), address.user == nil, address.password == nil,
            let host = address.host?.lowercased(), host.contains("."), !host.hasSuffix(".")
        else { return false }
        guard !paymentHosts.contains(where: { host == $0.lowercased() || host.hasSuffix("." + $0.lowercased()) }),
            paying.isDisjoint(with: host.split { $0 == "." || $0 == "-" })
        else { return false }
        // As it is written, and as a wallet may read it: decoded, and once more.
        var readings = [text.lowercased()]
        for _ in 0..<3 {
            guard let last = readings.last, let decoded = last.removingPercentEncoding?.lowercased() else {
                return false
            }
            readings.append(decoded)
        }
        return !readings.contains { reading in payable.contains { reading.contains($0) } }
    }
}
