import Improv
public import Logging
import Payments
import Screen
import WiFi

/// A phone connects the terminal to Wi-Fi while the terminal has no network at all: what the ``ImprovMachine`` decides is done
/// here, by radio, screen and keypad.
///
/// The terminal is found only while it has no network, no charge is open, and somebody can be asked or nobody owns it yet.
/// Decided in docs/decisions/0027-improv.md.
public actor OnboardingDesk {
    /// As the audit log says where a joining came from.
    private static let place = "improv"
    /// Between looks at the network.
    static let look = Duration.seconds(2)
    /// So long there is no network before the terminal can be found: cables and known networks need some seconds.
    static let patience = Duration.seconds(10)
    /// So long a question has to stand before a key answers it: a key pressed before was for something else.
    static let reading = Duration.seconds(1)
    /// Between looks whether a network is heard, and how many of them.
    private static let (hearing, hearings) = (Duration.seconds(2), 5)
    /// Between looks whether the network has given a number, and how many of them.
    private static let (asking, askings) = (Duration.milliseconds(500), 40)
    /// Of one telling. Whoever takes longer reads it.
    private static let telling = Duration.seconds(2)

    private let network: NetworkDesk
    private let desk: ChargeDesk
    private let clock: TerminalClock
    private let logger: Logger
    private let page: @Sendable (_ number: String) -> String
    private let addresses: @Sendable () -> [String]
    private let makeRadio: @Sendable (OnboardingDesk) -> any OnboardingRadio

    private var machine = ImprovMachine()
    private var radio: (any OnboardingRadio)?
    /// Ends the radio's work.
    private var ending: AsyncStream<Never>.Continuation?
    private var advertised: [UInt8]?
    private var keypads = 0
    /// Whether a person is asked, while the terminal can be found.
    private var asks = true
    private var aloneSince: Duration?
    private var askedAt: Duration?
    /// The name of the network that is joined, or was last, ready to read.
    private var shownName: String?
    /// Few: the machine bounds what one phone brings about, and how many phones are taken up.
    private let jobs = AsyncStream.makeStream(of: Job.self)
    private let bell = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    private enum Job: Sendable {
        case run(any OnboardingRadio, until: AsyncStream<Never>)
        case end(AsyncStream<Never>.Continuation, any OnboardingRadio, ImprovPhone?)
        case advertise(any OnboardingRadio, [UInt8]?)
        case tell(any OnboardingRadio, ImprovMachine.Characteristic, [UInt8])
        case dismiss(any OnboardingRadio, ImprovPhone)
        case join(ImprovNetwork, number: Int, by: Payments.Actor)
        case show(Scene.Onboarding?)
    }

    /// - Parameters:
    ///   - page: The page's address under one of the machine's numbers.
    ///   - addresses: The machine's numbers that others can use; none while there is no network.
    ///   - radio: Makes what reaches phones, anew each time.
    public init(
        network: NetworkDesk,
        desk: ChargeDesk,
        clock: TerminalClock,
        logger: Logger,
        page: @escaping @Sendable (_ number: String) -> String,
        addresses: @escaping @Sendable () -> [String],
        radio: @escaping @Sendable (OnboardingDesk) -> any OnboardingRadio
    ) {
        (self.network, self.desk, self.clock, self.logger) = (network, desk, clock, logger)
        (self.page, self.addresses, makeRadio) = (page, addresses, radio)
    }

    /// Works until cancelled.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.work() }
            group.addTask { for await _ in await self.desk.snapshots() { self.ring() } }
            group.addTask { [clock] in
                while (try? await clock.sleep(Self.look)) != nil { self.ring() }
            }
            for await _ in bell.stream { await consider() }
            group.cancelAll()
        }
        await desk.show(onboarding: nil)
    }

    private nonisolated func ring() { bell.continuation.yield() }

    // MARK: - What phones do

    func came(_ phone: ImprovPhone) { handle(.came(phone)) }

    func read(_ characteristic: ImprovMachine.Characteristic, by phone: ImprovPhone) -> [UInt8] {
        handle(.came(phone))
        return machine.value(of: characteristic, for: phone)
    }

    func wrote(_ value: [UInt8], by phone: ImprovPhone) { handle(.wrote(phone, ImprovPiece(value))) }

    /// No phone wants to be told anything any more, so the one that is served is gone. Of one among several nobody says it.
    func allLeft() { if let phone = machine.phone { handle(.left(phone)) } }

    // MARK: - What the person at the terminal does

    func keypadCame() {
        keypads += 1
        ring()
    }

    func keypadWent() {
        keypads = max(0, keypads - 1)
        ring()
    }

    /// A key, while nothing else has the screen.
    /// - Parameter uncovered: When the last page of the keypad's own went that covered what else the screen says.
    /// - Returns: Whether it was an answer to what the screen asks.
    func take(_ key: CounterKey, uncovered: Duration = .zero) async -> Bool {
        guard await desk.keypadAnswers else { return false }
        switch (machine.phase, key) {
        case (.asking, .enter):
            // Too early: nobody has read it.
            guard let askedAt, clock.elapsed() - max(askedAt, uncovered) >= Self.reading else { return true }
            logger.notice("a phone may connect the terminal to Wi-Fi")
            handle(.allowed)
        case (.asking, .cancel), (.allowed, .cancel):
            guard asks else { return false }
            logger.notice("no phone may connect the terminal to Wi-Fi for now")
            handle(.refused)
        default: return false
        }
        return true
    }

    // MARK: - When it can be found

    private func consider() async {
        let wanted = await wanted()
        if machine.phase != .off, wanted != asks { disarm() }
        if machine.phase == .off, let wanted { arm(asks: wanted) }
        handle(.time)
    }

    /// Whether a person is asked about phones; nil where no phone is wanted.
    private func wanted() async -> Bool? {
        let snapshot = await desk.snapshot
        guard await !desk.holdsCharge, snapshot.showsOnboarding, snapshot.update == nil else { return nil }
        let answers = await desk.keypadAnswers
        let mayAsk = keypads > 0 && answers
        // Nobody but who stands there may move a terminal that belongs to somebody.
        guard mayAsk || snapshot.isUnclaimed else { return nil }
        switch machine.phase {
        // It says the end first, though there is a network by then.
        case .joining, .joined: return asks
        case .off, .waiting, .asking, .allowed: break
        }
        guard await network.isAlone, addresses().isEmpty else {
            aloneSince = nil
            return nil
        }
        let now = clock.elapsed()
        let since = aloneSince ?? now
        aloneSince = since
        return now - since >= Self.patience ? mayAsk : nil
    }

    private func arm(asks: Bool) {
        let radio = makeRadio(self)
        let (until, ending) = AsyncStream.makeStream(of: Never.self)
        (self.radio, self.ending, self.asks) = (radio, ending, asks)
        jobs.continuation.yield(.run(radio, until: until))
        handle(.armed(asks: asks))
    }

    /// A joining that has begun goes on without the phone.
    private func disarm() {
        let phone = machine.phone
        handle(.disarmed)
        if let ending, let radio { jobs.continuation.yield(.end(ending, radio, phone)) }
        (radio, ending, advertised, aloneSince) = (nil, nil, nil, nil)
    }

    private func handle(_ event: ImprovMachine.Event) {
        let now = clock.elapsed()
        let before = machine.phase
        for action in machine.handle(event, at: now) {
            guard let radio else { continue }
            switch action {
            case .tell(let characteristic):
                jobs.continuation.yield(.tell(radio, characteristic, machine.told(characteristic)))
            case .join(let wanted, let number):
                shownName = wanted.wifiName?.shown
                jobs.continuation.yield(.join(wanted, number: number, by: asks ? .keypad : .stranger))
            // The radio's end does it, and waits for it.
            case .dismiss(let phone): if event != .disarmed { jobs.continuation.yield(.dismiss(radio, phone)) }
            }
        }
        if let radio {
            let found = machine.isFound(at: now) ? machine.serviceData : nil
            if found != advertised { jobs.continuation.yield(.advertise(radio, found)) }
            advertised = found
        }
        guard machine.phase != before else { return }
        if case .asking = machine.phase { askedAt = now }
        jobs.continuation.yield(.show(scene))
    }

    /// What the screen says.
    private var scene: Scene.Onboarding? {
        switch machine.phase {
        case .off, .waiting: nil
        case .asking: Scene.Onboarding(.asking)
        case .allowed: Scene.Onboarding(machine.fault == .unableToConnect ? .notJoined : .allowed, hasKeys: asks)
        case .joining: Scene.Onboarding(.joining, network: shownName)
        case .joined: Scene.Onboarding(.joined, network: shownName)
        }
    }

    // MARK: - What is to be done

    private func work() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs.stream {
                switch job {
                case .run(let radio, let until): group.addTask { await Self.run(radio, until) }
                case .end(let ending, let radio, let phone):
                    group.addTask {
                        if let phone { await radio.dismiss(phone) }
                        ending.finish()
                    }
                case .advertise(let radio, let data): await radio.advertise(data)
                case .tell(let radio, let characteristic, let value):
                    await within(Self.telling) { await radio.tell(characteristic, value) }
                case .dismiss(let radio, let phone): group.addTask { await radio.dismiss(phone) }
                case .join(let wanted, let number, let who):
                    group.addTask { await self.join(wanted, number, by: who) }
                case .show(let scene): await desk.show(onboarding: scene)
                }
            }
        }
    }

    private static func run(_ radio: any OnboardingRadio, _ until: AsyncStream<Never>) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await radio.run() }
            for await _ in until {}
            group.cancelAll()
        }
    }

    private func within(_ limit: Duration, _ body: @escaping @Sendable () async -> Void) async {
        let clock = clock
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await body() }
            group.addTask { try? await clock.sleep(limit) }  // Throws only when cancelled.
            await group.next()
            group.cancelAll()
        }
    }

    private func join(_ wanted: ImprovNetwork, _ number: Int, by who: Payments.Actor) async {
        guard let name = wanted.wifiName, let typed = String(validating: wanted.passphrase, as: UTF8.self) else {
            return handle(.notJoined(number: number))
        }
        let passphrase = Passphrase(typed)
        // An open network of the same name is another one.
        guard typed.isEmpty || passphrase != nil else { return handle(.notJoined(number: number)) }
        let id = WiFiNetwork.ID(name, typed.isEmpty ? .open : .passphrase)
        let wish: NetworkDesk.Wish = await isHeard(id) ? .heard(id) : .hidden(name)
        do throws(NetworkRefusal) {
            let attempt = try await network.follow(wish, passphrase: passphrase, by: who, from: Self.place)
            guard attempt.stage == .joined else { return handle(.notJoined(number: number)) }
        } catch {
            logger.notice(
                "the Wi-Fi network that a phone named was not joined",
                metadata: ["why": "\(NetworkRules.reason(error).code)"]
            )
            return handle(.notJoined(number: number))
        }
        handle(.joined(number: number, page: await address()))
        ring()
    }

    private func isHeard(_ id: WiFiNetwork.ID) async -> Bool {
        for look in 0..<Self.hearings {
            if await network.view().networks.contains(where: { $0.id == id }) { return true }
            if look == 0 { try? await network.scan() }  // It may listen already.
            do { try await clock.sleep(Self.hearing) } catch { return false }  // The terminal stops.
        }
        return false
    }

    /// Where a phone in that network finds the page; nil where the network gives no number.
    private func address() async -> String? {
        for _ in 0..<Self.askings {
            if let number = await network.addressesNow.first { return page(number) }
            do { try await clock.sleep(Self.asking) } catch { return nil }  // The terminal stops.
        }
        return nil
    }
}

extension TerminalSnapshot {
    /// Whether the screen is free for a phone that connects the terminal to Wi-Fi.
    var showsOnboarding: Bool {
        switch phase {
        case .unclaimed, .setup, .idle: true
        case .starting, .resetting, .charging: false
        }
    }

    /// Whether the terminal belongs to nobody yet.
    var isUnclaimed: Bool { if case .unclaimed = phase { true } else { false } }
}

extension ImprovNetwork {
    /// Nil where no network can be called so.
    fileprivate var wifiName: WiFiName? { String(validating: name, as: UTF8.self).flatMap(WiFiName.init) }
}

extension ChargeDesk {
    /// Whether the keys at the counter may answer for the terminal: the owner can switch them off, and before there is an owner
    /// nobody has.
    var keypadAnswers: Bool { keypadRules.mode != .off || snapshot.isUnclaimed }

    /// Shows how a phone connects the terminal to Wi-Fi; nil: none does.
    func show(onboarding: Scene.Onboarding?) {
        guard self.onboarding != onboarding else { return }
        self.onboarding = onboarding
        publish()
    }
}
