internal import StrictJSON

/// What a dapp asks in one step: who are you, and may I send these methods?
public struct AuthRequestParams: Sendable, Equatable {
    public var domain: String
    public var chains: [Blockchain]
    public var nonce: String
    public var uri: String
    public var statement: String?
    public var requestId: String?
    /// RFC 3339.
    public var nbf: String?
    public var exp: String?
    public var resources: [String]
    /// Becomes the session's methods.
    public var methods: [String]

    public init(
        domain: String,
        chains: [Blockchain],
        nonce: String,
        uri: String,
        statement: String? = nil,
        requestId: String? = nil,
        nbf: String? = nil,
        exp: String? = nil,
        resources: [String] = [],
        methods: [String] = []
    ) {
        (self.domain, self.chains, self.nonce, self.uri) = (domain, chains, nonce, uri)
        (self.statement, self.requestId, self.nbf, self.exp) = (statement, requestId, nbf, exp)
        (self.resources, self.methods) = (resources, methods)
    }

    /// `iat` is RFC 3339.
    func payload(iat: String) -> AuthPayload {
        let recap = methods.isEmpty ? nil : Recap(resource: "eip155", ability: "request", actions: methods).encoded
        let all = resources + [recap].compactMap { $0 }
        return AuthPayload(
            chains: chains.map(\.absoluteString),
            domain: domain,
            aud: uri,
            nonce: nonce,
            iat: iat,
            nbf: nbf,
            exp: exp,
            statement: statement,
            requestId: requestId,
            resources: all.isEmpty ? nil : all
        )
    }
}

/// A dapp's `wc_sessionAuthenticate`, to be shown to the user.
public struct AuthenticationRequest: Sendable, Equatable {
    public let id: RPCID
    public let topic: Topic
    public let requester: AppMetadata
    public let payload: AuthPayload
    /// Seconds since 1970.
    public let expiryTimestamp: Int64
    public let context: VerifyContext
    public let transport: Transport

    /// The text `account` has to sign; nil for an account that cannot sign it, or a dapp that lies about permissions.
    public func message(for account: Account) -> String? { payload.message(iss: DecentralizedID.iss(account)) }
}

/// What became of a `wc_sessionAuthenticate` of ours.
public struct AuthenticationResponse: Sendable, Equatable {
    public let id: RPCID
    public let pairingTopic: Topic
    /// The accounts, all proved. Empty with an error.
    public let accounts: [Account]
    /// The session that comes with it, where methods were asked for.
    public let session: Session?
    public let error: JSONRPCError?
}

struct AuthRequestRecord: Sendable, Equatable, Codable {
    let payload: AuthPayload
    let expiry: Int64
}

/// A `wc_sessionAuthenticate` that waits for the user.
struct AuthProposalRecord: StoredRecord, Equatable {
    static let folder = "auth"
    let id: RPCID
    let publicKey: PublicKey
    let pairingTopic: Topic
    let requester: AppMetadata
    let payload: AuthPayload
    let expiry: Int64
    let attestation: String?
    let transport: Transport
    /// True where it came within a link and is answered so; nil in what older versions wrote.
    var isByLink: Bool?

    var name: String { publicKey.text }

    var value: AuthenticationRequest {
        AuthenticationRequest(
            id: id,
            topic: pairingTopic,
            requester: requester,
            payload: payload,
            expiryTimestamp: expiry,
            context: VerifyContext(
                claimedURL: requester.url,
                attestedOrigin: attestation.flatMap(Attestation.origin(in:))
            ),
            transport: transport
        )
    }
}

/// Builds what a wallet answers to `wc_sessionAuthenticate`.
public enum AuthObject {
    /// - Throws: `authentication` when the account's signature does not fit, `invalid` for a payload without that chain.
    public static func make(
        _ payload: AuthPayload,
        account: Account,
        signature: String,
        nowSeconds: Int64
    ) throws(SignError) -> Cacao {
        var payload = payload
        let asked = payload
        payload.chains = [account.blockchain.absoluteString]
        let cacao = Cacao(payload: payload, iss: DecentralizedID.iss(account), signature: signature)
        try cacao.verify(for: asked, nowSeconds: nowSeconds)
        return cacao
    }
}
