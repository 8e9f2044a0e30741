import Ethereum
import Foundation
import Locks
import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import Testing
import TestSupport
import WalletConnect

/// The relay or the wallet loses its power at each message of a payment, one payment for each. The customer pays once all the
/// same.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ChaosTests {
    private func expectTrue(_ shift: Shift, _ id: ChargeID, _ what: String) async throws {
        let charge = try await shift.charge(id)
        #expect(charge.surplusAttempts.isEmpty, "\(what)")
        #expect(try await shift.bed.paidPayments() == 1, "\(what)")
    }

    @Test(arguments: [
        (RelayFault.Place.publish, RelayFault.Moment.before), (.publish, .after), (.subscribe, .before),
        (.subscribe, .after), (.fetch, .before), (.push, .after), (.ack, .before),
    ])
    func theRelayDiesAtEachMessageAndTheWalletPaysAllTheSame(
        place: RelayFault.Place,
        moment: RelayFault.Moment
    ) async throws {
        var number = 1
        while number < 60 {
            let fault = RelayFault(place, .die, moment: moment, fromCall: number, times: 1)
            let what = "\(place) \(moment) \(number)"
            let bed = try ConnectTestBed()
            let hasDied = try await MortalRelay.running(bed, fault) { relay in
                let wallet = try await Wallet(relay, clock: bed.clock)
                try await wallet.online {
                    try await bed.open(relay) { shift in
                        let id = try await shift.charge()
                        try await wallet.scan(patiently: try await shift.pairing(of: id), bed)
                        try await shift.until(id, is: .succeeded)
                        try await self.expectTrue(shift, id, what)
                        try await shift.until("the session is over, \(what)") { wallet.count("end") == 1 }
                        #expect(wallet.count("request") == 1, "\(what)")
                    }
                }
            }
            guard hasDied else { break }
            number += 1
        }
        print("relay: \(number - 1) deaths at \(place), \(moment)")
        #expect(number > 3)
    }

    @Test func theWalletDiesAtEachRecordAndPaysAllTheSame() async throws {
        var number = 1
        while number < 100 {
            let (bed, phone) = (try ConnectTestBed(), MortalPhone(diesAfter: number))
            let what = "wallet, record \(number)"
            try await bed.play { relay in
                try await bed.open(relay) { shift in
                    let id = try await shift.charge()
                    let code = try await shift.pairing(of: id)
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await phone.live(at: relay, bed.clock, scanning: code) }
                        defer { group.cancelAll() }
                        try await shift.until(id, is: .succeeded)
                    }
                    try await self.expectTrue(shift, id, what)
                }
            }
            guard phone.hasDied else { break }
            number += 1
        }
        print("wallet: \(number - 1) deaths")
        #expect(number > 10)
    }
}

extension Wallet {
    /// Scans until the relay is there, as a customer does.
    func scan(patiently code: String, _ bed: ConnectTestBed) async throws {
        try await bed.until("the code is scanned") {
            do {
                try await self.scan(code)
                return true
            } catch let error as PairingError {
                switch error {
                case .notConnected, .timedOut: return false
                case .alreadyPaired: return true  // It was scanned, and approved meanwhile.
                default: throw error
                }
            }
        }
    }
}

/// A wallet whose phone loses its power after so many records, and is switched on again with what its disk had.
private final class MortalPhone: PhoneStorage {
    private struct State {
        var text: String?
        var left: Int
        var hasDied = false
    }

    private let key = PrivateKey()
    private let identity = RelayIdentity()
    private let state: Mutex<State>
    private let deaths = AsyncStream<Void>.makeStream()

    init(diesAfter records: Int) { state = Mutex(State(left: records)) }

    var hasDied: Bool { state.withLock(\.hasDied) }

    func load() throws(StateFileError) -> String? { state.withLock(\.text) }

    func save(_ text: String) throws(StateFileError) {
        let (isDark, dies) = state.withLock { state -> (Bool, Bool) in
            // Between the record and the restart nothing is kept.
            if state.left == 0, !state.hasDied { return (true, false) }
            state.text = text
            if state.left > 0 { state.left -= 1 }
            return (false, state.left == 0 && !state.hasDied)
        }
        if dies { deaths.continuation.yield() }
        if isDark { throw StateFileError(description: "the power is out") }
    }

    /// Lives until cancelled.
    func live(at relay: LiveRelay, _ clock: ManualClock, scanning code: String) async throws {
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.once(relay, clock, code) }
            defer { group.cancelAll() }
            for await _ in deaths.stream { break }
        }
        guard !Task.isCancelled else { return }
        state.withLock { $0.hasDied = true }
        try await once(relay, clock, code)
    }

    private func once(_ relay: LiveRelay, _ clock: ManualClock, _ code: String) async throws {
        let memory = try ConnectWalletMemory(self)
        let terminalClock = clock.terminalClock
        var settings = RelayClientSettings(url: "ws://\(relay.host)", projectID: nil)
        settings.pauses = [.milliseconds(100)]
        let line = try RelayClient(
            settings: settings,
            identity: identity,
            sockets: try ConnectTestBed.plain.get(),
            memory: memory,
            clock: RelayClock(
                elapsed: terminalClock.elapsed,
                wallMilliseconds: { terminalClock.wallTime().millisecondsSince1970 },
                sleep: terminalClock.sleep,
                random: { UInt64.random(in: .min ... .max) }
            )
        )
        let client = try await SignClient(
            metadata: ConnectWallet.metadata,
            relay: line,
            storage: memory,
            clock: Wallet.Watch(clock: terminalClock, behind: .zero)
        )
        let wallet = ConnectWallet(
            script: ConnectWalletScript(),
            key: key,
            client: client,
            clock: Wallet.Watch(clock: terminalClock, behind: .zero),
            log: { _ in }
        )
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await line.run() }
            group.addTask { _ = await wallet.run(scanning: code) }
            await group.next()
            group.cancelAll()
        }
    }
}
