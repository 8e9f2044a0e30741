import Journal
import Payments
import Terminal
import WebServer

/// What a shift's report is written as.
enum ShiftFormat: String, Sendable { case csv, txt }

extension Route {
    /// `shifts`, `shifts/current`, `shifts/7`, `shifts/7/close`, `shifts/7/report.csv`.
    static func shifts(_ method: String, _ rest: [String], _ query: [String: String]) throws(Problem) -> Route {
        if rest.isEmpty, method != "GET" { return try only(method, ["GET": .currentShift, "POST": .openShift]) }
        if rest.isEmpty {
            if let name = query.keys.sorted().first(where: { !["from", "to", "by"].contains($0) }) {
                throw HistoryQuery.wrong(name)
            }
            var days: [ShopDay?] = []
            for name in ["from", "to"] {
                let day = query[name].map { ShopDay($0) }
                if case .some(.none) = day { throw HistoryQuery.wrong(name) }
                days.append(day ?? nil)
            }
            if let by = query["by"], !(1...200).contains(by.utf8.count) { throw HistoryQuery.wrong("by") }
            return .shifts(from: days[0], to: days[1], by: query["by"])
        }
        if rest == ["current"] { return try only(method, ["GET": .currentShift]) }
        guard rest[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(rest[0]), number > 0 else {
            throw .notFound
        }
        switch rest.dropFirst() {
        case []: return try only(method, ["GET": .shift(number)])
        case ["close"]: return try only(method, ["POST": .closeShift(number)])
        case ["report.csv"]: return try only(method, ["GET": .shiftReport(number, .csv)])
        case ["report.txt"]: return try only(method, ["GET": .shiftReport(number, .txt)])
        default: throw .notFound
        }
    }
}

/// Shifts: whose time at the counter came to what.
extension Console {
    func shiftAnswer(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .shifts(let from, let to, let by): return try await shiftList(from, to, by, pass)
        case .openShift:
            try requireEmptyForm(pass)
            let sums = try await kept { () throws(JournalError) in try await days.history.openShift(of: pass.who) }
            await audit("shift.open", sums, pass)
            return await shiftResponse(sums)
        case .currentShift:
            let sums = try await kept { () throws(JournalError) in try await days.history.currentShift(of: pass.who) }
            guard let sums else { return .json(JSON.object(["shift": .null]).text) }
            return await shiftResponse(sums)
        case .shift(let number): return await shiftResponse(try await shift(number, pass))
        case .shiftReport(let number, let format):
            return await reportResponse(try await shift(number, pass), format)
        case .closeShift(let number):
            try requireEmptyForm(pass)
            let sums = try await shift(number, pass)
            let closed = try await kept { () throws(JournalError) in
                try await days.history.closeShift(number, by: pass.who)
            }
            if sums.shift.closing == nil { await audit("shift.close", sums, pass) }
            return await shiftResponse(closed ?? sums)
        default: throw .notFound
        }
    }

    private func kept<Value>(_ work: () async throws(JournalError) -> Value) async throws(Problem) -> Value {
        do throws(JournalError) { return try await work() } catch { throw Problem(503, error.reason) }
    }

    private func audit(_ what: String, _ sums: ShiftSums, _ pass: Gate.Pass) async {
        let detail = "\(sums.shift.id) \(sums.shift.person)"
        await entrance.audit(what, "ok", detail, by: pass.who, from: pass.request.peerAddress)
    }

    private func shift(_ number: Int64, _ pass: Gate.Pass) async throws(Problem) -> ShiftSums {
        let sums = try await kept { () throws(JournalError) in try await days.history.shift(number) }
        guard let sums, pass.maySee(sums.shift) else { throw Self.noShift }
        return sums
    }

    private func reportResponse(_ sums: ShiftSums, _ format: ShiftFormat) async -> WebResponse {
        let report = ShiftReportText(sums, await desk.format)
        let type = format == .csv ? "text/csv; charset=utf-8; header=present" : "text/plain; charset=utf-8"
        let text = format == .csv ? report.csv : report.plain
        return WebResponse(
            headers: [
                "Content-Type": type,
                "Content-Disposition": "attachment; filename=\"till-shift-\(sums.shift.id).\(format.rawValue)\"",
            ],
            body: .bytes(Array(text.utf8))
        )
    }

    private func shiftList(
        _ from: ShopDay?,
        _ to: ShopDay?,
        _ by: String?,
        _ pass: Gate.Pass
    ) async throws(Problem) -> WebResponse {
        let person = pass.session?.role == .cashier ? pass.who.name : by
        do throws(TakingsRefusal) {
            let shifts = try await days.history.shifts(from: from, to: to, person: person)
            let format = await desk.format
            return .json(JSON.object(["shifts": .array(shifts.map { .shift($0, format) })]).text)
        } catch {
            if case .journal(let error) = error { throw Problem(503, error.reason) }
            throw .field(
                "to",
                Reason(
                    code: "invalid_query",
                    message: "The last day lies before the first one.",
                    action: "Choose a later last day."
                )
            )
        }
    }

    private func shiftResponse(_ sums: ShiftSums) async -> WebResponse {
        .json(JSON.object(["shift": .shift(sums, await desk.format)]).text)
    }

    private static let noShift = Problem(
        404,
        "shift_not_found",
        "There is no such shift, or it is somebody else’s.",
        "Look at the list of shifts."
    )
}

extension Gate.Pass {
    /// A cashier sees their own.
    fileprivate func maySee(_ shift: Shift) -> Bool { session?.role != .cashier || shift.person == who.name }
}

extension JSON {
    static func shift(_ sums: ShiftSums, _ format: AmountFormat) -> JSON {
        let closing = sums.shift.closing
        return .object([
            "number": .integer(sums.shift.id), "person": .string(sums.shift.person),
            "openedAt": .time(sums.shift.openedAt), "closedAt": closing.map { .time($0.at) } ?? .null,
            "closedBy": .optional(closing?.by), "totals": takings(sums.takings, format),
            "open": .integer(Int64(sums.openCount)),
            "openCharges": .array(sums.open.map { .summary($0, format, for: .staff) }),
            "report": closing.map {
                .object(["totals": takings($0.report, format), "open": .integer(Int64($0.openCharges))])
            } ?? .null,
        ])
    }

    private static func takings(_ takings: [Takings], _ format: AmountFormat) -> JSON {
        let byCurrency = Dictionary(grouping: takings, by: \.currency).sorted { $0.key.code < $1.key.code }
        return .array(byCurrency.map { totals($0.key, $0.value, format) })
    }
}

/// A shift's report as a file, or to print.
struct ShiftReportText {
    private let sums: ShiftSums
    private let format: AmountFormat

    init(_ sums: ShiftSums, _ format: AmountFormat) { (self.sums, self.format) = (sums, format) }

    private static let names = [
        "shift", "person", "opened_at", "closed_at", "closed_by", "as_of", "currency", "state", "rail", "charges",
        "total",
        "tip", "surplus", "refunds", "refunded",
    ]

    /// One line for each currency, state and rail: as it was at the closing, and as it is now.
    var csv: String {
        let closing = sums.shift.closing
        var text = CSV.mark + CSV.line(Self.names)
        for (name, takings) in [("closing", closing?.report ?? []), ("now", sums.takings)] {
            for one in takings {
                func plain(_ minorUnits: Int64) -> String {
                    Money(minorUnits: minorUnits, currency: one.currency).plain
                }
                text += CSV.line([
                    String(sums.shift.id), sums.shift.person, sums.shift.openedAt.exported, closing?.at.exported ?? "",
                    closing?.by ?? "", name, one.currency.code, one.state.rawValue, one.rail?.rawValue ?? "",
                    String(one.charges), plain(one.totalMinorUnits), plain(one.tipMinorUnits),
                    plain(one.surplusMinorUnits), String(one.refunds), plain(one.refundedMinorUnits),
                ])
            }
        }
        return text
    }

    /// For paper, lines of up to 42 characters.
    var plain: String {
        let closing = sums.shift.closing
        var lines = ["SHIFT \(sums.shift.id)", sums.shift.person, "opened \(sums.shift.openedAt.exported)"]
        lines.append(closing.map { "closed \($0.at.exported)" } ?? "still open")
        let takings = closing?.report ?? sums.takings
        for (currency, some) in Dictionary(grouping: takings, by: \.currency).sorted(by: { $0.key.code < $1.key.code })
        {
            func text(_ minorUnits: Int64) -> String {
                format.text(Money(minorUnits: minorUnits, currency: currency))
            }
            let paid = some.filter { $0.state == .succeeded }
            lines += ["", currency.code]
            lines.append(Self.pair("Payments", String(Self.sum(paid, \.charges))))
            lines.append(Self.pair("Paid", text(Self.sum(paid, \.totalMinorUnits))))
            lines.append(Self.pair("Of it tips", text(Self.sum(paid, \.tipMinorUnits))))
            let surplus = Self.sum(paid, \.surplusMinorUnits)
            if surplus > 0 { lines.append(Self.pair("Paid more than once", text(surplus))) }
            lines.append(Self.pair("Refunds", text(Self.sum(some, \.refundedMinorUnits))))
            for rail in Rail.allCases {
                let ofRail = paid.filter { $0.rail == rail }
                guard !ofRail.isEmpty else { continue }
                lines.append(Self.pair("  by \(rail.rawValue)", text(Self.sum(ofRail, \.totalMinorUnits))))
            }
            for state in Charge.State.allCases where state != .succeeded {
                let count = Self.sum(some.filter { $0.state == state }, \.charges)
                if count > 0 { lines.append(Self.pair("  \(state.rawValue)", String(count))) }
            }
        }
        let open = closing?.openCharges ?? sums.openCount
        if open > 0 { lines += ["", "\(open) NOT KNOWN YET: not in the sum of what was paid"] }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func pair(_ name: String, _ value: String) -> String {
        name + String(repeating: " ", count: max(1, 42 - name.count - value.count)) + value
    }

    private static func sum(_ takings: [Takings], _ part: (Takings) -> Int64) -> Int64 {
        takings.reduce(0) { sum, one in
            let (next, overflow) = sum.addingReportingOverflow(part(one))
            return overflow ? .max : next
        }
    }
}
