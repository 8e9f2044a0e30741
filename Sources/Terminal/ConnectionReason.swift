import Payments
import WalletConnectPay

extension MerchantError {
    /// The result of a failed connection test in words for the owner: what answered, and what to look at.
    ///
    /// | what came back | said |
    /// |---|---|
    /// | nothing left | the address or the network |
    /// | a code of the gateway's | its word: key, merchant ID, version |
    /// | 401, 403 without one | something that wants a sign-in, not the gateway |
    /// | 407 | the network's proxy |
    /// | another 4xx, 2xx of another form | no gateway at this address |
    /// | 5xx | the gateway, out of order for now |
    /// | silence | no answer in time |
    var connectionReason: Reason {
        switch self {
        case .notSent(GatewayLight.clockIsNotSet): .gatewayClock
        case .notSent(let reason):
            Reason(
                code: "gateway_unreachable",
                message: "The gateway cannot be reached: \(reason).",
                action: "Check the address and the network.",
                values: ["case": "settings", "detail": reason]
            )
        case .refused(let refusal) where refusal.versionProblem != nil:
            Reason(
                code: "gateway_\(refusal.code)",
                message: "The gateway answers but does not speak this terminal's version of its interface.",
                action: "Update the terminal, then try again."
            )
        case .refused(let refusal):
            ChargeDesk.isAboutCredentials(refusal.code)
                ? Reason(
                    code: "gateway_\(refusal.code)",
                    message: "The gateway answers but does not accept the key or the merchant ID.",
                    action: "Copy both again from your gateway account."
                )
                : Reason(
                    code: "gateway_refused",
                    message: "The gateway answers but refuses the question.",
                    action: "Check the merchant ID, then ask the gateway's support."
                )
        case .rateLimited:
            Reason(
                code: "gateway_rate_limited",
                message: "The gateway asks for fewer requests.",
                action: "Try again in a minute."
            )
        case .strange(401), .strange(403): .signInBeforeGateway
        case .strange(407): .proxyBeforeGateway
        case .noAnswer:
            Reason(
                code: "gateway_silent",
                message: "Nobody answered in time.",
                action: "Try again in a minute. If it stays so, check the address and the network.",
                values: ["case": "late"]
            )
        case .strange(500...599):
            Reason(
                code: "gateway_out_of_order",
                message: "The gateway answers that it is out of order for now.",
                action:
                    "Try again in a few minutes. The address and the key are not at fault as far as anybody can tell."
            )
        case .invalid, .unclear, .strange:
            Reason(
                code: "gateway_silent",
                message: "Something answers at this address, but not as a payment gateway does.",
                action: "Check the address; then try again.",
                values: ["case": "settings"]
            )
        }
    }
}

extension Reason {
    fileprivate static let signInBeforeGateway = Reason(
        code: "gateway_sign_in",
        message: "Something at this address wants a sign-in before it lets the gateway answer.",
        action: "Check the address. In a network with a sign-in page, sign the terminal in or use another network."
    )

    fileprivate static let proxyBeforeGateway = Reason(
        code: "gateway_proxy",
        message: "A proxy of this network wants a sign-in before it lets anything through.",
        action: "Let the network’s administrator allow the gateway’s address for the terminal."
    )
}
