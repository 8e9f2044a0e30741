public import Acquirer
import Payments
public import TapProtocol
public import WalletConnectPay

/// An acquirer over its HTTP interface, in the rail's words.
public struct TapAcquirerClient: TapAcquirer {
    public let url: String
    private let account: TapAccount
    private let terminalID: String
    private let nowSeconds: @Sendable () -> Int

    /// - Parameters:
    ///   - account: The merchant's.
    ///   - url: What the account's client was made with; the journal keeps it with each payment.
    public init(
        account: TapAccount,
        url: String,
        terminalID: String,
        nowSeconds: @escaping @Sendable () -> Int
    ) {
        (self.account, self.url, self.terminalID, self.nowSeconds) = (account, url, terminalID, nowSeconds)
    }

    public func execute(_ bundle: TapBundle) async -> TapWord {
        do throws(AcquirerError) {
            let answer = try await account.call { client throws(AcquirerError) in
                try await client.execute(bundle.handedIn)
            }
            switch answer {
            case .ended(let receipt): return .receipt(receipt)
            case .inProgress(let pause): return .inProgress(askAgainAfter: pause)
            }
        } catch { return TapWord(error) }
    }

    public func status(of payment: TapProtocol.PaymentID) async -> TapWord {
        do throws(AcquirerError) {
            guard
                let record = try await account.call({ client throws(AcquirerError) in try await client.payment(payment)
                })
            else { return .unknownPayment }
            // Its receipt is of the last attempt that ended; one that runs says nothing yet.
            if record.word == .inProgress { return .inProgress(askAgainAfter: nil) }
            if let receipt = record.receipt { return .receipt(receipt) }
            switch record.word {
            // Known by name alone, or only by a void: nothing was executed.
            case .initiated, .acceptedOffline: return .unknownPayment
            case .cancelled: return .voided
            // Without its receipt an end is none yet: were it taken for unknown, money that was taken would be given back.
            case .completed, .failed, .inProgress: return .inProgress(askAgainAfter: nil)
            }
        } catch { return TapWord(error) }
    }

    public func announce(
        _ request: Signed<PaymentRequest>,
        of certificate: Signed<TerminalCertificate>
    ) async -> String? {
        do throws(AcquirerError) {
            _ = try await account.call { client throws(AcquirerError) in
                try await client.announce(request, of: certificate)
            }
            return nil
        } catch { return Reason.clean(error.summary) }
    }

    public func void(_ payment: TapProtocol.PaymentID) async -> TapWord {
        do throws(AcquirerError) {
            let answer = try await account.call { client throws(AcquirerError) in try await client.void(payment) }
            return answer.receipt.map(TapWord.receipt) ?? .voided
        } catch { return TapWord(error) }
    }

    public func synchronise(_ bundles: [TapBundle], isClockSet: Bool) async -> TapSyncWord {
        let items = bundles.map { SyncItem.bundle($0.handedIn, isClockSet: isClockSet) }
        do throws(AcquirerError) {
            let answers = try await account.call({ client throws(AcquirerError) in try await client.sync(items) })
            return .answers(
                answers.map { answer in
                    TapSyncAnswer(
                        paymentID: answer.paymentID,
                        acceptHash: answer.acceptHash,
                        verdict: answer.verdict.inTheRailsWords,
                        isPaid: answer.isPaid,
                        receipt: answer.receipt
                    )
                }
            )
        } catch { return TapSyncWord(error) }
    }

    public func keys(issuer: String) async -> TapKeysWord {
        do throws(AcquirerError) {
            return .keys(try await account.call { client throws(AcquirerError) in try await client.keys() }.trusted)
        } catch {
            return switch error {
            case .refused, .notNow, .signedOut: .refused
            case .invalid, .notSent, .noAnswer, .unclear: .silent
            }
        }
    }

    public func certificate(for keys: TapTerminalKeys) async -> TapCertificateAnswer {
        do throws(AcquirerError) {
            let order = EnrolmentOrder(
                terminalID: terminalID,
                staticKey: keys.agreement.publicKey,
                signer: keys.signer
            )
            let now = nowSeconds()
            let certificate = try await account.call { client throws(AcquirerError) in
                try await client.certify(order, nowSeconds: now)
            }
            let trusted = try await account.call { client throws(AcquirerError) in try await client.keys() }.trusted
            let denied = try await account.call { client throws(AcquirerError) in try await client.denyList() }
            guard !denied.terminalIDs.contains(certificate.payload.terminalID),
                !denied.certificateHashes.contains(certificate.hash)
            else { return .refused(code: "terminal_denied") }
            return .issued(certificate, trusted)
        } catch {
            switch error {
            case .refused(let refusal): return .refused(code: refusal.code.rawValue)
            case .signedOut: return .refused(code: "signed_out")
            default: return .noAnswer(reason: error.summary)
            }
        }
    }
}

extension TapBundle {
    fileprivate var handedIn: ExecutionBundle {
        ExecutionBundle(certificate: certificate, request: request, pass: pass, accept: accept, claim: claim)
    }
}

extension SyncAnswer.Verdict {
    fileprivate var inTheRailsWords: TapSyncAnswer.Verdict {
        switch self {
        case .settled: .settled
        case .duplicate: .duplicate
        case .late: .late
        case .expired: .expired
        case .revoked: .revoked
        case .conflict: .conflict
        case .cancelled: .cancelled
        case .refused: .refused
        case .waiting: .waiting
        }
    }
}

extension TapSyncWord {
    /// Only a "no" to what the upload carries is one: else every payment in it would be tried by itself for nothing.
    fileprivate init(_ error: AcquirerError) {
        self =
            switch error {
            case .invalid(let field, let message): .refused(code: Reason.clean("\(field): \(message)"))
            case .refused(let refusal):
                switch refusal.code {
                case .malformed, .bundleRefused, .paymentChanged, .paymentClosed, .attemptTooLow, .railNotExecuted:
                    .refused(code: refusal.code.rawValue)
                default: .notNow(code: refusal.code.rawValue)
                }
            case .notNow(let refusal, _): .notNow(code: refusal.code.rawValue)
            case .signedOut: .notNow(code: "signed_out")
            case .notSent(let reason): .unreachable(reason: reason)
            case .noAnswer, .unclear: .noAnswer(reason: error.summary)
            }
    }
}

extension TapWord {
    /// Only a "no" that is one for good ends a try; everything else is asked again.
    fileprivate init(_ error: AcquirerError) {
        self =
            switch error {
            case .invalid(let field, let message): .refused(code: Reason.clean("\(field): \(message)"))
            case .notSent(let reason): .unreachable(reason: reason)
            case .refused(let refusal): .init(refusal)
            case .notNow(let refusal, let pause): .notNow(code: refusal.code.rawValue, retryAfter: pause)
            case .signedOut: .notNow(code: "signed_out", retryAfter: .seconds(30))
            case .noAnswer, .unclear: .noAnswer(reason: error.summary)
            }
    }

    private init(_ refusal: AcquirerRefusal) {
        switch refusal.code {
        // About who asks, not about the payment: no word about money.
        case .unauthorized, .loginRefused, .notFound, .terminalNotFound, .rateLimited, .paymentBusy:
            self = .notNow(code: refusal.code.rawValue, retryAfter: .seconds(30))
        case .paymentNotFound: self = .unknownPayment
        // Something of this payment ended another way: ask how, and believe no "no".
        case .paymentClosed, .attemptTooLow, .paymentChanged:
            self = .notNow(code: refusal.code.rawValue, retryAfter: .seconds(2))
        default: self = .refused(code: refusal.code.rawValue)
        }
    }
}

/// The merchant's account at an acquirer: logs in when it has to.
public actor TapAccount {
    private var client: AcquirerClient
    private let identifier: String
    private let password: Secret

    public init(client: AcquirerClient, identifier: String, password: Secret) {
        (self.client, self.identifier, self.password) = (client, identifier, password)
    }

    /// One call as the merchant; once more after a fresh login where the session has ended.
    func call<Value: Sendable>(
        _ body: @Sendable (AcquirerClient) async throws(AcquirerError) -> Value
    ) async throws(AcquirerError) -> Value {
        if client.session == nil { try await logIn() }
        do throws(AcquirerError) { return try await body(client) } catch .signedOut {
            try await logIn()
            return try await body(client)
        }
    }

    private func logIn() async throws(AcquirerError) {
        client.session = try await client.logIn(identifier: identifier, password: password).token
    }
}
