public import Ethereum
public import Payments
internal import TapProtocol
public import WalletConnectPay

/// A phone's wallet that pays payment links over the phone's own network.
public struct LinkWallet: Sendable {
    /// What came of paying.
    enum Outcome: Sendable, Equatable {
        case paid(transactionID: String?)
        /// The gateway's word: nothing was paid and nothing will be.
        case failed(String)
        /// Nothing has left the phone.
        case notSent(String)
        /// The signature is out, and nobody has said what became of it.
        case unknown(String)
    }

    /// What there is to pay, checked and signed.
    enum Look: Sendable {
        case signed(CustomerWallet.Signed)
        /// This link is not paid, now or ever.
        case refused(String)
        /// The gateway gave no answer; nothing was signed.
        case silent(String)
    }

    private let wallet: CustomerWallet
    private let client: PayClient
    /// The account that pays, as accepts name it: CAIP-10. The same key pays on other networks too.
    let account: String

    public init(key: PrivateKey, client: PayClient, now: @escaping @Sendable () -> WallTime) {
        wallet = CustomerWallet(key: key, client: client, now: now)
        self.client = client
        account = "eip155:8453:\(key.address.checksummed)"
    }

    /// Finds out what the link asks for, and signs where that is what the terminal's request says.
    func sign(_ link: String, for request: PaymentRequest) async -> Look {
        var wishes = CustomerWallet.Wishes()
        wishes.amount = PayAmount(unit: "iso4217/\(request.currency)", value: String(request.amount))
        do throws(WalletRefusal) {
            return .signed(try await wallet.sign(try await wallet.look(at: link, wishes)))
        } catch {
            switch error {
            case .gateway(.refused), .gateway(.invalidLink), .over, .tooLate, .nothingToPayWith, .suspicious:
                return .refused(error.description)
            case .gateway, .confirmation: return .silent(error.description)
            }
        }
    }

    /// Hands the signature over and waits for the end.
    func pay(_ signed: CustomerWallet.Signed) async -> Outcome {
        do throws(WalletRefusal) {
            return Self.outcome(of: try await wallet.confirm(signed, waitingUpTo: .seconds(30)))
        } catch {
            return error.mayHavePaid ? .unknown(error.description) : .notSent(error.description)
        }
    }

    /// What became of a signature that may have left earlier; nil where the gateway does not say yet.
    func outcome(of link: String) async -> Outcome? {
        // A gateway that does not answer is asked again.
        guard let found = try? await client.options(link: link, accounts: []),
            let report = try? await client.status(of: found.paymentID)
        else { return nil }
        // Still waiting for a signature: the one that left has not arrived.
        if report.status == .requiresAction { return .notSent("the gateway has no signature") }
        if case .unknown = Self.outcome(of: report) { return nil }
        return Self.outcome(of: report)
    }

    private static func outcome(of report: StatusReport) -> Outcome {
        switch report.status {
        case .succeeded: .paid(transactionID: report.result?.transactionID)
        case .failed, .expired, .cancelled: .failed(report.failureCode ?? report.status.word)
        case .requiresAction, .processing, .unrecognised: .unknown("not over")
        }
    }
}
