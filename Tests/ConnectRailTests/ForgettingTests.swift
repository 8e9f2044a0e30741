import Payments
import Sandbox
import Testing
import WalletConnect

@testable import Terminal

/// The owner lets the terminal forget its wallets.
@Suite(.timeLimit(.minutes(10)))
struct ForgettingTests {
    private func names(_ terminal: ConfiguredTerminal) async throws -> [String] {
        try await ConnectStore(journal: terminal.shift.journal).values(prefix: "").keys.sorted()
    }

    @Test func everythingIsForgottenAndTheNextWalletPays() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.openConfigured(relay) { terminal in
                    let shift = terminal.shift
                    let first = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: first))
                    try await shift.until(first, is: .succeeded)
                    try await shift.until("the sale is over") {
                        await shift.station.status.charges.isEmpty && wallet.count("end") == 1
                    }
                    let identity = try await names(terminal).filter { $0.hasPrefix("connect-relay/") }
                    #expect(!identity.isEmpty)
                    let known = try #require(
                        try await ConnectStore(journal: shift.journal).values(prefix: identity[0])[identity[0]]
                    )
                    try await bed.clock.passing { try await terminal.wallets.forgetEverything() }
                    try await shift.until("there is a connection again") {
                        await shift.station.status.light == .ready
                    }
                    let left = try await names(terminal)
                    #expect(!left.contains { $0.hasPrefix("wc2/") || $0.hasPrefix("connect/") })
                    let fresh = try await ConnectStore(journal: shift.journal).values(prefix: identity[0])[identity[0]]
                    #expect(fresh != nil && fresh != known, "the relay knows it by another key")
                    let next = try await shift.charge()
                    try await wallet.scan(try await shift.pairing(of: next))
                    try await shift.until(next, is: .succeeded)
                }
            }
        }
    }

    @Test func whileAWalletCanPayNothingIsForgotten() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock)
            try await wallet.online {
                try await bed.openConfigured(relay) { terminal in
                    let shift = terminal.shift
                    let id = try await shift.charge()
                    let code = try await shift.pairing(of: id)
                    await #expect(throws: ConnectForgetError.inUse) { try await terminal.wallets.forgetEverything() }
                    try await wallet.scan(code)
                    try await shift.until(id, is: .succeeded)
                }
            }
        }
    }

    @Test func aConnectedWalletHearsThatItIsForgotten() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let wallet = try await Wallet(relay, clock: bed.clock) { $0.signs = nil }
            try await wallet.online {
                try await bed.openConfigured(relay) { terminal in
                    // A session that no charge knows, as another program or an older version may have left it.
                    let engine = try #require(await terminal.shift.station.engine?.client)
                    let uri = try await bed.clock.passing {
                        try await engine.connect(namespaces: ConnectChecks(chains: ["eip155:8453"]).proposal)
                    }
                    try await wallet.scan(uri.absoluteString)
                    try await terminal.shift.until("there is a session") { await !engine.getSessions().isEmpty }
                    try await bed.clock.passing { try await terminal.wallets.forgetEverything() }
                    try await terminal.shift.until("the wallet hears of it") { wallet.count("end") == 1 }
                }
            }
        }
    }
}
