import Ethereum
import Payments
import StrictJSON

/// What a partner asks about its merchants. All of them belong to the one API key of the sandbox.
extension GatewayState {
    mutating func partnerCall(
        _ request: GatewayRequest,
        _ route: Route,
        at now: WallTime
    ) throws(APIError) -> GatewayAnswer {
        switch route.endpoint {
        case .legacyList: return try legacyList(request, merchant: route.merchant ?? "")
        case .merchantCreate: return try createMerchant(request, at: now)
        case .merchantList: return try listMerchants(request)
        case .merchantUpdate: return try updateMerchant(request, try merchantIndex(route))
        case .merchantDelete:
            let merchant = merchants.remove(at: try merchantIndex(route))
            return GatewayAnswer(200, .members(["id": .string(merchant.id), "deleted": .bool(true)]))
        case .settlements: return GatewayAnswer(200, merchants[try merchantIndex(route)].settlementsJSON)
        case .settlementCreate: return try createSettlements(request, try merchantIndex(route))
        case .settlementUpdate: return try updateSettlement(request, route)
        case .settlementDelete:
            let (merchant, settlement) = try settlementIndex(route)
            let gone = merchants[merchant].settlements.remove(at: settlement)
            return GatewayAnswer(200, .members(["id": .string(gone.id), "deleted": .bool(true)]))
        default:
            let merchant = merchants[try merchantIndex(route)]
            let members = merchant.members + [.init("settlements", merchant.settlementsJSON)]
            return GatewayAnswer(200, .members(["merchant": .object(members)]))
        }
    }

    func merchant(_ id: String) -> SandboxMerchant? { merchants.first { $0.id == id } }

    private static let notFound = APIError(404, "not_found", "Not Found")

    private func merchantIndex(_ route: Route) throws(APIError) -> Int {
        guard let index = merchants.firstIndex(where: { $0.id == route.merchant }) else { throw Self.notFound }
        return index
    }

    private func settlementIndex(_ route: Route) throws(APIError) -> (merchant: Int, settlement: Int) {
        let merchant = try merchantIndex(route)
        guard let index = merchants[merchant].settlements.firstIndex(where: { $0.id == route.settlement }) else {
            throw Self.notFound
        }
        return (merchant, index)
    }

    /// Source: WalletConnect Pay API: these routes need an `Idempotency-Key`, unlike those about payments.
    private static func neededKey(_ request: GatewayRequest) throws(APIError) -> String {
        guard let key = request.header("Idempotency-Key") else {
            throw APIError(400, "missing_idempotency_key", "Missing Idempotency-Key header")
        }
        guard key.utf8.count <= 255 else { throw .invalid("Idempotency-Key exceeds 255 characters") }
        return key
    }

    private mutating func createMerchant(
        _ request: GatewayRequest,
        at now: WallTime
    ) throws(APIError) -> GatewayAnswer {
        let key = try Self.neededKey(request)
        let body = try request.object(orElse: APIError.invalid)
        if let answer = try rememberedAnswer(scope: "merchants", key: key, body: body) { return answer }
        let fields = try Self.merchantFields(body, isNew: true)
        let merchant = SandboxMerchant(
            id: "mrch_" + PaymentNames.word(using: &random),
            name: fields.name ?? "",
            email: fields.email,
            iconURL: fields.icon ?? nil,
            createdAt: now
        )
        merchants.append(merchant)
        let answer = GatewayAnswer(201, .members(["merchant": merchant.json]))
        remember(answer, scope: "merchants", key: key, body: body)
        return answer
    }

    private mutating func updateMerchant(_ request: GatewayRequest, _ index: Int) throws(APIError) -> GatewayAnswer {
        let fields = try Self.merchantFields(try request.object(orElse: APIError.invalid), isNew: false)
        if let name = fields.name { merchants[index].name = name }
        if let email = fields.email { merchants[index].email = email }
        if let icon = fields.icon { merchants[index].iconURL = icon }
        return GatewayAnswer(200, .members(["merchant": merchants[index].json]))
    }

    /// `icon` is nil where the request does not name it, and `.some(nil)` where it is to be unset.
    private static func merchantFields(
        _ body: ExactJSON,
        isNew: Bool
    ) throws(APIError) -> (name: String?, email: String?, icon: String??) {
        var issues = FieldIssues()
        func text(_ name: String, _ isGood: (String) -> Bool) -> String? {
            guard let value = body.value(named: name) else {
                if isNew { issues.add(name, "Required") }
                return nil
            }
            guard let text = value.stringValue, isGood(text) else {
                issues.add(name, "Invalid value")
                return nil
            }
            return text
        }
        let name = text("merchantName", MerchantField.isName)
        let email = text("merchantEmail", MerchantField.isEmail)
        var icon: String??
        switch body.value(named: "iconUrl") {
        case nil: break
        case .null: icon = .some(nil)
        case .string(let url) where MerchantField.isIcon(url): icon = url
        default: issues.add("iconUrl", "Must be an HTTPS URL or null")
        }
        try issues.check()
        return (name, email, icon)
    }

    private func listMerchants(_ request: GatewayRequest) throws(APIError) -> GatewayAnswer {
        var limit = 20
        if let text = request.values("limit").first {
            guard let number = Int(text), (1...100).contains(number) else { throw .invalid("Validation failed: limit") }
            limit = number
        }
        var matching = merchants
        if let word = request.values("status").first {
            guard ["active", "inactive", "suspended"].contains(word) else {
                throw .invalid("Validation failed: status")
            }
            if word != "active" { matching = [] }
        }
        if let text = request.values("search").first {
            guard MerchantField.isName(text) else { throw .invalid("Validation failed: search") }
            let wanted = text.lowercased()
            matching = matching.filter { $0.id.lowercased().contains(wanted) || $0.name.lowercased().contains(wanted) }
        }
        var rest = matching[...]
        if let cursor = request.values("cursor").first {
            guard let start = matching.firstIndex(where: { $0.id == cursor }) else {
                throw .invalid("Validation failed: cursor")
            }
            rest = matching[(start + 1)...]
        }
        let page = rest.prefix(limit)
        return GatewayAnswer(
            200,
            .members([
                "merchants": .array(page.map(\.json)), "totalCount": .integer(matching.count),
                "nextCursor": .text(page.count < rest.count ? page.last?.id : nil),
            ])
        )
    }

    // MARK: - Settlements

    private mutating func createSettlements(_ request: GatewayRequest, _ index: Int) throws(APIError) -> GatewayAnswer {
        let key = try Self.neededKey(request)
        let body = try request.object(orElse: APIError.invalid)
        let scope = "settlements " + merchants[index].id
        if let answer = try rememberedAnswer(scope: scope, key: key, body: body) { return answer }
        guard let wanted = body["settlements"]?.arrayValue, (1...50).contains(wanted.count) else {
            throw .invalid("Validation failed: settlements")
        }
        var taken = Set(merchants[index].settlements.map { $0.asset.lowercased() })
        var made: [SandboxMerchant.Settlement] = []
        for entry in wanted {
            guard let asset = entry["asset"]?.stringValue, MerchantField.isAsset(asset) else {
                throw .invalid("Validation failed: asset")
            }
            let destination = try Self.destination(entry, asset: asset)
            guard taken.insert(asset.lowercased()).inserted else {
                throw APIError(409, "settlement_asset_conflict", "A settlement already exists for this asset")
            }
            let id = "crypto_" + PaymentNames.word(using: &random)
            made.append(SandboxMerchant.Settlement(id: id, asset: asset, destination: destination))
        }
        merchants[index].settlements += made
        let answer = GatewayAnswer(201, .members(["settlements": .array(made.map(\.json))]))
        remember(answer, scope: scope, key: key, body: body)
        return answer
    }

    private mutating func updateSettlement(_ request: GatewayRequest, _ route: Route) throws(APIError) -> GatewayAnswer
    {
        let (merchant, index) = try settlementIndex(route)
        let settlement = merchants[merchant].settlements[index]
        let body = try request.object(orElse: APIError.invalid)
        merchants[merchant].settlements[index].destination = try Self.destination(body, asset: settlement.asset)
        return GatewayAnswer(200, merchants[merchant].settlements[index].json)
    }

    /// Source: WalletConnect Pay API: the destination's chain must be the asset's.
    private static func destination(_ json: ExactJSON, asset: String) throws(APIError) -> String {
        guard let account = json["destination"]?.stringValue, MerchantField.isAccount(account) else {
            throw .invalid("Validation failed: destination")
        }
        guard MerchantField.chain(account) == MerchantField.chain(asset) else {
            throw .invalid("Validation failed: destination is on another chain than its asset")
        }
        return account
    }
}
