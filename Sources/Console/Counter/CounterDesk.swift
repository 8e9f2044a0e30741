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
        do { tips = try JSONDecoder().decode(CounterTips.self, from: Data(stored.bytes)) } catch {
            tips = CounterTips()
            logger.error("staff add no tips: the settings cannot be read", metadata: ["error": "\(error)"])
        }
        await desk.use(tips: tips)
    }

    /// Checks and stores a form, and puts it into force at once.
    /// - Throws: ``Problem``: what was in force before still is.
    func save(_ form: CounterForm, replacing version: Int, by actor: Payments.Actor) async throws(Problem) {
        guard version == self.version else { throw Console.problem(.conflict) }
        let new = try form.checked(over: tips)
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
        tips = new
        await desk.use(tips: new)
    }
}

/// Settings as a form sends them, not yet trusted. Nil keeps what is stored.
struct CounterForm: Sendable {
    var tipMode: String?
    var tipMaximumPercent: Int64?
    /// Percent with commas between.
    var tipPresets: String?

    func checked(over stored: CounterTips) throws(Problem) -> CounterTips {
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

    private static func wrong(_ message: String, _ action: String) -> Reason {
        Reason(code: "invalid_choice", message: message, action: action)
    }
}
