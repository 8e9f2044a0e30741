import FoundationEssentials

/// The wallet side's JSON. Source: WalletConnect Pay API 2026-02-19.preview, tag Gateway.
struct WireOptionsRequest: WireType { var accounts: [String] }

/// A part of an answer that may be in another form than the documented one, without making the rest unreadable.
///
/// ``Lenient`` for what is read only. A ``JSONText`` within keeps its place in the document.
struct Readable<Value: Decodable>: Decodable {
    /// Nil where it is in another form.
    let value: Value?

    init(from decoder: any Decoder) throws { value = try? Value(from: decoder) }
}

struct WireOptions: Decodable {
    var info: WireInfo?
    /// Null when the payment is over.
    var options: [Readable<WireOption>]?
    var collectData: Readable<WireCollectData>?
    /// In the SDK's documents, not in the API's: the payment was made already.
    var resultInfo: Readable<WireResult>?

    /// Those that are as documented, and how many are not.
    var readOptions: (readable: [PaymentOption], unreadable: Int) {
        let all = (options ?? []).map { $0.value?.option }
        let readable = all.compactMap { $0 }
        return (readable, all.count - readable.count)
    }

    /// A question in a form that is not known must not be taken for none.
    var collectDataAction: CollectDataAction? {
        collectData.map { $0.value?.action ?? CollectDataAction(fields: [], url: nil, schema: nil) }
    }
}

struct WireInfo: Decodable {
    var status: String
    var amount: WireAmount
    var expiresAt: Int64
    var merchant: Readable<Merchant>?
    var buyer: Readable<Buyer>?

    struct Merchant: Decodable {
        var name: Readable<String>?
        var iconUrl: Readable<String>?
    }

    struct Buyer: Decodable {
        var accountCaip10: String
        var accountProviderName: Readable<String>?
        var accountProviderIcon: Readable<String>?
    }

    var info: PaymentInfo {
        PaymentInfo(
            status: PaymentStatus(word: status),
            amount: amount.amount,
            expiresAt: expiresAt,
            merchant: MerchantInfo(
                name: merchant?.value?.name?.value ?? "",
                iconUrl: merchant?.value?.iconUrl?.value
            ),
            buyer: (buyer?.value).map {
                BuyerInfo(
                    accountCaip10: $0.accountCaip10,
                    accountProviderName: $0.accountProviderName?.value ?? "",
                    accountProviderIcon: $0.accountProviderIcon?.value
                )
            }
        )
    }
}

struct WireOption: Decodable {
    var id: String
    var account: String
    var amount: WireAmount
    /// Whole seconds, says the API.
    var etaS: Readable<Double>?
    var expiresAt: Int64?
    var actions: [WireAction]?
    var collectData: WireCollectData?

    /// Nil where one of its steps is not as documented.
    var option: PaymentOption? {
        let steps = (actions ?? []).compactMap(\.step)
        guard steps.count == (actions ?? []).count else { return nil }
        return PaymentOption(
            id: id,
            account: account,
            amount: amount.amount,
            // A guess of the gateway's; one that no one could wait for says nothing.
            etaS: (etaS?.value).map { (0...1e9).contains($0) ? Int64($0.rounded(.up)) : 0 } ?? 0,
            expiresAt: expiresAt,
            collectData: collectData?.action,
            steps: steps
        )
    }
}

/// Both generations: `fields`, and `url` with `schema`. Production sends the one, the other, or both.
struct WireCollectData: Decodable {
    var fields: [Field]?
    var schema: JSONText?
    var url: String?

    struct Field: Decodable {
        var id: String
        var name: String?
        var required: Bool?
        var type: String?
    }

    var action: CollectDataAction {
        CollectDataAction(
            fields: (fields ?? []).map {
                CollectDataField(
                    id: $0.id,
                    name: $0.name ?? $0.id,
                    required: $0.required ?? false,
                    fieldType: CollectDataFieldType(word: $0.type ?? "text")
                )
            },
            url: url,
            schema: schema?.contents
        )
    }
}

struct WireActions: Decodable { var actions: [WireAction] }

struct WireFetch: WireType {
    var optionId: String
    var data: String
}

struct WireConfirm: WireType {
    var optionId: String
    var results: [Result]
    var collectedData: Collected?

    struct Result: WireType {
        var type = "walletRpc"
        var data: [String]
    }

    struct Collected: WireType { var fields: [Field] }

    struct Field: WireType {
        var id: String
        var value: String
    }
}

/// An action; one of a kind that is not known here stays in its place, so that results keep their order.
struct WireAction: Decodable {
    var type: String
    var data: Payload?

    struct Payload: Decodable {
        /// Snake case, alone among its neighbours.
        var chain_id: String?
        var method: String?
        var params: JSONText?
        var data: String?
    }

    /// Nil for a wallet action without its chain or method.
    var step: PaymentStep? {
        switch type {
        case "build": return .build(data: data?.data ?? "")
        case "walletRpc":
            guard let chain = data?.chain_id, let method = data?.method else { return nil }
            return .call(WalletRpcAction(chainId: chain, method: method, params: data?.params?.text ?? "[]"))
        default: return .unrecognised(kind: type)
        }
    }
}

/// Any JSON value, kept as the text that it came in. Decodes from a ``WalletAnswer`` only.
struct JSONText: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
        guard let key = WalletAnswer.document, let document = decoder.userInfo[key] as? [UInt8],
            let text = RawJSON.text(in: document, at: decoder.codingPath)
        else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "no text of its own")
            )
        }
        self.text = text
    }

    /// The value of a JSON string, the text of anything else.
    var contents: String { (try? JSONDecoder().decode(String.self, from: Data(text.utf8))) ?? text }
}

/// How an answer of the gateway to a wallet is read. Lenient: unknown fields are ignored, missing optional ones are nil.
enum WalletAnswer {
    /// The whole document, for values that keep their own text.
    static let document = CodingUserInfoKey(rawValue: "document")

    static func decode<Answer: Decodable>(_ bytes: [UInt8]) throws -> Answer {
        try bytes.requireNamesOnce()
        let decoder = JSONDecoder()
        if let document { decoder.userInfo[document] = bytes }
        return try decoder.decode(Answer.self, from: Data(bytes))
    }
}
