import Ethereum
import StrictJSON
import Testing

/// A token that nobody here knows is paid with in the known forms only, and everything is compared all the same.
struct UnlistedTokenTests {
    private static let address = "0x00000000eFE302BEAA2b3e6e1b18d08D69a9012a"
    private static let unit = "caip19/eip155:8453/erc20:\(address)"
    private static let payer = EthereumAddress.zero
    private static let account = "eip155:8453:\(payer.checksummed)"
    private static let end: Int64 = 1_789_587_739

    private static func token() throws -> EthereumAddress { try EthereumAddress(parsing: address) }

    private static func call(_ data: TypedData, chain: String = "eip155:8453", method: String = "eth_signTypedData_v4")
        -> WalletCall
    {
        let params = ExactJSON.array([.string(payer.lowercased), .string(data.json)]).text
        return WalletCall(chain: chain, method: method, params: params)
    }

    private static func authorization(_ change: (inout TransferAuthorization) -> Void = { _ in }) throws -> TypedData {
        var order = TransferAuthorization(
            domain: TransferAuthorization.Domain(
                name: "Agora Dollar",
                version: "1",
                chainID: 8453,
                contract: try token()
            ),
            from: payer,
            value: 10_500_000,
            validBefore: UInt256(UInt64(end + 300)),
            nonce: keccak256("nonce")
        )
        change(&order)
        return try order.typedData()
    }

    private static func permit(_ change: (inout PermitTransfer) -> Void = { _ in }) throws -> TypedData {
        var order = PermitTransfer(
            chainID: 8453,
            token: try token(),
            amount: 10_500_000,
            nonce: 7,
            deadline: UInt256(UInt64(end + 300))
        )
        change(&order)
        return try order.typedData()
    }

    /// Why the calls are refused; nil where they are not.
    private static func refusal(_ calls: [WalletCall], unit: String = unit) -> CallRefusal? {
        do throws(CallRefusal) {
            let agreed = try AgreedPayment(
                account: account,
                unit: unit,
                value: "10500000",
                expiresAtSeconds: end,
                unlistedTokenOf: calls
            )
            _ = try agreed.check(calls, nowSeconds: end - 200)
            return nil
        } catch { return error }
    }

    private static func field(_ data: TypedData) -> TransferMismatch.Field? {
        guard case .otherPayment(let mismatch)? = refusal([call(data)]) else { return nil }
        return mismatch.field
    }

    @Test func bothKnownFormsPayWithIt() throws {
        #expect(Self.refusal([Self.call(try Self.authorization())]) == nil)
        #expect(Self.refusal([Self.call(try Self.permit())]) == nil)
    }

    @Test func eachFieldIsComparedAsWithAListedToken() throws {
        let (stranger, usdc) = (
            try EthereumAddress(parsing: "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"),
            try #require(TokenCatalog.token(chainID: 8453, symbol: "USDC"))
        )
        #expect(Self.field(try Self.authorization { $0.from = stranger }) == .from)
        #expect(Self.field(try Self.authorization { $0.to = stranger }) == .to)
        #expect(Self.field(try Self.authorization { $0.value = 10_500_001 }) == .value)
        #expect(Self.field(try Self.authorization { $0.validBefore = UInt256(UInt64(Self.end + 901)) }) == .validBefore)
        #expect(
            Self.field(
                try Self.authorization { order in
                    if let domain = TransferAuthorization.Domain(of: usdc) { order.domain = domain }
                }
            ) == .contract,
            "the option names one token, the signature would pay with another"
        )
        #expect(Self.field(try Self.permit { $0.token = usdc.address }) == .token)
        #expect(Self.field(try Self.permit { $0.spender = stranger }) == .to)
        #expect(Self.field(try Self.permit { $0.amount = .max }) == .value)
        #expect(Self.field(try Self.permit { $0.chainID = 1 }) == .chainID)
    }

    @Test func otherCallsAndOtherMessagesAreNotUnderstood() throws {
        let good = Self.call(try Self.authorization())
        for method in ["personal_sign", "eth_sign", "eth_signTypedData", "eth_sendTransaction", "wallet_sendCalls"] {
            let other = WalletCall(chain: good.chain, method: method, params: good.params)
            #expect(Self.refusal([other]) == .unrelated(method: method))
            #expect(Self.refusal([other, good]) == .unrelated(method: method), "nothing stands before the signature")
        }
        let permit = try TypedData(
            types: [
                TypedData.Structure(
                    "Permit",
                    ["address owner", "address spender", "uint256 value"].map { field in
                        let words = field.split(separator: " ")
                        return TypedData.Field(String(words[0]), String(words[1]))
                    }
                )
            ],
            primaryType: "Permit",
            domain: .object([ExactJSON.Member("verifyingContract", .string(Self.address))]),
            message: .object([
                ExactJSON.Member("owner", .string(Self.payer.lowercased)),
                ExactJSON.Member("spender", .string(PaymentContracts.permitSpender.lowercased)),
                ExactJSON.Member("value", .string("0xa037a0")),
            ])
        )
        #expect(Self.field(permit) == .kind)
        #expect(Self.refusal([]) == .nothingToSign)
        #expect(
            Self.refusal([Self.call(try Self.authorization(), chain: "eip155:1")]) == .otherNetwork("eip155:1")
        )
    }

    @Test func aListedTokenByAnotherSpellingAndWhatIsNoTokenAreRefused() throws {
        let usdc = try #require(TokenCatalog.token(chainID: 8453, symbol: "USDC"))
        let calls = [Self.call(try Self.authorization())]
        #expect(Self.refusal(calls, unit: "caip19/\(usdc.assetID)") == .unreadableOption("token"))
        for unit in [
            "caip19/eip155:8453/slip44:60", "caip19/eip155:08453/erc20:\(Self.address)", "erc20:\(Self.address)",
            "caip19/eip155:8453/erc20:0x12", "caip19/eip155:8453/erc20:\(Self.address)/1", "",
        ] { #expect(Self.refusal(calls, unit: unit) == .unknownToken(unit)) }
    }
}
