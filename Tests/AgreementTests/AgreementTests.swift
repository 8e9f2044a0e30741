import FoundationEssentials
import Payments
import Sandbox
import Testing

/// Each endpoint of the gateway × each of its faults × the terminal killed at each point, in each story of a charge: the
/// journal and the gateway agree in the end, and no word on the way was wrong.
struct AgreementTests {
    @Test(arguments: Story.allCases)
    func withoutAnyFaultTheyAgreeWhereverTheTerminalDies(story: Story) async throws {
        let season = Season(reopens: true)
        try await dieEverywhere(in: Script(story), season, twice: true)
        report(season, "\(story), no fault")
    }

    @Test(arguments: Column.all)
    func withAnyFaultTheyAgreeInEveryStory(column: Column) async throws {
        let season = Season()
        for story in Story.allCases {
            // Where the endpoint is not asked, there is nothing to go wrong with it.
            let before = try column.before.map { try Fault(parsing: $0) }
            guard try await play(Script(story, before), season).asked.contains(column.endpoint.rawValue) else {
                #expect(story != column.story, "\(column.endpoint.rawValue) is not asked in its own story")
                continue
            }
            for trouble in column.troubles where trouble.isFelt || story == column.story {
                try await play(Script(story, try trouble.faults()), season)
            }
        }
        print("\(column.testDescription): \(season.plays) plays in every story")
    }

    @Test(arguments: Column.all)
    func withAnyFaultTheyAgreeWhereverTheTerminalDies(column: Column) async throws {
        // Where only the office can be in trouble, the till's own points are those of the story without a fault.
        let season = Season { !column.isOfficesAlone || !$0.isTills }
        for trouble in column.troubles where trouble.isFelt && (trouble.lasts || !column.isOfficesAlone) {
            try await dieEverywhere(in: Script(column.story, try trouble.faults()), season)
        }
        report(season, column.testDescription)
    }

    private func report(_ season: Season, _ what: String) {
        let (killed, spared) = (season.killed, season.spared)
        #expect(killed > 4)
        for point in spared { Issue.record("\(what): nobody was killed \(point)") }
        print("\(what): \(season.plays) plays, killed at \(killed) points, \(spared.count) spared")
    }

    /// - Parameter twice: Whether the run after a death dies too, wherever it comes by.
    private func dieEverywhere(in script: Script, _ season: Season, twice: Bool = false) async throws {
        let first = try await play(script, season).ending
        for (turn, death) in Death.all(along: first.lives[0]).enumerated() where season.counts(death.point) {
            let dying = script.dying(death, in: 0, of: first)
            let second = try await play(dying, season).ending
            guard twice, death.occasion == 1, second.deaths.first == death.point else { continue }
            // A third of them after each death, in turns: all pairs of a dozen neighbours are alike.
            for (place, again) in Death.all(along: second.lives[1]).enumerated()
            where again.occasion == 1 && (place - turn).isMultiple(of: 3) {
                try await play(dying.dying(again, in: 1, of: second), season)
            }
        }
        // Wherever any run came by, also after a death or after the faults, and nobody has died yet.
        while let script = season.nextSpared() { try await play(script, season) }
    }

    @discardableResult
    private func play(_ script: Script, _ season: Season) async throws -> (ending: Ending, asked: Set<String>) {
        await Gate.all.enter()
        defer { Gate.all.leave() }
        let counter = try Counter(script, season.books)
        let keepsKeys = !script.faults.contains { $0.effect == .forgetKey }
        let ending = try await counter.play { ending in
            if let objection = ending.wrongWord(keepsKeys: keepsKeys) ?? ending.falseCertainty {
                Issue.record("\(script): in the middle: \(objection); gateway \(ending.payments)")
            }
        }
        season.add(ending, of: script)
        if let objection = ending.wrongWord(keepsKeys: keepsKeys) ?? ending.disagreement(keepsKeys: keepsKeys) {
            let said = ending.words.map(\.rawValue)
            Issue.record("\(script): \(objection); said \(said), gateway \(ending.payments)")
        }
        return (ending, script.isUndisturbed ? try await counter.endpointsAsked() : [])
    }
}
