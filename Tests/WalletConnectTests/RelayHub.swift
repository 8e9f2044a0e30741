import Locks
import TestSupport

@testable import WalletConnect

/// A relay within the process, with faults by a seed: publications lost on the way or after they were taken, copies, delays
/// and any order.
final class RelayHub: Sendable {
    struct Faults: Sendable {
        /// Of a hundred publications each.
        var lost = 0, unconfirmed = 0, doubled = 0, delayed = 0
        static let none = Faults()
    }

    private struct Letter {
        let number: UInt64
        let publication: RelayPublication
        let from: Int
    }

    private struct Mailbox {
        var continuation: AsyncStream<RelayMessage>.Continuation
        var states: AsyncStream<RelayConnectionState>.Continuation
        var topics: Set<Topic> = []
        var acknowledged: Set<UInt64> = []
    }

    private struct State {
        var generator: SeededGenerator
        var faults: Faults
        var letters: [Topic: [Letter]] = [:]
        var ports: [Int: Mailbox] = [:]
        var delayed: [(port: Int, letter: Letter)] = []
        var last: UInt64 = 0
        var publications: [(from: Int, publication: RelayPublication)] = []
        var isDown = false
        var isSilent = false
        var unheard = 0
    }

    private let state: Mutex<State>

    init(seed: UInt64 = 1, faults: Faults = .none) {
        state = Mutex(State(generator: SeededGenerator(seed: seed), faults: faults))
    }

    /// A new client's end. `number` tells ends apart and stays the same over a restart.
    func port(_ number: Int) -> Port {
        let (messages, continuation) = AsyncStream.makeStream(of: RelayMessage.self)
        let (states, stateContinuation) = AsyncStream.makeStream(of: RelayConnectionState.self)
        state.withLock { state in
            var mailbox = Mailbox(continuation: continuation, states: stateContinuation)
            mailbox.acknowledged = state.ports[number]?.acknowledged ?? []
            state.ports[number] = mailbox
            stateContinuation.yield(state.isDown ? .disconnected(reason: "down") : .connected)
        }
        return Port(hub: self, number: number, messages: messages, connectionStates: states)
    }

    /// Everything that was handed in, confirmed or not.
    var publications: [(from: Int, publication: RelayPublication)] { state.withLock(\.publications) }

    /// Publications on topics their sender did not listen to, and so would not have heard the answer.
    var unheard: Int { state.withLock(\.unheard) }

    /// No connection for anybody, or one again.
    func setDown(_ isDown: Bool) {
        state.withLock { state in
            state.isDown = isDown
            for port in state.ports.values { port.states.yield(isDown ? .disconnected(reason: "down") : .connected) }
            guard !isDown else { return }
            for number in state.ports.keys { Self.deliverAll(to: number, topics: nil, &state) }
        }
    }

    /// Takes nothing and confirms nothing, as a relay that has stopped answering: each call times out.
    func setSilent(_ isSilent: Bool) { state.withLock { $0.isSilent = isSilent } }

    /// Delivers what was held back, in any order, and again what nobody acknowledged.
    func settle() {
        state.withLock { state in
            let delayed = state.delayed.shuffled(using: &state.generator)
            state.delayed = []
            for item in delayed { Self.deliver(item.letter, to: item.port, &state) }
            for number in state.ports.keys.sorted() { Self.deliverAll(to: number, topics: nil, &state) }
        }
    }

    /// Puts any text before a client, as a hostile relay or peer can.
    func inject(_ message: String, topic: Topic, tag: Int = 0, to number: Int) {
        state.withLock { state in
            state.last += 1
            state.ports[number]?.continuation.yield(
                RelayMessage(topic: topic, message: message, tag: tag, receipt: state.last)
            )
        }
    }

    fileprivate func subscribe(_ topic: Topic, _ number: Int) throws(RelayFailure) {
        let (isDown, isSilent) = state.withLock { state in
            state.ports[number]?.topics.insert(topic)
            if !state.isDown, !state.isSilent { Self.deliverAll(to: number, topics: [topic], &state) }
            return (state.isDown, state.isSilent)
        }
        if isDown { throw .notConnected }
        if isSilent { throw .timedOut }
    }

    fileprivate func unsubscribe(_ topic: Topic, _ number: Int) {
        state.withLock { _ = $0.ports[number]?.topics.remove(topic) }
    }

    fileprivate func publish(_ publication: RelayPublication, _ number: Int) throws(RelayFailure) {
        let failure = state.withLock { state -> RelayFailure? in
            guard !state.isDown else { return .notConnected }
            guard !state.isSilent else { return .timedOut }
            state.publications.append((number, publication))
            if state.ports[number]?.topics.contains(publication.topic) != true { state.unheard += 1 }
            func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &state.generator) < percent }
            if happens(state.faults.lost) { return .timedOut }
            state.last += 1
            let letter = Letter(number: state.last, publication: publication, from: number)
            state.letters[publication.topic, default: []].append(letter)
            let copies = happens(state.faults.doubled) ? 2 : 1
            for (port, mailbox) in state.ports.sorted(by: { $0.key < $1.key }) where port != number {
                guard mailbox.topics.contains(publication.topic) else { continue }
                for _ in 0..<copies {
                    if happens(state.faults.delayed) {
                        state.delayed.append((port, letter))
                    } else {
                        Self.deliver(letter, to: port, &state)
                    }
                }
            }
            return happens(state.faults.unconfirmed) ? .timedOut : nil
        }
        if let failure { throw failure }
    }

    fileprivate func acknowledge(_ message: RelayMessage, _ number: Int) {
        state.withLock { _ = $0.ports[number]?.acknowledged.insert(message.receipt) }
    }

    private static func deliverAll(to number: Int, topics: Set<Topic>?, _ state: inout State) {
        guard let mailbox = state.ports[number] else { return }
        for topic in topics ?? mailbox.topics {
            for letter in state.letters[topic] ?? []
            where letter.from != number && !mailbox.acknowledged.contains(letter.number) {
                deliver(letter, to: number, &state)
            }
        }
    }

    private static func deliver(_ letter: Letter, to number: Int, _ state: inout State) {
        state.ports[number]?.continuation.yield(
            RelayMessage(
                topic: letter.publication.topic,
                message: letter.publication.message,
                tag: letter.publication.tag,
                receipt: letter.number
            )
        )
    }

    struct Port: RelayPort {
        let hub: RelayHub
        let number: Int
        let messages: AsyncStream<RelayMessage>
        let connectionStates: AsyncStream<RelayConnectionState>

        func subscribe(topic: Topic) async throws(RelayFailure) { try hub.subscribe(topic, number) }
        func unsubscribe(topic: Topic) async throws(RelayFailure) { hub.unsubscribe(topic, number) }
        func publish(_ publication: RelayPublication) async throws(RelayFailure) {
            try hub.publish(publication, number)
        }
        func acknowledge(_ message: RelayMessage) async { hub.acknowledge(message, number) }
    }
}
