import TapProtocol

/// What a phone must still know after its power comes back.
struct PhoneMemory: Sendable {
    /// The key of the next voucher, 32 bytes. Kept until that has come, so that a lost answer can be asked for again.
    var deviceKey: [UInt8]
    /// The key of each pass and voucher in store, 32 bytes, by the pass's ID. None is used for a second pass: shops could
    /// recognise a customer by it.
    var passKeys: [[UInt8]: [UInt8]] = [:]
    var payment = PhonePayment()
    /// The name under which terminals know this phone, 8 bytes; empty where the pay screen is closed. Kept over a restart
    /// while an accept is out: a terminal finds its payer by it.
    var sessionName: [UInt8] = []
    var dossiers: [PaymentID: PaymentDossier] = [:]
    /// Online passes that were never shown to anybody.
    var passes: [Signed<PaymentPass>] = []
    var vouchers: [VoucherChain] = []
    var keys: [TrustedGatewayKey] = []
    var denied = DenyList()
    /// The gateway's names of what the customer can pay with.
    var instruments: [String] = []

    init(deviceKey: [UInt8]) { self.deviceKey = deviceKey }

    var trusted: GatewayKeys {
        var trusted = GatewayKeys()
        for key in keys { trusted.add(issuer: key.issuer, keyID: key.keyID, ed25519: key.publicKey) }
        return trusted
    }

    /// Payments that ended without this phone, of which it has kept nothing that a request could be compared with. What it
    /// declined or paid is answered with just that.
    var closedPayments: Set<PaymentID> {
        Set(payment.closed.keys.filter { payment.closed[$0] == .withdrawn && dossiers[$0] == nil })
    }

    /// Drops what nobody will ask about any more.
    mutating func tidy(nowMilliseconds: Int) {
        let kept = Set(passes.map(\.payload.passID) + vouchers.map(\.pass.payload.passID))
        passKeys = passKeys.filter { kept.contains($0.key) }
        payment.forgetClosed(nowMilliseconds: nowMilliseconds)
        dossiers = dossiers.filter { id, _ in
            if payment.current?.paymentID == id || payment.watched[id] != nil { return true }
            if case .final? = payment.closed[id] { return true }
            return false
        }
        for index in vouchers.indices {
            guard let outstanding = vouchers[index].outstanding else { continue }
            if !(payment.mayBeCharged && payment.current?.paymentID == outstanding) {
                vouchers[index].ended(outstanding)
            }
        }
    }
}

/// Everything that belongs to one payment on the phone.
struct PaymentDossier: Sendable {
    /// One agreement that has left the phone, or was about to.
    struct Attempt: Sendable {
        enum Means: Sendable {
            case instrument(Signed<PaymentAcceptance>, Signed<PaymentPass>)
            case wallet(optionID: String, signatures: [String], digest: [UInt8])
        }

        let means: Means
        /// What the terminal's claim must name.
        let hash: ObjectHash
        var claim: Signed<PaymentClaim>?
    }

    let certificate: Signed<TerminalCertificate>
    let request: Signed<PaymentRequest>
    /// In their order; the last one counts.
    var attempts: [Attempt] = []
    var receipt: Signed<PaymentReceipt>?
    var transactionID: String?
    /// A signature for the link may have left this phone: from then on only the gateway says whether it was paid.
    var isLinkSigned = false

    var paymentID: PaymentID { request.payload.paymentID }

    var isWallet: Bool {
        if case .wallet? = attempts.last?.means { true } else { false }
    }

    /// The link that this phone has agreed to pay; nil where it pays in another way.
    var agreedLink: String? {
        guard case .instrument(let accept, _)? = attempts.last?.means, accept.payload.railType == 2 else { return nil }
        return offeredLink
    }

    var offeredLink: String? {
        for case .paymentLink(let link) in request.payload.offeredRails { return link }
        return nil
    }

    var accepts: [Signed<PaymentAcceptance>] {
        attempts.compactMap { if case .instrument(let accept, _) = $0.means { accept } else { nil } }
    }

    /// What the gateway executes; nil before there is a claim for the last agreement, and where a wallet pays.
    var bundle: PaymentBundle? {
        guard let last = attempts.last, let claim = last.claim, case .instrument(let accept, let pass) = last.means,
            accept.payload.railType == 1
        else { return nil }
        return PaymentBundle(certificate: certificate, request: request, pass: pass, accept: accept, claim: claim)
    }

    /// How a receipt stands to this phone's own agreements.
    enum Finding: Equatable {
        /// The gateway's word about the payment as this phone agreed to it.
        case mine(PaymentStatus)
        /// The payment was made, and by somebody else.
        case others
        /// An attempt before the last one failed.
        case earlier
        case nothing
    }

    /// Checks a receipt against the agreements that have left.
    ///
    /// A payment that failed failed for the last agreement only: an earlier one's receipt says nothing about it.
    func finding(
        of receipt: Signed<PaymentReceipt>,
        status: PaymentStatus?,
        trusted: GatewayKeys
    ) -> Finding {
        let issuer = certificate.payload.issuer
        for accept in accepts.reversed() {
            let check = ReceiptCheck(trusted: trusted, issuer: issuer, request: request, accept: accept)
            guard let said = try? check.check(receipt, status: status) else { continue }
            guard said == .completed || accept.hash == accepts.last?.hash else { return .earlier }
            return .mine(said)
        }
        let check = ReceiptCheck(trusted: trusted, issuer: issuer, request: request, accept: nil)
        guard (try? check.check(receipt, status: status)) == .completed,
            !accepts.contains(where: { $0.hash == receipt.payload.acceptHash })
        else { return .nothing }
        return .others
    }
}
