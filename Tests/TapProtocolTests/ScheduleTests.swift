import TapProtocol
import Testing

struct ScheduleTests {
    let id: PaymentID

    init() throws { id = try #require(PaymentID("019ab697-e800-791a-b5fd-49dd46939c7d")) }

    static let blocks = 50
    static let schedulesOfABlock = 2_000

    /// As many as the profile's own model was played. The same in every run.
    @Test func theyAreAHundredThousand() { #expect(Self.blocks * Self.schedulesOfABlock >= 100_000) }

    @Test(arguments: 0..<blocks)
    func noScheduleChargesTwiceOrSaysWhatIsNotSo(block: Int) {
        var completed = 0
        for seed in 0..<Self.schedulesOfABlock {
            var world = World(seed: UInt64(block * Self.schedulesOfABlock + seed), id: id)
            world.play()
            if !world.faults.isEmpty {
                Issue.record("seed \(block * Self.schedulesOfABlock + seed): \(world.faults)")
            }
            if world.gateway.completed != nil { completed += 1 }
        }
        // Schedules in which nobody ever pays would prove nothing.
        #expect(completed > Self.schedulesOfABlock / 10)
    }

    /// A search that finds nothing proves something only if it finds what is there.
    @Test(arguments: SeededFault.allCases.filter { ![.claimsTwice, .executesEverything].contains($0) })
    func aBrokenRuleIsFound(fault: SeededFault) {
        #expect(firstSeed(of: 20_000, breaking: [fault]) { !$0.faults.isEmpty } != nil)
    }

    /// The journal and the gateway each keep money from moving twice, and only together they could let it.
    @Test func moneyMovesTwiceOnlyWhereJournalAndGatewayFailTogether() {
        func isChargedTwice(_ world: World) -> Bool { world.faults.contains("charged twice") }
        #expect(firstSeed(of: 3_000, breaking: [.claimsTwice], isChargedTwice) == nil)
        #expect(firstSeed(of: 3_000, breaking: [.executesEverything], isChargedTwice) == nil)
        #expect(firstSeed(of: 20_000, breaking: [.claimsTwice, .executesEverything], isChargedTwice) != nil)
    }

    private func firstSeed(
        of count: Int,
        breaking broken: Set<SeededFault>,
        _ isFound: (World) -> Bool
    ) -> Int? {
        (0..<count).first { seed in
            var world = World(seed: UInt64(seed), id: id, broken: broken)
            world.play()
            return isFound(world)
        }
    }
}
