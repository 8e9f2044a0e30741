/// What the customer agreed to pay, to hold against what the wallet is asked to sign and against what it signed.
public struct ExpectedTransfer: Sendable, Hashable {
    /// When the authorization must hold.
    public enum Validity: Sendable, Hashable {
        /// Known to the second, where we wrote the message ourselves. Permit2 has no `after`: it counts as 0.
        case exactly(after: UInt256, before: UInt256)
        /// Valid at `now`, and ending no later than `latestEnd`, all in seconds since 1970. For messages of others.
        case covers(now: UInt64, latestEnd: UInt64)
    }

    public var token: KnownToken
    /// Who pays. A Permit2 message does not say; there only the signature tells.
    public var from: EthereumAddress
    /// Who may take the money: the collector of ERC-3009, the spender of Permit2.
    public var to: EthereumAddress
    /// In the token's smallest unit.
    public var value: UInt256
    public var validity: Validity
    /// Nil takes any.
    public var nonce: UInt256?

    public init(
        token: KnownToken,
        from: EthereumAddress,
        to: EthereumAddress? = nil,
        value: UInt256,
        validity: Validity,
        nonce: UInt256? = nil
    ) {
        (self.token, self.from, self.value, self.validity, self.nonce) = (token, from, value, validity, nonce)
        self.to =
            to
            ?? (token.method == .permit2 ? PaymentContracts.permitSpender : PaymentContracts.collector)
    }

    /// Passes when signing `data` makes this payment and no other.
    /// - Throws: The first field that differs.
    public func check(_ data: TypedData) throws(TransferMismatch) {
        let rebuilt: TypedData
        do {
            switch token.method {
            case .erc3009(let name, let version):
                let authorization = try TransferAuthorization(data)
                try check(authorization, domainName: name, version: version)
                rebuilt = try authorization.typedData()
            case .permit2:
                let permit = try PermitTransfer(data)
                try check(permit)
                rebuilt = try permit.typedData()
            }
        } catch let mismatch as TransferMismatch {
            throw mismatch
        } catch {
            throw TransferMismatch(.kind, expected: "\(token.method)", found: "\(error)")
        }
        // What was compared is what is hashed, whatever the reading above may have got wrong.
        try TransferMismatch.check(.digest, rebuilt.digest, data.digest)
    }

    /// Passes when `signature` is the paying account's own and makes this payment and no other.
    ///
    /// Only accounts with a private key pass. A contract wallet's signature (ERC-1271) cannot be checked without its chain.
    /// - Throws: The first field that differs, `signer` last.
    public func check(_ data: TypedData, signature: EthereumSignature) throws(TransferMismatch) {
        try check(data)
        let signer: EthereumAddress
        do throws(EthereumSignature.Failure) {
            signer = try signature.signer(of: data.digest)
        } catch {
            throw TransferMismatch(.signer, expected: from.checksummed, found: "\(error)")
        }
        try TransferMismatch.check(.signer, from, signer)
    }

    private func check(
        _ found: TransferAuthorization,
        domainName: String,
        version: String
    ) throws(TransferMismatch) {
        try TransferMismatch.check(.chainID, token.chainID, found.domain.chainID)
        try TransferMismatch.check(.contract, token.address, found.domain.contract)
        try TransferMismatch.check(.domainName, domainName, found.domain.name)
        try TransferMismatch.check(.domainVersion, version, found.domain.version)
        try TransferMismatch.check(.from, from, found.from)
        try TransferMismatch.check(.to, to, found.to)
        try TransferMismatch.check(.value, value, found.value)
        // "before" excludes its own second: the last one in which the money can be taken is the one before it.
        try checkValidity(after: found.validAfter, before: found.validBefore, endIsIncluded: false)
        if let nonce { try TransferMismatch.check(.nonce, nonce, found.nonce.number) }
    }

    private func check(_ found: PermitTransfer) throws(TransferMismatch) {
        try TransferMismatch.check(.chainID, token.chainID, found.chainID)
        try TransferMismatch.check(.token, token.address, found.token)
        try TransferMismatch.check(.to, to, found.spender)
        try TransferMismatch.check(.value, value, found.amount)
        try checkValidity(after: nil, before: found.deadline, endIsIncluded: true)
        if let nonce { try TransferMismatch.check(.nonce, nonce, found.nonce) }
    }

    /// `after` is nil for Permit2, which is valid at once.
    private func checkValidity(
        after: UInt256?,
        before: UInt256,
        endIsIncluded: Bool
    ) throws(TransferMismatch) {
        switch validity {
        case .exactly(let expectedAfter, let expectedBefore):
            try TransferMismatch.check(.validAfter, expectedAfter, after ?? .zero)
            try TransferMismatch.check(.validBefore, expectedBefore, before)
        case .covers(let now, let latestEnd):
            if let after, after >= UInt256(now) {
                throw TransferMismatch(.validAfter, expected: "before \(now)", found: "\(after)")
            }
            let hasEnded = endIsIncluded ? before < UInt256(now) : before <= UInt256(now)
            guard !hasEnded, before <= UInt256(latestEnd) else {
                throw TransferMismatch(.validBefore, expected: "after \(now), at most \(latestEnd)", found: "\(before)")
            }
        }
    }
}
