import Acquirer
import StrictJSON
import TapProtocol

/// What goes wrong after the work.
extension AcquirerState {
    /// The answer as the faults leave it; nil when it is dropped.
    public func spoiled(_ reply: AcquirerReply, _ handling: Handling) -> AcquirerReply? {
        var reply = reply
        for effect in handling.effects(.after) {
            switch effect {
            case .drop: return nil
            case .failure(let status): reply = .failure(status)
            case .refuse(let code): reply = Self.refusal(code)
            case .unknownStatus(let word): reply = Self.reporting(word, reply)
            case .wrongPayment: reply = ofAnotherPayment(reply)
            case .forged: reply = forged(reply)
            case .garbage: reply.isCut = true
            default: break
            }
        }
        return reply
    }

    /// A refusal with any word, also one that nobody knows.
    static func refusal(_ word: String) -> AcquirerReply {
        if let code = AcquirerRefusal.Code(rawValue: word) { return AcquirerReply(AcquirerRefusal(code: code)) }
        return AcquirerReply(409, .members(["code": .string(word), "detail": .null]))
    }

    private static func reporting(_ word: String, _ reply: AcquirerReply) -> AcquirerReply {
        guard case .object(let members)? = reply.json else {
            return AcquirerReply(200, .members(["status": .string(word)]))
        }
        var changed = reply
        changed.content = .json(
            .object(members.map { $0.name == "status" ? .init("status", .string(word)) : $0 })
        )
        return changed
    }

    /// The same answer about a payment that nobody asked for.
    private func ofAnotherPayment(_ reply: AcquirerReply) -> AcquirerReply {
        var changed = reply
        switch reply.content {
        case .receipt(let receipt):
            var payload = receipt.payload
            payload.paymentID = Self.otherName(payload.paymentID)
            if let signed = try? keyring.signed(payload) { changed.content = .receipt(signed) }
        case .json(let json): changed.content = .json(Self.renamed(json))
        }
        return changed
    }

    private static func renamed(_ json: ExactJSON) -> ExactJSON {
        switch json {
        case .array(let items): .array(items.map(renamed))
        case .object(let members):
            .object(
                members.map { member in
                    guard member.name == "paymentId", let id = member.value.stringValue.flatMap({ PaymentID($0) })
                    else {
                        return .init(member.name, renamed(member.value))
                    }
                    return .init(member.name, .string(otherName(id).description))
                }
            )
        default: json
        }
    }

    private static func otherName(_ id: PaymentID) -> PaymentID {
        var bytes = id.bytes
        bytes[15] ^= 1
        return PaymentID(bytes: bytes) ?? id
    }

    /// A receipt that says the same, signed by nobody whom anybody trusts.
    private func forged(_ reply: AcquirerReply) -> AcquirerReply {
        guard case .receipt(let receipt) = reply.content,
            let signed = try? AcquirerKeyring.signed(receipt.payload, with: keyring.stranger)
        else { return reply }
        var changed = reply
        changed.content = .receipt(signed)
        return changed
    }
}
