public import Journal
public import Payments
import TapProtocol

/// The durable memory that the Tap rail needs. `Journal` is one.
public protocol TapJournal: Sendable {
    /// Appends entries, all or none. Returns once they survive a power cut; act on them only then.
    func append(_ entries: [TapEntry], vouchers: [TapVoucher]) async throws(JournalError)
    func tapEntries(of charge: ChargeID, attempt: Attempt.ID) async throws(JournalError) -> [TapEntry]
    func tapEntries(ofPayment payment: String) async throws(JournalError) -> [TapEntry]
    func tapPayments(with kind: String, without other: String) async throws(JournalError) -> [String]
    func tapVouchers() async throws(JournalError) -> [TapVoucher]
    /// Forgets what is known of vouchers.
    func forget(vouchers passes: [String]) async throws(JournalError)
    func document(_ name: String) async throws(JournalError) -> StoredDocument?
    func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        with secret: SecretChange?,
        by actor: Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange
}

extension Journal: TapJournal {}

/// One thing that happened to a payment over BLE, as the journal keeps it.
enum TapRecord: Sendable, Hashable {
    /// The payment was made. Nothing of it has left the terminal before this.
    case requested(Signed<TerminalCertificate>, Signed<PaymentRequest>, acquirerURL: String)
    /// An accept has passed its checks. Kept with the claim that it wins; nothing follows from it before.
    case accepted(sid: [UInt8], Signed<PaymentAcceptance>, Signed<PaymentPass>)
    /// The accept has won.
    case claimed(sid: [UInt8], Signed<PaymentClaim>, isTerminalOnline: Bool)
    /// The accept has won offline: claim and end in one.
    case promised(sid: [UInt8], Signed<PaymentClaim>)
    case reopened(attempt: Int)
    case unknown
    case receipt(Signed<PaymentReceipt>)
    case done(TerminalPayment.Outcome)
    /// A phone does not want to be asked again.
    case declined(sid: [UInt8])
    /// The acquirer's answer to a payment that was taken offline.
    case settled(TapSyncAnswer.Verdict, isPaid: Bool)
    /// The acquirer gave a paid payment back.
    case givenBack
    /// A wallet's signatures have won, and the WalletConnect Pay gateway gets them next; or an accept to pay the link has,
    /// and its phone pays it next. Then there are none.
    case walletClaimed(sid: [UInt8], Signed<PaymentClaim>, WalletSignatures?)
    /// The gateway's word that those signatures paid nothing; or the phone has not paid the link in time.
    case walletDropped

    var kind: String {
        switch self {
        case .requested: "requested"
        case .accepted: "accepted"
        case .claimed: "claimed"
        case .promised: "promised"
        case .reopened: "reopened"
        case .unknown: "unknown"
        case .receipt: "receipt"
        case .done: "done"
        case .declined: "declined"
        case .settled: "settled"
        case .givenBack: "given-back"
        case .walletClaimed: "wallet-claimed"
        case .walletDropped: "wallet-dropped"
        }
    }

    var encoded: [UInt8] {
        let map: CBORMap =
            switch self {
            case .requested(let certificate, let request, let url):
                [1: .bytes(certificate.encoded), 2: .bytes(request.encoded), 3: .text(url)]
            case .accepted(let sid, let accept, let pass):
                [1: .bytes(sid), 2: .bytes(accept.encoded), 3: .bytes(pass.encoded)]
            case .claimed(let sid, let claim, let isOnline):
                [1: .bytes(sid), 2: .bytes(claim.encoded), 3: .bool(isOnline)]
            case .promised(let sid, let claim), .walletClaimed(let sid, let claim, nil):
                [1: .bytes(sid), 2: .bytes(claim.encoded)]
            case .walletClaimed(let sid, let claim, let signed?):
                [
                    1: .bytes(sid), 2: .bytes(claim.encoded), 3: .text(signed.optionID),
                    4: .array(signed.signatures.map(CBOR.text)),
                ]
            case .reopened(let attempt): [1: .integer(attempt)]
            case .unknown, .givenBack, .walletDropped: [:]
            case .receipt(let receipt): [1: .bytes(receipt.encoded)]
            case .done(let outcome): [1: .integer(outcome.number)]
            case .declined(let sid): [1: .bytes(sid)]
            case .settled(let verdict, let isPaid): [1: .text(verdict.rawValue), 2: .bool(isPaid)]
            }
        return CBOR.map(map).encoded
    }

    /// - Throws: ``JournalError``: the entry was written by a newer version, or by nobody.
    init(_ entry: TapEntry) throws(JournalError) {
        let corrupt = JournalError.corrupt(
            detail: "an entry “\(entry.kind)” of payment \(entry.payment) cannot be read"
        )
        do {
            guard case .map(let map) = try CBOR(decoding: entry.body) else { throw corrupt }
            guard let record = try Self.read(entry.kind, map) else {
                throw JournalError.fromNewerVersion(detail: "an entry “\(entry.kind)” of payment \(entry.payment)")
            }
            self = record
        } catch let error as JournalError { throw error } catch { throw corrupt }
    }

    /// Nil for a kind of a newer version.
    private static func read(_ kind: String, _ map: CBORMap) throws -> TapRecord? {
        func bytes(_ key: Int) throws -> [UInt8] {
            guard case .bytes(let bytes)? = map[key] else { throw MalformedObject.missing(key: key) }
            return bytes
        }
        func text(_ key: Int) throws -> String {
            guard case .text(let text)? = map[key] else { throw MalformedObject.missing(key: key) }
            return text
        }
        switch kind {
        case "requested":
            return .requested(
                try Signed(decoding: bytes(1)),
                try Signed(decoding: bytes(2)),
                acquirerURL: try text(3)
            )
        case "accepted":
            return .accepted(sid: try bytes(1), try Signed(decoding: bytes(2)), try Signed(decoding: bytes(3)))
        case "claimed":
            return .claimed(
                sid: try bytes(1),
                try Signed(decoding: bytes(2)),
                isTerminalOnline: map[3] == .bool(true)
            )
        case "promised": return .promised(sid: try bytes(1), try Signed(decoding: bytes(2)))
        case "reopened": return .reopened(attempt: map[1]?.asInteger ?? 1)
        case "unknown": return .unknown
        case "receipt": return .receipt(try Signed(decoding: bytes(1)))
        case "done":
            guard let outcome = TerminalPayment.Outcome(number: map[1]?.asInteger ?? 0) else { return nil }
            return .done(outcome)
        case "declined": return .declined(sid: try bytes(1))
        case "settled":
            guard let verdict = TapSyncAnswer.Verdict(rawValue: try text(1)) else { return nil }
            return .settled(verdict, isPaid: map[2] == .bool(true))
        case "given-back": return .givenBack
        case "wallet-claimed":
            return .walletClaimed(sid: try bytes(1), try Signed(decoding: bytes(2)), WalletSignatures(map))
        case "wallet-dropped": return .walletDropped
        default: return nil
        }
    }
}

/// What a wallet has signed for one of the gateway's options, as the gateway gets it.
struct WalletSignatures: Sendable, Hashable {
    let optionID: String
    let signatures: [String]

    init(optionID: String, _ signatures: [String]) { (self.optionID, self.signatures) = (optionID, signatures) }

    /// Nil where an entry has none: of a link, or of an earlier version.
    fileprivate init?(_ map: CBORMap) {
        guard case .text(let option)? = map[3], case .array(let items)? = map[4] else { return nil }
        self.init(optionID: option, items.compactMap { if case .text(let text) = $0 { text } else { nil } })
    }
}

extension TerminalPayment.Outcome {
    var number: Int {
        switch self {
        case .completed: 1
        case .failed: 2
        case .cancelled: 3
        case .acceptedOffline: 4
        case .paidElsewhere: 5
        }
    }

    init?(number: Int) {
        guard let outcome = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = outcome
    }
}

/// The durable memory of the Tap rail, over the journal.
struct TapArchive: Sendable {
    let journal: any TapJournal
    let clock: TerminalClock

    /// Keeps what happened to one payment, all of it or nothing, and what it means for vouchers.
    func keep(
        _ records: [TapRecord],
        of story: TapStory.Name,
        spend: Spend? = nil
    ) async throws(JournalError) {
        let notes = notes(records, of: story, spend: spend)
        try await journal.append(notes.entries, vouchers: notes.vouchers)
    }

    /// The same for who keeps it together with something else.
    func notes(_ records: [TapRecord], of story: TapStory.Name, spend: Spend?) -> TapNotes {
        let now = clock.wallTime()
        let entries = records.map { record in
            TapEntry(
                payment: story.payment.description,
                charge: story.charge,
                attempt: story.attempt,
                kind: record.kind,
                body: record.encoded,
                at: now
            )
        }
        return TapNotes(entries, vouchers: spend.map { [$0.voucher] } ?? [])
    }

    /// A voucher's spend that was taken, and when the voucher ends.
    struct Spend: Sendable {
        let voucher: TapVoucher

        /// Nil where no voucher pays.
        init?(_ accept: Signed<PaymentAcceptance>, _ pass: Signed<PaymentPass>) {
            guard let spend = accept.payload.spend else { return nil }
            let body: CBORMap = [
                1: .integer(spend.counter), 2: .integer(spend.spentAfter), 3: .bytes(accept.hash.bytes),
                4: .integer(pass.payload.notAfterSeconds),
            ]
            voucher = TapVoucher(pass: spend.passID.hexadecimal, body: CBOR.map(body).encoded)
        }
    }

    /// Forgets vouchers that ended so long ago that no clock lets them through any more: check A1 refuses them by their own
    /// time. What was taken of them stays in the payments.
    func forgetEndedVouchers() async throws(JournalError) {
        let limit = clock.wallTime().secondsSince1970 - Self.voucherMemorySeconds
        let ended = try await journal.tapVouchers().filter { voucher in
            // One of an earlier version does not say when it ends, and stays.
            guard case .map(let map)? = try? CBOR(decoding: voucher.body), let end = map[4]?.asInteger else {
                return false
            }
            return Int64(end) < limit
        }
        if !ended.isEmpty { try await journal.forget(vouchers: ended.map(\.pass)) }
    }

    /// A week more than a voucher lives: a clock that was wrong by days does no harm.
    static let voucherMemorySeconds: Int64 = 604_800

    private static let answerDocument = "tap-online"

    /// When the acquirer answered last, as an earlier run kept it; nil where it is not known.
    func lastAnswer() async throws(JournalError) -> WallTime? {
        guard let stored = try await journal.document(Self.answerDocument),
            case .map(let map)? = try? CBOR(decoding: stored.bytes), let time = map[1]?.asInteger
        else { return nil }
        return WallTime(millisecondsSince1970: Int64(time))
    }

    func keep(lastAnswer time: WallTime?) async throws(JournalError) {
        let body: CBORMap = time.map { [1: .integer(Int($0.millisecondsSince1970))] } ?? [:]
        _ = try await journal.setDocument(
            Self.answerDocument,
            CBOR.map(body).encoded,
            expecting: .any,
            with: nil,
            by: .terminal,
            at: clock.wallTime()
        )
    }

    /// The last payment of an attempt; nil where none was ever made.
    func story(of charge: ChargeID, attempt: Attempt.ID) async throws(JournalError) -> TapStory? {
        try TapStory(entries: try await journal.tapEntries(of: charge, attempt: attempt))
    }

    func story(of payment: PaymentID) async throws(JournalError) -> TapStory? {
        try TapStory(entries: try await journal.tapEntries(ofPayment: payment.description))
    }

    /// What was taken offline and is not over.
    struct Unsettled: Sendable {
        /// Oldest first.
        var stories: [TapStory] = []
        /// Names of payments whose entries cannot be read: nobody can say what they are about.
        var unreadable: [String] = []

        var count: Int { stories.count + unreadable.count }
    }

    /// Payments that were taken offline and whose end the acquirer has not said. One that cannot be read holds back no other.
    func unsettled() async throws(JournalError) -> Unsettled {
        var found = Unsettled()
        for payment in try await journal.tapPayments(with: "promised", without: "done") {
            do throws(JournalError) {
                let entries = try await journal.tapEntries(ofPayment: payment)
                guard let story = try TapStory(entries: entries), story.bundle != nil else {
                    found.unreadable.append(payment)
                    continue
                }
                found.stories.append(story)
            } catch {
                switch error {
                case .corrupt, .fromNewerVersion: found.unreadable.append(payment)
                default: throw error
                }
            }
        }
        return found
    }

    /// Whether a claim was made whose end is not known.
    func hasClaims() async throws(JournalError) -> Bool {
        try await !journal.tapPayments(with: "claimed", without: "done").isEmpty
    }

    /// What is known of every voucher.
    func spends() async throws(JournalError) -> [[UInt8]: VoucherBook.Entry] {
        var result: [[UInt8]: VoucherBook.Entry] = [:]
        for voucher in try await journal.tapVouchers() {
            guard case .map(let map)? = try? CBOR(decoding: voucher.body), let counter = map[1]?.asInteger,
                let spent = map[2]?.asInteger, case .bytes(let bytes)? = map[3], let hash = ObjectHash(bytes),
                let pass = [UInt8](hexadecimal: voucher.pass)
            else { throw .corrupt(detail: "the voucher \(voucher.pass) cannot be read") }
            result[pass] = VoucherBook.Entry(counter: counter, spentAfter: spent, acceptHash: hash)
        }
        return result
    }
}

/// One payment over BLE as the journal tells it.
struct TapStory: Sendable {
    struct Name: Sendable, Hashable {
        let charge: ChargeID
        let attempt: Attempt.ID
        let payment: PaymentID
    }

    let name: Name
    let certificate: Signed<TerminalCertificate>
    let request: Signed<PaymentRequest>
    let acquirerURL: String
    /// The last one that passed its checks, with its phone's session.
    private(set) var accepted: (sid: [UInt8], accept: Signed<PaymentAcceptance>, pass: Signed<PaymentPass>)?
    private(set) var claim: Signed<PaymentClaim>?
    private(set) var receipt: Signed<PaymentReceipt>?
    private(set) var declined: [[UInt8]] = []
    private(set) var records: [TerminalPayment.Record] = []
    private(set) var settled: TapSyncAnswer.Verdict?
    private(set) var isGivenBack = false
    /// The session whose wallet's signatures the gateway has, or whose phone pays the link.
    private(set) var walletSession: [UInt8]?
    /// The claim that this phone holds.
    private(set) var walletClaim: Signed<PaymentClaim>?
    /// What the claim is for, where a wallet has signed.
    private(set) var walletSignatures: WalletSignatures?
    /// Sessions by the link that the machine knows them by.
    private(set) var sessions: [[UInt8]: LinkID] = [:]

    /// A payment that has just been made.
    init(
        name: Name,
        certificate: Signed<TerminalCertificate>,
        request: Signed<PaymentRequest>,
        acquirerURL: String
    ) {
        (self.name, self.certificate, self.request) = (name, certificate, request)
        self.acquirerURL = acquirerURL
    }

    /// Nil where there is no entry. Of several payments of one attempt, the last.
    init?(entries: [TapEntry]) throws(JournalError) {
        guard let last = entries.last else { return nil }
        let own = entries.filter { $0.payment == last.payment }
        guard let payment = PaymentID(last.payment), let first = own.first,
            case .requested(let certificate, let request, let url) = try TapRecord(first)
        else { throw .corrupt(detail: "payment \(last.payment) does not begin with its request") }
        self.init(
            name: Name(charge: last.charge, attempt: last.attempt, payment: payment),
            certificate: certificate,
            request: request,
            acquirerURL: url
        )
        for entry in own.dropFirst() { add(try TapRecord(entry)) }
    }

    /// The link that stands for a session, the same as long as the session lasts.
    mutating func link(of sid: [UInt8]) -> LinkID {
        if let known = sessions[sid] { return known }
        let link = LinkID(rawValue: sessions.count + 1)
        sessions[sid] = link
        return link
    }

    mutating func add(_ record: TapRecord) {
        switch record {
        case .requested: break
        case .accepted(let sid, let accept, let pass): accepted = (sid, accept, pass)
        case .claimed(let sid, let claim, let isOnline):
            self.claim = claim
            records.append(.claimed(winner(sid, claim, isOnline)))
        case .promised(let sid, let claim):
            self.claim = claim
            records.append(.acceptedOffline(winner(sid, claim, false)))
        case .reopened(let attempt):
            (accepted, claim) = (nil, nil)
            records.append(.reopened(attempt: attempt))
        case .unknown: records.append(.unknown)
        case .receipt(let receipt): self.receipt = receipt
        case .done(let outcome): records.append(.done(outcome))
        case .declined(let sid): declined.append(sid)
        case .settled(let verdict, _): settled = verdict
        case .givenBack: isGivenBack = true
        case .walletClaimed(let sid, let claim, let signed):
            (walletSession, walletClaim, walletSignatures) = (sid, claim, signed)
            _ = link(of: sid)
        case .walletDropped: (walletSession, walletClaim, walletSignatures) = (nil, nil, nil)
        }
    }

    private mutating func winner(
        _ sid: [UInt8],
        _ claim: Signed<PaymentClaim>,
        _ isOnline: Bool
    ) -> TerminalPayment.Winner {
        TerminalPayment.Winner(
            link: link(of: sid),
            acceptHash: claim.payload.acceptHash,
            attempt: claim.payload.attempt,
            mode: claim.payload.mode,
            isTerminalOnline: isOnline
        )
    }

    /// The machine as the journal tells it.
    var machine: TerminalPayment {
        TerminalPayment(
            expiresAtMilliseconds: request.payload.expiresAtMilliseconds,
            replaying: records
        )
    }

    /// Whether the claim is one to pay the link: its accept is kept, while a wallet that signs over BLE sends none.
    var isLinkClaim: Bool { walletClaim.map { $0.payload.acceptHash == accepted?.accept.hash } ?? false }

    /// What the acquirer gets; nil where no claim was made.
    var bundle: TapBundle? {
        guard let claim, let accepted, accepted.accept.hash == claim.payload.acceptHash else { return nil }
        return TapBundle(
            certificate: certificate,
            request: request,
            pass: accepted.pass,
            accept: accepted.accept,
            claim: claim
        )
    }
}

extension [UInt8] {
    var hexadecimal: String {
        var text = ""
        for byte in self { text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        return text
    }

    init?(hexadecimal text: String) {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
