import Acquirer
import Foundation
import TapProtocol
import Testing
import TestSupport
import WalletConnectPay

@testable import Sandbox

struct RememberingTests {
    /// A path that is gone with the scope.
    private func withPath(_ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body($0 + "/state") }
    }

    private func open(_ path: String, _ clock: StandingClock, faucet: Int = 1_000_000) throws -> SandboxAcquirer {
        var configuration = AcquirerConfiguration()
        configuration.controlToken = "control"
        configuration.partnerKey = "partner"
        configuration.faucetMinorUnits = faucet
        configuration.customers.append(
            .init(id: "ben", name: "Ben", identifier: "ben@example.com", password: "ben-password")
        )
        return try SandboxAcquirer.remembering(configuration, in: path, clock: clock.sandbox).acquirer
    }

    /// Everything that can happen, once.
    private func live(_ bench: AcquirerBench) async throws -> [ExecutionBundle] {
        let phone = try await bench.phone()
        var bundles: [ExecutionBundle] = []
        for place in 0..<3 {
            let request = try bench.terminal.request(10_00 + place)
            bundles.append(try bench.terminal.bundle(request, try await phone.accept(request)))
            _ = try await bench.shop.execute(bundles[place])
            bench.clock.advance(by: .milliseconds(700))
        }
        _ = try await bench.shop.void(bundles[1].paymentID)
        try await bench.control("POST", "rotate")
        let hold = try await phone.hold()
        var chain = VoucherChain(pass: hold.pass)
        let old = chain
        for _ in 0..<2 {
            let request = try bench.terminal.request(5_00, flags: .vouchersTaken)
            let bundle = try bench.terminal.bundle(request, try phone.spend(request, &chain), mode: .offline)
            _ = try await bench.shop.sync([.bundle(bundle)])
            bundles.append(bundle)
            chain = old
        }
        try await bench.control("POST", "deny", #"{"terminalId":"till-9"}"#)
        return bundles
    }

    @Test func whatWasAnsweredIsStillSoAfterARestart() async throws {
        try await withPath { path in
            let clock = StandingClock()
            var before: AcquirerBooks?
            var answers: [ExecutionAnswer] = []
            var bundles: [ExecutionBundle] = []
            var session: Secret?
            do {
                let bench = try await AcquirerBench(clock: clock, acquirer: try open(path, clock))
                bundles = try await live(bench)
                for bundle in bundles { answers.append(try await bench.shop.execute(bundle)) }
                before = await bench.acquirer.snapshot.books
                session = bench.shop.session
            }
            let acquirer = try open(path, clock)
            var client = try InProcessAcquirer(acquirer).client()
            #expect(await acquirer.snapshot.books == before)
            for (bundle, answer) in zip(bundles, answers) { #expect(try await client.execute(bundle) == answer) }
            #expect(try await client.keys().keys.count == 2)
            #expect(try await client.denyList().terminalIDs == ["till-9"])
            client.session = session  // Who was logged in still is.
            #expect(try await client.payments().payments.count == 5)
        }
    }

    @Test func aChangedSettingDoesNotChangeThePast() async throws {
        try await withPath { path in
            let clock = StandingClock()
            var moved = 0
            do {
                let bench = try await AcquirerBench(clock: clock, acquirer: try open(path, clock))
                _ = try await live(bench)
                moved = await bench.moved().card
            }
            let acquirer = try open(path, clock, faucet: 5)
            let card = await acquirer.snapshot.books.balance(.instrument("card-customer-demo"), "EUR")
            #expect(card - 1_000_000 == moved)
            #expect(await acquirer.snapshot.books.balance(.instrument("card-ben"), "EUR") == 5)
        }
    }

    @Test func aTokenThatWasRedeemedBeforeTheRestartStaysRedeemed() async throws {
        try await withPath { path in
            let clock = StandingClock()
            let key = DelegatedKey()
            var token: Secret?
            do {
                let bench = try await AcquirerBench(clock: clock, acquirer: try open(path, clock))
                let body = Array(#"{"userIdentifier":"ben@example.com","jwk":\#(key.jwk)}"#.utf8)
                let headers = ["Api-Key": "partner"]
                let request = GatewayRequest("POST", "/delegated/tokens", headers: headers, body: body)
                let reply = try #require(await bench.acquirer.answer(request))
                let opened = try key.open(try #require(reply.json?["jwe"]?.stringValue))
                _ = try await bench.shop.logIn(initToken: opened)
                token = opened
            }
            let client = try InProcessAcquirer(try open(path, clock)).client()
            let redeemed = try #require(token)
            await #expect(throws: AcquirerError.refused(.init(code: .loginRefused))) {
                try await client.logIn(initToken: redeemed)
            }
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(!text.contains("password"))
            #expect(!text.contains(redeemed.reveal()))
        }
    }

    @Test func aDamagedFileIsNamedAndNotUsed() async throws {
        try await withPath { path in
            let clock = StandingClock()
            do {
                let bench = try await AcquirerBench(clock: clock, acquirer: try open(path, clock))
                _ = try await live(bench)
            }
            var lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
            lines[2] = lines[2].replacing("10", with: "11")
            try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
            #expect(throws: StateFileError(description: "\(path): line 3 is damaged")) { try open(path, clock) }
        }
    }
}
