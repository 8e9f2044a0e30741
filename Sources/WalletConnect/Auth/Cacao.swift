internal import Ethereum
internal import StrictJSON

/// A signed proof that somebody has an account. Source: CAIP-74.
public struct Cacao: Sendable, Equatable {
    /// What was signed, less the signer.
    public let payload: AuthPayload
    /// The signer: `did:pkh:eip155:1:0x…`.
    public let iss: String
    /// `eip191`: a signature by the account's key. `eip1271`: by a contract, which only its chain can check.
    public let signatureType: String
    /// `0x` and digits.
    public let signature: String

    public init(payload: AuthPayload, iss: String, signatureType: String = "eip191", signature: String) {
        (self.payload, self.iss, self.signatureType, self.signature) = (payload, iss, signatureType, signature)
    }

    init?(json: ExactJSON) {
        guard json.value(named: "h")?.value(named: "t")?.string != nil, let p = json.value(named: "p"),
            let iss = p.value(named: "iss")?.string, let account = DecentralizedID.account(iss),
            let s = json.value(named: "s"), let type = s.value(named: "t")?.string,
            let signature = s.value(named: "s")?.string, signature.utf8.count <= 16384
        else { return nil }
        // The signed part names its chain by the signer, where the request listed chains.
        var members = p.members ?? []
        members.removeAll { $0.name == "chains" }
        members.append(.init("chains", .strings([account.blockchain.absoluteString])))
        guard let payload = AuthPayload(json: .object(members)) else { return nil }
        self.init(payload: payload, iss: iss, signatureType: type, signature: signature)
    }

    var json: ExactJSON {
        let parts = (payload.json.members ?? []).filter { $0.name != "chains" && $0.name != "type" }
        return .of([
            "h": .of(["t": .string(payload.type == "eip4361" ? "eip4361" : "caip122")]),
            "p": .object([.init("iss", .string(iss))] + parts),
            "s": .of(["t": .string(signatureType), "s": .string(signature)]),
        ])
    }

    /// The account, whose proof this is once `verify` returned.
    public var account: Account? { DecentralizedID.account(iss) }

    /// Whether this proves the account for what `asked` asked, at `nowSeconds`. Fails closed: whatever cannot be checked is
    /// not valid, contract wallets' signatures included.
    public func verify(for asked: AuthPayload, nowSeconds: Int64) throws(SignError) {
        guard let account else { throw .authentication(reason: "the signer is no account") }
        guard payload.domain == asked.domain, payload.aud == asked.aud, payload.nonce == asked.nonce,
            payload.version == asked.version
        else { throw .authentication(reason: "it answers another question") }
        guard asked.chains.contains(account.blockchain.absoluteString) else {
            throw .authentication(reason: "it is for a chain nobody asked about")
        }
        try checkTimes(asked, nowSeconds)
        if let given = Recap(resources: payload.resources) {
            guard let wished = Recap(resources: asked.resources), given.isWithin(wished) || given == wished else {
                throw .authentication(reason: "it gives other permissions than were asked for")
            }
        }
        guard signatureType == "eip191" else {
            throw .authentication(reason: "signatures of type \(signatureType.cut(toBytes: 16)) cannot be checked here")
        }
        guard account.blockchain.namespace == "eip155", let address = try? EthereumAddress(parsing: account.address),
            let message = payload.message(iss: iss), let signature = try? EthereumSignature(parsing: signature),
            let signer = try? signature.signer(of: Self.digest(of: message)), signer == address
        else { throw .authentication(reason: "the signature is not the account's") }
    }

    private func checkTimes(_ asked: AuthPayload, _ now: Int64) throws(SignError) {
        for time in [payload.exp, asked.exp].compactMap({ $0 }) {
            guard let seconds = RFC3339.seconds(time), now < seconds else {
                throw .authentication(reason: "it is over")
            }
        }
        for time in [payload.nbf, asked.nbf].compactMap({ $0 }) {
            guard let seconds = RFC3339.seconds(time), seconds <= now else {
                throw .authentication(reason: "it is not valid yet")
            }
        }
    }

    /// What the account's key signs. Source: EIP-191, version 0x45.
    static func digest(of message: String) -> Bytes32 {
        keccak256("\u{19}Ethereum Signed Message:\n\(message.utf8.count)\(message)")
    }
}

/// Times as texts. Source: RFC 3339, section 5.6.
enum RFC3339 {
    /// Seconds since 1970, fractions cut off; nil for anything but `2024-02-19T09:29:21.394Z` with any offset.
    static func seconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard (20...40).contains(bytes.count) else { return nil }
        func number(_ start: Int, _ count: Int) -> Int64? {
            var value: Int64 = 0
            for index in start..<start + count {
                guard index < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) else {
                    return nil
                }
                value = value * 10 + Int64(bytes[index] - UInt8(ascii: "0"))
            }
            return value
        }
        let marks: [(Int, Character)] = [(4, "-"), (7, "-"), (13, ":"), (16, ":")]
        guard marks.allSatisfy({ bytes[$0.0] == $0.1.asciiValue }), "Tt ".utf8.contains(bytes[10]),
            let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), (1...12).contains(month), (1...31).contains(day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var index = 19
        if bytes[index] == UInt8(ascii: ".") {
            index += 1
            let start = index
            while index < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) { index += 1 }
            guard index > start else { return nil }
        }
        guard index < bytes.count else { return nil }
        var offset: Int64 = 0
        switch bytes[index] {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"):
            guard index + 1 == bytes.count else { return nil }
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            guard bytes.count == index + 6, bytes[index + 3] == UInt8(ascii: ":"), let hours = number(index + 1, 2),
                let minutes = number(index + 4, 2), hours < 24, minutes < 60
            else { return nil }
            offset = (hours * 3600 + minutes * 60) * (bytes[index] == UInt8(ascii: "+") ? 1 : -1)
        default: return nil
        }
        return days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
    }

    /// Days since 1970-01-01 in the Gregorian calendar: years begin in March, so that leap days are at their end.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension RFC3339 {
    /// `2024-02-19T09:29:21Z`. Source: the same calendar, backwards.
    static func text(_ seconds: Int64) -> String {
        let (day, second) = seconds.quotientAndRemainder(dividingBy: 86400)
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let date = "\(year)-\(two(month))-\(two(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1))"
        return "\(date)T\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))Z"
    }
}
