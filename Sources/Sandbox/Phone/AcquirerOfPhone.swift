public import Acquirer
public import TapProtocol
public import WalletConnectPay

/// An acquirer as a customer's phone asks it: logged in, and again when the session has ended.
public actor AcquirerOfPhone: PhoneAcquirer {
    private var client: AcquirerClient
    private let login: String
    private let password: Secret
    /// The names of orders without an answer so far: a lost answer must not hold the money twice.
    private var orders: [String: String] = [:]

    /// - Parameters:
    ///   - client: Without a session.
    ///   - login: The customer's, at this acquirer.
    public init(_ client: AcquirerClient, login: String, password: Secret) {
        (self.client, self.login, self.password) = (client, login, password)
    }

    public func keys() async throws(PhoneAcquirerError) -> [TrustedGatewayKey] {
        let client = client
        let keys = try await Self.worded { () async throws(AcquirerError) in try await client.keys() }
        return keys.keys.map { TrustedGatewayKey(issuer: $0.issuer, keyID: $0.keyID, publicKey: $0.publicKey) }
    }

    public func denyList() async throws(PhoneAcquirerError) -> DenyList {
        let client = client
        return try await Self.worded { () async throws(AcquirerError) in try await client.denyList() }
    }

    public func instruments() async throws(PhoneAcquirerError) -> [String] {
        try await loggedIn { client throws(AcquirerError) in try await client.instruments() }.map(\.instrumentID)
    }

    public func passes(
        _ count: Int,
        for device: VerificationKey
    ) async throws(PhoneAcquirerError) -> [Signed<PaymentPass>] {
        try await loggedIn { client throws(AcquirerError) in try await client.passes(for: device, count: count) }
    }

    public func preAuthorize(
        _ wish: VoucherWish,
        on instrumentID: String,
        for device: VerificationKey
    ) async throws(PhoneAcquirerError) -> Signed<PaymentPass> {
        // The same order keeps its name, another one must not.
        let whole = "\(instrumentID) \(wish.limitTotal) \(wish.currency)"
        let name = orders[whole] ?? "phone-" + hex(TapPhone.randomBytes(12))
        orders[whole] = name
        let made = try await loggedIn { client throws(AcquirerError) -> PreAuthorisation in
            let order = PreAuthorisationOrder(
                instrumentID: instrumentID,
                amount: wish.limitTotal,
                currency: wish.currency,
                exponent: wish.exponent,
                deviceKey: device
            )
            do throws(AcquirerError) {
                return try await client.preAuthorise(order, idempotencyKey: name)
            } catch .refused(let refusal) where refusal.code == .voucherExists {
                // Made before this process began.
                let all = try await client.preAuthorisations()
                let mine = all.first {
                    $0.status == .available && $0.currency == wish.currency && $0.pass.payload.deviceKey == device
                }
                guard let mine else { throw .refused(refusal) }
                return mine
            }
        }
        orders[whole] = nil
        return made.pass
    }

    public func execute(_ bundle: PaymentBundle) async throws(PhoneAcquirerError) -> PhoneAnswer {
        let whole = ExecutionBundle(
            certificate: bundle.certificate,
            request: bundle.request,
            pass: bundle.pass,
            accept: bundle.accept,
            claim: bundle.claim
        )
        let client = client
        let answer = try await Self.worded { () async throws(AcquirerError) in try await client.execute(whole) }
        switch answer {
        case .ended(let receipt): return .receipt(receipt)
        case .inProgress: return .inProgress
        }
    }

    public func payment(_ id: TapProtocol.PaymentID) async throws(PhoneAcquirerError) -> PhoneAnswer {
        let record = try await loggedIn { client throws(AcquirerError) in try await client.payment(id) }
        guard let record else { return .unknown }
        switch record.word {
        case .initiated: return .unknown
        case .inProgress, .acceptedOffline: return .inProgress
        case .completed, .failed, .cancelled:
            if let receipt = record.receipt { return .receipt(receipt) }
            return record.word == .cancelled && record.attempts.isEmpty ? .void : .inProgress
        }
    }

    public func announcement(
        of id: TapProtocol.PaymentID
    ) async throws(PhoneAcquirerError) -> PhoneAnnouncement? {
        let record = try await loggedIn { client throws(AcquirerError) in try await client.payment(id) }
        // Of one that is only void the gateway knows no more than the name.
        guard let record, let amount = record.amount, let currency = record.currency, let exponent = record.exponent
        else { return nil }
        return PhoneAnnouncement(
            merchantID: record.merchantID,
            amount: amount,
            currency: currency,
            exponent: exponent
        )
    }

    public func sync(_ accepts: [Signed<PaymentAcceptance>]) async throws(PhoneAcquirerError) -> [PhoneSyncAnswer] {
        let answers = try await loggedIn { client throws(AcquirerError) in
            try await client.sync(accepts.map(SyncItem.accept))
        }
        return accepts.map { accept in
            guard let answer = answers.first(where: { $0.acceptHash == accept.hash }) else { return .pending }
            switch answer.verdict {
            case .conflict: return .conflict
            case .waiting: return .pending
            case .settled, .duplicate, .late, .expired, .revoked, .refused, .cancelled:
                if let receipt = answer.receipt { return .settled(receipt) }
                // Only a final "no" may come without a receipt.
                guard !answer.isPaid else { return .pending }
                switch answer.verdict {
                case .cancelled: return .cancelled
                case .expired, .revoked, .refused: return .expired
                default: return .pending
                }
            }
        }
    }

    // MARK: The session

    /// Logs in where nobody is, and once more where the session has ended.
    private func loggedIn<Answer: Sendable>(
        _ call: @Sendable (AcquirerClient) async throws(AcquirerError) -> Answer
    ) async throws(PhoneAcquirerError) -> Answer {
        do throws(AcquirerError) {
            if client.session == nil { try await logIn() }
            do throws(AcquirerError) {
                return try await call(client)
            } catch .signedOut {
                try await logIn()
                return try await call(client)
            }
        } catch {
            throw Self.worded(error)
        }
    }

    private func logIn() async throws(AcquirerError) {
        client.session = nil
        client.session = try await client.logIn(identifier: login, password: password).token
    }

    private static func worded<Answer: Sendable>(
        _ call: @Sendable () async throws(AcquirerError) -> Answer
    ) async throws(PhoneAcquirerError) -> Answer {
        do throws(AcquirerError) { return try await call() } catch { throw worded(error) }
    }

    private static func worded(_ error: AcquirerError) -> PhoneAcquirerError {
        switch error {
        case .refused, .invalid: .refused(error.summary)
        case .notSent, .notNow, .signedOut, .noAnswer, .unclear: .unreachable(error.summary)
        }
    }
}
