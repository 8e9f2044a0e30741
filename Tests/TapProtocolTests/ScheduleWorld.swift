import TapProtocol
import TestSupport

/// A rule that is broken on purpose, to see that a schedule finds it.
enum SeededFault: CaseIterable {
    // Phones.
    case executesBeforeItsClaim, forgetsItsAccept, believesTheTerminalsWord
    // The terminal. The last one is rule R1 switched off.
    case cancelsAfterItsClaim, forgetsItsClaim, believesThePhonesWord, saysOtherPaidTooEarly, claimsTwice
    // The gateway: rule R5 switched off.
    case executesEverything
}

struct Gateway {
    var faults: Set<SeededFault> = []
    var completed: ObjectHash?
    var attempts: [ObjectHash: (attempt: Int, status: PaymentStatus)] = [:]
    var isVoided = false

    /// At most one claim that has not failed; another accept needs a higher attempt. Source: BPP/1, section 14, rule R5.
    mutating func execute(_ hash: ObjectHash, attempt: Int, isDeclined: Bool) -> PaymentStatus? {
        if let known = attempts[hash] { return known.status }
        if !faults.contains(.executesEverything) {
            guard completed == nil, !isVoided, attempts.values.allSatisfy({ $0.attempt < attempt }) else { return nil }
        }
        let status: PaymentStatus = isDeclined ? .failed : .completed
        attempts[hash] = (attempt, status)
        if !isDeclined { completed = hash }
        return status
    }
}

enum Message {
    case request, claim(ObjectHash, PaymentClaim.Mode, Int), hold, reopen, otherPaid, cancel, refuse(TapErrorCode),
        closed
    case result(PaymentStatus), acknowledge
    case accept(ObjectHash, isVoucher: Bool, isOnline: Bool), cancelledByPayer
}

/// One terminal, three phones and a gateway, driven through a random schedule: messages late or lost, links cut, power cut
/// between any two actions, declines, spells without a network, cancels that cross. Links keep their order, as BLE does.
struct World {
    static let end = 100_000

    let broken: Set<SeededFault>
    var random: SeededGenerator
    let offer: PhonePayment.Offer
    var now = 0
    var terminal = TerminalPayment(expiresAtMilliseconds: end)
    var journal: [TerminalPayment.Record] = []
    var isTerminalOnline = true
    var gateway = Gateway()
    var phones: [PhonePayment]
    var stored: [PhonePayment]
    var accepts: [[ObjectHash]] = [[], [], []]
    /// The accept in each phone's storage, and the attempt of its claim.
    var current: [(hash: ObjectHash, isVoucher: Bool, attempt: Int)?] = [nil, nil, nil]
    var isOnline = [true, true, true]
    var isLinked = [false, false, false]
    var toPhone: [[Message]] = [[], [], []]
    var toTerminal: [[Message]] = [[], [], []]
    var queued: (ObjectHash, Int)?
    var faults: [String] = []

    /// How many accepts of each phone were out when it was last told that the payment is over for it.
    var dismissed = [0, 0, 0]
    var powerCuts = 0

    init(seed: UInt64, id: PaymentID, broken: Set<SeededFault> = []) {
        random = SeededGenerator(seed: seed)
        (self.broken, gateway.faults) = (broken, broken)
        offer = PhonePayment.Offer(paymentID: id, requestHash: ObjectHash(of: [0]), expiresAtMilliseconds: Self.end)
        var phone = PhonePayment()
        _ = phone.handle(.payScreenOpened)
        (phones, stored) = ([phone, phone, phone], [phone, phone, phone])
    }

    var id: PaymentID { offer.paymentID }

    mutating func play() {
        for _ in 0..<80 { step() }
        settle()
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    mutating func step() {
        let phone = Int.random(in: 0..<3, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0...4: deliverToPhone(phone)
        case 5...9: deliverToTerminal(phone)
        case 10, 11: link(phone)
        case 12, 13:
            if case .prompting = phones[phone].state { accept(phone) }
        case 14: if chance(30) { tell(phone, .userCancelled(.user)) }
        case 15: if chance(40) { cut(phone) }
        case 16: if chance(15) { tell(.cancelRequested) }
        case 17:
            if chance(50) { isTerminalOnline.toggle() } else { isOnline[phone].toggle() }
        case 18:
            now += Int.random(in: 0...9000, using: &random)
            tell(.clock(nowMilliseconds: now))
            tell(phone, .clock(nowMilliseconds: now))
            tell(phone, .closingOver)
        default: askGateway(phone)
        }
    }

    mutating func accept(_ phone: Int) {
        let hash = ObjectHash(of: [UInt8(phone), UInt8(accepts[phone].count), 7])
        accepts[phone].append(hash)
        let isVoucher = !isOnline[phone]
        current[phone] = (hash, isVoucher, 0)
        tell(phone, .userAccepted(hash, isVoucher: isVoucher))
    }

    mutating func link(_ phone: Int) {
        guard !isLinked[phone] else { return }
        isLinked[phone] = true
        tell(phone, .payScreenOpened)
        tell(phone, .read)
        tell(.linkReady(LinkID(rawValue: phone)))
    }

    mutating func cut(_ phone: Int) {
        guard isLinked[phone] else { return }
        isLinked[phone] = false
        (toPhone[phone], toTerminal[phone]) = ([], [])
        tell(phone, .linkLost)
        tell(.linkLost(LinkID(rawValue: phone)))
    }

    mutating func send(_ link: LinkID, _ message: Message) {
        if isLinked[link.rawValue] { toPhone[link.rawValue].append(message) }
    }

    mutating func deliverToPhone(_ phone: Int) {
        guard !toPhone[phone].isEmpty else { return }
        switch toPhone[phone].removeFirst() {
        case .request: tell(phone, .request(offer))
        case .claim(let hash, let mode, let attempt):
            if current[phone]?.hash == hash { current[phone]?.attempt = attempt }
            tell(phone, .claim(id, hash, mode, isPhoneOnline: isOnline[phone]))
        case .hold: tell(phone, .hold(id))
        case .reopen: tell(phone, .reopen(id))
        case .otherPaid: tell(phone, .otherPaid(id))
        case .cancel: tell(phone, .cancelledByTerminal(id))
        case .refuse(let code): tell(phone, .error(code))
        case .result(let status):
            let hasReceipt =
                broken.contains(.believesTheTerminalsWord)
                || current[phone].flatMap { gateway.attempts[$0.hash]?.status } == status
            tell(phone, .result(id, status, hasReceipt ? .valid : .missing))
        case .acknowledge: tell(phone, .acknowledged)
        case .closed: cut(phone)
        case .accept, .cancelledByPayer: faults.append("wrong way")
        }
    }

    mutating func deliverToTerminal(_ phone: Int) {
        guard !toTerminal[phone].isEmpty else { return }
        let link = LinkID(rawValue: phone)
        switch toTerminal[phone].removeFirst() {
        case .accept(let hash, let isVoucher, let isPhoneOnline):
            if isTerminalOnline || isPhoneOnline {
                tell(.accept(link, .valid(hash, .online, isTerminalOnline: isTerminalOnline)))
            } else if isVoucher {
                tell(.accept(link, .valid(hash, .offline, isTerminalOnline: false)))
            } else {
                tell(.accept(link, .invalid(hash, .vouchersNotTaken)))
            }
        case .cancelledByPayer: tell(.cancelledByPayer(link))
        case .result(let status):
            let isProven = terminal.winner.map { gateway.attempts[$0.acceptHash]?.status == status } ?? false
            if isProven || broken.contains(.believesThePhonesWord) {
                tell(.receipt(.phone(link), status, nowMilliseconds: now))
            } else {
                tell(.receiptRefused(link))
            }
        default: break
        }
    }

    /// What a driver does with the terminal's word, power cut included.
    mutating func tell(_ event: TerminalPayment.Event) {
        breakTerminal(on: event)
        let actions = terminal.handle(event)
        for action in actions {
            guard !chance(2) else {
                powerCuts += 1
                if broken.contains(.forgetsItsClaim) { journal = [] }
                terminal = TerminalPayment(expiresAtMilliseconds: Self.end, replaying: journal)
                for phone in 0..<3 where isLinked[phone] {
                    isLinked[phone] = false
                    (toPhone[phone], toTerminal[phone]) = ([], [])
                    tell(phone, .linkLost)
                }
                return tell(.restarted(nowMilliseconds: now, mayResume: chance(50)))
            }
            perform(action)
        }
    }

    /// What a terminal would do that does not keep its rules.
    private mutating func breakTerminal(on event: TerminalPayment.Event) {
        guard terminal.state == .claimed || terminal.state == .executing, let winner = terminal.winner else { return }
        switch event {
        case .cancelRequested where broken.contains(.cancelsAfterItsClaim):
            journal.append(.done(.cancelled))
            terminal = TerminalPayment(expiresAtMilliseconds: Self.end, replaying: journal)
            others(than: nil) { $0.sayCancelled($1) }
        case .accept(let link, .valid(let hash, _, _)):
            if broken.contains(.saysOtherPaidTooEarly) { others(than: link) { $0.sayOtherPaid($1) } }
            guard broken.contains(.claimsTwice), hash != winner.acceptHash else { return }
            // As if the payment were still open: the same attempt is claimed once more.
            journal.append(.reopened(attempt: winner.attempt))
            terminal = TerminalPayment(expiresAtMilliseconds: Self.end, replaying: journal)
        default: break
        }
    }

    mutating func perform(_ action: TerminalPayment.Action) {
        switch action {
        case .journal(let record): journal.append(record)
        case .offer(let link): send(link, .request)
        case .claim(let link):
            guard let winner = terminal.winner else { return faults.append("claim without winner") }
            if !accepts[link.rawValue].contains(winner.acceptHash) { faults.append("claim to another") }
            send(link, .claim(winner.acceptHash, winner.mode, winner.attempt))
        case .hold(let link): send(link, .hold)
        case .holdOthers(let link): others(than: link) { $0.send($1, .hold) }
        case .otherPaidTo(let link): sayOtherPaid(link)
        case .otherPaid(let link): others(than: link) { $0.sayOtherPaid($1) }
        case .reopenAll: others(than: nil) { $0.send($1, .reopen) }
        case .reopen(let link, _): send(link, .reopen)
        case .cancel(let link, _): sayCancelled(link)
        case .cancelAll: others(than: nil) { $0.sayCancelled($1) }
        case .cancelOthers(let link, _): others(than: link) { $0.sayCancelled($1) }
        case .result(let link, let status): send(link, .result(status))
        case .acknowledge(let link): send(link, .acknowledge)
        case .refuse(let link, let code): send(link, .refuse(code))
        case .close(let link): send(link, .closed)
        case .submit: terminalAsks()
        case .askGateway: terminalAsks()
        case .queueForSync: queued = terminal.winner.map { ($0.acceptHash, $0.attempt) }
        default: break
        }
    }

    mutating func others(than link: LinkID?, _ body: (inout World, LinkID) -> Void) {
        for phone in 0..<3 where phone != link?.rawValue { body(&self, LinkID(rawValue: phone)) }
    }

    mutating func sayCancelled(_ link: LinkID) {
        dismissed[link.rawValue] = accepts[link.rawValue].count
        if let hash = gateway.completed, accepts[link.rawValue].contains(hash) {
            faults.append("cancelled, and charged")
        }
        send(link, .cancel)
    }

    mutating func sayOtherPaid(_ link: LinkID) {
        dismissed[link.rawValue] = accepts[link.rawValue].count
        if let hash = gateway.completed, accepts[link.rawValue].contains(hash) {
            faults.append("other paid, and charged")
        }
        send(link, .otherPaid)
    }

    mutating func terminalAsks() {
        guard isTerminalOnline, let winner = terminal.winner else { return }
        let status = gateway.execute(winner.acceptHash, attempt: winner.attempt, isDeclined: chance(25))
        tell(.submitted)
        if let status { tell(.receipt(.gateway, status, nowMilliseconds: now)) }
    }

    /// What a phone does with its own word, power cut included.
    mutating func tell(_ phone: Int, _ event: PhonePayment.Event) {
        let actions = phones[phone].handle(event)
        for action in actions {
            guard !chance(2) else {
                powerCuts += 1
                phones[phone] = broken.contains(.forgetsItsAccept) ? PhonePayment() : stored[phone]
                isLinked[phone] = false
                (toPhone[phone], toTerminal[phone]) = ([], [])
                tell(phone, .restarted)
                return tell(.linkLost(LinkID(rawValue: phone)))
            }
            switch action {
            case .store: stored[phone] = phones[phone]
            case .sendAccept:
                guard let mine = current[phone], isLinked[phone] else { continue }
                toTerminal[phone].append(.accept(mine.hash, isVoucher: mine.isVoucher, isOnline: isOnline[phone]))
                if broken.contains(.executesBeforeItsClaim), isOnline[phone] {
                    _ = gateway.execute(mine.hash, attempt: max(1, mine.attempt), isDeclined: chance(25))
                }
            case .cancel: if isLinked[phone] { toTerminal[phone].append(.cancelledByPayer) }
            case .result(_, let status): if isLinked[phone] { toTerminal[phone].append(.result(status)) }
            case .submit: phoneSubmits(phone)
            default: break
            }
        }
    }

    mutating func phoneSubmits(_ phone: Int) {
        guard isOnline[phone], case .won(_, let hash) = phones[phone].state, let mine = current[phone] else { return }
        if let status = gateway.execute(hash, attempt: mine.attempt, isDeclined: chance(25)) {
            tell(phone, .gatewayResult(id, status))
        }
    }

    mutating func askGateway(_ phone: Int) {
        if chance(50) {
            if chance(20) { tell(.executionOverdue) }
            if [.claimed, .executing, .unknown].contains(terminal.state) { terminalAsks() }
        } else if isOnline[phone] {
            if let status = statusForPhone(phone) {
                tell(phone, .gatewayResult(id, status))
            } else {
                phoneSubmits(phone)
            }
        }
    }

    private func statusForPhone(_ phone: Int) -> PaymentStatus? {
        if let hash = gateway.completed, accepts[phone].contains(hash) { return .completed }
        return current[phone].flatMap { gateway.attempts[$0.hash]?.status }
    }

    /// Everybody is online, nothing is lost any more, and the gateway's word reaches all.
    mutating func settle() {
        (isTerminalOnline, isOnline) = (true, [true, true, true])
        for _ in 0..<20 {
            let before = (terminal.state, phones.map(\.state), gateway.attempts.count, gateway.isVoided, powerCuts)
            if let queued { _ = gateway.execute(queued.0, attempt: queued.1, isDeclined: false) }
            if [.claimed, .executing, .unknown].contains(terminal.state) {
                terminalAsks()
                // Without a claim at the gateway, and none possible: a void, which the gateway confirms.
                if terminal.state == .unknown, gateway.completed == nil {
                    gateway.isVoided = true
                    tell(.voidConfirmed)
                }
            }
            // A receipt for another accept than the winner's is not believed.
            if let hash = gateway.completed, terminal.winner?.acceptHash ?? hash == hash {
                tell(.receipt(.gateway, .completed, nowMilliseconds: now))
            }
            for phone in 0..<3 {
                if let status = statusForPhone(phone) { tell(phone, .gatewayResult(id, status)) }
            }
            if before == (terminal.state, phones.map(\.state), gateway.attempts.count, gateway.isVoided, powerCuts) {
                break
            }
        }
        judge()
    }

    mutating func judge() {
        if gateway.attempts.values.filter({ $0.status == .completed }).count > 1 { faults.append("charged twice") }
        if let hash = gateway.completed {
            guard let payer = accepts.firstIndex(where: { $0.contains(hash) }) else {
                return faults.append("charged without an accept")
            }
            if let place = accepts[payer].firstIndex(of: hash), dismissed[payer] > place {
                faults.append("dismissed, and charged")
            }
            if terminal.state != .done(.completed) { faults.append("terminal says \(terminal.state), and paid") }
            if phones[payer].closed[id] != .final(.completed) { faults.append("payer says \(phones[payer].state)") }
        } else {
            if terminal.state == .done(.completed) { faults.append("terminal says paid") }
            for phone in phones where phone.closed[id] == .final(.completed) { faults.append("phone says paid") }
        }
    }
}
