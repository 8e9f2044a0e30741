import Acquirer
public import Payments
import StrictJSON
import TapProtocol

/// What a test asks of the sandbox itself, beside the API it stands in for.
extension AcquirerState {
    /// Answers a request to `/control/…`; nil for other paths.
    ///
    /// | call | what |
    /// |---|---|
    /// | `GET /control/log` | calls so far |
    /// | `GET /control/books` | every balance, and every move that led to it |
    /// | `GET /control/payments` | every payment |
    /// | `GET`, `POST`, `DELETE /control/faults` | the faults that are set; set one; clear all |
    /// | `POST /control/rotate` | signs with a new key from now on |
    /// | `POST /control/deny`, `/control/allow` | `{"terminalId"}` or `{"certificate"}` (its hash): takes a terminal back, or not |
    /// | `POST /control/settle` | `{"paymentId"?}`: what is in progress ends now |
    /// | `POST /control/balance` | `{"instrumentId","currency","amount"}`: an instrument has so much |
    /// | `POST /control/clock` | `{"skewSeconds"}`: the acquirer's clock goes wrong |
    public mutating func control(_ request: GatewayRequest, at now: WallTime) -> AcquirerReply? {
        guard request.segments.first == "control" else { return nil }
        guard let token = configuration.controlToken else { return AcquirerReply(AcquirerRefusal(code: .notFound)) }
        guard request.header("Authorization") == "Bearer \(token)" else {
            return AcquirerReply(AcquirerRefusal(code: .unauthorized))
        }
        advance(to: now)
        let reply = controlledReply(request, at: now)
        if reply.status < 300, Self.recordedWords.contains(request.segments.last ?? "") {
            recordControl(request, at: now)
        }
        return reply
    }

    /// Orders that change what is remembered. Faults and the clock belong to one run.
    private static let recordedWords = ["rotate", "deny", "allow", "settle", "balance"]

    mutating func controlledReply(_ request: GatewayRequest, at now: WallTime) -> AcquirerReply {
        do throws(AcquirerRefusal) {
            return try controlled(request, at: now)
        } catch {
            return AcquirerReply(error)
        }
    }

    private mutating func controlled(
        _ request: GatewayRequest,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        switch (request.method, request.segments.count == 2 ? request.segments[1] : "") {
        case ("GET", "log"): return AcquirerReply(200, .members(["calls": log.json]))
        case ("GET", "books"): return AcquirerReply(200, books.json)
        case ("GET", "payments"):
            return AcquirerReply(200, .members(["payments": .array(order.compactMap { payments[$0]?.json })]))
        case ("GET", "faults"):
            return AcquirerReply(200, .members(["faults": .array(faults.entries.map(\.fault.json))]))
        case ("DELETE", "faults"):
            faults.clear()
            return AcquirerReply(200, .members(["faults": .array([])]))
        case ("POST", let word): return try ordered(word, request, at: now)
        default: throw AcquirerRefusal(code: .notFound)
        }
    }

    private mutating func ordered(
        _ word: String,
        _ request: GatewayRequest,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        let body = request.body.isEmpty ? .object([]) : try request.acquirerObject()
        switch word {
        case "faults":
            do throws(FaultError) {
                let fault = try AcquirerFault(body)
                faults.set(fault)
                return AcquirerReply(201, fault.json)
            } catch {
                throw .malformed(error.description)
            }
        case "rotate":
            keyring.rotate()
            return AcquirerReply(200, .members(["keys": keyring.json]))
        case "deny", "allow":
            try deny(body, word == "deny" ? now : nil)
            return AcquirerReply(200, denyList)
        case "settle": return try settleNow(body, at: now)
        case "balance":
            guard let id = body["instrumentId"]?.stringValue, let currency = body["currency"]?.stringValue,
                let amount = body["amount"]?.integerValue.flatMap({ Int(exactly: $0) }),
                (0...(1 << 53 - 1)).contains(amount)
            else { throw .malformed("instrumentId, currency and amount") }
            books.set(.instrument(id), currency, to: amount)
            return AcquirerReply(200, .members(["amount": .integer(amount)]))
        case "clock":
            guard let seconds = body["skewSeconds"]?.integerValue, abs(seconds) <= 31 * 86_400 else {
                throw .malformed("skewSeconds is a whole number, at most a month")
            }
            skewSeconds = Int(seconds)
            return AcquirerReply(200, .members(["skewSeconds": .integer(seconds)]))
        default: throw AcquirerRefusal(code: .notFound)
        }
    }

    private mutating func deny(_ body: ExactJSON, _ time: WallTime?) throws(AcquirerRefusal) {
        if let terminal = body["terminalId"]?.stringValue {
            deniedTerminals[terminal] = time
        } else if let hash = body.bytes("certificate").flatMap({ ObjectHash($0) }) {
            deniedCertificates[hash] = time
        } else {
            throw .malformed("terminalId or certificate")
        }
    }

    private mutating func settleNow(_ body: ExactJSON, at now: WallTime) throws(AcquirerRefusal) -> AcquirerReply {
        let chosen = body["paymentId"]?.stringValue
        let keys = order.filter { chosen == nil || $0.id.description == chosen }
        guard chosen == nil || !keys.isEmpty else { throw AcquirerRefusal(code: .paymentNotFound) }
        var settled: [ExactJSON] = []
        for key in keys {
            for attempt in payments[key]?.attempts ?? [] where attempt.word == .inProgress {
                settle(key, attempt.accept.hash, at: now)
                settled.append(.string(key.id.description))
            }
        }
        return AcquirerReply(200, .members(["settled": .array(settled)]))
    }
}
