import StrictJSON

/// An account's order to Permit2: let this spender, and nobody else, take up to this amount until this time.
///
/// The account does not stand in the message: whoever signs it pays. Source: Uniswap Permit2,
/// `SignatureTransfer.permitTransferFrom`.
public struct PermitTransfer: Sendable, Hashable {
    public static let primaryType = "PermitTransferFrom"

    /// For example 56.
    public var chainID: UInt64
    public var token: EthereumAddress
    /// The most that may be taken, in the token's smallest unit.
    public var amount: UInt256
    /// Who may take it.
    public var spender: EthereumAddress
    /// Any number that this account has not used with Permit2 before.
    public var nonce: UInt256
    /// Still valid at, not after, this time, in seconds since 1970.
    public var deadline: UInt256

    public init(
        chainID: UInt64,
        token: EthereumAddress,
        amount: UInt256,
        spender: EthereumAddress = PaymentContracts.permitSpender,
        nonce: UInt256,
        deadline: UInt256
    ) {
        (self.chainID, self.token, self.amount) = (chainID, token, amount)
        (self.spender, self.nonce, self.deadline) = (spender, nonce, deadline)
    }

    /// Permit2's domain has no version.
    static let types = [
        TypedData.Structure(
            TypedData.domainType,
            [
                TypedData.Field("string", "name"), TypedData.Field("uint256", "chainId"),
                TypedData.Field("address", "verifyingContract"),
            ]
        ),
        TypedData.Structure(
            primaryType,
            [
                TypedData.Field("TokenPermissions", "permitted"), TypedData.Field("address", "spender"),
                TypedData.Field("uint256", "nonce"), TypedData.Field("uint256", "deadline"),
            ]
        ),
        TypedData.Structure(
            "TokenPermissions",
            [TypedData.Field("address", "token"), TypedData.Field("uint256", "amount")]
        ),
    ]

    /// What the account signs, written as production writes it: numbers in hexadecimal, addresses in lower case.
    public func typedData() throws(TypedDataError) -> TypedData {
        try TypedData(
            types: Self.types,
            primaryType: Self.primaryType,
            domain: .object([
                ExactJSON.Member("name", .string("Permit2")),
                ExactJSON.Member("chainId", .string(UInt256(chainID).hexadecimal)),
                ExactJSON.Member("verifyingContract", .string(PaymentContracts.permit2.lowercased)),
            ]),
            message: .object([
                ExactJSON.Member("deadline", .string(deadline.hexadecimal)),
                ExactJSON.Member("nonce", .string(nonce.hexadecimal)),
                ExactJSON.Member(
                    "permitted",
                    .object([
                        ExactJSON.Member("amount", .string(amount.hexadecimal)),
                        ExactJSON.Member("token", .string(token.lowercased)),
                    ])
                ),
                ExactJSON.Member("spender", .string(spender.lowercased)),
            ])
        )
    }

    /// Reads typed data back. No other message passes, and none for another contract than Permit2.
    /// - Throws: `kind` for another message; `domainName` or `contract` for another contract.
    public init(_ data: TypedData) throws(TransferMismatch) {
        try TransferFields.checkTypes(of: data, Self.types, primaryType: Self.primaryType)
        let domain = TransferFields(data.domain)
        let message = TransferFields(data.message)
        let permitted = TransferFields(data.message.value(named: "permitted") ?? .null)
        try TransferMismatch.check(.domainName, "Permit2", try domain.text("name", .domainName))
        try TransferMismatch.check(
            .contract,
            PaymentContracts.permit2,
            try domain.address("verifyingContract", .contract)
        )
        self.init(
            chainID: try domain.chainID(),
            token: try permitted.address("token", .token),
            amount: try permitted.number("amount", .value),
            spender: try message.address("spender", .to),
            nonce: try message.number("nonce", .nonce),
            deadline: try message.number("deadline", .validBefore)
        )
    }
}
