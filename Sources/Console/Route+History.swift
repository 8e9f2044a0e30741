import Journal
import Payments
import Terminal

extension HistoryQuery {
    private static let filters = ["state", "rail", "currency", "from", "to", "min", "max", "by", "q"]

    /// The query of a list or, without a place in it, of a file.
    /// - Throws: ``Problem`` 422 at the name that means nothing.
    init(_ query: [String: String], isList: Bool) throws(Problem) {
        self.init()
        let names = Self.filters + (isList ? ["before", "after", "limit"] : [])
        if let name = query.keys.sorted().first(where: { !names.contains($0) }) { throw Self.wrong(name) }
        func value<Value>(_ name: String, _ read: (String) -> Value?) throws(Problem) -> Value? {
            guard let text = query[name] else { return nil }
            guard let value = read(text) else { throw Self.wrong(name) }
            return value
        }
        limit = try value("limit") { Self.number($0).flatMap { (1...100).contains($0) ? Int($0) : nil } } ?? 25
        state = try value("state", { Charge.State(rawValue: $0) })
        rail = try value("rail", { Rail(rawValue: $0) })
        currency = try value("currency", { Currency(code: $0) })
        from = try value("from", { ShopDay($0) })
        to = try value("to", { ShopDay($0) })
        if let from, let to, to < from { throw Self.wrong("to") }
        openedBy = try value("by") { (1...200).contains($0.utf8.count) ? $0 : nil }
        search = try value("q") { text in
            let isPlain = !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            return (1...100).contains(text.count) && text.utf8.count <= 400 && isPlain ? text : nil
        }
        let least = try value("min", Self.number)
        let most = try value("max", Self.number)
        if let least, let most, most < least { throw Self.wrong("max") }
        if least != nil || most != nil { total = (least ?? 0)...(most ?? .max) }
        if let id = try value("before", { ChargeID($0) }) { place = .before(id) }
        if let id = try value("after", { ChargeID($0) }) {
            guard place == .newest else { throw Self.wrong("after") }
            place = .after(id)
        }
    }

    /// Digits of ASCII and nothing else.
    private static func number(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }

    static func wrong(_ name: String) -> Problem {
        .field(
            name,
            Payments.Reason(
                code: "invalid_query",
                message: "The list cannot be asked for like this.",
                action: "Check “\(name)”."
            )
        )
    }
}

extension Route {
    static func totals(_ query: [String: String]) throws(Problem) -> Route {
        if let name = query.keys.sorted().first(where: { !["by", "from", "to"].contains($0) }) {
            throw HistoryQuery.wrong(name)
        }
        guard let span = TakingsSpan(rawValue: query["by"] ?? "day") else { throw HistoryQuery.wrong("by") }
        var days: [ShopDay?] = []
        for name in ["from", "to"] {
            let day = query[name].map { ShopDay($0) }
            if case .some(.none) = day { throw HistoryQuery.wrong(name) }
            days.append(day ?? nil)
        }
        return .totals(by: span, from: days[0], to: days[1])
    }
}
