/// Who moves the money of a payment, and alone may say how it ended.
public enum Authority: String, Sendable, Hashable, Codable, CaseIterable {
    /// WalletConnect Pay: of everything that a wallet pays, over whatever way it was reached.
    case gateway
    /// Of instruments that a phone pays with over BLE.
    case acquirer
}

extension Rail {
    public var authority: Authority {
        switch self {
        case .scan, .connect: .gateway
        case .tap: .acquirer
        }
    }
}

extension Charge {
    /// Who has confirmed the payment that counts; nil before.
    public var confirmedBy: Authority? { paidAttempt.flatMap(attempt)?.rail.authority }

    /// Of whom an answer is missing: the gateway where both are silent. Nil where nobody is waited for in the dark.
    var silentAuthority: Authority? {
        let silent = attempts.filter { $0.isOpen && $0.isSilent && !$0.isPromised }.map(\.rail.authority)
        return silent.contains(.gateway) ? .gateway : silent.first
    }
}
