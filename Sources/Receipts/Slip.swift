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
    /// Above everything, where the renderer prints pictures.
    public var picture: SlipPicture?
    /// Where renderers can, names then stand right and values left.
    public var readsRightToLeft = false

    /// - Parameter blocks: With texts that ``Receipt/clean(_:limit:)`` made.
    public init(_ blocks: [Block]) { self.blocks = blocks }
}

extension Receipt {
    /// What a document that holds it is called.
    public var documentTitle: String { "\(ReceiptWords.inLanguage(language).receipt) \(code)" }

    /// The receipt's parts.
    /// - Parameters:
    ///   - withCode: Whether the charge's ID stands at the end as a QR code, for staff to find it again.
    ///   - picture: The merchant's logo.
    ///   - printer: What prints it; nil for pages. Printers that write from left to right only get English.
    public func slip(
        withCode: Bool = false,
        for printer: PrinterOptions? = nil,
        picture: SlipPicture? = nil
    ) -> Slip {
        let own = ReceiptWords.inLanguage(language)
        let words = printer != nil && own.readsRightToLeft ? .english : own
        var blocks: [Slip.Block] = []
        if isCopy { blocks.append(.stamp(words.copy)) }
        blocks.append(.title(merchantName))
        blocks += header.map { .centred($0) }
        blocks += [.rule, .stamp(words.title(standing))]
        // Where staff gave the money back, that it went is their word and no authority's.
        let meaning = standing == .refunded && isRefundedByHand ? nil : words.meaning(standing)
        if let meaning { blocks.append(.words(meaning)) }
        if isRefundedByHand { blocks.append(.words(words.refundedByHand)) }
        if isPaidTwice { blocks.append(.words(words.paidTwice)) }
        blocks.append(.rule)
        if let amountText, let tipText {
            blocks += [.pair(words.amount, amountText, isStrong: false), .pair(words.tip, tipText, isStrong: false)]
        }
        blocks.append(.pair("\(words.total) \(currency)", totalText, isStrong: true))
        if let refundedText { blocks.append(.pair(words.givenBack, refundedText, isStrong: false)) }
        blocks.append(.rule)
        let facts: [(String, String?)] = [
            (words.date, openedAt.text), (words.way, way.map(words.ways)), (words.paidWith, paidWith),
            (words.confirmedBy, confirmedBy.map(words.authorities)), (words.reference, reference), (words.code, code),
            (words.terminal, terminal),
            (words.merchantID, merchantID), (words.charge, chargeID), (words.payment, paymentID),
            (words.transaction, transactionID), (words.asKnownOn, issuedAt.text),
        ]
        for (name, value) in facts {
            if let value, !value.isEmpty { blocks.append(.pair(name, value, isStrong: false)) }
        }
        if !footer.isEmpty { blocks += [.rule] + footer.map { .centred($0) } }
        if withCode { blocks.append(.code(chargeID)) }
        var slip = Slip(blocks)
        slip.readsRightToLeft = words.readsRightToLeft
        slip.picture = picture
        return slip
    }
}

extension Slip {
    /// A slip that shows whether a printer is set up right, and that nobody takes for a receipt.
    /// - Parameter picture: The merchant's logo.
    public static func test(
        _ options: PrinterOptions,
        merchantName: String,
        now: LocalTime,
        picture: SlipPicture? = nil
    ) -> Slip {
        let ruler = String((1...options.columns.rawValue).map { Character(String($0 % 10)) })
        var blocks: [Block] = [
            .title(Receipt.clean(merchantName, limit: Receipt.longestLine)), .rule, .stamp("TEST"),
            .words("This is not a receipt. Nothing was charged."), .rule,
            .words("The next line fills the paper’s width exactly:"), .words(ruler),
            .words("These are letters, not signs: \(options.codePage.sample)"), .rule,
            .pair("Printed", now.text, isStrong: false),
        ]
        if options.showsCode { blocks.append(.code("TEST")) }
        var slip = Slip(blocks)
        slip.picture = picture
        return slip
    }
}
