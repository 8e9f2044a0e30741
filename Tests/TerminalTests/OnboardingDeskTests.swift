import Improv
import Journal
import Keypad
import Locks
import Logging
import Payments
import Screen
import TerminalTestSupport
import Testing
import TestSupport
import WiFi

@testable import Terminal

/// When a phone can connect the terminal to Wi-Fi, and what happens then.
@Suite(.timeLimit(.minutes(1)))
struct OnboardingDeskTests {
    private static let phone = ImprovPhone("00:AA:01:00:00:23")
    private static let command = packet("Shop", "tram bell seventeen")

    private static func packet(_ name: String, _ passphrase: String) -> [UInt8] {
        let data = [UInt8(name.utf8.count)] + name.utf8 + [UInt8(passphrase.utf8.count)] + passphrase.utf8
        let head = [1, UInt8(data.count)] + data
        return head + [head.reduce(0, &+)]
    }

    /// What the radio was told.
    private final class RecordingRadio: OnboardingRadio {
        struct State {
            var isOn = false
            var advertised: [UInt8]?
            var told: [[UInt8]] = []
            var dismissed: [ImprovPhone] = []
        }

        let state = Mutex(State())
        var now: State { state.withLock { $0 } }

        func run() async {
            state.withLock { $0.isOn = true }
            let never = AsyncStream.makeStream(of: Never.self)
            for await _ in never.stream {}
            state.withLock { ($0.isOn, $0.advertised) = (false, nil) }
        }
        func advertise(_ serviceData: [UInt8]?) async {
            await Task.yield()
            state.withLock { $0.advertised = serviceData }
        }
        func tell(_ characteristic: ImprovMachine.Characteristic, _ value: [UInt8]) async {
            await Task.yield()
            state.withLock { $0.told.append(value) }
        }
        func dismiss(_ phone: ImprovPhone) async {
            await Task.yield()
            state.withLock { $0.dismissed.append(phone) }
        }
    }

    private final class Radio: Wireless {
        struct State {
            var link = WiFiState.Link.none
            var heard: [WiFiSecurity] = [.passphrase]
            var joined: [String] = []
            var failure: WiFiError?
        }

        let now = Mutex(State())

        var state: WiFiState {
            get async {
                await Task.yield()
                return .ready(.init(interface: "wlan0", link: now.withLock { $0.link }, isScanning: false))
            }
        }
        var known: [KnownWiFiNetwork] { get async { [] } }
        func scan() async throws(WiFiError) { await Task.yield() }
        func networks() async throws(WiFiError) -> [WiFiNetwork] {
            await Task.yield()
            guard let name = WiFiName("Shop") else { return [] }
            return now.withLock { $0.heard }.map {
                WiFiNetwork(id: .init(name, $0), strengthDBm: -50, isKnown: false, isJoined: false)
            }
        }
        func join(_ id: WiFiNetwork.ID, passphrase: Passphrase?) async throws(WiFiError) {
            await Task.yield()
            let failure = now.withLock { state in
                state.joined.append(id.code)
                if state.failure == nil { state.link = .joined(id) }
                return state.failure
            }
            if let failure { throw failure }
        }
        func joinHidden(_ name: WiFiName, passphrase: Passphrase?) async throws(WiFiError) { throw .notHeard }
        func leave() async throws(WiFiError) {}
        func forget(_ id: WiFiNetwork.ID) async throws(WiFiError) {}
    }

    private struct OnboardingTestBed: Sendable {
        let under: DeskUnderTest
        let executor: SimulationExecutor
        let onboarding: OnboardingDesk
        let bluetooth: RecordingRadio
        let radio: Radio
        let cable: Mutexed<[String]>
        let audit: Mutexed<[AuditEntry]>

        /// Lets time pass until it is so. Time passes only while everybody waits for it, and no further than the first one to
        /// wake: whatever lasts for a time is seen, however busy the machine is.
        func until(_ isSo: () async -> Bool) async {
            let end = under.clock.now + .seconds(600)
            while !Task.isCancelled {
                await executor.untilCalm()
                if await isSo() { return }
                guard under.clock.now < end, let next = under.clock.shortestSleep else {
                    Issue.record("it is not so, however much time passes")
                    return
                }
                under.clock.advance(by: next)
            }
        }

        /// Lets so much time pass, and everything happen that it brings about.
        func pass(_ time: Duration) async {
            let end = under.clock.now + time
            while !Task.isCancelled {
                await executor.untilCalm()
                let left = end - under.clock.now
                guard left > .zero else { return }
                under.clock.advance(by: min(left, under.clock.shortestSleep ?? left))
            }
        }

        var page: Scene.Onboarding? { get async { await under.desk.snapshot.onboarding } }
    }

    private final class Mutexed<Value: Sendable>: Sendable {
        private let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
        var now: Value { value.withLock { $0 } }
        func set(_ change: @Sendable (inout Value) -> Void) { value.withLock { change(&$0) } }
    }

    private func withTestBed(isClaimed: Bool = true, _ body: (OnboardingTestBed) async throws -> Void) async throws {
        let executor = SimulationExecutor()
        try await withTaskExecutorPreference(executor) {
            try await withTestBed(isClaimed: isClaimed, on: executor, body)
        }
    }

    private func withTestBed(
        isClaimed: Bool,
        on executor: SimulationExecutor,
        _ body: (OnboardingTestBed) async throws -> Void
    ) async throws {
        try await withDesk(settings: isClaimed ? .example : nil) { under in
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let (bluetooth, radio, cable, audit) = (
                RecordingRadio(), Radio(), Mutexed([String]()), Mutexed([AuditEntry]())
            )
            let network = NetworkDesk(
                radio: radio,
                desk: under.desk,
                clock: under.clock.terminalClock,
                logger: logger,
                addresses: { _ in ["192.168.7.9"] },
                audit: { entry in audit.set { $0.append(entry) } }
            )
            let onboarding = OnboardingDesk(
                network: network,
                desk: under.desk,
                clock: under.clock.terminalClock,
                logger: logger,
                page: { "https://\($0):8443" },
                addresses: { cable.now }
            ) { _ in bluetooth }
            if !isClaimed {
                await under.desk.setClaim(ClaimInvitation(url: "https://a", address: "a", code: "1", fingerprint: "F"))
            }
            let bed = OnboardingTestBed(
                under: under,
                executor: executor,
                onboarding: onboarding,
                bluetooth: bluetooth,
                radio: radio,
                cable: cable,
                audit: audit
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await network.run() }
                group.addTask { await onboarding.run() }
                try await body(bed)
                group.cancelAll()
            }
        }
    }

    @Test func aTerminalThatBelongsToSomebodyIsFoundOnlyWhereSomebodyCanBeAsked() async throws {
        try await withTestBed { bed in
            await bed.pass(.seconds(40))
            #expect(bed.bluetooth.now.advertised == nil)
            await bed.onboarding.keypadCame()
            await bed.until { bed.bluetooth.now.advertised == [1, 0, 0, 0, 0, 0] }
            await bed.onboarding.keypadWent()
            await bed.until { !bed.bluetooth.now.isOn }
        }
    }

    @Test func nobodyFindsATerminalThatHasANetwork() async throws {
        try await withTestBed { bed in
            bed.cable.set { $0 = ["10.0.0.7"] }
            await bed.onboarding.keypadCame()
            await bed.pass(.seconds(40))
            #expect(bed.bluetooth.now.advertised == nil)
            bed.cable.set { $0 = [] }
            await bed.until { bed.bluetooth.now.advertised != nil }
            bed.cable.set { $0 = ["10.0.0.7"] }
            await bed.until { !bed.bluetooth.now.isOn }
        }
    }

    @Test func aChargeTakesItOffTheAirAtOnce() async throws {
        try await withTestBed { bed in
            await bed.onboarding.keypadCame()
            await bed.until { bed.bluetooth.now.advertised != nil }
            await bed.onboarding.came(Self.phone)
            await bed.until { await bed.page?.kind == .asking }
            _ = try await bed.under.desk.open(bed.under.request())
            // By no clock: the news of the charge does it.
            await bed.executor.untilCalm()
            #expect(!bed.bluetooth.now.isOn && bed.bluetooth.now.dismissed == [Self.phone])
            #expect(await bed.page == nil)
        }
    }

    @Test func enterLetsThePhoneInAndTheAuditLogSaysSo() async throws {
        try await withTestBed { bed in
            await bed.onboarding.keypadCame()
            await bed.until { bed.bluetooth.now.advertised != nil }
            await bed.onboarding.came(Self.phone)
            #expect(await bed.onboarding.take(.enter), "it is for the question, and too early to be an answer")
            await bed.onboarding.wrote(Self.command, by: Self.phone)
            #expect(await bed.onboarding.read(.error, by: Self.phone) == [4])
            await bed.pass(OnboardingDesk.reading)
            #expect(await bed.onboarding.take(.digit(1)) == false, "another key is for an amount")
            #expect(await bed.onboarding.take(.enter))
            #expect(await bed.onboarding.take(.enter) == false, "there is no question any more")
            await bed.until { bed.bluetooth.now.advertised?.first == 2 }
            await bed.onboarding.wrote(Self.command, by: Self.phone)
            await bed.until {
                bed.bluetooth.now.told.contains(ImprovPacket.result(of: 1, ["https://192.168.7.9:8443"]))
            }
            #expect(bed.radio.now.withLock { $0.joined } == ["53686f70-passphrase"])
            let entry = try #require(bed.audit.now.first)
            #expect(entry.who == .keypad && entry.from == "improv" && entry.what == "network.join")
            #expect(entry.detail == "Shop" && bed.audit.now.count == 1)
            // Its phone has read where the page is: it ends by itself.
            await bed.until { !bed.bluetooth.now.isOn }
            #expect(await bed.page == nil)
        }
    }

    @Test func aKeypadThatTheOwnerSwitchedOffAnswersForNobody() async throws {
        try await withTestBed { bed in
            var rules = CounterKeypad()
            rules.mode = .off
            await bed.under.desk.use(keypad: rules)
            await bed.onboarding.keypadCame()
            await bed.pass(.seconds(40))
            #expect(bed.bluetooth.now.advertised == nil)
            rules.mode = .on
            await bed.under.desk.use(keypad: rules)
            await bed.until { bed.bluetooth.now.advertised != nil }
            await bed.onboarding.came(Self.phone)
            await bed.pass(OnboardingDesk.reading)
            rules.mode = .off
            await bed.under.desk.use(keypad: rules)
            // Before the question is gone from the screen, too.
            #expect(await bed.onboarding.take(.enter) == false)
            await bed.until { !bed.bluetooth.now.isOn }
            #expect(await bed.page == nil)
        }
    }

    @Test func beforeThereIsAnOwnerNobodyHasSwitchedTheKeypadOff() async throws {
        try await withTestBed(isClaimed: false) { bed in
            var rules = CounterKeypad()
            rules.mode = .off
            await bed.under.desk.use(keypad: rules)
            await bed.onboarding.keypadCame()
            await bed.until { bed.bluetooth.now.advertised != nil }
            await bed.onboarding.came(Self.phone)
            await bed.pass(OnboardingDesk.reading)
            await bed.until { await bed.page?.kind == .asking }
            #expect(await bed.onboarding.take(.enter))
            #expect(await bed.onboarding.read(.state, by: Self.phone) == [2])
        }
    }

    /// The question came while an amount was typed: nobody has seen it before that is gone.
    @Test func enterCountsOnceTheQuestionHasBeenOnTheScreenForASecond() async throws {
        try await withTestBed { bed in
            let (events, keys) = AsyncStream.makeStream(of: KeypadEvent.self)
            let keypad = KeypadDesk(
                desk: bed.under.desk,
                clock: bed.under.clock.terminalClock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                audit: { _ in },
                openPayments: { 0 },
                erase: nil,
                onboarding: bed.onboarding
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await keypad.run(events) }
                keys.yield(.connected(name: "a keypad"))
                await bed.until { bed.bluetooth.now.advertised != nil }
                keys.yield(.pressed(.digit(5)))
                await bed.until { await bed.under.desk.snapshot.keypad != nil }
                await bed.onboarding.came(Self.phone)
                await bed.pass(.seconds(5))
                for key in [CounterKey.clear, .enter] { keys.yield(.pressed(key)) }
                await bed.executor.untilCalm()
                #expect(await bed.under.desk.snapshot.keypad == nil)
                #expect(await bed.onboarding.read(.state, by: Self.phone) == [1])
                await bed.pass(OnboardingDesk.reading)
                keys.yield(.pressed(.enter))
                await bed.until { await bed.onboarding.read(.state, by: Self.phone) == [2] }
                keys.finish()
                try await group.waitForAll()
            }
        }
    }

    @Test func numSendsThePhoneAwayAndNobodyFindsTheTerminalForAWhile() async throws {
        try await withTestBed { bed in
            await bed.onboarding.keypadCame()
            await bed.until { bed.bluetooth.now.advertised != nil }
            await bed.onboarding.came(Self.phone)
            await bed.pass(OnboardingDesk.reading)
            #expect(await bed.onboarding.take(.cancel))
            await bed.until { bed.bluetooth.now.dismissed == [Self.phone] && bed.bluetooth.now.advertised == nil }
            await bed.pass(.seconds(300))
            #expect(bed.bluetooth.now.advertised == nil)
        }
    }

    /// Where nobody is asked, a phone that goes makes room.
    @Test func aPhoneThatIsToldNothingAnyMoreIsGone() async throws {
        try await withTestBed(isClaimed: false) { bed in
            await bed.until { bed.bluetooth.now.advertised != nil }
            let other = ImprovPhone("00:AA:01:00:00:24")
            await bed.onboarding.came(Self.phone)
            #expect(await bed.onboarding.read(.state, by: other) == [1])
            await bed.onboarding.allLeft()
            #expect(await bed.onboarding.read(.state, by: other) == [2])
        }
    }

    /// A phone that floods the terminal meanwhile neither ends the joining nor makes room for another phone.
    @Test func theScreenNamesTheNetworkThatIsJoinedUntilItIs() async throws {
        try await withTestBed(isClaimed: false) { bed in
            let other = ImprovPhone("00:AA:01:00:00:24")
            bed.radio.now.withLock { $0.heard = [] }
            await bed.until { bed.bluetooth.now.advertised != nil }
            await bed.onboarding.wrote(Self.command, by: Self.phone)
            for _ in 0..<20 { await bed.onboarding.wrote([9, 0, 8], by: Self.phone) }
            await bed.onboarding.wrote(Self.packet("Elsewhere", "tram bell eighteen"), by: other)
            await bed.until { await bed.page?.kind == .joining }
            #expect(await bed.page?.network == "Shop")
            bed.radio.now.withLock { $0.heard = [.passphrase] }
            await bed.until { await bed.page?.kind == .joined }
            #expect(await bed.page?.network == "Shop")
            #expect(bed.radio.now.withLock { $0.joined } == ["53686f70-passphrase"])
            #expect(await bed.onboarding.read(.result, by: other) == [])
        }
    }

    @Test func anOpenNetworkOfTheSameNameIsNotJoined() async throws {
        try await withTestBed(isClaimed: false) { bed in
            bed.radio.now.withLock { $0.heard = [.open] }
            await bed.until { bed.bluetooth.now.advertised != nil }
            await bed.onboarding.came(Self.phone)
            await bed.onboarding.wrote(Self.command, by: Self.phone)
            await bed.until { await bed.onboarding.read(.error, by: Self.phone) == [3] }
            #expect(bed.radio.now.withLock { $0.joined } == [])
            #expect(bed.audit.now.map(\.who) == [.stranger], "nobody was asked")
            await bed.until { await bed.page?.kind == .notJoined }
        }
    }
}
