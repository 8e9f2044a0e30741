import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import Testing
import WalletConnect

/// The power goes out at every record, the relay leaves, the wallet leaves: the charge ends true, and is paid once.
@Suite(.timeLimit(.minutes(10)))
struct PowerTests {
    /// Plays one charge to its end over as many runs as the power allows.
    /// - Returns: How many records one run without a cut writes.
    @discardableResult
    private func play(cutAfter records: Int?) async throws -> Int {
        let bed = try ConnectTestBed()
        let fuse = Fuse(after: records)
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                let opened = Opened()
                try await bed.open(relay, fuse: fuse) { shift in
                    do {
                        let id = try await shift.charge()
                        await opened.set(id)
                        try await shift.until("a code, or darkness") {
                            let uri = try await shift.snapshot(id).pairingURI
                            return uri != nil || fuse.isBlown
                        }
                        if let uri = try await shift.snapshot(id).pairingURI, !fuse.isBlown {
                            try await wallet.scan(uri)
                            await opened.scan(uri)
                        }
                        try await shift.until("paid, or darkness") {
                            let isPaid = try await shift.charge(id).state == .succeeded
                            let isQuiet = try await shift.isQuiet()
                            return isPaid && isQuiet || fuse.isBlown
                        }
                    } catch { guard fuse.isBlown else { throw error } }
                }
                guard fuse.isBlown, let id = await opened.id else { return }
                try await bed.open(relay) { shift in
                    guard try await shift.charge(id).attempts.contains(where: { $0.rail == .connect }) else {
                        // It had not begun: the charge goes on by its other way.
                        _ = try await shift.desk.cancel(id, by: .staff(name: "test"))
                        return try await shift.until(id, is: .cancelled)
                    }
                    // A code that no wallet has taken yet is shown again, or a new one.
                    try await shift.until("it goes on") {
                        let state = try await shift.charge(id).state
                        if state.isFinal { return true }
                        if let uri = try await shift.snapshot(id).pairingURI, await opened.uri != uri {
                            try await wallet.scan(uri)
                            await opened.scan(uri)
                        }
                        return false
                    }
                    #expect(try await shift.charge(id).state == .succeeded)
                    #expect(try await shift.charge(id).surplusAttempts.isEmpty)
                    try await shift.until("nothing is left of it") { try await shift.isQuiet() }
                }
            }
        }
        #expect(try await bed.paidPayments() <= 1)
        return fuse.records
    }

    private actor Opened {
        private(set) var id: ChargeID?
        private(set) var uri: String?
        func set(_ id: ChargeID) { self.id = id }
        func scan(_ uri: String) { self.uri = uri }
    }

    @Test func theTerminalsPowerMayGoAtAnyRecord() async throws {
        let records = try await play(cutAfter: nil)
        #expect(records > 15)
        for cut in 1...records {
            do { try await play(cutAfter: cut) } catch { Issue.record("cut after record \(cut): \(error)") }
        }
    }

    @Test func aRelayThatLeavesAndComesBackHoldsUpNothingForGood() async throws {
        let bed = try ConnectTestBed()
        let state = bed.folder + "/relay"
        let merchant = bed.gateway
        try await withThrowingTaskGroup { group in
            group.addTask { try await merchant.run() }
            defer { group.cancelAll() }
            let port = Port()
            try await LiveRelay.running(clock: bed.wall, state: state) { relay in await port.set(relay) }
            let first = try #require(await port.relay)
            let wallet = try await Wallet(first, clock: bed.clock)
            try await wallet.online {
                try await bed.open(first) { shift in
                    let id = try await shift.charge()
                    try await shift.until("nothing can connect") {
                        await shift.station.status.light.isTrouble
                    }
                    #expect(try await shift.snapshot(id).pairingURI == nil)
                    try await shift.until("Scan goes on") { try await shift.snapshot(id).paymentLink != nil }
                    try await LiveRelay.running(clock: bed.wall, port: first.port, state: state) { _ in
                        try await wallet.scan(try await shift.pairing(of: id))
                        try await shift.until("the wallet is asked") { wallet.count("request") == 1 }
                    }
                    try await bed.passes(.seconds(5))
                    try await LiveRelay.running(clock: bed.wall, port: first.port, state: state) { _ in
                        try await shift.until(id, is: .succeeded)
                    }
                    #expect(try await shift.charge(id).surplusAttempts.isEmpty)
                }
            }
        }
    }

    private actor Port {
        private(set) var relay: LiveRelay?
        func set(_ relay: LiveRelay) { self.relay = relay }
    }

    @Test func aWalletThatLeavesInTheMiddleGoesOnWhereItWas() async throws {
        let bed = try ConnectTestBed()
        let phone = Wallet.Phone()
        try await bed.play { relay in
            try await bed.open(relay) { shift in
                let id = try await shift.charge()
                let code = try await shift.pairing(of: id)
                let before = try await Wallet(relay, clock: bed.clock, phone: phone) { $0.signs = nil }
                try await before.online {
                    try await before.scan(code)
                    try await shift.until("the wallet is asked") { before.count("request") == 1 }
                }
                try await bed.passes(.seconds(20))
                let after = try await Wallet(relay, clock: bed.clock, phone: phone)
                try await after.online {
                    let request = try #require(await after.client.getPendingRequests().first)
                    try await after.respond(request, signs: true)
                    try await shift.until(id, is: .succeeded)
                }
            }
        }
    }
}
