import Ethereum
import StrictJSON
import TapProtocol
import TapSigning
import Testing

struct SigningOrderTests {
    let token: KnownToken
    let permitToken: KnownToken
    let owner: EthereumAddress
    let id: PaymentID

    init() throws {
        token = try #require(TokenCatalog.token(chainID: 8453, symbol: "USDC"))
        permitToken = try #require(TokenCatalog.token(chainID: 1, symbol: "USDT"))
        owner = try EthereumAddress(parsing: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf")
        id = try #require(PaymentID("019ab697-e800-791a-b5fd-49dd46939c7d"))
    }

    private func authorization(_ change: (inout TransferAuthorization) -> Void = { _ in }) throws -> TypedData {
        let domain = try #require(TransferAuthorization.Domain(of: token))
        var authorization = TransferAuthorization(
            domain: domain,
            from: owner,
            value: UInt256(25_500_000),
            validBefore: UInt256(1_764_000_120),
            nonce: Bytes32(UInt256(7))
        )
        change(&authorization)
        return try authorization.typedData()
    }

    private func refusal(
        _ data: TypedData,
        method: String = "eth_signTypedData_v4",
        chain: String = "eip155:8453",
        signer: String? = nil,
        symbol: String = "USDC",
        account: String? = nil,
        decimals: Int = 6,
        parameters: String? = nil
    ) -> SigningOrderCheckNumber? {
        let option = WalletOption(
            id: "o",
            value: "25500000",
            symbol: symbol,
            decimals: decimals,
            network: "Base",
            account: account ?? "\(chain):\(owner.lowercased)"
        )
        let json = ExactJSON.array([.string(signer ?? owner.lowercased), .string(data.json)]).text
        let order = SigningOrder(
            paymentID: id,
            optionID: "o",
            index: 0,
            count: 1,
            chainID: chain,
            method: method,
            parameters: parameters ?? json
        )
        do throws(SigningOrderRefusal) {
            let shown = try SigningOrderCheck(option: option, expiresAtSeconds: 1_764_000_120).check(order)
            #expect(shown.from == owner)
            #expect(shown.typedData.digest == data.digest)
            return nil
        } catch {
            return error.check
        }
    }

    @Test func whatTheCustomerAgreedToPasses() throws {
        #expect(refusal(try authorization()) == nil)
        #expect(refusal(try authorization { $0.value = UInt256(1) }) == nil)
        #expect(refusal(try authorization { $0.validBefore = UInt256(1_764_003_720) }) == nil)
        #expect(refusal(try permit(), chain: "eip155:1", symbol: "USDT") == nil)
    }

    private func permit(amount: UInt64 = 25_500_000) throws -> TypedData {
        try PermitTransfer(
            chainID: 1,
            token: permitToken.address,
            amount: UInt256(amount),
            spender: PaymentContracts.permitSpender,
            nonce: UInt256(1),
            deadline: UInt256(1_764_000_120)
        ).typedData()
    }

    @Test func w1TakesOneMethodOnTheOrdersChain() throws {
        let data = try authorization()
        #expect(refusal(data, method: "eth_sendTransaction") == .w1)
        #expect(refusal(data, method: "personal_sign") == .w1)
        #expect(refusal(data, chain: "eip155:1") == .w1)
        for chain in ["", "eip155", "eip155:", "eip155:08453", "eip155:-1", "solana:1", "eip155:8453:0"] {
            #expect(refusal(data, chain: chain) == .w1)
        }
        for parameters in ["", "[]", "{}", "[1,2]", "[\"0x00\",{}]", "[\"\(owner.lowercased)\",\"{}\"]", "[[[[[[[["] {
            #expect(refusal(data, parameters: parameters) == .w1)
        }
    }

    @Test func w2TakesKnownMessagesOnly() throws {
        let json = try authorization().json
        let renamed = json.split(separator: "ReceiveWithAuthorization", omittingEmptySubsequences: false)
            .joined(separator: "TransferWithAuthority")
        #expect(refusal(try TypedData(json: renamed)) == .w2)
        let mail = """
            {"types":{"EIP712Domain":[{"name":"chainId","type":"uint256"}],"Mail":[{"name":"text","type":"string"}]},
            "primaryType":"Mail","domain":{"chainId":8453},"message":{"text":"hello"}}
            """
        #expect(refusal(try TypedData(json: mail)) == .w2)
    }

    @Test func w3TakesTheOptionsTokenOnly() throws {
        let other = try #require(TokenCatalog.token(chainID: 8453, symbol: "EURC"))
        let domain = try #require(TransferAuthorization.Domain(of: other))
        #expect(refusal(try authorization { $0.domain = domain }) == .w3)
        #expect(refusal(try authorization(), symbol: "EURC") == .w3)
        #expect(refusal(try authorization(), symbol: "NONE") == .w3)
        #expect(refusal(try authorization(), decimals: 2) == .w3)
        #expect(refusal(try permit(), chain: "eip155:1", symbol: "USDC") == .w3)
    }

    @Test func w4TakesNoMoreThanAgreed() throws {
        #expect(refusal(try authorization { $0.value = UInt256(25_500_001) }) == .w4)
        #expect(refusal(try authorization { $0.value = .max }) == .w4)
        #expect(refusal(try permit(amount: 25_500_001), chain: "eip155:1", symbol: "USDT") == .w4)
    }

    @Test func w5TakesFromTheOptionsAccountOnly() throws {
        let other = "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf"
        let address = try EthereumAddress(parsing: other)
        #expect(refusal(try authorization { $0.from = address }) == .w5)
        #expect(refusal(try authorization(), signer: other) == .w5)
        #expect(refusal(try authorization(), account: "eip155:8453:\(other)") == .w5)
        #expect(refusal(try authorization(), account: "eip155:1:\(owner.lowercased)") == .w5)
        #expect(refusal(try authorization(), account: owner.lowercased) == .w5)
    }

    @Test func w6EndsInTime() throws {
        #expect(refusal(try authorization { $0.validBefore = UInt256(1_764_003_721) }) == .w6)
        #expect(refusal(try authorization { $0.validBefore = .max }) == .w6)
    }

    @Test func w7ShowsWhatTheTypedDataSays() throws {
        let data = try authorization { $0.value = UInt256(9) }
        let option = WalletOption(
            id: "o",
            value: "25500000",
            symbol: "USDC",
            decimals: 6,
            network: "Base",
            account: "eip155:8453:\(owner.checksummed)"
        )
        let order = SigningOrder(
            paymentID: id,
            optionID: "o",
            index: 0,
            count: 1,
            chainID: "eip155:8453",
            method: "eth_signTypedData_v4",
            parameters: "[\"\(owner.lowercased)\",\(data.json)]"
        )
        let shown = try SigningOrderCheck(option: option, expiresAtSeconds: 1_764_000_120).check(order)
        #expect(shown.value == UInt256(9))
        #expect(shown.to == PaymentContracts.collector)
        #expect(shown.token == token)
        #expect(shown.endsAtSeconds == 1_764_000_120)
        let other = SigningOrder(
            paymentID: id,
            optionID: "p",
            index: 0,
            count: 1,
            chainID: "eip155:8453",
            method: "eth_signTypedData_v4",
            parameters: order.parameters
        )
        #expect(throws: SigningOrderRefusal.self) {
            _ = try SigningOrderCheck(option: option, expiresAtSeconds: 1_764_000_120).check(other)
        }
    }

    @Test func aClaimWithoutAnAcceptNamesWhatWasSigned() {
        let hash = WalletClaim.hash(paymentID: id, optionID: "o", signatures: ["0x01", "0x02"])
        let item = CBOR.array([.bytes(id.bytes), .text("o"), .array([.text("0x01"), .text("0x02")])])
        #expect(hash == ObjectHash(of: item.encoded))
        #expect(hash != WalletClaim.hash(paymentID: id, optionID: "o", signatures: ["0x02", "0x01"]))
    }
}
