import Payments
import Terminal
import WebServer

/// Days compared with the gateway.
extension Console {
    /// How many days back the list goes.
    private static let daysShown = 14

    /// The last days, each with what its comparison came to.
    func dayList() async throws(Problem) -> WebResponse {
        let (today, zone) = await days.today()
        var list: [JSON] = []
        var day = today
        for _ in 0..<Self.daysShown {
            list.append(try await summary(day))
            day = day.previous
        }
        return .json(
            JSON.object([
                "today": .string(today.text), "timeZone": .string(zone), "days": .array(list),
            ]).text
        )
    }

    private func summary(_ day: ShopDay) async throws(Problem) -> JSON {
        let (isComparing, report) = try await standing(of: day)
        return .object([
            "day": .string(day.text), "comparing": .bool(isComparing),
            "comparedAt": report.map { .time($0.comparedAt) } ?? .null,
            "allAgree": report.map { .bool($0.allAgree) } ?? .null,
            "complete": report.map { .bool($0.isComplete) } ?? .null,
        ])
    }

    /// One day: its report, or that there is none.
    func dayResponse(_ day: ShopDay) async throws(Problem) -> WebResponse {
        let (isComparing, report) = try await standing(of: day)
        let format = await desk.format
        return .json(
            JSON.object([
                "day": .string(day.text), "comparing": .bool(isComparing),
                "report": report.map { JSON.report($0, format) } ?? .null,
            ]).text
        )
    }

    /// Has a day compared. The answer comes at once; the report when it is done.
    func compare(_ day: ShopDay, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        do throws(DayRefusal) { try await days.request(day) } catch {
            throw error == .tooManyWait ? Problem(503, error.reason) : .field("day", error.reason)
        }
        await entrance.audit("day.compare", "ok", day.text, by: pass.who, from: pass.request.peerAddress)
        var response = try await dayResponse(day)
        response.status = 202
        return response
    }

    private func standing(of day: ShopDay) async throws(Problem) -> (isComparing: Bool, report: DayReport?) {
        do throws(JournalError) { return try await days.standing(of: day) } catch { throw Problem(503, error.reason) }
    }
}

extension JSON {
    static func report(_ report: DayReport, _ format: AmountFormat) -> JSON {
        .object([
            "from": .time(report.from), "until": .time(report.until), "comparedAt": .time(report.comparedAt),
            "allAgree": .bool(report.allAgree), "complete": .bool(report.isComplete),
            "gaps": .array(report.gaps.map { .reason($0.reason) }),
            "charges": .integer(Int64(report.charges)), "summary": .reason(report.summary),
            "differences": .array(report.differences.map { difference($0, format) }),
            "more": .integer(Int64(report.more)),
            "notOurs": .array(report.notOurs.map { difference($0, format) }),
            "moreNotOurs": .integer(Int64(report.moreNotOurs)),
            "booked": .array(report.booked.map { .string($0.rawValue) }),
        ])
    }

    private static func difference(_ difference: DayDifference, _ format: AmountFormat) -> JSON {
        let reason = difference.reason(format: format)
        var parts = parts(of: reason)
        parts["chargeID"] = .optional(difference.charge?.rawValue)
        parts["chargeCode"] = .optional(difference.code?.rawValue)
        parts["paymentID"] = .optional(difference.paymentID)
        parts["reference"] = .optional(difference.listedReference)
        return .object(parts)
    }
}
