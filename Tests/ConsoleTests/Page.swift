import Foundation
import Journal
import Logging
import Paper
import Payments
import Sound
import Testing
import TestSupport
import WalletConnectPay
import WebServer

@testable import Console
@testable import Terminal

/// A browser on the terminal's page.
final class Page {
    let console: Console
    static let peer = "192.168.1.20"

    let journal: Journal
    let clock: StillClock
    let desk: ChargeDesk
    private let files: StaticFiles
    /// Where the journal lies.
    let folder: String
    private(set) var token: String?
    /// What the browser's own cookie holds, where it was let in.
    var browser: String?
    /// What it says that it is.
    var userAgent: String?
    private var sales = 0

    init(
        _ console: Console,
        _ journal: Journal,
        _ clock: StillClock,
        _ desk: ChargeDesk,
        _ files: StaticFiles,
        _ folder: String
    ) {
        (self.console, self.journal, self.clock, self.desk, self.files) = (console, journal, clock, desk, files)
        self.folder = folder
    }

    /// Sends it as the page does and returns the answer's status. Keeps the session that it gets.
    func send(
        _ method: String,
        _ path: String,
        _ body: String,
        csrf: String? = nil,
        from peer: String = peer
    ) async throws -> Int {
        try await ask(method, path, body, csrf: csrf, from: peer).status
    }

    /// As ``send(_:_:_:csrf:from:)``, with the whole answer.
    func ask(
        _ method: String,
        _ path: String,
        _ body: String = "{}",
        csrf: String? = nil,
        key: String? = nil,
        from peer: String = peer
    ) async throws -> WebResponse {
        sales += 1
        var headers: WebHeaders = [
            "Host": "till.local", "Origin": "https://till.local", "Content-Type": "application/json",
            "Idempotency-Key": key ?? "sale-\(sales)",
        ]
        var cookies: [String] = []
        if let token {
            cookies.append("\(Gate.cookie)=\(token)")
            headers.add("X-CSRF-Token", csrf ?? Sessions.csrfToken(of: token))
        }
        if let browser { cookies.append("\(Gate.browserCookie)=\(browser)") }
        if !cookies.isEmpty { headers.add("Cookie", cookies.joined(separator: "; ")) }
        if let userAgent { headers.add("User-Agent", userAgent) }
        let request = try #require(
            WebRequest(
                method: method,
                target: "/api/v1/\(path)",
                headers: headers,
                body: Array(body.utf8),
                peerAddress: peer
            )
        )
        let response =
            switch console.handle(request, files) {
            case .now(let response): response
            case .later(let work): await work()
            }
        for cookie in response.headers.values("Set-Cookie") {
            guard let equals = cookie.firstIndex(of: "=") else { continue }
            let value = String(cookie[cookie.index(after: equals)...].prefix { $0 != ";" })
            if cookie[..<equals] == Gate.cookie { token = value.isEmpty ? nil : value }
            if cookie[..<equals] == Gate.browserCookie { browser = value }
        }
        return response
    }

    /// The answer to a file's address.
    func fetch(
        _ path: String,
        method: String = "GET",
        from peer: String = "127.0.0.1",
        knowing tag: String? = nil
    ) async throws -> WebResponse {
        var headers: WebHeaders = ["Host": "till.local"]
        if let tag { headers.add("If-None-Match", tag) }
        let request = try #require(
            WebRequest(method: method, target: path, headers: headers, peerAddress: peer)
        )
        switch console.handle(request, files) {
        case .now(let response): return response
        case .later(let work): return await work()
        }
    }

    /// Has the other browser's session from now on, as whoever copied its cookie.
    func take(_ other: Page) { token = other.token }

    /// Another browser on the same page.
    func another() -> Page { Page(console, journal, clock, desk, files, folder) }

    /// What the answer's JSON says.
    static func said(_ response: WebResponse) throws -> [String: Any] {
        guard case .bytes(let bytes) = response.body else { return [:] }
        return try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] ?? [:]
    }

    /// The ids of those who are signed in, and which of them this browser is.
    func sessions() async throws -> (ids: [String], own: [String]) {
        let list = try Self.said(try await ask("GET", "sessions"))["sessions"] as? [[String: Any]] ?? []
        let own = list.filter { $0["current"] as? Bool == true }
        return (list.compactMap { $0["id"] as? String }, own.compactMap { $0["id"] as? String })
    }

    func claimCode() async throws -> String {
        let invitation = await desk.invitation
        return try #require(invitation?.code)
    }

    /// Waits until the terminal takes charges.
    func untilReady() async {
        for await snapshot in await desk.snapshots() where snapshot.phase == .idle { return }
    }

    /// What the screen shows, once the terminal has started.
    func phase() async -> TerminalSnapshot.Phase? {
        for await snapshot in await desk.snapshots() {
            if case .starting = snapshot.phase { continue }
            return snapshot.phase
        }
        return nil
    }

    /// Oldest first.
    func rows() async throws -> [AuditEntry] {
        try await journal.auditEntries(before: nil, limit: 1000).reversed().map(\.entry)
    }
}

/// A gateway that no request reaches.
private struct NoNetwork: HTTPTransport {
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        await Task.yield()
        throw .notSent(reason: "no network")
    }
}

/// Runs a console whose documents are kept in `storage`, which gets the journal; `withTap` on a terminal that has Tap.
func withConsole(
    address: String = "127.0.0.1",
    keepingIn storage: (Journal) -> any Keeping = { $0 },
    securityContact: String? = nil,
    withTap: Bool = false,
    radio: any TapRadio = NoRadio(),
    wallets: [CustomerWallet] = [],
    names: [String] = ["till.local"],
    localName: LocalNameView = .off,
    numbers: @escaping @Sendable () -> [String] = { [] },
    webhooks: (any WebhookCarrier)? = nil,
    events: (any EventSink)? = nil,
    updates: (any UpdateService)? = nil,
    loudspeaker: (any Loudspeaker)? = nil,
    sticks: BackupSticks? = nil,
    restored: Bool? = nil,
    wireless: (any Wireless)? = nil,
    machine: MachineView = MachineView(),
    in kept: TemporaryFolder? = nil,
    _ body: (Page) async throws -> Void
) async throws {
    let folder = try kept ?? TemporaryFolder()
    try Data("<!doctype html>".utf8).write(to: URL(fileURLWithPath: folder.path + "/index.html"))
    let (journal, clock) = (try folder.openJournal(), StillClock())
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let desk = ChargeDesk(archive: journal, clock: clock.terminalClock, logger: logger)
    let settings = SettingsDesk(
        journal: journal,
        desk: desk,
        gateways: GatewayPolicy(allowsLoopbackHTTP: false),
        clock: clock.terminalClock,
        logger: logger
    ) { settings, key in
        try MerchantClient(
            baseURL: settings.gatewayURL,
            credentials: MerchantCredentials(merchantID: settings.merchantID, apiKey: key),
            transport: NoNetwork()
        )
    }
    let connect = try await unreachableWallets(journal, desk, clock, logger)
    var configuration = Console.Configuration(
        address: address,
        port: 0,
        names: names,
        pages: folder.path,
        state: folder.path,
        securityContact: securityContact,
        wallets: wallets
    )
    (configuration.webhooks, configuration.updates) = (webhooks, updates)
    (configuration.sticks, configuration.restored) = (sticks, restored)
    configuration.network = wireless.map { wireless in
        NetworkDesk(
            radio: wireless,
            desk: desk,
            // Waits for nobody.
            clock: TerminalClock(elapsed: { .zero }, sleep: { _ in }, wallTime: { clock.wallTime }),
            logger: logger,
            addresses: { $0 == "wlan0" ? ["192.168.7.20"] : [] },
            audit: { (entry) throws(JournalError) in try await journal.audit(entry) }
        )
    }
    (configuration.localName, configuration.machine) = (localName, machine)
    (configuration.events, configuration.loudspeaker) = (events, loudspeaker)
    let taps = withTap ? try await unreachableTap(journal, desk, clock, logger, radio: radio) : nil
    let console = try await Console(
        configuration: configuration,
        desk: desk,
        settings: settings,
        days: DayDesk(
            journal: journal,
            desk: desk,
            settings: settings,
            clock: clock.terminalClock,
            logger: logger
        ),
        taps: taps,
        wallets: connect,
        keeping: storage(journal),
        books: journal,
        clock: clock.terminalClock,
        logger: logger,
        hashRounds: 1 << 10,
        // On a busy machine a printer of the tests may be slow, which says nothing of it.
        printer: ReceiptPrinter(
            limits: .init(connect: .seconds(30), send: .seconds(30), answer: .seconds(30), closing: .seconds(30))
        ) { _ in true },
        numbers: numbers
    )
    let files = try StaticFiles(folder: folder.path)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await console.run() }
        group.addTask { try await desk.run() }
        group.addTask { await connect.station.run() }
        group.addTask { await taps?.station.run() }
        try await body(Page(console, journal, clock, desk, files, folder.path + "/journal"))
        group.cancelAll()
    }
    if kept != nil { try journal.close() }
}
