import Sandbox
import TapProtocol
import Testing

/// What a phone does not show. Source: BPP/1, section 7.4.
@Suite(.timeLimit(.minutes(1)))
struct CheckTests {
    let bench: Bench
    var merchant: CertifiedMerchant { bench.merchant }

    init() throws { bench = try Bench() }

    /// Shows a request to a phone, which must refuse it with this check, tell the terminal why, and end the session.
    private func expect(
        _ check: RequestCheckNumber,
        _ code: TapErrorCode,
        from merchant: CertifiedMerchant,
        _ request: Signed<PaymentRequest>,
        certificate: Signed<TerminalCertificate>? = nil,
        key: AgreementKey? = nil,
        change: (inout PhoneConfiguration) -> Void = { _ in },
        at place: SourceLocation = #_sourceLocation
    ) async throws {
        try await bench.run(bench.configuration(change: change)) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request, certificate: certificate, key: key)
            #expect(try await terminal.error() == code, sourceLocation: place)
            #expect(try await terminal.message().body == .bye(reason: code.rawValue), sourceLocation: place)
            // Nothing more is heard on this session.
            try await terminal.send(.ping([1, 2, 3, 4, 5, 6, 7, 8]))
        }
        #expect(bench.diary.prompts == 0, sourceLocation: place)
        #expect(bench.diary.events.contains(.refused(check, code)), sourceLocation: place)
    }

    @Test func p1AForgedCertificate() async throws {
        let thief = try Ed25519Signer(seed: [UInt8](repeating: 9, count: 32), keyID: merchant.gateway.keyID)
        let forged = try CertifiedMerchant(bench.clock, gateway: thief)
        try await expect(.p1, .certificateInvalid, from: forged, forged.request())
    }

    @Test func p1AnIssuerThatNobodyTrusts() async throws {
        let other = try CertifiedMerchant(bench.clock) { $0.issuer = "gw.elsewhere" }
        try await expect(.p1, .certificateInvalid, from: other, other.request())
    }

    @Test(arguments: [-86_400, 86_400])
    func p2ACertificateOutOfItsTime(shift: Int) async throws {
        let other = try CertifiedMerchant(bench.clock) {
            $0.notBeforeSeconds += shift
            $0.notAfterSeconds += shift * 2
        }
        try await expect(.p2, .certificateInvalid, from: other, other.request())
    }

    @Test func p3AnotherTerminalsCertificate() async throws {
        try await expect(.p3, .keyMismatch, from: merchant, merchant.request(), key: AgreementKey())
    }

    @Test func p4ATagOfAnotherTerminal() async throws {
        let tagID = [UInt8](repeating: 5, count: 16)
        let tag = try #require(TerminalTag(tagID: tagID, terminalKey: AgreementKey().publicKey, name: "Elsewhere"))
        try await bench.run(bench.configuration { $0.tag = tag }) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(merchant.request(), tagID: tagID)
            #expect(try await terminal.error() == .keyMismatch)
        }
        #expect(bench.diary.prompts == 0 && bench.diary.events.contains(.refused(.p4, .keyMismatch)))
    }

    @Test func aTagsOwnTerminalIsShown() async throws {
        let tagID = [UInt8](repeating: 5, count: 16)
        let made = try #require(TerminalTag(tagID: tagID, terminalKey: merchant.key.publicKey, name: "Coffee Shop"))
        let tag = try #require(TerminalTag(uri: made.uri))
        try await bench.run(bench.configuration { $0.tag = tag }) { phone in
            #expect(bench.diary.events.contains(.advertising(ServiceUUID(bytes: tagID))))
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(merchant.request(), tagID: tagID)
            #expect(try await terminal.received().state == .prompting)
        }
    }

    @Test func anUntaggedTerminalCannotAnswerATaggedPhone() async throws {
        let tagID = [UInt8](repeating: 5, count: 16)
        let tag = try #require(TerminalTag(tagID: tagID, terminalKey: merchant.key.publicKey, name: "Coffee Shop"))
        try await bench.run(bench.configuration { $0.tag = tag }) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(merchant.request())
            #expect(try await terminal.control() == .handshakeFailed)
        }
    }

    @Test func p5ATerminalThatTheGatewayTookBack() async throws {
        await bench.acquirer.set(denied: DenyList(terminalIDs: ["T-1"]))
        try await expect(.p5, .certificateDenied, from: merchant, merchant.request())
    }

    @Test func p6ARequestSignedBySomebodyElse() async throws {
        let thief = try Ed25519Signer(seed: [UInt8](repeating: 9, count: 32), keyID: merchant.signer.keyID)
        let request = try Signed(signing: merchant.request().payload, with: thief)
        try await expect(.p6, .requestInvalid, from: merchant, request)
    }

    @Test(arguments: 0..<4)
    func p7ARequestThatSaysOtherThanTheCertificate(place: Int) async throws {
        let request = try merchant.request {
            switch place {
            case 0: $0.merchantName = "Coffee  Shop"
            case 1: $0.merchantID = "M-2"
            case 2: $0.terminalID = "T-2"
            default: $0.certificateHash = ObjectHash(of: [1])
            }
        }
        try await expect(.p7, .requestInvalid, from: merchant, request)
    }

    @Test func p8ACurrencyOrAnAmountBeyondTheCertificate() async throws {
        try await expect(.p8, .requestInvalid, from: merchant, merchant.request { $0.currency = "GBP" })
        try await expect(.p8, .requestInvalid, from: merchant, merchant.request(500_01))
    }

    @Test func p9ANameThatIsNone() async throws {
        var bytes = merchant.paymentID().bytes
        bytes[6] = 0x40
        try await expect(.p9, .requestInvalid, from: merchant, merchant.request(id: PaymentID(bytes: bytes)))
    }

    @Test func p10ARequestOutOfItsTime() async throws {
        try await expect(.p10, .expired, from: merchant, merchant.request(life: 0))
        let early = try merchant.request {
            $0.createdAtMilliseconds -= 300_001
            $0.expiresAtMilliseconds += 1
        }
        try await expect(.p10, .clockSkew, from: merchant, early)
        let renamed = try merchant.request { $0.createdAtMilliseconds -= 60_001 }
        try await expect(.p10, .requestInvalid, from: merchant, renamed)
    }

    @Test func p11RealMoneyOnATestPhone() async throws {
        let live = try CertifiedMerchant(bench.clock) { $0.environment = .live }
        try await expect(.p11, .environmentMismatch, from: live, live.request())
    }

    @Test func afterARefusalAnHonestTerminalIsServed() async throws {
        try await bench.run(bench.configuration()) { phone in
            let thief = Stranger(phone, merchant, central: "thief")
            try await thief.connect(merchant.request(), key: AgreementKey())
            #expect(try await thief.error() == .keyMismatch)
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(merchant.request())
            #expect(try await terminal.received().state == .prompting)
        }
    }

    // MARK: What ended before

    /// Its own terminal would have said how it ended; that it asks once more is no reason to show it.
    @Test func p9APaymentThatAnotherPhoneHasPaid() async throws {
        let request = try merchant.request()
        let id = request.payload.paymentID
        try await bench.run(bench.configuration(PhoneUser(answer: .never))) { phone in
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            #expect(try await terminal.received().state == .prompting)
            try await terminal.send(.otherPaid(id))
            #expect(try await terminal.message().body == .acknowledge(id))
            await terminal.disconnect()
            try await terminal.connect(request)
            #expect(try await terminal.error() == .paymentClosed)
            #expect(try await terminal.message().body == .bye(reason: TapErrorCode.paymentClosed.rawValue))
            await terminal.disconnect()
            try await terminal.connect(merchant.request())
            #expect(try await terminal.received().state == .prompting)
        }
        #expect(bench.diary.prompts == 2 && bench.diary.events.contains(.refused(.p9, .paymentClosed)))
    }

    // MARK: What the gateway holds

    enum Difference: CaseIterable, Sendable {
        case amount, merchant, currency, exponent

        func applied(to held: PhoneAnnouncement) -> PhoneAnnouncement {
            var other = held
            switch self {
            case .amount: other.amount -= 1
            case .merchant: other.merchantID = "M-2"
            case .currency: other.currency = "EUR"
            case .exponent: other.exponent = 3
            }
            return other
        }
    }

    @Test(arguments: Difference.allCases)
    func aRequestThatTheGatewayHoldsOtherwiseIsNotShown(difference: Difference) async throws {
        let request = try merchant.request()
        try await bench.run(bench.configuration()) { phone in
            await bench.acquirer.set(announced: difference.applied(to: PhoneAnnouncement(request.payload)))
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            #expect(try await terminal.error() == .requestInvalid)
            #expect(try await terminal.message().body == .bye(reason: TapErrorCode.requestInvalid.rawValue))
            #expect(bench.diary.prompts == 0)
            // Nothing of it is kept: the payment that was announced is shown.
            await terminal.disconnect()
            await bench.acquirer.set(announced: PhoneAnnouncement(request.payload))
            try await terminal.connect(request)
            #expect(try await terminal.received().state == .prompting)
        }
        #expect(bench.diary.prompts == 1)
    }

    /// What the terminal says before comes after it, and nothing of it is lost.
    @Test func aSilentGatewayHoldsARequestUpForOneSecond() async throws {
        let request = try merchant.request()
        try await bench.run(bench.configuration(PhoneUser(answer: .never))) { phone in
            await bench.acquirer.set(announced: nil, isSlow: true)
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            try await terminal.send(.hold(request.payload.paymentID))
            await bench.pass(.milliseconds(999), phone)
            #expect(bench.diary.prompts == 0)
            await bench.pass(.milliseconds(1), phone)
            #expect(try await terminal.received().state == .prompting)
            try await terminal.hearsNothingMore()
            #expect(bench.diary.events.contains(.acceptDisabled))
        }
        #expect(bench.diary.prompts == 1)
    }

    @Test func aTerminalThatBeginsAgainMeanwhileIsAnsweredOnce() async throws {
        let request = try merchant.request()
        try await bench.run(bench.configuration(PhoneUser(answer: .never))) { phone in
            await bench.acquirer.set(announced: nil, isSlow: true)
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(request)
            await bench.pass(.milliseconds(500), phone)
            try await terminal.connect(request)
            await bench.pass(.milliseconds(999), phone)
            #expect(bench.diary.prompts == 0)
            await bench.pass(.milliseconds(1), phone)
            #expect(try await terminal.received().state == .prompting)
            try await terminal.hearsNothingMore()
            // The gateway's late answers are nobody's any more.
            await bench.pass(.seconds(30), phone)
        }
        #expect(bench.diary.prompts == 1)
    }

    @Test func aPhoneWithoutNetworkAsksNobody() async throws {
        try await bench.run(bench.configuration { $0.isOnline = false }) { phone in
            let other = try merchant.request(1)
            await bench.acquirer.set(announced: PhoneAnnouncement(other.payload))
            let terminal = Stranger(phone, merchant)
            try await terminal.connect(merchant.request())
            #expect(try await terminal.received().state == .prompting)
        }
        #expect(await bench.acquirer.comparisons == 0)
    }
}
