import FoundationEssentials
import Payments
import Sandbox
import Testing

/// Each endpoint of the gateway × each of its faults × the terminal killed at each point, in each scenario of a charge: the
/// journal and the gateway agree in the end, and no word on the way was wrong. A run plays a sample of that space, or all of it.
struct AgreementTests {
    private let sample = Sample.ofThisRun

    @Test(arguments: ChargeScenario.allCases)
    func withoutAnyFaultTheyAgreeWhereverTheTerminalDies(scenario: ChargeScenario) async throws {
        let coverage = CrashCoverage(reopens: true)
        try await dieEverywhere(in: Script(scenario), coverage, twice: true)
        report(coverage, "\(scenario), no fault")
    }

    @Test(arguments: Column.all)
    func withAnyFaultTheyAgreeInEveryScenario(column: Column) async throws {
        let coverage = CrashCoverage()
        for scenario in ChargeScenario.allCases {
            // Where the endpoint is not asked, there is nothing to go wrong with it.
            let before = try column.before.map { try Fault(parsing: $0) }
            guard try await play(Script(scenario, before), coverage).asked.contains(column.endpoint.rawValue) else {
                #expect(scenario != column.scenario, "\(column.endpoint.rawValue) is not asked in its own scenario")
                continue
            }
            let troubles = column.troubles.filter { $0.isFelt || scenario == column.scenario }
            for trouble in sample.some(troubles, of: "\(column.testDescription), \(scenario)", oneIn: 16) {
                try await play(Script(scenario, try trouble.faults()), coverage)
            }
        }
        print("\(column.testDescription): \(coverage.plays) plays in every scenario")
    }

    @Test(arguments: Column.all)
    func withAnyFaultTheyAgreeWhereverTheTerminalDies(column: Column) async throws {
        // Where only the office can be in trouble, the till's own points are those of the scenario without a fault.
        let coverage = CrashCoverage { !column.isOfficesAlone || !$0.isTills }
        let troubles = column.troubles.filter { $0.isFelt && ($0.lasts || !column.isOfficesAlone) }
        for trouble in sample.some(troubles, of: column.testDescription, oneIn: 12) {
            try await dieEverywhere(in: Script(column.scenario, try trouble.faults()), coverage)
        }
        report(coverage, column.testDescription)
    }

    private func report(_ coverage: CrashCoverage, _ what: String) {
        let (killed, spared) = (coverage.killed, coverage.spared)
        #expect(killed > (sample.isExhaustive ? 4 : 0))
        // A sample leaves points out on purpose.
        if sample.isExhaustive { for point in spared { Issue.record("\(what): nobody was killed \(point)") } }
        print("\(what): \(coverage.plays) plays, killed at \(killed) points, \(spared.count) spared")
    }

    /// - Parameter twice: Whether the run after a death dies too, wherever it comes by.
    private func dieEverywhere(in script: Script, _ coverage: CrashCoverage, twice: Bool = false) async throws {
        let first = try await play(script, coverage).ending
        let deaths = Array(Death.all(along: first.runs[0]).enumerated()).filter { coverage.counts($0.element.point) }
        for (turn, death) in sample.some(deaths, of: "\(script)", oneIn: twice ? 4 : 12) {
            let dying = script.dying(death, in: 0, of: first)
            let second = try await play(dying, coverage).ending
            guard twice, death.occasion == 1, second.deaths.first == death.point else { continue }
            // A third of them after each death, in turns: all pairs of a dozen neighbours are alike.
            let places = Array(Death.all(along: second.runs[1]).enumerated()).filter { place, again in
                again.occasion == 1 && (place - turn).isMultiple(of: 3)
            }
            for (_, again) in sample.some(places, of: "\(dying)", oneIn: 12) {
                try await play(dying.dying(again, in: 1, of: second), coverage)
            }
        }
        guard sample.isExhaustive else { return }
        // Wherever any run came by, also after a death or after the faults, and nobody has died yet.
        while let script = coverage.nextSpared() { try await play(script, coverage) }
    }

    @discardableResult
    private func play(_ script: Script, _ coverage: CrashCoverage) async throws -> (ending: Ending, asked: Set<String>)
    {
        await ConcurrencyLimit.all.enter()
        defer { ConcurrencyLimit.all.leave() }
        let simulation = try ChargeSimulation(script, coverage.books)
        let keepsKeys = !script.faults.contains { $0.effect == .forgetKey }
        let ending = try await simulation.play { ending in
            if let objection = ending.wrongWord(keepsKeys: keepsKeys) ?? ending.falseCertainty {
                Issue.record("\(script): in the middle: \(objection); gateway \(ending.payments)")
            }
        }
        coverage.add(ending, of: script)
        if let objection = ending.wrongWord(keepsKeys: keepsKeys) ?? ending.disagreement(keepsKeys: keepsKeys) {
            let said = ending.words.map(\.rawValue)
            Issue.record("\(script): \(objection); said \(said), gateway \(ending.payments)")
        }
        return (ending, script.isUndisturbed ? try await simulation.endpointsAsked() : [])
    }
}
