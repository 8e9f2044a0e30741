import Executors
import Logging
import TapProtocol

/// One session with one phone: handshake, framing, encryption, numbers, and the time limits of section 13.
///
/// Whatever the phone does or leaves undone, the link ends soon and costs no more than its own place.
actor TapLink {
    /// Who hears what the phone says.
    protocol Owner: Sendable {
        func received(_ message: TapMessage, by link: TapLink) async
        /// A message that this side does not know or that a phone may not send.
        func refused(_ code: TapErrorCode, answering number: Int, by link: TapLink) async
        func ended(_ link: TapLink, because reason: String) async
    }

    enum Failure: Error {
        case phone(String)
        /// Nothing is wrong with the phone; it is not wanted now.
        case unwanted
    }

    private enum Outgoing {
        /// `tries` is nil where no answer is waited for, else how often it was sent before.
        case message(TapBody, answering: Int?, tries: Int?)
        /// Fragments of a message for which the radio had no room, and the answer that the message wants.
        case rest([[UInt8]], wants: Awaited?)
        case control(ControlCode)
        case hangUp(reason: String)
    }

    /// A message that wants an answer before the link closes, and how often it was sent before.
    private struct Awaited {
        let number: Int
        let body: TapBody
        let tries: Int
    }

    nonisolated let address: TapSighting.PhoneAddress
    private let connection: any TapConnection
    private let timers: TapTimers
    private let clock: TerminalClock
    private let logger: Logger
    private var fragmenter: Fragmenter
    private var reassembler: Reassembler
    private var session: SecureSession?
    private var sent = MessageNumbering()
    private var heard = MessageNumbering()
    /// What the phone named its session; nil before HELLO.
    private(set) var sessionID: [UInt8]?
    /// The phone shows another terminal's request: it is worth asking again, and nothing has failed.
    private(set) var isPhoneBusy = false
    /// What the phone takes in one message, encrypted.
    private(set) var messageBytes = Framing.minimumMessageBytes
    /// The four digits; nil before the handshake.
    var shortCode: String? { session?.shortCode }
    private var owner: (any Owner)?

    private let outbox: AsyncStream<Outgoing>
    private let outgoing: AsyncStream<Outgoing>.Continuation
    /// What is in line, with what is being written.
    private var waiting = 0
    /// Nobody else writes: what finds nothing in line may leave at once.
    private var isServing = false
    private let openings: AsyncStream<Void>
    private let opening: AsyncStream<Void>.Continuation
    private let finals: AsyncStream<Int>
    private let final: AsyncStream<Int>.Continuation
    private var greetedAt = Duration.zero
    private var heardAt = Duration.zero
    private var hasReceived = false
    /// The link may be silent: it waits for the acquirer, not for its user.
    private var mayBeSilent = false
    private var isWatchingFragments = false
    private var awaited: Awaited?
    private var isClosing = false
    /// The link is about to end: what the phone still says is not heard.
    private var isDeaf = false
    private var messages = 0

    /// More that waits to be sent is more than any payment needs: the phone does not read.
    private static let maximumWaiting = 64
    /// More messages of one session than any payment needs.
    private static let maximumMessages = 2_000

    init(
        _ connection: any TapConnection,
        address: TapSighting.PhoneAddress,
        timers: TapTimers,
        clock: TerminalClock,
        logger: Logger
    ) {
        (self.connection, self.address, self.timers, self.clock) = (connection, address, timers, clock)
        self.logger = logger
        reassembler = Reassembler(fragmentGap: timers.fragmentGap)
        fragmenter = Fragmenter(fragmentBytes: connection.maximumValueLength)
        (outbox, outgoing) = AsyncStream.makeStream(of: Outgoing.self)
        (openings, opening) = AsyncStream.makeStream(of: Void.self)
        (finals, final) = AsyncStream.makeStream(of: Int.self)
    }

    // MARK: - Life

    /// Reads HELLO, asks what to offer, and answers the handshake.
    /// - Throws: ``Failure``. The link is closed then.
    func greet(
        keys: TapTerminalKeys,
        prologue: @Sendable (Hello) -> Prologue,
        welcome: @Sendable (Hello, TapLink) async -> (owner: any Owner, offer: TerminalOffer)?
    ) async throws(Failure) {
        do {
            let first = try await clock.within(timers.hello) { try await self.connection.readHello() }
            let handshake: TerminalHandshake
            do throws(SessionError) {
                handshake = try TerminalHandshake(reading: first, prologue: prologue)
            } catch {
                if error == .unsupported { try? await write([fragmenter.control(.unsupported)]) }
                throw Failure.phone("HELLO cannot be used: \(error)")
            }
            let hello = handshake.hello
            sessionID = hello.sessionID
            messageBytes = min(max(hello.maximumMessageBytes, messageBytes), Framing.maximumMessageBytes)
            fragmenter = Fragmenter(
                fragmentBytes: connection.maximumValueLength,
                messageBytes: hello.maximumMessageBytes
            )
            guard let (owner, offer) = await welcome(hello, self) else {
                await sayBusy()
                throw Failure.unwanted
            }
            self.owner = owner
            let (message, session) = try handshake.finish(payload: offer.encoded, staticKey: keys.agreement)
            self.session = session
            try await write(try fragmenter.fragments(of: message))
            greetedAt = clock.elapsed()
            heardAt = greetedAt
        } catch {
            await disconnect()
            await owner?.ended(self, because: "\(error)")
            throw error as? Failure ?? .phone("\(error)")
        }
    }

    /// Tells a phone that is not asked now why its link ends. A courtesy: nobody waits for it, and it may get lost.
    private func sayBusy() async {
        let code = fragmenter.control(.busy)
        do {
            if try !connection.sendAtOnce(code) {
                try await clock.within(.milliseconds(200)) { try await self.connection.send(code) }
            }
        } catch {
            logger.trace("a phone does not hear that it is not asked", metadata: ["error": "\(error)"])
        }
    }

    /// Carries messages both ways until the link ends. Call it once, after ``greet(keys:prologue:welcome:)``.
    func serve() async {
        let reason = await withTaskGroup(of: String?.self) { group in
            group.addTask { await self.read() }
            group.addTask { await self.send() }
            group.addTask { await self.watchSilence() }
            group.addTask { await self.watchFragments() }
            group.addTask { await self.watchAnswers() }
            group.addTask { await self.watchAge() }
            let reason = await group.next() ?? nil
            group.cancelAll()
            return reason ?? "closed"
        }
        outgoing.finish()
        opening.finish()
        final.finish()
        await disconnect()
        await owner?.ended(self, because: reason)
    }

    /// Disconnects also where the terminal stops: a link that nobody closes would keep the phone for seconds.
    private func disconnect() async {
        let connection = connection
        await Task(executorPreference: preferredTaskExecutor) { await connection.close() }.value
    }

    // MARK: - Out

    /// Says something to the phone, after what was said before. A final message is repeated once where it is not
    /// acknowledged, then the link ends.
    /// - Parameter allowsSilence: The phone waits for the acquirer from now on; its silence is no reason to end the link.
    func send(_ body: TapBody, answering number: Int? = nil, isFinal: Bool = false, allowsSilence: Bool = false) {
        if isFinal { isClosing = true }
        if allowsSilence { allowSilence(true) }
        let tries = isFinal ? 0 : nil
        guard isServing, waiting == 0 else { return enqueue(.message(body, answering: number, tries: tries)) }
        do {
            let (own, fragments) = try seal(body, answering: number)
            let wanted = tries.map { Awaited(number: own, body: body, tries: $0) }
            if let wanted { awaited = wanted }
            // A phone waits: another task would take its time to begin.
            if let full = try fragments.firstIndex(where: { try !connection.sendAtOnce($0) }) {
                enqueue(.rest(Array(fragments[full...]), wants: wanted))
            } else {
                beginWaiting(for: wanted)
            }
        } catch { enqueue(.hangUp(reason: "\(error)")) }
    }

    /// Says BYE and ends the link.
    func close() {
        isClosing = true
        enqueue(.message(.bye(reason: 0), answering: nil, tries: nil))
        enqueue(.hangUp(reason: "closed"))
    }

    /// Ends the link after one last message, and hears no more.
    private func end(_ last: Outgoing, because reason: String) {
        isDeaf = true
        enqueue(last)
        enqueue(.hangUp(reason: reason))
    }

    private func enqueue(_ item: Outgoing) {
        waiting += 1
        if waiting <= Self.maximumWaiting { outgoing.yield(item) } else { outgoing.finish() }
    }

    /// From now on silence of the phone is no reason to end the link.
    func allowSilence(_ isAllowed: Bool) {
        mayBeSilent = isAllowed
        heardAt = clock.elapsed()
    }

    /// Writes what is in line. Fragments of two messages never mix: nobody else writes before it is all out.
    private func send() async -> String? {
        isServing = true
        defer { isServing = false }
        for await item in outbox {
            do {
                switch item {
                case .message(let body, let number, let tries):
                    let (own, fragments) = try seal(body, answering: number)
                    let wanted = tries.map { Awaited(number: own, body: body, tries: $0) }
                    // Before it leaves: the answer may be here before the radio says that it has.
                    if let wanted { awaited = wanted }
                    try await write(fragments)
                    beginWaiting(for: wanted)
                case .rest(let fragments, let wanted):
                    try await write(fragments)
                    beginWaiting(for: wanted)
                case .control(let code): try await write([fragmenter.control(code)])
                case .hangUp(let reason): return reason
                }
            } catch { return "\(error)" }
            waiting -= 1
        }
        return "closed"
    }

    /// A message as it goes over the air, and its number. What is sealed first must be sent first.
    private func seal(_ body: TapBody, answering number: Int?) throws -> (number: Int, fragments: [[UInt8]]) {
        let own = sent.next()
        let plain = TapMessage(number: own, answers: number, body: body).encoded
        logger.trace("to the phone", metadata: ["message": "\(CBOR.diagnosis(of: plain))"])
        guard var session else { throw Failure.phone("no session") }
        let message = try session.seal(plain)
        self.session = session
        return (own, try fragmenter.fragments(of: message))
    }

    /// The time of an answer begins when all of the message has left.
    private func beginWaiting(for wanted: Awaited?) { if let wanted { final.yield(wanted.number) } }

    private func write(_ fragments: [[UInt8]]) async throws {
        // One limit for them all: a phone that takes each piece slowly would hold the radio for their sum.
        let end = clock.elapsed() + timers.received
        for fragment in fragments where try !connection.sendAtOnce(fragment) {
            try await clock.within(end - clock.elapsed()) { try await self.connection.send(fragment) }
        }
    }

    // MARK: - In

    private func read() async -> String? {
        do {
            for try await fragment in connection.fragments where !isDeaf { await take(fragment) }
            return "the link is down"
        } catch { return "\(error)" }
    }

    private func take(_ fragment: [UInt8]) async {
        let arrival: Reassembler.Arrival?
        do throws(FramingError) {
            arrival = try reassembler.receive(fragment, at: clock.elapsed())
        } catch { return end(.control(.framingError), because: "framing: \(error)") }
        switch arrival {
        case nil:
            guard !isWatchingFragments else { break }
            isWatchingFragments = true
            opening.yield()
        case .control(let code):
            isDeaf = true
            isPhoneBusy = code == .busy
            enqueue(.hangUp(reason: "the phone ended the link with control \(code.rawValue)"))
        case .message(let bytes): await take(message: bytes)
        }
    }

    private func take(message bytes: [UInt8]) async {
        messages += 1
        guard messages <= Self.maximumMessages, var session, let plain = try? session.open(bytes) else {
            return end(.control(.closing), because: "a message does not open")
        }
        self.session = session
        logger.trace("from the phone", metadata: ["message": "\(CBOR.diagnosis(of: plain))"])
        let message: TapMessage
        do throws(MessageError) {
            message = try TapMessage(decoding: plain, from: .phone)
        } catch { return await refuse(error) }
        guard heard.accepts(message.number) else { return malformed() }
        heardAt = clock.elapsed()
        switch message.body {
        case .received, .cancelledByPayer: hasReceived = true
        case .bye: isDeaf = true
        default: break
        }
        await owner?.received(message, by: self)
        if case .bye = message.body { enqueue(.hangUp(reason: "the phone said goodbye")) }
        guard case .acknowledge = message.body, message.answers == awaited?.number else { return }
        awaited = nil
        if isClosing { close() }
    }

    private func refuse(_ error: MessageError) async {
        switch error {
        case .malformed: malformed()
        case .unknownType(_, let number):
            guard heard.accepts(number) else { return malformed() }
            await owner?.refused(.unknownType, answering: number, by: self)
        case .wrongDirection(_, let number):
            guard heard.accepts(number) else { return malformed() }
            await owner?.refused(.unexpected, answering: number, by: self)
        }
    }

    private func malformed() {
        end(.message(.error(nil, .malformed, text: nil), answering: nil, tries: nil), because: "malformed")
    }

    // MARK: - Time

    /// Ends the link where the phone does not say that it shows the request, or falls silent while its user decides.
    private func watchSilence() async -> String? {
        while true {
            let now = clock.elapsed()
            let limit = hasReceived ? heardAt + timers.keepAlive : greetedAt + timers.received
            var rest = limit - now
            if rest <= .zero {
                guard hasReceived, mayBeSilent else { return hasReceived ? "no keep-alive" : "no answer in time" }
                rest = timers.keepAlive
            }
            do { try await clock.sleep(rest) } catch { return nil }
        }
    }

    private func watchFragments() async -> String? {
        for await _ in openings {
            while let deadline = reassembler.deadline {
                let now = clock.elapsed()
                guard now <= deadline else {
                    end(.control(.framingError), because: "fragment gap")
                    break
                }
                do { try await clock.sleep(deadline - now + .milliseconds(1)) } catch { return nil }
            }
            isWatchingFragments = false
        }
        return nil
    }

    /// Repeats a final message once, then gives up waiting for its answer.
    private func watchAnswers() async -> String? {
        for await number in finals {
            do { try await clock.sleep(timers.acknowledge) } catch { return nil }
            guard let awaited, awaited.number == number else { continue }
            guard awaited.tries == 0 else { return "not acknowledged" }
            enqueue(.message(awaited.body, answering: nil, tries: 1))
        }
        return nil
    }

    /// Ends the link after an hour, whatever it waits for: its keys are for no longer. A payer comes back over a new one.
    private func watchAge() async -> String? {
        do { try await clock.sleep(SecureSession.maximumLife) } catch { return nil }
        end(.message(.bye(reason: 0), answering: nil, tries: nil), because: "an hour is over")
        // A phone that takes nothing any more does not hear the goodbye.
        do { try await clock.sleep(timers.received) } catch { return nil }
        return "an hour is over"
    }
}

extension TerminalClock {
    /// Runs `work` for no longer than `limit`.
    /// - Throws: `TapRadioError.timedOut`, or what `work` throws.
    func within<Value: Sendable>(
        _ limit: Duration,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                try await sleep(limit)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let value = first else {
                throw TapRadioError.timedOut("no answer within \(limit)")
            }
            return value
        }
    }
}
