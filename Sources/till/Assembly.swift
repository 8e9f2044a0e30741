import Acquirer
import Avahi
import Bluetooth
import Console
import Foundation
import Journal
import Keypad
import Logging
import Net
import Payments
import Screen
import ServiceLifecycle
import Sound
import Terminal
import WalletConnectPay
import WebSocket
import WiFi

/// The terminal's parts, put together for one configuration.
struct Assembly: Sendable {
    let configuration: Configuration
    let display: Display
    let journal: Journal
    let transport: HTTPClientTransport
    let logger: Logger
    /// The program's last log lines.
    let log: LogRing
    /// Whether a backup that was wanted is restored; nil where none was.
    private let restored: Bool?
    private let eraser: Eraser
    let clock = TerminalClock.system
    /// To the gateway, whose clock it notes.
    private let gateway: DatedTransport
    let desk: ChargeDesk
    /// What a gateway asks for holds for every rail.
    private let pace: GatewayPace
    private let links: LinkHosts
    private let gateways: GatewayPolicy
    /// Which addresses the owner may have told of charges, and the connections to them.
    private let outsidePolicy: OutsidePolicy
    let outside: OutsideTransport
    private let updates: SystemUpdates?
    /// Nil on a machine whose network others look after.
    private let wifi: WirelessStation?

    init(
        configuration: Configuration,
        display: Display,
        journal: Journal,
        transport: HTTPClientTransport,
        logger: Logger,
        log: LogRing,
        restored: Bool? = nil
    ) {
        (self.configuration, self.display, self.journal) = (configuration, display, journal)
        (self.transport, self.logger, self.log) = (transport, logger, log)
        self.restored = restored
        eraser = Eraser(directory: configuration.state, journal: journal, logger: logger)
        let gateway = DatedTransport(
            transport,
            clockIsSet: { MachineClock.isPlausible(now: .now, builtAt: MachineClock.builtAt()) },
            now: clock.wallTime
        )
        self.gateway = gateway
        desk = ChargeDesk(
            archive: journal,
            clock: clock,
            logger: logger,
            gatewayAhead: { gateway.ahead }
        )
        pace = GatewayPace(clock: clock)
        links = LinkHosts(configuration.linkHosts)
        gateways = configuration.gateways
        outsidePolicy = OutsidePolicy(
            allowsLoopbackHTTP: configuration.allowsLoopbackHTTP,
            own: MachineAddresses.all
        )
        outside = OutsideTransport(policy: outsidePolicy)
        updates = SystemUpdates(state: configuration.state)
        wifi = configuration.managesWiFi ?? (updates != nil) ? WirelessStation(sleep: clock.sleep) : nil
    }

    /// Everything that runs, with what the journal remembers in force, and where the page is.
    func parts() async throws -> (parts: [any Service], address: String) {
        let (taps, tapParts) = try await phones()
        let wallets = try wallets()
        let settings = settings(taps, wallets)
        await serveWallets(of: taps, settings)
        try await taps.load()
        try await wallets.load()
        try await settings.load()
        try await PreparedShop.apply(configuration.shop, to: settings, journal, state: configuration.state, logger)
        var mark: ChargeMark?
        do throws(JournalError) { mark = try await journal.chargeMark(at: clock.wallTime()) } catch {
            logger.warning("charges bear no mark of this terminal", metadata: ["error": "\(error)"])
        }
        if let mark { await desk.use(mark) }
        let days = DayDesk(journal: journal, desk: desk, settings: settings, clock: clock, logger: logger, mark: mark)
        var pages = configuration.console
        pages.printerMayBeAt = outsidePolicy.allowsPrinter
        pages.wallets = WalletList.load(configuration.wallets, logger)
        pages.version = Version.text
        pages.paymentHosts += configuration.linkHosts
        let earliest = [MachineClock.builtAt(), try await journal.newestTime()].compactMap(\.self).max()
        pages.clockIsSet = {
            MachineClock.isSet(now: .now, notBefore: earliest ?? WallTime(millisecondsSince1970: 0))
        }
        pages.builtAt = MachineClock.builtAt()
        pages.machine = .system(state: configuration.state, gateway: gateway, clock: clock)
        pages.log = log
        pages.webhooks = WebhookPost(policy: outsidePolicy, transport: outside)
        pages.events = PostgresSink()
        let naming = try await LocalNaming(configuration, journal: journal, clock: clock)
        pages.localName = naming.view
        pages.erase = { [eraser] () throws(JournalError) in try eraser.begin() }
        pages.isErased = { [state = configuration.state] in Wipe.isBegun(state) }
        pages.restore = { [eraser] () throws(JournalError) in try eraser.beginRestore() }
        pages.updates = updates
        let loudspeaker = CardLoudspeaker(device: configuration.soundDevice)
        pages.loudspeaker = loudspeaker
        // The image mounts sticks; elsewhere nobody does.
        pages.sticks = updates == nil ? nil : BackupSticks()
        pages.ownerSticks = updates == nil ? nil : OwnerSticks()
        pages.restored = restored
        let wireless = wifi.map(network)
        pages.network = wireless
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
        await wallets.station.setPageAddress(console.address)
        let director = ScreenDirector(
            desk: desk,
            display: display,
            clock: clock,
            webAddress: console.address,
            logger: logger,
            looksEvery: configuration.hasOwnScreen ? .seconds(3) : nil,
            shopClock: { [clock] in
                let now = clock.wallTime()
                guard MachineClock.isSet(now: now, notBefore: earliest ?? WallTime(millisecondsSince1970: 0)) else {
                    return nil
                }
                return .init(time: now, zone: await settings.current?.settings.zone ?? .current)
            }
        )
        let (desk, display) = (desk, display)
        let sound = SoundDirector(desk: desk, loudspeaker: loudspeaker, logger: logger)
        let rest = JournalRest(desk: desk, journal: journal, logger: logger)
        let parts: [any Service] = [
            Part(name: "desk") { try await desk.run() },
            Part(name: "console") { try await console.run() },
            Part(name: "screen") {
                await display.warmUp()
                StartupMemory.release()
                await director.run()
            },
            Part(name: "sound") { await sound.run() },
            Part(name: "journal's rest") { await rest.run() },
            Part(name: "gateway watch") { await settings.watchGateway() },
            Part(name: "stall watch") { [desk, clock, journal] in
                await StallWatch(desk, clock: clock, stalledFor: { journal.stalledFor }).run()
            },
            Part(name: "days") { await days.run() },
            Part(name: "wallets") { await wallets.station.run() },
            Part(name: "wallets light") { await wallets.show() },
        ]
        let nameParts = [naming.publisher].compactMap(\.self).map { publisher in
            Part(name: "local name") { await publisher.run(port: console.port) }
        }
        let wifiParts = [wifi].compactMap(\.self).map { wifi in Part(name: "wifi") { await wifi.run() } }
        let onboarding = wireless.map { self.onboarding($0, port: console.port) }
        let onboardingParts = [onboarding].compactMap(\.self).map { onboarding in
            Part(name: "onboarding") { await onboarding.run() }
        }
        return (
            parts + tapParts + nameParts + wifiParts + onboardingParts + keypadParts(taps, onboarding), console.address
        )
    }

    /// Which Wi-Fi the machine is in, for the page.
    private func network(_ station: WirelessStation) -> NetworkDesk {
        NetworkDesk(
            radio: station,
            desk: desk,
            clock: clock,
            logger: logger,
            addresses: MachineAddresses.on,
            audit: { [journal] (entry) throws(JournalError) in try await journal.audit(entry) }
        )
    }

    /// How a phone connects the machine to Wi-Fi that has no network.
    private func onboarding(_ network: NetworkDesk, port: UInt16) -> OnboardingDesk {
        let adapter = configuration.bluetoothAdapter
        return OnboardingDesk(
            network: network,
            desk: desk,
            clock: clock,
            logger: logger,
            page: { MachineAddresses.page(at: $0, port: port) },
            addresses: MachineAddresses.now
        ) { BluetoothOnboarding(adapter: adapter, desk: $0) }
    }

    /// The keypad beside the screen. Started last, for nothing waits for it.
    private func keypadParts(_ taps: TapDesk, _ onboarding: OnboardingDesk?) -> [any Service] {
        guard configuration.listensToKeys else { return [] }
        let (journal, eraser, keypads) = (journal, eraser, Keypads())
        let desk = KeypadDesk(
            desk: desk,
            clock: clock,
            logger: logger,
            audit: { (entry) throws(JournalError) in try await journal.audit(entry) },
            openPayments: {
                guard let open = try? await journal.openCharges().count else { return nil }
                return max(open, await taps.station.status.waiting)
            },
            erase: { () throws(JournalError) in try eraser.begin() },
            onboarding: onboarding
        )
        return [
            Part(name: "keypad") { await desk.run(keypads.events) }, Part(name: "keys") { await keypads.run() },
        ]
    }

    /// Returns where everything is to be erased, which needs the program to end.
    func waitForErasing() async {
        await eraser.wait(clock)
        // A program that ends for another reason keeps the network.
        guard Wipe.isBegun(configuration.state), let wifi, await wifi.forgetAll() > 0 else { return }
        logger.error(
            "not every Wi-Fi network could be forgotten: forget them on the page before the terminal is given away"
        )
    }

    /// Where phones are met that are held near the terminal.
    private func phones() async throws -> (TapDesk, [any Service]) {
        let (clock, transport) = (clock, transport)
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
        let parts: [any Service] = [
            Part(name: "bluetooth") {
                await taps.waitUntilEnabled()
                await radio.run()
            },
            Part(name: "tap") { await station.run() },
            Part(name: "tap settings") { await taps.run() },
            Part(name: "tap light") { await taps.show() },
        ]
        return (taps, parts)
    }

    private func settings(_ taps: TapDesk, _ wallets: ConnectDesk) -> SettingsDesk {
        let (gateway, links) = (gateway, links)
        return SettingsDesk(
            journal: journal,
            desk: desk,
            gateways: gateways,
            clock: clock,
            logger: logger,
            otherRails: {
                // Wallets are served at the gateway that is set now, and one that has signed waits for it.
                await taps.renewWallets()
                return await taps.rail.map { [$0] } ?? []
            },
            wallets: wallets.station,
            pace: pace,
            clockIsSet: { MachineClock.isPlausible(now: .now, builtAt: MachineClock.builtAt()) }
        ) { settings, key in
            try MerchantClient(
                baseURL: settings.gatewayURL,
                credentials: MerchantCredentials(merchantID: settings.merchantID, apiKey: key),
                transport: gateway,
                linkHosts: links
            )
        }
    }

    /// Phones whose wallet signs, and has no network of its own, reach the gateway through the terminal.
    private func serveWallets(of taps: TapDesk, _ settings: SettingsDesk) async {
        let clock = clock
        await taps.serveWallets { project in
            guard let url = await settings.current?.settings.gatewayURL,
                let host = URL(string: url)?.host(),
                let client = try? wallets(at: url, project, retries: 1)
            else { return nil }  // Where a gateway is set, this is asked again.
            return TapWalletClient(client: client, host: host, mayShow: mayShow) {
                Int(clock.wallTime().secondsSince1970)
            }
        }
    }

    /// Where wallets are met that pair with the terminal.
    private func wallets() throws -> ConnectDesk {
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
                client: wallets(at: url, project, retries: 0),
                address: url,
                pace: pace,
                mayShow: mayShow
            )
        }
    }

    /// The gateway as wallets speak to it.
    private func wallets(at url: String, _ project: String, retries: Int) throws -> PayClient {
        try PayClient(
            baseURL: url,
            credentials: .app(id: project, clientID: "till"),
            transport: gateway,
            linkHosts: links,
            retries: retries
        )
    }

    /// Where a customer may be sent to fill in a form: to the hosts that payment links lead to, and to sandboxes.
    private var mayShow: @Sendable (String) -> Bool {
        let (links, allowsLoopback) = (links, configuration.allowsLoopbackHTTP)
        return { form in links.allow(form) || allowsLoopback && URL(string: form)?.host() == "127.0.0.1" }
    }
}

/// One part of the terminal, run until the terminal is told to stop.
struct Part: Service {
    let name: String
    let body: @Sendable () async throws -> Void

    func run() async throws {
        // Told to stop, every part is cancelled; each leaves nothing half done, and no payment ends by it.
        try await cancelWhenGracefulShutdown { try await body() }
    }
}
