import StrictJSON

/// A call that a wallet is asked to carry out for a payment, each part as it came.
///
/// Source: WalletConnect Pay SDK for Swift, `WalletRpcAction`.
public struct WalletCall: Sendable, Hashable {
    /// CAIP-2, for example `eip155:8453`.
    public var chain: String
    /// For example `eth_signTypedData_v4`.
    public var method: String
    /// JSON: an array.
    public var params: String

    public init(chain: String, method: String, params: String) {
        (self.chain, self.method, self.params) = (chain, method, params)
    }

    /// What `eth_signTypedData_v4` asks an account to sign; nothing about it is compared yet.
    /// - Throws: `unreadable`.
    public func typedData() throws(CallRefusal) -> TypedData {
        let params = try elements()
        guard params.count == 2 else { throw .unreadable("not an account and what it signs") }
        do throws(TypedDataError) {
            if case .string(let text) = params[1] { return try TypedData(json: text) }
            return try TypedData(params[1])
        } catch { throw .unreadable("\(error)") }
    }

    func elements() throws(CallRefusal) -> [ExactJSON] {
        let json: ExactJSON
        do throws(ExactJSON.Failure) { json = try ExactJSON(parsing: params) } catch { throw .unreadable("\(error)") }
        guard case .array(let elements) = json else { throw .unreadable("the parameters are no list") }
        return elements
    }
}

/// A call that does what the customer agreed to and nothing else.
public enum CheckedCall: Sendable, Equatable {
    /// Sign this: it moves the agreed amount of the agreed token, once, to where every payment goes.
    case sign(TypedData)
    /// Send this transaction, as JSON: it lets Permit2 take the payment's token, and nothing else.
    case approve(transaction: String)
}

/// Why a wallet must not do what it is asked to. Sign nothing, and do not confirm.
public enum CallRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// The token is not in ``TokenCatalog``: nobody here knows how it is paid with.
    case unknownToken(String)
    /// The option names no account or no amount that can be read.
    case unreadableOption(String)
    /// The call is for another chain than the payment's.
    case otherNetwork(String)
    /// The call is for another account than the payment's.
    case otherAccount
    /// A call that does not belong to a payment, or not at this place.
    case unrelated(method: String)
    /// A transaction that is more than an approval of the payment's token.
    case otherTransaction
    /// What is to be signed is another payment; the field tells in what.
    case otherPayment(TransferMismatch)
    /// What is to be signed cannot be read.
    case unreadable(String)
    /// There is nothing to sign, so nothing would be paid.
    case nothingToSign

    public var description: String {
        switch self {
        case .unknownToken(let unit): "the token '\(unit)' is not one that the wallet knows"
        case .unreadableOption(let part): "the option's \(part) cannot be read"
        case .otherNetwork: "a step on another network than the payment's"
        case .otherAccount: "the signature is asked of another account"
        case .unrelated(let method): "a step '\(method)' that does not belong to a payment"
        case .otherTransaction: "a transaction that is more than an approval of the payment's token"
        case .otherPayment(let mismatch): "what is to be signed is another payment: \(mismatch)"
        case .unreadable(let reason): "what is to be signed cannot be read: \(reason)"
        case .nothingToSign: "nothing to sign"
        }
    }
}

/// What a customer agreed to pay: an option of the gateway, to hold against every call that the wallet is asked to make.
///
/// The gateway says what a payment costs, and later what to sign for it. A wallet that signs without comparing the two trusts
/// whoever answered the second question with all that the account holds. What the option itself costs beside what the merchant
/// asks for, and how long the gateway gives the payment, is for the wallet to show and for its customer to judge.
public struct AgreedPayment: Sendable, Hashable {
    public let token: KnownToken
    /// Who pays.
    public let account: EthereumAddress
    /// In the token's smallest unit.
    public let value: UInt256
    /// When the payment expires, in seconds since 1970.
    public let expiresAtSeconds: UInt64

    /// How much longer than the payment its signature may be good for; production gives it 300 seconds.
    public static let graceSeconds: UInt64 = 900

    public init(token: KnownToken, account: EthereumAddress, value: UInt256, expiresAtSeconds: UInt64) {
        (self.token, self.account, self.value, self.expiresAtSeconds) = (token, account, value, expiresAtSeconds)
    }

    /// Reads the parts of an option as the gateway writes them.
    /// - Parameters:
    ///   - account: CAIP-10, on the token's chain. Make sure that it is one of the wallet's own: the signature is held
    ///     against it, and a Permit2 order names no payer but its signer.
    ///   - unit: `caip19/eip155:8453/erc20:0x…`.
    ///   - value: Decimal digits.
    ///   - expiresAtSeconds: The payment's, not the option's.
    /// - Throws: `unknownToken`: offer the customer another option. `unreadableOption` names the part.
    public init(account: String, unit: String, value: String, expiresAtSeconds: Int64) throws(CallRefusal) {
        let name = unit.lowercased()
        guard let token = TokenCatalog.all.first(where: { "caip19/" + $0.assetID.lowercased() == name }) else {
            throw .unknownToken(unit)
        }
        try self.init(token, account: account, value: value, expiresAtSeconds: expiresAtSeconds)
    }

    /// The same for a token that is not in ``TokenCatalog``. How it is paid with is read from what is to be signed, which must
    /// be a form that pays with listed tokens too; it is one signature alone, without an approval before it.
    ///
    /// ``check(_:nowSeconds:)`` then holds chain, token, payer, amount, receiver and time against the option as ever. By which
    /// name the token calls itself nobody here knows: one that calls itself otherwise refuses the signature. What the amount
    /// is worth only the option says.
    /// - Throws: `unknownToken` for what is no token of a contract; `unreadableOption` where it is a listed one by another
    ///   spelling; `unrelated`, `unreadable` or `otherPayment` for what pays in no form that is known here.
    public init(
        account: String,
        unit: String,
        value: String,
        expiresAtSeconds: Int64,
        unlistedTokenOf calls: [WalletCall]
    ) throws(CallRefusal) {
        let parts = unit.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "caip19", parts[1].hasPrefix("eip155:"), parts[2].hasPrefix("erc20:"),
            let chainID = UInt64(parts[1].dropFirst(7)), parts[1] == "eip155:\(chainID)",
            let address = try? EthereumAddress(parsing: String(parts[2].dropFirst(6)))
        else { throw .unknownToken(unit) }
        guard TokenCatalog.token(chainID: chainID, address: address) == nil else { throw .unreadableOption("token") }
        guard let call = calls.first else { throw .nothingToSign }
        guard calls.count == 1, call.method == "eth_signTypedData_v4" else { throw .unrelated(method: call.method) }
        let token = KnownToken(
            chainID: chainID,
            network: "",
            symbol: "",
            name: "",
            address: address,
            decimals: 0,
            method: try Self.method(of: try call.typedData()),
            evidence: .assumed
        )
        try self.init(token, account: account, value: value, expiresAtSeconds: expiresAtSeconds)
    }

    private static func method(of data: TypedData) throws(CallRefusal) -> TransferMethod {
        if let order = try? TransferAuthorization(data) {
            return .erc3009(domainName: order.domain.name, version: order.domain.version)
        }
        if (try? PermitTransfer(data)) != nil { return .permit2 }
        let known = "\(TransferAuthorization.primaryType) or \(PermitTransfer.primaryType)"
        throw .otherPayment(TransferMismatch(.kind, expected: known, found: data.primaryType))
    }

    private init(
        _ token: KnownToken,
        account: String,
        value: String,
        expiresAtSeconds: Int64
    ) throws(CallRefusal) {
        let prefix = token.chain + ":"
        guard account.hasPrefix(prefix),
            let address = try? EthereumAddress(parsing: String(account.dropFirst(prefix.count)))
        else { throw .unreadableOption("account") }
        guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let amount = try? UInt256(parsing: value) else {
            throw .unreadableOption("amount")
        }
        guard let end = UInt64(exactly: expiresAtSeconds) else { throw .unreadableOption("expiry") }
        self.init(token: token, account: address, value: amount, expiresAtSeconds: end)
    }

    /// Passes when the calls are one signature that pays this and nothing else, and before it at most one approval of Permit2
    /// on the payment's token. Permit2's own approval is for any amount and stays; each payment still needs its signature.
    /// - Parameter nowSeconds: The time of day. A clock that is ahead refuses nothing.
    /// - Returns: What to do for each call, in their order.
    /// - Throws: The first call that does not belong to this payment.
    public func check(_ calls: [WalletCall], nowSeconds: Int64) throws(CallRefusal) -> [CheckedCall] {
        guard !calls.isEmpty else { throw .nothingToSign }
        var checked: [CheckedCall] = []
        for (index, call) in calls.enumerated() {
            guard call.chain == token.chain else { throw .otherNetwork(call.chain) }
            switch call.method {
            case "eth_signTypedData_v4" where index == calls.count - 1:
                checked.append(.sign(try typedData(of: call, nowSeconds)))
            case "eth_sendTransaction" where index == 0 && calls.count == 2 && token.method == .permit2:
                checked.append(.approve(transaction: try approval(try call.elements())))
            default: throw .unrelated(method: call.method)
            }
        }
        return checked
    }

    private func typedData(of call: WalletCall, _ nowSeconds: Int64) throws(CallRefusal) -> TypedData {
        let data = try call.typedData()
        guard case .string(let address)? = try call.elements().first, isAccount(address) else { throw .otherAccount }
        // An order that has ended is worth nothing to anybody; one that holds too long is.
        let (latestEnd, isBeyond) = expiresAtSeconds.addingReportingOverflow(Self.graceSeconds)
        let expected = ExpectedTransfer(
            token: token,
            from: account,
            value: value,
            validity: .covers(
                now: min(UInt64(max(0, nowSeconds)), expiresAtSeconds),
                latestEnd: isBeyond ? .max : latestEnd
            )
        )
        do throws(TransferMismatch) { try expected.check(data) } catch { throw .otherPayment(error) }
        return data
    }

    /// Only an approval of Permit2 on the payment's own token is let through.
    private func approval(_ params: [ExactJSON]) throws(CallRefusal) -> String {
        func text(_ name: String, of transaction: ExactJSON) -> String? {
            if case .string(let text)? = transaction.value(named: name) { text } else { nil }
        }
        let data = Hexadecimal.text(PaymentContracts.permit2Approval())
        guard params.count == 1, let transaction = params.first,
            text("to", of: transaction)?.lowercased() == token.address.lowercased,
            text("from", of: transaction)?.lowercased() == account.lowercased,
            text("data", of: transaction)?.lowercased() == data
        else { throw .otherTransaction }
        // Another name for the data, a price for the fees or somebody's authorization would make it another transaction.
        guard case .object(let members) = transaction,
            members.allSatisfy({ ["to", "from", "data", "value"].contains($0.name) })
        else { throw .otherTransaction }
        switch transaction.value(named: "value") {
        case nil, .null?, .string("0x0")?, .string("0x")?, .string("0")?: return transaction.text
        default: throw .otherTransaction
        }
    }

    private func isAccount(_ text: String) -> Bool { text.lowercased() == account.lowercased }
}
