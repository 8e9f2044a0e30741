import Testing

@testable import Improv

/// Packets as phones write them, whole and in pieces.
struct ImprovPacketTests {
    private static func packet(_ command: UInt8, _ strings: [[UInt8]]) -> [UInt8] {
        let data = strings.flatMap { [UInt8($0.count)] + $0 }
        let head = [command, UInt8(data.count)] + data
        return head + [ImprovPacket.checksum(head[...])]
    }

    /// The bytes of the protocol's own page: network "MyWirelessAP", passphrase "mysecurepassword".
    @Test func theExampleOfTheProtocolIsRead() {
        let bytes: [UInt8] = [
            0x01, 0x1E, 0x0C, 0x4D, 0x79, 0x57, 0x69, 0x72, 0x65, 0x6C, 0x65, 0x73, 0x73, 0x41, 0x50, 0x10, 0x6D, 0x79,
            0x73, 0x65, 0x63, 0x75, 0x72, 0x65, 0x70, 0x61, 0x73, 0x73, 0x77, 0x6F, 0x72, 0x64,
        ]
        let wanted = ImprovNetwork(name: Array("MyWirelessAP".utf8), passphrase: Array("mysecurepassword".utf8))
        #expect(ImprovPacket.command(bytes + [bytes.reduce(0, &+)]) == .join(wanted))
    }

    @Test func onlyAPacketThatIsWholeAndTrueIsOne() {
        let good = Self.packet(1, [[65, 66], [49]])
        #expect(ImprovPacket.command(good) != nil)
        for place in good.indices {
            var bad = good
            bad[place] &+= 1
            #expect(ImprovPacket.command(bad) == nil, "byte \(place) is another")
            #expect(ImprovPacket.command(Array(good.prefix(place))) == nil)
        }
        #expect(ImprovPacket.command(good + [0]) == nil)
        #expect(ImprovPacket.command(Self.packet(1, [])) == nil)
        #expect(ImprovPacket.command(Self.packet(1, [[65]])) == nil)
        #expect(ImprovPacket.command(Self.packet(1, [[65], [66], [67]])) == nil)
        #expect(ImprovPacket.command([1, 2, 9, 9, 21]) == nil, "a string that is longer than the data")
        #expect(ImprovPacket.command([1, 4, 1, 65, 5, 49, 125]) == nil, "a second one that is")
        #expect(ImprovPacket.command([2, 0, 2]) == .unknown(2))
        #expect(ImprovPacket.command([7, 1, 0, 8]) == .unknown(7))
    }

    @Test func anAnswerIsAPacketAndLeavesOutWhatHasNoRoom() {
        #expect(ImprovPacket.result(of: 1, ["ab"]) == [1, 3, 2, 97, 98, 201])
        #expect(ImprovPacket.result(of: 1, []) == [1, 0, 1])
        #expect(ImprovPacket.result(of: 1, [String(repeating: "x", count: 255)]) == [1, 0, 1])
        let longest = ImprovPacket.result(of: 1, [String(repeating: "x", count: 254), "y"])
        #expect(longest.count == ImprovPacket.longest && longest[1] == 255)
    }

    /// Every way to cut some packets in pieces gives the same command.
    @Test(arguments: 0..<200)
    func piecesOfAnySizeMakeTheSameCommand(seed: UInt64) {
        var chance = Chance(seed)
        let strings = (0..<2).map { _ in (0..<chance.next(120)).map { _ in UInt8(chance.next(256)) } }
        let packet = Self.packet(1, strings)
        var (assembler, rest, now) = (ImprovAssembler(), packet[...], Duration.zero)
        while !rest.isEmpty {
            let size = min(rest.count, 1 + chance.next(20))
            let outcome = assembler.take(ImprovPiece(Array(rest.prefix(size))), at: now)
            rest = rest.dropFirst(size)
            now += ImprovAssembler.pause
            let wanted = ImprovNetwork(name: strings[0], passphrase: strings[1])
            #expect(outcome == (rest.isEmpty ? .command(.join(wanted)) : .unfinished))
        }
        #expect(assembler.take(ImprovPiece([2, 0, 2]), at: now) == .command(.unknown(2)), "nothing of it is left")
    }

    @Test func aPieceThatComesTooLateBeginsAnew() {
        var assembler = ImprovAssembler()
        #expect(assembler.take(ImprovPiece([1, 4]), at: .zero) == .unfinished)
        let late = ImprovAssembler.pause + .milliseconds(1)
        #expect(assembler.take(ImprovPiece([2, 0, 2]), at: late) == .command(.unknown(2)))
    }

    /// Whatever is written, no more is kept than a packet has, and the next good packet after an invalid one is read.
    @Test(arguments: 0..<300)
    func noBytesAtAllMakeItGrow(seed: UInt64) {
        var (chance, assembler) = (Chance(seed), ImprovAssembler())
        for step in 0..<200 {
            let piece = (0..<chance.next(chance.next(4) == 0 ? 600 : 24)).map { _ in UInt8(chance.next(256)) }
            let outcome = assembler.take(ImprovPiece(piece), at: .milliseconds(step * chance.next(100)))
            #expect(assembler.kept.bytes.count < ImprovPacket.longest)
            if outcome == .invalid { #expect(assembler.kept.bytes.isEmpty) }
        }
        #expect(assembler.take(ImprovPiece([2, 0, 2]), at: .seconds(3_600)) == .command(.unknown(2)))
    }

    @Test func aPassphraseIsInNoText() {
        let network = ImprovNetwork(name: [65], passphrase: Array("tram bell".utf8))
        let piece = ImprovPiece(Array("tram bell".utf8))
        let wrote = ImprovMachine.Event.wrote(ImprovPhone("a"), piece)
        var (assembler, machine) = (ImprovAssembler(), ImprovMachine())
        #expect(assembler.take(piece, at: .zero) == .unfinished)
        for event in [.armed(asks: false), wrote] { #expect(machine.handle(event, at: .zero).count < 2) }
        let (command, action) = (ImprovCommand.join(network), ImprovMachine.Action.join(network, number: 1))
        let holders: [Any] = [network, command, action, piece, wrote, assembler, machine]
        for holder in holders {
            var dumped = ""
            dump(holder, to: &dumped)
            for text in ["\(holder)", String(reflecting: holder), dumped] {
                #expect(!text.contains("116") && !text.contains("tram"))
            }
        }
    }
}

/// Numbers that are the same for the same seed.
struct Chance {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    /// From 0 to one less than `limit`; 0 where that is 0.
    mutating func next(_ limit: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return limit > 0 ? Int(state >> 33) % limit : 0
    }
}
