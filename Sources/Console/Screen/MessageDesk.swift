import Foundation
import Payments
import Terminal

/// One message of a program's, and what became of it.
struct ShownMessage: Sendable, Equatable {
    enum State: String, Sendable, CaseIterable {
        /// On the screen, or waiting there until a charge is over.
        case up
        case answered
        /// Its time is over.
        case expired
        /// Taken off by a program or by staff.
        case withdrawn
        /// Another one of the same program took its place.
        case replaced
    }

    let id: String
    let form: MessageForm
    /// Who put it there.
    let by: Payments.Actor
    let createdAt: WallTime
    /// By the clock's `elapsed`.
    let ends: Duration
    var state = State.up
    /// The place of the answer among the options.
    var answer: Int?
}

/// What programs put on the screen. One message at a time; it is held in memory, and gone after a restart.
actor MessageDesk {
    private let desk: ChargeDesk
    private let clock: TerminalClock
    nonisolated let paymentHosts: [String]
    /// The newest last.
    private var messages: [ShownMessage] = []
    private var followers: [Int: AsyncStream<Void>.Continuation] = [:]
    private var nextFollower = 0
    private let timers = AsyncStream.makeStream(of: Duration.self, bufferingPolicy: .bufferingNewest(16))

    /// So many can be asked about.
    static let remembered = 32

    init(desk: ChargeDesk, clock: TerminalClock, paymentHosts: [String]) {
        (self.desk, self.clock, self.paymentHosts) = (desk, clock, paymentHosts)
    }

    /// Takes messages off when their time is over. Once only.
    func run() async {
        let clock = clock
        await withDiscardingTaskGroup { group in
            for await seconds in timers.stream {
                group.addTask {
                    do { try await clock.sleep(seconds) } catch { return }  // The terminal stops.
                    await self.endWhatIsOver()
                }
            }
            group.cancelAll()
        }
    }

    /// - Throws: ``Problem`` 409 where another's message is there.
    func show(_ form: MessageForm, by who: Payments.Actor) async throws(Problem) -> ShownMessage {
        await endWhatIsOver()
        if let up {
            guard up.by == who else {
                throw Problem(
                    409,
                    "screen_busy",
                    "Another program's message is on the screen. This one is not shown.",
                    "Try again when it is over, or take it off first."
                )
            }
            change(up.id) { $0.state = .replaced }
        }
        var generator = SystemRandomNumberGenerator()
        let message = ShownMessage(
            id: (0..<4).map { _ in Self.digits(UInt32.random(in: .min ... .max, using: &generator)) }.joined(),
            form: form,
            by: who,
            createdAt: clock.wallTime(),
            ends: clock.elapsed() + .seconds(form.seconds)
        )
        messages.append(message)
        if messages.count > Self.remembered { messages.removeFirst() }
        timers.continuation.yield(.seconds(form.seconds))
        await show()
        return message
    }

    /// The one on the screen, or waiting behind a charge.
    var current: ShownMessage? {
        get async {
            await endWhatIsOver()
            return up
        }
    }

    /// - Throws: ``Problem`` 404.
    func message(_ id: String) async throws(Problem) -> ShownMessage {
        await endWhatIsOver()
        guard let message = messages.first(where: { $0.id == id }) else {
            throw Problem(
                404,
                "message_not_found",
                "There is no such message, or it is over for so long that it was forgotten.",
                "Show it again if it is still needed."
            )
        }
        return message
    }

    /// What the customer said, by whoever heard it.
    /// - Throws: ``Problem`` 404, 409 where it is over, or 422.
    func answer(_ id: String, with option: Int) async throws(Problem) -> ShownMessage {
        let message = try await message(id)
        guard message.form.options.indices.contains(option) else {
            throw .field(
                "answer",
                Payments.Reason(
                    code: "answer_unknown",
                    message: "The message has no such answer.",
                    action: "Send the place of the answer in its list, beginning with 0."
                )
            )
        }
        if message.state == .answered, message.answer == option { return message }
        guard message.state == .up else { throw Self.isOver }
        change(id) { ($0.state, $0.answer) = (.answered, option) }
        await show()
        return try await self.message(id)
    }

    /// Takes it off the screen. Of one that is over nothing changes.
    /// - Throws: ``Problem`` 404.
    func withdraw(_ id: String) async throws(Problem) -> ShownMessage {
        if try await message(id).state == .up {
            change(id) { $0.state = .withdrawn }
            await show()
        }
        return try await message(id)
    }

    /// Rings with each change of any message.
    func following() -> AsyncStream<Void> {
        nextFollower += 1
        let name = nextFollower
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        followers[name] = continuation
        // Not structured: the stream's end can come from any thread. It does one thing and holds nothing.
        continuation.onTermination = { [weak self] _ in Task { await self?.leave(name) } }
        continuation.yield()
        return stream
    }

    private func leave(_ name: Int) { followers[name] = nil }

    private var up: ShownMessage? { messages.last { $0.state == .up } }

    private func change(_ id: String, _ change: (inout ShownMessage) -> Void) {
        guard let index = messages.firstIndex(where: { $0.id == id }) else { return }
        change(&messages[index])
        for follower in followers.values { follower.yield() }
    }

    private func endWhatIsOver() async {
        guard let up, up.ends <= clock.elapsed() else { return }
        change(up.id) { $0.state = .expired }
        await show()
    }

    private func show() async {
        await desk.setMessage(
            up.map {
                ScreenMessage(
                    id: $0.id,
                    title: $0.form.title,
                    text: $0.form.text,
                    code: $0.form.content,
                    options: $0.form.options
                )
            }
        )
    }

    private static let isOver = Problem(
        409,
        "message_over",
        "The message is not on the screen any more, so nothing can be answered.",
        "Show it again if it is still needed."
    )

    private static func digits(_ number: UInt32) -> String {
        let text = String(number, radix: 36)
        return String(repeating: "0", count: 7 - text.utf8.count) + text
    }
}
