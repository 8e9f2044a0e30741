import Locks
import Sandbox
import TapProtocol
import Terminal
import TestSupport

/// What a peripheral does: the simulated phone, or somebody worse.
protocol Peripheral: Sendable {
    func read(by central: String) async -> [UInt8]
    func write(_ fragment: [UInt8], by central: String) async
    func subscribe(
        central: String,
        maximumValueLength: Int,
        notify: @escaping @Sendable ([UInt8]) async -> Void
    ) async
    func unsubscribe(central: String) async
}

extension TapPhone: Peripheral {}

/// A radio without Bluetooth: phones that advertise, and links that can be cut.
final class RadioSimulation: TapRadio {
    private struct Phone {
        let peripheral: any Peripheral
        let characteristics: TapCharacteristics
        /// What it advertises; nil for nothing.
        var service: ServiceUUID?
        var rssi: Int?
    }

    private struct State {
        var phones: [String: Phone] = [:]
        var order: [String] = []
        var links = 0
        var open = 0
        /// The last link to each phone, while it stands.
        var connections: [String: SimulatedConnection] = [:]
        /// Values that still pass, both ways together; nil for any number.
        var valuesLeft: Int?
        /// The value that is lost, counted from 0, while its link stays.
        var lostValue: Int?
        var refusals: [String: TapRadioError] = [:]
        var isGone = false
        var scansFail = false
        /// The radio tries to scan, and needs so long to find out that it cannot; whoever listens then hears of it.
        var scanTry: Duration?
        var connects: [String] = []
        /// When somebody began to listen.
        var scans: [Duration] = []
        var watchers: [AsyncStream<Void>.Continuation] = []
        /// How many values a radio takes at once and sends by and by.
        var room = 0
        var values = 0
        /// How long a radio takes to end a link.
        var closing = Duration.zero
    }

    private let state = Mutex(State())
    private let clock: TerminalClock
    fileprivate let executor: SimulationExecutor
    private let maximumValueLength: Int
    let health: AsyncStream<TapRadioHealth>
    let healthChange: AsyncStream<TapRadioHealth>.Continuation

    init(clock: TerminalClock, executor: SimulationExecutor, maximumValueLength: Int = 182) {
        (self.clock, self.executor, self.maximumValueLength) = (clock, executor, maximumValueLength)
        (health, healthChange) = AsyncStream.makeStream(of: TapRadioHealth.self)
    }

    func add(
        _ name: String,
        _ peripheral: any Peripheral,
        rssi: Int? = -50,
        service: ServiceUUID? = nil,
        characteristics: TapCharacteristics = TapCharacteristics()
    ) {
        state.withLock { state in
            state.phones[name] = Phone(
                peripheral: peripheral,
                characteristics: characteristics,
                service: service,
                rssi: rssi
            )
            state.order.append(name)
        }
    }

    func remove(_ name: String) {
        state.withLock { state in
            state.phones[name] = nil
            state.order.removeAll { $0 == name }
        }
    }

    func advertise(_ name: String, _ service: ServiceUUID?) {
        state.withLock { $0.phones[name]?.service = service }
    }

    func move(_ name: String, rssi: Int?) { state.withLock { $0.phones[name]?.rssi = rssi } }

    /// After so many values the next one is lost with its link, once.
    func cut(after values: Int?) { state.withLock { $0.valuesLeft = values } }
    /// This value alone is lost, counted from 0, and nobody is told.
    func lose(_ value: Int) { state.withLock { $0.lostValue = value } }
    func refuse(_ name: String, _ error: TapRadioError?) { state.withLock { $0.refusals[name] = error } }

    /// From now on each link's radio takes so many values at once.
    func makeRoom(for values: Int) { state.withLock { $0.room = values } }
    var room: Int { state.withLock { $0.room } }

    func endLinks(after time: Duration) { state.withLock { $0.closing = time } }
    func takeTimeToClose() async {
        let time = state.withLock { $0.closing }
        // Cancelled: whoever waits has gone.
        if time > .zero { try? await clock.sleep(time) }
    }

    func failScans(_ fails: Bool) { state.withLock { $0.scansFail = fails } }
    func failScans(every time: Duration?) { state.withLock { $0.scanTry = time } }

    var connects: [String] { state.withLock { $0.connects } }
    /// Drops the record of who was connected to, and when somebody listened.
    func forgetThePast() { state.withLock { ($0.connects, $0.scans) = ([], []) } }
    var scans: [Duration] { state.withLock { $0.scans } }
    /// Links that nobody has closed.
    var openLinks: Int { state.withLock { $0.open } }
    /// Values that have come over, both ways together.
    var values: Int { state.withLock { $0.values } }
    var hasCut: Bool { state.withLock { $0.valuesLeft == nil } }

    func sightings(of services: [ServiceUUID]) -> AsyncThrowingStream<TapSighting, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: TapSighting.self)
        state.withLock { $0.scans.append(clock.elapsed()) }
        if state.withLock({ $0.scansFail }) {
            continuation.finish(throwing: TapRadioError.failed("the adapter is busy"))
            return stream
        }
        let task = Task(executorPreference: executor) { [self] in
            if let time = state.withLock({ $0.scanTry }) {
                let tries = (clock.elapsed() / time).rounded(.down) + 1
                do { try await clock.sleep(time * tries - clock.elapsed()) } catch { return }
                return continuation.finish(throwing: TapRadioError.failed("the adapter is dead"))
            }
            while !Task.isCancelled {
                let seen = state.withLock { state in
                    state.order.compactMap { name -> TapSighting? in
                        guard let phone = state.phones[name], let service = phone.service, services.contains(service)
                        else { return nil }
                        return TapSighting(
                            address: TapSighting.PhoneAddress(name),
                            services: [service],
                            rssi: phone.rssi,
                            at: clock.elapsed()
                        )
                    }
                }
                for sighting in seen { continuation.yield(sighting) }
                do { try await clock.sleep(.milliseconds(50)) } catch { break }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    func connect(
        _ phone: TapSighting.PhoneAddress,
        characteristics: TapCharacteristics,
        timers: TapTimers
    ) async throws(TapRadioError) -> any TapConnection {
        let name = phone.rawValue
        let (found, refusal, number) = state.withLock { state in
            state.connects.append(name)
            state.links += 1
            return (state.phones[name], state.refusals[name], state.links)
        }
        if let refusal { throw refusal }
        guard let found, found.service != nil else { throw .failed("not there") }
        guard found.characteristics == characteristics else { throw .failed("the phone does not offer the profile") }
        state.withLock { $0.open += 1 }
        let connection = SimulatedConnection(
            radio: self,
            peripheral: found.peripheral,
            central: "\(name)#\(number)",
            maximumValueLength: maximumValueLength
        )
        await connection.open()
        state.withLock { $0.connections[name] = connection }
        return connection
    }

    enum Passage { case arrives, isLost, cutsTheLink }

    func passage() -> Passage {
        state.withLock { state in
            state.values += 1
            if state.lostValue == state.values - 1 { return .isLost }
            guard let left = state.valuesLeft else { return .arrives }
            state.valuesLeft = left == 0 ? nil : left - 1
            return left > 0 ? .arrives : .cutsTheLink
        }
    }

    fileprivate func closed(_ connection: SimulatedConnection) {
        state.withLock { state in
            state.open -= 1
            if let name = state.connections.first(where: { $0.value === connection })?.key {
                state.connections[name] = nil
            }
        }
    }

    /// A phone is switched off: it is gone, and its link with it.
    func switchOff(_ name: String) async {
        let connection = state.withLock { $0.connections[name] }
        remove(name)
        await connection?.fall()
    }
}

/// One link over the simulated radio.
final class SimulatedConnection: TapConnection {
    let maximumValueLength: Int
    let fragments: AsyncThrowingStream<[UInt8], any Error>
    private let incoming: AsyncThrowingStream<[UInt8], any Error>.Continuation
    private let radio: RadioSimulation
    private let peripheral: any Peripheral
    private let central: String
    private let isClosed = Mutex(false)
    /// What the radio has taken and not sent yet.
    private let held = Mutex(0)
    private let buffer = AsyncStream.makeStream(of: Held.self)

    private struct Held {
        let fragment: [UInt8]
        /// Who waits until it has left; nil where nobody does.
        let sender: CheckedContinuation<Result<Void, TapRadioError>, Never>?
    }

    init(radio: RadioSimulation, peripheral: any Peripheral, central: String, maximumValueLength: Int) {
        (self.radio, self.peripheral, self.central) = (radio, peripheral, central)
        self.maximumValueLength = maximumValueLength
        (fragments, incoming) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    }

    func open() async {
        Task(executorPreference: radio.executor) { [self] in
            for await held in buffer.stream {
                let result: Result<Void, TapRadioError>
                do throws(TapRadioError) { result = .success(try await pass(held.fragment)) } catch {
                    result = .failure(error)
                }
                self.held.withLock { $0 -= 1 }
                held.sender?.resume(returning: result)
            }
        }
        await peripheral.subscribe(central: central, maximumValueLength: maximumValueLength) { [weak self] value in
            guard let self else { return }
            switch radio.passage() {
            case .arrives: incoming.yield(value)
            case .isLost: break
            case .cutsTheLink: await fall()
            }
        }
    }

    func readHello() async throws(TapRadioError) -> [UInt8] { await peripheral.read(by: central) }

    func sendAtOnce(_ fragment: [UInt8]) throws(TapRadioError) -> Bool {
        guard !isClosed.withLock({ $0 }) else { throw .failed("the link is down") }
        return held.withLock { held in
            guard held < radio.room else { return false }
            held += 1
            buffer.continuation.yield(Held(fragment: fragment, sender: nil))
            return true
        }
    }

    func send(_ fragment: [UInt8]) async throws(TapRadioError) {
        guard radio.room > 0 else { return try await pass(fragment) }
        // What was taken before goes first.
        let result = await withCheckedContinuation { sender in
            held.withLock { held in
                held += 1
                let sent = buffer.continuation.yield(Held(fragment: fragment, sender: sender))
                if case .terminated = sent { sender.resume(returning: .failure(.failed("the link is down"))) }
            }
        }
        try result.get()
    }

    private func pass(_ fragment: [UInt8]) async throws(TapRadioError) {
        guard !isClosed.withLock({ $0 }) else { throw .failed("the link is down") }
        switch radio.passage() {
        case .arrives: await peripheral.write(fragment, by: central)
        case .isLost: break
        case .cutsTheLink:
            await fall()
            throw .failed("the link is down")
        }
    }

    func close() async {
        await radio.takeTimeToClose()
        await fall()
    }

    fileprivate func fall() async {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        incoming.finish()
        buffer.continuation.finish()
        radio.closed(self)
        await peripheral.unsubscribe(central: central)
    }
}
