import Console
import Ethereum
import Foundation
import Glibc
import Journal
import Logging
import Net
import Payments
import Sandbox
import Screen
import Terminal
import WalletConnectPay

/// How long the customer's code takes to the pixels of a 1920 × 1080 framebuffer after the cashier's request arrived, and
/// how long the gateway's last word takes to the word "paid".
///
/// The request comes over TLS to the terminal's own page; the journal is on the disk; the gateway is asked over HTTP.
struct PaymentBench {
    private let folder: String
    private let desk: ChargeDesk
    private let console: Console
    private let settings: SettingsDesk
    private let display: Display
    private let gateway: GatewayServer
    private let transport: TimedTransport
    private let pages: AsyncStream<ContinuousClock.Instant>

    private static let key = "wcp_bench"
    private static let control = "bench"

    static func run(rounds: Int) async throws {
        let folder = "\(NSTemporaryDirectory())/till-bench-payment-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }  // Of a benchmark: a rest does no harm.
        try await PaymentBench(in: folder).run(rounds: rounds)
    }

    private init(in folder: String) async throws {
        self.folder = folder
        var configuration = GatewayConfiguration(merchantID: "mrch_bench", apiKey: Self.key)
        configuration.settleAfter = nil
        configuration.controlToken = Self.control
        gateway = try GatewayServer(configuration: configuration, port: 0, clock: .system)

        let (pages, continuation) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
        self.pages = pages
        let layout = FramebufferLayout.xrgb8888(PixelSize(width: 1920, height: 1080))
        // Memory behind the file, as with a device.
        let framebuffer = "/dev/shm/till-bench-payment-\(getpid())"
        display = Display(sinks: [WatchedSink(try FramebufferSink(path: framebuffer, layout: layout), continuation)])
        unsafe unlink(framebuffer)  // It stays as long as it is mapped.

        let clock = TerminalClock.system
        let logger = Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() })
        let key = try DeviceKey.loadOrCreate(at: folder + "/device.key")
        let journal = try Journal.open(directory: folder, deviceKey: key)
        desk = ChargeDesk(archive: journal, clock: clock, logger: logger)
        let timed = TimedTransport(try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true)))
        transport = timed
        settings = SettingsDesk(
            journal: journal,
            desk: desk,
            gateways: GatewayPolicy(allowsLoopbackHTTP: true),
            clock: clock,
            logger: logger
        ) { settings, key in
            try MerchantClient(
                baseURL: settings.gatewayURL,
                credentials: MerchantCredentials(merchantID: settings.merchantID, apiKey: key),
                transport: timed,
                linkHosts: LinkHosts(["pay.walletconnect.com"])
            )
        }
        try await settings.load()
        console = try await Console(
            configuration: Console.Configuration(
                address: "127.0.0.1",
                port: 0,
                names: ["localhost"],
                pages: "Public",
                state: folder
            ),
            desk: desk,
            settings: settings,
            days: DayDesk(journal: journal, desk: desk, settings: settings, clock: clock, logger: logger),
            journal: journal,
            clock: clock,
            logger: logger
        )
    }

    private func run(rounds: Int) async throws {
        let director = ScreenDirector(
            desk: desk,
            display: display,
            clock: .system,
            webAddress: console.address,
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await gateway.run() }
            group.addTask { try await desk.run() }
            group.addTask { try await console.run() }
            group.addTask {
                await display.warmUp()
                await director.run()
            }
            let cashier = try await Cashier(console, desk)
            try await cashier.setUp(gateway: gateway.url, merchantID: "mrch_bench", key: Self.key)
            var figures = Figures()
            for round in 0..<rounds + 5 {
                if round == 5 { figures = Figures() }  // The first ones warm up.
                try await measure(round, cashier, &figures)
            }
            figures.print()
            try await cashier.leave()
            group.cancelAll()
        }
        await display.close()
    }

    private struct Figures {
        var code: [Duration] = []
        var withGateway: [Duration] = []
        var paid: [Duration] = []

        func print() {
            report("request to verified QR pixels, without the gateway", code)
            report("request to verified QR pixels, with the gateway", withGateway)
            report("final word at the gateway to paid pixels", paid)
        }
    }

    private func measure(_ round: Int, _ cashier: Cashier, _ figures: inout Figures) async throws {
        let snapshots = await desk.snapshots()
        var pages = pages.makeAsyncIterator()
        _ = transport.takeWaited()
        let asked = ContinuousClock.now
        async let charging: Void = cashier.charge(cents: 1000 + round)
        var link: String?
        for await snapshot in snapshots {
            guard case .charging(let charge) = snapshot.phase, charge.isReadableOnScreen == true else { continue }
            guard charge.charge.terms.amount.minorUnits == Int64(1000 + round) else { continue }
            link = charge.link
            break
        }
        let whole = ContinuousClock.now - asked
        try await charging
        figures.withGateway.append(whole)
        figures.code.append(whole - transport.takeWaited())
        guard let link else { throw BenchError.noLink }

        let client = try PayClient(
            baseURL: gateway.url,
            appID: "bench",
            clientID: "bench",
            transport: transport
        )
        let wallet = CustomerWallet(key: PrivateKey(), client: client, now: SandboxClock.system.now)
        let signed = try await wallet.sign(try await wallet.look(at: link, CustomerWallet.Wishes()))
        async let end = wallet.confirm(signed, waitingUpTo: .seconds(30))
        for await snapshot in await desk.snapshots() {
            if case .charging(let charge) = snapshot.phase, charge.charge.state == .processing { break }
        }
        // Until the terminal's next question is held at the gateway, beside the wallet's: the gateway's pace between two
        // questions, a second, is not what is measured. No page is drawn meanwhile but "processing".
        while await gateway.gateway.openPolls < 2 { try await Task.sleep(for: .milliseconds(5)) }
        let settled = ContinuousClock.now
        _ = await gateway.gateway.answer(
            GatewayRequest("POST", "/control/settle", headers: ["Authorization": "Bearer \(Self.control)"])
        )
        while let page = await pages.next() {
            guard page > settled else { continue }
            figures.paid.append(page - settled)
            break
        }
        _ = try await end
    }
}

enum BenchError: Error { case noLink, noClaim, refused(Int) }

/// Prints median, 99th percentile and worst.
func report(_ name: String, _ durations: [Duration]) {
    let sorted = durations.sorted()
    guard let last = sorted.last else { return }
    func milliseconds(_ duration: Duration) -> String { String(format: "%.2f", duration / .milliseconds(1)) }
    let median = sorted[sorted.count / 2]
    let slow = sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
    print(
        "\(name): p50 \(milliseconds(median)) ms, p99 \(milliseconds(slow)) ms, max \(milliseconds(last)) ms, n \(sorted.count)"
    )
}
