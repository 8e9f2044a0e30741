import Locks
import Logging
import Payments
import Sound
import TerminalTestSupport
import Testing

@testable import Terminal

/// What is heard of a charge, and what is not.
@Suite(.timeLimit(.minutes(1)))
struct SoundDirectorTests {
    @Test func everyEndOnTheScreenIsHeardOnce() async throws {
        try await withSound { desk, speaker in
            let first = try await desk.desk.open(desk.request()).charge
            await desk.untilRail { $0 == [.pursue(first.id)] }
            try await desk.pay(first.id)
            try await speaker.until([.paid])
            // News of other things, and the screen that goes back to idle, say nothing.
            for light in [GatewayLight.unreachable, .ready, .refused, .ready] { await desk.desk.setGateway(light) }
            await desk.pass(.seconds(20))
            await desk.until { $0.phase == .idle }
            let second = try await desk.desk.open(desk.request()).charge
            await desk.untilRail { $0.contains(.pursue(second.id)) }
            try await desk.offer(second.id, as: "pay_2")
            _ = try await desk.desk.cancel(second.id, by: .staff(name: "Ada"))
            try await desk.say(.reported(attempt: 1, report: .cancelled), of: second.id)
            try await speaker.until([.paid, .notPaid])
            #expect(speaker.loudness == [70, 70])
        }
    }

    @Test func whoeverWentOnWithoutAnAnswerHearsThatTheyMustLookAndThenThatItWasPaid() async throws {
        try await withSound { desk, speaker in
            let charge = try await desk.desk.open(desk.request()).charge
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            try await desk.say(.silent(attempt: 1, reason: "time-out"), of: charge.id)
            _ = try await desk.desk.release(charge.id, by: .staff(name: "Ada"))
            try await speaker.until([.unknown])
            try await desk.pay(charge.id, offering: false)
            try await speaker.until([.unknown, .paid])
        }
    }

    @Test func aPaymentWaitsForNoSound() async throws {
        try await withSound { desk, speaker in
            speaker.hold()
            for number in 0..<3 {
                let charge = try await desk.desk.open(desk.request()).charge
                await desk.untilRail { $0.contains(.pursue(charge.id)) }
                try await desk.pay(charge.id, as: "pay_\(number)")
                while !speaker.isPlaying { try await pause() }
                #expect(await desk.desk.snapshot.phase.charge?.charge.state == .succeeded)
            }
            speaker.letGo()
            // The one that was held, and the newest; the one between had its time.
            try await speaker.until([.paid, .paid])
        }
    }

    @Test(arguments: [false, true]) func whereItIsSwitchedOffNothingIsHeard(isSilenced: Bool) async throws {
        try await withSound { desk, speaker in
            var sound = SoundSettings()
            if isSilenced { sound.loudness = 0 } else { sound.isOn = false }
            await desk.desk.use(sound: sound)
            let first = try await desk.desk.open(desk.request()).charge
            await desk.untilRail { $0 == [.pursue(first.id)] }
            try await desk.pay(first.id)
            await desk.pass(.seconds(20))
            await desk.until { $0.phase == .idle }
            (sound.isOn, sound.loudness) = (true, 30)
            await desk.desk.use(sound: sound)
            let second = try await desk.desk.open(desk.request()).charge
            await desk.untilRail { $0.contains(.pursue(second.id)) }
            try await desk.offer(second.id, as: "pay_2")
            _ = try await desk.desk.cancel(second.id, by: .staff(name: "Ada"))
            try await desk.say(.reported(attempt: 1, report: .cancelled), of: second.id)
            try await speaker.until([.notPaid])
            #expect(speaker.loudness == [30])
        }
    }

    @Test func aTerminalWithoutALoudspeakerSaysSoOnceAndPaysOn() async throws {
        let log = Lines()
        try await withSound(failing: .noDevice, log: log) { desk, speaker in
            for count in 1...3 {
                let charge = try await desk.desk.open(desk.request()).charge
                await desk.untilRail { $0.contains(.pursue(charge.id)) }
                try await desk.pay(charge.id, as: "pay_\(count)")
                try await speaker.until(Array(repeating: .paid, count: count))
                await desk.until { $0.phase.charge?.charge.state == .succeeded }
            }
            speaker.fails(with: nil)
            let charge = try await desk.desk.open(desk.request()).charge
            await desk.untilRail { $0.contains(.pursue(charge.id)) }
            try await desk.pay(charge.id, as: "pay_4")
            try await speaker.until(Array(repeating: .paid, count: 4))
            while log.all.count < 2 { try await pause() }
            #expect(log.all == ["payments end without a sound", "payments are heard again"])
        }
    }

    // MARK: - What an ear tells

    private static let terms = ChargeTerms.example(at: WallTime(millisecondsSince1970: 1_790_000_000_000))
    private static let paid = Charge.Event.reported(
        attempt: 1,
        report: .succeeded(Evidence(paymentID: "pay_1", transactionID: nil, paid: nil))
    )
    private static let begun: [Charge.Event] = [
        .attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1),
        .offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: "https://pay.test/1", expiresAt: nil)),
    ]

    private static func charging(_ events: [Charge.Event], _ terms: ChargeTerms = Self.terms) -> TerminalSnapshot.Phase
    {
        var charge = Charge(terms: terms)
        for event in begun + events { _ = charge.handle(event) }
        return .charging(
            ChargeSnapshot(charge: charge, updatedAt: terms.openedAt, secondsLeft: nil, deadline: nil, format: .english)
        )
    }

    @Test(arguments: [
        ([Self.paid], Tone.paid), ([.reported(attempt: 1, report: .failed(code: nil))], .notPaid),
        ([.reported(attempt: 1, report: .expired)], .notPaid), ([.reported(attempt: 1, report: .cancelled)], .notPaid),
        ([.reported(attempt: 1, report: .unrecognised(word: "reviewing"))], .unknown),
        ([.reported(attempt: 1, report: .processing)], nil), ([], nil),
    ])
    func itSoundsLikeTheScreen(events: [Charge.Event], tone: Tone?) {
        var ear = SoundDirector.Ear()
        #expect(ear.tone(for: .idle) == nil)
        #expect(ear.tone(for: Self.charging([])) == nil)
        #expect(ear.tone(for: Self.charging(events)) == tone)
        #expect(ear.tone(for: Self.charging(events)) == nil, "once")
        #expect(ear.tone(for: .idle) == nil && ear.tone(for: Self.charging(events)) == nil)
    }

    /// Two rising notes would be believed without a look.
    @Test func acceptedOfflineIsNotHeardAsPaidBeforeItIs() {
        let promise: [Charge.Event] = [
            .attemptStarted(attempt: 2, rail: .tap),
            .offered(attempt: 2, offer: Offer(paymentID: "tap_1", link: nil, expiresAt: nil)),
            .claimWanted(attempt: 2, tipMinorUnits: 0), .reported(attempt: 1, report: .cancelled), .claimed(attempt: 2),
            .promised(attempt: 2),
        ]
        let evidence = Evidence(paymentID: "tap_1", transactionID: nil, paid: nil)
        var ear = SoundDirector.Ear()
        _ = ear.tone(for: .idle)
        guard case .charging(let charge) = Self.charging(promise), charge.charge.isPromised else {
            Issue.record("nothing was promised")
            return
        }
        #expect(ear.tone(for: .charging(charge)) == .unknown)
        let kept = promise + [.reported(attempt: 2, report: .succeeded(evidence))]
        #expect(ear.tone(for: Self.charging(kept)) == .paid)
    }

    @Test func whatAnEarlierRunLeftIsNotHeardButItsEndIs() {
        let unclear = [Charge.Event.reported(attempt: 1, report: .unrecognised(word: "reviewing"))]
        for (left, later) in [([Self.paid], nil), (unclear, Tone.paid), ([], .paid)] {
            var ear = SoundDirector.Ear()
            #expect(ear.tone(for: .starting(checking: 1)) == nil)
            #expect(ear.tone(for: Self.charging(left)) == nil)
            #expect(ear.tone(for: Self.charging(left)) == nil)
            #expect(ear.tone(for: Self.charging([Self.paid])) == later)
        }
    }

    // MARK: - The loudspeaker under test

    private func pause() async throws {
        try Task.checkCancellation()
        await Task.yield()
    }

    private func withSound(
        failing failure: SoundFailure? = nil,
        log: Lines = Lines(),
        _ body: @Sendable (DeskUnderTest, Ears) async throws -> Void
    ) async throws {
        let speaker = Ears(failure)
        try await withDesk { desk in
            let director = SoundDirector(
                desk: desk.desk,
                loudspeaker: speaker,
                logger: Logger(label: "test") { _ in LineHandler(lines: log) }
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await director.run { speaker.lookedOnce() } }
                defer { speaker.letGo() }
                while !speaker.hasLooked { try await pause() }
                try await body(desk, speaker)
                group.cancelAll()
            }
        }
    }
}

/// Whoever stands at the counter.
private final class Ears: Loudspeaker {
    private struct State {
        var heard: [Tone] = []
        var loudness: [Int] = []
        var isHeld = false
        var isPlaying = false
        var hasLooked = false
        var failure: SoundFailure?
    }
    private let state: Mutex<State>

    init(_ failure: SoundFailure?) { state = Mutex(State(failure: failure)) }

    var loudness: [Int] { state.withLock { $0.loudness } }

    /// Whether the director has seen the terminal as it was before the test did anything.
    var hasLooked: Bool { state.withLock { $0.hasLooked } }

    func lookedOnce() { state.withLock { $0.hasLooked = true } }
    var isPlaying: Bool { state.withLock { $0.isPlaying } }

    func hold() { state.withLock { $0.isHeld = true } }
    func letGo() { state.withLock { $0.isHeld = false } }
    func fails(with failure: SoundFailure?) { state.withLock { $0.failure = failure } }

    func device() async throws(SoundFailure) -> String {
        await Task.yield()
        return "ears"
    }

    func play(_ tone: Tone, loudness: Int) async throws(SoundFailure) {
        await Task.yield()
        state.withLock { $0.isPlaying = true }
        while state.withLock({ $0.isHeld }), !Task.isCancelled { await Task.yield() }
        let failure = state.withLock { state in
            state.isPlaying = false
            state.heard.append(tone)
            state.loudness.append(loudness)
            return state.failure
        }
        if let failure { throw failure }
    }

    /// Waits until so many were heard, which are to be these.
    func until(_ tones: [Tone]) async throws {
        while state.withLock({ $0.heard.count }) < tones.count {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(state.withLock { $0.heard } == tones)
    }
}

/// What was said in the log.
private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

private struct LineHandler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.add("\(event.message)") }
}
