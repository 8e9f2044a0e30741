import Ethereum
import Payments
public import StrictJSON

/// What the gateway can be asked to do, by the name that faults and the call log use.
public enum Endpoint: String, FaultPlace {
    case create, payment, status, cancel, list, refund
    case info, options, fetch, confirm
    case gatewayStatus = "gateway-status"
    case gatewayCancel = "gateway-cancel"
    /// The deprecated list in snake case.
    case legacyList = "legacy-list"
    case merchantCreate = "merchant-create"
    case merchantList = "merchant-list"
    case merchant
    case merchantUpdate = "merchant-update"
    case merchantDelete = "merchant-delete"
    case settlements
    case settlementCreate = "settlement-create"
    case settlementUpdate = "settlement-update"
    case settlementDelete = "settlement-delete"
    /// The form that asks the customer who they are, and what it sends.
    case form
    case formSubmit = "form-submit"

    /// False for calls that only look.
    var changesSomething: Bool {
        switch self {
        case .payment, .status, .list, .info, .fetch, .gatewayStatus, .legacyList, .merchantList, .merchant,
            .settlements, .form:
            false
        case .create, .cancel, .refund, .options, .confirm, .gatewayCancel, .merchantCreate, .merchantUpdate,
            .merchantDelete, .settlementCreate, .settlementUpdate, .settlementDelete, .formSubmit:
            true
        }
    }
}

/// The calls of one simulator, by the names that faults use.
public protocol FaultPlace: RawRepresentable<String>, CaseIterable, Sendable, Equatable {
    /// Effects that only this simulator has, as its help writes them.
    static var ownEffects: [String] { get }
}

extension FaultPlace {
    public static var ownEffects: [String] { [] }
}

/// A fault of the gateway.
public typealias Fault = PlacedFault<Endpoint>

/// What goes wrong.
public enum FaultEffect: Sendable, Equatable {
    /// Time passes.
    case delay(milliseconds: Int)
    /// The client never gets an answer; its connection stays open and silent.
    case drop
    /// A 5xx instead of the answer.
    case failure(status: Int)
    /// A documented error instead of the answer. The work is not done, unless the fault comes after it.
    case refuse(code: String)
    /// The request is worked on twice, as if the network had repeated it; the client gets the second answer.
    case duplicate
    /// The idempotency key is ignored, as by a gateway with a bug: a repeated create makes a second payment.
    case forgetKey
    /// The answer carries a status that no documentation knows.
    case unknownStatus(word: String)
    /// The answer is cut in the middle and is no JSON any more.
    case garbage
    /// The gateway's clock is wrong for this call by so much.
    case clockSkew(seconds: Int)
    /// The payment ends so, whatever the customer does: `failed`, `declined_user`, `expired`, `stuck`.
    case outcome(String)
    /// The answer is about another payment. (Acquirer.)
    case wrongPayment
    /// What the answer holds is signed with a key that is not the acquirer's. (Acquirer.)
    case forged
}

/// On which side of the work it happens. Between the two lies what the client cannot know.
public enum FaultMoment: String, Sendable { case before, after }

/// Something that goes wrong on demand: where, what, and for which of the calls.
public struct PlacedFault<Place: FaultPlace>: Sendable, Equatable {
    public typealias Effect = FaultEffect
    public typealias Moment = FaultMoment

    /// Nil: every endpoint.
    public var endpoint: Place?
    public var effect: Effect
    public var moment: Moment
    /// The first call that it meets, counted from 1 over the calls since the fault was set.
    public var fromCall: Int
    /// How many calls it meets; nil: all that follow.
    public var times: Int?
    /// How long it goes on from the first call that it meets; nil: for ever.
    public var seconds: Int?
    /// Only calls about payments of so much, in the currency's smallest units; nil: of any amount.
    public var amount: UInt64?
    /// Only calls that name this account (CAIP-10); nil: any.
    public var account: String?

    public init(
        endpoint: Place?,
        effect: Effect,
        moment: Moment? = nil,
        fromCall: Int = 1,
        times: Int? = nil
    ) {
        (self.endpoint, self.effect) = (endpoint, effect)
        self.moment = moment ?? effect.usualMoment
        (self.fromCall, self.times) = (max(1, fromCall), times)
    }

    /// Whether it is about this call at all; which of them it meets is another question.
    func isAbout(_ endpoint: Place, _ subject: CallSubject) -> Bool {
        (self.endpoint ?? endpoint) == endpoint && (amount.map { $0 == subject.amount } ?? true)
            && (account.map { subject.accounts.contains($0.lowercased()) } ?? true)
    }
}

/// What a call is about, as far as faults tell calls apart by it.
struct CallSubject: Sendable {
    /// The payment's amount in the currency's smallest units.
    var amount: UInt64?
    /// Accounts that the call names, in lower case.
    var accounts: Set<String> = []
}

extension FaultEffect {
    /// Answers are lost after the work, which is the case that matters; refusals come before it.
    var usualMoment: FaultMoment {
        switch self {
        case .drop, .unknownStatus, .garbage, .delay, .wrongPayment, .forged: .after
        default: .before
        }
    }

    /// True for effects that not every simulator has.
    var isOwn: Bool { self == .wrongPayment || self == .forged }

    var name: String {
        switch self {
        case .delay(let milliseconds): "delay=\(milliseconds)"
        case .drop: "drop"
        case .failure(let status): "error=\(status)"
        case .refuse(let code): "refuse=\(code)"
        case .duplicate: "duplicate"
        case .forgetKey: "forget-key"
        case .unknownStatus(let word): "unknown-status=\(word)"
        case .garbage: "garbage"
        case .clockSkew(let seconds): "clock-skew=\(seconds)"
        case .outcome(let word): "outcome=\(word)"
        case .wrongPayment: "wrong-payment"
        case .forged: "forged"
        }
    }

    /// Reads `delay=250`, `drop`, `error=502` and so on. Nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let value = parts.count == 2 ? parts[1] : nil
        switch (parts.first ?? "", value) {
        case ("drop", nil): self = .drop
        case ("duplicate", nil): self = .duplicate
        case ("forget-key", nil): self = .forgetKey
        case ("garbage", nil): self = .garbage
        case ("wrong-payment", nil): self = .wrongPayment
        case ("forged", nil): self = .forged
        case ("delay", let value?):
            guard let milliseconds = Int(value), (0...600_000).contains(milliseconds) else { return nil }
            self = .delay(milliseconds: milliseconds)
        case ("error", let value?):
            guard let status = Int(value), (500...599).contains(status) else { return nil }
            self = .failure(status: status)
        case ("refuse", let value?) where !value.isEmpty: self = .refuse(code: value)
        case ("unknown-status", let value?) where !value.isEmpty: self = .unknownStatus(word: value)
        case ("clock-skew", let value?):
            guard let seconds = Int(value), abs(seconds) <= 86_400 else { return nil }
            self = .clockSkew(seconds: seconds)
        case ("outcome", let value?):
            guard SandboxPayment.Outcome(rawValue: value) != nil else { return nil }
            self = .outcome(value)
        default: return nil
        }
    }
}

/// Why a fault could not be read, for the person who wrote it.
public struct FaultError: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
}

extension PlacedFault {
    /// Reads the form of the command line: `status:unknown-status=reviewing,from=2,times=3`, `create:drop,when=before`,
    /// `*:delay=500`.
    public init(parsing text: String) throws(FaultError) {
        let halves = text.split(separator: ":", maxSplits: 1).map(String.init)
        guard halves.count == 2 else {
            throw FaultError(description: "'\(text)' is not ENDPOINT:EFFECT, for example 'create:drop'")
        }
        let parts = halves[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        try self.init(endpoint: halves[0], effect: parts.first ?? "") { name in
            parts.dropFirst().compactMap { part in
                part.hasPrefix(name + "=") ? String(part.dropFirst(name.count + 1)) : nil
            }.first
        }
        if let stray = parts.dropFirst().first(where: { part in !Self.options.contains { part.hasPrefix($0 + "=") } }) {
            throw FaultError(
                description: "'\(stray)' is not when=before|after, from=N, times=N, for=SECONDS, amount=N or account=A"
            )
        }
    }

    /// What a fault may say beside its endpoint and its effect.
    private static var options: [String] { ["when", "from", "times", "for", "amount", "account"] }

    /// Reads the form of the control API and of scenarios: the same words as members of an object.
    public init(_ json: ExactJSON) throws(FaultError) {
        if case .object(let members) = json {
            for member in members where !(Self.options + ["endpoint", "effect"]).contains(member.name) {
                throw FaultError(description: "'\(member.name)' is nothing that a fault has")
            }
        }
        guard let endpoint = json["endpoint"]?.stringValue, let effect = json["effect"]?.stringValue else {
            throw FaultError(description: "'endpoint' and 'effect' are needed, both texts")
        }
        try self.init(endpoint: endpoint, effect: effect) { name in
            json[name]?.stringValue ?? json[name]?.integerValue.map(String.init)
        }
    }

    private init(endpoint name: String, effect text: String, option: (String) -> String?) throws(FaultError) {
        let endpoint = Place(rawValue: name)
        guard endpoint != nil || name == "*" else {
            let names = Place.allCases.map(\.rawValue).joined(separator: ", ")
            throw FaultError(description: "'\(name)' is no endpoint; there are: \(names), and * for all")
        }
        guard let effect = Effect(text), !effect.isOwn || Place.ownEffects.contains(effect.name) else {
            throw FaultError(
                description: "'\(text)' is no effect; there are: delay=MILLISECONDS, drop, error=5xx, refuse=CODE, "
                    + "duplicate, forget-key, unknown-status=WORD, garbage, clock-skew=SECONDS, "
                    + (["outcome=failed|declined_user|expired|stuck"] + Place.ownEffects).joined(separator: ", ")
            )
        }
        let moment = try option("when").map { (word) throws(FaultError) in
            guard let moment = Moment(rawValue: word) else {
                throw FaultError(description: "when=\(word) is neither before nor after")
            }
            return moment
        }
        self.init(
            endpoint: endpoint,
            effect: effect,
            moment: moment,
            fromCall: try Self.count("from", option("from")) ?? 1,
            times: try Self.count("times", option("times"))
        )
        seconds = try Self.count("for", option("for"))
        amount = try Self.count("amount", option("amount")).map(UInt64.init)
        account = option("account")
    }

    private static func count(_ name: String, _ text: String?) throws(FaultError) -> Int? {
        guard let text else { return nil }
        guard let count = Int(text), count > 0 else {
            throw FaultError(description: "\(name)=\(text) is not a number from 1")
        }
        return count
    }

    var json: ExactJSON {
        .members([
            "endpoint": .string(endpoint?.rawValue ?? "*"), "effect": .string(effect.name),
            "when": .string(moment.rawValue), "from": .integer(fromCall), "times": times.map { .integer($0) } ?? .null,
            "for": seconds.map { .integer($0) } ?? .null, "amount": amount.map { .integer($0) } ?? .null,
            "account": .text(account),
        ])
    }
}

/// The faults that are set, and how many calls each has seen.
struct FaultPlan<Place: FaultPlace>: Sendable {
    private(set) var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }

    struct Entry: Sendable {
        let fault: PlacedFault<Place>
        var seen = 0
        /// When its time is over, once it has met its first call.
        var end: WallTime?
    }

    mutating func set(_ fault: PlacedFault<Place>) { entries.append(Entry(fault: fault)) }

    mutating func clear() { entries = [] }

    /// What goes wrong with this call, in the order in which the faults were set.
    mutating func meeting(_ endpoint: Place, _ subject: CallSubject, at now: WallTime) -> [PlacedFault<Place>] {
        var met: [PlacedFault<Place>] = []
        for index in entries.indices {
            let fault = entries[index].fault
            guard fault.isAbout(endpoint, subject) else { continue }
            entries[index].seen += 1
            let call = entries[index].seen - fault.fromCall
            guard call >= 0, fault.times.map({ call < $0 }) ?? true else { continue }
            if let seconds = fault.seconds {
                let end = entries[index].end ?? now.advanced(by: .seconds(seconds))
                entries[index].end = end
                guard now < end else { continue }
            }
            met.append(fault)
        }
        return met
    }
}
