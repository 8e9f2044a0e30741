import Foundation
import Payments
import Terminal
import WebServer

/// How the terminal is.
extension Console {
    /// For whoever watches from outside, without a sign-in: that it serves and can record, or that it cannot.
    ///
    /// Neither the gateway's silence nor a missing radio makes it unhealthy: a restart would mend nothing, and charges that
    /// are open are followed all the same. A screen that shows nothing is said, and is no fault of the program's either.
    func healthz() async -> WebResponse {
        guard let fault = await health.journalFault() else {
            return .json(await desk.isScreenDark ? #"{"screen":"dark","status":"ok"}"# : #"{"status":"ok"}"#)
        }
        return .json(
            JSON.object(["status": .string("failing"), "code": .string(fault.code)]).text,
            status: 503,
            headers: ["Retry-After": "10"]
        )
    }

    func healthResponse() async -> WebResponse { .json(await health.facts().json.text) }

    /// Newest first. `level` is the least that is shown.
    func logResponse(_ query: LogQuery) async -> WebResponse {
        let zone = await settings.current?.settings.zone ?? .current
        let lines = log.lines(query)
        return .json(
            JSON.object([
                "timeZone": .string(zone.identifier), "kept": .integer(Int64(LogRing.mostLines)),
                "lines": .array(lines.map(\.json)),
            ]).text
        )
    }
}
