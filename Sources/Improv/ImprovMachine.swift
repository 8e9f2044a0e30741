/// A phone, by the address of its radio. It changes now and then and names nobody.
public struct ImprovPhone: Sendable, Hashable {
    public let address: String

    public init(_ address: String) { self.address = address }
}

/// The terminal's side of Improv: whom it listens to, what it tells, when it lets a network be joined.
///
/// A value that decides: no clock, no I/O. Whoever drives it tells it what happened and when, and does what it returns. It is
/// total: every event has an answer in every phase. It serves one phone at a time; the others read that they are not
/// authorized, and nothing that they do changes anything. That holds for what they read: what the served phone is told without
/// asking, whoever drives this tells every phone that wants to be told, since bluetoothd has one channel for all of them.
///
/// Source: improv-wifi.com/ble; docs/decisions/0027-improv.md.
public struct ImprovMachine: Sendable, Equatable {
    /// How far it is.
    public enum Phase: Sendable, Equatable {
        /// Not to be found. → waiting
        case off
        /// No phone is there. → asking, allowed
        case waiting
        /// Whoever stands at the terminal is asked about this phone, which may be gone meanwhile. → allowed, waiting
        case asking(ImprovPhone)
        /// This phone may name a network. → joining, waiting
        case allowed(ImprovPhone)
        /// The terminal joins the network that this phone named. → joined, allowed
        case joining(ImprovPhone)
        /// It is in. → waiting
        case joined(ImprovPhone)
    }

    /// The service's characteristics.
    ///
    /// Source: improv-wifi.com/ble, "GATT Services".
    public enum Characteristic: Sendable, CaseIterable {
        case state, error, command, result, capabilities
    }

    /// What a phone reads of how far the terminal is. Source: improv-wifi.com/ble, "Current State".
    enum State: UInt8, Sendable {
        case authorizationRequired = 1
        case authorized, provisioning, provisioned
    }

    /// What a phone reads of its last command. Source: improv-wifi.com/ble, "Error state".
    public enum Fault: UInt8, Sendable {
        case none = 0
        case invalidPacket, unknownCommand, unableToConnect, notAuthorized
        case unknown = 0xFF
    }

    public enum Event: Sendable, Equatable {
        /// It may be found. `asks`: a person at the terminal is asked about each phone; else each phone is let in.
        case armed(asks: Bool)
        case disarmed
        /// A phone reads, or wants to be told.
        case came(ImprovPhone)
        case wrote(ImprovPhone, ImprovPiece)
        /// A phone wants to be told nothing any more, or is gone.
        case left(ImprovPhone)
        /// The person at the terminal.
        case allowed, refused
        /// The network of the joining of this number was joined; the page's address where there is one.
        case joined(number: Int, page: String?)
        case notJoined(number: Int)
        case time
    }

    public enum Action: Sendable, Equatable {
        /// Tell the phone that is served what this characteristic is now.
        case tell(Characteristic)
        /// Join it, and say `joined` or `notJoined` with this number, which no other joining has.
        case join(ImprovNetwork, number: Int)
        /// End the link to this phone.
        case dismiss(ImprovPhone)
    }

    /// How long a question stands; nobody answers: the terminal is quiet for ``silence``.
    static let questionTime = Duration.seconds(60)
    /// How long a phone may name a network that a person let in; begins again with each that could not be joined.
    static let allowedTime = Duration.seconds(60)
    /// The same where no person was asked.
    static let openTime = Duration.seconds(300)
    /// How long the phone has to read where the page is.
    static let farewellTime = Duration.seconds(8)
    /// A joining that says nothing for so long has failed.
    static let joinTime = Duration.seconds(180)
    /// Not to be found after a question that nobody answered, or that its phone talked itself out of.
    static let silence = Duration.seconds(60)
    /// Not to be found after a question that was answered with no.
    static let longSilence = Duration.seconds(600)
    /// Phones that are taken up within a minute, and joinings that are begun within a minute.
    static let perMinute = 4
    /// Joinings of one phone, and packets of it that are none.
    static let perPhone = 10

    public private(set) var phase = Phase.off
    public private(set) var fault = Fault.none
    private var answer: [UInt8] = []
    private var asks = true
    private var assembler = ImprovAssembler()
    private var end: Duration?
    private var quietUntil: Duration?
    private var phones: [Duration] = []
    private var joinings: [Duration] = []
    /// Of the joining that goes on, or the last one.
    private var number = 0
    private var joined = 0
    private var faults = 0

    public init() {}

    // MARK: - What it says

    /// The phone that is served.
    public var phone: ImprovPhone? {
        switch phase {
        case .off, .waiting: nil
        case .asking(let phone), .allowed(let phone), .joining(let phone), .joined(let phone): phone
        }
    }

    /// What the served phone reads.
    var state: State {
        switch phase {
        case .off, .waiting, .asking: .authorizationRequired
        case .allowed: .authorized
        case .joining: .provisioning
        case .joined: .provisioned
        }
    }

    /// Whether the terminal is to be found: not while it is quiet, and not once it is in a network.
    public func isFound(at now: Duration) -> Bool {
        switch phase {
        case .off, .joined: false
        case .waiting: quietUntil.map { now >= $0 } ?? true
        case .asking, .allowed, .joining: true
        }
    }

    /// Of the advertisement, under the UUID 4677: state, capabilities, four zeros. Source: improv-wifi.com/ble, "Advertisement".
    public var serviceData: [UInt8] { [state.rawValue, Self.capabilities, 0, 0, 0, 0] }

    /// None. Bit 0 would say that it can show which terminal it is: the screen says so already of each phone that is served.
    private static let capabilities: UInt8 = 0

    /// What a phone reads.
    public func value(of characteristic: Characteristic, for phone: ImprovPhone) -> [UInt8] {
        if phone == self.phone { return told(characteristic) }
        return switch characteristic {
        case .state: [State.authorizationRequired.rawValue]
        case .error: [(self.phone == nil ? Fault.none : .notAuthorized).rawValue]
        case .command, .result: []
        case .capabilities: [Self.capabilities]
        }
    }

    /// What the served phone is told of a characteristic.
    public func told(_ characteristic: Characteristic) -> [UInt8] {
        switch characteristic {
        case .state: [state.rawValue]
        case .error: [fault.rawValue]
        case .command: []
        case .result: answer
        case .capabilities: [Self.capabilities]
        }
    }

    /// When the phase ends by itself, on the driver's clock. Tell `.time` then, or later.
    var endsAt: Duration? { end }

    // MARK: - What happens

    /// Takes what happened at `now` and returns what to do, in this order.
    public mutating func handle(_ event: Event, at now: Duration) -> [Action] {
        var actions = expire(now)
        switch event {
        case .armed(let asks):
            guard phase == .off else { break }
            (phase, self.asks) = (.waiting, asks)
        case .disarmed:
            actions += finish()
            phase = .off
        case .came(let phone): actions += take(up: phone, now)
        case .wrote(let phone, let piece):
            actions += take(up: phone, now)
            // What is being joined has been said.
            if phone == self.phone, !isJoining { actions += read(piece, now) }
        case .left(let phone): if phone == self.phone { actions += lose() }
        case .allowed:
            guard case .asking(let phone) = phase else { break }
            enter(.allowed(phone), until: now + Self.allowedTime)
            actions.append(.tell(.state))
        case .refused:
            switch phase {
            case .asking, .allowed:
                quietUntil = now + Self.longSilence
                actions += finish()
            case .off, .waiting, .joining, .joined: break
            }
        case .joined(let number, let page): if number == self.number { actions += welcome(page, now) }
        case .notJoined(let number): if number == self.number { actions += fail(now) }
        case .time: break
        }
        return actions
    }

    private mutating func enter(_ phase: Phase, until end: Duration?) { (self.phase, self.end) = (phase, end) }

    private mutating func expire(_ now: Duration) -> [Action] {
        guard let end, now >= end else { return [] }
        switch phase {
        case .asking:
            quietUntil = now + Self.silence
            return finish()
        case .joining: return fail(now)
        case .off, .waiting, .allowed, .joined: return finish()
        }
    }

    /// Serves nobody any more.
    private mutating func finish() -> [Action] {
        guard let phone else { return [] }
        let was = state
        enter(.waiting, until: nil)
        (fault, answer, assembler) = (.none, [], ImprovAssembler())
        (joined, faults) = (0, 0)
        return (was == state ? [] : [.tell(.state)]) + [.dismiss(phone)]
    }

    private mutating func take(up phone: ImprovPhone, _ now: Duration) -> [Action] {
        guard phase == .waiting, isFound(at: now) else { return [] }
        quietUntil = nil
        phones.removeAll { now - $0 >= .seconds(60) }
        guard phones.count < Self.perMinute else { return [] }
        phones.append(now)
        if asks {
            enter(.asking(phone), until: now + Self.questionTime)
            return []
        }
        enter(.allowed(phone), until: now + Self.openTime)
        return [.tell(.state)]
    }

    /// The phone went. Where a person is asked it may come back while its time lasts: programs that set a device up do so after
    /// each network that could not be joined, and a question that went with its phone could be asked again and again.
    private mutating func lose() -> [Action] {
        switch phase {
        case .asking: return []
        case .allowed: return asks ? [] : finish()
        case .joined: return finish()
        case .off, .waiting, .joining: return []
        }
    }

    private mutating func read(_ piece: ImprovPiece, _ now: Duration) -> [Action] {
        switch assembler.take(piece, at: now) {
        case .unfinished: return []
        case .invalid: return blame(.invalidPacket)
        case .command(.unknown): return blame(.unknownCommand)
        case .command(.join(let network)): return join(network, now)
        }
    }

    private mutating func join(_ network: ImprovNetwork, _ now: Duration) -> [Action] {
        guard case .allowed(let phone) = phase else { return blame(.notAuthorized) }
        joinings.removeAll { now - $0 >= .seconds(60) }
        guard joinings.count < Self.perMinute, joined < Self.perPhone else { return blame(.unknown) }
        joinings.append(now)
        joined += 1
        number += 1
        enter(.joining(phone), until: now + Self.joinTime)
        return clear() + [.tell(.state), .join(network, number: number)]
    }

    private var isJoining: Bool {
        switch phase {
        case .joining, .joined: true
        case .off, .waiting, .asking, .allowed: false
        }
    }

    private mutating func clear() -> [Action] {
        defer { fault = .none }
        return fault == .none ? [] : [.tell(.error)]
    }

    private mutating func blame(_ fault: Fault) -> [Action] {
        faults += 1
        // Whoever goes on so is no phone that sets a terminal up. The next is not asked about sooner than if it had been silent.
        guard faults <= Self.perPhone else {
            if asks, let end { quietUntil = end + Self.silence }
            return finish()
        }
        self.fault = fault
        return [.tell(.error)]
    }

    private mutating func welcome(_ page: String?, _ now: Duration) -> [Action] {
        guard case .joining(let phone) = phase else { return [] }
        enter(.joined(phone), until: now + Self.farewellTime)
        answer = ImprovPacket.result(of: 1, page.map { [$0] } ?? [])
        return [.tell(.state), .tell(.result)]
    }

    private mutating func fail(_ now: Duration) -> [Action] {
        guard case .joining(let phone) = phase else { return [] }
        enter(.allowed(phone), until: now + (asks ? Self.allowedTime : Self.openTime))
        fault = .unableToConnect
        return [.tell(.state), .tell(.error)]
    }
}
