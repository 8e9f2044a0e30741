import Ethereum
import StrictJSON

/// What a customer is asked to sign for one option of a payment, and what the signature is held against.
struct TransferOrder: Sendable {
    let token: KnownToken
    let owner: EthereumAddress
    let value: UInt256
    let nonce: UInt256
    /// The order is worthless from this second on.
    let validBeforeSeconds: Int64
    let typedData: TypedData

    /// An order as production issues it: to the collector, valid at once, until five minutes after the payment expires.
    /// Source: WalletConnect Pay production captures, 2026-09.
    init(
        token: KnownToken,
        owner: EthereumAddress,
        value: UInt256,
        paymentExpiresAtSeconds: Int64,
        nonce: Bytes32
    ) throws(TypedDataError) {
        (self.token, self.owner, self.value, self.nonce) = (token, owner, value, nonce.number)
        validBeforeSeconds = paymentExpiresAtSeconds + 300
        let end = UInt256(UInt64(max(0, validBeforeSeconds)))
        if let domain = TransferAuthorization.Domain(of: token) {
            typedData = try TransferAuthorization(
                domain: domain,
                from: owner,
                value: value,
                validBefore: end,
                nonce: nonce
            ).typedData()
        } else {
            typedData = try PermitTransfer(
                chainID: token.chainID,
                token: token.address,
                amount: value,
                nonce: nonce.number,
                deadline: end
            ).typedData()
        }
    }

    /// What the signature must say, to the last field.
    var expectation: ExpectedTransfer {
        ExpectedTransfer(
            token: token,
            from: owner,
            value: value,
            validity: .exactly(after: .zero, before: UInt256(UInt64(max(0, validBeforeSeconds)))),
            nonce: nonce
        )
    }

    /// The wallet's task: sign this. Source: WalletConnect Pay API, `WalletRpcAction` (`chain_id` is snake case).
    var signing: ExactJSON {
        .members([
            "chain_id": .string(token.chain), "method": .string("eth_signTypedData_v4"),
            "params": .array([.string(owner.lowercased), .string(typedData.json)]),
        ])
    }

    /// The transaction that lets Permit2 take the token at all. Source: production captures: no gas, no value.
    var approval: ExactJSON {
        .members([
            "chain_id": .string(token.chain), "method": .string("eth_sendTransaction"),
            "params": .array([
                .members([
                    "data": .string("0x" + hex(PaymentContracts.permit2Approval())),
                    "from": .string(owner.lowercased), "to": .string(token.address.lowercased),
                ])
            ]),
        ])
    }

    /// The hash that the settled transfer is known by: of what was signed and the signature.
    func transactionID(_ signature: EthereumSignature) -> String {
        keccak256(typedData.digest.bytes + signature.bytes).hexadecimal
    }
}
