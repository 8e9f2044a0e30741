import Locks
import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import Testing
import WalletConnect

/// Signatures that come when the terminal does not wait for them any more.
@Suite(.timeLimit(.minutes(10)))
struct LateTests {
    /// A wallet that pairs and looks at its request.
    private func ask(_ wallet: Wallet, _ shift: Shift, _ id: ChargeID) async throws -> Request {
        try await wallet.scan(try await shift.pairing(of: id))
        try await shift.until("the wallet is asked") { wallet.count("request") == 1 }
        return try #require(await wallet.client.getPendingRequests().first)
    }

    @Test func aSignatureAfterACancelIsCountedAndTheGatewayIsAskedWhatItIsWorth() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock, phone: .init(store: ClingingStore())) {
                $0.signs = nil
            }
            try await wallet.online {
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    let request = try await ask(wallet, shift, id)
                    let payment = try #require(
                        try await shift.charge(id).attempts.first { $0.rail == .connect }?.offer?.paymentID
                    )
                    _ = try await shift.desk.cancel(id, by: .staff(name: "test"))
                    try await shift.until(id, is: .cancelled)
                    try await shift.until("the sale is over") { await shift.station.status.charges[id] == nil }
                    let asked = bed.line.faults.count(of: payment)
                    try await wallet.respond(request, signs: true)
                    try await shift.until("the answer is counted") {
                        await shift.station.status.counts.lateAnswers == 1
                    }
                    try await shift.until("the gateway is asked") { bed.line.faults.count(of: payment) > asked }
                    #expect(bed.line.faults.count(of: "/confirm") == 0)
                    #expect(try await shift.charge(id).state == .cancelled)
                }
            }
        }
    }

    @Test func aLateSignaturePaysAlsoWhereTheRelayWasAwayMeanwhile() async throws {
        let bed = try ConnectTestBed { $0.quoteLifetimeSeconds = 3000 }
        let state = bed.folder + "/relay"
        let port = Mutex<UInt16>(0)
        try await withThrowingTaskGroup { group in
            group.addTask { [gateway = bed.gateway] in try await gateway.run() }
            defer { group.cancelAll() }
            try await LiveRelay.running(clock: bed.wall, state: state) { relay in
                port.withLock { $0 = relay.port }
            }
            let relay = LiveRelay(port: port.withLock { $0 })
            let wallet = try await Wallet(relay, clock: bed.clock, behind: .seconds(900)) { $0.signs = nil }
            try await wallet.online {
                try await bed.open(relay, timeLimitSeconds: 900) { shift in
                    let id = try await shift.charge()
                    let seen = Mutex<Request?>(nil)
                    try await LiveRelay.running(clock: bed.wall, port: relay.port, state: state) { _ in
                        let request = try await ask(wallet, shift, id)
                        seen.withLock { $0 = request }
                    }
                    try await shift.until("its request is over", within: .seconds(400)) {
                        await shift.station.status.counts.refusals == 1
                    }
                    let request = try #require(seen.withLock { $0 })
                    try await wallet.respond(request, signs: true)
                    try await LiveRelay.running(clock: bed.wall, port: relay.port, state: state) { _ in
                        try await shift.until(id, is: .succeeded)
                    }
                    #expect(try await shift.charge(id).surplusAttempts.isEmpty)
                }
            }
        }
    }

    @Test func aLateSignaturePaysAlsoAfterARestart() async throws {
        let bed = try ConnectTestBed { $0.quoteLifetimeSeconds = 3000 }
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock, behind: .seconds(900)) { $0.signs = nil }
            try await wallet.online {
                let seen = Mutex<(id: ChargeID, request: Request)?>(nil)
                try await bed.open(relay, timeLimitSeconds: 900) { shift in
                    let id = try await shift.charge()
                    let code = try await shift.pairing(of: id)
                    let request = try await ask(wallet, shift, id)
                    seen.withLock { $0 = (id, request) }
                    try await shift.until("another code is shown", within: .seconds(400)) {
                        let now = try await shift.snapshot(id).pairingURI
                        return now != nil && now != code
                    }
                }
                let (id, request) = try #require(seen.withLock { $0 })
                try await wallet.respond(request, signs: true)
                try await bed.open(relay, timeLimitSeconds: 900) { shift in
                    try await shift.until(id, is: .succeeded)
                    #expect(wallet.count("request") == 1)
                    try await shift.until("nothing is left of it") { try await shift.isQuiet() }
                }
            }
        }
    }

    /// Anna signs late, while the gateway is asked what Ben can pay with: Anna pays, and Ben hears that it is over.
    @Test func aLateSignatureIsNotLostBecauseAnotherWalletComesMeanwhile() async throws {
        let bed = try ConnectTestBed { $0.quoteLifetimeSeconds = 3000 }
        try await bed.play { relay in
            let anna = try await Wallet(relay, clock: bed.clock, behind: .seconds(900)) { $0.signs = nil }
            let ben = try await Wallet(relay, clock: bed.clock) { $0.signs = nil }
            try await anna.online {
                try await ben.online {
                    try await bed.open(relay, timeLimitSeconds: 900) { shift in
                        let id = try await shift.charge()
                        let code = try await shift.pairing(of: id)
                        let request = try await ask(anna, shift, id)
                        try await shift.until("another code is shown", within: .seconds(400)) {
                            let now = try await shift.snapshot(id).pairingURI
                            return now != nil && now != code
                        }
                        let gate = Gate()
                        bed.line.faults.before("/options") { await gate.wait() }
                        try await ben.scan(try await shift.pairing(of: id))
                        try await shift.until("the gateway is asked for Ben") { await gate.isWaitedFor }
                        try await anna.respond(request, signs: true)
                        try await shift.until("Anna's answer is there") {
                            await shift.station.status.counts.lateAnswers == 1
                        }
                        await gate.open()
                        try await shift.until(id, is: .succeeded)
                        #expect(ben.count("signed") == 0)
                        try await shift.until("Ben hears of it") { ben.count("end") == 1 }
                        try await shift.until("nothing is left of it") { try await shift.isQuiet() }
                    }
                }
            }
        }
    }

    /// The customer signs on one device and closes the wallet on another: the end of the session overtakes the signature.
    @Test func aSignatureOfAWalletThatHasLeftStillPays() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let (store, copy) = (MemoryStore(), MemoryStore())
            let phone = Wallet.Phone(store: store)
            let wallet = try await Wallet(relay, clock: bed.clock, phone: phone) { $0.signs = nil }
            try await bed.open(relay) { shift in
                let id = try await shift.charge()
                let seen = Mutex<Request?>(nil)
                try await wallet.online {
                    let request = try await ask(wallet, shift, id)
                    seen.withLock { $0 = request }
                    try await copy.apply(store.values(prefix: "").map { .set(name: $0.key, value: $0.value) })
                    try await bed.clock.passing { try await wallet.client.disconnect(topic: request.topic) }
                    try await shift.until("the terminal has heard of it") {
                        try await shift.snapshot(id).connect?.trouble?.code == "connect_left"
                    }
                }
                let other = try await Wallet(
                    relay,
                    clock: bed.clock,
                    phone: .init(key: phone.key, store: ClingingStore(copy))
                ) { $0.signs = nil }
                try await other.online {
                    try await other.respond(try #require(seen.withLock { $0 }), signs: true)
                    try await shift.until(id, is: .succeeded)
                }
                #expect(try await shift.charge(id).surplusAttempts.isEmpty)
            }
        }
    }

    @Test func aSignatureThatComesWhileTheTerminalIsOffIsNotAskedForAgain() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.signs = nil }
            try await wallet.online {
                let seen = Mutex<(id: ChargeID, request: Request)?>(nil)
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    let request = try await ask(wallet, shift, id)
                    seen.withLock { $0 = (id, request) }
                }
                let (id, request) = try #require(seen.withLock { $0 })
                try await wallet.respond(request, signs: true)
                // The relay is faster than the gateway, so that the answer is there before anybody goes on with the charge.
                bed.line.faults.before("/payments") {
                    try? await bed.clock.terminalClock.sleep(.seconds(2))  // Cancelled: the test is over.
                }
                try await bed.open(relay) { shift in
                    try await shift.until(id, is: .succeeded)
                    #expect(wallet.count("request") == 1)
                }
            }
        }
    }

    @Test func aWalletThatSignsAndLeavesAtOnceHasPaid() async throws {
        for round in 0..<5 {
            let bed = try ConnectTestBed()
            try await bed.play { relay in
                let wallet = try await Wallet(relay, clock: bed.clock) { $0.signs = nil }
                try await wallet.online {
                    try await bed.open(relay) { shift in
                        let id = try await shift.charge()
                        let request = try await ask(wallet, shift, id)
                        try await bed.clock.passing {
                            async let signed: Void = wallet.respond(request, signs: true)
                            async let left: Void = wallet.client.disconnect(topic: request.topic)
                            _ = try? await (signed, left)
                        }
                        guard wallet.count("signed") == 1 else { return }
                        do { try await shift.until(id, is: .succeeded) } catch {
                            Issue.record("round \(round): \(error)")
                        }
                    }
                }
            }
        }
    }
}

/// Holds whoever comes until it is opened.
actor Gate {
    private let opening = AsyncStream<Never>.makeStream()
    private(set) var isWaitedFor = false

    /// Returns once it is open, or the task is cancelled. For one caller.
    func wait() async {
        isWaitedFor = true
        for await _ in opening.stream {}
    }

    func open() { opening.continuation.finish() }
}
