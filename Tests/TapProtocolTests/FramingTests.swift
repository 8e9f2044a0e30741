import TapProtocol
import Testing
import TestSupport

struct FramingTests {
    @Test(arguments: [
        ("noise.m2", "frames.M2.mtu185", 185, 0), ("msg.ACCEPT", "frames.ACCEPT.mtu185", 185, 3),
        ("msg.RECEIVED", "frames.RECEIVED.mtu23", 23, 0),
    ])
    func thePublishedFramesAreMadeAndRead(message: String, frames: String, mtu: Int, before: Int) throws {
        var fragmenter = Fragmenter(fragmentBytes: try #require(Framing.fragmentBytes(mtuBytes: mtu)))
        var reassembler = Reassembler()
        for _ in 0..<before {
            _ = try reassembler.receive(try fragmenter.fragments(of: [1])[0], at: .zero)
        }
        let expected = try Vectors.frames(frames)
        #expect(try fragmenter.fragments(of: Vectors.bytes(message)) == expected)
        for frame in expected.dropLast() { #expect(try reassembler.receive(frame, at: .zero) == nil) }
        #expect(try reassembler.receive(try #require(expected.last), at: .zero) == .message(Vectors.bytes(message)))
    }

    @Test func thePublishedControlFrameIsMadeAndRead() throws {
        let frame = try Vectors.bytes("frame.control.busy")
        var fragmenter = Fragmenter(fragmentBytes: 20)
        #expect(fragmenter.control(.busy) == frame)
        var reassembler = Reassembler()
        #expect(try reassembler.receive(frame, at: .zero) == .control(.busy))
    }

    @Test(arguments: [23, 185, 247, 517], [1, 17, 18, 19, 36, 37, 179, 180, 509, 510, 1020, 1021, 2048, 4095, 4096])
    func everyLengthGoesThroughEveryMTU(mtu: Int, length: Int) throws {
        var generator = SeededGenerator(seed: UInt64(mtu * 10_000 + length))
        let fragmentBytes = try #require(Framing.fragmentBytes(mtuBytes: mtu))
        #expect(fragmentBytes == min(mtu - 3, 512))
        var fragmenter = Fragmenter(fragmentBytes: fragmentBytes)
        var reassembler = Reassembler()
        for _ in 0..<3 {
            let message = generator.bytes(length)
            var arrived: Reassembler.Arrival?
            for fragment in try fragmenter.fragments(of: message) {
                #expect(arrived == nil)
                #expect(fragment.count <= fragmentBytes)
                arrived = try reassembler.receive(fragment, at: .zero)
            }
            #expect(arrived == .message(message))
            #expect(reassembler.deadline == nil)
        }
    }

    @Test func aLinkTooNarrowIsAnError() {
        #expect(Framing.fragmentBytes(mtuBytes: 22) == nil)
        #expect(Framing.fragmentBytes(mtuBytes: -1) == nil)
        #expect(Framing.fragmentBytes(mtuBytes: 515) == 512)
        #expect(Framing.fragmentBytes(mtuBytes: .max) == 512)
    }

    @Test func whatCannotBeSentIsRefused() {
        var fragmenter = Fragmenter(fragmentBytes: 182, messageBytes: 2048)
        #expect(throws: Fragmenter.Failure.empty) {
            _ = try fragmenter.fragments(of: [])
        }
        let long = [UInt8](repeating: 0, count: 2049)
        #expect(throws: Fragmenter.Failure.tooLong(2049)) {
            _ = try fragmenter.fragments(of: long)
        }
        #expect(Fragmenter(fragmentBytes: 0, messageBytes: 9).fragmentBytes == 20)
        #expect(Fragmenter(fragmentBytes: 9999, messageBytes: 9).messageBytes == 2048)
    }

    @Test(arguments: [
        ([""], FramingError.fragmentLength(0)), (["81000101"], .sequence(expected: 0, found: 1)),
        (["c0000101", "c0000101"], .sequence(expected: 1, found: 0)), (["80"], .malformedHead),
        (["8000"], .malformedHead),
        (["c00000"], .malformedHead), (["c000000102"], .malformedHead), (["80000001"], .malformedHead),
        (["0001"], .nothingOpen), (["4001"], .nothingOpen), (["c0000101", "0101"], .nothingOpen),
        (["80000201", "81000101"], .messageOpen), (["80000201", "c1000001"], .messageOpen),
        (["80100101"], .messageTooLong(4097)), (["80ffff"], .messageTooLong(65535)),
        (["c000010102"], .moreThanSaid), (["80000201", "41020304"], .moreThanSaid), (["c0000201"], .endsEarly),
        (["80000301", "4102"], .endsEarly), (["800003"], .noData), (["80000301", "01"], .noData),
        (["80000101"], .lastNotMarked), (["80000201", "0102"], .lastNotMarked),
    ])
    func everyBrokenRuleEndsTheLink(frames: [String], error: FramingError) throws {
        var reassembler = Reassembler()
        for frame in frames.dropLast() { _ = try reassembler.receive(try [UInt8](hex: frame), at: .zero) }
        let last = try [UInt8](hex: try #require(frames.last))
        #expect(throws: error) { _ = try reassembler.receive(last, at: .zero) }
        // Nothing is taken after a fault, so nothing can be spliced together.
        #expect(throws: error) { _ = try reassembler.receive([0xC1, 0, 1, 1], at: .zero) }
    }

    @Test func aFragmentLongerThanAnyValueIsRefused() {
        var reassembler = Reassembler()
        #expect(throws: FramingError.fragmentLength(513)) {
            _ = try reassembler.receive([UInt8](repeating: 0, count: 513), at: .zero)
        }
    }

    @Test func theGapBetweenFragmentsIsThreeSeconds() throws {
        var reassembler = Reassembler()
        _ = try reassembler.receive([0x80, 0, 3, 1], at: .seconds(10))
        #expect(reassembler.deadline == .seconds(13))
        _ = try reassembler.receive([0x01, 2], at: .seconds(13))
        #expect(throws: FramingError.gap) {
            _ = try reassembler.receive([0x42, 3], at: .milliseconds(16_001))
        }
    }

    /// Every fragment lost in turn, every two swapped, every one repeated.
    @Test(arguments: [23, 185, 247, 517])
    func aLostRepeatedOrOvertakenFragmentIsNoticed(mtu: Int) throws {
        let message = try Vectors.bytes("noise.m2") + Vectors.bytes("msg.ACCEPT")
        var fragmenter = Fragmenter(fragmentBytes: try #require(Framing.fragmentBytes(mtuBytes: mtu)))
        let whole = try fragmenter.fragments(of: message) + fragmenter.fragments(of: [1])
        for place in whole.indices.dropLast() {
            var lost = whole
            lost.remove(at: place)
            var swapped = whole
            swapped.swapAt(place, place + 1)
            var repeated = whole
            repeated.insert(whole[place], at: place)
            for frames in [lost, swapped, repeated] {
                var reassembler = Reassembler()
                #expect(throws: FramingError.self) {
                    for frame in frames { _ = try reassembler.receive(frame, at: .zero) }
                }
            }
        }
    }

    @Test func anyBytesEndInAnAnswer() {
        var generator = SeededGenerator(seed: 4)
        for _ in 0..<20_000 {
            var reassembler = Reassembler()
            var sequence: UInt8 = 0
            for _ in 0..<8 {
                var fragment = generator.bytes(Int.random(in: 0...24, using: &generator))
                // Mostly the right number, or nothing past the first check is ever reached.
                if !fragment.isEmpty, Bool.random(using: &generator) { fragment[0] = fragment[0] & 0xC0 | sequence }
                if fragment.count > 2, Bool.random(using: &generator) { fragment[1] = 0 }
                do { _ = try reassembler.receive(fragment, at: .zero) } catch { break }
                sequence = (sequence + 1) & 0x3F
            }
        }
    }
}
