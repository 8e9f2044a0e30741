import FoundationEssentials

/// The wallet side's JSON. Source: WalletConnect Pay API 2026-02-19.preview, tag Gateway.
struct WireOptionsRequest: WireType { var accounts: [String] }

struct WireOptions: WireType {
    var info: WireInfo?
    var options: [WireOption]?
}

struct WireInfo: WireType {
    var status: String
    var amount: WireAmount
    var expiresAt: Int64
    var merchant: Merchant

    struct Merchant: WireType {
        var name: String
        var iconUrl: String?
    }

    var info: PaymentInfo {
        PaymentInfo(
            status: PaymentStatus(word: status),
            amount: amount.amount,
            expiresAtSeconds: expiresAt,
            merchantName: merchant.name,
            merchantIconURL: merchant.iconUrl
        )
    }
}

struct WireOption: WireType {
    var id: String
    var account: String
    var amount: WireAmount
    var etaS: Int?
    var expiresAt: Int64?
    var actions: [WireAction]
}

struct WireActions: WireType { var actions: [WireAction] }

struct WireFetch: WireType {
    var optionId: String
    var data: String
}

struct WireConfirm: WireType {
    var optionId: String
    var results: [Result]

    struct Result: WireType {
        var type = "walletRpc"
        var data: [String]
    }
}

/// An action; one of a kind that is not known here stays in its place, so that results keep their order.
struct WireAction: WireType {
    var type: String
    var data: Payload

    struct Payload: WireType {
        /// Snake case, alone among its neighbours.
        var chain_id: String?
        var method: String?
        var params: JSONText?
        var data: String?
    }

    func action() throws(PayError) -> PaymentAction {
        switch type {
        case "build": return .build(data: data.data ?? "")
        case "walletRpc":
            guard let chain = data.chain_id, let method = data.method else {
                throw .unclear(detail: "a wallet action without its chain or method")
            }
            return .walletRPC(WalletRPC(chainID: chain, method: method, params: data.params?.text ?? "[]"))
        default: throw .unclear(detail: "an action of an unknown kind")
        }
    }
}

/// Any JSON value, kept as text. Numbers beyond 64 bits travel as strings in this protocol.
struct JSONText: Codable {
    let text: String

    init(from decoder: any Decoder) throws {
        let value = try Value(from: decoder)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        text = String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    func encode(to encoder: any Encoder) throws {
        try JSONDecoder().decode(Value.self, from: Data(text.utf8)).encode(to: encoder)
    }

    private indirect enum Value: Codable {
        case null, bool(Bool), integer(Int64), number(Double), string(String), array([Value]), object([String: Value])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(Int64.self) {
                self = .integer(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else if let value = try? container.decode(String.self) {
                self = .string(value)
            } else if let value = try? container.decode([Value].self) {
                self = .array(value)
            } else {
                self = .object(try container.decode([String: Value].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .null: try container.encodeNil()
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .number(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .array(let value): try container.encode(value)
            case .object(let value): try container.encode(value)
            }
        }
    }
}
