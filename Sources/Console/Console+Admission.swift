import Journal
import Locks
import Payments
import Terminal
import WebServer

/// What becomes of a request's body, decided by its head.
///
/// Decided in docs/decisions/0032-room-for-those-who-belong-here.md.
extension Console {
    /// The longest body of somebody who is not known: a password and a code are shorter.
    static let strangersBodyBytes = 4 * 1024

    /// Judges a request before a byte of its body is kept. On the server's thread: nothing here waits.
    /// - Parameter request: Its head, without a body.
    func admission(of request: WebRequest, _ body: WebServer.AnnouncedBody) -> WebServer.Admission {
        let program = Gate.shownToken(request).flatMap { tokens.good.token($0) }
        let isKnown = program != nil || sessions.has(request.cookies[Gate.cookie], at: clock.wallTime())
        guard body != .none, request.path.hasPrefix("/api/v1/"), request.path != Self.contractPath else {
            // Nothing but the API takes a body.
            return WebServer.Admission(isKnown: isKnown, .take(bodyBytes: Self.strangersBodyBytes))
        }
        do throws(Problem) {
            if !request.headers("Authorization").isEmpty {
                guard entrance.claimed.value else { throw .notClaimed }
                guard request.cookies[Gate.cookie] == nil else { throw .twoCredentials }
                guard let program else { throw .tokenNeeded }
                _ = try gate.check(request, of: program, hasBody: true)
                return WebServer.Admission(isKnown: true, .take(bodyBytes: .max))
            }
            let now = clock.wallTime()
            let pass = try gate.check(request, isClaimed: entrance.claimed.value, now: now)
            let bytes = pass.route.isOpen ? Self.strangersBodyBytes : .max
            return WebServer.Admission(isKnown: isKnown, .take(bodyBytes: bytes))
        } catch {
            let problem = error
            var answer = Self.noStore(problem.response)
            if problem == .tokenNeeded { answer.headers.add("WWW-Authenticate", "Bearer realm=\"till\"") }
            let refusals = refusals
            return WebServer.Admission(isKnown: isKnown, .refuse(answer: answer) { refusals.note(request, problem) })
        }
    }

    /// Writes down what was refused by its head, as ``handle(_:_:)`` does for what it refuses itself. Until cancelled.
    func recordRefusals() async {
        for await refusal in refusals.stream {
            let (request, problem) = (refusal.request, refusal.problem)
            // Counted like any other: who shows wrong tokens with long bodies is slowed down as well.
            if problem == .tokenNeeded {
                _ = await tokens.check(Gate.shownToken(request), from: request.peerAddress)
            }
            guard [401, 403].contains(problem.status) || problem == .twoCredentials else { continue }
            let session =
                problem.reason.code == "not_allowed"
                ? sessions.session(of: request.cookies[Gate.cookie], at: clock.wallTime()) : nil
            let who = session.map { " by \($0.who.name)" } ?? ""
            let unwritten = refusals.takeUnwritten()
            let more = unwritten > 0 ? " (and \(unwritten) at the same time)" : ""
            await entrance.audit(
                "request",
                "refused",
                "\(problem.reason.code) \(request.path.prefix(80))\(who)\(more)",
                by: .stranger,
                from: request.peerAddress
            )
        }
    }
}

/// Requests that were refused by their heads and are not on record yet. A short line: what does not fit is counted.
final class HeadRefusals: Sendable {
    struct Refusal: Sendable {
        let request: WebRequest
        let problem: Problem
    }

    /// For one reader.
    let stream: AsyncStream<Refusal>
    private let continuation: AsyncStream<Refusal>.Continuation
    private let unwritten = Atomic<Int>(0)

    init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(32)) }

    func note(_ request: WebRequest, _ problem: Problem) {
        if case .dropped = continuation.yield(Refusal(request: request, problem: problem)) {
            unwritten.add(1, ordering: .relaxed)
        }
    }

    /// How many did not fit since the last time.
    func takeUnwritten() -> Int { unwritten.exchange(0, ordering: .relaxed) }
}
