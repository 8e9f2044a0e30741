public import Ethereum
internal import StrictJSON
public import TapProtocol

/// The phone's checks before an account signs. Source: extension W, "What P checks before it signs".
public enum SigningOrderCheckNumber: Int, Sendable, CaseIterable {
    /// The method is `eth_signTypedData_v4`, and the typed data is for the order's chain.
    case w1 = 1
    /// The message is one of a kind that this side knows.
    case w2
    /// It moves the token that the option names, on that chain.
    case w3
    /// It moves no more than the option says.
    case w4
    /// It takes from the option's account.
    case w5
    /// It ends no later than an hour after the options do.
    case w6
    /// What is shown can be computed from it.
    case w7
}

/// The first check that an order failed. Sign nothing.
public struct SigningOrderRefusal: Error, Sendable, Equatable {
    public let check: SigningOrderCheckNumber
    /// For a log.
    public let detail: String

    init(_ check: SigningOrderCheckNumber, _ detail: String) { (self.check, self.detail) = (check, detail) }
}

/// What an account signs, read from the typed data alone: this is what the customer sees.
public struct ApprovedTransfer: Sendable, Equatable {
    public let token: KnownToken
    /// In the token's smallest unit.
    public let value: UInt256
    public let from: EthereumAddress
    /// Who may take the money: the collector of ERC-3009, the spender of Permit2.
    public let to: EthereumAddress
    /// The last moment, in seconds since 1970.
    public let endsAtSeconds: UInt64
    /// To be signed as it is.
    public let typedData: TypedData
}

/// What a phone knows when it is asked to sign.
public struct SigningOrderCheck: Sendable {
    /// How much longer than the options an authorization may hold.
    public static let graceSeconds = 3600

    /// What the customer chose.
    public var option: WalletOption
    public var expiresAtSeconds: Int

    public init(option: WalletOption, expiresAtSeconds: Int) {
        (self.option, self.expiresAtSeconds) = (option, expiresAtSeconds)
    }

    /// Passes when signing does what the customer agreed to and no more. Takes any text.
    public func check(_ order: SigningOrder) throws(SigningOrderRefusal) -> ApprovedTransfer {
        guard order.method == "eth_signTypedData_v4" else { throw SigningOrderRefusal(.w1, "method") }
        guard order.optionID == option.id else { throw SigningOrderRefusal(.w1, "another option") }
        guard let chain = Self.chainNumber(order.chainID) else { throw SigningOrderRefusal(.w1, "chain") }
        let (signer, data) = try typedData(of: order)
        let transfer = try Transfer(data)
        guard transfer.chainID == chain else { throw SigningOrderRefusal(.w1, "chain of the typed data") }
        guard let token = TokenCatalog.token(chainID: chain, symbol: option.symbol), transfer.isOf(token),
            token.decimals == option.decimals
        else { throw SigningOrderRefusal(.w3, "token") }
        guard let agreed = try? UInt256(parsing: option.value), transfer.value <= agreed else {
            throw SigningOrderRefusal(.w4, "value")
        }
        guard let account = Self.account(option.account), account.chain == chain, signer == account.address,
            transfer.from == nil || transfer.from == account.address
        else { throw SigningOrderRefusal(.w5, "account") }
        let latest = max(0, expiresAtSeconds) + Self.graceSeconds
        guard let end = transfer.end.asUInt64, end <= UInt64(latest) else { throw SigningOrderRefusal(.w6, "deadline") }
        // What was read and is shown must be all that is hashed.
        guard (try? transfer.rebuilt.digest) == data.digest else { throw SigningOrderRefusal(.w7, "digest") }
        return ApprovedTransfer(
            token: token,
            value: transfer.value,
            from: account.address,
            to: transfer.to,
            endsAtSeconds: end,
            typedData: data
        )
    }

    /// The account that is asked, and what it is asked to sign.
    private func typedData(of order: SigningOrder) throws(SigningOrderRefusal) -> (EthereumAddress, TypedData) {
        guard let parameters = try? ExactJSON(parsing: order.parameters),
            case .array(let items) = parameters, items.count == 2, case .string(let address) = items[0],
            let signer = try? EthereumAddress(parsing: address)
        else { throw SigningOrderRefusal(.w1, "parameters") }
        do throws(TypedDataError) {
            if case .string(let text) = items[1] { return (signer, try TypedData(json: text)) }
            return (signer, try TypedData(items[1]))
        } catch {
            throw SigningOrderRefusal(.w1, "\(error)")
        }
    }

    /// The number behind `eip155:`. Source: CAIP-2.
    private static func chainNumber(_ text: String) -> UInt64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "eip155", let number = UInt64(parts[1]), String(number) == parts[1] else {
            return nil
        }
        return number
    }

    /// Chain and address of an account. Source: CAIP-10.
    private static func account(_ text: String) -> (chain: UInt64, address: EthereumAddress)? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let chain = chainNumber("\(parts[0]):\(parts[1])"),
            let address = try? EthereumAddress(parsing: String(parts[2]))
        else { return nil }
        return (chain, address)
    }
}

/// The two kinds of message that this side knows: ERC-3009 to one receiver, and Permit2's plain transfer.
///
/// `TransferWithAuthorization`, which anybody could send, and Permit2's form with a witness are of the profile's list and
/// not of ours: production asks for neither.
private enum Transfer {
    case authorization(TransferAuthorization)
    case permit(PermitTransfer)

    init(_ data: TypedData) throws(SigningOrderRefusal) {
        do throws(TransferMismatch) {
            switch data.primaryType {
            case TransferAuthorization.primaryType: self = .authorization(try TransferAuthorization(data))
            case PermitTransfer.primaryType: self = .permit(try PermitTransfer(data))
            default: throw TransferMismatch(.kind, expected: "a known type", found: data.primaryType)
            }
        } catch {
            throw SigningOrderRefusal(.w2, "\(error)")
        }
    }

    var chainID: UInt64 {
        switch self {
        case .authorization(let authorization): authorization.domain.chainID
        case .permit(let permit): permit.chainID
        }
    }

    func isOf(_ token: KnownToken) -> Bool {
        switch self {
        case .authorization(let authorization): authorization.domain == TransferAuthorization.Domain(of: token)
        case .permit(let permit): permit.token == token.address
        }
    }

    var value: UInt256 {
        switch self {
        case .authorization(let authorization): authorization.value
        case .permit(let permit): permit.amount
        }
    }

    /// Nil for Permit2, whose message does not say: there only the account that signs does.
    var from: EthereumAddress? {
        switch self {
        case .authorization(let authorization): authorization.from
        case .permit: nil
        }
    }

    var to: EthereumAddress {
        switch self {
        case .authorization(let authorization): authorization.to
        case .permit(let permit): permit.spender
        }
    }

    var end: UInt256 {
        switch self {
        case .authorization(let authorization): authorization.validBefore
        case .permit(let permit): permit.deadline
        }
    }

    var rebuilt: TypedData {
        get throws(TypedDataError) {
            switch self {
            case .authorization(let authorization): try authorization.typedData()
            case .permit(let permit): try permit.typedData()
            }
        }
    }
}
