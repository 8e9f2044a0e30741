import FoundationEssentials
import Journal
import Logging
public import Payments
import TapProtocol

/// Measuring how near phones must be, and keeping what came of it with the name of who did it.
extension TapDesk {
    private static let calibrationDocument = "tap-calibration"

    /// Measures a phone in one place, for the mode that is named. ``TapCalibrator/state()`` says how it goes.
    /// - Throws: ``CalibrationRefusal``.
    public func calibrate(_ place: CalibrationPlace, mode: TapMode) async throws(CalibrationRefusal) {
        var services = [(current?.settings ?? TapSettings()).characteristics.service]
        // A phone that has read the tag says the tag's name instead.
        if let tagged = await station.setup?.tag?.advertisedService { services.append(tagged) }
        try await calibrator.begin(place, mode: mode, services: services)
    }

    /// Puts what was measured into force, and keeps who measured it.
    /// - Throws: ``CalibrationRefusal``. Nothing has changed.
    public func keepCalibration(
        by actor: Actor
    ) async throws(CalibrationRefusal) -> (mode: TapMode, kept: KeptCalibration) {
        let measurement = try await calibrator.result()
        guard let threshold = measurement.threshold, let inside = measurement.inside else { throw .nothingMeasured }
        // Saving takes all of the settings as looked at, and nobody has looked at these.
        guard current?.settings.notUnderstood.isEmpty != false else { throw .settingsNotUnderstood }
        let kept = KeptCalibration(
            threshold: threshold,
            inside: inside,
            outside: measurement.outside,
            by: Self.name(of: actor),
            atMilliseconds: clock.wallTime().millisecondsSince1970
        )
        var form = TapForm()
        switch measurement.mode {
        case .tap: form.tapThreshold = Int64(threshold)
        case .near: form.nearThreshold = Int64(threshold)
        case .open: form.openThreshold = Int64(threshold)
        case .tagged: form.taggedThreshold = Int64(threshold)
        }
        do throws(SettingsError) {
            _ = try await save(form, replacing: current?.version ?? 0, by: actor)
        } catch { throw .settings(error) }
        var all = await calibrations
        all[measurement.mode.rawValue] = kept
        do {
            _ = try await journal.setDocument(
                Self.calibrationDocument,
                Array(try JSONEncoder().encode(all)),
                expecting: .any,
                by: actor,
                at: clock.wallTime()
            )
        } catch {
            logger.error("who measured a limit of Tap is not kept", metadata: ["error": "\(error)"])
        }
        await calibrator.stop()
        return (measurement.mode, kept)
    }

    private static func name(of actor: Actor) -> String {
        switch actor {
        case .staff(let name): name
        case .till(let token): token
        case .customer: "customer"
        case .terminal: "terminal"
        case .keypad: "keypad"
        case .stranger: "stranger"
        }
    }

    /// What was measured and kept, by mode; none where nothing was, or it cannot be read.
    public var calibrations: [String: KeptCalibration] {
        get async {
            do throws(JournalError) {
                guard let stored = try await journal.document(Self.calibrationDocument) else { return [:] }
                // Only a record for people: what is in force are the settings.
                return (try? JSONDecoder().decode([String: KeptCalibration].self, from: Data(stored.bytes))) ?? [:]
            } catch {
                logger.error("earlier measurements cannot be read", metadata: ["error": "\(error)"])
                return [:]
            }
        }
    }
}
