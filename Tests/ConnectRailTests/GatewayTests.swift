import Ethereum
import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import Testing

/// What the gateway says about a charge is read before a wallet is asked for anything.
struct GatewayTests {
    /// The reason on the screen, once there is one.
    private func trouble(_ shift: Shift, _ id: ChargeID, within limit: Duration = .seconds(100)) async throws -> String
    {
        try await shift.until("a reason is shown", within: limit) {
            try await shift.snapshot(id).connect?.trouble != nil
        }
        return try #require(try await shift.snapshot(id).connect?.trouble?.code)
    }

    /// Where a wallet is told after pairing why it is not asked; it must have heard no request.
    private func refusal(_ bed: ConnectTestBed) async throws -> String? {
        let found = Told()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.chains = [8453] }
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    await found.set(try await trouble(shift, id))
                    try await shift.until("the session is over") { wallet.count("end") == 1 }
                    #expect(wallet.count("request") == 0)
                }
            }
        }
        return await found.code
    }

    private actor Told {
        private(set) var code: String?
        func set(_ code: String) { self.code = code }
    }

    /// Calls the tokens of Base something that no list has, in options and in orders.
    private static func swap(_ text: String) -> String {
        let others = [
            "USDC": "0x00000000eFE302BEAA2b3e6e1b18d08D69a9012a", "EURC": "0x4933A85b5b5466Fbaf179F72D3DE273c287EC2c2",
        ]
        var text = text
        for (symbol, other) in others {
            guard let known = TokenCatalog.token(chainID: 8453, symbol: symbol)?.address else { continue }
            text = text.replacing(known.checksummed, with: other.lowercased())
                .replacing(known.lowercased, with: other.lowercased())
        }
        return text
    }

    @Test(arguments: ["personal_sign", "eth_sign", "eth_signTypedData", "eth_sendTransaction", "wallet_sendCalls"])
    func aWalletIsAskedForNothingThatTheTerminalDoesNotKnow(method: String) async throws {
        let bed = try ConnectTestBed()
        bed.line.faults.lie(of: "/fetch") { $0.replacing("eth_signTypedData_v4", with: method) }
        #expect(try await refusal(bed) == "connect_unknown_request")
    }

    @Test func anotherMessageThanAPaymentIsNotPassedOn() async throws {
        let bed = try ConnectTestBed()
        bed.line.faults.lie(of: "/fetch") {
            $0.replacing("ReceiveWithAuthorization", with: "TransferWithAuthorization")
        }
        #expect(try await refusal(bed) == "connect_unknown_request")
    }

    @Test func aTokenThatNobodyKnowsHidesNoOrderOverOneThatIsKnown() async throws {
        let bed = try ConnectTestBed()
        bed.line.faults.lie(of: "/options") { Self.swap($0) }
        #expect(try await refusal(bed) == "connect_suspicious")
    }

    @Test func aTokenThatNobodyKnowsIsPaidWithInTheKnownForm() async throws {
        let bed = try ConnectTestBed()
        for path in ["/options", "/fetch"] { bed.line.faults.lie(of: path) { Self.swap($0) } }
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.chains = [8453] }
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    // The sandbox knows only its own tokens and refuses what it did not order.
                    #expect(try await trouble(shift, id) == "connect_gateway")
                    #expect(wallet.count("signed") == 1)
                }
            }
        }
    }

    @Test(arguments: [
        (#""value":"1050""#, #""value":"1051""#), ("iso4217/EUR", "iso4217/USD"),
        (#""info":{"#, #""info":null,"other":{"#),
    ])
    func anotherAmountThanTheChargesIsNotPaid(truth: String, lie: String) async throws {
        let bed = try ConnectTestBed()
        bed.line.faults.lie(of: "/options") { text in
            #expect(text.contains(truth), "the test changes something")
            return text.replacing(truth, with: lie)
        }
        #expect(try await refusal(bed) == "connect_suspicious")
    }

    @Test func nothingIsSignedThatOutlivesTheCharge() async throws {
        let bed = try ConnectTestBed()
        let later = bed.clock.terminalClock.wallTime().secondsSince1970 + 86_400
        bed.line.faults.lie(of: "/options") {
            $0.replacing(/"info":{"status":"requires_action",(.*?)"expiresAt":[0-9]+/) {
                #""info":{"status":"requires_action",\#($0.output.1)"expiresAt":\#(later)"#
            }
        }
        bed.line.faults.lie(of: "/fetch") {
            $0.replacing(/"validBefore\\":\\"0x[0-9a-f]+/, with: #""validBefore\":\"0x"# + String(later, radix: 16))
        }
        #expect(try await refusal(bed) == "connect_suspicious")
    }

    @Test func aPaymentThatIsOverIsNotToldAsAnEmptyWallet() async throws {
        let bed = try ConnectTestBed()
        bed.line.faults.lie(of: "/options") {
            $0.replacing("requires_action", with: "succeeded").replacing(/"options":\[.*\]/, with: #""options":null"#)
        }
        #expect(try await refusal(bed) == "connect_over")
    }

    @Test func aFormAtAnotherHostIsShownToNobody() async throws {
        for host in ["http://127.0.0.1.evil.test", "https://pay.walletconnect.com.evil.test"] {
            let bed = try ConnectTestBed {
                $0.collectsData = true
                $0.formBase = host + "/"
            }
            #expect(try await refusal(bed) == "connect_form_in_wallet")
        }
    }

    @Test func aFormThatNobodyFillsInLetsTheWalletGo() async throws {
        let bed = try ConnectTestBed { $0.collectsData = true }
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    let code = try await shift.pairing(of: id)
                    try await wallet.scan(code)
                    try await shift.until("the form is shown") {
                        try await shift.snapshot(id).connect?.formURL != nil
                    }
                    #expect(try await trouble(shift, id, within: .seconds(200)) == "connect_form_unfilled")
                    _ = try await shift.pairing(of: id, after: code)
                    #expect(try await shift.snapshot(id).connect?.formURL == nil)
                }
            }
        }
    }

    @Test func staffNeedNotWaitForAForm() async throws {
        let bed = try ConnectTestBed { $0.collectsData = true }
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    let code = try await shift.pairing(of: id)
                    await shift.station.endForm(of: id)
                    #expect(try await shift.snapshot(id).pairingURI == code, "there is none yet")
                    try await wallet.scan(code)
                    try await shift.until("the form is shown") {
                        try await shift.snapshot(id).connect?.formURL != nil
                    }
                    await shift.station.endForm(of: id)
                    #expect(try await trouble(shift, id, within: .seconds(10)) == "connect_form_unfilled")
                    _ = try await shift.pairing(of: id, after: code)
                }
            }
        }
    }

    @Test func aPauseThatTheGatewayAsksAWalletsQuestionForIsKeptByAll() async throws {
        let bed = try ConnectTestBed()
        bed.line.faults.pause("/options", seconds: 25)
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until("the gateway was asked") { bed.line.faults.count(of: "/options") == 1 }
                    // What was under way may end.
                    try await bed.passes(.seconds(2))
                    let asked = bed.line.faults.calls.count
                    try await bed.passes(.seconds(20))
                    #expect(bed.line.faults.calls.count == asked, "nobody asks while the pause lasts")
                    #expect(try await shift.snapshot(id).connect?.trouble?.code == "connect_gateway_silent")
                    #expect(try await shift.snapshot(id).connect?.step == .choosing)
                    try await shift.until(id, is: .succeeded)
                }
            }
        }
    }

    @Test func aGatewayThatSaysNothingUsableIsNotAskedForEver() async throws {
        let bed = try ConnectTestBed()
        bed.line.faults.lose(.max, of: "/options")
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    let code = try await shift.pairing(of: id)
                    try await wallet.scan(code)
                    #expect(try await trouble(shift, id) == "connect_gateway_silent")
                    #expect(wallet.count("end") == 0, "it is tried for a while")
                    _ = try await shift.pairing(of: id, after: code)
                    #expect(try await trouble(shift, id) == "connect_gateway_silent")
                    try await shift.until("the session is over") { wallet.count("end") == 1 }
                }
            }
        }
    }
}
