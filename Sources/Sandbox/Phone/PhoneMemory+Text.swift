import StrictJSON
import TapProtocol

/// One line of text: a checksum, a blank, and one JSON object.
extension PhoneMemory {
    var text: String {
        let object = ExactJSON.members([
            "device": .string(hex(deviceKey)), "state": stateJSON,
            "session": payment.mayBeCharged ? .string(hex(sessionName)) : .null,
            "closed": .array(payment.closed.sorted { $0.key.description < $1.key.description }.map(Self.json)),
            "watched": .array(payment.watched.keys.map(\.description).sorted().map(ExactJSON.string)),
            "payments": .array(
                dossiers.values.sorted { $0.paymentID.description < $1.paymentID.description }.map(\.json)
            ),
            "passes": .array(passes.map { .string(hex($0.encoded)) }), "vouchers": .array(vouchers.map(Self.json)),
            "passKeys": passKeysJSON,
            "keys": .array(keys.map(Self.json)), "instruments": .array(instruments.map(ExactJSON.string)),
            "deniedTerminals": .array(denied.terminalIDs.sorted().map(ExactJSON.string)),
            "deniedCertificates": .array(
                denied.certificateHashes.map(\.description).sorted().map(ExactJSON.string)
            ),
        ])
        let text = object.text
        return StateRecord.checksum(text) + " " + text
    }

    /// - Throws: Where the text is not what was written. A phone without its memory must not go on: an accept may be out.
    init(reading line: String) throws(StateFileError) {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, StateRecord.checksum(String(parts[1])) == parts[0],
            let json = try? ExactJSON(parsing: Array(parts[1].utf8), limits: .init(bytes: 1 << 24, depth: 32)),
            let memory = Self(json)
        else { throw StateFileError(description: "the phone's state file is damaged; a payment may be open in it") }
        self = memory
    }

    private init?(_ json: ExactJSON) {
        guard let device = json["device"]?.stringValue.flatMap({ bytes(hex: $0) }), device.count == 32,
            let payments = json["payments"]?.arrayValue?.map(PaymentDossier.init(json:)),
            let passes = json["passes"]?.arrayValue?.map({ Self.object($0) as Signed<PaymentPass>? }),
            let vouchers = json["vouchers"]?.arrayValue?.map(Self.voucher),
            let keys = json["keys"]?.arrayValue?.map(Self.key),
            let terminals = json["deniedTerminals"]?.arrayValue?.map(\.stringValue),
            let certificates = json["deniedCertificates"]?.arrayValue?.map(Self.hash),
            let closed = json["closed"]?.arrayValue?.map(Self.closing),
            let watched = json["watched"]?.arrayValue?.map({ $0.stringValue.flatMap { PaymentID($0) } }),
            !payments.contains(where: { $0 == nil }), !passes.contains(nil), !vouchers.contains(nil),
            !keys.contains(nil), !closed.contains(where: { $0 == nil }), !watched.contains(nil)
        else { return nil }
        self.init(deviceKey: device)
        for dossier in payments.compactMap(\.self) { dossiers[dossier.paymentID] = dossier }
        (self.passes, self.vouchers, self.keys) = (
            passes.compactMap(\.self), vouchers.compactMap(\.self), keys.compactMap(\.self)
        )
        // A file of an earlier version has one key for all of them.
        for pass in self.passes + self.vouchers.map(\.pass) { passKeys[pass.payload.passID] = device }
        for item in json["passKeys"]?.arrayValue ?? [] {
            guard let id = item["pass"]?.stringValue.flatMap({ bytes(hex: $0) }), id.count == 16,
                let key = item["key"]?.stringValue.flatMap({ bytes(hex: $0) }), key.count == 32
            else { return nil }
            passKeys[id] = key
        }
        instruments = json["instruments"]?.arrayValue?.compactMap(\.stringValue) ?? []
        denied = DenyList(
            terminalIDs: Set(terminals.compactMap(\.self)),
            certificateHashes: Set(certificates.compactMap(\.self))
        )
        var watchedOffers: [PaymentID: PhonePayment.Offer] = [:]
        for id in watched.compactMap(\.self) {
            guard let dossier = dossiers[id] else { return nil }
            watchedOffers[id] = PhonePayment.Offer(dossier.request)
        }
        guard let state = Self.state(json["state"], dossiers) else { return nil }
        // A file of an earlier version has no name.
        if let name = json["session"]?.stringValue {
            guard let name = bytes(hex: name), name.isEmpty || name.count == Hello.sessionNameBytes else { return nil }
            sessionName = name
        }
        payment = PhonePayment(
            state: state,
            closed: Dictionary(closed.compactMap(\.self)) { first, _ in first },
            watched: watchedOffers
        )
    }

    private var passKeysJSON: ExactJSON {
        let sorted = passKeys.map { (id: hex($0.key), key: hex($0.value)) }.sorted { $0.id < $1.id }
        return .array(sorted.map { ExactJSON.members(["pass": .string($0.id), "key": .string($0.key)]) })
    }

    // MARK: The machine

    private var stateJSON: ExactJSON {
        switch payment.state {
        // Nothing has left in these: after a restart the terminal offers the request again.
        case .idle, .advertising, .linked, .prompting, .held: .members(["name": .string("idle")])
        case .sent(let offer, let hash): Self.json("sent", offer, hash: hash)
        case .won(let offer, let hash): Self.json("won", offer, hash: hash)
        case .ended(let offer, let status): Self.json("ended", offer, status: status)
        }
    }

    private static func json(
        _ name: String,
        _ offer: PhonePayment.Offer,
        hash: ObjectHash? = nil,
        status: PaymentStatus? = nil
    ) -> ExactJSON {
        .members([
            "name": .string(name), "payment": .string(offer.paymentID.description), "hash": .text(hash?.description),
            "status": status.map { .integer($0.rawValue) } ?? .null,
        ])
    }

    private static func state(
        _ json: ExactJSON?,
        _ dossiers: [PaymentID: PaymentDossier]
    ) -> PhonePayment.State? {
        guard let name = json?["name"]?.stringValue else { return nil }
        if name == "idle" { return .idle }
        guard let id = json?["payment"]?.stringValue.flatMap({ PaymentID($0) }), let dossier = dossiers[id] else {
            return nil
        }
        let offer = PhonePayment.Offer(dossier.request)
        switch (name, json?["hash"].flatMap(hash), json?["status"].flatMap(status)) {
        case ("sent", let hash?, _): return .sent(offer, hash)
        case ("won", let hash?, _): return .won(offer, hash)
        case ("ended", _, let status?): return .ended(offer, status)
        default: return nil
        }
    }

    private static func json(_ entry: (key: PaymentID, value: PhonePayment.Closing)) -> ExactJSON {
        let word =
            switch entry.value {
            case .declined: "declined"
            case .withdrawn: "withdrawn"
            case .final(let status): String(status.rawValue)
            }
        return .members(["payment": .string(entry.key.description), "as": .string(word)])
    }

    private static func closing(_ json: ExactJSON) -> (PaymentID, PhonePayment.Closing)? {
        guard let id = json["payment"]?.stringValue.flatMap({ PaymentID($0) }), let word = json["as"]?.stringValue
        else { return nil }
        switch word {
        case "declined": return (id, .declined)
        case "withdrawn": return (id, .withdrawn)
        default: return Int(word).flatMap(PaymentStatus.init).map { (id, .final($0)) }
        }
    }

    // MARK: Parts

    static func object<Payload>(_ json: ExactJSON?) -> Signed<Payload>? {
        json?.stringValue.flatMap { bytes(hex: $0) }.flatMap { try? Signed<Payload>(decoding: $0) }
    }

    static func hash(_ json: ExactJSON) -> ObjectHash? {
        json.stringValue.flatMap { bytes(hex: $0) }.flatMap { ObjectHash($0) }
    }

    private static func status(_ json: ExactJSON) -> PaymentStatus? {
        json.integerValue.flatMap { PaymentStatus(rawValue: Int($0)) }
    }

    private static func json(_ key: TrustedGatewayKey) -> ExactJSON {
        .members([
            "issuer": .string(key.issuer), "id": .string(hex(key.keyID)), "key": .string(hex(key.publicKey)),
        ])
    }

    private static func key(_ json: ExactJSON) -> TrustedGatewayKey? {
        guard let issuer = json["issuer"]?.stringValue, let id = json["id"]?.stringValue.flatMap({ bytes(hex: $0) }),
            let key = json["key"]?.stringValue.flatMap({ bytes(hex: $0) })
        else { return nil }
        return TrustedGatewayKey(issuer: issuer, keyID: id, publicKey: key)
    }

    private static func json(_ voucher: VoucherChain) -> ExactJSON {
        .members([
            "pass": .string(hex(voucher.pass.encoded)), "counter": .integer(voucher.counter),
            "spent": .integer(voucher.spent), "previous": .string(voucher.previousHash.description),
            "outstanding": .text(voucher.outstanding?.description),
        ])
    }

    private static func voucher(_ json: ExactJSON) -> VoucherChain? {
        guard let pass: Signed<PaymentPass> = object(json["pass"]), let counter = json["counter"]?.integerValue,
            let spent = json["spent"]?.integerValue, let previous = json["previous"].flatMap(hash)
        else { return nil }
        return VoucherChain(
            pass: pass,
            counter: Int(counter),
            spent: Int(spent),
            previousHash: previous,
            outstanding: json["outstanding"]?.stringValue.flatMap { PaymentID($0) }
        )
    }
}

extension PaymentDossier {
    var json: ExactJSON {
        .members([
            "certificate": .string(hex(certificate.encoded)), "request": .string(hex(request.encoded)),
            "attempts": .array(attempts.map(\.json)), "receipt": .text(receipt.map { hex($0.encoded) }),
            "transaction": .text(transactionID), "linkSigned": .bool(isLinkSigned),
        ])
    }

    init?(json: ExactJSON) {
        guard let certificate: Signed<TerminalCertificate> = PhoneMemory.object(json["certificate"]),
            let request: Signed<PaymentRequest> = PhoneMemory.object(json["request"]),
            let attempts = json["attempts"]?.arrayValue?.map(Attempt.init(json:)),
            !attempts.contains(where: { $0 == nil })
        else { return nil }
        self.init(certificate: certificate, request: request)
        self.attempts = attempts.compactMap(\.self)
        receipt = PhoneMemory.object(json["receipt"])
        transactionID = json["transaction"]?.stringValue
        isLinkSigned = json["linkSigned"] == .bool(true)
    }
}

extension PaymentDossier.Attempt {
    fileprivate var json: ExactJSON {
        let claim = ExactJSON.text(claim.map { hex($0.encoded) })
        switch means {
        case .instrument(let accept, let pass):
            return .members([
                "accept": .string(hex(accept.encoded)), "pass": .string(hex(pass.encoded)), "claim": claim,
            ])
        case .wallet(let option, let signatures, let digest):
            return .members([
                "option": .string(option), "signatures": .array(signatures.map(ExactJSON.string)),
                "digest": .string(hex(digest)), "hash": .string(hash.description), "claim": claim,
            ])
        }
    }

    fileprivate init?(json: ExactJSON) {
        let claim: Signed<PaymentClaim>? = PhoneMemory.object(json["claim"])
        if let accept: Signed<PaymentAcceptance> = PhoneMemory.object(json["accept"]) {
            guard let pass: Signed<PaymentPass> = PhoneMemory.object(json["pass"]) else { return nil }
            self.init(means: .instrument(accept, pass), hash: accept.hash, claim: claim)
        } else {
            guard let option = json["option"]?.stringValue, let hash = json["hash"].flatMap(PhoneMemory.hash),
                let digest = json["digest"]?.stringValue.flatMap({ bytes(hex: $0) }),
                let signatures = json["signatures"]?.arrayValue?.compactMap(\.stringValue)
            else { return nil }
            let means = Means.wallet(optionID: option, signatures: signatures, digest: digest)
            self.init(means: means, hash: hash, claim: claim)
        }
    }
}
