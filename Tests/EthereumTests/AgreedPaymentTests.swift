import Ethereum
import StrictJSON
import Testing

/// What a wallet compares before it does anything for a payment: options and calls as production wrote them.
struct AgreedPaymentTests {
    /// An option that a customer chose, and what the gateway then asks their wallet to do for it.
    private struct Captured {
        let agreed: AgreedPayment
        var calls: [WalletCall]
        /// While the payment could be paid.
        var now: Int64 { Int64(agreed.expiresAtSeconds) - 200 }

        /// - Parameter endName: The member of the message that says how long it holds: 300 seconds after the payment.
        init(option: String, calls: String, endName: String) throws {
            let vectors = try Vectors.load("captured-payloads")
            let option = try vectors.member(option)
            self.calls = try vectors.member(calls).elements("actions").map { action in
                let data = try action.member("data")
                return WalletCall(
                    chain: try data.string("chain_id"),
                    method: try data.string("method"),
                    params: try data.member("params").text
                )
            }
            let text = try vectors.member(calls).elements("actions").last?.member("data").elements("params").last
            guard case .string(let json)? = text else { throw MissingVector(name: "typed data") }
            let end = try UInt256(parsing: try TypedData(json: json).message.string(endName))
            agreed = try AgreedPayment(
                account: try option.string("account"),
                unit: try option.member("amount").string("unit"),
                value: try option.member("amount").string("value"),
                expiresAtSeconds: Int64(try #require(end.asUInt64)) - 300
            )
        }

        static func authorization() throws -> Captured {
            try Captured(
                option: "option_eip3009_build",
                calls: "fetch_response_for_option_eip3009_build",
                endName: "validBefore"
            )
        }

        static func permit() throws -> Captured {
            try Captured(
                option: "option_permit2_allowance_ok",
                calls: "option_permit2_allowance_ok",
                endName: "deadline"
            )
        }

        func check() throws -> [CheckedCall] { try agreed.check(calls, nowSeconds: now) }

        /// Why it is refused with one text in the last call changed; nil where it is not.
        func refusal(changing truth: String, to lie: String) throws -> CallRefusal? {
            var changed = self
            let honest = changed.calls[changed.calls.count - 1].params
            #expect(honest.contains(truth), "the test changes something")
            changed.calls[changed.calls.count - 1].params = honest.replacing(truth, with: lie)
            return #expect(throws: CallRefusal.self) { _ = try changed.check() }
        }
    }

    private static let approvalData =
        "0x095ea7b3000000000000000000000000000000000022d473030f116ddee9f6b43ac78ba3" + String(repeating: "f", count: 64)

    /// The approval that stands before a permit's first use.
    private static func approval(_ agreed: AgreedPayment, value: String = "") -> WalletCall {
        WalletCall(
            chain: agreed.token.chain,
            method: "eth_sendTransaction",
            params: """
                [{"data":"\(approvalData)","from":"\(agreed.account.lowercased)","to":"\(agreed.token.address.lowercased)"\(value)}]
                """
        )
    }

    @Test func whatProductionAsksForItsOwnOptionsIsSigned() throws {
        for captured in [try Captured.authorization(), try Captured.permit()] {
            let checked = try captured.check()
            guard checked.count == 1, case .sign(let data) = checked[0] else {
                Issue.record("\(checked)")
                continue
            }
            guard case .array(let params) = try ExactJSON(parsing: captured.calls[0].params), params.count == 2,
                case .string(let json) = params[1]
            else { throw MissingVector(name: "params") }
            #expect(data == (try TypedData(json: json)), "what was checked is what is signed")
        }
    }

    /// Recipient, amount, chain, token, validity, account, kind.
    @Test(arguments: [
        (#"\"to\":\"0x35e6"#, #"\"to\":\"0x35e7"#, TransferMismatch.Field.to),
        (#"\"value\":\"0x186a0"#, #"\"value\":\"0x186a1"#, .value),
        (#"\"chainId\":\"0x1\""#, #"\"chainId\":\"0xa\""#, .chainID),
        (#"\"verifyingContract\":\"0x6c3e"#, #"\"verifyingContract\":\"0x6c3f"#, .contract),
        (#"\"name\":\"PayPal USD"#, #"\"name\":\"PayPal EUR"#, .domainName),
        (#"\"validBefore\":\"0x"#, #"\"validBefore\":\"0x1"#, .validBefore),
        (#"\"validAfter\":\"0x0"#, #"\"validAfter\":\"0x7fffffff"#, .validAfter),
        (#"\"from\":\"0xf977"#, #"\"from\":\"0xf978"#, .from),
        ("ReceiveWithAuthorization", "TransferWithAuthorization", .kind),
    ])
    func anAuthorizationThatIsNotTheOptionIsRefused(truth: String, lie: String, field: TransferMismatch.Field) throws {
        let refusal = try Captured.authorization().refusal(changing: truth, to: lie)
        guard case .otherPayment(let mismatch)? = refusal else {
            Issue.record("\(refusal as Any)")
            return
        }
        #expect(mismatch.field == field)
    }

    /// Spender, amount, chain, token, validity, contract.
    @Test(arguments: [
        (#"\"spender\":\"0x5fae"#, #"\"spender\":\"0x5faf"#, TransferMismatch.Field.to),
        (#"\"amount\":\"0x186a0"#, #"\"amount\":\"0x186a00"#, .value),
        (#"\"chainId\":\"0x1\""#, #"\"chainId\":\"0x38\""#, .chainID),
        (#"\"token\":\"0xdac1"#, #"\"token\":\"0xdac2"#, .token),
        (#"\"deadline\":\"0x"#, #"\"deadline\":\"0x1"#, .validBefore),
        (#"\"verifyingContract\":\"0x0000"#, #"\"verifyingContract\":\"0x1000"#, .contract),
    ])
    func aPermitThatIsNotTheOptionIsRefused(truth: String, lie: String, field: TransferMismatch.Field) throws {
        let refusal = try Captured.permit().refusal(changing: truth, to: lie)
        guard case .otherPayment(let mismatch)? = refusal else {
            Issue.record("\(refusal as Any)")
            return
        }
        #expect(mismatch.field == field)
    }

    @Test func aCallOfAnotherKindNetworkOrAccountIsRefused() throws {
        let captured = try Captured.authorization()
        func refusal(_ change: (inout Captured) -> Void) -> CallRefusal? {
            var changed = captured
            change(&changed)
            return #expect(throws: CallRefusal.self) { _ = try changed.check() }
        }
        #expect(refusal { $0.calls[0].chain = "eip155:10" } == .otherNetwork("eip155:10"))
        #expect(refusal { $0.calls[0].method = "eth_sign" } == .unrelated(method: "eth_sign"))
        #expect(refusal { $0.calls.append($0.calls[0]) } == .unrelated(method: "eth_signTypedData_v4"))
        #expect(
            refusal { $0.calls.insert(Self.approval($0.agreed), at: 0) } == .unrelated(method: "eth_sendTransaction")
        )
        #expect(refusal { $0.calls = [] } == .nothingToSign)
        #expect(refusal { $0.calls[0].params = "{}" } == .unreadable("the parameters are no list"))
        #expect(try captured.refusal(changing: #"["0xf977"#, to: #"["0xf978"#) == .otherAccount)
    }

    @Test func anApprovalMayStandBeforeAPermitAndNothingElse() throws {
        var captured = try Captured.permit()
        let approval = Self.approval(captured.agreed)
        captured.calls.insert(approval, at: 0)
        let transaction = String(approval.params.dropFirst().dropLast())
        #expect(try captured.check().first == .approve(transaction: transaction))
        let (token, account) = (captured.agreed.token.address.lowercased, captured.agreed.account.lowercased)
        let lies = [
            (token, "0x8335"), (account, "0x8335"), ("22d473030f116d", "22d473030f116e"), ("095ea7b3", "a9059cbb"),
            ("\(token)\"", "\(token)\",\"value\":\"0x1\""), ("\(token)\"", "\(token)\",\"input\":\"0xa9059cbb\""),
            ("\(token)\"", "\(token)\",\"gasPrice\":\"0xffffffffff\""),
            ("\(token)\"", "\(token)\",\"chainId\":\"0x1\""),
        ]
        for (truth, lie) in lies {
            captured.calls[0].params = approval.params.replacing(truth, with: lie)
            #expect(captured.calls[0].params != approval.params)
            #expect(throws: CallRefusal.otherTransaction, "\(truth) → \(lie)") { _ = try captured.check() }
        }
        captured.calls = [approval]
        #expect(throws: CallRefusal.unrelated(method: "eth_sendTransaction")) { _ = try captured.check() }
        captured.calls = [Self.approval(captured.agreed, value: #","value":"0x0""#)] + (try Captured.permit().calls)
        #expect(throws: Never.self) { _ = try captured.check() }
    }

    /// The gateway counts by its own clock; a wallet whose clock is wrong must not refuse what is right.
    @Test(arguments: [Int64.min, -1, 0, 1_000_000_000, 4_000_000_000, .max])
    func aClockThatIsWrongRefusesOnlyWhatHoldsFromLater(now: Int64) throws {
        let captured = try Captured.permit()
        #expect(throws: Never.self) { _ = try captured.agreed.check(captured.calls, nowSeconds: now) }
        let authorization = try Captured.authorization()
        guard now > 0 else { return }
        #expect(throws: Never.self) { _ = try authorization.agreed.check(authorization.calls, nowSeconds: now) }
    }

    @Test func anExpiryAtTheEndOfTimeIsNoTrap() throws {
        let captured = try Captured.permit()
        let agreed = AgreedPayment(
            token: captured.agreed.token,
            account: captured.agreed.account,
            value: captured.agreed.value,
            expiresAtSeconds: .max
        )
        #expect(throws: Never.self) { _ = try agreed.check(captured.calls, nowSeconds: 0) }
    }

    @Test func anOptionThatCannotBeReadIsNotAgreedTo() throws {
        let unit = "caip19/eip155:8453/erc20:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
        let account = "eip155:8453:0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"
        func refusal(account: String = account, unit: String = unit, value: String = "1", end: Int64 = 9)
            -> CallRefusal?
        {
            #expect(throws: CallRefusal.self) {
                _ = try AgreedPayment(account: account, unit: unit, value: value, expiresAtSeconds: end)
            }
        }
        #expect(throws: Never.self) {
            _ = try AgreedPayment(account: account, unit: unit.lowercased(), value: "1", expiresAtSeconds: .max)
        }
        let native = "caip19/eip155:10/slip44:60"
        #expect(refusal(unit: native) == .unknownToken(native))
        #expect(refusal(account: account.replacing("8453", with: "1")) == .unreadableOption("account"))
        #expect(refusal(account: account.lowercased() + "0") == .unreadableOption("account"))
        for value in ["", "0x1", "1.5", "-1", "1e3"] { #expect(refusal(value: value) == .unreadableOption("amount")) }
        #expect(refusal(end: -1) == .unreadableOption("expiry"))
    }
}
