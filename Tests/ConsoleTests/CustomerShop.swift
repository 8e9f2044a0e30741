import Foundation
import Locks
import Payments
import Testing
import WebServer

@testable import Console
@testable import Terminal

/// A rail whose authority is the test.
final class SpokenRail: RailDriver {
    let rail: Rail
    private let links = Mutex<[ChargeID: AttemptLink]>([:])
    private let pursued = AsyncStream.makeStream(of: ChargeID.self)

    init(_ rail: Rail) { self.rail = rail }

    func pursue(_ attempt: AttemptLink) async {
        links.withLock { $0[attempt.terms.id] = attempt }
        pursued.continuation.yield(attempt.terms.id)
        let (never, continuation) = AsyncStream<Never>.makeStream()
        await withTaskCancellationHandler {
            for await _ in never {}
        } onCancel: {
            continuation.finish()
        }
    }

    func withdraw(_ attempt: AttemptLink) async { await Task.yield() }
    func ask(_ attempt: AttemptLink) async { await Task.yield() }

    /// The attempt of a charge, once the desk has begun it.
    func attempt(of id: ChargeID) async -> AttemptLink? {
        if let link = links.withLock({ $0[id] }) { return link }
        for await begun in pursued.stream where begun == id { break }
        return links.withLock { $0[id] }
    }
}

/// A shop whose customers have a page of their own.
struct CustomerShop {
    static let password = "correct horse battery"
    static let merchant = MerchantSettings(
        operatorID: "operator-canary",
        merchantID: "merchant-canary",
        merchantName: "Café <b>Zoë</b> & Co",
        gatewayURL: "https://gateway-canary.test",
        currency: .euro
    )

    let page: Page
    let rail = SpokenRail(.scan)
    let wallets = SpokenRail(.connect)

    init(_ page: Page, _ settings: String = #"{"enabled":true,"onScreen":true}"#) async throws {
        self.page = page
        let code = try await page.claimCode()
        #expect(try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#) == 201)
        await page.desk.use(Self.merchant, drivers: [rail])
        await page.untilReady()
        #expect(try await save(settings).status == 200)
    }

    /// Saves customers' settings as the owner does, who knows the password.
    func save(_ settings: String) async throws -> WebResponse {
        try await page.ask("PUT", "customers", #"{"password":"\#(Self.password)",\#(settings.dropFirst())"#)
    }

    /// The name of a charge's payment: no two charges have the same.
    static func payment(_ id: ChargeID) -> String { "pay_" + id.compact.suffix(16) }
    /// Where a wallet pays it.
    static func link(_ id: ChargeID) -> String { "https://pay.walletconnect.com/?pid=\(payment(id))" }

    func open(_ minorUnits: Int64 = 1250) async throws -> ChargeID {
        let amount = Money(minorUnits: minorUnits, currency: .euro)
        let request = ChargeRequest(amount: amount, reference: "reference-canary", by: .terminal)
        return try await page.desk.open(request).id
    }

    /// A charge that its customer can pay now, by a pairing too where there is one.
    func offered(_ minorUnits: Int64 = 1250, pairing: String? = nil, isOneCode: Bool = true) async throws -> ChargeID {
        if pairing != nil { await page.desk.use(Self.merchant, drivers: [rail, wallets]) }
        let id = try await open(minorUnits)
        let attempt = try #require(await rail.attempt(of: id))
        await attempt.record(.sending(attempt: attempt.id))
        let offer = Offer(paymentID: Self.payment(id), link: Self.link(id), expiresAt: nil)
        await attempt.record(.offered(attempt: attempt.id, offer: offer))
        guard let pairing else { return id }
        let other = try #require(await wallets.attempt(of: id))
        await other.record(.sending(attempt: other.id))
        await other.record(
            .offered(
                attempt: other.id,
                offer: Offer(paymentID: "pay_other\(id.compact.suffix(10))", link: nil, expiresAt: nil)
            )
        )
        var status = ConnectStatus()
        status.usesOneCode = isOneCode
        status.charges[id] = ConnectView()
        status.charges[id]?.pairing = pairing
        await page.desk.setConnect(status)
        return id
    }

    func report(_ report: Report, of id: ChargeID) async throws {
        let attempt = try #require(await rail.attempt(of: id))
        await attempt.record(.reported(attempt: attempt.id, report: report))
    }

    func pay(_ id: ChargeID) async throws {
        try await report(
            .succeeded(Evidence(paymentID: Self.payment(id), transactionID: "0xcanary", paid: nil)),
            of: id
        )
    }

    /// The path of a charge's page.
    func path(_ id: ChargeID) async throws -> String {
        let address = try #require(try await page.desk.charge(id).page?.address)
        let own = page.console.address
        #expect(address.hasPrefix(own + "/pay/"))
        return String(address.dropFirst(own.count))
    }

    /// What the page says and its status.
    func look(_ path: String, from peer: String = "192.168.1.77") async throws -> (status: Int, html: String) {
        let response = try await page.fetch(path, from: peer)
        return (response.status, Self.html(response))
    }

    static func html(_ response: WebResponse) -> String {
        guard case .bytes(let bytes) = response.body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
