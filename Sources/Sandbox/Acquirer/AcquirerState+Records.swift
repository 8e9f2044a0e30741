import Acquirer
import Payments
import StrictJSON
import TapProtocol

/// Remembering: each call that changes something leaves a record, and the records in their order lead to the same state.
///
/// Decided in docs/decisions/0004-the-sandbox-remembers-calls.md, for the gateway; the acquirer does the same.
extension AcquirerState {
    /// Records that must be on disk before anyone learns what came of their calls. Each is handed out once.
    public mutating func takeRecords() -> [String] {
        defer { records = [] }
        return records
    }

    /// From here on, calls leave records. The first one tells the settings, where they are not the known ones.
    mutating func beginRecording(seed: [UInt8], at now: WallTime) {
        isRecording = true
        let settings = ExactJSON.members([
            "issuer": .string(configuration.issuer), "seed": .string(hex(seed)),
            "faucet": .integer(configuration.faucetMinorUnits),
            "settleAfterMs": configuration.settleAfter.map { .integer($0.milliseconds) } ?? .null,
            "merchants": .array(configuration.merchants.map { .string($0.id) }),
            "customers": .array(configuration.customers.map { .string($0.id) }),
        ])
        guard settings != knownSettings else { return }
        records.append(StateRecord(.settings, at: now, settings).line)
        knownSettings = settings
    }

    // MARK: - Writing

    /// Works on a call with chance that is written down, and writes down the call.
    mutating func recordedWork(
        _ request: GatewayRequest,
        _ handling: Handling,
        _ caller: Caller?,
        at now: WallTime
    ) -> AcquirerReply {
        let seed = random.next()
        let time = now.advanced(by: handling.skew)
        let reply = seeded(seed) { state in state.work(request, handling.route, handling.script, caller, at: time) }
        // A redeemed token opens nothing any more, but it is nobody's business either.
        let body = handling.route.endpoint == .delegatedLogin ? spentBody(request) : hex(request.body)
        let content = ExactJSON.members([
            "method": .string(request.method), "target": .string(request.target), "body": .string(body),
            "key": .text(request.header("Idempotency-Key")), "role": .text(caller?.role.rawValue),
            "account": .text(caller?.account), "nonce": .text(caller?.nonce),
            "outcome": .text(handling.script.outcome), "forgets": .bool(handling.script.forgets),
            "skewMs": .integer(handling.skew.milliseconds), "seed": .string(String(seed)),
            "reply": .string(Self.fingerprint(reply, handling.route.endpoint)),
        ])
        records.append(StateRecord(.call, at: now, content).line)
        return reply
    }

    /// What of a delegated login is kept: which token was redeemed.
    private func spentBody(_ request: GatewayRequest) -> String {
        let token = try? request.acquirerObject()["initToken"]?.stringValue
        return token.flatMap { keyring.content(of: $0)?["nonce"]?.stringValue } ?? ""
    }

    mutating func recordControl(_ request: GatewayRequest, at now: WallTime) {
        guard isRecording, request.method == "POST" else { return }
        let content = ExactJSON.members([
            "method": .string(request.method), "target": .string(request.target), "body": .string(hex(request.body)),
        ])
        records.append(StateRecord(.control, at: now, content).line)
    }

    /// Names of one call come from one number, so that they come again.
    private mutating func seeded<Value>(_ seed: UInt64, _ body: (inout AcquirerState) -> Value) -> Value {
        let chance = random
        random = Randomness(seed: seed)
        defer { random = chance }
        return body(&self)
    }

    /// What a call was answered, in short: the same records must lead to the same answers.
    private static func fingerprint(_ reply: AcquirerReply, _ endpoint: AcquirerEndpoint) -> String {
        // A session's token is a secret, and another one each time.
        let body = endpoint == .delegatedLogin ? "" : hex(reply.body)
        return StateRecord.checksum("\(reply.status) \(body)")
    }

    // MARK: - Reading

    /// The seed that a file was written with.
    static func seed(in lines: [String]) -> [UInt8]? {
        lines.first.flatMap(StateRecord.init(line:))?.content["seed"]?.stringValue.flatMap { bytes(hex: $0) }
    }

    /// Does again what the records tell, before the acquirer takes calls.
    /// - Throws: Where a record is damaged, or this program would have answered otherwise.
    mutating func replay(_ lines: [String]) throws(StateFileError) {
        for (index, line) in lines.enumerated() {
            guard let record = StateRecord(line: line) else {
                throw StateFileError(description: "line \(index + 1) is damaged")
            }
            guard repeats(record) else {
                throw StateFileError(
                    description: "line \(index + 1) would be answered otherwise by this program: "
                        + "it was written by another version, or with other options"
                )
            }
        }
        log = AcquirerLog()
    }

    /// False when the answer is another one than it was.
    private mutating func repeats(_ record: StateRecord) -> Bool {
        let content = record.content
        if record.kind == .settings {
            guard content["issuer"]?.stringValue == configuration.issuer,
                let faucet = content["faucet"]?.integerValue
            else { return false }
            advance(to: record.at)
            books.faucetMinorUnits = Int(faucet)
            configuration.settleAfter = content["settleAfterMs"]?.integerValue.map { .milliseconds($0) }
            knownSettings = content
            return true
        }
        advance(to: record.at)
        guard let method = content["method"]?.stringValue, let target = content["target"]?.stringValue,
            let text = content["body"]?.stringValue
        else { return false }
        if record.kind == .control {
            guard let body = bytes(hex: text) else { return false }
            return controlledReply(GatewayRequest(method, target, body: body), at: record.at).status < 300
        }
        return repeatsCall(method, target, text, content, at: record.at)
    }

    private mutating func repeatsCall(
        _ method: String,
        _ target: String,
        _ text: String,
        _ content: ExactJSON,
        at time: WallTime
    ) -> Bool {
        var headers: [String: String] = [:]
        headers["Idempotency-Key"] = content["key"]?.stringValue
        let request = GatewayRequest(method, target, headers: headers, body: bytes(hex: text) ?? [])
        guard let route = AcquirerRoute(request), let seed = content["seed"]?.stringValue.flatMap({ UInt64($0) }),
            let skew = content["skewMs"]?.integerValue
        else { return false }
        if route.endpoint == .delegatedLogin {
            if !text.isEmpty { spentTokens.insert(text) }
            return true
        }
        var caller: Caller?
        if let role = content["role"]?.stringValue.flatMap(AcquirerSession.Role.init),
            let account = content["account"]?.stringValue, let nonce = content["nonce"]?.stringValue
        {
            caller = Caller(role: role, account: account, nonce: nonce)
        }
        let script = Script(
            forgets: content["forgets"]?.boolValue ?? false,
            outcome: content["outcome"]?.stringValue
        )
        let reply = seeded(seed) { state in
            state.work(request, route, script, caller, at: time.advanced(by: .milliseconds(skew)))
        }
        return content["reply"]?.stringValue == Self.fingerprint(reply, route.endpoint)
    }
}
