import Ethereum
import Testing
import StrictJSON

struct TransferTests {
    private static let payer = PrivateKey()

    private static func token(_ chainID: UInt64, _ symbol: String) throws -> KnownToken {
        try #require(TokenCatalog.token(chainID: chainID, symbol: symbol))
    }

    /// 10 USDC on Base and 10 USDT on Ethereum, agreed and as typed data.
    private static func agreed() throws -> [(expected: ExpectedTransfer, data: TypedData)] {
        let usdc = try token(8453, "USDC")
        let usdt = try token(1, "USDT")
        let domain = try #require(TransferAuthorization.Domain(of: usdc))
        let nonce = keccak256("nonce")
        let validity = ExpectedTransfer.Validity.exactly(after: 0, before: 2_000_000_000)
        return [
            (
                ExpectedTransfer(
                    token: usdc,
                    from: payer.address,
                    value: 10_000_000,
                    validity: validity,
                    nonce: nonce.number
                ),
                try TransferAuthorization(
                    domain: domain,
                    from: payer.address,
                    value: 10_000_000,
                    validBefore: 2_000_000_000,
                    nonce: nonce
                ).typedData()
            ),
            (
                ExpectedTransfer(
                    token: usdt,
                    from: payer.address,
                    value: 10_000_000,
                    validity: validity,
                    nonce: nonce.number
                ),
                try PermitTransfer(
                    chainID: 1,
                    token: usdt.address,
                    amount: 10_000_000,
                    nonce: nonce.number,
                    deadline: 2_000_000_000
                ).typedData()
            ),
        ]
    }

    // MARK: As production writes it

    @Test func writesByteForByteWhatProductionWrites() throws {
        let captured = try Vectors.load("captured-payloads")
        let receive = try captured.member("fetch_response_for_option_eip3009_build").elements("actions")[0]
        let receiveText = try Self.typedDataText(receive)
        let authorization = try TransferAuthorization(try TypedData(json: receiveText))
        #expect(try authorization.typedData().json == receiveText)
        #expect(authorization.to == PaymentContracts.collector)
        #expect(authorization.value == 100_000)

        let allowed = try captured.member("option_permit2_allowance_ok").elements("actions")[0]
        let approve = try captured.member("option_permit2_needs_approve").elements("actions")
        for action in [allowed, approve[1]] {
            let text = try Self.typedDataText(action)
            let permit = try PermitTransfer(try TypedData(json: text))
            #expect(try permit.typedData().json == text)
            #expect(permit.spender == PaymentContracts.permitSpender)
        }
        let call = try approve[0].member("data").elements("params")[0].string("data")
        let expected =
            "0x" + PaymentContracts.permit2Approval().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(call == expected)
    }

    private static func typedDataText(_ action: ExactJSON) throws -> String {
        let parameters = try action.member("data").elements("params")
        guard case .string(let text) = parameters[1] else { throw MissingVector(name: "params[1]") }
        return text
    }

    @Test func readsTheOlderFormsOfTheSameMessages() throws {
        let cases = try Vectors.load("eip712").elements("cases")
        func data(_ name: String) throws -> TypedData {
            let row = try #require(try cases.first { try $0.string("name") == name })
            return try TypedData(try row.member("typedData"))
        }
        let decimal = try PermitTransfer(try data("gem-usdt-polygon-permit2-decimal-no-domain-type"))
        #expect(decimal.chainID == 137)
        #expect(try decimal.typedData().digest == data("gem-usdt-polygon-permit2-decimal-no-domain-type").digest)
        let short = try PermitTransfer(try data("gem-usdc-bsc-permit2-short-nonce"))
        #expect(try short.typedData().digest == data("gem-usdc-bsc-permit2-short-nonce").digest)
        // Anybody could send this one to the chain, so it is not the message we agreed to.
        #expect(throws: TransferMismatch.self) {
            try TransferAuthorization(try data("gem-usdc-base-transfer-no-domain-type"))
        }
    }

    // MARK: Checks

    @Test func passesWhatWasAgreedAndItsSignature() throws {
        for (expected, data) in try Self.agreed() {
            #expect(throws: Never.self) { try expected.check(data) }
            #expect(throws: Never.self) { try expected.check(data, signature: Self.payer.sign(data.digest)) }
            #expect(throws: Never.self) { try expected.check(try TypedData(json: data.json)) }
        }
    }

    @Test func aSignatureOfAnotherAccountOrMessageIsNotThePayers() throws {
        for (expected, data) in try Self.agreed() {
            for signature in [PrivateKey().sign(data.digest), Self.payer.sign(keccak256("another"))] {
                let mismatch = #expect(throws: TransferMismatch.self) { try expected.check(data, signature: signature) }
                #expect(mismatch?.field == .signer)
            }
        }
    }

    @Test(arguments: [
        (["domain", "name"], "USDC", TransferMismatch.Field.domainName), (["domain", "version"], "1", .domainVersion),
        (["domain", "chainId"], "0x1", .chainID), (["domain", "chainId"], "0x10000000000002105", .chainID),
        (["domain", "verifyingContract"], "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", .contract),
        (["message", "from"], "0x1111111111111111111111111111111111111111", .from),
        (["message", "to"], "0x1111111111111111111111111111111111111111", .to),
        (["message", "value"], "0x989681", .value),
        (["message", "value"], "0x9896800", .value), (["message", "validAfter"], "0x1", .validAfter),
        (["message", "validBefore"], "2000000001", .validBefore),
        (["message", "nonce"], "0x1111111111111111111111111111111111111111111111111111111111111111", .nonce),
        (["types", "ReceiveWithAuthorization", "2", "type"], "uint128", .kind),
        (["types", "ReceiveWithAuthorization", "5", "type"], "uint256", .kind),
        (["types", "EIP712Domain", "2", "type"], "uint64", .kind),
    ])
    func namesTheFieldThatAnAuthorizationChanged(path: [String], value: String, field: TransferMismatch.Field) throws {
        let (expected, data) = try Self.agreed()[0]
        let changed = try TypedData(try ExactJSON(parsing: data.json).replacing(path, with: .string(value)))
        let mismatch = #expect(throws: TransferMismatch.self) { try expected.check(changed) }
        #expect(mismatch?.field == field)
    }

    @Test(arguments: [
        (["domain", "name"], "Permit3", TransferMismatch.Field.domainName), (["domain", "chainId"], "0x38", .chainID),
        (["domain", "verifyingContract"], "0x1111111111111111111111111111111111111111", .contract),
        (["message", "spender"], "0x1111111111111111111111111111111111111111", .to),
        (["message", "permitted", "token"], "0x1111111111111111111111111111111111111111", .token),
        (["message", "permitted", "amount"], "0x989681", .value),
        (["message", "deadline"], "0x77359401", .validBefore),
        (["message", "nonce"], "0x1", .nonce), (["types", "TokenPermissions", "1", "type"], "uint128", .kind),
        (["types", "PermitTransferFrom", "3", "type"], "uint64", .kind),
    ])
    func namesTheFieldThatAPermitChanged(path: [String], value: String, field: TransferMismatch.Field) throws {
        let (expected, data) = try Self.agreed()[1]
        let changed = try TypedData(try ExactJSON(parsing: data.json).replacing(path, with: .string(value)))
        let mismatch = #expect(throws: TransferMismatch.self) { try expected.check(changed) }
        #expect(mismatch?.field == field)
    }

    @Test func doesNotTakeOneMethodsMessageForTheOther() throws {
        let agreed = try Self.agreed()
        for (expected, data) in [(agreed[0].expected, agreed[1].data), (agreed[1].expected, agreed[0].data)] {
            let mismatch = #expect(throws: TransferMismatch.self) { try expected.check(data) }
            #expect(mismatch?.field == .kind)
        }
    }

    /// Without these the same signature would hold on every chain, or for every contract.
    @Test(arguments: ["chainId", "verifyingContract", "name"])
    func refusesADomainThatLeavesSomethingOpen(member: String) throws {
        for (expected, data) in try Self.agreed() {
            guard
                case .array(let fields)? = try ExactJSON(parsing: data.json).member("types").value(
                    named: "EIP712Domain"
                )
            else { continue }
            let kept = try fields.filter { try $0.string("name") != member }
            let changed = try ExactJSON(parsing: data.json).replacing(["types", "EIP712Domain"], with: .array(kept))
            let mismatch = #expect(throws: TransferMismatch.self) { try expected.check(try TypedData(changed)) }
            #expect(mismatch?.field == .kind)
        }
    }

    /// ERC-3009 excludes the second of `validBefore`, Permit2 includes its deadline.
    @Test func knowsTheLastSecondInWhichTheMoneyCanBeTaken() throws {
        let agreed = try Self.agreed()
        func field(_ index: Int, now: UInt64, latestEnd: UInt64) -> TransferMismatch.Field? {
            var expected = agreed[index].expected
            expected.validity = .covers(now: now, latestEnd: latestEnd)
            do throws(TransferMismatch) {
                try expected.check(agreed[index].data)
                return nil
            } catch {
                return error.field
            }
        }
        for index in 0...1 {
            #expect(field(index, now: 1_999_999_999, latestEnd: 2_000_000_000) == nil)
            #expect(field(index, now: 1_999_999_999, latestEnd: 1_999_999_999) == .validBefore)
            #expect(field(index, now: 2_000_000_001, latestEnd: 3_000_000_000) == .validBefore)
        }
        #expect(field(0, now: 2_000_000_000, latestEnd: 2_000_000_000) == .validBefore)
        #expect(field(1, now: 2_000_000_000, latestEnd: 2_000_000_000) == nil)
        #expect(field(0, now: 0, latestEnd: 2_000_000_000) == .validAfter)
    }

    // MARK: Tokens

    @Test func everyTokensDomainIsTheDeployedOne() throws {
        var compared: Set<String> = []
        for row in try Vectors.load("domain-separators").elements() {
            let chainID = try #require(try row.number("chainId").asUInt64)
            let separator = try row.string("domainSeparator")
            let address = try EthereumAddress(parsing: try row.string("contract"))
            if try row.string("symbol") == "Permit2" {
                #expect(address == PaymentContracts.permit2)
                let permit = PermitTransfer(chainID: chainID, token: .zero, amount: 1, nonce: 1, deadline: 1)
                #expect(try permit.typedData().domainSeparator.hexadecimal == separator)
                continue
            }
            guard let token = TokenCatalog.token(chainID: chainID, address: address),
                let domain = TransferAuthorization.Domain(of: token)
            else {
                #expect(try row.string("symbol") == "AUSD")
                continue
            }
            let authorization = TransferAuthorization(
                domain: domain,
                from: .zero,
                value: 1,
                validBefore: 1,
                nonce: keccak256("")
            )
            #expect(try authorization.typedData().domainSeparator.hexadecimal == separator, "\(token.assetID)")
            #expect(token.address.checksummed == (try row.string("contract")))
            #expect(try row.string("confidence").contains("on-chain by") == (token.evidence == .onChain))
            compared.insert(token.assetID)
        }
        for token in TokenCatalog.all where token.method != .permit2 {
            #expect(compared.contains(token.assetID), "\(token.assetID) has no vector")
        }
    }

    /// Source: WalletConnect documentation, `payments/token-and-chain-coverage`.
    @Test(
        arguments: [
            (1, "USDC", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6),
            (10, "USDC", "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6),
            (137, "USDC", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", 6),
            (8453, "USDC", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 6),
            (42161, "USDC", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", 6),
            (56, "USDC", "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 18),
            (1, "USDT", "0xdAC17F958D2ee523a2206206994597C13D831ec7", 6),
            (137, "USDT", "0xc2132D05D31c914a87C6611C10748AEb04B58e8F", 6),
            (56, "USDT", "0x55d398326f99059fF775485246999027B3197955", 18),
            (42161, "USDT", "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9", 6),
        ] as [(UInt64, String, String, Int)]
    )
    func theTokensOfTheCoverageTableAreThere(chainID: UInt64, symbol: String, address: String, decimals: Int) throws {
        let token = try Self.token(chainID, symbol)
        #expect(token.address.checksummed == address)
        #expect(token.decimals == decimals)
        #expect(token.assetID == "eip155:\(chainID)/erc20:\(address)")
        #expect(!token.network.isEmpty)
    }

    @Test func noTokenIsListedTwice() {
        #expect(Set(TokenCatalog.all.map(\.assetID)).count == TokenCatalog.all.count)
        #expect(Set(TokenCatalog.all.map { "\($0.chain) \($0.symbol)" }).count == TokenCatalog.all.count)
    }
}
