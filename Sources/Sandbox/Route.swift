/// What a request's method and path mean.
struct Route: Sendable, Equatable {
    /// Whose interface a call belongs to: each asks for other headers and words its refusals in its own codes.
    enum Family: Sendable {
        /// A merchant's calls about its payments.
        case payments
        /// A merchant's lists and refunds, which have a list of codes of their own.
        case records
        /// What a partner does with its merchants.
        case partner
        case wallet
        /// The customer's browser.
        case browser
    }

    let endpoint: Endpoint
    /// The payment that the path names.
    var payment: String?
    /// The merchant that the path names.
    var merchant: String?
    /// The settlement that the path names.
    var settlement: String?

    /// Nil for a path that the gateway does not serve, or not with this method.
    ///
    /// Source: WalletConnect Pay API 2026-02-19.preview, `paths`; `/v1/merchant/payment` and its status are an older
    /// form that is in use but not in that document.
    init?(_ request: GatewayRequest) {
        guard request.segments.first == "v1" else {
            // The form's page; production serves it on the host of the payment links.
            guard request.segments == ["collect"], ["GET", "POST"].contains(request.method) else { return nil }
            self.init(request.method == "GET" ? .form : .formSubmit, request.values("pid").first)
            return
        }
        let path = Array(request.segments.dropFirst())
        switch path.first {
        case "payments": self.init(payments: request.method, path)
        case "merchant": self.init(legacy: request.method, path)
        case "merchants": self.init(merchants: request.method, path)
        case "gateway": self.init(gateway: request.method, path)
        case "refunds" where path.count == 1 && request.method == "POST": self.init(.refund)
        default: return nil
        }
    }

    private init(_ endpoint: Endpoint, _ payment: String? = nil) {
        self.endpoint = endpoint
        self.payment = payment.map(Self.paymentName)
    }

    private init(_ endpoint: Endpoint, merchant: String, settlement: String? = nil) {
        (self.endpoint, self.merchant, self.settlement) = (endpoint, merchant, settlement)
    }

    private init?(payments method: String, _ path: [String]) {
        switch (method, path.count) {
        case ("POST", 1): self.init(.create)
        case ("GET", 1): self.init(.list)
        case ("GET", 2): self.init(.payment, path[1])
        case ("GET", 3) where path[2] == "status": self.init(.status, path[1])
        case ("POST", 3) where path[2] == "cancel": self.init(.cancel, path[1])
        default: return nil
        }
    }

    private init?(legacy method: String, _ path: [String]) {
        guard path.count >= 2, path[1] == "payment" else { return nil }
        switch (method, path.count) {
        case ("POST", 2): self.init(.create)
        case ("GET", 4) where path[3] == "status": self.init(.status, path[2])
        default: return nil
        }
    }

    private init?(merchants method: String, _ path: [String]) {
        switch (method, path.count) {
        case ("GET", 2) where path[1] == "payments": self.init(.list)
        case ("POST", 1): self.init(.merchantCreate)
        case ("GET", 1): self.init(.merchantList)
        case ("GET", 2): self.init(.merchant, merchant: path[1])
        case ("PATCH", 2): self.init(.merchantUpdate, merchant: path[1])
        case ("DELETE", 2): self.init(.merchantDelete, merchant: path[1])
        case ("GET", 3) where path[2] == "payments": self.init(.legacyList, merchant: path[1])
        case ("GET", 3) where path[2] == "settlements": self.init(.settlements, merchant: path[1])
        case ("POST", 4) where path[2...] == ["settlements", "crypto"]:
            self.init(.settlementCreate, merchant: path[1])
        case ("PUT", 5) where path[2...3] == ["settlements", "crypto"]:
            self.init(.settlementUpdate, merchant: path[1], settlement: path[4])
        case ("DELETE", 5) where path[2...3] == ["settlements", "crypto"]:
            self.init(.settlementDelete, merchant: path[1], settlement: path[4])
        default: return nil
        }
    }

    private init?(gateway method: String, _ path: [String]) {
        guard (3...4).contains(path.count), path[1] == "payment" else { return nil }
        switch (method, path.count == 4 ? path[3] : nil) {
        case ("GET", nil): self.init(.info, path[2])
        case ("POST", "options"): self.init(.options, path[2])
        case ("POST", "fetch"): self.init(.fetch, path[2])
        case ("POST", "confirm"): self.init(.confirm, path[2])
        case ("GET", "status"): self.init(.gatewayStatus, path[2])
        case ("POST", "cancel"): self.init(.gatewayCancel, path[2])
        default: return nil
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

    var family: Family {
        switch endpoint {
        case .create, .payment, .status, .cancel: .payments
        case .list, .refund: .records
        case .info, .options, .fetch, .confirm, .gatewayStatus, .gatewayCancel: .wallet
        case .form, .formSubmit: .browser
        case .legacyList, .merchantCreate, .merchantList, .merchant, .merchantUpdate, .merchantDelete, .settlements,
            .settlementCreate, .settlementUpdate, .settlementDelete:
            .partner
        }
    }
}
