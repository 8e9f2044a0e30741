import Foundation
import Journal
import Logging
import Payments
import Terminal
import TerminalTestSupport
import Testing
import WalletConnect
import WalletConnectPay

/// The terminal as the program puts it together: with what the merchant sets, in one journal.
struct ConfiguredTerminal: Sendable {
    let shift: Shift
    let settings: SettingsDesk
    let wallets: ConnectDesk

    /// Switches Connect on or off, as the settings page does.
    func switchConnect(_ isOn: Bool, _ change: (inout ConnectForm) -> Void = { _ in }) async throws {
        var form = ConnectForm()
        form.isEnabled = isOn
        change(&form)
        _ = try await wallets.save(
            form,
            replacing: try #require(await wallets.current?.version),
            by: .staff(name: "owner")
        )
        await settings.railsChanged()
    }
}

extension ConnectTestBed {
    /// Opens the journal and runs the terminal while `body` does; what was set is there again the next time.
    func openConfigured(_ relay: LiveRelay, _ body: @escaping @Sendable (ConfiguredTerminal) async throws -> Void)
        async throws
    {
        let key = try DeviceKey.loadOrCreate(at: folder + "/device.key")
        let journal = try Journal.open(directory: folder, deviceKey: key)
        let logger = Self.logger
        let (time, line, manual) = (clock.terminalClock, line, clock)
        let desk = ChargeDesk(archive: journal, clock: time, logger: logger)
        let station = ConnectStation(
            store: ConnectStore(journal: journal),
            memory: ConnectRelayMemory(journal: journal),
            sockets: try Self.plain.get(),
            clock: time,
            logger: logger
        ) { $0.pauses = [.milliseconds(100)] }
        let pace = GatewayPace(clock: time)
        let wallets = ConnectDesk(journal: journal, desk: desk, station: station, clock: time, allowsPlain: true) {
            _,
            _ in
            Self.wallets(line, manual, pace)
        }
        let settings = SettingsDesk(
            journal: journal,
            desk: desk,
            gateways: GatewayPolicy(allowsLoopbackHTTP: true),
            clock: time,
            logger: logger,
            wallets: station,
            pace: pace
        ) { settings, key in
            try MerchantClient(
                baseURL: LossyTransport.baseURL,
                credentials: MerchantCredentials(merchantID: settings.merchantID, apiKey: key),
                transport: line
            )
        }
        try await wallets.load()
        try await settings.load()
        if await settings.current == nil { try await setUp(settings, wallets, relay) }
        let terminal = ConfiguredTerminal(
            shift: Shift(bed: self, desk: desk, station: station, journal: journal),
            settings: settings,
            wallets: wallets
        )
        try await withThrowingTaskGroup { group in
            group.addTask { try await desk.run() }
            group.addTask { await station.run() }
            group.addTask { await wallets.show() }
            defer { group.cancelAll() }
            try await terminal.shift.until("the terminal is ready") {
                if case .starting = await desk.snapshot.phase { false } else { true }
            }
            try await body(terminal)
        }
        try journal.close()
    }

    private func setUp(_ settings: SettingsDesk, _ wallets: ConnectDesk, _ relay: LiveRelay) async throws {
        var form = ConnectForm()
        form.isEnabled = true
        form.relayURL = "ws://\(relay.host)"
        form.projectID = "0123456789abcdef0123456789abcdef"
        _ = try await wallets.save(form, replacing: 0, by: .staff(name: "owner"))
        _ = try await settings.save(
            SettingsForm(
                operatorID: "op1",
                merchantID: "m1",
                merchantName: "Coffee Shop",
                gatewayURL: "https://gateway.example",
                gatewayKey: "wcp_test",
                currency: "EUR"
            ),
            replacing: nil,
            by: .staff(name: "owner")
        )
    }
}
