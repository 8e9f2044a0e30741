import Payments

/// Who asks, and whether they may.
extension GatewayState {
    /// Source: WalletConnect Pay API, security schemes; error codes as documented.
    func authorize(_ request: GatewayRequest, _ route: Route) throws(APIError) -> Caller {
        switch route.family {
        case .browser: return Caller(version: configuration.pinnedVersion, merchant: "")
        case .partner:
            // The routes of partners name no versions.
            let older = route.endpoint == .legacyList ? request.header("X-Api-Key") : nil
            try checkKey(older ?? request.header("Api-Key"))
            return Caller(version: configuration.pinnedVersion, merchant: "")
        case .payments, .records:
            let version = try version(request)
            try checkKey(request.header("Api-Key"))
            return Caller(version: version, merchant: try merchant(request, route))
        case .wallet:
            let version = try version(request)
            try checkWallet(request)
            return Caller(version: version, merchant: "")
        }
    }

    private func version(_ request: GatewayRequest) throws(APIError) -> APIVersion {
        for (name, value) in request.headers where !value.allSatisfy(\.isASCII) {
            throw APIError(400, "header_not_ascii", "Header \(name) is not ASCII")
        }
        return try APIVersion.resolved(header: request.header("WCP-Version"), pinned: configuration.pinnedVersion)
    }

    private func checkKey(_ key: String?) throws(APIError) {
        guard let key else { throw APIError(401, "missing_api_key", "Header Api-Key is missing") }
        guard key == configuration.apiKey else { throw APIError(401, "invalid_api_key", "Invalid API key") }
    }

    private func merchant(_ request: GatewayRequest, _ route: Route) throws(APIError) -> String {
        if request.segments == ["v1", "payments"], request.method == "GET" { return "" }  // That list is the partner's.
        guard let id = request.header("Merchant-Id") else {
            throw APIError(401, "missing_merchant_id", "Header Merchant-Id is missing")
        }
        guard merchant(id) != nil else {
            let code = route.endpoint == .refund ? "not_found" : "merchant_not_found"
            throw APIError(404, code, "Merchant not found")
        }
        return id
    }

    private func checkWallet(_ request: GatewayRequest) throws(APIError) {
        let key = request.header("Api-Key")
        let app = request.header("App-Id")
        let client = request.header("Client-Id")
        if key != nil, app != nil || client != nil {
            throw APIError(400, "conflicting_auth_headers", "Use either Api-Key or App-Id with Client-Id")
        }
        if key != nil { return try checkKey(key) }
        switch (app, client) {
        case (nil, nil): throw APIError(401, "missing_auth_headers", "Authentication headers are missing")
        case (nil, _): throw APIError(401, "missing_app_id", "Header App-Id is missing")
        case (_, nil): throw APIError(401, "missing_client_id", "Header Client-Id is missing")
        default: break  // Every app is welcome at a sandbox.
        }
    }
}

extension Route {
    /// A refusal in the words of this route's interface.
    func refusal(_ error: APIError) -> GatewayAnswer {
        GatewayAnswer(family == .records || family == .partner ? error.asRecords : error)
    }
}
