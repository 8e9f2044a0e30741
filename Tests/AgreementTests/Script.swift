import Sandbox

/// What is to happen in a play.
struct Script: Sendable, CustomStringConvertible {
    let scenario: ChargeScenario
    let faults: [Fault]
    /// Where the program dies while the faults last, one run after the other, to be started again.
    var before: [Death] = []
    /// Where it dies when they are over.
    var after: [Death] = []

    init(_ scenario: ChargeScenario, _ faults: [Fault] = []) { (self.scenario, self.faults) = (scenario, faults) }

    var isUndisturbed: Bool { before.isEmpty && after.isEmpty }

    var description: String { "\(scenario), \(faults), dies \(before), then \(after)" }

    /// The same up to one of the runs that it led to, which ends like this.
    func dying(_ death: Death, in run: Int, of ending: Ending) -> Script {
        var script = self
        if run < ending.runsWithFaults {
            (script.before, script.after) = (before.prefix(run) + [death], [])
        } else {
            script.after = after.prefix(run - ending.runsWithFaults) + [death]
        }
        return script
    }
}
