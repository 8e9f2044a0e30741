import Locks
import Payments

/// The coverage of a number of plays with one shop's journal: which points the program came to, and where it was killed.
final class CrashCoverage: Sendable {
    private struct State {
        var books: Books
        var plays = 0
        var killed: Set<Point> = []
        /// Where somebody came by and nobody was killed, and how it can be done.
        var spared: [Point: Script] = [:]
        var tries: [Point: Int] = [:]
    }

    private let reopens: Bool
    /// Which points are worth a death.
    let counts: @Sendable (Point) -> Bool
    private let state: Mutex<State>

    /// - Parameter reopens: Whether each run of the program opens the journal's files anew.
    init(reopens: Bool = false, counts: @escaping @Sendable (Point) -> Bool = { _ in true }) {
        (self.reopens, self.counts) = (reopens, counts)
        state = Mutex(State(books: Books(reopens: reopens)))
    }

    /// The journal for the next play.
    var books: Books { state.withLock { $0.books } }

    func add(_ ending: Ending, of script: Script) {
        state.withLock { state in
            state.plays += 1
            for point in ending.deaths {
                state.killed.insert(point)
                state.spared[point] = nil
            }
            for (index, run) in ending.runs.enumerated() {
                for death in Death.all(along: run) where death.occasion == 1 && counts(death.point) {
                    guard !state.killed.contains(death.point), state.spared[death.point] == nil else { continue }
                    state.spared[death.point] = script.dying(death, in: index, of: ending)
                }
            }
            // The next play would begin with a charge that is none of its own.
            if ending.charge?.state.isFinal == false { state.books = Books(reopens: reopens) }
        }
    }

    var plays: Int { state.withLock { $0.plays } }
    var killed: Int { state.withLock { $0.killed.count } }
    /// Where nobody was killed although they came by.
    var spared: [Point] { state.withLock { $0.spared.keys.sorted { "\($0)" < "\($1)" } } }

    /// A play that should end one of the spared; nil where there is none, or none that it helps to try again.
    func nextSpared() -> Script? {
        state.withLock { state in
            let next = state.spared.filter { state.tries[$0.key, default: 0] < 6 }.min { "\($0.key)" < "\($1.key)" }
            guard let (point, script) = next else { return nil }
            state.tries[point, default: 0] += 1
            return script
        }
    }
}
