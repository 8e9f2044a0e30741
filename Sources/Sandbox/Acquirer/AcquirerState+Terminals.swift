import Acquirer
import Payments
import StrictJSON
import TapProtocol
import WalletConnectPay

/// Who is logged in, and what terminals are given.
extension AcquirerState {
    /// Lets a call in, or says why not.
    func authorize(
        _ request: GatewayRequest,
        _ endpoint: AcquirerEndpoint,
        at now: WallTime
    ) throws(AcquirerRefusal) -> Caller? {
        guard let need = endpoint.needs else { return nil }
        guard let header = request.header("Authorization"), header.hasPrefix("Bearer "),
            let caller = caller(String(header.dropFirst(7)), at: now)
        else { throw AcquirerRefusal(code: .unauthorized) }
        switch (need, caller.role) {
        case (.anybody, _), (.merchant, .merchant), (.customer, .customer): return caller
        default: throw AcquirerRefusal(code: .unauthorized, detail: "another role")
        }
    }

    private func caller(_ token: String, at now: WallTime) -> Caller? {
        guard let content = keyring.content(of: token), content["use"]?.stringValue == "session",
            let role = content["role"]?.stringValue.flatMap(AcquirerSession.Role.init),
            let account = content["account"]?.stringValue, let end = content["end"]?.integerValue,
            let nonce = content["nonce"]?.stringValue, end > now.secondsSince1970, !spentTokens.contains(nonce),
            role == .merchant ? merchant(account) != nil : customer(account) != nil
        else { return nil }
        return Caller(role: role, account: account, nonce: nonce)
    }

    private mutating func token(
        _ use: String,
        _ role: AcquirerSession.Role,
        _ account: String,
        lifeSeconds: Int,
        at now: WallTime
    ) -> (token: String, end: Int64) {
        let end = now.secondsSince1970 + Int64(lifeSeconds)
        let content = ExactJSON.members([
            "use": .string(use), "role": .string(role.rawValue), "account": .string(account), "end": .integer(end),
            "nonce": .base64(random.bytes(16)),
        ])
        return (keyring.token(content), end)
    }

    // MARK: - Logging in

    mutating func logIn(_ request: GatewayRequest, at now: WallTime) throws(AcquirerRefusal) -> AcquirerReply {
        let body = try request.acquirerObject()
        guard let identifier = body["identifier"]?.stringValue, let password = body["password"]?.stringValue else {
            throw .malformed("identifier and password are texts")
        }
        let known: (AcquirerSession.Role, String)? =
            if let merchant = configuration.merchants.first(where: { $0.email == identifier && $0.password == password }
            ) {
                (.merchant, merchant.id)
            } else if let customer = configuration.customers.first(where: {
                $0.identifier == identifier && $0.password == password
            }) {
                (.customer, customer.id)
            } else {
                nil
            }
        guard let (role, account) = known else { throw AcquirerRefusal(code: .loginRefused) }
        return session(role, account, at: now)
    }

    private mutating func session(
        _ role: AcquirerSession.Role,
        _ account: String,
        at now: WallTime
    ) -> AcquirerReply {
        let life = AcquirerConfiguration.sessionLifeSeconds
        let (token, end) = token("session", role, account, lifeSeconds: life, at: now)
        let merchant = role == .merchant ? merchant(account) : nil
        return AcquirerReply(
            200,
            .members([
                "session": .string(token), "role": .string(role.rawValue), "accountId": .string(account),
                "name": .string(merchant?.name ?? customer(account)?.name ?? account),
                "operatorIds": .array((merchant?.operatorIDs ?? []).map(ExactJSON.string)), "expiresAt": .integer(end),
            ])
        )
    }

    /// A token for whoever holds the key behind a JWK, for an integrator's back end that has logged somebody in itself.
    mutating func delegatedToken(_ request: GatewayRequest, at now: WallTime) throws(AcquirerRefusal) -> AcquirerReply {
        guard let key = configuration.partnerKey, request.header("Api-Key") == key else {
            throw AcquirerRefusal(code: .unauthorized)
        }
        let body = try request.acquirerObject()
        guard let identifier = body["userIdentifier"]?.stringValue, let jwk = body["jwk"], jwk.isObject else {
            throw .malformed("userIdentifier is a text and jwk an object")
        }
        let merchant = configuration.merchants.first { $0.email == identifier }
        let customer = configuration.customers.first { $0.identifier == identifier }
        guard let account = merchant?.id ?? customer?.id else { throw AcquirerRefusal(code: .loginRefused) }
        let (token, _) = token(
            "init",
            merchant == nil ? .customer : .merchant,
            account,
            lifeSeconds: AcquirerConfiguration.initTokenLifeSeconds,
            at: now
        )
        guard let sealed = DelegatedToken.seal(Secret(token), to: jwk.text) else {
            throw .malformed("jwk is none of P-256")
        }
        return AcquirerReply(200, .members(["jwe": .string(sealed)]))
    }

    mutating func delegatedLogin(_ request: GatewayRequest, at now: WallTime) throws(AcquirerRefusal) -> AcquirerReply {
        guard let text = try request.acquirerObject()["initToken"]?.stringValue else {
            throw .malformed("initToken is a text")
        }
        guard let content = keyring.content(of: text), content["use"]?.stringValue == "init",
            let role = content["role"]?.stringValue.flatMap(AcquirerSession.Role.init),
            let account = content["account"]?.stringValue, let end = content["end"]?.integerValue,
            let nonce = content["nonce"]?.stringValue, end > now.secondsSince1970,
            spentTokens.insert(nonce).inserted
        else { throw AcquirerRefusal(code: .loginRefused) }
        return session(role, account, at: now)
    }

    // MARK: - Terminals

    var denyList: ExactJSON {
        .members([
            "terminals": .array(deniedTerminals.keys.sorted().map(ExactJSON.string)),
            "certificates": .array(
                deniedCertificates.keys.map { Base64URL.encode($0.bytes) }.sorted().map(ExactJSON.string)
            ),
        ])
    }

    /// Enrols a terminal, or renews its certificate.
    func certify(
        _ request: GatewayRequest,
        _ route: AcquirerRoute,
        _ caller: Caller?,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerReply {
        guard let merchant = caller.flatMap({ merchant($0.account) }) else {
            throw AcquirerRefusal(code: .unauthorized)
        }
        guard (1...64).contains(route.name.utf8.count), (try? WireText.check(route.name)) != nil else {
            throw AcquirerRefusal(code: .terminalNotFound)
        }
        guard deniedTerminals[route.name] == nil else { throw AcquirerRefusal(code: .terminalDenied) }
        let body = try request.acquirerObject()
        guard let x25519 = body.bytes("x25519"), x25519.count == 32, let ed25519 = body.bytes("ed25519"),
            ed25519.count == 32, let at = body["at"]?.integerValue, let proof = body.bytes("proof"),
            let seconds = Int(exactly: at), (0...(1 << 40)).contains(seconds)
        else { throw .malformed("x25519 and ed25519 are keys, at a time, proof a signature") }
        let message = EnrolmentOrder.proofMessage(
            terminalID: route.name,
            staticKey: x25519,
            signingKey: ed25519,
            atSeconds: seconds
        )
        guard abs(now.secondsSince1970 - at) <= AcquirerConfiguration.proofAgeSeconds,
            Ed25519Proof.isValid(proof, over: message, key: ed25519)
        else { throw AcquirerRefusal(code: .keyRefused) }
        let certificate = try keyring.signed(
            self.certificate(route.name, merchant, x25519: x25519, ed25519: ed25519, at: now)
        )
        return AcquirerReply(200, .members(["cert": .base64(certificate.encoded)]))
    }

    private func certificate(
        _ terminal: String,
        _ merchant: AcquirerConfiguration.Merchant,
        x25519: [UInt8],
        ed25519: [UInt8],
        at now: WallTime
    ) throws(AcquirerRefusal) -> TerminalCertificate {
        let start = Int(now.secondsSince1970)
        let map: CBORMap = [
            1: .text(configuration.issuer), 2: .text(terminal), 3: .text(merchant.id), 4: .text(merchant.name),
            5: .integer(start), 6: .integer(start + AcquirerConfiguration.certificateLifeSeconds), 7: .bytes(x25519),
            8: .bytes(ed25519), 9: .integer(configuration.environment.rawValue),
            10: .array(merchant.currencies.map(CBOR.text)), 11: .integer(merchant.maximumAmount),
            12: .integer(merchant.category), 13: .text(merchant.country),
        ]
        do throws(MalformedObject) {
            return try TerminalCertificate(map: map)
        } catch {
            throw .malformed("the merchant's own data: \(error)")
        }
    }
}

extension GatewayRequest {
    /// The body as a JSON object, in this interface's words.
    func acquirerObject() throws(AcquirerRefusal) -> ExactJSON {
        guard let json = try? ExactJSON(parsing: body, limits: .init(bytes: 16_384, depth: 8)), json.isObject else {
            throw .malformed("the body is no JSON object")
        }
        return json
    }
}

extension ExactJSON {
    /// The bytes of a base64url member.
    func bytes(_ name: String) -> [UInt8]? { self[name]?.stringValue.flatMap { Base64URL.decode($0) } }
}
