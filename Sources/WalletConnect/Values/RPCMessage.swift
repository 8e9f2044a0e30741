internal import StrictJSON

/// One decrypted JSON-RPC message: a request, or the answer to one.
enum RPCMessage: Sendable, Equatable {
    case request(RPCRequest)
    case response(RPCResponse)

    /// Bytes of an envelope's text, and of what is in it. Source: our relay's limit; production's is not public.
    static let limitBytes = 1_048_576

    /// Reads one whole message. Members it does not know are passed over; what it must know has to be right.
    init(parsing bytes: [UInt8]) throws(MessageFault) {
        let json: ExactJSON
        do { json = try ExactJSON(parsing: bytes, limits: .init(bytes: Self.limitBytes, depth: 64)) } catch {
            throw .notJSON
        }
        guard json.value(named: "jsonrpc")?.string == "2.0", let id = json.value(named: "id").flatMap(RPCID.init(json:))
        else { throw .notJSONRPC }
        let (result, error) = (json.value(named: "result"), json.present("error"))
        if let method = json.value(named: "method") {
            guard let name = method.string, (1...128).contains(name.utf8.count), result == nil, error == nil else {
                throw .notJSONRPC
            }
            self = .request(RPCRequest(id: id, method: name, params: json.present("params") ?? .object([])))
        } else if let error {
            guard result == nil || result == .null, let code = error.value(named: "code")?.integer,
                let narrow = Int(exactly: code)
            else { throw .notJSONRPC }
            let message = error.value(named: "message")?.string ?? ""
            self = .response(
                RPCResponse(id: id, result: .error(JSONRPCError(code: narrow, message: message.cut(toBytes: 1024))))
            )
        } else if let result {
            self = .response(RPCResponse(id: id, result: .response(result)))
        } else {
            throw .notJSONRPC
        }
    }

    /// Without white space, and with `{"` first: the only form all peers recognise.
    var text: String {
        switch self {
        case .request(let request):
            ExactJSON.of([
                "id": request.id.wire, "jsonrpc": .string("2.0"), "method": .string(request.method),
                "params": request.params,
            ]).text
        case .response(let response):
            switch response.result {
            case .response(let value):
                ExactJSON.of(["id": response.id.wire, "jsonrpc": .string("2.0"), "result": value]).text
            case .error(let error):
                ExactJSON.of([
                    "id": response.id.wire, "jsonrpc": .string("2.0"),
                    "error": .of(["code": .number(error.code), "message": .string(error.message)]),
                ]).text
            }
        }
    }
}

struct RPCRequest: Sendable, Equatable {
    let id: RPCID
    let method: String
    let params: ExactJSON
}

struct RPCResponse: Sendable, Equatable {
    let id: RPCID
    let result: RPCResult
}

extension String {
    /// The longest beginning of whole characters that has at most `limit` bytes.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var kept = 0
        var end = startIndex
        while end < endIndex {
            let size = self[end].utf8.count
            guard kept + size <= limit else { break }
            kept += size
            end = index(after: end)
        }
        return String(self[..<end])
    }
}
