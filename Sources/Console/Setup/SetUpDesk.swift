import Foundation
import Journal
import Logging
import Payments
import Terminal

/// What the owner says in one step of the set-up.
struct SetUpForm: Sendable {
    /// Where to go next; nil stays.
    var step: SetUpStep?
    var state: SetUp.State?
    var testCharge: ChargeID?
    /// Answers by their names. Those that are not there stay as they are.
    var answers: [String: String] = [:]
}

/// Keeps how far the set-up has come, and lets nobody past what charges need.
actor SetUpDesk {
    private let journal: any Keeping
    private let desk: ChargeDesk
    private let settings: SettingsDesk
    private let clock: TerminalClock
    private let logger: Logger

    /// Nil where none was begun: a terminal that was set up before there was one, or not by this page.
    private(set) var current: SetUp?
    /// 0 before anything was saved.
    private(set) var version = 0

    private static let document = "set-up"

    init(
        journal: any Keeping,
        desk: ChargeDesk,
        settings: SettingsDesk,
        clock: TerminalClock,
        logger: Logger
    ) {
        (self.journal, self.desk, self.settings) = (journal, desk, settings)
        (self.clock, self.logger) = (clock, logger)
    }

    /// Reads how far it had come. What cannot be read begins anew: nothing of it is in force.
    func load() async throws(JournalError) {
        if let stored = try await journal.document(Self.document) {
            version = stored.version
            do { current = try JSONDecoder().decode(SetUp.self, from: Data(stored.bytes)) } catch {
                logger.error("how far the set-up had come cannot be read", metadata: ["error": "\(error)"])
            }
        }
        await show()
    }

    /// Takes a step's answers.
    /// - Parameter version: Of the set-up that the page showed; 0: there was none.
    /// - Throws: ``Problem``: it is where it was.
    func save(_ form: SetUpForm, replacing version: Int, by actor: Payments.Actor) async throws(Problem) {
        guard version == self.version else { throw Self.conflict }
        var new = current ?? SetUp()
        try await check(form.answers)
        new.draft.merge(form.answers) { $1 }
        if let step = form.step {
            try await checkReady(for: step, new)
            new.step = step
            if step.number > new.furthest.number { new.furthest = step }
        }
        if let state = form.state {
            if state != .open { try await checkReady(for: .done, new) }
            new.state = state
        }
        if let charge = form.testCharge { new.testCharge = charge.rawValue }
        try await store(new, by: actor)
        await show()
    }

    /// Each answer as the settings would take it.
    private func check(_ answers: [String: String]) async throws(Problem) {
        func answer(_ name: String) -> String { answers[name] ?? "" }
        let form = SettingsForm(
            operatorID: answer("operatorID"),
            merchantID: answer("merchantID"),
            merchantName: answer("merchantName"),
            gatewayURL: answer("gatewayURL"),
            currency: answer("currency"),
            locale: answers["locale"],
            timeZone: answers["timeZone"]
        )
        var faults = await settings.validate(form).filter { answers[$0.key] != nil }
        if let country = answers["country"], !country.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) {
            faults["country"] = Reason(
                code: "country_unknown",
                message: "This is no country.",
                action: "Choose one of the list."
            )
        }
        guard !faults.isEmpty else { return }
        var problem = Problem(
            422,
            "invalid_settings",
            "Some of this cannot be used. Nothing was changed.",
            "Correct the fields that are marked."
        )
        problem.fields = faults
        throw problem
    }

    /// Nobody gets past what charges need: the settings with the gateway's key, or until then the answers before a step.
    private func checkReady(for step: SetUpStep, _ new: SetUp) async throws(Problem) {
        if await settings.current?.gatewayKeySet == true { return }
        guard step.number < SetUpStep.firstOptional.number else {
            throw Problem(
                409,
                "gateway_needed",
                "The gateway is not set up yet. Without it no charge can be paid.",
                "Enter the gateway's address and key first."
            )
        }
        let missing = SetUp.needed(before: step).filter { new.draft[$0, default: ""].isEmpty }
        guard let first = missing.first else { return }
        var problem = Problem.field(
            first,
            Reason(code: "required", message: "This is still missing.", action: "Enter it before you go on.")
        )
        for name in missing { problem.fields[name] = problem.reason }
        throw problem
    }

    private func store(_ new: SetUp, by actor: Payments.Actor) async throws(Problem) {
        let change: DocumentChange
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(new)) } catch {
                throw JournalError.unavailable(detail: "the set-up cannot be written: \(error)")
            }
            change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: .version(version == 0 ? nil : version),
                by: actor,
                at: clock.wallTime()
            )
        } catch { throw Problem(503, error.reason) }
        guard case .stored(let version) = change else { throw Self.conflict }
        (current, self.version) = (new, version)
    }

    /// Tells the screen. For after the settings have changed, too.
    func show() async {
        let isNew = await settings.current == nil
        guard current.map({ $0.state == .open }) ?? isNew else { return await desk.setProgress(nil) }
        let step = (current ?? SetUp()).step
        // The last one only says that it is done.
        let count = SetUpStep.allCases.count - 1
        await desk.setProgress(step == .done ? nil : SetUpProgress(step: step.number + 1, count: count))
    }

    private static let conflict = Problem(
        409,
        "set_up_changed",
        "The set-up went on in another window or on another device. What you sent was not saved.",
        "Go on from where it is now."
    )
}
