import Payments
import Sandbox
import TapProtocol
import Terminal

/// The acquirer of both sides, in one place: it moves money at most once for each payment, and answers as it is told.
actor SimulatedAcquirer {
    enum Mood: Sendable, Equatable {
        case pays, declines, declinesOnce
    }

    nonisolated let issuer = "bank.example"
    nonisolated let signer: Ed25519Signer
    nonisolated let publicKey: [UInt8]
    private(set) var receipts: [PaymentID: Signed<PaymentReceipt>] = [:]
    private(set) var voided: Set<PaymentID> = []
    /// What the terminal has announced, and how often it did.
    private(set) var announced: [PaymentID: Signed<PaymentRequest>] = [:]
    private(set) var announcements = 0
    private(set) var executions = 0
    private(set) var passes = 0
    var mood = Mood.pays
    var reachesTerminal = true
    /// It is there, and says no to this terminal.
    var shutsOut = false
    /// What it says to whatever the terminal asks about payments.
    var refusal: TapWord?
    private(set) var refusals = 0
    var reachesPhones = true
    /// Announcements are heard and never answered.
    var keepsAnnouncementsWaiting = false
    /// It holds so much more than the terminal asks for.
    var announcedExcess = 0
    /// Executions that happen and whose answer is lost.
    var lostAnswers = 0
    /// Questions about a payment that it does not want to answer.
    var refusedQuestions = 0
    /// A bundle that it has executed is refused when it is handed in again.
    var refusesRepeats = false
    /// Uploads are answered with another accept's end.
    var answersAboutAnother = false
    var syncVerdict = TapSyncAnswer.Verdict.settled
    private(set) var uploads: [[PaymentID]] = []
    /// Payments of which it says in an upload that it does not know yet.
    var undecided: Set<PaymentID> = []
    /// Payments for which it refuses the whole upload that they are in.
    var indigestible: Set<PaymentID> = []
    /// Whose login the terminal has.
    var merchant = "m1"
    /// Payments at which it falls silent.
    var stunning: Set<PaymentID> = []
    /// How often it was asked for its keys.
    private(set) var keyQuestions = 0
    /// What was paid in books that are put away.
    private var paidBefore = 0
    private let now: @Sendable () -> Int

    init(now: @escaping @Sendable () -> Int) throws {
        signer = try Ed25519Signer(seed: [UInt8](repeating: 9, count: 32), keyID: Array("bank1".utf8))
        guard case .ed25519(let key) = signer.publicKey else { throw SigningFailure(reason: "no key") }
        publicKey = key
        self.now = now
    }

    nonisolated var trusted: GatewayKeys {
        var keys = GatewayKeys()
        keys.add(issuer: issuer, keyID: Array("bank1".utf8), ed25519: publicKey)
        return keys
    }

    func change(_ body: @Sendable (isolated SimulatedAcquirer) -> Void) { body(self) }

    /// Minor units that the merchant got and kept.
    var paid: Int {
        receipts.values.filter { $0.payload.status == .completed }.reduce(paidBefore) { $0 + $1.payload.total }
    }

    /// Of the payments so far only the sum is known from now on.
    func putBooksAway() { (paidBefore, receipts, voided, announced) = (paid, [:], [], [:]) }

    // MARK: - Executing

    private func run(_ bundle: TapBundle) throws -> TapWord {
        let id = bundle.request.payload.paymentID
        if voided.contains(id) { return .refused(code: "payment_closed") }
        if let receipt = receipts[id] {
            if receipt.payload.acceptHash == bundle.accept.hash {
                return refusesRepeats ? .refused(code: "bundle_refused") : .receipt(receipt)
            }
            guard receipt.payload.status == .failed else { return .notNow(code: "payment_closed", retryAfter: nil) }
        }
        try bundle.pass.verify(signer.publicKey)
        try bundle.accept.verify(bundle.pass.payload.deviceKey)
        try bundle.claim.verify(bundle.certificate.payload.requestKey)
        executions += 1
        let isDeclined = mood != .pays
        if mood == .declinesOnce { mood = .pays }
        let receipt = try Signed(
            signing: PaymentReceipt(
                status: isDeclined ? .failed : .completed,
                request: bundle.request,
                accept: bundle.accept,
                instrument: "card 4242",
                transactionID: isDeclined ? nil : "tx\(executions)",
                executedAtMilliseconds: now(),
                declineCode: isDeclined ? 51 : nil
            ),
            with: signer
        )
        receipts[id] = receipt
        return .receipt(receipt)
    }

    private func refuse() -> TapWord? {
        if refusal != nil { refusals += 1 }
        return refusal
    }

    private func answer(_ word: TapWord) -> TapWord {
        guard lostAnswers > 0 else { return word }
        lostAnswers -= 1
        return .noAnswer(reason: "silence")
    }
}

extension SimulatedAcquirer: TapAcquirer {
    nonisolated var url: String { "https://bank.example" }

    func execute(_ bundle: TapBundle) -> TapWord {
        guard reachesTerminal else { return .unreachable(reason: "no network") }
        if let refusal = refuse() { return refusal }
        return answer((try? run(bundle)) ?? .refused(code: "bundle_refused"))
    }

    func status(of payment: TapProtocol.PaymentID) -> TapWord {
        guard reachesTerminal else { return .unreachable(reason: "no network") }
        if let refusal = refuse() { return refusal }
        if refusedQuestions > 0 {
            refusedQuestions -= 1
            return .refused(code: "question_refused")
        }
        return answer(receipts[payment].map(TapWord.receipt) ?? (voided.contains(payment) ? .voided : .unknownPayment))
    }

    func announce(_ request: Signed<PaymentRequest>, of certificate: Signed<TerminalCertificate>) async -> String? {
        announcements += 1
        guard reachesTerminal else { return "no network" }
        announced[request.payload.paymentID] = request
        guard keepsAnnouncementsWaiting else { return nil }
        try? await Task.sleep(for: .seconds(3600))  // Ends with the terminal.
        return "silence"
    }

    func void(_ payment: TapProtocol.PaymentID) -> TapWord {
        guard reachesTerminal else { return .unreachable(reason: "no network") }
        if let refusal = refuse() { return refusal }
        voided.insert(payment)
        guard let receipt = receipts[payment], receipt.payload.status != .failed else { return answer(.voided) }
        guard receipt.payload.status == .completed else { return answer(.receipt(receipt)) }
        var back = receipt.payload
        back.status = .cancelled
        guard let signed = try? Signed(signing: back, with: signer) else { return .noAnswer(reason: "no key") }
        receipts[payment] = signed
        return answer(.receipt(signed))
    }

    func synchronise(_ bundles: [TapBundle], isClockSet: Bool) -> TapSyncWord {
        guard reachesTerminal else { return .unreachable(reason: "no network") }
        let told = bundles.map(\.request.payload.paymentID)
        uploads.append(told)
        if told.contains(where: indigestible.contains) { return .refused(code: "malformed") }
        if told.contains(where: stunning.contains) { return .noAnswer(reason: "silence") }
        let answers = bundles.map { bundle in
            if undecided.contains(bundle.request.payload.paymentID) {
                return TapSyncAnswer(
                    paymentID: bundle.request.payload.paymentID,
                    acceptHash: bundle.accept.hash,
                    verdict: .waiting,
                    isPaid: false,
                    receipt: nil
                )
            }
            var receipt: Signed<PaymentReceipt>?
            if [.settled, .late, .duplicate].contains(syncVerdict), case .receipt(let done)? = try? run(bundle) {
                receipt = done
            }
            return TapSyncAnswer(
                paymentID: bundle.request.payload.paymentID,
                acceptHash: answersAboutAnother ? ObjectHash(of: [0]) : bundle.accept.hash,
                verdict: syncVerdict,
                isPaid: receipt?.payload.status == .completed,
                receipt: receipt
            )
        }
        return .answers(answers)
    }

    func keys(issuer: String) -> TapKeysWord {
        keyQuestions += 1
        guard reachesTerminal else { return .silent }
        return shutsOut ? .refused : .keys(trusted)
    }

    func certificate(for keys: TapTerminalKeys) -> TapCertificateAnswer {
        guard reachesTerminal else { return .noAnswer(reason: "no network") }
        guard let certificate = try? certify(keys) else { return .refused(code: "key_refused") }
        return .issued(certificate, trusted)
    }

    func certify(_ keys: TapTerminalKeys) throws -> Signed<TerminalCertificate> {
        guard case .ed25519(let signing) = keys.signer.publicKey else { throw SigningFailure(reason: "no key") }
        let seconds = now() / 1000
        let map: CBORMap = [
            1: .text(issuer), 2: .text("t1"), 3: .text(merchant), 4: .text("Coffee Shop"), 5: .integer(seconds - 60),
            6: .integer(seconds + 7 * 86_400), 7: .bytes(keys.agreement.publicKey), 8: .bytes(signing), 9: .unsigned(0),
            10: .array([.text("EUR")]), 11: .integer(100_000), 12: .unsigned(5814), 13: .text("DE"),
        ]
        return try Signed(signing: try TerminalCertificate(map: map), with: signer)
    }
}

extension SimulatedAcquirer: PhoneAcquirer {
    func keys() throws(PhoneAcquirerError) -> [TrustedGatewayKey] {
        try reach()
        return [TrustedGatewayKey(issuer: issuer, keyID: Array("bank1".utf8), publicKey: publicKey)]
    }

    func denyList() throws(PhoneAcquirerError) -> DenyList {
        try reach()
        return DenyList()
    }

    func instruments() throws(PhoneAcquirerError) -> [String] {
        try reach()
        return ["card", "bank"]
    }

    func passes(_ count: Int, for device: VerificationKey) throws(PhoneAcquirerError) -> [Signed<PaymentPass>] {
        try reach()
        return try (0..<count).map { _ throws(PhoneAcquirerError) in try pass(device, nil) }
    }

    func preAuthorize(
        _ wish: VoucherWish,
        on instrumentID: String,
        for device: VerificationKey
    ) throws(PhoneAcquirerError) -> Signed<PaymentPass> {
        try reach()
        return try pass(
            device,
            PaymentPass.Voucher(
                currency: wish.currency,
                exponent: wish.exponent,
                limitTotal: wish.limitTotal,
                instrumentID: instrumentID
            )
        )
    }

    private func pass(
        _ device: VerificationKey,
        _ voucher: PaymentPass.Voucher?
    ) throws(PhoneAcquirerError) -> Signed<PaymentPass> {
        passes += 1
        let seconds = now() / 1000
        let pass = PaymentPass(
            passID: (0..<15).map { _ in 7 } + [UInt8(passes % 256)],
            issuer: issuer,
            deviceKey: device,
            notBeforeSeconds: seconds - 60,
            notAfterSeconds: seconds + 86_400,
            voucher: voucher
        )
        do throws(SigningFailure) { return try Signed(signing: pass, with: signer) } catch {
            throw .refused(error.reason)
        }
    }

    func execute(_ bundle: PaymentBundle) throws(PhoneAcquirerError) -> PhoneAnswer {
        try reach()
        let word = try? run(
            TapBundle(
                certificate: bundle.certificate,
                request: bundle.request,
                pass: bundle.pass,
                accept: bundle.accept,
                claim: bundle.claim
            )
        )
        switch word {
        case .receipt(let receipt): return .receipt(receipt)
        case .notNow: return .inProgress
        default: throw .refused("bundle_refused")
        }
    }

    func payment(_ id: TapProtocol.PaymentID) throws(PhoneAcquirerError) -> PhoneAnswer {
        try reach()
        return receipts[id].map(PhoneAnswer.receipt) ?? .unknown
    }

    func announcement(of id: TapProtocol.PaymentID) throws(PhoneAcquirerError) -> PhoneAnnouncement? {
        try reach()
        guard let request = announced[id] else { return nil }
        var held = PhoneAnnouncement(request.payload)
        held.amount += announcedExcess
        return held
    }

    func sync(_ accepts: [Signed<PaymentAcceptance>]) throws(PhoneAcquirerError) -> [PhoneSyncAnswer] {
        try reach()
        return accepts.map { accept in receipts[accept.payload.paymentID].map(PhoneSyncAnswer.settled) ?? .pending }
    }

    private func reach() throws(PhoneAcquirerError) { if !reachesPhones { throw .unreachable("no network") } }
}
