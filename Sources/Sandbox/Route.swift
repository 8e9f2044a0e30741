/// What a request's method and path mean.
struct Route: Sendable, Equatable {
    let endpoint: Endpoint
    /// The payment that the path names.
    let payment: String?

    /// Nil for a path that the gateway does not serve, or not with this method.
    ///
    /// Source: WalletConnect Pay API 2026-02-19.preview, `paths`; `/v1/merchant/payment` and its status are an older
    /// form that is in use but not in that document.
    init?(_ request: GatewayRequest) {
        guard request.segments.first == "v1" else { return nil }
        let path = Array(request.segments.dropFirst())
        switch (request.method, path.count) {
        case ("POST", 1) where path == ["payments"]: self.init(.create)
        case ("POST", 2) where path == ["merchant", "payment"]: self.init(.create)
        case ("GET", 1) where path == ["payments"]: self.init(.list)
        case ("GET", 2) where path == ["merchants", "payments"]: self.init(.list)
        case ("POST", 1) where path == ["refunds"]: self.init(.refund)
        case ("GET", 2) where path[0] == "payments": self.init(.payment, path[1])
        case ("GET", 3) where path[0] == "payments" && path[2] == "status": self.init(.status, path[1])
        case ("POST", 3) where path[0] == "payments" && path[2] == "cancel": self.init(.cancel, path[1])
        case ("GET", 4) where path[0] == "merchant" && path[1] == "payment" && path[3] == "status":
            self.init(.status, path[2])
        case (_, 3...4) where path[0] == "gateway" && path[1] == "payment":
            guard let endpoint = Self.gateway(request.method, path.count == 4 ? path[3] : nil) else { return nil }
            self.init(endpoint, path[2])
        default: return nil
        }
    }

    private init(_ endpoint: Endpoint, _ payment: String? = nil) {
        self.endpoint = endpoint
        self.payment = payment.map(Self.paymentName)
    }

    private static func gateway(_ method: String, _ word: String?) -> Endpoint? {
        switch (method, word) {
        case ("GET", nil): .info
        case ("POST", "options"): .options
        case ("POST", "fetch"): .fetch
        case ("POST", "confirm"): .confirm
        case ("GET", "status"): .gatewayStatus
        case ("POST", "cancel"): .gatewayCancel
        default: nil
        }
    }

    /// The payment's name behind what a wallet sends: the name, or a whole link in any number of encodings.
    ///
    /// Source: the wallets' SDK sends links of hosts that it does not know as they are, percent-encoded.
    private static func paymentName(_ segment: String) -> String {
        var text = segment
        for _ in 0..<4 {
            let decoded = percentDecoded(text)
            if decoded == text { break }
            text = decoded
        }
        guard let scheme = text.firstRange(of: "://") else { return text }
        let rest = text[scheme.upperBound...]
        if let query = rest.split(separator: "?", maxSplits: 1).dropFirst().first {
            for item in query.split(separator: "&") where item.hasPrefix("pid=") { return String(item.dropFirst(4)) }
        }
        return rest.split(separator: "?").first?.split(separator: "/").dropFirst().last.map(String.init) ?? text
    }

    /// True for calls of the merchant, false for calls of wallets.
    var isMerchants: Bool {
        switch endpoint {
        case .create, .payment, .status, .cancel, .list, .refund: true
        case .info, .options, .fetch, .confirm, .gatewayStatus, .gatewayCancel: false
        }
    }
}
