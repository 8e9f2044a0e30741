import Ethereum
public import Payments
import StrictJSON

/// Remembering: each call that changes something leaves a record, and the records in their order lead to the same state.
///
/// Decided in docs/decisions/0004-the-sandbox-remembers-calls.md.
extension GatewayState {
    /// Records that must be on disk before anyone learns what came of their calls. Each is handed out once.
    public mutating func takeRecords() -> [String] {
        defer { records = [] }
        return records
    }

    /// From here on, calls leave records. The first one tells the configuration, where it is not the known one.
    public mutating func beginRecording(_ configuration: GatewayConfiguration, at now: WallTime) {
        isRecording = true
        self.configuration = configuration
        let settings = Self.settings(configuration)
        guard settings != knownSettings else { return }
        records.append(StateRecord(.settings, at: now, settings).line)
        knownSettings = settings
        adoptConfiguration()
    }

    // MARK: - Writing

    /// Works on a call with chance that is written down, and writes down the call.
    mutating func recordedWork(
        _ request: GatewayRequest,
        _ handling: Handling,
        _ caller: Caller,
        at now: WallTime
    ) -> Reply {
        let seed = beginChance()
        let reply = work(request, handling, caller, at: now)
        endChance()
        let headers = ["idempotency-key", "sdk-name", "host"].compactMap { name in
            request.headers[name].map { ExactJSON.Member(name, .string($0)) }
        }
        let content = ExactJSON.members([
            "method": .string(request.method), "target": .string(request.target), "headers": .object(headers),
            "body": .string(hex(request.body)), "merchant": .string(caller.merchant),
            "version": .string(caller.version.rawValue), "faults": .array(handling.faults.map(\.json)),
            "seed": .string(String(seed)), "reply": .string(Self.fingerprint(reply)),
        ])
        records.append(StateRecord(.call, at: now, content).line)
        return reply
    }

    mutating func recordControl(_ request: GatewayRequest, at now: WallTime) {
        guard isRecording else { return }
        let content = ExactJSON.members([
            "method": .string(request.method), "target": .string(request.target), "body": .string(hex(request.body)),
        ])
        records.append(StateRecord(.control, at: now, content).line)
    }

    /// Names and nonces of one call come from one number, so that they come again.
    @discardableResult private mutating func beginChance(_ written: UInt64? = nil) -> UInt64 {
        let seed = written ?? random.next()
        (chance, random) = (random, Randomness(seed: seed))
        return seed
    }

    private mutating func endChance() { random = chance }

    /// What a call was answered, in short: the same records must lead to the same answers.
    private static func fingerprint(_ reply: Reply) -> String {
        switch reply {
        case .hold: "held"
        case .answer(let answer): StateRecord.checksum("\(answer.status) \(answer.json.text)")
        }
    }

    // MARK: - Reading

    /// Does again what the records tell, before the gateway takes calls.
    /// - Throws: Where a record is damaged, or this program would have answered otherwise.
    public mutating func replay(_ lines: some Sequence<String>) throws(StateFileError) {
        for (index, line) in lines.enumerated() {
            guard let record = StateRecord(line: line) else {
                throw StateFileError(description: "line \(index + 1) is damaged")
            }
            guard repeats(record) else {
                throw StateFileError(
                    description: "line \(index + 1) would be answered otherwise by this program: "
                        + "it was written by another version"
                )
            }
        }
        _ = takeWakes()
        log = CallLog()
    }

    /// False when the answer is another one than it was.
    private mutating func repeats(_ record: StateRecord) -> Bool {
        advance(to: record.at)
        let content = record.content
        if record.kind == .settings {
            guard configuration.apply(content) else { return false }
            if knownSettings == nil { merchants = [] }
            knownSettings = content
            adoptConfiguration()
            return true
        }
        guard let request = GatewayRequest(recorded: content) else { return false }
        switch record.kind {
        case .settings: return true
        case .control: return controlledAnswer(request, at: record.at).status < 300
        case .call:
            guard let route = Route(request), let seed = content["seed"]?.stringValue.flatMap({ UInt64($0) }),
                let version = content["version"]?.stringValue.flatMap(APIVersion.init),
                let faults = content["faults"]?.arrayValue?.map({ try? Fault($0) }), !faults.contains(nil)
            else { return false }
            let handling = Handling(route: route, number: 0, faults: faults.compactMap { $0 })
            let caller = Caller(version: version, merchant: content["merchant"]?.stringValue ?? "")
            beginChance(seed)
            let reply = work(request, handling, caller, at: record.at)
            endChance()
            if case .hold(let waiter) = reply { abandon(waiter) }
            return content["reply"]?.stringValue == Self.fingerprint(reply)
        }
    }

    // MARK: - Settings

    /// What of the configuration decides how calls are answered.
    private static func settings(_ configuration: GatewayConfiguration) -> ExactJSON {
        .members([
            "merchantID": .string(configuration.merchantID), "merchantName": .string(configuration.merchantName),
            "settleAfterMs": configuration.settleAfter.map { .integer($0.milliseconds) } ?? .null,
            "defaultExpiryMs": .integer(configuration.defaultExpiry.milliseconds),
            "quoteLifetimeS": .integer(configuration.quoteLifetimeSeconds),
            "linkBase": .string(configuration.linkBase), "formBase": .text(configuration.formBase),
            "faucetTokens": .integer(configuration.faucetTokens), "collectsData": .bool(configuration.collectsData),
            "collectsFields": .bool(configuration.collectsFields), "collectsLate": .bool(configuration.collectsLate),
            "minimum": .string(String(configuration.minimumMinorUnits)),
            "maximum": .string(String(configuration.maximumMinorUnits)),
        ])
    }
}

extension GatewayConfiguration {
    /// Takes over settings as they were recorded. False where they are not all there.
    fileprivate mutating func apply(_ json: ExactJSON) -> Bool {
        guard let merchantID = json["merchantID"]?.stringValue, let name = json["merchantName"]?.stringValue,
            let expiry = json["defaultExpiryMs"]?.integerValue, let quote = json["quoteLifetimeS"]?.integerValue,
            let linkBase = json["linkBase"]?.stringValue, let collects = json["collectsData"]?.boolValue,
            case .number(let faucet)? = json["faucetTokens"], let faucetTokens = UInt64(faucet),
            let minimum = json["minimum"]?.stringValue.flatMap({ UInt64($0) }),
            let maximum = json["maximum"]?.stringValue.flatMap({ UInt64($0) })
        else { return false }
        (self.merchantID, merchantName, self.linkBase) = (merchantID, name, linkBase)
        settleAfter = json["settleAfterMs"]?.integerValue.map { .milliseconds($0) }
        (defaultExpiry, quoteLifetimeSeconds) = (.milliseconds(expiry), quote)
        (formBase, collectsData) = (json["formBase"]?.stringValue, collects)
        // Not in records of before they were there.
        collectsFields = json["collectsFields"]?.boolValue ?? false
        collectsLate = json["collectsLate"]?.boolValue ?? false
        (self.faucetTokens, minimumMinorUnits, maximumMinorUnits) = (faucetTokens, minimum, maximum)
        return true
    }
}

extension GatewayRequest {
    fileprivate init?(recorded content: ExactJSON) {
        guard let method = content["method"]?.stringValue, let target = content["target"]?.stringValue,
            let body = content["body"]?.stringValue.flatMap({ bytes(hex: $0) })
        else { return nil }
        var headers: [String: String] = [:]
        if case .object(let members)? = content["headers"] {
            for member in members { headers[member.name] = member.value.stringValue }
        }
        self.init(method, target, headers: headers, body: body)
    }
}

extension Duration {
    var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
