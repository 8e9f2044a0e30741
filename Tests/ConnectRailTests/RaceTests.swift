import Ethereum
import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import Testing
import TestSupport
import WalletConnect
import WalletConnectPay

/// Two ways to pay one charge, staff who change their mind, and answers that come too late.
@Suite(.timeLimit(.minutes(10)))
struct RaceTests {
    /// Pays by the link, as wallets do that know payment links.
    private func pay(_ link: String, _ bed: ConnectTestBed) async throws {
        let customer = CustomerWallet(
            key: PrivateKey(),
            client: try PayClient(
                baseURL: LossyTransport.baseURL,
                credentials: .app(id: "wallet", clientID: "wallet"),
                transport: bed.line,
                clock: TurnedClock(clock: bed.clock),
                retries: 0
            ),
            now: bed.clock.terminalClock.wallTime
        )
        let bill = try await customer.look(at: link, CustomerWallet.Wishes())
        let signed = try await customer.sign(bill)
        _ = try? await customer.confirm(signed, waitingUpTo: .seconds(5))
    }

    @Test func whoPaysByTheLinkFirstEndsTheOthersSessionAndNothingOfItIsConfirmed() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.signs = nil }
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until("the wallet is asked") { wallet.count("request") == 1 }
                    let link = try #require(try await shift.snapshot(id).paymentLink)
                    async let paid: Void = pay(link, bed)
                    try await shift.until(id, is: .succeeded)
                    try await paid
                    let charge = try await shift.charge(id)
                    #expect(charge.attempts.first { $0.id == charge.paidAttempt }?.rail == .scan)
                    try await shift.until("the session is over") { wallet.count("end") == 1 }
                    // One confirmation: the customer's own.
                    #expect(bed.line.faults.count(of: "/confirm") == 1)
                    try await shift.until("the other payment is taken back") {
                        try await shift.charge(id).attempts.allSatisfy { !$0.isOpen }
                    }
                    #expect(try await shift.charge(id).surplusAttempts.isEmpty)
                }
            }
        }
    }

    @Test func theLinkIsTakenBackBeforeTheWalletsSignatureIsConfirmed() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await shift.until("both can be paid") {
                        let now = try await shift.snapshot(id)
                        return now.paymentLink != nil && now.pairingURI != nil
                    }
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until(id, is: .succeeded)
                    let calls = bed.line.faults.calls
                    let scan = try #require(
                        try await shift.charge(id).attempts.first { $0.rail == .scan }?.offer?.paymentID
                    )
                    let taken = try #require(calls.firstIndex { $0.contains("\(scan)/cancel") })
                    let confirmed = try #require(calls.firstIndex { $0.contains("/confirm") })
                    #expect(taken < confirmed)
                }
            }
        }
    }

    @Test func aCancelEndsTheSessionAndASignatureAfterItIsNotConfirmed() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.signs = nil }
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until("the wallet is asked") { wallet.count("request") == 1 }
                    let request = try #require(await wallet.client.getPendingRequests().first)
                    _ = try await shift.desk.cancel(id, by: .staff(name: "test"))
                    // At the same moment the customer signs.
                    try await wallet.respond(request, signs: true)
                    try await shift.until("it is over") { try await shift.charge(id).state.isFinal }
                    #expect(try await shift.charge(id).state == .cancelled)
                    try await shift.until("the session is over") { wallet.count("end") == 1 }
                    #expect(bed.line.faults.count(of: "/confirm") == 0)
                }
            }
        }
    }

    @Test func aLateSignatureStillPaysWhileTheChargeWaits() async throws {
        let bed = try ConnectTestBed { $0.quoteLifetimeSeconds = 3000 }
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock, behind: .seconds(900)) { $0.signs = nil }
            try await wallet.online {
                try await bed.open(relay, timeLimitSeconds: 900) { shift in
                    let id = try await shift.charge()
                    let code = try await shift.pairing(of: id)
                    try await wallet.scan(code)
                    try await shift.until("the wallet is asked") { wallet.count("request") == 1 }
                    let request = try #require(await wallet.client.getPendingRequests().first)
                    _ = try await shift.until("another code is shown", within: .seconds(400)) {
                        let now = try await shift.snapshot(id).pairingURI
                        return now != nil && now != code
                    }
                    #expect(try await shift.snapshot(id).connect?.trouble?.code == "connect_unanswered")
                    try await wallet.respond(request, signs: true)
                    try await shift.until(id, is: .succeeded)
                    #expect(try await shift.charge(id).surplusAttempts.isEmpty)
                    #expect(await shift.station.status.counts.lateAnswers == 1)
                }
            }
        }
    }

    @Test func aPaymentThatEndsAfterTheTerminalHasGoneOnIsBookedAndSaid() async throws {
        let bed = try ConnectTestBed { $0.settleAfter = nil }
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until("the gateway has the signature") {
                        guard bed.line.faults.count(of: "/confirm") > 0 else { return false }
                        return try await shift.charge(id).state == .processing
                    }
                    _ = try await shift.desk.release(id, by: .staff(name: "test"))
                    try await shift.until("the session is over") { wallet.count("end") == 1 }
                    #expect(try await !shift.charge(id).state.isFinal)
                    #expect(try await bed.control("settle", "{}") == 200)
                    try await shift.until(id, is: .succeeded, within: .seconds(300))
                    #expect(try await shift.charge(id).isLate)
                    #expect(try await bed.paidPayments() == 1)
                }
            }
        }
    }

    @Test(arguments: [1, 3])
    func aConfirmationWhoseAnswerIsLostPaysOnce(lost: Int) async throws {
        let bed = try ConnectTestBed()
        bed.line.faults.lose(lost, of: "/confirm")
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: id))
                    try await shift.until(id, is: .succeeded)
                    #expect(try await shift.charge(id).surplusAttempts.isEmpty)
                    #expect(wallet.count("request") == 1)
                }
            }
        }
    }
}
