public import StrictJSON

/// Something that goes wrong at the relay on demand: where, what, and for which of the calls.
public struct RelayFault: Sendable, Equatable {
    /// Where it can go wrong.
    public enum Place: String, Sendable, CaseIterable {
        /// The handshake.
        case connect
        case subscribe, unsubscribe, publish, fetch
        /// A message on its way to a subscriber.
        case push
        /// A subscriber's acknowledgement.
        case ack
    }

    /// What goes wrong.
    public enum Effect: Sendable, Equatable {
        /// The connection is closed with this code.
        case close(UInt16)
        /// Nothing is sent over this connection for so long.
        case stall(milliseconds: Int)
        /// What would be sent is sent after the next one.
        case reorder
        /// What would be sent is sent so many times more.
        case repeated(Int)
        /// What would be sent is not sent.
        case drop
        /// An error of this tag instead.
        case error(String)
        /// The handshake is answered with this HTTP status.
        case refuse(Int)
        /// The relay loses its power: before the work, or when the answer was about to leave.
        case die
    }

    /// On which side of the work it happens.
    public typealias Moment = Fault.Moment

    public var place: Place
    public var effect: Effect
    public var moment: Moment
    /// The first call that it meets, counted from 1.
    public var fromCall: Int
    /// How many calls it meets; nil: all that follow.
    public var times: Int?

    public init(_ place: Place, _ effect: Effect, moment: Moment? = nil, fromCall: Int = 1, times: Int? = nil) {
        (self.place, self.effect, self.fromCall, self.times) = (place, effect, max(1, fromCall), times)
        if case .error = effect { self.moment = moment ?? .before } else { self.moment = moment ?? .after }
    }
}

extension RelayFault {
    /// Reads the form of the command line: `publish:close=4010,when=after,from=2,times=1`.
    public init(parsing text: String) throws(FaultError) {
        let halves = text.split(separator: ":", maxSplits: 1).map(String.init)
        let parts =
            halves.dropFirst().first?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        guard let place = halves.first, let effect = parts.first else {
            throw FaultError(description: "'\(text)' is not PLACE:EFFECT, for example 'publish:drop'")
        }
        var options: [String: String] = [:]
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            guard pair.count == 2, Self.options.contains(pair[0]) else {
                throw FaultError(description: "'\(part)' is not when=before|after, from=N or times=N")
            }
            options[pair[0]] = pair[1]
        }
        try self.init(place: place, effect: effect, options)
    }

    /// Reads the form of the control API: the same words as members of an object.
    public init(_ json: ExactJSON) throws(FaultError) {
        guard let place = json["place"]?.stringValue, let effect = json["effect"]?.stringValue else {
            throw FaultError(description: "'place' and 'effect' are needed, both texts")
        }
        var options: [String: String] = [:]
        for name in Self.options {
            options[name] = json[name]?.stringValue ?? json[name]?.integerValue.map(String.init)
        }
        try self.init(place: place, effect: effect, options)
    }

    private static let options = ["when", "from", "times"]

    private init(place name: String, effect text: String, _ options: [String: String]) throws(FaultError) {
        guard let place = Place(rawValue: name) else {
            let names = Place.allCases.map(\.rawValue).joined(separator: ", ")
            throw FaultError(description: "'\(name)' is no place; there are: \(names)")
        }
        guard let effect = Effect(text), (place == .connect) == effect.isOfHandshake else {
            throw FaultError(
                description: "'\(text)' is no effect of \(name); there are: close=CODE, stall=MILLISECONDS, reorder, "
                    + "repeat=N, drop, error=TAG, die, and for connect refuse=HTTP-STATUS"
            )
        }
        let moment = try options["when"].map { (word) throws(FaultError) in
            guard let moment = Moment(rawValue: word) else {
                throw FaultError(description: "when=\(word) is neither before nor after")
            }
            return moment
        }
        self.init(
            place,
            effect,
            moment: moment,
            fromCall: try Self.count("from", options["from"]) ?? 1,
            times: try Self.count("times", options["times"])
        )
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
            "place": .string(place.rawValue), "effect": .string(effect.name), "when": .string(moment.rawValue),
            "from": .integer(fromCall), "times": times.map { .integer($0) } ?? .null,
        ])
    }
}

extension RelayFault.Effect {
    /// Whether, before the work, it keeps the work from being done.
    var isInsteadOfWork: Bool {
        switch self {
        case .close, .drop, .error, .refuse, .die: true
        case .stall, .reorder, .repeated: false
        }
    }

    var isOfHandshake: Bool { if case .refuse = self { true } else { false } }

    var name: String {
        switch self {
        case .close(let code): "close=\(code)"
        case .stall(let milliseconds): "stall=\(milliseconds)"
        case .reorder: "reorder"
        case .repeated(let count): "repeat=\(count)"
        case .drop: "drop"
        case .error(let tag): "error=\(tag)"
        case .refuse(let status): "refuse=\(status)"
        case .die: "die"
        }
    }

    /// Nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let number = parts.count == 2 ? Int(parts[1]) : nil
        switch (parts.first ?? "", number) {
        case ("drop", _) where parts.count == 1: self = .drop
        case ("reorder", _) where parts.count == 1: self = .reorder
        case ("die", _) where parts.count == 1: self = .die
        case ("close", let code?) where (1000...4999).contains(code): self = .close(UInt16(code))
        case ("stall", let time?) where (1...600_000).contains(time): self = .stall(milliseconds: time)
        case ("repeat", let count?) where (1...100).contains(count): self = .repeated(count)
        case ("refuse", let status?) where (400...599).contains(status): self = .refuse(status)
        case ("error", _) where parts.count == 2 && !parts[1].isEmpty: self = .error(parts[1])
        default: return nil
        }
    }
}

/// The relay's faults, and how many calls each has seen.
struct RelayFaultPlan: Sendable {
    private(set) var entries: [(fault: RelayFault, seen: Int)] = []

    mutating func set(_ fault: RelayFault) { entries.append((fault, 0)) }

    mutating func clear() { entries = [] }

    /// What goes wrong this time, in the order in which the faults were set.
    mutating func meeting(_ place: RelayFault.Place) -> [RelayFault] {
        var met: [RelayFault] = []
        for index in entries.indices where entries[index].fault.place == place {
            entries[index].seen += 1
            let fault = entries[index].fault
            let call = entries[index].seen - fault.fromCall
            if call >= 0, fault.times.map({ call < $0 }) ?? true { met.append(fault) }
        }
        return met
    }
}
