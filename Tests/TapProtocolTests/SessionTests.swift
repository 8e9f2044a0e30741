@testable import TapProtocol
import Testing

struct SessionTests {
    let example: PublishedExample
    let prologue = Prologue(service: .standard)

    init() throws { example = try PublishedExample() }

    /// Both sides of a session, after the handshake of the published example or one with other parts.
    private func connected(
        payload: [UInt8]? = nil
    ) throws -> (phone: SecureSession, terminal: SecureSession, message: [UInt8], payload: [UInt8], key: [UInt8]) {
        let phone = PhoneHandshake(hello: try example.hello(), prologue: prologue, ephemeral: example.phoneEphemeral)
        let terminal = try TerminalHandshake(reading: phone.firstMessage) { _ in prologue }
        let answer = try terminal.finish(
            payload: try payload ?? Vectors.bytes("noise.m2.payload"),
            staticKey: example.terminalKey,
            ephemeral: example.terminalEphemeral
        )
        let end = try phone.finish(reading: answer.message)
        return (end.session, answer.session, answer.message, end.payload, end.terminalKey)
    }

    @Test func theHandshakeIsThePublishedOne() throws {
        #expect(try example.hello().encoded == Vectors.bytes("hello"))
        #expect(try prologue.bytes == Vectors.bytes("prologue"))
        let phone = PhoneHandshake(hello: try example.hello(), prologue: prologue, ephemeral: example.phoneEphemeral)
        #expect(try phone.firstMessage == Vectors.bytes("noise.m1 (READ value)"))
        let both = try connected()
        #expect(try both.message == Vectors.bytes("noise.m2"))
        #expect(try both.payload == Vectors.bytes("noise.m2.payload"))
        #expect(try both.key == Vectors.bytes("key.terminal.x25519.pub"))
        #expect(try both.phone.handshakeHash == Vectors.bytes("noise.h"))
        #expect(try both.terminal.handshakeHash == Vectors.bytes("noise.h"))
        #expect(try both.phone.keyBytes.sending == Vectors.bytes("noise.k.phone_to_terminal"))
        #expect(try both.phone.keyBytes.receiving == Vectors.bytes("noise.k.terminal_to_phone"))
        #expect(try both.terminal.keyBytes.receiving == Vectors.bytes("noise.k.phone_to_terminal"))
        #expect(try both.phone.shortCode == Vectors.text("sas4"))
        #expect(try both.terminal.shortCode == Vectors.text("sas4"))
    }

    @Test func thePublishedMessagesAreSealedAndOpened() throws {
        var both = try connected()
        let received = try Vectors.bytes("msg.RECEIVED.plain")
        #expect(try both.phone.seal(received) == Vectors.bytes("msg.RECEIVED"))
        #expect(try both.terminal.open(Vectors.bytes("msg.RECEIVED")) == received)
        let accept = try both.terminal.open(Vectors.bytes("msg.ACCEPT"))
        #expect(try both.phone.seal(accept) == Vectors.bytes("msg.ACCEPT"))
        for name in ["msg.CLAIM", "msg.RESULT", "msg.OTHER_PAID"] {
            let plain = try both.phone.open(Vectors.bytes(name))
            #expect(try both.terminal.seal(plain) == Vectors.bytes(name))
        }
    }

    @Test func anotherPrologueEndsTheHandshake() throws {
        let tag = try Vectors.bytes("tag.id")
        let tagged = Prologue(service: .standard, tagID: tag)
        #expect(try tagged.bytes == Vectors.bytes("tag.prologue"))
        let other = try #require(ServiceUUID("00000001-5c1e-4f0a-9b6d-3a8e41f7c2d9"))
        for wrong in [tagged, Prologue(service: other)] {
            let phone = PhoneHandshake(hello: try example.hello(), prologue: prologue)
            let terminal = try TerminalHandshake(reading: phone.firstMessage) { _ in wrong }
            let answer = try terminal.finish(payload: [1], staticKey: example.terminalKey)
            #expect(throws: SessionError.handshakeFailed) {
                _ = try phone.finish(reading: answer.message)
            }
        }
    }

    @Test func everyChangedBitOfTheAnswerEndsTheHandshake() throws {
        let phone = PhoneHandshake(hello: try example.hello(), prologue: prologue, ephemeral: example.phoneEphemeral)
        let message = try connected(payload: [1, 2, 3]).message
        for place in message.indices {
            var changed = message
            changed[place] ^= 1 << UInt8(place % 8)
            #expect(throws: SessionError.handshakeFailed) {
                _ = try phone.finish(reading: changed)
            }
        }
        for count in [0, 1, 31, 32, 79, 80, 95, message.count - 1] {
            #expect(throws: SessionError.handshakeFailed) {
                _ = try phone.finish(reading: Array(message.prefix(count)))
            }
        }
    }

    @Test func anotherStaticKeyIsNotTheCertifiedOne() throws {
        let phone = PhoneHandshake(hello: try example.hello(), prologue: prologue)
        let rogue = AgreementKey()
        let terminal = try TerminalHandshake(reading: phone.firstMessage) { _ in prologue }
        let answer = try terminal.finish(payload: try Vectors.bytes("noise.m2.payload"), staticKey: rogue)
        #expect(try phone.finish(reading: answer.message).terminalKey == rogue.publicKey)
        #expect(rogue.publicKey != example.certificate.payload.staticKey)
    }

    /// Points of small order make the secret a constant. Source: RFC 7748, section 6.1.
    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ])
    func aPointOfSmallOrderIsRefused(hex: String) throws {
        let first = try [UInt8](hex: hex) + example.hello().encoded
        let terminal = try TerminalHandshake(reading: first) { _ in prologue }
        #expect(throws: SessionError.handshakeFailed) {
            _ = try terminal.finish(payload: [], staticKey: example.terminalKey)
        }
        let phone = PhoneHandshake(hello: try example.hello(), prologue: prologue)
        let answer = try [UInt8](hex: hex) + [UInt8](repeating: 0, count: 64)
        #expect(throws: SessionError.handshakeFailed) {
            _ = try phone.finish(reading: answer)
        }
    }

    @Test func aRepeatedLostOrOvertakenMessageDoesNotOpen() throws {
        var both = try connected()
        let messages = [try both.phone.seal([1]), try both.phone.seal([2]), try both.phone.seal([3])]
        #expect(throws: SessionError.notAuthentic) {
            _ = try both.terminal.open(messages[1])
        }
        #expect(try both.terminal.open(messages[0]) == [1])
        #expect(throws: SessionError.notAuthentic) {
            _ = try both.terminal.open(messages[0])
        }
        #expect(try both.terminal.open(messages[1]) == [2])
        // A message sent back to its sender is of the other direction.
        #expect(throws: SessionError.notAuthentic) { _ = try both.phone.open(messages[0]) }
    }

    @Test func everyChangedBitOfAMessageIsNoticed() throws {
        var both = try connected()
        let message = try both.phone.seal([1, 2, 3])
        for place in message.indices {
            for bit in 0..<8 {
                var changed = message
                changed[place] ^= 1 << UInt8(bit)
                #expect(throws: SessionError.notAuthentic) {
                    _ = try both.terminal.open(changed)
                }
            }
        }
        for count in 0..<16 {
            #expect(throws: SessionError.length) {
                _ = try both.terminal.open(Array(message.prefix(count)))
            }
        }
        #expect(throws: SessionError.length) {
            _ = try both.terminal.open([UInt8](repeating: 0, count: 4097))
        }
        #expect(try both.terminal.open(message) == [1, 2, 3])
    }

    @Test func theCounterEndsBeforeItRepeats() throws {
        var cipher = NoiseCipher(key: [UInt8](repeating: 1, count: 32), nonce: .max - 1)
        let last = try cipher.seal([1])
        #expect(throws: SessionError.exhausted) { _ = try cipher.seal([1]) }
        #expect(throws: SessionError.exhausted) { _ = try cipher.open(last) }
    }

    @Test func aLinkCarriesNoMoreMessagesThanItMay() throws {
        let key = [UInt8](repeating: 1, count: 32)
        let near = NoiseCipher(key: key, nonce: SecureSession.maximumMessages - 1)
        var session = SecureSession(sending: near, receiving: near, handshakeHash: [])
        let message = try session.seal([1])
        #expect(throws: SessionError.exhausted) { _ = try session.seal([1]) }
        #expect(try session.open(message) == [1])
        #expect(throws: SessionError.exhausted) { _ = try session.open(message) }
    }

    @Test(arguments: [
        "02010010002b6f70e6d02e2279", "01020010002b6f70e6d02e2279", "01010210002b6f70e6d02e2279",
        "01010007ff2b6f70e6d02e2279", "01010010012b6f70e6d02e2279",
    ])
    func anotherVersionSuiteFlagOrLimitIsUnsupported(hello: String) throws {
        let first = try example.phoneEphemeral.publicKey + [UInt8](hex: hello)
        #expect(throws: SessionError.unsupported) {
            _ = try TerminalHandshake(reading: first) { _ in prologue }
        }
        for count in [0, 13, 44, 46] {
            #expect(throws: SessionError.length) {
                _ = try TerminalHandshake(reading: [UInt8](repeating: 1, count: count)) { _ in prologue }
            }
        }
    }

    @Test func eachSessionHasItsOwnKeys() throws {
        let first = PhoneHandshake(hello: try example.hello(), prologue: prologue)
        let second = PhoneHandshake(hello: try example.hello(), prologue: prologue)
        #expect(first.firstMessage != second.firstMessage)
    }

    @Test func theServiceNamesItsCharacteristics() throws {
        let service = ServiceUUID.standard
        #expect(service.description == (try Vectors.text("uuid.service")))
        #expect(service.write.description == (try Vectors.text("uuid.write")))
        #expect(service.status.description == (try Vectors.text("uuid.status")))
        #expect(service.read.description == (try Vectors.text("uuid.read")))
        #expect(ServiceUUID(service.description) == service)
        #expect(try service.advertisement == Vectors.bytes("adv.legacy"))
        #expect(try service.serviceData(roll: (0xF6, 0xAC)) == Vectors.bytes("adv.scanrsp.servicedata"))
        #expect(ServiceUUID("7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2dg") == nil)
        #expect(ServiceUUID("7d2b00015c1e4f0a9b6d3a8e41f7c2d9") == nil)
        let end = try #require(ServiceUUID("ffffffff-5c1e-4f0a-9b6d-3a8e41f7c2d9"))
        #expect(end.write.description == "00000000-5c1e-4f0a-9b6d-3a8e41f7c2d9")
    }

    @Test func aTagIsWrittenAndRead() throws {
        let uri = try Vectors.text("tag.uri")
        let key = try Vectors.bytes("key.terminal.x25519.pub")
        let tag = try #require(TerminalTag(tagID: Vectors.bytes("tag.id"), terminalKey: key, name: "Coffee Shop"))
        #expect(tag.uri == uri)
        #expect(TerminalTag(uri: uri) == tag)
        #expect(try tag.keyHash == Vectors.bytes("tag.k"))
        #expect(tag.matches(terminalKey: key))
        #expect(!tag.matches(terminalKey: try Vectors.bytes("key.terminal.e.pub")))
        #expect(try tag.advertisedService?.advertisement == Vectors.bytes("tag.adv"))
        let accented = try #require(TerminalTag(tagID: tag.tagID, terminalKey: key, name: "Café & Söhne 水%"))
        #expect(TerminalTag(uri: accented.uri) == accented)
    }

    @Test(arguments: [
        "", "bpp:1?", "bpp:2?t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n=A",
        "bpp:1?t=QNX4-kmbQhyY_95E8q03zg&n=A", "bpp:1?t=QNX4-kmbQhyY_95E8q03zg==&k=FCFINLla_Dnv0wzdKK34TQ&n=A",
        "bpp:1?t=QNX4-kmbQhyY_95E8q03&k=FCFINLla_Dnv0wzdKK34TQ&n=A",
        "bpp:1?t=QNX4-kmbQhyY_95E8q03zh&k=FCFINLla_Dnv0wzdKK34TQ&n=A",
        "bpp:1?t=QNX4-kmbQhyY_95E8q03zg&t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n=A",
        "bpp:1?t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n=%",
        "bpp:1?t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n=%f",
        "bpp:1?t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n=%ff",
        "bpp:1?t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n=%0a",
        "bpp:1?t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n",
    ])
    func whatIsNoTagIsRefused(uri: String) {
        #expect(TerminalTag(uri: uri) == nil)
        #expect(TerminalTag(uri: "https://pay.example/tap#" + uri) == nil)
    }

    /// A phone's system opens an app by the app's own link; no server is sent what stands behind its mark.
    @Test func aTagThatOpensAnAppSaysTheSame() throws {
        let key = try Vectors.bytes("key.terminal.x25519.pub")
        let tag = try #require(TerminalTag(tagID: Vectors.bytes("tag.id"), terminalKey: key, name: "Coffee Shop"))
        let uri = tag.uri(opening: "https://pay.example/tap")
        #expect(uri == "https://pay.example/tap#" + tag.uri)
        #expect(TerminalTag(uri: uri) == tag && tag.uri(opening: "") == tag.uri)
        for wrong in [
            "http://pay.example/tap#" + tag.uri, "https://pay.example/tap", "https://pay.example/tap?" + tag.uri,
            "https://pay.example/tap##" + tag.uri, "pay#" + tag.uri,
        ] { #expect(TerminalTag(uri: wrong) == nil, "\(wrong)") }
    }

    @Test func eachRequestHasATagOfItsOwn() throws {
        let key = try Vectors.bytes("key.terminal.x25519.pub")
        let tags = [[1], [2]].map { TerminalTag(for: ObjectHash(of: $0), terminalKey: key, name: "Coffee Shop") }
        #expect(tags[0].tagID != tags[1].tagID && tags[0].tagID.count == 16)
        #expect(tags.allSatisfy { $0.matches(terminalKey: key) && TerminalTag(uri: $0.uri) == $0 })
    }
}
