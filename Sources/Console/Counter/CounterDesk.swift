import Foundation
import Journal
import Logging
import Payments
import Terminal

/// What the owner set about charging at the counter.
actor CounterDesk {
    private let journal: any Keeping
    private let desk: ChargeDesk
    private let clock: TerminalClock
    private let logger: Logger

    private(set) var tips = CounterTips()
    private(set) var keypad = CounterKeypad()
    private(set) var rest = ScreenRest()
    private(set) var sound = SoundSettings()
    /// 0 before anything was saved.
    private(set) var version = 0

    private static let document = "counter"

    init(journal: any Keeping, desk: ChargeDesk, clock: TerminalClock, logger: Logger) {
        (self.journal, self.desk, self.clock, self.logger) = (journal, desk, clock, logger)
    }

    /// Reads what was set earlier and puts it into force. What cannot be read leaves tips off.
    func load() async throws(JournalError) {
        guard let stored = try await journal.document(Self.document) else { return }
        version = stored.version
        do {
            let kept = try JSONDecoder().decode(Kept.self, from: Data(stored.bytes))
            (tips, keypad, rest, sound) = (kept.tips, kept.keypad, kept.rest, kept.sound)
        } catch {
            tips = CounterTips()
            // Who switched it off would not want it back because a file is damaged.
            keypad.mode = .off
            logger.error(
                "staff add no tips, and the keypad is off: the settings cannot be read",
                metadata: ["error": "\(error)"]
            )
        }
        await desk.use(tips: tips)
        await desk.use(keypad: keypad)
        await desk.use(rest: rest)
        await desk.use(sound: sound)
    }

    /// Checks and stores a form, and puts it into force at once.
    /// - Throws: ``Problem``: what was in force before still is.
    func save(_ form: CounterForm, replacing version: Int, by actor: Payments.Actor) async throws(Problem) {
        guard version == self.version else { throw Console.problem(.conflict) }
        let new = Kept(
            tips: try form.checked(over: tips, rest),
            keypad: form.keypad(over: keypad),
            rest: form.rest(over: rest),
            sound: form.sound(over: sound)
        )
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(new)) } catch {
            throw Problem(503, JournalError.unavailable(detail: "\(error)").reason)
        }
        let change: DocumentChange
        do throws(JournalError) {
            change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: .version(version == 0 ? nil : version),
                by: actor,
                at: clock.wallTime()
            )
        } catch { throw Problem(503, error.reason) }
        guard case .stored(let stored) = change else { throw Console.problem(.conflict) }
        self.version = stored
        (tips, keypad, rest, sound) = (new.tips, new.keypad, new.rest, new.sound)
        await desk.use(tips: tips)
        await desk.use(keypad: keypad)
        await desk.use(rest: rest)
        await desk.use(sound: sound)
    }

    /// As it is stored: the tips as ever, and beside them what came later.
    private struct Kept: Codable {
        var tips: CounterTips
        var keypad: CounterKeypad
        var rest: ScreenRest
        var sound: SoundSettings

        init(tips: CounterTips, keypad: CounterKeypad, rest: ScreenRest, sound: SoundSettings) {
            (self.tips, self.keypad, self.rest, self.sound) = (tips, keypad, rest, sound)
        }

        init(from decoder: any Decoder) throws {
            tips = try CounterTips(from: decoder)
            let container = try decoder.container(keyedBy: CodingKeys.self)
            keypad = try container.decodeIfPresent(CounterKeypad.self, forKey: .keypad) ?? CounterKeypad()
            rest = try container.decodeIfPresent(ScreenRest.self, forKey: .rest) ?? ScreenRest()
            sound = try container.decodeIfPresent(SoundSettings.self, forKey: .sound) ?? SoundSettings()
        }

        func encode(to encoder: any Encoder) throws {
            try tips.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(keypad, forKey: .keypad)
            try container.encode(rest, forKey: .rest)
            try container.encode(sound, forKey: .sound)
        }

        private enum CodingKeys: String, CodingKey { case keypad, rest, sound }
    }
}

/// Settings as a form sends them, not yet trusted. Nil keeps what is stored.
struct CounterForm: Sendable {
    var tipMode: String?
    var tipMaximumPercent: Int64?
    /// Percent with commas between.
    var tipPresets: String?
    var keypadMode: String?
    var keypadErase: Bool?
    var screenRest: String?
    /// `HH:MM`.
    var screenRestFrom: String?
    var screenRestUntil: String?
    var sound: Bool?
    /// 0 to 100.
    var soundLoudness: Int64?

    func checked(over stored: CounterTips, _ rest: ScreenRest) throws(Problem) -> CounterTips {
        var tips = stored
        var errors: [String: Reason] = [:]
        if let tipMode {
            if let known = CounterTips.Mode(rawValue: tipMode) {
                tips.mode = known
            } else {
                errors["tipMode"] = Self.wrong("There is no such choice.", "Use none, allowed or ask.")
            }
        }
        if let tipMaximumPercent {
            if (1...100).contains(tipMaximumPercent) {
                tips.maximumPercent = Int(tipMaximumPercent)
            } else {
                errors["tipMaximumPercent"] = Self.wrong("This is out of range.", "Enter 1 to 100 percent.")
            }
        }
        if let tipPresets {
            let parts = tipPresets.split(separator: ",").map { $0.filter { $0 != " " } }
            let numbers = parts.compactMap { Int($0) }
            if numbers.count == parts.count, numbers.count <= CounterTips.mostPresets,
                numbers.allSatisfy({ (1...100).contains($0) })
            {
                tips.presetsPercent = numbers
            } else {
                errors["tipPresets"] = Self.wrong(
                    "These are no percentages, or too many.",
                    "Enter up to \(CounterTips.mostPresets) whole numbers from 1 to 100 with commas between: 5, 10, 15."
                )
            }
        }
        if let keypadMode, CounterKeypad.Mode(rawValue: keypadMode) == nil {
            errors["keypadMode"] = Self.wrong("There is no such choice.", "Use off, on or confirm.")
        }
        errors.merge(restErrors(over: rest)) { first, _ in first }
        if let soundLoudness, !(0...100).contains(soundLoudness) {
            errors["soundLoudness"] = Reason(
                code: "loudness_out_of_range",
                message: "This is no loudness.",
                action: "Enter 0 to 100 percent."
            )
        }
        if errors.isEmpty, tips.presetsPercent.contains(where: { $0 > tips.maximumPercent }) {
            errors["tipPresets"] = Self.wrong(
                "A button offers more than the largest tip.",
                "Raise the largest tip, or offer less."
            )
        }
        guard errors.isEmpty else {
            var problem = Problem(
                422,
                "invalid_settings",
                "Some of the settings cannot be used. Nothing was changed.",
                "Correct the fields that are marked."
            )
            problem.fields = errors
            throw problem
        }
        return tips
    }

    /// Of a form that was checked.
    func keypad(over stored: CounterKeypad) -> CounterKeypad {
        var keypad = stored
        if let mode = keypadMode.flatMap(CounterKeypad.Mode.init) { keypad.mode = mode }
        if let keypadErase { keypad.mayErase = keypadErase }
        return keypad
    }

    private func restErrors(over stored: ScreenRest) -> [String: Reason] {
        var errors: [String: Reason] = [:]
        if let screenRest, ScreenRest.Mode(rawValue: screenRest) == nil {
            errors["screenRest"] = Self.wrong("There is no such choice.", "Use never, dim or dark.")
        }
        for (name, text) in [("screenRestFrom", screenRestFrom), ("screenRestUntil", screenRestUntil)] {
            if let text, ScreenRest.minute(text) == nil {
                errors[name] = Reason(
                    code: "no_time_of_day",
                    message: "This is no time of day.",
                    action: "Enter hours and minutes, such as 22:00."
                )
            }
        }
        let new = rest(over: stored)
        if errors.isEmpty, new.mode != .never, new.from == new.until {
            errors["screenRestUntil"] = Reason(
                code: "no_hours",
                message: "The screen would rest from and until the same time.",
                action: "Enter another time, or choose that it is always bright."
            )
        }
        return errors
    }

    /// Of a form that was checked.
    func rest(over stored: ScreenRest) -> ScreenRest {
        var rest = stored
        if let mode = screenRest.flatMap(ScreenRest.Mode.init) { rest.mode = mode }
        if let from = screenRestFrom.flatMap(ScreenRest.minute) { rest.from = from }
        if let until = screenRestUntil.flatMap(ScreenRest.minute) { rest.until = until }
        return rest
    }

    /// Of a form that was checked.
    func sound(over stored: SoundSettings) -> SoundSettings {
        var new = stored
        if let sound { new.isOn = sound }
        if let soundLoudness { new.loudness = Int(soundLoudness) }
        return new
    }

    private static func wrong(_ message: String, _ action: String) -> Reason {
        Reason(code: "invalid_choice", message: message, action: action)
    }
}
