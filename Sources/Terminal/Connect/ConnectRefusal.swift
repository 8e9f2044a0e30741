import Payments
import WalletConnect

/// Why a wallet does not pay now, told apart by what the customer can do.
enum ConnectRefusal: Error, Sendable, Equatable {
    /// The customer said no to the session.
    case declined
    /// The customer said no to the payment.
    case paymentDeclined
    /// Nobody scanned, or nobody answered the proposal, in its time.
    case expired
    /// The wallet did not answer the request in its time.
    case unanswered
    /// The session has no account on a network that is taken here.
    case otherNetworks(String)
    /// The wallet cannot do what the gateway needs.
    case missingMethod(String)
    /// The accounts hold nothing that can pay this amount.
    case nothingToPayWith
    /// The gateway wants to know what only a wallet with a form of its own can ask.
    case formInWallet
    /// What the gateway wants signed is not this payment.
    case suspicious(String)
    /// The gateway wants something signed that nobody here can read.
    case unknownRequest(String)
    /// The payment has ended, or somebody is paying it.
    case over
    /// The gateway gives no usable answer.
    case silence
    /// Nobody filled in the form.
    case formUnfilled
    /// The signature is another account's.
    case otherSigner
    /// The wallet answered with an error.
    case walletError(String)
    /// The wallet answered with what is no signature.
    case badAnswer
    /// The wallet ended the session.
    case left
    /// The terminal connects by another relay now.
    case relayChanged
    /// The code was another wallet's already, which may still pay; or there is a new code by now.
    case alreadyPaired(hasNewCode: Bool)
    /// The gateway said no.
    case gateway(String)

    /// What the wallet hears when its session ends because of it.
    var word: JSONRPCError {
        switch self {
        case .otherNetworks: JSONRPCError(code: 5100, message: reason.message)
        case .missingMethod: JSONRPCError(code: 5101, message: reason.message)
        default: JSONRPCError(code: 6000, message: reason.message)
        }
    }

    /// For the screen and the page: what happened, and what the customer can do. No money has moved in any of them.
    var reason: Payments.Reason {
        func reason(
            _ code: String,
            _ message: String,
            _ action: String,
            _ values: [String: String] = [:]
        ) -> Payments.Reason {
            Payments.Reason(code: "connect_" + code, message: message, action: action, values: values)
        }
        let again = "Scan the new code to try again."
        switch self {
        case .declined: return reason("declined", "The connection was declined in the wallet.", again)
        case .paymentDeclined: return reason("payment_declined", "The payment was declined in the wallet.", again)
        case .expired: return reason("expired", "The code before has expired.", "Scan the new code.")
        case .unanswered:
            return reason("unanswered", "The wallet did not answer in time.", "Open the wallet, or scan the new code.")
        case .otherNetworks(let networks):
            return reason(
                "other_networks",
                "The wallet has no account on a network that is taken here.",
                "Switch the wallet to \(networks), then scan the new code.",
                ["networks": networks]
            )
        case .missingMethod(let method):
            return reason(
                "missing_method",
                "This wallet cannot sign this payment (\(Payments.Reason.clean(method))).",
                "Use another wallet or another way to pay.",
                ["detail": Payments.Reason.clean(method)]
            )
        case .nothingToPayWith:
            return reason(
                "nothing_to_pay_with",
                "The wallet holds too little of a token that is taken here.",
                "Use another account or another way to pay."
            )
        case .formInWallet:
            return reason(
                "form_in_wallet",
                "The gateway asks for details that only some wallets can give.",
                "Use another way to pay."
            )
        case .suspicious(let what):
            return reason(
                "suspicious",
                "What the gateway wants signed is not this payment (\(Payments.Reason.clean(what))).",
                "Sign nothing. Use another way to pay, and call for help.",
                ["detail": Payments.Reason.clean(what)]
            )
        case .unknownRequest(let what):
            return reason(
                "unknown_request",
                "The wallet was not asked: the gateway wants a signature that the terminal does not know (\(Payments.Reason.clean(what))).",
                "Use another wallet or another way to pay.",
                ["detail": Payments.Reason.clean(what)]
            )
        case .over:
            return reason(
                "over",
                "The wallet was not asked: the payment is over, or under way already.",
                "Wait until the screen says how it ended. Do not pay again."
            )
        case .silence:
            return reason(
                "gateway_silent",
                "The gateway does not say at the moment what the wallet can pay with. Nothing was signed.",
                "Wait, or use another way to pay."
            )
        case .formUnfilled:
            return reason(
                "form_unfilled",
                "Nobody filled in the form, so the wallet was let go.",
                "Scan the new code to go on. What was filled in is kept."
            )
        case .otherSigner:
            return reason(
                "other_signer",
                "The wallet signed with another account than the one it connected.",
                "Choose the account in the wallet, then scan the new code."
            )
        case .walletError(let words):
            let detail = Payments.Reason.clean(words)
            return reason("wallet_error", "The wallet answered with an error: \(detail).", again, ["detail": detail])
        case .badAnswer: return reason("bad_answer", "The wallet’s answer is no signature.", "Use another wallet.")
        case .left: return reason("left", "The wallet has disconnected.", again)
        case .alreadyPaired(let hasNewCode):
            return reason(
                "already_paired",
                "This code has been used by another wallet already.",
                hasNewCode ? "Scan the new code." : "Let that wallet pay, or use another way to pay.",
                hasNewCode ? ["case": "newCode"] : [:]
            )
        case .relayChanged:
            return reason("relay_changed", "The terminal connects by another relay now.", "Scan the new code.")
        case .gateway(let words):
            let detail = Payments.Reason.clean(words)
            return reason("gateway", "The gateway does not take it: \(detail).", again, ["detail": detail])
        }
    }

    /// What a proposal's end means.
    init(_ failure: ProposalFailure) {
        switch failure.cause {
        case .rejected(let error): self = error.isDecline ? .declined : .walletError(error.message)
        case .expired: self = .expired
        case .unusable(let reason): self = .walletError(reason)
        case .withdrawn: self = .left
        }
    }
}
