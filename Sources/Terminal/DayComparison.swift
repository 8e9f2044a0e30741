public import Payments
import WalletConnectPay

/// What the journal knows of a charge, as far as a day's comparison needs it.
struct JournalPayment: Sendable, Equatable {
    /// How a payment stands in the journal.
    enum Standing: Sendable, Equatable {
        case open
        case paid
        /// Ended without money; the authority's word for it, nil where none was made as far as the journal knows.
        case unpaid(PaymentStatus?)
    }

    var id: ChargeID
    var code: ChargeCode
    var amount: Money
    var openedAt: WallTime
    /// How it stands as a whole.
    var standing: Standing
    /// Each payment that the journal has a name for.
    var payments: [String: Standing]
}

extension JournalPayment {
    /// Whether money could still come for it: also where it is paid already and a second payment is open.
    var isInFlight: Bool { standing == .open || payments.values.contains(.open) }

    init(_ charge: Charge) {
        id = charge.id
        code = charge.terms.code
        amount = charge.terms.amount
        openedAt = charge.terms.openedAt
        payments = [:]
        // A tap's payment is its acquirer's, and no gateway lists it.
        let attempts = charge.attempts.filter { $0.rail != .tap }
        for attempt in attempts {
            // Evidence names its payment also where no offer did.
            let name = attempt.offer?.paymentID ?? attempt.paidPaymentID
            if let name { payments[name] = attempt.standing }
        }
        let standings = attempts.map(\.standing)
        standing =
            standings.contains(.paid) ? .paid : standings.contains(.open) ? .open : standings.first ?? .unpaid(nil)
    }
}

extension Attempt {
    fileprivate var paidPaymentID: String? {
        if case .ended(.succeeded(let evidence), _) = phase { evidence.paymentID } else { nil }
    }

    fileprivate var standing: JournalPayment.Standing {
        switch phase {
        case .idle, .sending, .unanswered, .offered: .open
        case .ended(.succeeded, _): .paid
        case .ended(.failed, _): .unpaid(.failed)
        case .ended(.expired, _): .unpaid(.expired)
        case .ended(.cancelled, _): .unpaid(.cancelled)
        case .ended(.refused, _), .ended(.notFound, _), .ended(.neverSent, _): .unpaid(nil)
        }
    }
}

/// One thing in which the gateway's list and the journal do not say the same of a day.
public struct DayDifference: Sendable, Equatable, Codable {
    public enum Kind: String, Sendable, Equatable, Codable, CaseIterable {
        /// The gateway lists it as paid; the journal does not have it as paid.
        case paidAtGateway
        /// The journal has it as paid, by the gateway's own word; the list says otherwise.
        case paidInJournal
        /// No money moved by either; they disagree on how or whether it ended.
        case endedOtherwise
        /// The gateway lists a word for its status that nobody here knows.
        case unrecognised
        case amount
        case paidTwice
        /// The gateway lists it under another merchant ID.
        case otherMerchant
        /// The gateway lists it under another reference than its charge's.
        case otherReference
        /// The journal knows the payment; the gateway does not list it.
        case notListed
        /// The gateway lists it and it bears this terminal's mark; the journal does not have its charge.
        case lost
        /// The gateway lists it; no charge of this journal made it.
        case notOurs
    }

    public var kind: Kind
    /// Nil for a payment that is none of ours.
    public var charge: ChargeID?
    public var code: ChargeCode?
    public var paymentID: String?
    /// What was charged here, in minor units of its currency.
    public var amount: Money?
    /// The list's amount where it is money of a currency that is known here, else a token's where the list says how one is
    /// written.
    public var listedMoney: Money?
    public var listedToken: TokenAmount?
    /// The list's amount in smallest units and its status, cleaned: they come from outside.
    public var listedAmount: String?
    public var listedStatus: String?
    public var listedReference: String?
}

extension DayDifference.Kind {
    /// Money first: only so many differences are asked about and kept.
    var rank: Int {
        switch self {
        case .paidAtGateway, .lost: 0
        case .paidTwice: 1
        case .paidInJournal: 2
        case .amount: 3
        case .endedOtherwise, .unrecognised, .otherMerchant, .otherReference, .notListed, .notOurs: 4
        }
    }
}

/// Compares a day's list of the gateway with the journal. A function of the two: it asks nobody.
///
/// A charge belongs to the day in which it was opened, a payment of no charge to the day that the gateway names for it. Both
/// lists reach beyond the day, so that clocks that differ, and a payment made on the other side of midnight, find each other.
struct DayComparison: Sendable {
    var day: Range<WallTime>
    /// Charges opened from here on may not be in the list yet.
    var listedUntil: WallTime
    var merchantID: String
    /// Whether a charge of this name, without dashes, was made by this terminal or the one that its backup was taken from.
    var isOwn: @Sendable (String) -> Bool = { _ in false }

    /// What a comparison found, money first.
    struct Finding: Sendable, Equatable {
        var differences: [DayDifference] = []
        /// Charges of the day, each with whatever the gateway has of it.
        var compared = 0
        /// Those of them that have not ended: what they agree on now says nothing about how they end.
        var open = 0
    }

    /// - Parameters:
    ///   - journal: In any order, each charge once.
    ///   - listed: In any order; where a payment comes twice, its last entry counts.
    func find(journal: [JournalPayment], listed: [ListedEntry]) -> Finding {
        let ours = Dictionary(journal.map { ($0.id.compact, $0) }) { _, last in last }
        var ownerOfPayment: [String: String] = [:]
        for charge in journal { for name in charge.payments.keys { ownerOfPayment[name] = charge.id.compact } }
        var entries: [String: ListedEntry] = [:]
        for entry in listed { entries[entry.paymentID] = entry }

        var finding = Finding()
        finding.compared = journal.filter { day.contains($0.openedAt) }.count
        var paid: [String: [String]] = [:]
        for entry in entries.values.sorted(by: { $0.paymentID < $1.paymentID }) {
            let name =
                ownerOfPayment[entry.paymentID]
                ?? entry.reference.map(ChargeTerms.charge(ofReference:)).flatMap { ours[$0] == nil ? nil : $0 }
            guard let name, let charge = ours[name] else {
                if entry.createdAt.map(day.contains) ?? true {
                    let isLost = entry.reference.map(ChargeTerms.charge(ofReference:)).map(isOwn) ?? false
                    finding.differences.append(DayDifference(isLost ? .lost : .notOurs, nil, entry))
                }
                continue
            }
            guard day.contains(charge.openedAt) else { continue }
            if entry.status == .succeeded { paid[name, default: []].append(entry.paymentID) }
            finding.differences += differences(charge, entry)
        }
        for charge in journal where day.contains(charge.openedAt) {
            if charge.isInFlight { finding.open += 1 }
            finding.differences += missing(charge, entries)
            // What is booked is the first one, whatever it is called: the surplus is what is given back.
            let booked = charge.payments.filter { $0.value == .paid }.map(\.key).sorted()
            let others = Set(paid[charge.id.compact] ?? []).subtracting(booked).sorted()
            for surplus in (booked + others).dropFirst() {
                finding.differences.append(DayDifference(.paidTwice, charge, entries[surplus], paymentID: surplus))
            }
        }
        finding.differences = finding.differences.enumerated()
            .sorted { ($0.element.kind.rank, $0.offset) < ($1.element.kind.rank, $1.offset) }.map(\.element)
        return finding
    }

    private func differences(_ charge: JournalPayment, _ entry: ListedEntry) -> [DayDifference] {
        var found: [DayDifference.Kind] = []
        if let merchant = entry.merchantID, merchant != merchantID { found.append(.otherMerchant) }
        if let reference = entry.reference, !ChargeTerms.reference(reference, names: charge.id) {
            found.append(.otherReference)
        }
        if let amount = entry.amount, amount.contradicts(charge.amount) { found.append(.amount) }
        let standing = charge.payments[entry.paymentID] ?? (charge.payments.isEmpty ? charge.standing : .unpaid(nil))
        switch (entry.status, standing) {
        case (.unrecognised, _): found.append(.unrecognised)
        case (.succeeded, .paid): break
        case (.succeeded, _): found.append(.paidAtGateway)
        case (_, .paid): found.append(.paidInJournal)
        case (.requiresAction, .open), (.processing, .open): break
        case (let word, .unpaid(let known?)) where word == known: break
        case (_, .open), (_, .unpaid): found.append(.endedOtherwise)
        }
        return found.map { DayDifference($0, charge, entry) }
    }

    /// Payments that the journal has a name for and the list does not show.
    private func missing(_ charge: JournalPayment, _ entries: [String: ListedEntry]) -> [DayDifference] {
        guard charge.openedAt < listedUntil else { return [] }
        return charge.payments.keys.sorted().filter { entries[$0] == nil }
            .map { DayDifference(.notListed, charge, nil, paymentID: $0) }
    }
}

/// What a comparison needs of a listed payment: of ten thousand a day, no more than that is kept.
struct ListedEntry: Sendable, Equatable {
    var paymentID: String
    var reference: String?
    var merchantID: String?
    var status: PaymentStatus
    var amount: PayAmount?
    var createdAt: WallTime?
}

extension ListedEntry {
    init(_ payment: ListedPayment) {
        self.init(
            paymentID: payment.paymentID.rawValue,
            reference: payment.reference,
            merchantID: payment.merchantID,
            status: payment.status,
            amount: payment.amount?.short,
            createdAt: payment.createdAt.flatMap(WallTime.init(internetText:))
        )
    }
}

extension PayAmount {
    /// Without what takes most of the room and says nothing here: pictures, and how money is written for people.
    fileprivate var short: PayAmount {
        guard !unit.hasPrefix("iso4217/"), let display else { return PayAmount(unit: unit, value: value) }
        return PayAmount(
            unit: unit,
            value: value,
            display: AmountDisplay(
                assetSymbol: display.assetSymbol,
                assetName: "",
                decimals: display.decimals,
                networkName: display.networkName
            )
        )
    }

    /// Nil where it is no money, or is written so that it only looks like some: `01250` is not what was charged.
    fileprivate var money: Money? {
        guard unit.hasPrefix("iso4217/"), let currency = Currency(code: String(unit.dropFirst(8))),
            let minorUnits = Int64(value), minorUnits >= 0, String(minorUnits) == value
        else { return nil }
        return Money(minorUnits: minorUnits, currency: currency)
    }
}

extension DayDifference {
    init(_ kind: Kind, _ charge: JournalPayment?, _ entry: ListedEntry?, paymentID: String? = nil) {
        self.kind = kind
        self.charge = charge?.id
        code = charge?.code
        self.paymentID = paymentID ?? entry?.paymentID
        amount = charge?.amount
        listedMoney = entry?.amount?.money
        listedToken = entry?.amount?.tokenAmount
        listedAmount = entry?.amount.map { amount in
            let unit = amount.unit.hasPrefix("iso4217/") ? String(amount.unit.dropFirst(8)) : amount.unit
            return Reason.clean("\(amount.value.prefix(40)) \(unit.prefix(40))")
        }
        listedStatus = entry.map { Reason.clean(String($0.status.word.prefix(40))) }
        listedReference = entry?.reference.map { Reason.clean(String($0.prefix(40))) }
    }
}
