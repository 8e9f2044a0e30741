import FoundationEssentials
import StrictJSON

/// The JSON that travels, as it is. Decoding is lenient: unknown fields are ignored, missing optional ones are nil.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `components/schemas`.
protocol WireType: Codable {}

extension WireType {
    /// - Throws: Where the bytes are no JSON, are JSON of another form, or give one name two values in an object: an answer
    ///   that says two things says nothing. Source: RFC 8259, section 4.
    static func decode(_ bytes: [UInt8]) throws -> Self {
        try bytes.requireNamesOnce()
        return try JSONDecoder().decode(Self.self, from: Data(bytes))
    }

    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        // Sorted, so that the same order is the same bytes: the gateway compares bodies under one idempotency key.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self))
    }
}

extension [UInt8] {
    /// Throws where these bytes are no JSON, or give one name two values in an object. Foundation's reader takes the first
    /// of two and says nothing.
    func requireNamesOnce() throws(ExactJSON.Failure) {
        // Answers are cut at 1 MiB by who fetches them.
        _ = try ExactJSON(parsing: self, limits: ExactJSON.Limits(bytes: 1 << 20, depth: 64))
    }
}

/// A value that is only looked at where it has the documented form. Another form must not make the answer unreadable.
struct Lenient<Value: Codable>: Codable {
    var value: Value?

    init(from decoder: any Decoder) throws { value = try? Value(from: decoder) }

    func encode(to encoder: any Encoder) throws { try value?.encode(to: encoder) }
}

/// `{"code","message"}`, flat.
struct WireError: WireType {
    var code: String?
    var message: String?
    /// What is wrong with each field. Merchant routes only. Source: `MerchantApiErrorResponse`.
    var issues: Lenient<[Issue]>?

    struct Issue: WireType {
        var field: String?
        var message: String?
    }
}

struct WireAmount: WireType {
    var unit: String
    var value: String
    var display: Lenient<Display>?

    struct Display: WireType {
        var assetSymbol: String?
        var assetName: String?
        var decimals: Int?
        var iconUrl: String?
        var networkName: String?
        var networkIconUrl: String?
    }

    init(_ amount: PayAmount) { (unit, value) = (amount.unit, amount.value) }

    var amount: PayAmount {
        PayAmount(
            unit: unit,
            value: value,
            display: (display?.value).map {
                PayAmount.Display(
                    assetSymbol: $0.assetSymbol ?? "",
                    assetName: $0.assetName ?? "",
                    decimals: $0.decimals,
                    iconURL: $0.iconUrl,
                    networkName: $0.networkName,
                    networkIconURL: $0.networkIconUrl
                )
            }
        )
    }
}

struct WireNewPayment: WireType {
    var referenceId: String
    var amount: WireAmount
    /// Unix seconds.
    var expiresAt: Int64?
    var checkout: Checkout?

    struct Checkout: WireType {
        var successUrl: String
        var errorUrl: String
    }
}

struct WireCreated: WireType {
    var paymentId: String
    var status: String
    var expiresAt: Lenient<Int64>?
    var isFinal: Bool?
    var pollInMs: Lenient<Int64>?
    var gatewayUrl: String
}

struct WireStatus: WireType {
    var status: String
    var isFinal: Bool?
    // Beside the status word. Another form of one of these makes it unreadable, and not the word.
    var pollInMs: Lenient<Int64>?
    var info: Lenient<WireResult>?
    var failureCode: Lenient<String>?
    // What a status is not documented to carry, compared where it does.
    var paymentId: Lenient<String>?
    var referenceId: Lenient<String>?
    var merchant: Lenient<WireMerchant>?
    var amount: Lenient<WireAmount>?

    var report: StatusReport {
        let status = PaymentStatus(word: status)
        return StatusReport(
            status: status,
            isFinal: isFinal ?? status.isFinal,
            pollAfter: pollInMs?.value.map { .milliseconds(min(max($0, 0), 60_000)) },
            result: info?.value?.result,
            failureCode: failureCode?.value,
            facts: PaymentFacts(
                paymentID: paymentId?.value,
                reference: referenceId?.value,
                merchantID: merchant?.value?.id,
                amount: amount?.value?.amount
            )
        )
    }
}

struct WireMerchant: WireType {
    var id: String?
    var name: String?
}

struct WireResult: WireType {
    var txId: Lenient<String>?
    var optionAmount: Lenient<WireAmount>?

    var result: PaymentResult { PaymentResult(transactionID: txId?.value, paid: optionAmount?.value?.amount) }
}

struct WireCancelled: WireType {
    var status: String
    var cancelledReason: String?
    var cancelledAt: String?
}

struct WireDetails: WireType {
    var status: String
    var referenceId: Lenient<String>?
    var failureCode: Lenient<String>?
    var info: Lenient<WireResult>?
    var settlement: Lenient<Settlement>?

    struct Settlement: WireType { var successful: Successful? }
    struct Successful: WireType { var txId: String? }
}

struct WireRefund: WireType { var paymentId: String }
