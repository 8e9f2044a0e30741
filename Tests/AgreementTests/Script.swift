import Sandbox

/// What is to happen in a play.
struct Script: Sendable, CustomStringConvertible {
    let story: Story
    let faults: [Fault]
    /// Where the program dies while the faults last, one run after the other, to be started again.
    var before: [Death] = []
    /// Where it dies when they are over.
    var after: [Death] = []

    init(_ story: Story, _ faults: [Fault] = []) { (self.story, self.faults) = (story, faults) }

    var isUndisturbed: Bool { before.isEmpty && after.isEmpty }

    var description: String { "\(story), \(faults), dies \(before), then \(after)" }

    /// The same up to one of the lives that it led to, which ends like this.
    func dying(_ death: Death, in life: Int, of ending: Ending) -> Script {
        var script = self
        if life < ending.livesWithFaults {
            (script.before, script.after) = (before.prefix(life) + [death], [])
        } else {
            script.after = after.prefix(life - ending.livesWithFaults) + [death]
        }
        return script
    }
}
