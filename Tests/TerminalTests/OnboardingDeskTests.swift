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
    private final class Air: OnboardingRadio {
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
        func advertise(_ serviceData: [UInt8]?) async { state.withLock { $0.advertised = serviceData } }
        func tell(_ characteristic: ImprovMachine.Characteristic, _ value: [UInt8]) async {
            state.withLock { $0.told.append(value) }
        }
        func dismiss(_ phone: ImprovPhone) async { state.withLock { $0.dismissed.append(phone) } }
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
            get async { .ready(.init(interface: "wlan0", link: now.withLock { $0.link }, isScanning: false)) }
        }
        var known: [KnownWiFiNetwork] { get async { [] } }
        func scan() async throws(WiFiError) {}
        func networks() async throws(WiFiError) -> [WiFiNetwork] {
            guard let name = WiFiName("Shop") else { return [] }
            return now.withLock { $0.heard }.map {
                WiFiNetwork(id: .init(name, $0), strengthDBm: -50, isKnown: false, isJoined: false)
            }
        }
        func join(_ id: WiFiNetwork.ID, passphrase: Passphrase?) async throws(WiFiError) {
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

    private struct Shop: Sendable {
        let under: DeskUnderTest
        let onboarding: OnboardingDesk
        let air: Air
        let radio: Radio
        let cable: Mutexed<[String]>
        let audit: Mutexed<[AuditEntry]>

        /// Lets time pass until it is so.
        func until(_ isSo: () async -> Bool) async {
            while await !isSo(), !Task.isCancelled {
                if under.clock.hasSleeper(for: OnboardingDesk.look) { under.clock.advance(by: .milliseconds(250)) }
                if let left = under.clock.shortestSleep, left <= OnboardingDesk.look { under.clock.advance(by: left) }
                for _ in 0..<20 { await Task.yield() }
            }
        }

        /// Lets so much time pass, and everything happen that it brings about.
        func pass(_ time: Duration) async {
            let end = under.clock.now + time
            await until { under.clock.now >= end }
        }

        var page: Scene.Onboarding? { get async { await under.desk.snapshot.onboarding } }
    }

    private final class Mutexed<Value: Sendable>: Sendable {
        private let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
        var now: Value { value.withLock { $0 } }
        func set(_ change: @Sendable (inout Value) -> Void) { value.withLock { change(&$0) } }
    }

    private func withShop(isClaimed: Bool = true, _ body: (Shop) async throws -> Void) async throws {
        try await withDesk(settings: isClaimed ? .example : nil) { under in
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let (air, radio, cable, audit) = (Air(), Radio(), Mutexed([String]()), Mutexed([AuditEntry]()))
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
            ) { _ in air }
            if !isClaimed {
                await under.desk.setClaim(ClaimInvitation(url: "https://a", address: "a", code: "1", fingerprint: "F"))
            }
            let shop = Shop(
                under: under,
                onboarding: onboarding,
                air: air,
                radio: radio,
                cable: cable,
                audit: audit
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await network.run() }
                group.addTask { await onboarding.run() }
                try await body(shop)
                group.cancelAll()
            }
        }
    }

    @Test func aTerminalThatBelongsToSomebodyIsFoundOnlyWhereSomebodyCanBeAsked() async throws {
        try await withShop { shop in
            await shop.pass(.seconds(40))
            #expect(shop.air.now.advertised == nil)
            await shop.onboarding.keypadCame()
            await shop.until { shop.air.now.advertised == [1, 0, 0, 0, 0, 0] }
            await shop.onboarding.keypadWent()
            await shop.until { !shop.air.now.isOn }
        }
    }

    @Test func nobodyFindsATerminalThatHasANetwork() async throws {
        try await withShop { shop in
            shop.cable.set { $0 = ["10.0.0.7"] }
            await shop.onboarding.keypadCame()
            await shop.pass(.seconds(40))
            #expect(shop.air.now.advertised == nil)
            shop.cable.set { $0 = [] }
            await shop.until { shop.air.now.advertised != nil }
            shop.cable.set { $0 = ["10.0.0.7"] }
            await shop.until { !shop.air.now.isOn }
        }
    }

    @Test func aChargeTakesItOffTheAirAtOnce() async throws {
        try await withShop { shop in
            await shop.onboarding.keypadCame()
            await shop.until { shop.air.now.advertised != nil }
            await shop.onboarding.came(Self.phone)
            await shop.until { await shop.page?.kind == .asking }
            _ = try await shop.under.desk.open(shop.under.request())
            // By no clock: the news of the charge does it.
            while shop.air.now.isOn { await Task.yield() }
            #expect(shop.air.now.dismissed == [Self.phone])
            while await shop.page != nil { await Task.yield() }
        }
    }

    @Test func enterLetsThePhoneInAndTheAuditLogSaysSo() async throws {
        try await withShop { shop in
            await shop.onboarding.keypadCame()
            await shop.until { shop.air.now.advertised != nil }
            await shop.onboarding.came(Self.phone)
            #expect(await shop.onboarding.take(.enter), "it is for the question, and too early to be an answer")
            await shop.onboarding.wrote(Self.command, by: Self.phone)
            #expect(await shop.onboarding.read(.error, by: Self.phone) == [4])
            await shop.pass(OnboardingDesk.reading)
            #expect(await shop.onboarding.take(.digit(1)) == false, "another key is for an amount")
            #expect(await shop.onboarding.take(.enter))
            #expect(await shop.onboarding.take(.enter) == false, "there is no question any more")
            await shop.until { shop.air.now.advertised?.first == 2 }
            await shop.onboarding.wrote(Self.command, by: Self.phone)
            await shop.until { shop.air.now.told.contains(ImprovPacket.result(of: 1, ["https://192.168.7.9:8443"])) }
            #expect(shop.radio.now.withLock { $0.joined } == ["53686f70-passphrase"])
            let entry = try #require(shop.audit.now.first)
            #expect(entry.who == .keypad && entry.from == "improv" && entry.what == "network.join")
            #expect(entry.detail == "Shop" && shop.audit.now.count == 1)
            // Its phone has read where the page is: it ends by itself.
            await shop.until { !shop.air.now.isOn }
            #expect(await shop.page == nil)
        }
    }

    @Test func aKeypadThatTheOwnerSwitchedOffAnswersForNobody() async throws {
        try await withShop { shop in
            var rules = CounterKeypad()
            rules.mode = .off
            await shop.under.desk.use(keypad: rules)
            await shop.onboarding.keypadCame()
            await shop.pass(.seconds(40))
            #expect(shop.air.now.advertised == nil)
            rules.mode = .on
            await shop.under.desk.use(keypad: rules)
            await shop.until { shop.air.now.advertised != nil }
            await shop.onboarding.came(Self.phone)
            await shop.pass(OnboardingDesk.reading)
            rules.mode = .off
            await shop.under.desk.use(keypad: rules)
            // Before the question is gone from the screen, too.
            #expect(await shop.onboarding.take(.enter) == false)
            await shop.until { !shop.air.now.isOn }
            #expect(await shop.page == nil)
        }
    }

    @Test func beforeThereIsAnOwnerNobodyHasSwitchedTheKeypadOff() async throws {
        try await withShop(isClaimed: false) { shop in
            var rules = CounterKeypad()
            rules.mode = .off
            await shop.under.desk.use(keypad: rules)
            await shop.onboarding.keypadCame()
            await shop.until { shop.air.now.advertised != nil }
            await shop.onboarding.came(Self.phone)
            await shop.pass(OnboardingDesk.reading)
            await shop.until { await shop.page?.kind == .asking }
            #expect(await shop.onboarding.take(.enter))
            #expect(await shop.onboarding.read(.state, by: Self.phone) == [2])
        }
    }

    /// The question came while an amount was typed: nobody has seen it before that is gone.
    @Test func enterCountsOnceTheQuestionHasBeenOnTheScreenForASecond() async throws {
        try await withShop { shop in
            let (events, keys) = AsyncStream.makeStream(of: KeypadEvent.self)
            let keypad = KeypadDesk(
                desk: shop.under.desk,
                clock: shop.under.clock.terminalClock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                audit: { _ in },
                openPayments: { 0 },
                erase: nil,
                onboarding: shop.onboarding
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await keypad.run(events) }
                keys.yield(.connected(name: "a keypad"))
                await shop.until { shop.air.now.advertised != nil }
                keys.yield(.pressed(.digit(5)))
                await shop.until { await shop.under.desk.snapshot.keypad != nil }
                await shop.onboarding.came(Self.phone)
                await shop.pass(.seconds(5))
                for key in [CounterKey.clear, .enter] { keys.yield(.pressed(key)) }
                while await shop.under.desk.snapshot.keypad != nil { await Task.yield() }
                for _ in 0..<2_000 { await Task.yield() }
                #expect(await shop.onboarding.read(.state, by: Self.phone) == [1])
                await shop.pass(OnboardingDesk.reading)
                keys.yield(.pressed(.enter))
                await shop.until { await shop.onboarding.read(.state, by: Self.phone) == [2] }
                keys.finish()
                try await group.waitForAll()
            }
        }
    }

    @Test func numSendsThePhoneAwayAndNobodyFindsTheTerminalForAWhile() async throws {
        try await withShop { shop in
            await shop.onboarding.keypadCame()
            await shop.until { shop.air.now.advertised != nil }
            await shop.onboarding.came(Self.phone)
            await shop.pass(OnboardingDesk.reading)
            #expect(await shop.onboarding.take(.cancel))
            await shop.until { shop.air.now.dismissed == [Self.phone] && shop.air.now.advertised == nil }
            await shop.pass(.seconds(300))
            #expect(shop.air.now.advertised == nil)
        }
    }

    /// Where nobody is asked, a phone that goes makes room.
    @Test func aPhoneThatIsToldNothingAnyMoreIsGone() async throws {
        try await withShop(isClaimed: false) { shop in
            await shop.until { shop.air.now.advertised != nil }
            let other = ImprovPhone("00:AA:01:00:00:24")
            await shop.onboarding.came(Self.phone)
            #expect(await shop.onboarding.read(.state, by: other) == [1])
            await shop.onboarding.allLeft()
            #expect(await shop.onboarding.read(.state, by: other) == [2])
        }
    }

    /// A phone that floods the terminal meanwhile neither ends the joining nor makes room for another phone.
    @Test func theScreenNamesTheNetworkThatIsJoinedUntilItIs() async throws {
        try await withShop(isClaimed: false) { shop in
            let other = ImprovPhone("00:AA:01:00:00:24")
            shop.radio.now.withLock { $0.heard = [] }
            await shop.until { shop.air.now.advertised != nil }
            await shop.onboarding.wrote(Self.command, by: Self.phone)
            for _ in 0..<20 { await shop.onboarding.wrote([9, 0, 8], by: Self.phone) }
            await shop.onboarding.wrote(Self.packet("Elsewhere", "tram bell eighteen"), by: other)
            while await shop.page?.kind != .joining { await Task.yield() }
            #expect(await shop.page?.network == "Shop")
            shop.radio.now.withLock { $0.heard = [.passphrase] }
            await shop.until { await shop.page?.kind == .joined }
            #expect(await shop.page?.network == "Shop")
            #expect(shop.radio.now.withLock { $0.joined } == ["53686f70-passphrase"])
            #expect(await shop.onboarding.read(.result, by: other) == [])
        }
    }

    @Test func anOpenNetworkOfTheSameNameIsNotJoined() async throws {
        try await withShop(isClaimed: false) { shop in
            shop.radio.now.withLock { $0.heard = [.open] }
            await shop.until { shop.air.now.advertised != nil }
            await shop.onboarding.came(Self.phone)
            await shop.onboarding.wrote(Self.command, by: Self.phone)
            await shop.until { await shop.onboarding.read(.error, by: Self.phone) == [3] }
            #expect(shop.radio.now.withLock { $0.joined } == [])
            #expect(shop.audit.now.map(\.who) == [.stranger], "nobody was asked")
            await shop.until { await shop.page?.kind == .notJoined }
        }
    }
}
