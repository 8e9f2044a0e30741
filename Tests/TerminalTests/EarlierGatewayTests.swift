import Foundation
import Journal
import Locks
import Logging
import Payments
import TerminalTestSupport
import Testing
import TestSupport
import WalletConnectPay

@testable import Terminal

/// What is open where earlier settings made payments is followed with what it was made with, until it ends.
@Suite(.timeLimit(.minutes(1)))
struct EarlierGatewayTests {
    /// Another spelling of the address that the payments were made at.
    static let spellings = [
        "https://gateway.test/", "https://gateway.test/v1", "https://gateway.test/v1/", "https://gateway.test:443",
        "https://GATEWAY.test",
    ]
    /// Other gateways, other merchants, and a merchant in another case.
    static let moves: [(gateway: String, merchant: String)] = [
        ("https://other.test", "mrch_1"), ("https://gateway.test", "mrch_2"), ("https://gateway.test", "MRCH_1"),
        ("https://gateway.test/shop", "mrch_1"), ("https://other.test", "mrch_2"),
    ]

    @Test(arguments: spellings, [false, true])
    func anotherSpellingOrphansNoPaymentAndAsksForNoKey(spelling: String, restarts: Bool) async throws {
        try await Shop.open { shop in
            let id = try await shop.fill()
            #expect(await !shop.settings.movesPayments(Shop.form(spelling)))
            let saved = try await shop.settings.save(Shop.form(spelling), replacing: 1, by: .staff(name: "Ada"))
            #expect(saved.settings.gatewayURL == "https://gateway.test" && saved.gatewayKeySet)
            let after = restarts ? try await shop.restarted() : shop
            #expect(try await after.settings.openPayments() == OpenPayments(here: 1))
            shop.gateway.pay("pay_1")
            await after.desk.askNow(id)
            #expect(try await after.desk.charge(id).charge.state == .succeeded)
        }
    }

    @Test(arguments: moves, [false, true])
    func whatIsOpenElsewhereIsFollowedWithWhatItWasMadeWith(
        move: (gateway: String, merchant: String),
        restarts: Bool
    ) async throws {
        try await Shop.open { shop in
            let id = try await shop.fill()
            let form = Shop.form(move.gateway, merchant: move.merchant, key: "key-b")
            #expect(await shop.settings.movesPayments(form))
            _ = try await shop.settings.save(form, replacing: 1, by: .staff(name: "Ada"))
            let after = restarts ? try await shop.restarted() : shop
            #expect(try await after.settings.openPayments() == OpenPayments(followed: 1))
            #expect(try await after.desk.charge(id).reason?.code != "gateway_elsewhere")
            shop.gateway.pay("pay_1")
            await after.desk.askNow(id)
            #expect(try await after.desk.charge(id).charge.state == .succeeded)
            let call = try #require(shop.gateway.calls.last)
            #expect(call == Places.Call(host: "gateway.test", merchant: "mrch_1", key: "key-a", path: "pay_1/status"))
            #expect(await after.desk.snapshot.gateway == .unknown, "an earlier gateway says nothing of the present one")
        }
    }

    @Test func aPaymentOfAnEarlierGatewayIsMarkedAsRefundedThere() async throws {
        try await Shop.open { shop in
            let id = try await shop.fill()
            shop.gateway.pay("pay_1")
            await shop.desk.askNow(id)
            _ = try await shop.settings.save(
                Shop.form("https://other.test", key: "key-b"),
                replacing: 1,
                by: .staff(name: "Ada")
            )
            let charge = try await shop.desk.charge(id).charge
            let way = try #require(await shop.desk.way(to: JobKey(charge: id, attempt: 1), of: charge))
            #expect(await way.0.markRefunded(way.1) == .marked(.marked))
            let call = try #require(shop.gateway.calls.last)
            #expect(call == Places.Call(host: "gateway.test", merchant: "mrch_1", key: "key-a", path: "refunds"))
        }
    }

    @Test func aPaymentThatNobodyCanAskAboutSaysSoAndNotThatTheTerminalKeepsAsking() async throws {
        try await Shop.open { shop in
            let id = try await shop.fill()
            _ = try await shop.settings.save(
                Shop.form("https://other.test", key: "key-b"),
                replacing: 1,
                by: .staff(name: "Ada")
            )
            // As a backup without this terminal's device key leaves it.
            try await shop.journal.setSecret(
                "gateway-key of mrch_1 at https://gateway.test",
                nil,
                by: .terminal,
                at: shop.clock.wallTime()
            )
            let after = try await shop.restarted()
            #expect(try await after.settings.openPayments() == OpenPayments(stranded: 1))
            let asked = shop.gateway.calls.count
            await after.desk.askNow(id)
            #expect(shop.gateway.calls.count == asked, "another gateway's word would be none")
            let reason = try #require(try await after.desk.charge(id).reason)
            #expect(reason.code == "gateway_elsewhere" && reason.values["case"] == "made", "\(reason)")
            #expect(reason.action.hasPrefix("Do not charge again."))
        }
    }

    /// Keys are kept for as long as somebody needs them.
    @Test(arguments: [true, false])
    func aKeyIsForgottenOnceNothingWaitsForIt(isPaid: Bool) async throws {
        try await Shop.open { shop in
            let id = try await shop.fill()
            let name = "gateway-key of mrch_1 at https://gateway.test"
            _ = try await shop.settings.save(
                Shop.form("https://other.test", key: "key-b"),
                replacing: 1,
                by: .staff(name: "Ada")
            )
            if isPaid {
                shop.gateway.pay("pay_1")
                await shop.desk.askNow(id)
            }
            shop.clock.advance(by: .seconds(29 * 86_400))
            _ = try await shop.restarted()
            #expect(try await shop.journal.secret(name) != nil, "late payments and refunds may come")
            shop.clock.advance(by: .seconds(2 * 86_400))
            _ = try await shop.restarted()
            #expect((try await shop.journal.secret(name) == nil) == isPaid)
        }
    }

    @Test func whoeverComesBackToAnEarlierGatewayHasItOnce() async throws {
        try await Shop.open { shop in
            let id = try await shop.fill()
            for (version, (gateway, key)) in [
                ("https://other.test", "key-b"), ("https://gateway.test/v1", "key-a"), ("https://other.test", "key-b"),
            ].enumerated() {
                _ = try await shop.settings.save(
                    Shop.form(gateway, key: key),
                    replacing: version + 1,
                    by: .staff(name: "Ada")
                )
                let isHere = gateway.hasPrefix("https://gateway")
                let open = try await shop.settings.openPayments()
                #expect(open == (isHere ? OpenPayments(here: 1) : OpenPayments(followed: 1)))
            }
            shop.gateway.pay("pay_1")
            await shop.desk.askNow(id)
            #expect(try await shop.desk.charge(id).charge.state == .succeeded)
        }
    }
}

/// Two gateways, each with its merchants and keys. Whoever asks as somebody else is told that there is no such payment.
private final class Places: HTTPTransport {
    struct Call: Sendable, Equatable {
        var host: String
        var merchant: String
        var key: String
        var path: String
    }

    private let state = Mutex((calls: [Call](), paid: Set<String>()))

    var calls: [Call] { state.withLock { $0.calls } }
    func pay(_ id: String) { state.withLock { _ = $0.paid.insert(id) } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        await Task.yield()
        func header(_ name: String) -> String { request.headers.first { $0.name == name }?.value ?? "" }
        let host = String(request.url.dropFirst("https://".count).prefix { $0 != "/" })
        let path = String(request.url.split(separator: "/v1/").last ?? "").replacing("payments/", with: "")
        let call = Call(host: host, merchant: header("Merchant-Id"), key: header("Api-Key"), path: path)
        let isPaid = state.withLock { state in
            state.calls.append(call)
            return state.paid.contains("pay_1")
        }
        func answer(_ status: Int, _ body: String) -> HTTPResponse {
            HTTPResponse(status: status, body: Array(body.utf8))
        }
        // The one payment there is: made at the first gateway, for its merchant, with its key.
        guard (call.host, call.merchant, call.key) == ("gateway.test", "mrch_1", "key-a") else {
            return answer(404, #"{"code":"payment_not_found","message":"no"}"#)
        }
        if path == "refunds" { return answer(200, #"{"paymentId":"pay_1"}"#) }
        let word = isPaid ? "succeeded" : "requires_action"
        return answer(200, #"{"status":"\#(word)","isFinal":\#(isPaid),"pollInMs":null}"#)
    }
}

/// A shop on disk that made a payment under its first settings.
private struct Shop: Sendable {
    let journal: Journal
    let clock: ManualClock
    let gateway: Places
    let desk: ChargeDesk
    let settings: SettingsDesk

    private init(_ journal: Journal, _ clock: ManualClock, _ gateway: Places) async throws {
        (self.journal, self.clock, self.gateway) = (journal, clock, gateway)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        desk = ChargeDesk(archive: journal, clock: clock.terminalClock, logger: logger)
        settings = SettingsDesk(
            journal: journal,
            desk: desk,
            gateways: GatewayPolicy(allowsLoopbackHTTP: false),
            clock: clock.terminalClock,
            logger: logger
        ) { settings, key in
            try MerchantClient(
                baseURL: settings.gatewayURL,
                credentials: MerchantCredentials(merchantID: settings.merchantID, apiKey: key),
                transport: gateway
            )
        }
        try await settings.load()
        await desk.answerWithoutRunning()
    }

    /// The same machine after a restart.
    func restarted() async throws -> Shop { try await Shop(journal, clock, gateway) }

    static func open(_ body: (Shop) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "till-earlier-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // Of a test: a rest does no harm.
        let path = folder.path(percentEncoded: false)
        let journal = try Journal.open(directory: path, deviceKey: DeviceKey.loadOrCreate(at: "\(path)/device.key"))
        let shop = try await Shop(journal, ManualClock(), Places())
        _ = try await shop.settings.save(form(key: "key-a"), replacing: nil, by: .staff(name: "Ada"))
        try await body(shop)
        try journal.close()
    }

    static func form(
        _ gateway: String = "https://gateway.test",
        merchant: String = "mrch_1",
        key: String? = nil
    ) -> SettingsForm {
        SettingsForm(
            operatorID: "op-1",
            merchantID: merchant,
            merchantName: "Kiosk",
            gatewayURL: gateway,
            gatewayKey: key,
            currency: "EUR"
        )
    }

    /// A payment that is open, silent, and let go by staff.
    func fill() async throws -> ChargeID {
        let terms = ChargeTerms.example(at: clock.wallTime())
        var charge = Charge(terms: terms)
        try await journal.open(terms, under: nil)
        let offer = Offer(paymentID: "pay_1", link: nil, expiresAt: nil)
        for event: Charge.Event in [
            .attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1), .offered(attempt: 1, offer: offer),
            .silent(attempt: 1, reason: "time-out"), .released(by: .staff(name: "Ada")),
        ] {
            _ = charge.handle(event)
            try await journal.append(event, to: charge, at: terms.openedAt)
        }
        return terms.id
    }
}
