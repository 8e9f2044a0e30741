import Acquirer
import TapProtocol
import Testing
import WalletConnectPay

@testable import Sandbox

/// One lie in an otherwise sound bundle, and the check that finds it.
struct Lie: Sendable, CustomTestStringConvertible {
    let check: String
    var testDescription: String { check + " " + name }
    let name: String
    let tell: @Sendable (AcquirerBench, BenchPhone) async throws -> ExecutionBundle

    init(
        _ check: String,
        _ name: String,
        _ tell: @escaping @Sendable (AcquirerBench, BenchPhone) async throws -> ExecutionBundle
    ) {
        (self.check, self.name, self.tell) = (check, name, tell)
    }
}

struct BundleCheckTests {
    private static func accepted(
        _ check: String,
        _ name: String,
        _ edit: @escaping @Sendable (inout PaymentAcceptance) -> Void
    ) -> Lie {
        Lie(check, name) { bench, phone in
            let request = try bench.terminal.request()
            return try bench.terminal.bundle(request, try await phone.accept(request, edit: edit))
        }
    }

    private static func asked(
        _ check: String,
        _ name: String,
        _ edit: @escaping @Sendable (inout PaymentRequest) -> Void
    ) -> Lie {
        Lie(check, name) { bench, phone in
            let request = try bench.terminal.request(edit: edit)
            return try bench.terminal.bundle(request, try await phone.accept(request))
        }
    }

    private static func certified(
        _ check: String,
        _ name: String,
        stranger: Bool = false,
        _ edit: @escaping @Sendable (inout TerminalCertificate) -> Void = { _ in }
    ) -> Lie {
        Lie(check, name) { bench, phone in
            var payload = bench.terminal.certificate.payload
            edit(&payload)
            let keyring = await bench.acquirer.snapshot.keyring
            let certificate =
                stranger ? try AcquirerKeyring.signed(payload, with: keyring.stranger) : try keyring.signed(payload)
            let request = try Signed(
                signing: PaymentRequest(
                    paymentID: try bench.terminal.paymentID(),
                    certificate: certificate,
                    operatorID: "operator-1",
                    amount: 12_50,
                    currency: "EUR",
                    exponent: 2,
                    createdAtMilliseconds: bench.clock.milliseconds,
                    expiresAtMilliseconds: bench.clock.milliseconds + 120_000
                ),
                with: bench.terminal.signer
            )
            let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
            return ExecutionBundle(
                certificate: certificate,
                request: request,
                pass: bundle.pass,
                accept: bundle.accept,
                claim: bundle.claim
            )
        }
    }

    static let lies: [Lie] = [
        certified("P1", "a certificate that the acquirer did not sign", stranger: true),
        certified("P2", "a certificate that had ended") { $0.notAfterSeconds = $0.notBeforeSeconds - 601 },
        Lie("P6", "a request that another terminal signed") { bench, phone in
            let request = try bench.terminal.request()
            let forged = try Signed(
                signing: request.payload,
                with: try Ed25519Signer(seed: Array(repeating: 9, count: 32))
            )
            return try bench.terminal.bundle(forged, try await phone.accept(forged))
        },
        asked("P7", "another merchant's name") { $0.merchantName = "Somebody Else" },
        asked("P8", "a currency that the terminal may not take") { $0.currency = "XAU" },
        asked("P8", "more than the certificate allows") { $0.amount = 1_000_001 },
        asked("P10", "a payment named long before it was made") { $0.createdAtMilliseconds += 61_000 },
        certified("P11", "real money at a sandbox") { $0.environment = .live },
        Lie("A1", "a pass that the acquirer did not sign") { bench, phone in
            let request = try bench.terminal.request()
            let accepted = try await phone.accept(request)
            let stranger = await bench.acquirer.snapshot.keyring.stranger
            let pass = try Signed(signing: accepted.pass.payload, with: stranger)
            return try bench.terminal.bundle(request, (accepted.accept, pass))
        },
        Lie("A1", "a pass that had ended") { bench, phone in
            let pass = try await phone.client.passes(for: phone.device.publicKey, count: 1)[0]
            bench.clock.advance(by: .seconds(86_400 + 601))
            let request = try bench.terminal.request()
            return try bench.terminal.bundle(request, try await phone.accept(request, pass: pass))
        },
        Lie("A2", "an accept that another device signed") { bench, phone in
            let request = try bench.terminal.request()
            let accepted = try await phone.accept(request)
            let other = try await bench.phone("ben@example.com", "ben-password")
            let pass = try await other.client.passes(for: other.device.publicKey, count: 1)[0]
            return try bench.terminal.bundle(request, (accepted.accept, pass))
        },
        accepted("A3", "another request") { $0.requestHash = ObjectHash(of: [1]) },
        accepted("A4", "another amount") {
            $0.amount -= 1
            $0.total -= 1
        },
        accepted("A4", "another currency") { $0.currency = "USD" },
        accepted("A5", "a total that is no sum") { $0.total += 1 },
        accepted("A6", "more tip than is taken") {
            $0.tip = 5_01
            $0.total += 5_01
        },
        accepted("A7", "agreed after the end") { $0.createdAtMilliseconds += 120_001 },
        Lie("A8", "nobody online and no voucher") { bench, phone in
            let request = try bench.terminal.request()
            return try bench.terminal.bundle(request, try await phone.accept(request), mode: .offline)
        },
        Lie("A8", "a voucher where none are taken") { bench, phone in
            var chain = VoucherChain(pass: try await phone.hold().pass)
            let request = try bench.terminal.request(flags: [])
            return try bench.terminal.bundle(request, try phone.spend(request, &chain), mode: .offline)
        },
        Lie("A8", "more than a voucher pays at once") { bench, phone in
            let pass = try await phone.hold().pass
            let request = try bench.terminal.request(50_01)
            let spend = VoucherSpend(
                passID: pass.payload.passID,
                counter: 1,
                spentAfter: 50_01,
                previousHash: pass.hash
            )
            let accepted = try await phone.accept(request, instrument: "card-customer-demo", pass: pass) {
                $0.spend = spend
                $0.flags.insert(.voucherSpend)
            }
            return try bench.terminal.bundle(request, accepted, mode: .offline)
        },
        Lie("claim", "a claim for another accept") { bench, phone in
            let request = try bench.terminal.request()
            let (one, other) = try await (phone.accept(request), phone.accept(request))
            let bundles = try (bench.terminal.bundle(request, one), bench.terminal.bundle(request, other))
            return ExecutionBundle(
                certificate: bundles.0.certificate,
                request: request,
                pass: bundles.0.pass,
                accept: bundles.0.accept,
                claim: bundles.1.claim
            )
        },
        Lie("claim", "a claim that the phone made up") { bench, phone in
            let request = try bench.terminal.request()
            let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
            let signer = try Ed25519Signer(seed: Array(repeating: 9, count: 32))
            return ExecutionBundle(
                certificate: bundle.certificate,
                request: request,
                pass: bundle.pass,
                accept: bundle.accept,
                claim: try Signed(signing: bundle.claim.payload, with: signer)
            )
        },
    ]

    @Test(arguments: lies)
    func aBundleWithOneLieInItMovesNothingEver(_ lie: Lie) async throws {
        let bench = try await AcquirerBench()
        let bundle = try await lie.tell(bench, try await bench.phone())
        for _ in 0..<2 {
            await #expect(throws: AcquirerError.refused(.init(code: .bundleRefused, detail: lie.check))) {
                try await bench.shop.execute(bundle)
            }
        }
        let payments = await bench.acquirer.snapshot.books.moves.filter { $0.payment != nil }
        #expect(payments.isEmpty)
    }

    @Test func aWalletsAcceptIsNotTheAcquirersToExecute() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request { $0.rails = [.instrument, .paymentLink("https://pay.example/1")] }
        let bundle = try bench.terminal.bundle(request, try await bench.phone().accept(request) { $0.railType = 2 })
        await #expect(throws: AcquirerError.refused(.init(code: .railNotExecuted))) {
            try await bench.shop.execute(bundle)
        }
    }

    @Test func aTerminalThatWasTakenBackExecutesNothingAndIsToldSoByReceipt() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        let request = try bench.terminal.request()
        let bundle = try bench.terminal.bundle(request, try await phone.accept(request))
        try await bench.control("POST", "deny", #"{"terminalId":"till-1"}"#)
        #expect(try await bench.shop.denyList().terminalIDs == ["till-1"])
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .failed)
        await #expect(throws: AcquirerError.refused(.init(code: .terminalDenied))) {
            _ = try await BenchTerminal("till-1", bench.shop, bench.clock)
        }
        try await bench.control("POST", "allow", #"{"terminalId":"till-1"}"#)
        // What was answered stays; the next sale is another payment.
        #expect(try await bench.shop.execute(bundle).end(bundle, bench) == .failed)
        let next = try bench.terminal.request()
        let second = try bench.terminal.bundle(next, try await phone.accept(next))
        #expect(try await bench.shop.execute(second).end(second, bench) == .completed)
    }

    @Test func afterARotationOldCertificatesAndPassesStillPayAndReceiptsAreOfTheNewKey() async throws {
        let bench = try await AcquirerBench()
        let request = try bench.terminal.request()
        let accepted = try await bench.phone().accept(request)
        let before = try await bench.shop.keys()
        try await bench.control("POST", "rotate")
        let after = try await bench.shop.keys()
        #expect(after.keys.map(\.isCurrent) == [true, false])
        #expect(after.keys.last?.publicKey == before.keys.first?.publicKey)
        let bundle = try bench.terminal.bundle(request, accepted)
        let answer = try await bench.shop.execute(bundle)
        #expect(try answer.status(of: bundle, trusting: after.trusted) == .completed)
        // Who still has the old list cannot check it: fetch the keys again.
        #expect(throws: ReceiptRefusal.notTheGateway) { try answer.status(of: bundle, trusting: before.trusted) }
    }
}
