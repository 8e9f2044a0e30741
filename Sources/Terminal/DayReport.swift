public import Payments

/// What came of comparing one day of the gateway's list with the journal.
public struct DayReport: Sendable, Equatable, Codable {
    /// Why a comparison says nothing about a part of the day.
    public enum Gap: Sendable, Equatable, Codable {
        /// There is no gateway to ask.
        case notSetUp
        /// The gateway did not give the whole list. The text is for the log and for support.
        case listBroken(String)
        /// Entries of the list that say nothing that can be read.
        case unreadable(Int)
        /// Charges made at another gateway or for another merchant than the settings name now.
        case elsewhere(Int)
        /// More payments than are compared at once.
        case tooMany
        /// Differences that were not looked at more closely, because there were so many.
        case notAsked(Int)
        /// Differences about which the gateway gave no answer.
        case noAnswer(Int)
        /// Charges of which nobody knows yet how they end.
        case stillOpen(Int)
        /// Made before the day's end, it says nothing about the rest of the day.
        case dayNotOver

        /// Whether the same comparison could come to more at another time.
        var mayClose: Bool {
            switch self {
            case .notSetUp, .listBroken, .unreadable, .notAsked, .noAnswer, .stillOpen, .dayNotOver: true
            case .elsewhere, .tooMany: false
            }
        }
    }

    public var day: ShopDay
    public var from: WallTime
    public var until: WallTime
    public var comparedAt: WallTime
    /// Empty where the whole day was compared.
    public var gaps: [Gap]
    /// Charges of the day.
    public var charges: Int
    /// Payments in the list, those around midnight that belong to the days beside it included.
    public var listed: Int
    /// What does not agree, of this terminal's charges.
    public var differences: [DayDifference]
    /// What the merchant was paid without this terminal.
    public var notOurs: [DayDifference]
    /// Differences beyond those that are kept.
    public var more: Int
    public var moreNotOurs = 0
    /// Charges that turned out paid when they were asked about because of this comparison.
    public var booked: [ChargeID]

    /// When a later comparison of the day could not be finished and had nothing to add; nil where there was none.
    public var brokenSince: WallTime?

    /// More are counted and not kept.
    static let mostDifferences = 200

    public var isComplete: Bool { gaps.isEmpty }

    /// True where the whole day was compared and every charge of this terminal is what the gateway says it is.
    public var allAgree: Bool { isComplete && differences.isEmpty && more == 0 && booked.isEmpty }

    /// Whether it says anything that a complete report from before does not. An incomplete one that only knows less is no
    /// news.
    func isNews(after earlier: DayReport) -> Bool {
        isComplete || !booked.isEmpty || more > earlier.more
            || differences.contains { new in !earlier.differences.contains { new.isSame(as: $0) } }
    }

    /// Whether to try again by itself.
    var mayImprove: Bool { gaps.contains(where: \.mayClose) }
}

extension DayReport {
    /// The result in a sentence, and what to do.
    public var summary: Reason {
        let result = result
        guard brokenSince != nil else { return result }
        return Reason(
            code: result.code,
            message: result.message,
            action: result.action + " A later comparison could not be finished; what this one found still stands.",
            values: result.values.merging(["case": (result.values["case"] ?? "") + "_since"]) { _, new in new }
        )
    }

    private var result: Reason {
        if !isComplete {
            return Reason(
                code: "comparison_incomplete",
                message: "The comparison is not complete: \(gaps.map(\.words).joined(separator: "; ")).",
                action: gaps.contains(.dayNotOver)
                    ? "The day is compared by itself once it is over. What is listed below was found so far."
                    : mayImprove
                        ? "It is tried again by itself. What is listed below was found so far."
                        : "What is listed below was found so far. Look at the gateway for the rest.",
                values: ["case": gaps.contains(.dayNotOver) ? "today" : mayImprove ? "again" : "rest"]
            )
        }
        guard differences.isEmpty, more == 0 else {
            let count = differences.count + more
            return Reason(
                code: "comparison_differs",
                message: count == 1
                    ? "The gateway and this terminal do not agree on one point."
                    : "The gateway and this terminal do not agree on \(count) points.",
                action: "Look at each one below before you close the books of this day.",
                values: ["case": count == 1 ? "one" : "many", "count": "\(count)"]
            )
        }
        if !booked.isEmpty {
            return Reason(
                code: "comparison_booked",
                message: booked.count == 1
                    ? "The gateway had one payment that the terminal did not know of yet. It is booked now; all the rest agrees."
                    : "The gateway had \(booked.count) payments that the terminal did not know of yet. They are booked now; "
                        + "all the rest agrees.",
                action: "Look at them in the history: if a customer paid another way too, give one payment back.",
                values: ["case": booked.count == 1 ? "one" : "many", "count": "\(booked.count)"]
            )
        }
        let count = charges == 1 ? "the one charge" : "all \(charges) charges"
        return Reason(
            code: "comparison_agrees",
            message: charges == 0
                ? "There were no charges, and the gateway lists none for this terminal."
                : "The gateway and this terminal agree on \(count) of this day.",
            action: "Nothing is to be done.",
            values: ["case": charges == 0 ? "none" : charges == 1 ? "one" : "many", "count": "\(charges)"]
        )
    }
}

extension DayReport.Gap {
    /// In words, under a stable code.
    public var reason: Reason {
        let (code, values): (String, [String: String]) =
            switch self {
            case .notSetUp: ("gap_not_set_up", [:])
            case .listBroken(let why): ("gap_list_broken", ["detail": Reason.clean(why)])
            case .unreadable(let count): ("gap_unreadable", ["count": "\(count)"])
            case .elsewhere(let count): ("gap_elsewhere", ["count": "\(count)"])
            case .tooMany: ("gap_too_many", [:])
            case .notAsked(let count): ("gap_not_asked", ["count": "\(count)"])
            case .noAnswer(let count): ("gap_no_answer", ["count": "\(count)"])
            case .stillOpen(let count): ("gap_still_open", ["count": "\(count)"])
            case .dayNotOver: ("gap_day_not_over", [:])
            }
        return Reason(code: code, message: words, action: "", values: values)
    }

    fileprivate var words: String {
        switch self {
        case .notSetUp: "the terminal is not set up for a gateway"
        case .listBroken(let why): "the gateway did not give its whole list (\(Reason.clean(why)))"
        case .unreadable(1): "one entry of the gateway’s list cannot be read"
        case .unreadable(let count): "\(count) entries of the gateway’s list cannot be read"
        case .elsewhere(1): "one charge was made at another gateway or for another merchant than the settings name now"
        case .elsewhere(let count):
            "\(count) charges were made at another gateway or for another merchant than the settings name now"
        case .tooMany: "there are more payments than this terminal compares"
        case .notAsked(let count): "\(count) differences were too many to ask the gateway about each"
        case .noAnswer(1): "the gateway gave no answer about one difference"
        case .noAnswer(let count): "the gateway gave no answer about \(count) differences"
        case .stillOpen(1): "it is not known yet how one charge ends"
        case .stillOpen(let count): "it is not known yet how \(count) charges end"
        case .dayNotOver: "the day is not over yet"
        }
    }
}

extension DayDifference {
    /// What differs, in plain words, and what to do.
    public func reason(format: AmountFormat) -> Reason {
        let charge = [code.map { "code \($0)" }, amount.map(format.text)].compactMap { $0 }.joined(separator: ", ")
        let word = listedStatus ?? "unknown"
        var values = ["word": word]
        values["code"] = code?.rawValue
        values["amount"] = amount.map(format.text)
        // What is in smallest units only is said in English.
        if listedMoney != nil || listedToken != nil { values["listed"] = listedText(format) }
        func reason(_ message: String, _ action: String) -> Reason {
            Reason(code: "day_" + Self.snake(kind.rawValue), message: message, action: action, values: values)
        }
        switch kind {
        case .paidAtGateway:
            return reason(
                "The gateway lists a payment of this charge as paid (\(charge)). It is not booked as paid here.",
                "Do not charge again. The terminal asked for the payment's status and got no word that books it; look at "
                    + "the gateway."
            )
        case .paidInJournal:
            return reason(
                "This charge is booked as paid (\(charge)); the gateway lists it as “\(word)”.",
                "Look at the payment at the gateway before you count on the money."
            )
        case .endedOtherwise:
            return reason(
                "The gateway lists this charge as “\(word)” (\(charge)); this terminal knows another end of it, or none yet. "
                    + "Neither says that it was paid.",
                "Nothing is to be done unless the customer says otherwise."
            )
        case .unrecognised:
            return reason(
                "The gateway lists this charge with a word that this terminal does not know: “\(word)” (\(charge)).",
                "Look at the payment at the gateway; update the terminal."
            )
        case .amount:
            return reason(
                "The gateway lists another amount than was charged (\(charge)): \(listedText(format)).",
                "Look at the payment at the gateway and call for help."
            )
        case .paidTwice:
            return reason(
                "The customer paid more than once for this charge (\(charge)). This payment is one too many.",
                "Give this payment back."
            )
        case .otherMerchant:
            return reason(
                "The gateway lists this charge under another merchant ID than the one in the settings (\(charge)).",
                "Check the merchant ID in the settings and call for help."
            )
        case .otherReference:
            return reason(
                "The gateway lists the payment of this charge under another reference (\(charge)).",
                "Look at the payment at the gateway and call for help."
            )
        case .notListed:
            return reason(
                "This charge has a payment that the gateway does not list (\(charge)).",
                "Look for the payment at the gateway by its ID."
            )
        case .lost:
            return reason(
                "The gateway lists a payment of \(listedText(format)) as “\(word)” that this terminal made. Its charge is not in "
                    + "the record: the record was restored from a backup, or has lost its end.",
                "Book it by hand, and do not charge the customer again. Ask for help if nobody restored a backup."
            )
        case .notOurs:
            return reason(
                "The gateway lists a payment of \(listedText(format)) as “\(word)” that this terminal did not make.",
                "Another terminal or a web shop of this merchant may have made it. If there is none, call for help."
            )
        }
    }

    /// The list's amount as people write it; in smallest units, and so said, where nobody here knows how.
    private func listedText(_ format: AmountFormat) -> String {
        if let listedMoney { return format.text(listedMoney) }
        if let listedToken {
            let network = listedToken.network.map { " on \($0)" } ?? ""
            return "\(listedToken.plain)\u{00A0}\(listedToken.symbol)\(network)"
        }
        return listedAmount.map { "\($0) in smallest units" } ?? "an amount it does not name"
    }

    fileprivate func isSame(as other: DayDifference) -> Bool {
        (kind, charge, paymentID) == (other.kind, other.charge, other.paymentID)
    }

    private static func snake(_ name: String) -> String {
        String(name.flatMap { $0.isUppercase ? ["_", Character($0.lowercased())] : [$0] })
    }
}
