import Locks
import Payments
import Sandbox
import TapProtocol
import Testing
import TestSupport

/// A terminal that nobody here wrote, on one link: it says whatever the test tells it to.
final class Stranger: Sendable {
    private struct State {
        var session: SecureSession?
        var numbering = MessageNumbering()
        var heard = MessageNumbering()
        var fragmenter: Fragmenter
        var reassembler = Reassembler()
        var isCut = false
    }

    let central: String
    let merchant: CertifiedMerchant
    let phone: TapPhone
    let bytes: Int
    private let state: Mutex<State>
    private let values: AsyncStream<[UInt8]>
    private let value: AsyncStream<[UInt8]>.Continuation

    enum Heard: Equatable {
        case message(TapMessage)
        case control(ControlCode)
    }

    init(_ phone: TapPhone, _ merchant: CertifiedMerchant, central: String = "T", bytes: Int = 182) {
        (self.phone, self.merchant, self.central, self.bytes) = (phone, merchant, central, bytes)
        state = Mutex(State(fragmenter: Fragmenter(fragmentBytes: bytes)))
        (values, value) = AsyncStream.makeStream(of: [UInt8].self)
    }

    // MARK: The link

    /// READ, subscription, and the handshake's answer.
    func connect(
        _ request: Signed<PaymentRequest>?,
        certificate: Signed<TerminalCertificate>? = nil,
        key: AgreementKey? = nil,
        tagID: [UInt8]? = nil
    ) async throws {
        let first = await phone.read(by: central)
        await subscribe()
        let handshake = try TerminalHandshake(reading: first) { _ in Prologue(service: .standard, tagID: tagID) }
        let offer = TerminalOffer(
            certificate: certificate ?? merchant.certificate,
            request: request,
            timeSeconds: merchant.clock.milliseconds / 1000
        )
        let (answer, session) = try handshake.finish(payload: offer.encoded, staticKey: key ?? merchant.key)
        let fragments = try state.withLock { state in
            state.session = session
            (state.numbering, state.heard) = (MessageNumbering(), MessageNumbering())
            (state.fragmenter, state.reassembler) = (Fragmenter(fragmentBytes: bytes), Reassembler())
            return try state.fragmenter.fragments(of: answer)
        }
        for fragment in fragments { await phone.write(fragment, by: central) }
    }

    func subscribe() async {
        let value = value
        await phone.subscribe(central: central, maximumValueLength: bytes) { value.yield($0) }
    }

    /// The phone is dead: nothing more comes.
    func cut() {
        state.withLock { $0.isCut = true }
        value.finish()
    }

    var isCut: Bool { state.withLock { $0.isCut } }

    func disconnect() async { await phone.unsubscribe(central: central) }

    // MARK: Speaking

    func send(_ body: TapBody, answering number: Int? = nil) async throws {
        for fragment in try fragments(body, answering: number) { await phone.write(fragment, by: central) }
    }

    func fragments(_ body: TapBody, answering number: Int? = nil, as fake: Int? = nil) throws -> [[UInt8]] {
        try state.withLock { state in
            let next = state.numbering.next()
            let message = TapMessage(number: fake ?? next, answers: number, body: body)
            let sealed = try #require(try state.session?.seal(message.encoded))
            return try state.fragmenter.fragments(of: sealed)
        }
    }

    /// Any plaintext.
    func send(plain: [UInt8]) async throws {
        let fragments = try state.withLock { state in
            _ = state.numbering.next()
            let sealed = try #require(try state.session?.seal(plain))
            return try state.fragmenter.fragments(of: sealed)
        }
        for fragment in fragments { await phone.write(fragment, by: central) }
    }

    // MARK: Listening

    /// The next thing that the phone says.
    func next() async throws -> Heard {
        for await fragment in values {
            let heard: Heard? = try state.withLock { state in
                switch try state.reassembler.receive(fragment, at: .zero) {
                case nil: return nil
                case .control(let code): return .control(code)
                case .message(let sealed):
                    let plain = try #require(try state.session?.open(sealed))
                    let message = try TapMessage(decoding: plain, from: .phone)
                    let isNext = state.heard.accepts(message.number)
                    #expect(isNext)
                    return .message(message)
                }
            }
            if let heard { return heard }
        }
        throw CertifiedMerchant.Broken()
    }

    /// The next message, which must be one; keep-alives are skipped.
    func message() async throws -> TapMessage {
        while true {
            guard case .message(let message) = try await next() else { throw CertifiedMerchant.Broken() }
            if case .keepAlive = message.body { continue }
            return message
        }
    }

    func control() async throws -> ControlCode {
        guard case .control(let code) = try await next() else { throw CertifiedMerchant.Broken() }
        return code
    }

    func received() async throws -> ReceivedNotice {
        guard case .received(let notice) = try await message().body else { throw CertifiedMerchant.Broken() }
        return notice
    }

    func accept() async throws -> (accept: Signed<PaymentAcceptance>, pass: Signed<PaymentPass>) {
        guard case .accept(let accept, let pass) = try await message().body else { throw CertifiedMerchant.Broken() }
        return (accept, pass)
    }

    func error() async throws -> TapErrorCode {
        guard case .error(_, let code, _) = try await message().body else { throw CertifiedMerchant.Broken() }
        return code
    }

    /// Passes when the phone has nothing to say that it has not said: the next word answers this very question.
    func hearsNothingMore() async throws {
        let bytes = (0..<8).map { _ in UInt8.random(in: 0...255) }
        try await send(.ping(bytes))
        #expect(try await message().body == .pong(bytes))
    }
}

extension ManualClock {
    /// The wall clock's reading, in milliseconds since 1970.
    var milliseconds: Int { Int(wallTime().millisecondsSince1970) }

    /// The same clock as phones take it.
    var sandboxClock: SandboxClock { SandboxClock(now: wallTime, sleep: sleep) }
}

/// A phone that runs for the length of a test.
struct Bench {
    let clock = ManualClock(at: WallTime(millisecondsSince1970: 1_764_000_000_000))
    let merchant: CertifiedMerchant
    let acquirer: FakeAcquirer
    let diary = Diary()

    init() throws {
        merchant = try CertifiedMerchant(clock)
        acquirer = FakeAcquirer(merchant)
    }

    func configuration(_ user: PhoneUser = PhoneUser(), change: (inout PhoneConfiguration) -> Void = { _ in })
        -> PhoneConfiguration
    {
        var configuration = PhoneConfiguration(user: user, keys: merchant.trusted)
        change(&configuration)
        return configuration
    }

    /// Runs a phone that has its passes, and ends it with the body.
    @discardableResult
    func run<Result: Sendable>(
        _ configuration: PhoneConfiguration,
        storage: (any PhoneStorage)? = nil,
        diary: Diary? = nil,
        _ body: (TapPhone) async throws -> Result
    ) async throws -> Result {
        let diary = diary ?? self.diary
        let before = diary.events.count
        let phone = try TapPhone(
            configuration,
            acquirer: acquirer,
            clock: clock.sandboxClock,
            storage: storage,
            log: { diary.add($0) }
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await phone.run() }
            let isReachable = await acquirer.isReachable
            await diary.wait { events in
                let new = events.dropFirst(before)
                let isOpen = new.contains { if case .advertising(_?) = $0 { true } else { false } }
                let hasPasses = new.contains { if case .gateway = $0 { true } else { false } }
                return isOpen && (hasPasses || !configuration.isOnline || !isReachable)
            }
            defer { group.cancelAll() }
            return try await body(phone)
        }
    }

    /// Turns the clock, and lets the phone look at it.
    func pass(_ time: Duration, _ phone: TapPhone) async {
        clock.advance(by: time)
        await phone.tick()
    }
}
