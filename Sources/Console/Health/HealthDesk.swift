import Journal
import Machine
import Payments
import Terminal

/// Gathers how the terminal is, for the owner's page and for whoever asks from outside whether it works.
actor HealthDesk {
    private let journal: Journal
    private let desk: ChargeDesk
    private let settings: SettingsDesk
    private let taps: TapDesk?
    private let clock: TerminalClock
    private let machine: MachineView
    private let startedAt: WallTime
    private let certificate: PageCertificate
    private let addresses: @Sendable () -> [String]
    private let webhooks: WebhookDesk
    private let outbox: OutboxDesk
    private let localName: LocalNameView
    private var libraries: [String: String]?
    private var fault: (reason: Reason?, at: Duration)?

    /// A journal that failed is tried again this often, however often somebody asks.
    private static let pause = Duration.seconds(10)

    init(
        journal: Journal,
        desk: ChargeDesk,
        settings: SettingsDesk,
        taps: TapDesk?,
        clock: TerminalClock,
        machine: MachineView,
        certificate: PageCertificate,
        addresses: @escaping @Sendable () -> [String],
        webhooks: WebhookDesk,
        outbox: OutboxDesk,
        localName: LocalNameView
    ) {
        self.localName = localName
        (self.journal, self.desk, self.settings, self.taps) = (journal, desk, settings, taps)
        (self.clock, self.machine, self.certificate, self.addresses) = (clock, machine, certificate, addresses)
        (self.webhooks, self.outbox) = (webhooks, outbox)
        startedAt = clock.wallTime()
    }

    /// Why no charge can be recorded now; nil where one can.
    func journalFault() async -> Reason? {
        if let fault, fault.reason != nil, clock.elapsed() - fault.at < Self.pause { return fault.reason }
        // Whoever watches from outside is not kept waiting by a storage that hangs.
        if let stall = journal.stalledFor, stall >= StallWatch.patience { return StallWatch.fault.reason }
        let reason = await journal.recordFault()?.reason
        fault = (reason, clock.elapsed())
        return reason
    }

    func facts() async -> HealthFacts {
        let measures = await desk.measures
        var facts = HealthFacts(at: clock.wallTime(), startedAt: startedAt, certificateEnds: certificate.endsAt)
        facts.isSetUp = await settings.current != nil
        facts.gateway = measures.gateway
        if case .paused = measures.gateway { facts.gatewayPause = await desk.snapshot.gatewayPause }
        facts.connect = measures.connect.light
        facts.tap = await tap(measures.tap)
        facts.webhooksCheck = await webhooks.health()
        facts.outboxCheck = await outbox.health()
        facts.journalFault = await journalFault()
        // A record that cannot be read says so itself.
        facts.journalGap = (try? await journal.gap()).flatMap { $0.counts(at: facts.at) ? $0 : nil }
        facts.journalBytes = journal.fileBytes
        facts.machine = machine.facts()
        facts.clock = machine.clock()
        facts.offset = machine.gatewayOffset()
        facts.fingerprint = certificate.fingerprint
        facts.isOwnersCertificate = certificate.issuer != nil
        facts.addresses = addresses()
        facts.localName = localName.standing()
        facts.versions = await versions()
        let process = ProcessMeasures()
        (facts.processBytes, facts.openFiles) = (process.residentBytes, process.openFiles)
        return facts
    }

    private func tap(_ status: TapStatus) async -> HealthFacts.Tap? {
        guard let taps, let stored = await taps.current else { return nil }
        let station = taps.station
        return HealthFacts.Tap(
            light: status.light,
            isEnabled: stored.settings.isEnabled,
            isAcquirerReachable: await station.isReachable,
            acquirerHeardAt: await station.lastOnline,
            hindrance: await station.hindrance,
            radio: await station.radioHealth,
            phoneHeardAt: await station.lastHeard,
            waiting: status.waiting,
            takesOffline: stored.settings.offline.isAllowed
        )
    }

    /// Of the program, of what it speaks, and of what it runs on.
    func versions() async -> [String: String] {
        if let libraries { return libraries }
        var all = machine.libraries
        all["till"] = machine.version
        all["api"] = "v1"
        all["tap protocol"] = "BPP/1"
        // A journal that cannot be read says so elsewhere.
        if let sqlite = try? await journal.engineVersion() {
            all["SQLite"] = sqlite
            libraries = all
        }
        return all
    }
}
