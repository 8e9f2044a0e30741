/// What is printed, as parts with a meaning: each renderer sets them in its own way.
public struct Slip: Sendable, Equatable {
    /// One part, from top to bottom. The texts are clean.
    public enum Block: Sendable, Equatable {
        /// Who it is from. Large.
        case title(String)
        /// The word that matters. Large.
        case stamp(String)
        case centred(String)
        case words(String)
        /// A name and its value; strong ones stand out.
        case pair(String, String, isStrong: Bool)
        case rule
        /// A QR code, where the renderer has one.
        case code(String)
    }

    public var blocks: [Block]

    /// - Parameter blocks: With texts that ``Receipt/clean(_:limit:)`` made.
    public init(_ blocks: [Block]) { self.blocks = blocks }
}

extension Receipt {
    /// The receipt's parts.
    /// - Parameter withCode: Whether the charge's ID stands at the end as a QR code, for staff to find it again.
    public func slip(withCode: Bool = false) -> Slip {
        var blocks: [Slip.Block] = []
        if isCopy { blocks.append(.stamp("COPY")) }
        blocks.append(.title(merchantName))
        blocks += header.map { .centred($0) }
        blocks += [.rule, .stamp(standing.title)]
        if let words = standing.words { blocks.append(.words(words)) }
        if isRefundedByHand { blocks.append(.words("The shop says that it gave the money back itself.")) }
        if isPaidTwice { blocks.append(.words("Paid more than once: the shop has a payment to give back.")) }
        blocks.append(.rule)
        if let amountText, let tipText {
            blocks += [.pair("Amount", amountText, isStrong: false), .pair("Tip", tipText, isStrong: false)]
        }
        blocks.append(.pair("Total \(currency)", totalText, isStrong: true))
        if let refundedText { blocks.append(.pair("Given back of it", refundedText, isStrong: false)) }
        blocks.append(.rule)
        let facts: [(String, String?)] = [
            ("Date", openedAt.text), ("Way of payment", way), ("Paid with", paidWith),
            ("Confirmed by", confirmedBy), ("Reference", reference), ("Code", code), ("Terminal", terminal),
            ("Merchant ID", merchantID), ("Charge", chargeID), ("Payment", paymentID),
            ("Transaction", transactionID), ("As known on", issuedAt.text),
        ]
        for (name, value) in facts {
            if let value, !value.isEmpty { blocks.append(.pair(name, value, isStrong: false)) }
        }
        if !footer.isEmpty { blocks += [.rule] + footer.map { .centred($0) } }
        if withCode { blocks.append(.code(chargeID)) }
        return Slip(blocks)
    }
}

extension Slip {
    /// A slip that shows whether a printer is set up right, and that nobody takes for a receipt.
    public static func test(_ options: PrinterOptions, merchantName: String, now: LocalTime) -> Slip {
        let ruler = String((1...options.columns.rawValue).map { Character(String($0 % 10)) })
        var blocks: [Block] = [
            .title(Receipt.clean(merchantName, limit: Receipt.longestLine)), .rule, .stamp("TEST"),
            .words("This is not a receipt. Nothing was charged."), .rule,
            .words("The next line fills the paper’s width exactly:"), .words(ruler),
            .words("These are letters, not signs: \(options.codePage.sample)"), .rule,
            .pair("Printed", now.text, isStrong: false),
        ]
        if options.showsCode { blocks.append(.code("TEST")) }
        return Slip(blocks)
    }
}
