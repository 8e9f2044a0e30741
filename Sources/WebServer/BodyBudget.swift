import Locks

/// The bytes of all request bodies in memory, within one budget.
///
/// Two kinds of body have a share and no more: those of unknown senders, and long ones. What is left belongs to short bodies of
/// known senders, which are charges: no upload and no stranger can take their room.
final class BodyBudget: Sendable {
    enum Kind: Sendable, Equatable, CaseIterable {
        /// From somebody unknown.
        case unknown
        /// Known, and longer than a request usually is.
        case long
        /// Known, and as long as requests usually are.
        case usual
    }

    private struct State {
        var unknown = 0
        var long = 0
        var usual = 0

        var all: Int { unknown + long + usual }
    }

    private let state = Mutex(State())
    private let limits: WebServer.Limits

    init(_ limits: WebServer.Limits) { self.limits = limits }

    /// Takes room for a body. False: there is none, and nothing was taken.
    /// - Parameter bytes: The most that the body may become; 0 or more.
    func take(_ bytes: Int, for kind: Kind) -> Bool {
        state.withLock { state in
            guard bytes <= limits.bodiesBytes - state.all else { return false }
            switch kind {
            case .unknown:
                guard bytes <= limits.unknownBodiesBytes - state.unknown else { return false }
                state.unknown += bytes
            case .long:
                guard bytes <= limits.longBodiesBytes - state.long else { return false }
                state.long += bytes
            case .usual: state.usual += bytes
            }
            return true
        }
    }

    /// Gives back what ``take(_:for:)`` took.
    func giveBack(_ bytes: Int, for kind: Kind) {
        state.withLock { state in
            switch kind {
            case .unknown: state.unknown -= bytes
            case .long: state.long -= bytes
            case .usual: state.usual -= bytes
            }
        }
    }

    /// What is taken now.
    var bytes: Int { state.withLock { $0.all } }
}
