import TapProtocol
import Testing
import TestSupport

struct MessageTests {
    let example: PublishedExample
    init() throws { example = try PublishedExample() }

    static let option = WalletOption(
        id: "opt_1",
        value: "25500000",
        symbol: "USDC",
        decimals: 6,
        network: "Base",
        account: "eip155:8453:0x7e5f4552091a69125d5dfcb7b8c2659029395bdf",
        etaSeconds: 5,
        collectDataURL: "https://pay.example/data"
    )

    /// One of each kind, with who sends it.
    static func all(_ example: PublishedExample) -> [(TapBody.Sender, TapMessage)] {
        let id = example.request.payload.paymentID
        let order = SigningOrder(
            paymentID: id,
            optionID: "opt_1",
            index: 0,
            count: 1,
            chainID: "eip155:8453",
            method: "eth_signTypedData_v4",
            parameters: "[]"
        )
        let notice = ReceivedNotice(
            paymentID: id,
            state: .prompting,
            capabilities: [.tipScreen, .voucher],
            timeSeconds: 1_764_000_001,
            isOnline: true
        )
        let bodies: [(TapBody.Sender, Int?, TapBody)] = [
            (.terminal, nil, .request(example.request)), (.terminal, 2, .claim(example.claim)),
            (.terminal, nil, .hold(id)),
            (.terminal, nil, .reopen(id, attempt: 2)), (.terminal, nil, .otherPaid(id)),
            (.terminal, nil, .cancelledByTerminal(id, .expired)),
            (.terminal, 3, .options(id, [option], expiresAtSeconds: 1_764_000_120)),
            (.terminal, 3, .options(id, [], expiresAtSeconds: 1)),
            (.terminal, 4, .sign(order)), (.phone, nil, .received(notice)),
            (.phone, nil, .accept(example.accept, example.pass)),
            (.phone, nil, .cancelledByPayer(id, .noInstrument)), (.phone, nil, .keepAlive(id, .userVerification)),
            (.phone, nil, .accounts(id, [option.account])), (.phone, nil, .choose(id, optionID: "opt_1")),
            (.phone, 5, .signatures(id, optionID: "opt_1", ["0x00"])), (.phone, 6, .acknowledge(id)),
            (.terminal, 6, .acknowledge(id)), (.phone, 1, .error(id, .clockSkew, text: "clock")),
            (.terminal, nil, .error(nil, .malformed, text: nil)), (.terminal, nil, .ping([1, 2, 3, 4, 5, 6, 7, 8])),
            (.phone, 7, .pong([1, 2, 3, 4, 5, 6, 7, 8])),
            (.terminal, nil, .result(id, .completed, receipt: example.receipt, transactionID: nil)),
            (.terminal, nil, .result(id, .completed, receipt: nil, transactionID: "0xabc")),
            (.phone, nil, .bye(reason: 0)),
        ]
        return bodies.map { ($0.0, TapMessage(number: 9, answers: $0.1, body: $0.2)) }
    }

    @Test func everyMessageComesBackAsItWas() throws {
        for (sender, message) in Self.all(example) {
            #expect(try TapMessage(decoding: message.encoded, from: sender) == message)
        }
        #expect(Set(Self.all(example).map(\.1.body.type)).count == 21)
    }

    @Test func thePublishedMessagesAreMadeAndRead() throws {
        var phone = try SessionPair(example).phone
        var terminal = try SessionPair(example).terminal
        let id = example.request.payload.paymentID
        let notice = ReceivedNotice(
            paymentID: id,
            state: .prompting,
            capabilities: [.tipScreen, .voucher],
            timeSeconds: 1_764_000_001,
            isOnline: true
        )
        let received = TapMessage(number: 1, body: .received(notice))
        #expect(try received.encoded == Vectors.bytes("msg.RECEIVED.plain"))
        let fromPhone: [(String, TapMessage)] = [
            ("msg.RECEIVED", received),
            ("msg.ACCEPT", TapMessage(number: 2, body: .accept(example.accept, example.pass))),
        ]
        for (name, message) in fromPhone { #expect(try phone.seal(message.encoded) == Vectors.bytes(name)) }
        let fromTerminal: [(String, TapMessage)] = [
            ("msg.CLAIM", TapMessage(number: 1, answers: 2, body: .claim(example.claim))),
            (
                "msg.RESULT",
                TapMessage(number: 2, body: .result(id, .completed, receipt: example.receipt, transactionID: nil))
            ),
            ("msg.OTHER_PAID", TapMessage(number: 3, body: .otherPaid(id))),
        ]
        for (name, message) in fromTerminal { #expect(try terminal.seal(message.encoded) == Vectors.bytes(name)) }
    }

    @Test func thePublishedOfferIsMadeAndRead() throws {
        let bytes = try Vectors.bytes("noise.m2.payload")
        let offer = try TerminalOffer(decoding: bytes)
        #expect(
            offer
                == TerminalOffer(certificate: example.certificate, request: example.request, timeSeconds: 1_764_000_000)
        )
        #expect(offer.encoded == bytes)
        let early = TerminalOffer(
            certificate: example.certificate,
            request: nil,
            timeSeconds: 1,
            capabilities: .runsGateway
        )
        #expect(try TerminalOffer(decoding: early.encoded) == early)
    }

    /// Every body member of every message: left out, of another type, or one too many.
    @Test func everyMemberOfAMessageIsJudged() throws {
        let optional: [Int: Set<Int>] = [65: [0, 1, 3], 68: [3, 4], 7: [], 69: [2]]
        for (sender, message) in Self.all(example) {
            guard case .array(let parts) = try CBOR(decoding: message.encoded), case .map(let map) = parts[2] else {
                throw Vectors.Missing(name: "parts")
            }
            func reads(_ map: CBORMap) -> Bool {
                let bytes = CBOR.array([parts[0], parts[1], .map(map)]).encoded
                return (try? TapMessage(decoding: bytes, from: sender)) != nil
            }
            let mustAnswer = [2, 7, 8, 39, 64].contains(message.body.type)
            for member in map.members {
                var shorter = map
                shorter[member.key] = nil
                let isOptional =
                    member.key == 0
                    ? !mustAnswer
                    : message.body.type != 69 && optional[message.body.type, default: []].contains(member.key)
                #expect(reads(shorter) == isOptional, "\(message.body.type) \(member.key)")
                var other = map
                other[member.key] = .map([:])
                #expect(!reads(other), "\(message.body.type) \(member.key)")
            }
            var more = map
            more[100] = .unsigned(1)
            #expect(!reads(more))
            more[100] = nil
            more[1000] = .unsigned(1)
            #expect(reads(more))
        }
    }

    @Test func aMessageFromTheWrongSideIsUnexpected() {
        for (sender, message) in Self.all(example) where message.body.onlySender != nil {
            let other: TapBody.Sender = sender == .phone ? .terminal : .phone
            #expect(throws: MessageError.wrongDirection(type: message.body.type, number: 9)) {
                _ = try TapMessage(decoding: message.encoded, from: other)
            }
        }
    }

    @Test func anUnknownTypeIsNamedWithItsNumber() {
        for type in [0, 9, 32, 40, 63, 70, 1000] {
            let bytes = CBOR.array([.integer(type), .unsigned(4), .map([1: .bool(true)])]).encoded
            #expect(throws: MessageError.unknownType(type, number: 4)) {
                _ = try TapMessage(decoding: bytes, from: .phone)
            }
        }
    }

    @Test func whatIsNoMessageIsMalformed() {
        for item: CBOR in [
            .array([]), .array([.unsigned(64), .unsigned(1)]), .array([.unsigned(64), .unsigned(0), .map([:])]),
            .array([.unsigned(64), .unsigned(1), .array([])]), .array([.integer(-1), .unsigned(1), .map([:])]),
            .map([:]),
            .array([.unsigned(66), .unsigned(1), .map([1: .bytes([1])])]),
            .array([.unsigned(66), .unsigned(1), .map([0: .unsigned(0), 1: .bytes([1, 2, 3, 4, 5, 6, 7, 8])])]),
        ] {
            #expect(throws: MessageError.self) { _ = try TapMessage(decoding: item.encoded, from: .phone) }
        }
    }

    @Test func aNumberIsTheNextOne() {
        var numbering = MessageNumbering()
        #expect([numbering.next(), numbering.next()] == [1, 2])
        var incoming = MessageNumbering()
        #expect([1, 2, 2, 4, 3, 4].map { incoming.accepts($0) } == [true, true, false, false, true, true])
    }

    @Test func everyErrorSaysWhatItEnds() {
        let link: [TapErrorCode] = [
            .malformed, .certificateInvalid, .keyMismatch, .certificateDenied, .environmentMismatch, .busy,
        ]
        let payment: [TapErrorCode] = [.clockSkew, .requestInvalid, .paymentClosed, .expired]
        let nothing: [TapErrorCode] = [
            .unknownType, .unexpected, .tipRefused, .receiptInvalid, .instrumentRefused, .tooLateToCancel,
            .backendUnreachable,
        ]
        #expect(TapErrorCode.all.count == 26)
        for code in TapErrorCode.all {
            let expected: TapErrorCode.Scope =
                link.contains(code)
                ? .link : payment.contains(code) ? .payment : nothing.contains(code) ? .nothing : .attempt
            #expect(code.ends == expected, "\(code.rawValue)")
        }
        #expect(TapErrorCode(rawValue: 0x99).ends == .attempt)
    }

    @Test func anyBytesEndInAnAnswer() {
        var generator = SeededGenerator(seed: 6)
        let whole = Self.all(example)
        for _ in 0..<10_000 {
            let (sender, message) = whole[Int.random(in: 0..<whole.count, using: &generator)]
            var bytes = message.encoded
            for _ in 0..<2 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            if let read = try? TapMessage(decoding: bytes, from: sender) {
                // Skipped keys aside, what is read is what was written.
                #expect(read.encoded.count <= bytes.count)
            }
            _ = try? TapMessage(decoding: generator.bytes(30), from: .phone)
            _ = try? TerminalOffer(decoding: generator.bytes(30))
        }
    }

    @Test func anErrorsTextIsCutToItsLimit() throws {
        let message = TapMessage(
            number: 1,
            body: .error(nil, .declined, text: String(repeating: "é", count: 60) + "\n")
        )
        guard case .error(_, _, let text?) = try TapMessage(decoding: message.encoded, from: .phone).body else {
            throw Vectors.Missing(name: "text")
        }
        #expect(text.utf8.count == 64)
    }
}

/// Both ends of the published session.
struct SessionPair {
    var phone: SecureSession
    var terminal: SecureSession

    init(_ example: PublishedExample) throws {
        let prologue = Prologue(service: .standard)
        let phone = PhoneHandshake(hello: try example.hello(), prologue: prologue, ephemeral: example.phoneEphemeral)
        let answer = try TerminalHandshake(reading: phone.firstMessage) { _ in prologue }
            .finish(
                payload: try Vectors.bytes("noise.m2.payload"),
                staticKey: example.terminalKey,
                ephemeral: example.terminalEphemeral
            )
        self.phone = try phone.finish(reading: answer.message).session
        terminal = answer.session
    }
}
