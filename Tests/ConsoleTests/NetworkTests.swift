import Foundation
import Journal
import Locks
import Payments
import Testing
import WebServer
import WiFi

@testable import Console
@testable import Terminal

/// Stands in for the machine's Wi-Fi: hears and joins what a test says.
final class FakeWireless: Wireless {
    struct State {
        var state = WiFiState.ready(.init(interface: "wlan0", link: .none, isScanning: false))
        var networks: [WiFiNetwork] = []
        var known: [KnownWiFiNetwork] = []
        /// What joining ends with.
        var fault: WiFiError?
        var joined: [String] = []
        var scans = 0
    }

    let changes: Mutex<State>
    /// Holds a joining until it is finished.
    private let gate: AsyncStream<Void>?

    init(_ state: State = State(), gate: AsyncStream<Void>? = nil) {
        changes = Mutex(state)
        self.gate = gate
    }

    var state: WiFiState { get async { await soon { $0.state } } }
    var known: [KnownWiFiNetwork] { get async { await soon { $0.known } } }

    /// The machine answers, and not at once.
    private func soon<Value: Sendable>(_ body: (inout State) -> Value) async -> Value {
        await Task.yield()
        return changes.withLock { body(&$0) }
    }

    func scan() async throws(WiFiError) { await soon { $0.scans += 1 } }

    func networks() async throws(WiFiError) -> [WiFiNetwork] { await soon { $0.networks } }

    func join(_ id: WiFiNetwork.ID, passphrase: Passphrase?) async throws(WiFiError) { try await enter(id, passphrase) }

    func joinHidden(_ name: WiFiName, passphrase: Passphrase?) async throws(WiFiError) {
        try await enter(.init(name, .passphrase), passphrase)
    }

    private func enter(_ id: WiFiNetwork.ID, _ passphrase: Passphrase?) async throws(WiFiError) {
        await soon { $0.joined.append("\(id.name.text) \(passphrase == nil ? "without" : "with")") }
        if let gate { for await _ in gate {} }
        let fault = changes.withLock { state in
            if state.fault == nil {
                state.state = .ready(.init(interface: "wlan0", link: .joined(id), isScanning: false))
                state.known.append(.init(id: id, isHidden: false))
            }
            return state.fault
        }
        if let fault { throw fault }
    }

    func leave() async throws(WiFiError) {
        await soon { $0.state = .ready(.init(interface: "wlan0", link: .none, isScanning: false)) }
    }

    func forget(_ id: WiFiNetwork.ID) async throws(WiFiError) {
        let was = await soon { state in
            defer { state.known.removeAll { $0.id == id } }
            return state.known.contains { $0.id == id }
        }
        guard was else { throw .notKnown }
    }
}

/// Which Wi-Fi the terminal is in, by way of the page.
@Suite(.timeLimit(.minutes(2)))
struct NetworkTests {
    private static func id(_ name: String, _ security: WiFiSecurity = .passphrase) -> WiFiNetwork.ID {
        guard let name = WiFiName(name) else { preconditionFailure("no name") }
        return WiFiNetwork.ID(name, security)
    }

    private static func network(_ id: WiFiNetwork.ID, _ strength: Int = -50, known: Bool = false) -> WiFiNetwork {
        WiFiNetwork(id: id, strengthDBm: strength, isKnown: known, isJoined: false)
    }

    private static func body(_ id: WiFiNetwork.ID, _ passphrase: String = "correct horse") -> String {
        #"{"network":"\#(id.code)","passphrase":"\#(passphrase)"}"#
    }

    /// Waits until a joining has ended one way or the other.
    private func outcome(_ page: Page) async throws -> [String: Any] {
        while true {
            let attempt = try await page.ask("GET", "network", "").said["attempt"] as? [String: Any]
            if let attempt, attempt["stage"] as? String != "joining" { return attempt }
            await Task.yield()
        }
    }

    @Test func theNetworksAroundAreToldWithSignalAndSecurityAndTheirNamesAreText() async throws {
        let nasty = "<b>\u{202E}x\u{200B}"
        let radio = FakeWireless(
            .init(networks: [
                Self.network(Self.id("Shop"), -48, known: true), Self.network(Self.id(nasty, .open), -70),
                Self.network(Self.id("Office", .enterprise), -88),
            ])
        )
        try await withConsole(wireless: radio) { page in
            try await StaffShop.open(page)
            let said = try await page.ask("GET", "network", "").said
            #expect(said["state"] as? String == "ready" && said["link"] as? String == "none")
            let rows = said["networks"] as? [[String: Any]] ?? []
            #expect(rows.map { $0["bars"] as? Int } == [4, 2, 0])
            #expect(rows.map { $0["security"] as? String } == ["passphrase", "open", "enterprise"])
            #expect(rows.map { $0["supported"] as? Bool } == [true, true, false])
            #expect(rows[1]["name"] as? String == "<b>\u{FFFD}x\u{FFFD}")
            #expect(rows[0]["known"] as? Bool == true)
            #expect(try await page.send("POST", "network/scan", "{}") == 200)
            #expect(radio.changes.withLock { $0.scans } == 1)
        }
    }

    @Test func aNetworkIsJoinedAndTheAnswerComesBeforeItIs() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let radio = FakeWireless(.init(networks: [Self.network(Self.id("Shop"))]), gate: gate)
        try await withConsole(wireless: radio) { page in
            try await StaffShop.open(page)
            let answer = try await page.ask("PUT", "network/connection", Self.body(Self.id("Shop")))
            #expect(answer.status == 202)
            #expect((answer.said["attempt"] as? [String: Any])?["stage"] as? String == "joining")
            let second = try await page.ask("PUT", "network/connection", Self.body(Self.id("Shop")))
            #expect(second.status == 409 && second.said["code"] as? String == "wifi_working")
            open.finish()
            #expect(try await outcome(page)["stage"] as? String == "joined")
            let said = try await page.ask("GET", "network", "").said
            #expect((said["network"] as? [String: Any])?["name"] as? String == "Shop")
            #expect(said["addresses"] as? [String] == ["192.168.7.20"])
            #expect((said["pages"] as? [String])?.isEmpty == false)
            let rows = try await page.rows()
            #expect(rows.last?.what == "network.join" && rows.last?.result == "ok" && rows.last?.detail == "Shop")
            #expect(!rows.contains { $0.detail.contains("horse") })
        }
    }

    @Test func aWrongPassphraseIsSaidAsSuch() async throws {
        let radio = FakeWireless(.init(networks: [Self.network(Self.id("Shop"))], fault: .passphraseNotTaken))
        try await withConsole(wireless: radio) { page in
            try await StaffShop.open(page)
            #expect(try await page.send("PUT", "network/connection", Self.body(Self.id("Shop"))) == 202)
            let attempt = try await outcome(page)
            #expect(attempt["stage"] as? String == "failed" && attempt["name"] as? String == "Shop")
            #expect((attempt["reason"] as? [String: Any])?["code"] as? String == "wifi_passphrase_wrong")
            let row = try await page.rows().last
            #expect(row?.result == "failed" && row?.detail == "Shop wifi_passphrase_wrong")
        }
    }

    @Test(arguments: [
        (#"{"network":"53686f70-passphrase","passphrase":"short"}"#, "passphrase"),
        (#"{"network":"53686f70-passphrase","passphrase":"pässphrase"}"#, "passphrase"),
        (#"{"network":"zz"}"#, "network"), (#"{}"#, "name"), (#"{"name":""}"#, "name"),
        (#"{"name":"äääääääääääääääääää"}"#, "name"), (#"{"network":"53-open","name":"x"}"#, "network"),
        (#"{"name":"x","force":true}"#, "force"),
    ])
    func whatCannotBeANetworkIsSaidAtItsFieldAndNothingIsJoined(body: String, field: String) async throws {
        let radio = FakeWireless()
        try await withConsole(wireless: radio) { page in
            try await StaffShop.open(page)
            let answer = try await page.ask("PUT", "network/connection", body)
            #expect(answer.status == 422)
            #expect((answer.said["fields"] as? [String: Any])?.keys.contains(field) == true, "\(answer.said)")
            #expect(radio.changes.withLock { $0.joined }.isEmpty)
        }
    }

    @Test func aHiddenNetworkIsJoinedByItsName() async throws {
        let radio = FakeWireless()
        try await withConsole(wireless: radio) { page in
            try await StaffShop.open(page)
            let body = #"{"name":"Back room","passphrase":"correct horse"}"#
            #expect(try await page.send("PUT", "network/connection", body) == 202)
            #expect(try await outcome(page)["stage"] as? String == "joined")
            #expect(radio.changes.withLock { $0.joined } == ["Back room with"])
        }
    }

    /// The shop must not lose a payment's network to a hand at the settings.
    @Test func anOpenChargeKeepsTheNetworkItGoesByAndNothingElse() async throws {
        let (shop, old) = (Self.id("Shop"), Self.id("Old"))
        let radio = FakeWireless(
            .init(
                networks: [Self.network(shop)],
                known: [.init(id: shop, isHidden: false), .init(id: old, isHidden: false)]
            )
        )
        try await withConsole(wireless: radio) { page in
            try await StaffShop.open(page, settings: true)
            #expect(try await page.send("POST", "charges", #"{"amountMinor":100}"#) == 201)
            // Without a network there is none to lose: joining may be what the charge waits for.
            #expect(try await page.send("POST", "network/scan", "{}") == 200)
            #expect(try await page.send("PUT", "network/connection", Self.body(shop)) == 202)
            _ = try await outcome(page)
            for (method, path, body) in [
                ("POST", "network/scan", "{}"), ("PUT", "network/connection", Self.body(old)),
                ("DELETE", "network/connection", "{}"), ("DELETE", "network/known/\(shop.code)", "{}"),
            ] {
                let answer = try await page.ask(method, path, body)
                #expect(answer.status == 409 && answer.said["code"] as? String == "wifi_charge_open", "\(path)")
            }
            #expect(try await page.send("DELETE", "network/known/\(old.code)", "{}") == 200)
            #expect(radio.changes.withLock { $0.joined } == ["Shop with"])
            #expect(try await page.ask("GET", "network", "").said["chargeOpen"] as? Bool == true)
        }
    }

    @Test func leavingAndForgettingAreWrittenDown() async throws {
        let shop = Self.id("Shop")
        let radio = FakeWireless(
            .init(
                state: .ready(.init(interface: "wlan0", link: .joined(shop), isScanning: false)),
                known: [.init(id: shop, isHidden: false)]
            )
        )
        try await withConsole(wireless: radio) { page in
            try await StaffShop.open(page)
            #expect(try await page.send("DELETE", "network/connection", "{}") == 200)
            #expect(try await page.send("DELETE", "network/known/\(shop.code)", "{}") == 200)
            #expect(try await page.send("DELETE", "network/known/\(shop.code)", "{}") == 409)
            #expect(try await page.send("DELETE", "network/known/nonsense", "{}") == 404)
            let rows = try await page.rows().suffix(3)
            #expect(rows.map(\.what) == ["network.leave", "network.forget", "network.forget"])
            #expect(rows.map(\.result) == ["ok", "ok", "refused"])
        }
    }

    @Test(arguments: [
        (WiFiState.Reason.noDaemon, "wifi_no_service"), (.noBus("gone"), "wifi_no_service"),
        (.noAdapter, "wifi_no_adapter"), (.blocked, "wifi_blocked"), (.poweredOff, "wifi_off"),
        (.refused("no"), "wifi_refused"), (.starting, "wifi_starting"),
    ])
    func whereThereIsNoWiFiItIsSaidWhy(reason: WiFiState.Reason, code: String) async throws {
        try await withConsole(wireless: FakeWireless(.init(state: .unavailable(reason)))) { page in
            try await StaffShop.open(page)
            let said = try await page.ask("GET", "network", "").said
            #expect(said["state"] as? String == "unavailable")
            #expect((said["reason"] as? [String: Any])?["code"] as? String == code)
            let answer = try await page.ask("POST", "network/scan")
            #expect(answer.status == 503 && answer.said["code"] as? String == code)
        }
    }

    @Test func onAMachineOfSomebodyElsesTheNetworkIsTheirs() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let said = try await page.ask("GET", "network", "").said
            #expect((said["reason"] as? [String: Any])?["code"] as? String == "wifi_not_managed")
            #expect(try await page.send("PUT", "network/connection", Self.body(Self.id("Shop"))) == 409)
        }
    }
}
