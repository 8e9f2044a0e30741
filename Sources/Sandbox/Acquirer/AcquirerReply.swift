import Acquirer
import StrictJSON
import TapProtocol

/// What the acquirer answers.
public struct AcquirerReply: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        case json(ExactJSON)
        /// A signed receipt.
        case receipt(Signed<PaymentReceipt>)
    }

    public var status: Int
    var content: Content
    public var headers: [String: String] = [:]
    /// A fault cut the body.
    var isCut = false

    init(_ status: Int = 200, _ json: ExactJSON) { (self.status, content) = (status, .json(json)) }

    init(_ receipt: Signed<PaymentReceipt>) { (status, content) = (200, .receipt(receipt)) }

    init(_ refusal: AcquirerRefusal) {
        self.init(
            refusal.code.status,
            .members(["code": .string(refusal.code.rawValue), "detail": .text(refusal.detail)])
        )
        if [.paymentBusy, .rateLimited].contains(refusal.code) { headers["Retry-After"] = "1" }
    }

    /// An answer with which nothing is sure.
    static func failure(_ status: Int) -> AcquirerReply {
        AcquirerReply(status, .members(["code": .string("internal_error"), "detail": .null]))
    }

    var json: ExactJSON? { if case .json(let json) = content { json } else { nil } }

    public var contentType: String { json == nil ? "application/cbor" : "application/json" }

    public var body: [UInt8] {
        let bytes: [UInt8]
        switch content {
        case .json(let json): bytes = Array(json.text.utf8)
        case .receipt(let receipt): bytes = receipt.encoded
        }
        return isCut ? Array(bytes.prefix(bytes.count / 2)) : bytes
    }
}

extension AcquirerRefusal {
    static func malformed(_ detail: String) -> AcquirerRefusal {
        AcquirerRefusal(code: .malformed, detail: String(detail.prefix(64)))
    }

    static func bundle(_ check: String) -> AcquirerRefusal { AcquirerRefusal(code: .bundleRefused, detail: check) }
}
