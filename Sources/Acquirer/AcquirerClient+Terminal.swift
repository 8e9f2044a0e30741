import StrictJSON
public import TapProtocol
public import WalletConnectPay

/// What a terminal asks for beside payments: keys, denials, its certificate, and who is logged in.
extension AcquirerClient {
    /// The keys that the acquirer signs with, or has signed with. Ask over verified TLS only.
    public func keys() async throws(AcquirerError) -> AcquirerKeys {
        try Self.reading(try await exchange(.get, "/keys")) { fields throws(MalformedAnswer) in
            var keys: [AcquirerKeys.Key] = []
            for item in try fields.list("keys", upTo: 64) {
                let key = try JSONFields(item)
                guard try key.text("alg") == "EdDSA" else { continue }  // A kind of a later version.
                keys.append(
                    AcquirerKeys.Key(
                        issuer: try key.text("issuer", 1...64),
                        keyID: try key.bytes("kid", 1...32),
                        publicKey: try key.bytes("publicKey", 32...32),
                        isCurrent: try key.flag("current")
                    )
                )
            }
            guard keys.contains(where: \.isCurrent) else { throw MalformedAnswer(detail: "no key that signs") }
            return AcquirerKeys(keys: keys)
        }
    }

    /// Terminals that the acquirer has taken back.
    public func denyList() async throws(AcquirerError) -> DenyList {
        let response = try await exchange(.get, "/deny", limitBytes: 1 << 20)
        return try Self.reading(response) { fields throws(MalformedAnswer) in
            var list = DenyList()
            for item in try fields.list("terminals", upTo: 10_000) {
                guard case .string(let id) = item, (1...64).contains(id.utf8.count) else {
                    throw MalformedAnswer(detail: "terminals holds no text")
                }
                list.terminalIDs.insert(id)
            }
            for item in try fields.list("certificates", upTo: 10_000) {
                guard case .string(let text) = item, let bytes = Base64URL.decode(text), let hash = ObjectHash(bytes)
                else { throw MalformedAnswer(detail: "certificates holds no hash") }
                list.certificateHashes.insert(hash)
            }
            return list
        }
    }

    /// Enrols a terminal, or renews its certificate: at most seven days' life, so each day. For the merchant.
    /// - Parameters:
    ///   - order: The terminal's name at the acquirer and its keys, which may be new ones.
    ///   - nowSeconds: The terminal's clock; the acquirer refuses a proof that is old.
    /// - Returns: A certificate for these keys. Check its signature with ``keys()``.
    public func certify(
        _ order: EnrolmentOrder,
        nowSeconds: Int
    ) async throws(AcquirerError) -> Signed<TerminalCertificate> {
        guard Self.isPathWord(order.terminalID), order.terminalID.utf8.count <= 64, order.staticKey.count == 32,
            case .ed25519(let signingKey) = order.signer.publicKey
        else { throw .invalid(field: "order", message: "a terminal's name, and two keys of 32 bytes") }
        let message = EnrolmentOrder.proofMessage(
            terminalID: order.terminalID,
            staticKey: order.staticKey,
            signingKey: signingKey,
            atSeconds: nowSeconds
        )
        let proof: [UInt8]
        do throws(SigningFailure) {
            proof = try order.signer.signature(over: message)
        } catch {
            throw .invalid(field: "signer", message: error.reason)
        }
        let body = ExactJSON.members([
            "x25519": .base64URL(order.staticKey), "ed25519": .base64URL(signingKey), "at": .integer(nowSeconds),
            "proof": .base64URL(proof),
        ])
        let response = try await exchange(.post, "/terminals/\(order.terminalID)/cert", body: .json(body))
        return try Self.reading(response) { fields throws(MalformedAnswer) in
            let certificate: Signed<TerminalCertificate> = try fields.object("cert")
            guard certificate.payload.staticKey == order.staticKey, certificate.payload.signingKey == signingKey,
                certificate.payload.terminalID.utf8.elementsEqual(order.terminalID.utf8)
            else { throw MalformedAnswer(detail: "the certificate is of another terminal or other keys") }
            return certificate
        }
    }

    // MARK: - Logging in

    /// Logs a merchant or a customer in. Put the session's token into ``session``.
    /// - Parameter identifier: An e-mail address; for customers a telephone number too.
    /// - Throws: `refused` with `login_refused` for a wrong name or password.
    public func logIn(identifier: String, password: Secret) async throws(AcquirerError) -> AcquirerSession {
        try await session(
            from: "/login",
            .members(["identifier": .string(identifier), "password": .string(password.reveal())])
        )
    }

    /// Ends the session. Afterwards its token opens nothing.
    public func logOut() async throws(AcquirerError) {
        _ = try await exchange(.post, "/logout", body: .json(.object([])))
    }

    /// Logs in by a login elsewhere: makes a key, lets `connect` have the integrator's back end ask the acquirer for a token
    /// for it, and opens and redeems that token. Do it at every start.
    ///
    /// Source: Vipaso SDK, delegated authentication.
    /// - Parameter connect: Gets the public key as a JWK; returns the encrypted token, a JWE.
    /// - Throws: What `connect` throws, ``DelegatedLoginError`` where the token cannot be opened, or ``AcquirerError``.
    public func establishAuthentication(
        connect: (_ jwk: String) async throws -> String
    ) async throws -> AcquirerSession {
        let key = DelegatedKey()
        let token = try key.open(try await connect(key.jwk))
        return try await logIn(initToken: token)
    }

    /// Asks for the encrypted token of a delegated login. For an integrator's back end, which has logged the user in itself.
    /// - Parameters:
    ///   - identifier: What the user's account at the acquirer is known by.
    ///   - jwk: From ``DelegatedKey/jwk``, as the user's device has sent it.
    /// - Returns: A JWE for that device.
    public func delegatedToken(
        for identifier: String,
        jwk: String,
        partnerKey: Secret
    ) async throws(AcquirerError) -> String {
        guard let key = try? ExactJSON(parsing: jwk, limits: .init(bytes: 4096, depth: 4)), JWEKey.publicKey(key) != nil
        else { throw .invalid(field: "jwk", message: "not a public key of P-256") }
        let response = try await exchange(
            .post,
            "/delegated/tokens",
            body: .json(.members(["userIdentifier": .string(identifier), "jwk": key])),
            headers: [HTTPRequest.Header("Api-Key", partnerKey.reveal())]
        )
        return try Self.reading(response) { fields throws(MalformedAnswer) in try fields.text("jwe", 1...8192) }
    }

    /// Redeems a token of a delegated login, once.
    public func logIn(initToken: Secret) async throws(AcquirerError) -> AcquirerSession {
        try await session(from: "/login/delegated", .members(["initToken": .string(initToken.reveal())]))
    }

    private func session(from path: String, _ body: ExactJSON) async throws(AcquirerError) -> AcquirerSession {
        var nobody = self
        nobody.session = nil
        let response = try await nobody.exchange(.post, path, body: .json(body))
        return try Self.reading(response) { fields throws(MalformedAnswer) in try AcquirerSession(fields) }
    }
}
