import StrictJSON

/// An account's order to a token: let this receiver, and nobody else, take this amount within this time.
///
/// Source: ERC-3009, `receiveWithAuthorization`. Production uses this form, never `TransferWithAuthorization`, which
/// anybody could send.
public struct TransferAuthorization: Sendable, Hashable {
    /// The token's EIP-712 domain: the contract and how it calls itself.
    public struct Domain: Sendable, Hashable {
        public let name: String
        public let version: String
        public let chainID: UInt64
        public let contract: EthereumAddress

        public init(name: String, version: String, chainID: UInt64, contract: EthereumAddress) {
            (self.name, self.version, self.chainID, self.contract) = (name, version, chainID, contract)
        }

        /// Nil for a token that does not take ERC-3009.
        public init?(of token: KnownToken) {
            guard case .erc3009(let name, let version) = token.method else { return nil }
            self.init(name: name, version: version, chainID: token.chainID, contract: token.address)
        }
    }

    public static let primaryType = "ReceiveWithAuthorization"

    public var domain: Domain
    /// Who pays.
    public var from: EthereumAddress
    /// Who may take the money: the collector, not the merchant.
    public var to: EthereumAddress
    /// In the token's smallest unit.
    public var value: UInt256
    /// Not valid up to and at this time, in seconds since 1970. 0: valid at once.
    public var validAfter: UInt256
    /// Not valid from this time on, in seconds since 1970.
    public var validBefore: UInt256
    /// Any 32 bytes that this account has not used with this token before.
    public var nonce: Bytes32

    public init(
        domain: Domain,
        from: EthereumAddress,
        to: EthereumAddress = PaymentContracts.collector,
        value: UInt256,
        validAfter: UInt256 = .zero,
        validBefore: UInt256,
        nonce: Bytes32
    ) {
        (self.domain, self.from, self.to, self.value) = (domain, from, to, value)
        (self.validAfter, self.validBefore, self.nonce) = (validAfter, validBefore, nonce)
    }

    static let types = [
        TypedData.Structure(TypedData.domainType, Array(TypedData.Structure.domainFields.prefix(4))),
        TypedData.Structure(
            primaryType,
            [
                TypedData.Field("address", "from"), TypedData.Field("address", "to"),
                TypedData.Field("uint256", "value"), TypedData.Field("uint256", "validAfter"),
                TypedData.Field("uint256", "validBefore"), TypedData.Field("bytes32", "nonce"),
            ]
        ),
    ]

    /// What the account signs, written as production writes it: numbers in hexadecimal, addresses in lower case.
    public func typedData() throws(TypedDataError) -> TypedData {
        try TypedData(
            types: Self.types,
            primaryType: Self.primaryType,
            domain: .object([
                ExactJSON.Member("name", .string(domain.name)), ExactJSON.Member("version", .string(domain.version)),
                ExactJSON.Member("chainId", .string(UInt256(domain.chainID).hexadecimal)),
                ExactJSON.Member("verifyingContract", .string(domain.contract.lowercased)),
            ]),
            message: .object([
                ExactJSON.Member("from", .string(from.lowercased)),
                ExactJSON.Member("nonce", .string(nonce.hexadecimal)),
                ExactJSON.Member("to", .string(to.lowercased)),
                ExactJSON.Member("validAfter", .string(validAfter.hexadecimal)),
                ExactJSON.Member("validBefore", .string(validBefore.hexadecimal)),
                ExactJSON.Member("value", .string(value.hexadecimal)),
            ])
        )
    }

    /// Reads typed data back. Every signed field is read, and no other kind of message passes.
    /// - Throws: `kind` for another message; the field that cannot be an authorization's otherwise.
    public init(_ data: TypedData) throws(TransferMismatch) {
        try TransferFields.checkTypes(of: data, Self.types, primaryType: Self.primaryType)
        let domain = TransferFields(data.domain)
        let message = TransferFields(data.message)
        self.init(
            domain: Domain(
                name: try domain.text("name", .domainName),
                version: try domain.text("version", .domainVersion),
                chainID: try domain.chainID(),
                contract: try domain.address("verifyingContract", .contract)
            ),
            from: try message.address("from", .from),
            to: try message.address("to", .to),
            value: try message.number("value", .value),
            validAfter: try message.number("validAfter", .validAfter),
            validBefore: try message.number("validBefore", .validBefore),
            nonce: try message.bytes32("nonce", .nonce)
        )
    }
}
