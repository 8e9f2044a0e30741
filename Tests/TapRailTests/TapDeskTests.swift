import Acquirer
import Foundation
import GRDB
import Journal
import Locks
import Logging
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing
import TestSupport
import WalletConnectPay

/// The phone's own calls to the sandbox's acquirer.
struct SandboxPhoneAcquirer: PhoneAcquirer {
    let client: AcquirerClient

    private func call<Value>(
        _ body: (AcquirerClient) async throws(AcquirerError) -> Value
    ) async throws(PhoneAcquirerError) -> Value {
        do throws(AcquirerError) { return try await body(client) } catch { throw .unreachable(error.summary) }
    }

    func keys() async throws(PhoneAcquirerError) -> [TrustedGatewayKey] {
        try await call { client throws(AcquirerError) in try await client.keys() }.keys.map {
            TrustedGatewayKey(issuer: $0.issuer, keyID: $0.keyID, publicKey: $0.publicKey)
        }
    }
    func denyList() async throws(PhoneAcquirerError) -> DenyList {
        try await call { client throws(AcquirerError) in try await client.denyList() }
    }
    func instruments() async throws(PhoneAcquirerError) -> [String] {
        try await call { client throws(AcquirerError) in try await client.instruments() }.map(\.instrumentID)
    }
    func passes(_ count: Int, for device: VerificationKey) async throws(PhoneAcquirerError) -> [Signed<PaymentPass>] {
        try await call { client throws(AcquirerError) in try await client.passes(for: device, count: count) }
    }
    func preAuthorize(
        _ wish: VoucherWish,
        on instrumentID: String,
        for device: VerificationKey
    ) async throws(PhoneAcquirerError) -> Signed<PaymentPass> {
        throw .refused("not here")
    }
    func execute(_ bundle: PaymentBundle) async throws(PhoneAcquirerError) -> PhoneAnswer {
        let bundle = ExecutionBundle(
            certificate: bundle.certificate,
            request: bundle.request,
            pass: bundle.pass,
            accept: bundle.accept,
            claim: bundle.claim
        )
        switch try await call({ client throws(AcquirerError) in try await client.execute(bundle) }) {
        case .ended(let receipt): return .receipt(receipt)
        case .inProgress: return .inProgress
        }
    }
    func payment(_ id: TapProtocol.PaymentID) async throws(PhoneAcquirerError) -> PhoneAnswer {
        guard let record = try await call({ client throws(AcquirerError) in try await client.payment(id) }) else {
            return .unknown
        }
        return record.receipt.map(PhoneAnswer.receipt) ?? .unknown
    }
    func announcement(of id: TapProtocol.PaymentID) async throws(PhoneAcquirerError) -> PhoneAnnouncement? {
        guard let record = try await call({ client throws(AcquirerError) in try await client.payment(id) }),
            let amount = record.amount, let currency = record.currency, let exponent = record.exponent
        else { return nil }
        return PhoneAnnouncement(
            merchantID: record.merchantID,
            amount: amount,
            currency: currency,
            exponent: exponent
        )
    }
    func sync(_ accepts: [Signed<PaymentAcceptance>]) async throws(PhoneAcquirerError) -> [PhoneSyncAnswer] {
        accepts.map { _ in .pending }
    }
}

/// Tap from its settings on, with the sandbox's acquirer: enrolment, certificate, a paid charge, a refund.
struct TapDeskTests {
    final class Network: Sendable {
        private let state = Mutex((isUp: true, asked: 0))
        /// What answers in the acquirer's place, from the first hand-in on.
        let flood = Mutex<FloodingAcquirer.Flood?>(nil)
        /// When something was asked of it, on the terminal's clock.
        let floodedAt = Mutex<[Duration]>([])
        var isUp: Bool {
            get { state.withLock { $0.isUp } }
            set { state.withLock { $0.isUp = newValue } }
        }
        /// How often somebody wanted to send something.
        var asked: Int { state.withLock { $0.asked } }

        func carries() -> Bool {
            state.withLock { state in
                state.asked += 1
                return state.isUp
            }
        }
    }

    struct Parts: Sendable {
        let bed: TapTestBed
        let acquirer: SandboxAcquirer
        let network = Network()
    }

    static let form: TapForm = {
        var form = TapForm()
        form.isEnabled = true
        form.mode = "open"
        form.acquirerURL = InProcessAcquirer.url
        form.acquirerLogin = "shop@example.com"
        form.acquirerPassword = "shop-password"
        form.terminalID = "till-1"
        return form
    }()

    func parts() throws -> Parts {
        let bed = try TapTestBed()
        let state = AcquirerState(configuration: AcquirerConfiguration())
        return Parts(bed: bed, acquirer: SandboxAcquirer(state, clock: bed.wall))
    }

    func open(
        _ parts: Parts,
        _ body: @escaping @Sendable (Shift, TapDesk) async throws -> Void
    ) async throws {
        let bed = parts.bed
        let key = try DeviceKey.loadOrCreate(at: bed.folder + "/device.key")
        let journal = try Journal.open(directory: bed.folder, deviceKey: key)
        var logger = Logger(label: "tap")
        logger.logLevel = .critical
        let clock = bed.clock.terminalClock
        let desk = ChargeDesk(
            archive: FusedArchive(journal: journal, fuse: Fuse(), executor: bed.executor),
            clock: clock,
            logger: logger
        )
        let kept = FusedTapJournal(journal: journal, fuse: Fuse(), executor: bed.executor)
        let station = TapStation(
            radio: bed.radio,
            journal: kept,
            clock: clock,
            logger: logger,
            isClockSet: { false }
        )
        let network = parts.network
        let transport = FloodingAcquirer(
            inner: InProcessAcquirer(parts.acquirer) { network.carries() },
            network: network,
            clock: clock
        )
        let taps = TapDesk(
            journal: journal,
            desk: desk,
            station: station,
            acquirers: GatewayPolicy(allowsLoopbackHTTP: true, hosts: []),
            clock: clock,
            logger: logger
        ) { try AcquirerClient(baseURL: $0, transport: transport) }
        try await taps.load()
        let merchant = MerchantSettings(
            operatorID: "op1",
            merchantID: "m1",
            merchantName: "Coffee Shop",
            gatewayURL: "https://gateway.example",
            currency: .euro,
            timeLimitSeconds: 120
        )
        await desk.use(merchant, drivers: [TapRail(station: station)])
        let shift = Shift(bed: bed, desk: desk, station: station, journal: journal)
        try await withTaskExecutorPreference(bed.executor) {
            try await withThrowingTaskGroup { group in
                group.addTask { try await desk.run() }
                group.addTask { await station.run() }
                group.addTask { await taps.run() }
                do { try await body(shift, taps) } catch {
                    group.cancelAll()
                    throw error
                }
                group.cancelAll()
            }
        }
        try journal.close()
    }

    @Test func aMerchantSwitchesTapOnAndIsPaidAndGivesItBack() async throws {
        let parts = try parts()
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                #expect(await shift.station.status.light == .off)
                _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
                try await shift.until("the certificate is there") { await shift.station.status.light == .ready }
                try await Self.phone(parts)
                let id = try await shift.charge()
                try await shift.until(id, is: .succeeded)
                try await shift.until("anna knows") { parts.bed.outcome("anna") == .paid }
                try await shift.desk.takeBack(id, by: shift.station)
                #expect(try await shift.snapshot(id).isGivenBack)
            }
            // After a start without network, keys and certificate are still there.
            parts.network.isUp = false
            try await open(parts) { shift, taps in
                #expect(await shift.station.status.light == .ready)
                #expect(await taps.current?.hasPassword == true)
            }
        }
    }

    @discardableResult
    static func phone(
        _ parts: Parts,
        _ name: String = "anna",
        characteristics: TapCharacteristics = TapCharacteristics()
    ) async throws -> TapPhone {
        var client = try InProcessAcquirer(parts.acquirer).client()
        client.session = try await client.logIn(
            identifier: "customer@example.com",
            password: Secret("customer-password")
        ).token
        let instruments = try await client.instruments()
        let user = PhoneUser(
            answer: .accept(after: .milliseconds(300)),
            instruments: instruments.map(\.instrumentID)
        )
        return try parts.bed.phone(
            name,
            user: user,
            acquirer: SandboxPhoneAcquirer(client: client),
            characteristics: characteristics
        )
    }

    @Test func withoutTheAcquirerTheLightSaysWhyAndComesBackByItself() async throws {
        let parts = try parts()
        parts.network.isUp = false
        try await open(parts) { shift, taps in
            _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
            try await shift.until("the light says why") {
                if case .hindered(let reason) = await shift.station.status.light {
                    reason.code == "acquirer_silent"
                } else {
                    false
                }
            }
            let id = try await shift.charge()
            try await shift.until("the charge does not wait for Tap") { try await shift.state(id).isFinal }
            parts.network.isUp = true
            try await shift.until("the light comes back") { await shift.station.status.light == .ready }
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func aSilentAcquirerIsAskedNowAndThenAndNotWithoutAPause(isEnabled: Bool) async throws {
        let parts = try parts()
        parts.network.isUp = false
        try await open(parts) { shift, taps in
            var form = Self.form
            form.isEnabled = isEnabled
            _ = try await taps.save(form, replacing: 0, by: .staff(name: "test"))
            func passes(_ duration: Duration) async throws {
                let end = parts.bed.clock.now + duration
                try await shift.until("time has passed", within: .seconds(9000), by: .seconds(5)) {
                    parts.bed.clock.now >= end
                }
            }
            // Beyond the first pauses, and where nothing is tried beyond the long one.
            try await passes(.seconds(3700))
            let before = parts.network.asked
            try await passes(.seconds(600))
            #expect(parts.network.asked - before <= (isEnabled ? 40 : 0))
        }
    }

    @Test func aWrongPasswordIsToldAndNothingIsTaken() async throws {
        let parts = try parts()
        try await open(parts) { shift, taps in
            var form = Self.form
            form.acquirerPassword = "wrong"
            _ = try await taps.save(form, replacing: 0, by: .staff(name: "test"))
            try await shift.until("the light says why") {
                if case .hindered(let reason) = await shift.station.status.light {
                    reason.code == "acquirer_refuses"
                } else {
                    false
                }
            }
            // Nobody was in touch who takes this terminal: no voucher may be taken on the strength of it.
            #expect(await shift.station.lastOnline == nil)
        }
    }

    @Test func whatIsOpenIsFollowedAlsoWhenTapIsSwitchedOff() async throws {
        let parts = try parts()
        let charge = Mutex<ChargeID?>(nil)
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                let stored = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
                try await shift.until("the certificate is there") { await shift.station.status.light == .ready }
                let phone = try await Self.phone(parts)
                try await shift.passes(.seconds(2))
                await phone.setOnline(false)
                // The network goes once she has agreed: before, nobody would ask her.
                let network = parts.network
                parts.bed.whenever.withLock {
                    $0.act = { _, event in if case .accepted = event { network.isUp = false } }
                }
                let id = try await shift.charge()
                charge.withLock { $0 = id }
                try await shift.until(id, is: .processing)
                var form = TapForm()
                form.isEnabled = false
                _ = try await taps.save(form, replacing: stored.version, by: .staff(name: "test"))
                #expect(await shift.station.status.light == .off)
                #expect(await taps.rail != nil)
            }
            parts.network.isUp = true
            try await open(parts) { shift, taps in
                #expect(await taps.rail != nil)
                #expect(await shift.station.status.light == .off)
                let id = try #require(charge.withLock { $0 })
                try await shift.until(id, is: .succeeded)
                try await shift.until("nothing is left", within: .seconds(300)) { await taps.rail == nil }
            }
        }
    }

    @Test func aPasswordIsForgottenWithItsAcquirer() async throws {
        let parts = try parts()
        try await open(parts) { _, taps in
            _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
            var form = TapForm()
            form.isEnabled = false
            form.acquirerURL = "https://elsewhere.example"
            #expect(try await taps.save(form, replacing: 1, by: .staff(name: "test")).hasPassword == false)
            form = TapForm()
            form.isEnabled = true
            #expect(await taps.validate(form).keys.sorted() == ["acquirerPassword"])
        }
    }

    @Test func theStoredPasswordIsNotSentToAnotherAcquirer() async throws {
        let parts = try parts()
        try await open(parts) { shift, taps in
            _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
            var form = TapForm()
            form.acquirerURL = "https://elsewhere.example"
            #expect(await taps.validate(form).keys.sorted() == ["acquirerPassword"])
            form.acquirerPassword = "new"
            #expect(await taps.validate(form).isEmpty)
        }
    }

    @Test func twoWhoSaveAtOnceDoNotUndoEachOther() async throws {
        let parts = try parts()
        try await open(parts) { _, taps in
            _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "one"))
            await #expect(throws: SettingsError.conflict) {
                _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "two"))
            }
        }
    }

    @Test(arguments: [
        ("mode", "mode"), ("serviceUUID", "serviceUUID"), ("writeUUID", "writeUUID"), ("statusUUID", "statusUUID"),
        ("readUUID", "readUUID"), ("tapThreshold", "tapThreshold"), ("tipMode", "tipMode"),
        ("tipMaximumPercent", "tipMaximumPercent"), ("tipPresets", "tipPresets"), ("offlineHours", "offlineHours"),
        ("offlineFloorMinor", "offlineFloorMinor"), ("offlineTotalMinor", "offlineTotalMinor"),
        ("shortCodeAboveMinor", "shortCodeAboveMinor"), ("acquirerURL", "acquirerURL"),
        ("acquirerLogin", "acquirerLogin"), ("terminalID", "terminalID"), ("appLink", "appLink"),
    ])
    func eachFieldSaysWhatIsWrongWithIt(field: String, named: String) async throws {
        let parts = try parts()
        try await open(parts) { _, taps in
            var form = Self.form
            switch field {
            case "mode": form.mode = "far"
            case "serviceUUID": form.serviceUUID = "7d2b"
            case "writeUUID": form.writeUUID = "180f"
            case "statusUUID": form.statusUUID = "7d2b0003-5c1e-4f0a-9b6d-3a8e41f7c2d"
            case "readUUID": form.readUUID = "none"
            case "tapThreshold": form.tapThreshold = -101
            case "tipMode": form.tipMode = "always"
            case "tipMaximumPercent": form.tipMaximumPercent = 101
            case "tipPresets": form.tipPresets = "5, ten"
            case "offlineHours": form.offlineHours = 73
            case "offlineFloorMinor": form.offlineFloorMinor = -1
            case "offlineTotalMinor": form.offlineTotalMinor = 1
            case "shortCodeAboveMinor": form.shortCodeAboveMinor = -1
            case "acquirerURL": form.acquirerURL = "http://elsewhere.example"
            case "acquirerLogin": form.acquirerLogin = ""
            case "appLink": form.appLink = "https://pay.example/tap#more"
            default: form.terminalID = "till 1"
            }
            #expect(await taps.validate(form).keys.sorted() == [named])
            #expect(await taps.validate(Self.form).isEmpty)
        }
    }

    /// Each of the four names is the merchant's to choose, and the service's alone is enough.
    @Test(arguments: [false, true])
    func aPhonePaysUnderTheNamesThatTheMerchantChose(isServiceAlone: Bool) async throws {
        let parts = try parts()
        let service = try #require(ServiceUUID("5a3c0010-0d5e-4b7f-8a21-6f1e90c4d2b3"))
        let all = TapCharacteristics(
            service: service,
            write: ServiceUUID("6b1d7a52-93c4-4e0f-b8d7-15f2a6c09e31"),
            status: ServiceUUID("c40f9b16-2e8a-4d35-9f70-8ab3d17e5264"),
            read: ServiceUUID("18e6d3f9-b7a1-4c62-8d0e-f95b2c7a4013")
        )
        let derived = TapCharacteristics(service: service)
        let (chosen, other) = isServiceAlone ? (derived, all) : (all, derived)
        var form = Self.form
        form.serviceUUID = chosen.service.description
        if !isServiceAlone {
            form.writeUUID = chosen.write.description
            form.statusUUID = chosen.status.description.uppercased()
            form.readUUID = chosen.read.description
        }
        let saved = form
        try await parts.bed.play {
            try await open(parts) { shift, taps in
                let stored = try await taps.save(saved, replacing: 0, by: .staff(name: "test")).settings
                #expect(stored.characteristics == chosen)
                #expect(stored.writeText == (isServiceAlone ? "" : all.write.description))
                try await shift.until("the certificate is there") { await shift.station.status.light == .ready }
                // What another shop's terminals use is not found here.
                try await Self.phone(parts, "ben", characteristics: other)
                let id = try await shift.charge()
                try await shift.passes(.seconds(5))
                try await Self.phone(parts, characteristics: chosen)
                try await shift.until(id, is: .succeeded)
                try await shift.until("anna knows") { parts.bed.outcome("anna") == .paid }
                #expect(!parts.bed.wasAsked("ben"))
            }
            // They hold over a restart.
            try await open(parts) { _, taps in
                #expect(await taps.current?.settings.characteristics == chosen)
            }
        }
    }

    @Test func aCharacteristicOfItsOwnStaysUntilItIsTakenBack() async throws {
        let parts = try parts()
        try await open(parts) { _, taps in
            let own = "6b1d7a52-93c4-4e0f-b8d7-15f2a6c09e31"
            let service = "5a3c0010-0d5e-4b7f-8a21-6f1e90c4d2b3"
            var form = Self.form
            form.writeUUID = own
            var stored = try await taps.save(form, replacing: 0, by: .staff(name: "test")).settings
            #expect(stored.writeText == own && stored.statusText == "" && stored.readText == "")
            form = TapForm()
            form.serviceUUID = service
            stored = try await taps.save(form, replacing: 1, by: .staff(name: "test")).settings
            #expect(stored.serviceText == service && stored.writeText == own)
            #expect(stored.characteristics.status.description == "5a3c0012-0d5e-4b7f-8a21-6f1e90c4d2b3")
            form.writeUUID = ""
            stored = try await taps.save(form, replacing: 2, by: .staff(name: "test")).settings
            #expect(stored.characteristics.write.description == "5a3c0011-0d5e-4b7f-8a21-6f1e90c4d2b3")
        }
    }

    @Test func noTwoOfTheFourNamesAreTheSame() async throws {
        let parts = try parts()
        try await open(parts) { _, taps in
            let service = ServiceUUID.standard
            func named(_ change: (inout TapForm) -> Void) async -> [String: String] {
                var form = Self.form
                change(&form)
                return await taps.validate(form).mapValues(\.code)
            }
            #expect(await named { $0.writeUUID = service.description } == ["writeUUID": "uuid_twice"])
            // One that follows from the service, which nobody has entered.
            #expect(await named { $0.readUUID = service.write.description } == ["readUUID": "uuid_twice"])
            let both = await named {
                $0.statusUUID = "6b1d7a52-93c4-4e0f-b8d7-15f2a6c09e31"
                $0.readUUID = "6B1D7A52-93C4-4E0F-B8D7-15F2A6C09E31"
            }
            #expect(both == ["statusUUID": "uuid_twice", "readUUID": "uuid_twice"])
            // What follows from the service may be said, too.
            #expect(await named { $0.writeUUID = service.write.description } == [:])
        }
    }

    private func light(_ shift: Shift) async -> String? {
        if case .hindered(let reason) = await shift.station.status.light { reason.code } else { nil }
    }

    @Test(arguments: [
        (#""mode":"near""#, #""mode":"orbit""#, "mode"), (#""tips":{"#, #""tips":7,"tapsOfOld":{"#, "tips"),
        ("{", "[", "settings"),
    ])
    func settingsThatAreNotUnderstoodOfferNothingAndStopNothing(old: String, new: String, named: String) async throws {
        let parts = try parts()
        try await open(parts) { shift, taps in
            var form = Self.form
            form.mode = "near"
            _ = try await taps.save(form, replacing: 0, by: .staff(name: "test"))
            try await shift.until("the certificate is there") { await shift.station.status.light == .ready }
            let stored = try #require(try await shift.journal.document("tap"))
            let text = String(decoding: stored.bytes, as: UTF8.self)
            let place = try #require(text.range(of: old))
            let changed = text.replacingCharacters(in: place, with: new)
            _ = try await shift.journal.setDocument(
                "tap",
                Array(changed.utf8),
                expecting: .any,
                by: .terminal,
                at: stored.changedAt
            )
        }
        try await open(parts) { shift, taps in
            #expect(await light(shift) == "settings_not_understood")
            if case .hindered(let reason) = await shift.station.status.light {
                #expect(reason.message.contains(named))
            }
            let version = try #require(await taps.current?.version)
            _ = try await taps.save(Self.form, replacing: version, by: .staff(name: "test"))
            try await shift.until("it is ready again") { await shift.station.status.light == .ready }
        }
    }

    @Test func aStickersTagHoldsOverRestartsUntilItIsChangedInTheSettings() async throws {
        let parts = try parts()
        var form = Self.form
        form.mode = "tagged"
        let tagged = form
        let first = Mutex<String?>(nil)
        try await open(parts) { shift, taps in
            _ = try await taps.save(tagged, replacing: 0, by: .staff(name: "test"))
            try await shift.until("the tag is there") { await shift.station.status.tagURI != nil }
            let uri = await shift.station.status.tagURI
            first.withLock { $0 = uri }
        }
        parts.bed.clock.advance(by: .seconds(2 * 86_400))
        try await open(parts) { shift, taps in
            #expect(await shift.station.status.tagURI == first.withLock { $0 })
            var form = TapForm()
            form.openThreshold = -70
            _ = try await taps.save(form, replacing: 1, by: .staff(name: "test"))
            #expect(await shift.station.status.tagURI == first.withLock { $0 })
            form.renewsTag = true
            _ = try await taps.save(form, replacing: 2, by: .staff(name: "test"))
            let changed = await shift.station.status.tagURI
            #expect(changed != nil && changed != first.withLock { $0 })
        }
    }

    @Test func aTagThatCannotBeKeptIsSaidAndTheOldOneHoldsWithTheOldSettings() async throws {
        let parts = try parts()
        var form = Self.form
        form.mode = "tagged"
        let tagged = form
        try await open(parts) { shift, taps in
            _ = try await taps.save(tagged, replacing: 0, by: .staff(name: "test"))
            try await shift.until("the tag is there") { await shift.station.status.tagURI != nil }
            let before = await shift.station.status.tagURI
            let file = try DatabaseQueue(path: parts.bed.folder + "/journal.sqlite")
            try await file.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER refuse BEFORE INSERT ON document WHEN NEW.name = 'tap-tag'
                            BEGIN SELECT RAISE(ABORT, 'the disk says no'); END
                        """
                )
            }
            var form = TapForm()
            form.renewsTag = true
            form.openThreshold = -70
            let change = form
            await #expect(throws: SettingsError.self) {
                _ = try await taps.save(change, replacing: 1, by: .staff(name: "test"))
            }
            #expect(await shift.station.status.tagURI == before)
            #expect(await taps.current?.version == 1)
            #expect(try await shift.journal.document("tap")?.version == 1)
            try await file.write { db in try db.execute(sql: "DROP TRIGGER refuse") }
            let stored = try await taps.save(change, replacing: 1, by: .staff(name: "test"))
            #expect(stored.settings.thresholds.open == -70)
            #expect(await shift.station.status.tagURI != before)
        }
    }

    @Test func aTerminalWhoseTimeTheAcquirerHasCheckedTakesVouchersUntilSomebodySetsTheClock() async throws {
        let parts = try parts()
        try await open(parts) { shift, taps in
            _ = try await taps.save(Self.form, replacing: 0, by: .staff(name: "test"))
            try await shift.until("the certificate is there") { await shift.station.status.light == .ready }
            #expect(await shift.station.isClockSet)
            parts.bed.clock.setWall(by: .seconds(500))
            #expect(await shift.station.isClockSet)
            parts.bed.clock.setWall(by: .seconds(500))
            #expect(await shift.station.isClockSet == false)
        }
    }
}
