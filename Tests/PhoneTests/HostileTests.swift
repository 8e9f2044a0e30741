import Sandbox
import TapProtocol
import Testing
import TestSupport

/// Terminals that break the rules, by malice or by mistake.
@Suite(.timeLimit(.minutes(1)))
struct HostileTests {
    let bench: Bench
    var merchant: CertifiedMerchant { bench.merchant }

    init() throws { bench = try Bench() }

    /// A phone that is being asked, and has not answered.
    private func asked(
        _ user: PhoneUser = PhoneUser(answer: .never),
        bytes: Int = 182,
        _ body: (TapPhone, Stranger, Signed<PaymentRequest>) async throws -> Void
    ) async throws {
        let request = try merchant.request()
        try await bench.run(bench.configuration(user)) { phone in
            let terminal = Stranger(phone, merchant, bytes: bytes)
            try await terminal.connect(request)
            _ = try await terminal.received()
            try await body(phone, terminal, request)
        }
    }

    // MARK: Fragments

    enum Break: CaseIterable { case lost, repeated, swapped, emptied, lengthened, cut, marked, inserted }

    @Test(arguments: Break.allCases, 0..<4)
    func aBrokenFragmentEndsTheLinkAndNothingElse(how: Break, place: Int) async throws {
        try await asked(bytes: 24) { phone, terminal, request in
            let ping = [UInt8](repeating: 1, count: 8)
            var fragments = try terminal.fragments(
                .result(
                    request.payload.paymentID,
                    .completed,
                    receipt: nil,
                    transactionID: String(repeating: "x", count: 60)
                )
            )
            #expect(fragments.count > 4)
            switch how {
            case .lost: fragments.remove(at: place)
            case .repeated: fragments.insert(fragments[place], at: place)
            case .swapped: fragments.swapAt(place, place + 1)
            case .emptied: fragments[place] = []
            case .lengthened: fragments[place] += [UInt8](repeating: 0, count: 600)
            case .cut: fragments[place] = Array(fragments[place].dropLast())
            case .marked: fragments[place][0] |= 0x40
            case .inserted: fragments.insert([0x80 | UInt8(place), 0, 40, 1], at: place + 1)
            }
            for fragment in fragments { await phone.write(fragment, by: "T") }
            // Losing or cutting the last one is noticed by the time that it takes.
            if how == .cut { await bench.pass(.milliseconds(3001), phone) }
            #expect(try await terminal.control() == .framingError)
            await phone.write(fragments[0], by: "T")
            // The payment is where it was, and goes on over a new link.
            await terminal.disconnect()
            try await terminal.connect(request)
            #expect(try await terminal.received().state == .prompting)
            try await terminal.send(.ping(ping))
            #expect(try await terminal.message().body == .pong(ping))
        }
        #expect(bench.diary.prompts == 1)
    }

    @Test func aMessageThatStopsHalfWayEndsTheLink() async throws {
        try await asked(bytes: 24) { phone, terminal, request in
            let fragments = try terminal.fragments(.hold(request.payload.paymentID))
            for fragment in fragments.dropLast() { await phone.write(fragment, by: "T") }
            await bench.pass(.milliseconds(3001), phone)
            #expect(try await terminal.control() == .framingError)
        }
    }

    @Test func whatIsWrittenBeforeReadIsNothing() async throws {
        try await bench.run(bench.configuration()) { phone in
            await phone.write([0xC0, 0, 1, 1], by: "T")
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(merchant.request())
            #expect(try await terminal.received().state == .prompting)
        }
    }

    @Test func eachReadIsANewSession() async throws {
        try await bench.run(bench.configuration()) { phone in
            let first = await phone.read(by: "T")
            let second = await phone.read(by: "T")
            #expect(first.count == 45 && second.count == 45)
            #expect(first.prefix(32) != second.prefix(32))
            // The name of the advertising session stays.
            #expect(first.suffix(8) == second.suffix(8))
        }
    }

    // MARK: Encryption

    @Test func noiseInsteadOfAHandshakeIsRefused() async throws {
        try await bench.run(bench.configuration()) { phone in
            for length in [1, 32, 96, 300] {
                let terminal = Stranger(phone, merchant, central: "noise \(length)", bytes: 512)
                _ = await phone.read(by: terminal.central)
                await terminal.subscribe()
                var fragmenter = Fragmenter(fragmentBytes: 512)
                let noise = (0..<length).map { _ in UInt8.random(in: 0...255) }
                for fragment in try fragmenter.fragments(of: noise) {
                    await phone.write(fragment, by: terminal.central)
                }
                #expect(try await terminal.control() == .handshakeFailed)
            }
            #expect(bench.diary.prompts == 0)
        }
    }

    @Test func aReplayedMessageEndsTheLink() async throws {
        try await asked { phone, terminal, request in
            let ping = try terminal.fragments(.ping([1, 2, 3, 4, 5, 6, 7, 8]))
            await phone.write(ping[0], by: "T")
            guard case .pong = try await terminal.message().body else { throw CertifiedMerchant.Broken() }
            var again = ping[0]
            again[0] = again[0] & 0xC0 | (again[0] + 1) & 0x3F
            await phone.write(again, by: "T")
            #expect(try await terminal.control() == .closing)
            await terminal.disconnect()
            try await terminal.connect(request)
            #expect(try await terminal.received().state == .prompting)
        }
    }

    // MARK: Messages

    @Test func aWrongNumberOrAMessageThatIsNoneEndsTheLink() async throws {
        for place in 0..<3 {
            try await asked { phone, terminal, request in
                switch place {
                case 0:
                    for fragment in try terminal.fragments(.hold(request.payload.paymentID), as: 7) {
                        await phone.write(fragment, by: "T")
                    }
                case 1: try await terminal.send(plain: [0xFF])
                // An ACK that answers nothing.
                default: try await terminal.send(.acknowledge(request.payload.paymentID))
                }
                #expect(try await terminal.error() == .malformed)
                guard case .bye = try await terminal.message().body else { throw CertifiedMerchant.Broken() }
            }
        }
    }

    @Test func whatIsUnknownOrNotATerminalsIsAnsweredAndTheLinkGoesOn() async throws {
        try await asked { _, terminal, request in
            let id = request.payload.paymentID
            try await terminal.send(plain: CBOR.array([.integer(99), .integer(1), .map([:])]).encoded)
            #expect(try await terminal.error() == .unknownType)
            try await terminal.send(.keepAlive(id, .processing))
            #expect(try await terminal.error() == .unexpected)
            try await terminal.hearsNothingMore()
        }
    }

    @Test func anEarlyClaimExecutesNothing() async throws {
        try await asked { _, terminal, request in
            try await terminal.send(.claim(merchant.claim(ObjectHash(of: [1]), of: request)), answering: 1)
            #expect(try await terminal.error() == .unexpected)
        }
        #expect(await bench.acquirer.bundles == 0)
    }

    @Test func aClaimForAnotherAcceptOrBySomebodyElseExecutesNothing() async throws {
        let request = try merchant.request()
        try await bench.run(bench.configuration()) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            try await terminal.send(.claim(merchant.claim(ObjectHash(of: [1]), of: request)), answering: 2)
            #expect(try await terminal.error() == .unexpected)
            let thief = try Ed25519Signer(seed: [UInt8](repeating: 9, count: 32), keyID: merchant.signer.keyID)
            let stolen = try Signed(signing: merchant.claim(accept.hash, of: request).payload, with: thief)
            try await terminal.send(.claim(stolen), answering: 2)
            #expect(try await terminal.error() == .unexpected)
            // It said that it is online: a claim without anybody online is a lie.
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request, mode: .offline)), answering: 2)
            #expect(try await terminal.error() == .unexpected)
            #expect(await bench.acquirer.bundles == 0)
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            guard case .result(_, .completed, _, _) = try await terminal.message().body else {
                throw CertifiedMerchant.Broken()
            }
        }
    }

    @Test func aChangedRequestIsNotShown() async throws {
        try await asked { _, terminal, request in
            let changed = try merchant.request(1_00, id: request.payload.paymentID)
            try await terminal.send(.request(changed))
            #expect(try await terminal.error() == .requestInvalid)
            try await terminal.send(.request(request))
            #expect(try await terminal.received().state == .prompting)
        }
        #expect(bench.diary.prompts == 1)
    }

    @Test func aPaidPaymentsNameIsNotTakenByAnotherTerminal() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration()) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            _ = try await terminal.received()
            let (accept, _) = try await terminal.accept()
            try await terminal.send(.claim(merchant.claim(accept.hash, of: request)), answering: 2)
            guard case .result = try await terminal.message().body else { throw CertifiedMerchant.Broken() }
            try await terminal.send(.acknowledge(id), answering: 3)
            guard case .bye = try await terminal.message().body else { throw CertifiedMerchant.Broken() }
            // Its own terminal is told again how it ended; another one learns nothing.
            try await terminal.connect(request)
            #expect(try await terminal.received().state == .alreadyFinal)
            guard case .result(id, .completed, _?, _) = try await terminal.message().body else {
                throw CertifiedMerchant.Broken()
            }
            let other = try CertifiedMerchant(bench.clock)
            let spy = Stranger(phone, other, central: "spy")
            try await spy.connect(other.request(id: id))
            #expect(try await spy.error() == .requestInvalid)
        }
        #expect(bench.diary.prompts == 1)
    }

    // MARK: Two terminals

    @Test func aSecondTerminalIsToldThatThePhoneIsBusy() async throws {
        try await asked(PhoneUser(answer: .accept(after: .seconds(4)))) { phone, terminal, request in
            let second = Stranger(phone, merchant, central: "second")
            try await second.connect(merchant.request())
            #expect(try await second.control() == .busy)
            // A stranger cannot end what it was never shown.
            let third = Stranger(phone, merchant, central: "third")
            try await third.connect(nil)
            let id = request.payload.paymentID
            try await third.send(.cancelledByTerminal(id, .merchant))
            #expect(try await third.message().body == .acknowledge(id))
            try await third.send(.hold(id))
            #expect(try await third.error() == .unexpected)
            await bench.pass(.seconds(4), phone)
            _ = try await terminal.accept()
        }
        #expect(bench.diary.prompts == 1)
    }

    @Test func twoTerminalsAtOnceHaveASessionEach() async throws {
        try await bench.run(bench.configuration()) { phone in
            let (one, two) = (Stranger(phone, merchant, central: "1"), Stranger(phone, merchant, central: "2"))
            try await one.connect(nil)
            try await two.connect(nil)
            try await two.hearsNothingMore()
            try await one.hearsNothingMore()
            try await two.send(.request(merchant.request()))
            #expect(try await two.received().state == .prompting)
            try await one.send(.request(merchant.request()))
            #expect(try await one.control() == .busy)
            _ = try await two.accept()
        }
    }

    @Test func aTerminalThatOnlyAsksIsNotServedForEver() async throws {
        let request = try merchant.request()
        try await bench.run(bench.configuration(PhoneUser(answer: .never))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(nil)
            // Nobody takes what the phone says from here on.
            await phone.subscribe(central: "T", maximumValueLength: 182) { _ in
                try? await bench.clock.sleep(for: .seconds(3600))
            }
            for _ in 0..<200 { try await terminal.send(.ping([1, 2, 3, 4, 5, 6, 7, 8])) }
            let pongs = bench.diary.events.filter { if case .sent(.pong) = $0 { true } else { false } }
            #expect(pongs.count < 100)
            let other = Stranger(phone, merchant, central: "other")
            try await other.connect(request)
            #expect(try await other.received().state == .prompting)
        }
    }
}
