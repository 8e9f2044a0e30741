import Ethereum
import Payments
import Sandbox
import Terminal
import Testing
import WalletConnect
import WalletConnectPay

/// What customers and their wallets do, and what the terminal shows them then.
@Suite(.timeLimit(.minutes(10)))
struct CustomerTests {
    /// The reason on the screen, once there is one.
    private func trouble(_ shift: Shift, _ id: ChargeID) async throws -> String {
        try await shift.until("a reason is shown") { try await shift.snapshot(id).connect?.trouble != nil }
        return try #require(try await shift.snapshot(id).connect?.trouble?.code)
    }

    @Test func aCustomerWhoSaysNoLeavesTheChargeForTheNextOne() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let unwilling = try await Wallet(relay, clock: bed.clock) { $0.approves = false }
            let willing = try await Wallet(relay, clock: bed.clock)
            try await unwilling.online {
                try await willing.online {
                    try await bed.open(relay) { shift in
                        let id = try await shift.charge()
                        let first = try await shift.pairing(of: id)
                        try await unwilling.scan(first)
                        #expect(try await trouble(shift, id) == "connect_declined")
                        let second = try await shift.pairing(of: id, after: first)
                        #expect(second != first)
                        try await willing.scan(second)
                        try await shift.until(id, is: .succeeded)
                    }
                }
            }
        }
    }

    @Test func aNoToThePaymentIsToldFromANoToTheSession() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.signs = false }
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    let code = try await shift.pairing(of: id)
                    try await wallet.scan(code)
                    #expect(try await trouble(shift, id) == "connect_payment_declined")
                    _ = try await shift.pairing(of: id, after: code)
                    #expect(bed.line.faults.count(of: "/confirm") == 0)
                    #expect(try await shift.charge(id).state == .requiresAction)
                    try await shift.until("the session is over") { wallet.count("end") == 1 }
                }
            }
        }
    }

    @Test func aWalletOfOtherNetworksHearsAndShowsWhy() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.chains = [56] }
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    #expect(try await trouble(shift, id) == "connect_other_networks")
                    try await shift.until("the session is over") { wallet.count("end") == 1 }
                    #expect(wallet.count("request") == 0)
                }
            }
        }
    }

    @Test func aWalletThatCannotSignHearsAndShowsWhy() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.methods = ["personal_sign"] }
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    #expect(try await trouble(shift, id) == "connect_missing_method")
                }
            }
        }
    }

    @Test(arguments: ["0x1234", "not a signature", "0x" + String(repeating: "zz", count: 65)])
    func whatIsNoSignatureIsNotConfirmed(answer: String) async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.answer = answer }
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    #expect(try await trouble(shift, id) == "connect_bad_answer")
                    #expect(bed.line.faults.count(of: "/confirm") == 0)
                }
            }
        }
    }

    @Test func aSignatureOfAnotherKeyTakesNoOtherWayBackAndTheChargeStaysOpen() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.strangersKey = PrivateKey() }
            let honest = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await honest.online {
                    try await bed.open(relay) { shift in
                        let id = try await shift.charge()
                        let code = try await shift.pairing(of: id)
                        try await wallet.scan(code)
                        #expect(try await trouble(shift, id) == "connect_other_signer")
                        #expect(bed.line.faults.count(of: "/confirm") == 0)
                        let next = try await shift.pairing(of: id, after: code)
                        #expect(try await shift.snapshot(id).paymentLink != nil, "others can still pay by the link")
                        try await honest.scan(next)
                        try await shift.until(id, is: .succeeded)
                    }
                }
            }
        }
    }

    @Test func aContractsSignatureThatTheGatewayRefusesPaysNothingAndTheChargeStaysOpen() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) {
                $0.answer = "0x" + String(repeating: "11", count: 96)
            }
            let honest = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await honest.online {
                    try await bed.open(relay) { shift in
                        let id = try await shift.charge()
                        let code = try await shift.pairing(of: id)
                        try await wallet.scan(code)
                        #expect(try await trouble(shift, id) == "connect_gateway")
                        try await honest.scan(try await shift.pairing(of: id, after: code))
                        try await shift.until(id, is: .succeeded)
                    }
                }
            }
        }
    }

    @Test func aCodeThatNobodyScansIsRenewedAndTheChargeEndsByTheGatewaysWord() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            try await bed.open(relay, timeLimitSeconds: 400) { shift in
                let id = try await shift.charge()
                let first = try await shift.pairing(of: id)
                try await shift.until("the code is renewed", within: .seconds(320)) {
                    let now = try await shift.snapshot(id).pairingURI
                    return now != nil && now != first
                }
                #expect(try await shift.snapshot(id).connect?.trouble?.code == "connect_expired")
                try await shift.until("it is over", within: .seconds(200)) {
                    try await shift.charge(id).state.isFinal
                }
                #expect([.expired, .cancelled].contains(try await shift.charge(id).state))
                #expect(try await shift.snapshot(id).pairingURI == nil)
                try await shift.until("nothing is left of it") { try await shift.isQuiet() }
            }
        }
    }

    @Test func twoWalletsOnOneCodePayOnce() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let anna = try await Wallet(relay, clock: bed.clock)
            let ben = try await Wallet(relay, clock: bed.clock)
            try await anna.online {
                try await ben.online {
                    try await bed.open(relay) { shift in
                        let id = try await shift.charge()
                        let code = try await shift.pairing(of: id)
                        async let one: Void = anna.scan(code)
                        async let other: Void = ben.scan(code)
                        _ = try? await (one, other)
                        try await shift.until(id, is: .succeeded)
                        try await bed.passes(.seconds(5))
                        #expect(anna.count("signed") + ben.count("signed") == 1)
                        #expect(try await shift.charge(id).surplusAttempts.isEmpty)
                    }
                }
            }
        }
    }

    @Test func aSecondWalletOnOneCodeHearsThatItIsTakenAndSoDoesItsCustomer() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let anna = try await Wallet(relay, clock: bed.clock) { $0.signs = nil }
            let ben = try await Wallet(relay, clock: bed.clock)
            try await anna.online {
                try await ben.online {
                    try await bed.open(relay) { shift in
                        let id = try await shift.charge()
                        let code = try await shift.pairing(of: id)
                        try await anna.scan(code)
                        try await shift.until("Anna is asked") { anna.count("request") == 1 }
                        try await ben.scan(code)
                        try await shift.until("Ben hears that he has no session") { ben.count("end") == 1 }
                        #expect(try await trouble(shift, id) == "connect_already_paired")
                        let shown = try await shift.snapshot(id).connect
                        #expect(shown?.step == .asked)
                        #expect(shown?.trouble?.action.contains("another way") == true)
                        let request = try #require(await anna.client.getPendingRequests().first)
                        try await anna.respond(request, signs: true)
                        try await shift.until(id, is: .succeeded)
                    }
                }
            }
        }
    }

    @Test func aFormLeavesTheCodeToOthersAndThePaymentThenGoesOnByItself() async throws {
        let bed = try ConnectTestBed { $0.collectsData = true }
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until("the form is shown") {
                        try await shift.snapshot(id).connect?.formURL?.contains("/collect/") == true
                    }
                    try await shift.until("the code is for payment links") {
                        try await shift.snapshot(id).railsOfCode == [.scan]
                    }
                    let shown = try await shift.snapshot(id)
                    #expect(shown.link == shown.paymentLink && shown.link != nil)
                    let payment = try #require(
                        try await shift.charge(id).attempts.first { $0.rail == .connect }?.offer?.paymentID
                    )
                    #expect(try await bed.control("collect", #"{"paymentId":"\#(payment)"}"#) == 200)
                    try await shift.until(id, is: .succeeded)
                    #expect(wallet.count("signed") == 1)
                }
            }
        }
    }

    @Test func oneCodeServesBothKindsOfWallets() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            try await bed.open(relay) { shift in
                let id = try await shift.charge()
                _ = try await shift.pairing(of: id)
                try await shift.until("both are there") {
                    try await shift.snapshot(id).railsOfCode == [.scan, .connect]
                }
                let now = try await shift.snapshot(id)
                let code = try #require(now.link)
                let uri = try WalletConnectURI(parsing: code)
                #expect(uri.pay == now.paymentLink)
                let scanned = try PaymentLink(code).paymentID.rawValue
                #expect(now.charge.attempts.first { $0.rail == .scan }?.offer?.paymentID == scanned)
            }
        }
    }

    @Test func withTwoCodesTheScreenShowsOneAndStaffTurnIt() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            try await bed.open(relay, settings: { $0.usesOneCode = false }) { shift in
                let id = try await shift.charge()
                let pairing = try await shift.pairing(of: id)
                try await shift.until("the payment link") { try await shift.snapshot(id).paymentLink != nil }
                #expect(try await shift.snapshot(id).link == shift.snapshot(id).paymentLink)
                #expect(try await shift.snapshot(id).railsOfCode == [.scan])
                let turned = try await shift.desk.turnCode(of: id, toPairing: true)
                #expect(turned.link == pairing)
                #expect(turned.railsOfCode == [.connect])
                #expect(try await shift.desk.turnCode(of: id, toPairing: false).link == turned.paymentLink)
            }
        }
    }
}
