/// Why a plaintext is not a message to act on.
public enum MessageError: Error, Sendable, Equatable {
    /// Answer ERROR 0x01 and close the link.
    case malformed(MalformedObject)
    /// Answer ERROR 0x02 to this number and go on.
    case unknownType(Int, number: Int)
    /// A known message that this sender may not send. Answer ERROR 0x03 to this number and go on.
    case wrongDirection(type: Int, number: Int)
}

extension TapMessage {
    static func item(_ bytes: [UInt8]) throws(MalformedObject) -> CBOR {
        do throws(CBORError) {
            return try CBOR(decoding: bytes, limitBytes: Framing.maximumMessageBytes)
        } catch {
            throw .cbor(error)
        }
    }

    /// Reads a plaintext. Takes any bytes; no signature is checked.
    /// - Parameter sender: Who sent it.
    public init(decoding bytes: [UInt8], from sender: TapBody.Sender) throws(MessageError) {
        var refusal: MessageError?
        do throws(MalformedObject) {
            guard case .array(let parts) = try Self.item(bytes), parts.count == 3 else { throw .notTheStructure }
            let type = try ObjectFields.number(parts[0], 0, 0...ObjectFields.largest)
            let number = try ObjectFields.number(parts[1], 1, 1...ObjectFields.largest)
            var fields = try ObjectFields(parts[2])
            let answers = try fields.optionalNumber(0, 1...ObjectFields.largest)
            guard let body = try TapBody(type: type, &fields) else {
                refusal = .unknownType(type, number: number)
                throw .notTheStructure
            }
            try fields.finish()
            if let only = body.onlySender, only != sender { refusal = .wrongDirection(type: type, number: number) }
            if [2, 7, 8, 39, 64].contains(type), answers == nil { throw .missing(key: 0) }
            self.init(number: number, answers: answers, body: body)
        } catch {
            throw refusal ?? .malformed(error)
        }
        if let refusal { throw refusal }
    }
}

extension TapBody {
    /// Nil for a type of a later version.
    fileprivate init?(type: Int, _ fields: inout ObjectFields) throws(MalformedObject) {
        switch type {
        case 1...8: self = try Self.fromTerminal(type, &fields)
        case 33...39: self = try Self.fromPhone(type, &fields)
        case 64...69: self = try Self.fromBoth(type, &fields)
        default: return nil
        }
    }

    private static let objectBytes = 1...Framing.maximumMessageBytes

    private static func fromTerminal(_ type: Int, _ fields: inout ObjectFields) throws(MalformedObject) -> TapBody {
        let id = try fields.paymentID()
        switch type {
        case 1:
            let request = try Signed<PaymentRequest>(decoding: try fields.bytes(2, objectBytes))
            guard request.payload.paymentID == id else { throw .outOfRange(key: 1) }
            return .request(request)
        case 2:
            let claim = try Signed<PaymentClaim>(decoding: try fields.bytes(2, objectBytes))
            guard claim.payload.paymentID == id else { throw .outOfRange(key: 1) }
            return .claim(claim)
        case 3: return .hold(id)
        case 4: return .reopen(id, attempt: try fields.number(2, 1...ObjectFields.largest))
        case 5: return .otherPaid(id)
        case 6:
            guard let reason = TerminalCancelReason(rawValue: try fields.number(2)) else { throw .outOfRange(key: 2) }
            return .cancelledByTerminal(id, reason)
        case 7:
            var options: [WalletOption] = []
            for item in try fields.list(2, 0...16) { options.append(try WalletOption(item)) }
            return .options(id, options, expiresAtSeconds: try fields.number(3))
        default:
            let order = SigningOrder(
                paymentID: id,
                optionID: try fields.text(2, 1...128),
                index: try fields.number(3, 0...15),
                count: try fields.number(4, 1...16),
                chainID: try fields.text(5),
                method: try fields.text(6),
                parameters: try fields.text(7, objectBytes)
            )
            guard order.index < order.count else { throw .outOfRange(key: 3) }
            return .sign(order)
        }
    }

    private static func fromPhone(_ type: Int, _ fields: inout ObjectFields) throws(MalformedObject) -> TapBody {
        if type == 34 {
            return .accept(
                try Signed(decoding: try fields.bytes(1, objectBytes)),
                try Signed(decoding: try fields.bytes(2, objectBytes))
            )
        }
        let id = try fields.paymentID()
        switch type {
        case 33:
            guard let state = ReceivedNotice.State(rawValue: try fields.number(2)) else { throw .outOfRange(key: 2) }
            return .received(
                ReceivedNotice(
                    paymentID: id,
                    state: state,
                    capabilities: TapCapabilities(rawValue: try fields.number(3)),
                    timeSeconds: try fields.number(4),
                    isOnline: try fields.bool(5)
                )
            )
        case 35:
            guard let reason = PayerCancelReason(rawValue: try fields.number(2)) else { throw .outOfRange(key: 2) }
            return .cancelledByPayer(id, reason)
        case 36:
            guard let reason = KeepAliveReason(rawValue: try fields.number(2)) else { throw .outOfRange(key: 2) }
            return .keepAlive(id, reason)
        case 37: return .accounts(id, try texts(2, &fields))
        case 38: return .choose(id, optionID: try fields.text(2, 1...128))
        default:
            return .signatures(id, optionID: try fields.text(2, 1...128), try texts(3, &fields, lengths: 1...1024))
        }
    }

    private static func fromBoth(_ type: Int, _ fields: inout ObjectFields) throws(MalformedObject) -> TapBody {
        switch type {
        case 64: return .acknowledge(try fields.paymentID())
        case 65:
            var id: PaymentID?
            if let item = fields.optional(1) {
                guard case .bytes(let bytes) = item, let sound = PaymentID(bytes: bytes) else {
                    throw .outOfRange(key: 1)
                }
                id = sound
            }
            let code = TapErrorCode(rawValue: try fields.number(2, 0...0xFFFF))
            return .error(id, code, text: try fields.optionalText(3, 0...64))
        case 66: return .ping(try fields.bytes(1, count: 8))
        case 67: return .pong(try fields.bytes(1, count: 8))
        case 68:
            let id = try fields.paymentID()
            guard let status = PaymentStatus(rawValue: try fields.number(2)) else { throw .outOfRange(key: 2) }
            var receipt: Signed<PaymentReceipt>?
            if let item = fields.optional(3) {
                guard case .bytes(let bytes) = item else { throw .wrongType(key: 3) }
                receipt = try Signed(decoding: bytes)
            }
            let transactionID = try fields.optionalText(4, 1...128)
            return .result(id, status, receipt: receipt, transactionID: transactionID)
        default: return .bye(reason: try fields.number(2, 0...0xFFFF))
        }
    }

    private static func texts(
        _ key: Int,
        _ fields: inout ObjectFields,
        lengths: ClosedRange<Int> = 1...128
    ) throws(MalformedObject) -> [String] {
        var result: [String] = []
        for item in try fields.list(key, 1...16) { result.append(try ObjectFields.text(item, key, lengths)) }
        return result
    }
}

extension WalletOption {
    fileprivate init(_ item: CBOR) throws(MalformedObject) {
        var fields = try ObjectFields(item)
        self.init(
            id: try fields.text(1, 1...128),
            value: try fields.text(2, 1...78),
            symbol: try fields.text(3, 1...16),
            decimals: try fields.number(4, 0...77),
            network: try fields.text(5),
            account: try fields.text(6, 1...128),
            etaSeconds: try fields.optionalNumber(7),
            collectDataURL: try fields.optionalText(8, 1...1024)
        )
        try fields.finish()
    }
}
