import Foundation
import Journal
import Locks
import Logging
import Payments
import Terminal
import TerminalTestSupport
import Testing
import TestSupport
import WalletConnectPay

/// What the merchant sets is stored whole, comes into force once, and never costs the terminal its start.
@Suite(.timeLimit(.minutes(5)))
struct SettingsDeskTests {
    private let folder = Folder()
    private let journal: Journal
    private let clock = ManualClock()

    init() throws {
        journal = try Self.open(folder, key: "device.key")
    }

    /// Goes with the test.
    private final class Folder: Sendable {
        let path = NSTemporaryDirectory() + "/till-settings-\(UUID().uuidString)"

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private static func open(_ folder: Folder, key: String) throws -> Journal {
        let path = folder.path
        return try Journal.open(directory: path, deviceKey: DeviceKey.loadOrCreate(at: "\(path)/\(key)"))
    }

    private func desk(
        _ journal: Journal? = nil,
        hosts: [String] = [],
        gateway: any HTTPTransport = Unreachable(),
        clockIsSet: @escaping @Sendable () -> Bool = { true }
    ) -> (settings: SettingsDesk, charges: ChargeDesk) {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let charges = ChargeDesk(archive: journal ?? self.journal, clock: clock.terminalClock, logger: logger)
        let settings = SettingsDesk(
            journal: journal ?? self.journal,
            desk: charges,
            gateways: GatewayPolicy(allowsLoopbackHTTP: false, hosts: hosts),
            clock: clock.terminalClock,
            logger: logger,
            clockIsSet: clockIsSet
        ) { settings, key in
            try MerchantClient(
                baseURL: settings.gatewayURL,
                credentials: MerchantCredentials(merchantID: settings.merchantID, apiKey: key),
                transport: gateway
            )
        }
        return (settings, charges)
    }

    private struct Unreachable: HTTPTransport {
        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            await Task.yield()
            throw .notSent(reason: "no network")
        }
    }

    /// Whose certificate is believed once the clock is set.
    private final class ByTheClock: HTTPTransport {
        let state = Mutex((isSet: false, questions: 0))

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            await Task.yield()
            let isSet = state.withLock { state in
                state.questions += 1
                return state.isSet
            }
            guard isSet else { throw .notSent(reason: GatewayLight.clockIsNotSet) }
            let stats = #"{"totalRevenue":[],"totalTransactions":0,"totalCustomers":0}"#
            return HTTPResponse(status: 200, body: Array(#"{"data":[],"nextCursor":null,"stats":\#(stats)}"#.utf8))
        }
    }

    /// In 1970 every certificate lies in the future; minutes later the time is heard.
    @Test func aGatewayThatIsNotBelievedByTheClockIsAskedAgainOnceTheClockIsSet() async throws {
        let gateway = ByTheClock()
        let (settings, charges) = desk(gateway: gateway, clockIsSet: { gateway.state.withLock { $0.isSet } })
        try await settings.load()
        _ = try await settings.save(form(key: "key"), replacing: nil, by: .staff(name: "Ada"))
        let test = try await settings.testConnection(form())
        #expect(!test.isOK && test.reason.code == "gateway_clock" && test.reason.message.contains("clock"))
        func pass(_ duration: Duration) async throws {
            while !clock.hasSleeper(for: duration) { try await Task.sleep(for: .milliseconds(2)) }
            clock.advance(by: duration)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await settings.watchGateway() }
            for await snapshot in await charges.snapshots() where snapshot.gateway == .clock { break }
            for _ in 0..<10 { try await pass(.seconds(2)) }
            // It sleeps again, and looks at the clock when it wakes.
            while !clock.hasSleeper(for: .seconds(2)) { try await Task.sleep(for: .milliseconds(2)) }
            #expect(gateway.state.withLock { $0.questions } == 2, "the test and one question")
            gateway.state.withLock { $0.isSet = true }
            clock.advance(by: .seconds(2))
            for await snapshot in await charges.snapshots() where snapshot.gateway == .ready { break }
            #expect(gateway.state.withLock { $0.questions } == 3)
            group.cancelAll()
        }
    }

    /// Gives every question the same answer.
    private struct Same: HTTPTransport {
        let answer: Result<HTTPResponse, TransportError>
        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            await Task.yield()
            return try answer.get()
        }
    }

    /// Whoever set the terminal up looks at what is wrong, and at nothing else.
    @Test(arguments: [
        (404, "<html>", "gateway_silent", "address"), (200, "<html>", "gateway_silent", "address"),
        (401, "<html>", "gateway_sign_in", "address"), (403, "", "gateway_sign_in", "address"),
        (407, "", "gateway_proxy", "network"), (503, "<html>", "gateway_out_of_order", "few minutes"),
        (500, #"{"code":"internal_error","message":"no"}"#, "gateway_out_of_order", "few minutes"),
        (401, #"{"code":"invalid_api_key","message":"no"}"#, "gateway_invalid_api_key", "Copy both"),
        (404, #"{"code":"merchant_not_found","message":"no"}"#, "gateway_merchant_not_found", "Copy both"),
    ])
    func aFailedTestNamesWhatAnswered(status: Int, body: String, code: String, advice: String) async throws {
        let gateway = Same(answer: .success(HTTPResponse(status: status, body: Array(body.utf8))))
        let test = try await desk(gateway: gateway).settings.testConnection(form(key: "one"))
        #expect(!test.isOK && test.reason.code == code, "\(test.reason)")
        #expect(test.reason.action.contains(advice) && !test.reason.action.contains("merchant ID"), "\(test.reason)")
    }

    @Test func aTestThatNobodyAnswersSaysSo() async throws {
        let gateway = Same(answer: .failure(.noAnswer(after: .seconds(15))))
        let test = try await desk(gateway: gateway).settings.testConnection(form(key: "one"))
        #expect(test.reason.code == "gateway_silent" && test.reason.message == "Nobody answered in time.")
    }

    /// Asks to wait once, then answers.
    private final class Pausing: HTTPTransport {
        let times = Mutex<[Duration]>([])
        let clock: ManualClock
        init(_ clock: ManualClock) { self.clock = clock }

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            await Task.yield()
            let isFirst = times.withLock { times in
                times.append(clock.now)
                return times.count == 1
            }
            if isFirst { return HTTPResponse(status: 429, headers: [("Retry-After", "7")], body: []) }
            return HTTPResponse(status: 200, body: Array(#"{"data":[],"nextCursor":null}"#.utf8))
        }
    }

    @Test func aPauseIsSaidAsLongAsItLastsAndIsOverToTheSecond() async throws {
        let gateway = Pausing(clock)
        let (settings, charges) = desk(gateway: gateway)
        try await settings.load()
        _ = try await settings.save(form(key: "key"), replacing: nil, by: .staff(name: "Ada"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await settings.watchGateway() }
            let until = clock.wallTime().advanced(by: .seconds(7))
            for await snapshot in await charges.snapshots() where snapshot.gateway == .paused(until: until) { break }
            while !clock.hasSleeper(for: .seconds(7)) { try await Task.sleep(for: .milliseconds(2)) }
            clock.advance(by: .seconds(7))
            for await snapshot in await charges.snapshots() where snapshot.gateway == .ready { break }
            #expect(gateway.times.withLock { $0 } == [.zero, .seconds(7)])
            group.cancelAll()
        }
    }

    /// Goes away and comes back while nobody charges.
    private final class Coming: HTTPTransport {
        let state = Mutex((isUp: true, questions: 0))

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            await Task.yield()
            let isUp = state.withLock { state in
                state.questions += 1
                return state.isUp
            }
            guard isUp else { throw .notSent(reason: "no network") }
            let stats = #"{"totalRevenue":[],"totalTransactions":0,"totalCustomers":0}"#
            return HTTPResponse(status: 200, body: Array(#"{"data":[],"nextCursor":null,"stats":\#(stats)}"#.utf8))
        }
    }

    /// Whoever sets the terminal up reads "ready" once it is, and not a minute later.
    @Test func theLightIsTrueWithinAMinuteWhileNobodyCharges() async throws {
        let gateway = Coming()
        let (settings, charges) = desk(gateway: gateway)
        try await settings.load()
        func untilAsleep() async throws {
            while !clock.hasSleeper(for: .seconds(60)) { try await Task.sleep(for: .milliseconds(2)) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await settings.watchGateway() }
            try await untilAsleep()
            _ = try await settings.save(form(key: "key"), replacing: nil, by: .staff(name: "Ada"))
            // No time passes.
            for await snapshot in await charges.snapshots() where snapshot.gateway == .ready { break }
            gateway.state.withLock { $0.isUp = false }
            try await untilAsleep()
            clock.advance(by: .seconds(60))
            for await snapshot in await charges.snapshots() where snapshot.gateway == .unreachable { break }
            gateway.state.withLock { $0.isUp = true }
            try await untilAsleep()
            clock.advance(by: .seconds(60))
            for await snapshot in await charges.snapshots() where snapshot.gateway == .ready { break }
            // A charge heard of it half a minute ago: that is new enough.
            try await untilAsleep()
            let asked = gateway.state.withLock { $0.questions }
            clock.advance(by: .seconds(30))
            await charges.setGateway(.ready)
            clock.advance(by: .seconds(30))
            try await untilAsleep()
            #expect(gateway.state.withLock { $0.questions } == asked)
            group.cancelAll()
        }
    }

    private func form(_ gateway: String = "https://gateway.test", key: String? = nil) -> SettingsForm {
        SettingsForm(
            operatorID: "op_1",
            merchantID: "mrch_1",
            merchantName: "Kiosk",
            gatewayURL: gateway,
            gatewayKey: key,
            currency: "EUR"
        )
    }

    private func storedKey() async throws -> String? {
        try await journal.secret("gateway-key").map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func ofTwoSavesAtOnceOneWinsWithItsOwnKey() async throws {
        for round in 0..<20 {
            let desk = desk().settings
            try await desk.load()
            let version = await desk.current?.version
            let winners = await withTaskGroup(of: String?.self) { group in
                for name in ["a", "b", "c"] {
                    let form = form("https://\(name).test", key: "key-of-\(name)")
                    group.addTask {
                        do throws(SettingsError) {
                            return try await desk.save(form, replacing: version, by: .staff(name: name)).settings
                                .gatewayURL
                        } catch {
                            #expect(error == .conflict)
                            return nil
                        }
                    }
                }
                return await group.reduce(into: [String]()) { if let won = $1 { $0.append(won) } }
            }
            #expect(winners.count == 1, "round \(round)")
            let current = await desk.current
            #expect(current?.settings.gatewayURL == winners.first && current?.version == round + 1)
            let name = try #require(["a", "b", "c"].first { current?.changedBy == .staff(name: $0) })
            #expect(winners == ["https://\(name).test"])
            #expect(try await storedKey() == "key-of-\(name)", "the key of another gateway would be given away")
        }
    }

    @Test func aFormMadeFromOlderSettingsChangesNothing() async throws {
        let desk = desk().settings
        let first = try await desk.save(form(key: "one"), replacing: nil, by: .staff(name: "Ada"))
        for stale in [nil, 0, 2] {
            await #expect(throws: SettingsError.conflict) {
                try await desk.save(form("https://other.test", key: "two"), replacing: stale, by: .staff(name: "Bob"))
            }
        }
        #expect(await desk.current == first)
        #expect(try await storedKey() == "one")
    }

    @Test func aKeyThatCannotBeOpenedIsAskedForAgainAndTheTerminalStarts() async throws {
        _ = try await desk().settings.save(form(key: "one"), replacing: nil, by: .staff(name: "Ada"))
        try journal.close()
        let again = try Self.open(folder, key: "other.key")
        let (settings, charges) = desk(again)
        try await settings.load()
        #expect(await settings.current?.gatewayKeySet == false)
        #expect(await settings.current?.settings.merchantName == "Kiosk", "the settings are still there")
        #expect(await settings.validate(form()).keys.sorted() == ["gatewayKey"])
        let saved = try await settings.save(form(key: "two"), replacing: 1, by: .staff(name: "Ada"))
        #expect(saved.gatewayKeySet)
        #expect(await charges.snapshot.merchantName == "Kiosk", "in force again")
    }

    /// However the terminal's own address is written.
    @Test func noGatewayIsTheTerminalItself() async throws {
        let desk = desk(hosts: []).settings
        let own = [
            "127.0.0.1", "127.9.9.9", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "0", "localhost",
            "LocalHost",
            "x.localhost", "169.254.169.254", "224.0.0.1",
        ]
        for host in own {
            let errors = await desk.validate(form("https://\(host):8443", key: "one"))
            #expect(errors["gatewayURL"]?.code == "invalid_address", "\(host)")
        }
        for host in ["192.168.1.20", "203.0.113.7", "gateway.localhost.test", "3pay.test", "pay3.test"] {
            #expect(await desk.validate(form("https://\(host)", key: "one")).isEmpty, "\(host)")
        }
    }

    @Test func onlyListedGatewaysCanBeSetWhereThereIsAList() async throws {
        let desk = desk(hosts: ["Gateway.test"]).settings
        let errors = await desk.validate(form("https://evil.test", key: "one"))
        #expect(errors["gatewayURL"]?.code == "gateway_not_allowed")
        #expect(errors["gatewayURL"]?.action.contains("gateway.test") == true)
        for host in ["https://gateway.test", "https://GATEWAY.test:8443/v1"] {
            #expect(await desk.validate(form(host, key: "one")).isEmpty)
        }
        for host in ["https://gateway.test.evil.test", "https://x.gateway.test"] {
            #expect(await desk.validate(form(host, key: "one")).keys.sorted() == ["gatewayURL"])
        }
    }
}
