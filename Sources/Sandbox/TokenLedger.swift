import Ethereum
import Payments

/// The chains of the sandbox: who holds how much of which token, what was approved, which orders were used up.
///
/// It refuses for the reasons the real contracts revert for, so that an order can move money once and never more than
/// the customer signed. Source: ERC-3009; Uniswap Permit2, `SignatureTransfer`.
struct TokenLedger: Sendable {
    /// One owner's account with one token contract.
    struct Account: Sendable, Hashable {
        let chainID: UInt64
        let token: EthereumAddress
        let owner: EthereumAddress

        init(_ token: KnownToken, _ owner: EthereumAddress) {
            (chainID, self.token, self.owner) = (token.chainID, token.address, owner)
        }
    }

    /// Why a transfer did not happen. Nothing moved.
    enum Refusal: Error, Sendable, Equatable {
        case notTheOwnersSignature
        case outsideValidity
        case nonceUsed
        case notApproved
        case insufficientBalance
    }

    /// What each account is given of each token when it is first seen, in whole tokens.
    var faucetTokens: UInt64
    private(set) var balances: [Account: UInt256] = [:]
    private var approvals: Set<Account> = []
    private var usedNonces: Set<UsedNonce> = []
    /// Promised to payments that are being settled, so that the same money is not promised twice.
    private var promised: [Account: UInt256] = [:]

    private struct UsedNonce: Hashable {
        /// Permit2 counts nonces per owner, a token per owner and contract.
        let contract: EthereumAddress
        let chainID: UInt64
        let owner: EthereumAddress
        let nonce: UInt256
    }

    init(faucetTokens: UInt64) { self.faucetTokens = faucetTokens }

    /// The customer's balance; the faucet pours at first sight.
    mutating func balance(_ token: KnownToken, of owner: EthereumAddress) -> UInt256 {
        let account = Account(token, owner)
        if let balance = balances[account] { return balance }
        var poured = UInt256(faucetTokens)
        for _ in 0..<token.decimals { poured = (try? poured.multiplied(by: 10)) ?? .max }
        balances[account] = poured
        return poured
    }

    /// What may still be promised to a new payment.
    mutating func spendable(_ token: KnownToken, of owner: EthereumAddress) -> UInt256 {
        let balance = balance(token, of: owner)
        return (try? balance.subtracting(promised[Account(token, owner)] ?? .zero)) ?? .zero
    }

    mutating func setBalance(_ balance: UInt256, _ token: KnownToken, of owner: EthereumAddress) {
        balances[Account(token, owner)] = balance
    }

    func isApproved(_ token: KnownToken, by owner: EthereumAddress) -> Bool {
        token.method != .permit2 || approvals.contains(Account(token, owner))
    }

    /// Books the `approve` transaction of a token's owner for Permit2.
    mutating func approve(_ token: KnownToken, by owner: EthereumAddress) { approvals.insert(Account(token, owner)) }

    /// Checks all that can be checked before the transfer is sent off, and sets its amount aside.
    mutating func promise(_ order: TransferOrder, at now: WallTime) throws(Refusal) {
        try check(order, at: now)
        let account = Account(order.token, order.owner)
        guard spendable(order.token, of: order.owner) >= order.value else { throw .insufficientBalance }
        promised[account] = (try? (promised[account] ?? .zero).adding(order.value)) ?? .max
    }

    /// Gives back what was set aside for a transfer that will not be sent.
    mutating func release(_ order: TransferOrder) {
        let account = Account(order.token, order.owner)
        promised[account] = (try? (promised[account] ?? .zero).subtracting(order.value)) ?? .zero
    }

    /// Moves the money, once. Call after ``promise(_:at:)``; the promise ends either way.
    mutating func transfer(_ order: TransferOrder, signature: EthereumSignature, at now: WallTime) throws(Refusal) {
        release(order)
        guard (try? order.expectation.check(order.typedData, signature: signature)) != nil else {
            throw .notTheOwnersSignature
        }
        try check(order, at: now)
        let left = try? balance(order.token, of: order.owner).subtracting(order.value)
        guard let left else { throw .insufficientBalance }
        let collector = Account(order.token, order.expectation.to)
        balances[Account(order.token, order.owner)] = left
        balances[collector] = (try? (balances[collector] ?? .zero).adding(order.value)) ?? .max
        usedNonces.insert(Self.nonce(of: order))
    }

    private func check(_ order: TransferOrder, at now: WallTime) throws(Refusal) {
        guard now.secondsSince1970 < order.validBeforeSeconds else { throw .outsideValidity }
        guard !usedNonces.contains(Self.nonce(of: order)) else { throw .nonceUsed }
        guard isApproved(order.token, by: order.owner) else { throw .notApproved }
    }

    private static func nonce(of order: TransferOrder) -> UsedNonce {
        UsedNonce(
            contract: order.token.method == .permit2 ? PaymentContracts.permit2 : order.token.address,
            chainID: order.token.chainID,
            owner: order.owner,
            nonce: order.nonce
        )
    }
}
