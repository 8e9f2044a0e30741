import TapProtocol
import Testing
import TestSupport

struct CBORTests {
    /// Source: RFC 8949, appendix A, as far as BPP/1 allows the items.
    @Test(arguments: [
        (CBOR.unsigned(0), "00"), (.unsigned(23), "17"), (.unsigned(24), "1818"), (.unsigned(100), "1864"),
        (.unsigned(1000), "1903e8"), (.unsigned(1_000_000), "1a000f4240"),
        (.unsigned(1_000_000_000_000), "1b000000e8d4a51000"), (.unsigned(.max), "1bffffffffffffffff"),
        (.integer(-1), "20"), (.integer(-10), "29"), (.integer(-100), "3863"), (.negative(.max), "3bffffffffffffffff"),
        (.bool(false), "f4"), (.bool(true), "f5"), (.bytes([]), "40"), (.bytes([1, 2, 3, 4]), "4401020304"),
        (.text(""), "60"), (.text("IETF"), "6449455446"), (.text("\u{fc}"), "62c3bc"), (.text("水"), "63e6b0b4"),
        (.array([]), "80"), (.array([.unsigned(1), .array([.unsigned(2), .unsigned(3)])]), "8201820203"),
        (.map([:]), "a0"), (.map([1: .unsigned(2), 3: .unsigned(4)]), "a201020304"),
        (.map([-1: .unsigned(1), 1: .unsigned(2), -3: .bytes([]), 24: .bool(true)]), "a401021818f520012240"),
    ])
    func knownItemsHaveOneEncoding(item: CBOR, hex: String) throws {
        #expect(item.encoded == (try [UInt8](hex: hex)))
        #expect(try CBOR(decoding: [UInt8](hex: hex)) == item)
    }

    @Test(arguments: [
        ("", CBORError.truncated), ("18", .truncated), ("1903", .truncated), ("4401", .truncated),
        ("5bffffffffffffffff00", .truncated), ("9bffffffffffffffff00", .truncated),
        ("bbffffffffffffffff00", .truncated),
        ("9a7fffffff", .truncated), ("82", .truncated), ("a1", .truncated), ("a101", .truncated),
        ("0000", .trailingBytes), ("1817", .notShortest), ("190018", .notShortest), ("1a0000ffff", .notShortest),
        ("1b00000000ffffffff", .notShortest), ("3817", .notShortest), ("580100", .notShortest), ("7800", .notShortest),
        ("980100", .notShortest), ("b80100", .notShortest), ("a1180100", .notShortest), ("5f4100ff", .indefiniteLength),
        ("7f6161ff", .indefiniteLength), ("9f00ff", .indefiniteLength), ("bf0000ff", .indefiniteLength),
        ("ff", .indefiniteLength), ("1c", .reserved), ("3d", .reserved), ("fe", .reserved), ("c000", .notAllowed),
        ("c249010000000000000000", .notAllowed), ("f6", .notAllowed), ("f7", .notAllowed), ("e0", .notAllowed),
        ("f814", .notAllowed), ("f90000", .notAllowed), ("fa00000000", .notAllowed),
        ("fb0000000000000000", .notAllowed),
        ("8181818180", .tooDeep), ("a101a101a101a101a0", .tooDeep), ("a1610100", .keyNotInteger),
        ("a1410100", .keyNotInteger), ("a1f500", .keyNotInteger), ("a11bffffffffffffffff00", .keyNotInteger),
        ("a201000100", .keyTwice), ("a202000100", .keysUnsorted), ("a220000100", .keysUnsorted),
        ("a221002000", .keysUnsorted), ("a31818000100181900", .keysUnsorted), ("61ff", .notUTF8), ("62c080", .notUTF8),
        ("63eda080", .notUTF8), ("6365cc81", .notNormalized), ("63e284ab", .notNormalized), ("610a", .controlCharacter),
        ("617f", .controlCharacter), ("62c285", .controlCharacter), ("6100", .controlCharacter),
    ])
    func everyOtherFormIsRefused(hex: String, error: CBORError) throws {
        let bytes = try [UInt8](hex: hex)
        #expect(throws: error) { _ = try CBOR(decoding: bytes) }
    }

    @Test func fourContainersInsideEachOtherPass() throws {
        #expect(try CBOR(decoding: [0x81, 0x81, 0x81, 0x80]).encoded == [0x81, 0x81, 0x81, 0x80])
    }

    @Test func moreBytesThanTheCallerTakesAreRefused() {
        #expect(throws: CBORError.tooLong) {
            _ = try CBOR(decoding: CBOR.bytes([UInt8](repeating: 0, count: 10)).encoded, limitBytes: 10)
        }
    }

    @Test func everyItemComesBackAsItWas() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<5000 {
            let item = CBOR.random(depth: 4, using: &generator)
            let bytes = item.encoded
            #expect(try CBOR(decoding: bytes) == item)
            #expect(try CBOR(decoding: bytes).encoded == bytes)
        }
    }

    /// A decoder that takes a second form of the same item would break hashes over it.
    @Test func whatIsTakenIsTheOneEncoding() {
        var generator = SeededGenerator(seed: 2)
        var taken = 0
        for _ in 0..<60_000 {
            let bytes = generator.bytes(Int.random(in: 0...24, using: &generator))
            guard let item = try? CBOR(decoding: bytes) else { continue }
            taken += 1
            #expect(item.encoded == bytes)
        }
        #expect(taken > 100)
    }

    @Test func changedBytesAreRefusedOrStillCanonical() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<5000 {
            var bytes = CBOR.random(depth: 4, using: &generator).encoded
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
                default: if bytes.count > 1 { bytes.remove(at: place) }
                }
            }
            if let item = try? CBOR(decoding: bytes) { #expect(item.encoded == bytes) }
        }
    }

    @Test func everyShorterPieceIsRefused() throws {
        let bytes = try Vectors.bytes("request.payload")
        for count in 0..<bytes.count {
            #expect(throws: CBORError.truncated) { _ = try CBOR(decoding: bytes.prefix(count)) }
        }
    }

    @Test(arguments: [
        "cert", "request.payload", "request", "accept.payload", "accept", "claim", "receipt", "pass.online",
        "pass.voucher", "accept.offline", "noise.m2.payload", "msg.RECEIVED.plain",
    ])
    func thePublishedObjectsAreCanonical(name: String) throws {
        let bytes = try Vectors.bytes(name)
        #expect(try CBOR(decoding: bytes).encoded == bytes)
    }

    @Test func aTextIsMadeFitToSend() throws {
        #expect(WireText.sendable("Cafe\u{301}\n\u{7}Bar", limitBytes: 64) == "Caf\u{e9}Bar")
        #expect(WireText.sendable("水水水", limitBytes: 7) == "水水")
        try WireText.check(WireText.sendable("e\n\u{301}", limitBytes: 9))
    }

    @Test func aMapKeepsItsOrderWhateverIsDone() {
        var map = CBORMap()
        for key in [3, -2, 1, -1, 2, 1] { map[key] = .integer(key) }
        map[3] = nil
        #expect(map.members.map(\.key) == [1, 2, -1, -2])
        #expect(map[2] == .unsigned(2))
        #expect(map[9] == nil)
    }
}

extension CBOR {
    static func random(depth: Int, using generator: inout SeededGenerator) -> CBOR {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &generator) {
        case 0:
            return .unsigned(
                UInt64.random(in: 0...(.max), using: &generator) >> UInt64.random(in: 0..<64, using: &generator)
            )
        case 1:
            return .negative(
                UInt64.random(in: 0...(.max), using: &generator) >> UInt64.random(in: 0..<64, using: &generator)
            )
        case 2: return .bytes(generator.bytes(Int.random(in: 0...300, using: &generator)))
        case 3:
            return .text(
                WireText.sendable(["a", "ü", "水", "é", "~", "😀"].shuffled(using: &generator).joined(), limitBytes: 12)
            )
        case 4: return .bool(.random(using: &generator))
        case 5:
            return .array(
                (0..<Int.random(in: 0...4, using: &generator)).map { _ in random(depth: depth - 1, using: &generator) }
            )
        default:
            var map = CBORMap()
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                map[Int.random(in: -30...300, using: &generator)] = random(depth: depth - 1, using: &generator)
            }
            return .map(map)
        }
    }
}
