import Acquirer
import ArgumentParser
import Bluetooth
import CMalloc
import Console
import FoundationEssentials
import Glibc
import Journal
import Logging
import Net
import Payments
import Screen
import ServiceLifecycle
import Terminal
import UnixSignals
import WalletConnect
import WalletConnectPay
import WebServer
import WebSocket

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Runs the terminal until it is told to stop.")

    @Option(help: "The configuration file. Without one the defaults hold.") var config: String?
    @Option(help: "Also draws the screen into this PNG file.") var png: String?
    @Option(
        help: ArgumentHelp(
            "Writes what the screen shows, the claim code too, to a file; - for standard output. For development.",
            visibility: .hidden
        )
    )
    var announce: String?
    @Option(help: ArgumentHelp("A line under the screen in a terminal window. May be repeated.", visibility: .hidden))
    var caption: [String] = []

    func run() async throws {
        let configuration = try ConfigurationFile.load(config)
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = Logger.Level(rawValue: configuration.logLevel) ?? .info
            return handler
        }
        let logger = Logger(label: "till")
        // By default each thread gets a heap of its own, most of it empty: some 3 MB for nothing. Source: mallopt(3).
        mallopt(M_ARENA_MAX, 2)
        do {
            try await serve(configuration, logger)
        } catch let error as JournalError {
            complain("\(error.reason.message) \(error.reason.action) (\(error))")
            throw ExitCode(error.isTemporary ? Exit.temporary : Exit.inputOutput)
        } catch let error as ScreenError {
            complain("The screen cannot be used: \(error)")
            throw ExitCode(Exit.inputOutput)
        } catch let error as WebServer.StartError {
            complain("The web page cannot be served: \(error)")
            throw ExitCode(Exit.temporary)
        } catch let error as StaticFiles.LoadError {
            complain("web.pages: the web page's files cannot be read: \(error)")
            throw ExitCode(Exit.configuration)
        }
    }

    private func serve(_ configuration: Configuration, _ logger: Logger) async throws {
        let display = Display(sinks: try configuration.openSinks(png: png, caption: caption))
        // The first picture before anything that takes time: a dark screen looks broken.
        try await display.show(.starting(checkingPayments: 0))

        let key = try DeviceKey.loadOrCreate(at: configuration.state + "/device.key")
        let journal = try Journal.open(directory: configuration.state, deviceKey: key)
        let transport = try HTTPClientTransport(hosts: configuration.allowedHosts)
        let result: Result<Void, any Error>
        do {
            result = .success(try await takePayments(configuration, display, journal, transport, logger))
        } catch { result = .failure(error) }
        await display.close()
        try await transport.shutdown()
        try journal.close()
        if case .success = result { logger.notice("stopped; open payments are asked about at the next start") }
        try result.get()
    }

    /// Puts the parts together and runs them until the terminal is told to stop.
    private func takePayments(
        _ configuration: Configuration,
        _ display: Display,
        _ journal: Journal,
        _ transport: HTTPClientTransport,
        _ logger: Logger
    ) async throws {
        let clock = TerminalClock.system
        let desk = ChargeDesk(archive: journal, clock: clock, logger: logger)
        let links = LinkHosts(configuration.linkHosts)
        let gateways = GatewayPolicy(
            allowsLoopbackHTTP: configuration.allowsLoopbackHTTP,
            hosts: configuration.gatewayHosts
        )
        let radio = BluetoothRadio(
            // BlueZ as a phone drops what is longer. Source: BlueZ 5.66, a value of 511 bytes is refused.
            BluetoothCentral(adapter: configuration.bluetoothAdapter, valueLimit: 510),
            clock: clock
        )
        let known = [MachineClock.builtAt(), try await journal.newestTime()].compactMap(\.self).max()
        let station = TapStation(
            radio: radio,
            journal: journal,
            clock: clock,
            logger: logger,
            isClockSet: {
                MachineClock.isSet(now: clock.wallTime(), notBefore: known ?? WallTime(millisecondsSince1970: 0))
            }
        )
        let taps = TapDesk(
            journal: journal,
            desk: desk,
            station: station,
            acquirers: gateways,
            clock: clock,
            logger: logger
        ) { try AcquirerClient(baseURL: $0, transport: transport) }
        let wallets = try wallets(configuration, journal, desk, transport, clock, logger)
        let settings = SettingsDesk(
            journal: journal,
            desk: desk,
            gateways: gateways,
            clock: clock,
            logger: logger,
            otherRails: { await taps.rail.map { [$0] } ?? [] },
            wallets: wallets.station
        ) { settings, key in
            try MerchantClient(
                baseURL: settings.gatewayURL,
                credentials: MerchantCredentials(merchantID: settings.merchantID, apiKey: key),
                transport: transport,
                linkHosts: links
            )
        }
        await taps.serveWallets { project in
            guard let url = await settings.current?.settings.gatewayURL,
                let host = URL(string: url)?.host(),
                let client = try? PayClient(
                    baseURL: url,
                    credentials: .app(id: project, clientID: "till"),
                    transport: transport,
                    linkHosts: links,
                    retries: 1
                )
            else { return nil }  // The next saving of the settings tries again.
            return TapWalletClient(
                client: client,
                host: host,
                mayShow: mayShow(configuration)
            ) { Int(clock.wallTime().secondsSince1970) }
        }
        try await taps.load()
        try await wallets.load()
        try await settings.load()
        let days = DayDesk(journal: journal, desk: desk, settings: settings, clock: clock, logger: logger)
        var pages = configuration.console
        pages.wallets = WalletList.load(configuration.wallets, logger)
        let console = try await Console(
            configuration: pages,
            desk: desk,
            settings: settings,
            days: days,
            taps: taps,
            wallets: wallets,
            journal: journal,
            clock: clock,
            logger: logger
        )
        logger.notice("the page is at \(console.address)")
        let director = ScreenDirector(
            desk: desk,
            display: display,
            clock: clock,
            webAddress: console.address,
            logger: logger
        )
        var services: [any Service] = [
            Part(name: "desk") { try await desk.run() },
            Part(name: "console") { try await console.run() },
            Part(name: "screen") {
                await display.warmUp()
                StartupMemory.release()
                await director.run()
            },
            Part(name: "gateway watch") { await settings.watchGateway() },
            Part(name: "days") { await days.run() },
            Part(name: "bluetooth") {
                await taps.waitUntilEnabled()
                await radio.run()
            },
            Part(name: "tap") { await station.run() },
            Part(name: "tap settings") { await taps.run() },
            Part(name: "tap light") { await taps.show() },
            Part(name: "wallets") { await wallets.station.run() },
            Part(name: "wallets light") { await wallets.show() },
        ]
        if let announcer = try announcer() {
            announcer.listening(at: console.address)
            services.append(Part(name: "announcer") { await announcer.run(desk) })
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services,
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        try await group.run()
    }

    /// Where wallets are met that pair with the terminal.
    private func wallets(
        _ configuration: Configuration,
        _ journal: Journal,
        _ desk: ChargeDesk,
        _ transport: HTTPClientTransport,
        _ clock: TerminalClock,
        _ logger: Logger
    ) throws -> ConnectDesk {
        let links = LinkHosts(configuration.linkHosts)
        let station = ConnectStation(
            store: ConnectStore(journal: journal),
            memory: ConnectRelayMemory(journal: journal),
            sockets: try WebSocketClient(
                trust: configuration.relayCertificates.map(WebSocketClient.Trust.file) ?? .system,
                allowsPlain: configuration.allowsLoopbackHTTP
            ),
            clock: clock,
            logger: logger
        )
        return ConnectDesk(
            journal: journal,
            desk: desk,
            station: station,
            clock: clock,
            allowsPlain: configuration.allowsLoopbackHTTP
        ) { url, project in
            // Of an address that cannot be used nothing is asked; the settings say so where it is typed.
            try? ConnectGatewayClient(
                client: PayClient(
                    baseURL: url,
                    credentials: .app(id: project, clientID: "till"),
                    transport: transport,
                    linkHosts: links,
                    retries: 0
                ),
                mayShow: mayShow(configuration)
            )
        }
    }

    /// Where a customer may be sent to fill in a form: to the hosts that payment links lead to, and to sandboxes.
    private func mayShow(_ configuration: Configuration) -> @Sendable (String) -> Bool {
        let (links, allowsLoopback) = (LinkHosts(configuration.linkHosts), configuration.allowsLoopbackHTTP)
        return { form in links.allow(form) || allowsLoopback && URL(string: form)?.host() == "127.0.0.1" }
    }

    private func announcer() throws -> Announcer? {
        guard let announce else { return nil }
        if announce == "-" { return Announcer(descriptor: STDOUT_FILENO) }
        let descriptor = unsafe open(announce, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            complain("\(announce) cannot be written.")
            throw ExitCode(Exit.inputOutput)
        }
        return Announcer(descriptor: descriptor)
    }
}

/// One part of the terminal, run until the terminal is told to stop.
private struct Part: Service {
    let name: String
    let body: @Sendable () async throws -> Void

    func run() async throws {
        // Told to stop, every part is cancelled; each leaves nothing half done, and no payment ends by it.
        try await cancelWhenGracefulShutdown { try await body() }
    }
}

extension JournalError {
    /// Whether starting again may help.
    var isTemporary: Bool {
        switch self {
        case .inUse, .diskFull, .unavailable: true
        case .readOnly, .corrupt, .fromNewerVersion: false
        }
    }
}

extension Configuration {
    /// Whom the terminal may ask for payments.
    fileprivate var allowedHosts: AllowedHosts {
        gatewayHosts.isEmpty
            ? .anyOverTLS(allowsLoopbackHTTP: allowsLoopbackHTTP)
            : .only(gatewayHosts, allowsLoopbackHTTP: allowsLoopbackHTTP)
    }

    fileprivate var console: Console.Configuration {
        Console.Configuration(
            address: webAddress,
            port: webPort,
            redirectPort: redirectPort,
            names: webNames,
            pages: pages,
            state: state,
            securityContact: securityContact.isEmpty ? nil : securityContact
        )
    }
}
