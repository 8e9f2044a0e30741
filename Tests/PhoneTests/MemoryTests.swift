import Foundation
import Sandbox
import StrictJSON
import TapProtocol
import Testing
import TestSupport

/// What a phone still knows after its power has gone out.
@Suite(.timeLimit(.minutes(2)))
struct MemoryTests {
    let bench: Bench
    var merchant: CertifiedMerchant { bench.merchant }

    init() throws { bench = try Bench() }

    // MARK: The power goes out

    static let points = [
        "before:33", "sent:33", "before:34", "sent:34", "heard:2", "before:68", "sent:68", "heard:64", "heard:68",
        "before:64", "sent:64", "before:69", "sent:69", "before:36", "heard:66",
    ]

    enum Shape: CaseIterable { case bothOnline, phoneOffline, terminalOffline, bothOffline }

    /// A terminal without malice plays on until the payment is over, whatever happens to the phone in the middle of it.
    @Test(arguments: points, Shape.allCases)
    func aPhoneThatDiesAnywherePaysOnceAndKnowsIt(point: String, shape: Shape) async throws {
        let request = try merchant.request {
            switch shape {
            case .bothOnline, .phoneOffline: $0.flags = [.terminalOnline, .vouchersTaken]
            case .terminalOffline, .bothOffline: $0.flags = .vouchersTaken
            }
        }
        let id = request.payload.paymentID
        let storage = Drawer()
        var configuration = bench.configuration { $0.voucherWish = .standard }
        try await bench.run(configuration, storage: storage) { _ in }
        configuration.isOnline = shape == .bothOnline || shape == .terminalOffline
        let clerk = Clerk(bench, request, isOnline: shape == .bothOnline || shape == .phoneOffline)
        configuration.diesAt = KillPoint(point)
        #expect(configuration.diesAt != nil)
        try await clerk.serve(configuration, storage)
        configuration.diesAt = nil
        // Whatever was left open is found out: by the terminal, and by the gateway.
        for _ in 0..<3 where bench.diary.outcomes.last != .paid {
            configuration.isOnline = configuration.isOnline || bench.diary.outcomes.last == .acceptedOffline
            if let accept = clerk.promised {
                let receipt = try await bench.acquirer.receipt(request, accept)
                await bench.acquirer.set(syncAnswer: .settled(receipt))
            }
            try await clerk.serve(configuration, storage)
        }
        #expect(await bench.acquirer.charges(id) == 1)
        #expect(bench.diary.outcomes.last == .paid)
        #expect(!bench.diary.outcomes.contains(.notPaid) && !bench.diary.outcomes.contains(.declined))
        #expect(!bench.diary.events.contains(.notice(.cancelled)))
        // Every accept that left was the same.
        #expect(clerk.accepts.count == 1)
    }

    /// A terminal without network finds its payer by that name alone.
    @Test func anAcceptThatIsOutKeepsItsSessionsNameOverARestart() async throws {
        let storage = Drawer()
        let request = try merchant.request()
        var configuration = bench.configuration { $0.diesAt = KillPoint(.heard, 2) }
        let first = try await bench.run(configuration, storage: storage) { phone in
            let name = try await sessionName(of: phone)
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            await bench.diary.wait(for: .died(KillPoint(.heard, 2)))
            return name
        }
        configuration.diesAt = nil
        let again = try await bench.run(configuration, storage: storage) { phone in
            let name = try await sessionName(of: phone)
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            #expect(try await terminal.received().state == .acceptSent)
            let (accept, _) = try await terminal.accept()
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            await bench.diary.wait { $0.contains { if case .ended(_, .paid) = $0 { true } else { false } } }
            return name
        }
        #expect(again == first)
        // The next payment is no business of whoever saw this one.
        let next = try await bench.run(configuration, storage: storage) { try await sessionName(of: $0) }
        #expect(next != first)
        #expect(await bench.acquirer.charges(request.payload.paymentID) == 1)
    }

    /// Shops that compare what they were shown find no customer in it.
    @Test func noTwoPassesHaveAKeyInCommon() async throws {
        let storage = Drawer()
        var keys: [VerificationKey] = []
        for _ in 0..<2 {
            keys += try await bench.run(bench.configuration { $0.voucherWish = .standard }, storage: storage) { phone in
                var shown: [VerificationKey] = []
                for isVoucher in [false, true] {
                    let request = try merchant.request { $0.flags = isVoucher ? .vouchersTaken : .terminalOnline }
                    if isVoucher { await phone.setOnline(false) }
                    let terminal = Stranger(phone, merchant)
                    try await terminal.connect(request)
                    _ = try await terminal.received()
                    let (accept, pass) = try await terminal.accept()
                    #expect((accept.payload.spend != nil) == isVoucher)
                    try accept.verify(pass.payload.deviceKey)
                    shown.append(pass.payload.deviceKey)
                    try await terminal.send(
                        .claim(merchant.claim(accept.hash, of: request, mode: isVoucher ? .offline : .online)),
                        answering: 2
                    )
                    await bench.diary.wait {
                        $0.contains { if case .ended(accept.payload.paymentID, _) = $0 { true } else { false } }
                    }
                    await bench.pass(.seconds(5), phone)
                    await terminal.disconnect()
                }
                return shown
            }
        }
        // The voucher's own spends form a chain.
        #expect(keys.count == 4 && Set(keys).count == 3 && keys[1] == keys[3])
    }

    /// A terminal without network hears of the end by this phone alone, and a question moves no money.
    @Test func aRestartedPhoneHandsItsBundleInAgain() async throws {
        let storage = Drawer()
        let request = try merchant.request { $0.flags = [] }
        let id = request.payload.paymentID
        try await bench.run(bench.configuration(), storage: storage) { phone in
            await bench.acquirer.set(isReachable: false)
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            try await terminal.hearsNothingMore()
        }
        #expect(await bench.acquirer.charges(id) == 0)
        await bench.acquirer.set(isReachable: true)
        // No terminal is near any more.
        let later = Diary()
        try await bench.run(bench.configuration(), storage: storage, diary: later) { _ in
            await later.wait { $0.contains { if case .ended(id, .paid) = $0 { true } else { false } } }
        }
        #expect(await bench.acquirer.charges(id) == 1)
        #expect(await bench.acquirer.bundles == 1)
    }

    /// As a terminal that comes by reads it.
    private func sessionName(of phone: TapPhone) async throws -> [UInt8] {
        let first = await phone.read(by: "passer-by")
        return try Hello(decoding: Array(first.dropFirst(32))).sessionID
    }

    @Test func aVouchersCounterNeverGoesBack() async throws {
        let storage = Drawer()
        var configuration = bench.configuration { $0.voucherWish = .standard }
        try await bench.run(configuration, storage: storage) { _ in }
        configuration.isOnline = false
        configuration.diesAt = KillPoint(.before, 34)
        var seen: [Int] = []
        for _ in 0..<3 {
            // The accept was signed and has not left: its place in the chain is used all the same.
            let diary = Diary()
            try await bench.run(configuration, storage: storage, diary: diary) { phone in
                let terminal = Stranger(phone, merchant)
                try await terminal.connect(merchant.request(1_00) { $0.flags = .vouchersTaken })
                _ = try await terminal.received()
                await diary.wait { $0.contains(.died(KillPoint(.before, 34))) }
            }
            let spends = diary.events.compactMap { event -> Int? in
                guard case .accepted(_, _, let means) = event else { return nil }
                return means.split(separator: " ").last.flatMap { Int($0) }
            }
            seen.append(try #require(spends.last))
            // A phone in SENT asks about nothing else before that is settled: settle it.
            try await release(storage)
        }
        #expect(seen == [1, 2, 3])
    }

    /// The gateway knows nothing of the payment, and can take it no more.
    private func release(_ storage: Drawer) async throws {
        let diary = Diary()
        try await bench.run(bench.configuration(), storage: storage, diary: diary) { phone in
            await bench.pass(.seconds(721), phone)
            await bench.pass(.seconds(2), phone)
            await diary.wait { $0.contains { if case .ended(_, .notPaid) = $0 { true } else { false } } }
        }
    }

    @Test func aPhoneThatCannotStoreSendsNoAccept() async throws {
        let storage = BrokenDrawer()
        try await bench.run(bench.configuration(), storage: storage) { phone in
            let terminal = Stranger(phone, merchant)
            storage.breakDown()
            try await terminal.connect(merchant.request())
            guard case .message(let message) = try await terminal.next(), case .received = message.body else {
                throw CertifiedMerchant.Broken()
            }
            await bench.diary.wait { $0.contains { if case .broken = $0 { true } else { false } } }
        }
        #expect(!bench.diary.events.contains { if case .sent(.accept) = $0 { true } else { false } })
    }

    // MARK: The file

    @Test func theFileIsOnePhonesAlone() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "phone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "phone.state").path
        let file = try PhoneStateFile(path)
        #expect(try file.load() == nil)
        try file.save("one")
        #expect {
            _ = try PhoneStateFile(path)
        } throws: {
            ($0 as? StateFileError)?.description == "\(path) is in use by another phone"
        }
        try file.save("two")
        #expect(try file.load() == "two")
    }

    @Test func aDamagedFileIsNotForgotten() async throws {
        let storage = Drawer()
        try await bench.run(bench.configuration(), storage: storage) { _ in }
        let text = try #require(storage.load())
        for damaged in ["", "x", String(text.dropLast()), text.replacing("visa", with: "vise")] {
            let copy = Drawer()
            copy.save(damaged)
            #expect(throws: StateFileError.self) {
                _ = try TapPhone(bench.configuration(), clock: bench.clock.sandboxClock, storage: copy)
            }
        }
    }

    @Test func aFinalPaymentIsForgottenAfterADay() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        let storage = Drawer()
        try await bench.run(bench.configuration(), storage: storage) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            guard case .result = try await terminal.message().body else { throw CertifiedMerchant.Broken() }
        }
        #expect(storage.load()?.contains(id.description) == true)
        bench.clock.advance(by: .seconds(86_399))
        let later = Diary()
        try await bench.run(bench.configuration(), storage: storage, diary: later) { _ in }
        #expect(storage.load()?.contains(id.description) == true)
        bench.clock.advance(by: .seconds(2))
        let evenLater = Diary()
        try await bench.run(bench.configuration(), storage: storage, diary: evenLater) { _ in }
        #expect(storage.load()?.contains(id.description) == false)
    }
}
