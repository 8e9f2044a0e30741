import Payments
import Terminal
import WebServer

/// Measuring, from the page, how near a phone must be held.
extension Console {
    func calibration(_ route: Route, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let taps else { throw .notFound }
        switch route {
        case .calibrate:
            let (place, mode) = try Self.calibrationForm(pass)
            do throws(CalibrationRefusal) { try await taps.calibrate(place, mode: mode) } catch {
                throw Problem(409, error.reason)
            }
            await auditCalibration("started", "\(mode.rawValue), \(place.rawValue)", pass)
        case .keepCalibration:
            try requireEmptyForm(pass)
            do throws(CalibrationRefusal) {
                let (mode, kept) = try await taps.keepCalibration(by: pass.who)
                await auditCalibration("ok", "\(mode.rawValue): \(kept.threshold) dBm", pass)
            } catch {
                await auditCalibration("refused", "", pass)
                if case .settings(let error) = error { throw Self.problem(error) }
                throw Problem(409, error.reason)
            }
            return try await tapsResponse()
        case .stopCalibration:
            try requireEmptyForm(pass)
            await taps.calibrator.stop()
        default: break  // Only looked at.
        }
        return .json(Self.state(await taps.calibrator.state()).text)
    }

    private func auditCalibration(_ result: String, _ detail: String, _ pass: Gate.Pass) async {
        await entrance.audit("taps.calibration", result, detail, by: pass.who, from: pass.request.peerAddress)
    }

    private static func calibrationForm(
        _ pass: Gate.Pass
    ) throws(Problem) -> (CalibrationPlace, TapMode) {
        var fields = try Form(pass.request.body)
        let place = fields.text("place", limit: 20)
        let mode = fields.text("mode", limit: 20)
        try fields.finish()
        guard let known = CalibrationPlace(rawValue: place) else { throw .field("place", unknownChoice) }
        guard let tapMode = TapMode(rawValue: mode) else { throw .field("mode", unknownChoice) }
        return (known, tapMode)
    }

    private static let unknownChoice = Reason(
        code: "choice_unknown",
        message: "The terminal does not know this choice. Nothing is measured.",
        action: "Choose one of the list."
    )

    private static func state(_ state: CalibrationState) -> JSON {
        JSON.object([
            "mode": .optional(state.mode?.rawValue), "measuring": .optional(state.measuring?.rawValue),
            "signal": .optional(state.signal), "samples": .integer(Int64(state.samples)),
            "samplesNeeded": .integer(Int64(state.samplesNeeded)), "phones": .integer(Int64(state.phones)),
            "inside": reading(state.inside), "outside": reading(state.outside),
            "threshold": .optional(state.threshold), "problem": .reason(state.problem),
            "remark": .reason(state.remark),
        ])
    }

    private static func reading(_ reading: SignalReading?) -> JSON {
        guard let reading else { return .null }
        return JSON.object([
            "median": .integer(Int64(reading.median)), "weakest": .integer(Int64(reading.weakest)),
            "strongest": .integer(Int64(reading.strongest)),
        ])
    }

    static func kept(_ kept: KeptCalibration) -> JSON {
        JSON.object([
            "threshold": .integer(Int64(kept.threshold)), "by": .string(kept.by),
            "at": .time(WallTime(millisecondsSince1970: kept.atMilliseconds)),
            "inside": reading(kept.inside), "outside": reading(kept.outside),
        ])
    }
}
