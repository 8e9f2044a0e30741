extension TapMessage {
    /// The plaintext that goes into the session.
    public var encoded: [UInt8] {
        var map = body.map
        map[0] = answers.map(CBOR.integer)
        return CBOR.array([.integer(body.type), .integer(number), .map(map)]).encoded
    }
}

extension TapBody {
    /// The body's members without key 0.
    fileprivate var map: CBORMap {
        var map: CBORMap
        switch self {
        case .request(let request): map = [2: .bytes(request.encoded)]
        case .claim(let claim): map = [2: .bytes(claim.encoded)]
        case .hold, .otherPaid, .acknowledge: map = [:]
        case .reopen(_, let attempt): map = [2: .integer(attempt)]
        case .cancelledByTerminal(_, let reason): map = [2: .integer(reason.rawValue)]
        case .cancelledByPayer(_, let reason): map = [2: .integer(reason.rawValue)]
        case .keepAlive(_, let reason): map = [2: .integer(reason.rawValue)]
        case .received(let notice):
            map = [
                2: .integer(notice.state.rawValue), 3: .integer(notice.capabilities.rawValue),
                4: .integer(notice.timeSeconds), 5: .bool(notice.isOnline),
            ]
        case .accept(let accept, let pass): return [1: .bytes(accept.encoded), 2: .bytes(pass.encoded)]
        case .error(_, let code, let text):
            map = [2: .integer(code.rawValue), 3: text.map { .text(WireText.sendable($0, limitBytes: 64)) }]
        case .ping(let bytes), .pong(let bytes): return [1: .bytes(bytes)]
        case .result(_, let status, let receipt, let transactionID):
            map = [
                2: .integer(status.rawValue), 3: receipt.map { .bytes($0.encoded) }, 4: transactionID.map(CBOR.text),
            ]
        case .bye(let reason): return [2: .integer(reason)]
        case .options, .sign, .accounts, .choose, .signatures: map = walletMap
        }
        map[1] = paymentID.map { .bytes($0.bytes) }
        return map
    }

    /// Members of the messages of extension W.
    private var walletMap: CBORMap {
        switch self {
        case .options(_, let options, let expiresAt):
            [2: .array(options.map { .map($0.map) }), 3: .integer(expiresAt)]
        case .sign(let order):
            [
                2: .text(order.optionID), 3: .integer(order.index), 4: .integer(order.count), 5: .text(order.chainID),
                6: .text(order.method), 7: .text(order.parameters),
            ]
        case .accounts(_, let accounts): [2: .array(accounts.map(CBOR.text))]
        case .choose(_, let optionID): [2: .text(optionID)]
        case .signatures(_, let optionID, let signatures):
            [2: .text(optionID), 3: .array(signatures.map(CBOR.text))]
        default: [:]
        }
    }
}

extension WalletOption {
    fileprivate var map: CBORMap {
        [
            1: .text(id), 2: .text(value), 3: .text(symbol), 4: .integer(decimals), 5: .text(network),
            6: .text(account),
            7: etaSeconds.map(CBOR.integer), 8: collectDataURL.map(CBOR.text),
        ]
    }
}
