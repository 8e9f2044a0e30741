import Testing

@testable import Improv

/// Whom the terminal listens to, and when it lets a network be joined.
struct ImprovMachineTests {
    private static let phone = ImprovPhone("00:AA:01:00:00:23")
    private static let other = ImprovPhone("00:AA:01:00:00:24")
    private static let network = ImprovNetwork(name: [65], passphrase: [49])
    private static let command = ImprovPiece([1, 4, 1, 65, 1, 49, 1 + 4 + 1 + 65 + 1 + 49])
    private static let nonsense = ImprovPiece([9, 0, 8])
    private static let second = Duration.seconds(1)

    private static func machine(asks: Bool = true, _ events: [ImprovMachine.Event] = []) -> ImprovMachine {
        var machine = ImprovMachine()
        for event in [.armed(asks: asks)] + events { _ = machine.handle(event, at: .zero) }
        return machine
    }

    @Test func aPersonLetsAPhoneInAndItJoins() {
        var machine = Self.machine()
        #expect(machine.isFound(at: .zero) && machine.serviceData == [1, 0, 0, 0, 0, 0])
        #expect(machine.handle(.came(Self.phone), at: .zero) == [])
        #expect(machine.phase == .asking(Self.phone) && machine.value(of: .state, for: Self.phone) == [1])
        #expect(machine.handle(.allowed, at: Self.second) == [.tell(.state)])
        #expect(machine.value(of: .state, for: Self.phone) == [2])
        let joins: [ImprovMachine.Action] = [.tell(.state), .join(Self.network, number: 1)]
        #expect(machine.handle(.wrote(Self.phone, Self.command), at: Self.second) == joins)
        #expect(machine.value(of: .state, for: Self.phone) == [3])
        let joined = ImprovMachine.Event.joined(number: 1, page: "https://a")
        #expect(machine.handle(joined, at: Self.second) == [.tell(.state), .tell(.result)])
        #expect(machine.value(of: .state, for: Self.phone) == [4] && !machine.isFound(at: Self.second))
        #expect(machine.value(of: .result, for: Self.phone) == ImprovPacket.result(of: 1, ["https://a"]))
        let end = Self.second + ImprovMachine.farewellTime
        #expect(machine.handle(.time, at: end) == [.tell(.state), .dismiss(Self.phone)])
        #expect(machine.phase == .waiting && machine.value(of: .result, for: Self.phone) == [])
    }

    @Test func withoutAPersonsWordNothingIsJoined() {
        var machine = Self.machine()
        #expect(machine.handle(.wrote(Self.phone, Self.command), at: .zero) == [.tell(.error)])
        #expect(machine.value(of: .error, for: Self.phone) == [4])
        #expect(machine.phase == .asking(Self.phone))
    }

    @Test func whereNobodyCanBeAskedAPhoneIsLetIn() {
        var machine = Self.machine(asks: false)
        #expect(machine.handle(.came(Self.phone), at: .zero) == [.tell(.state)])
        #expect(machine.phase == .allowed(Self.phone))
        // It goes, and the next one has its turn.
        #expect(machine.handle(.left(Self.phone), at: .zero) == [.tell(.state), .dismiss(Self.phone)])
        _ = machine.handle(.came(Self.other), at: .zero)
        #expect(machine.phase == .allowed(Self.other))
    }

    @Test func theOtherPhoneNeitherJoinsNorLearnsNorDisturbs() {
        for events: [ImprovMachine.Event] in [
            [], [.allowed], [.allowed, .wrote(Self.phone, Self.command)],
            [.allowed, .wrote(Self.phone, Self.command), .joined(number: 1, page: "https://a")],
        ] {
            var machine = Self.machine([.came(Self.phone)] + events)
            let before = machine
            for event: ImprovMachine.Event in [.came(Self.other), .wrote(Self.other, Self.command), .left(Self.other)] {
                #expect(machine.handle(event, at: .zero) == [])
            }
            #expect(machine == before)
            #expect(machine.value(of: .state, for: Self.other) == [1])
            #expect(machine.value(of: .error, for: Self.other) == [4])
            #expect(machine.value(of: .result, for: Self.other) == [])
        }
    }

    @Test func whatCouldNotBeJoinedCanBeTriedAgainByAPhoneThatComesBack() {
        var machine = Self.machine([.came(Self.phone), .allowed, .wrote(Self.phone, Self.command)])
        let late = Duration.seconds(50)
        #expect(machine.handle(.notJoined(number: 1), at: late) == [.tell(.state), .tell(.error)])
        #expect(machine.value(of: .error, for: Self.phone) == [3] && machine.state == .authorized)
        #expect(machine.handle(.left(Self.phone), at: late) == [])
        let again = late + ImprovMachine.allowedTime - Self.second
        #expect(
            machine.handle(.wrote(Self.phone, Self.command), at: again) == [
                .tell(.error), .tell(.state), .join(Self.network, number: 2),
            ]
        )
        #expect(machine.value(of: .error, for: Self.phone) == [0])
    }

    @Test func aPersonsWordHoldsForAMinute() {
        var machine = Self.machine([.came(Self.phone), .allowed])
        let after = ImprovMachine.allowedTime
        #expect(machine.handle(.wrote(Self.phone, Self.command), at: after).contains(.dismiss(Self.phone)))
        #expect(machine.phase == .asking(Self.phone), "it is asked about anew")
    }

    @Test func aQuestionThatNobodyAnswersGoesAndTheTerminalIsQuiet() {
        var machine = Self.machine([.came(Self.phone)])
        let end = ImprovMachine.questionTime
        #expect(machine.handle(.time, at: end) == [.dismiss(Self.phone)])
        #expect(!machine.isFound(at: end))
        #expect(machine.handle(.came(Self.phone), at: end) == [] && machine.phase == .waiting)
        let later = end + ImprovMachine.silence
        #expect(machine.isFound(at: later))
        _ = machine.handle(.came(Self.phone), at: later)
        #expect(machine.phase == .asking(Self.phone))
    }

    @Test func noIsHeardForLongAndSurvivesBeingSwitchedOff() {
        var machine = Self.machine([.came(Self.phone), .refused])
        #expect(machine.phase == .waiting)
        _ = machine.handle(.disarmed, at: Self.second)
        _ = machine.handle(.armed(asks: true), at: Self.second)
        #expect(!machine.isFound(at: ImprovMachine.longSilence - Self.second))
        #expect(machine.isFound(at: ImprovMachine.longSilence))
    }

    @Test func phonesAreTakenUpAFewTimesAMinuteOnly() {
        var (machine, taken) = (Self.machine(asks: false), 0)
        for number in 0..<600 {
            let phone = ImprovPhone("\(number)")
            let now = Duration.milliseconds(number * 100)
            _ = machine.handle(.came(phone), at: now)
            if machine.phone == phone { taken += 1 }
            _ = machine.handle(.left(phone), at: now)
        }
        #expect(taken == ImprovMachine.perMinute)
    }

    /// Whatever a phone does at once after it was asked about.
    @Test(
        arguments: [[], [.left(phone)], Array(repeating: .wrote(phone, nonsense), count: 11)] as [[ImprovMachine.Event]]
    )
    func nobodyIsAskedMoreThanOnceInTwoMinutes(_ next: [ImprovMachine.Event]) {
        var (machine, questions) = (Self.machine(), [Duration]())
        for number in 0..<6_000 {
            let now = Duration.milliseconds(number * 100)
            let before = machine.phase
            _ = machine.handle(.came(Self.phone), at: now)
            if machine.phase == .asking(Self.phone), before == .waiting { questions.append(now) }
            for event in next { _ = machine.handle(event, at: now) }
        }
        let minutes = (0..<5).map { Duration.seconds(120 * $0) }
        #expect(questions == minutes)
    }

    @Test func aPhoneThatIsAskedAboutMayLoseItsLink() {
        var machine = Self.machine([.came(Self.phone), .left(Self.phone)])
        _ = machine.handle(.allowed, at: Self.second)
        _ = machine.handle(.came(Self.other), at: Self.second)
        #expect(machine.value(of: .state, for: Self.phone) == [2] && machine.value(of: .state, for: Self.other) == [1])
    }

    @Test func nothingIsReadWhileANetworkIsJoined() {
        var machine = Self.machine([.came(Self.phone), .allowed, .wrote(Self.phone, Self.command)])
        let before = machine
        for piece in [Self.command] + Array(repeating: Self.nonsense, count: 20) {
            #expect(machine.handle(.wrote(Self.phone, piece), at: Self.second) == [])
        }
        #expect(machine == before)
        _ = machine.handle(.joined(number: 1, page: nil), at: Self.second)
        for _ in 0..<20 { #expect(machine.handle(.wrote(Self.phone, Self.nonsense), at: Self.second) == []) }
        #expect(machine.value(of: .state, for: Self.phone) == [4])
    }

    @Test func theEndOfAnEarlierJoiningIsNotThatOfTheNext() {
        var machine = Self.machine([.came(Self.phone), .allowed, .wrote(Self.phone, Self.command)])
        let late = ImprovMachine.joinTime
        #expect(machine.handle(.time, at: late) == [.tell(.state), .tell(.error)])
        _ = machine.handle(.wrote(Self.phone, Self.command), at: late)
        #expect(machine.handle(.joined(number: 1, page: "https://a"), at: late) == [])
        #expect(machine.handle(.notJoined(number: 1), at: late) == [] && machine.phase == .joining(Self.phone))
        #expect(machine.handle(.joined(number: 2, page: "https://b"), at: late) == [.tell(.state), .tell(.result)])
    }

    @Test func joiningsAreBegunAFewTimesAMinuteOnly() {
        var (machine, joinings) = (Self.machine([.came(Self.phone), .allowed]), 0)
        for number in 0..<59 {
            let now = Duration.seconds(number)
            let actions = machine.handle(.wrote(Self.phone, Self.command), at: now)
            joinings += actions.filter { if case .join = $0 { true } else { false } }.count
            _ = machine.handle(.notJoined(number: joinings), at: now)
        }
        #expect(joinings == ImprovMachine.perMinute)
    }

    @Test func aPhoneThatTalksNonsenseIsSentAway() {
        var machine = Self.machine([.came(Self.phone), .allowed])
        for number in 1...ImprovMachine.perPhone {
            #expect(
                machine.handle(
                    .wrote(Self.phone, number.isMultiple(of: 2) ? ImprovPiece([9, 0, 9]) : Self.nonsense),
                    at: .zero
                ) == [.tell(.error)]
            )
            #expect(machine.value(of: .error, for: Self.phone) == [number.isMultiple(of: 2) ? 2 : 1])
        }
        #expect(
            machine.handle(.wrote(Self.phone, Self.nonsense), at: .zero) == [.tell(.state), .dismiss(Self.phone)]
        )
        #expect(!machine.isFound(at: .zero))
    }

    /// Any events in any order, with any bytes: it never traps, and a network is joined only while somebody let its phone in.
    @Test(arguments: 0..<500)
    func nothingIsJoinedThatWasNotAllowed(seed: UInt64) {
        var (chance, machine, now) = (Chance(seed), ImprovMachine(), Duration.zero)
        var (asks, mayJoin, taken, number) = (true, false, [Duration](), 0)
        for _ in 0..<300 {
            now += .milliseconds(chance.next(chance.next(3) == 0 ? 70_000 : 500))
            let phone = chance.next(3) == 0 ? Self.other : Self.phone
            let event: ImprovMachine.Event
            switch chance.next(14) {
            case 0:
                if machine.phase == .off { asks = chance.next(2) == 0 }
                event = .armed(asks: asks)
            case 1: event = chance.next(4) == 0 ? .disarmed : .time
            case 2, 3: event = .came(phone)
            case 4, 5, 6: event = .wrote(phone, Self.command)
            case 7: event = .wrote(phone, ImprovPiece((0..<chance.next(40)).map { _ in UInt8(chance.next(256)) }))
            case 8: event = .left(phone)
            case 9, 10: event = .allowed
            case 11: event = chance.next(6) == 0 ? .refused : .time
            case 12:
                let page = chance.next(2) == 0 ? nil : String(repeating: "u", count: chance.next(400))
                event = .joined(number: number - chance.next(3) / 2, page: page)
            default: event = .notJoined(number: number - chance.next(3) / 2)
            }
            let before = machine
            let actions = machine.handle(event, at: now)
            if case .asking = before.phase, event == .allowed, machine.phone == before.phone { mayJoin = true }
            if machine.phone != before.phone || machine.phone == nil { mayJoin = false }
            for case .join(_, let next) in actions {
                #expect(mayJoin || !asks)
                #expect(machine.phase == .joining(phone) && next == number + 1)
                number = next
            }
            if case .joined(let ended, _) = event, ended != number {
                #expect(machine.phase == before.phase || now >= before.endsAt ?? now)
            }
            if machine.phone != nil, machine.phone != before.phone { taken.append(now) }
            #expect(taken.filter { now - $0 < .seconds(60) }.count <= ImprovMachine.perMinute)
            #expect((machine.endsAt == nil) == (machine.phone == nil))
            for one in ImprovMachine.Characteristic.allCases {
                #expect(machine.value(of: one, for: Self.phone).count <= ImprovPacket.longest)
            }
        }
    }
}
