import Console
import Foundation
import Journal
import Logging
import Payments
import Screen
import Supervision
import Terminal

/// While what the terminal writes down cannot be kept: says so on the screen and on its page, and tries again.
///
/// A program that ended instead would be started again every few seconds, and the screen would say nothing.
struct StorageTrouble {
    let configuration: Configuration
    let display: Display
    let logger: Logger
    let announcer: Announcer?
    /// Between two tries. Each says it in another language: which one is the shop's stands in what cannot be read.
    var pause = Duration.seconds(5)

    /// Opens what is kept, as soon as that can be done.
    /// - Throws: `inUse`: another program has it open, and says what there is to say.
    func untilOpened<Opened>(_ open: () async throws(JournalError) -> Opened) async throws -> Opened {
        var error: JournalError
        switch await Self.outcome(of: open) {
        case .success(let opened): return opened
        case .failure(let first): error = first
        }
        if case .inUse = error { throw error }
        let page = page(error.reason)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            if let page { group.addTask { try await page.run() } }
            var said: Reason?
            for turn in 0... {
                if error.reason != said {
                    said = error.reason
                    logger.critical(
                        "nothing can be written down, so no payment is taken; the terminal tries again by itself",
                        metadata: ["what": "\(error.reason.message)", "error": "\(error)"]
                    )
                    page?.say(error.reason)
                    announcer?.trouble(error.reason.code, pageAt: page.map { "https://localhost:\($0.port)" })
                }
                tellManager(error.reason)
                await show(error.reason, in: ScreenText.all[turn % ScreenText.all.count])
                try await Task.sleep(for: pause)
                switch await Self.outcome(of: open) {
                case .success(let opened):
                    logger.notice("the storage works again")
                    await display.speak(.english)
                    return opened
                case .failure(let again): error = again
                }
                if case .inUse = error { throw error }
            }
            throw error
        }
    }

    private static func outcome<Opened>(
        of open: () async throws(JournalError) -> Opened
    ) async -> Result<Opened, JournalError> {
        do throws(JournalError) { return .success(try await open()) } catch { return .failure(error) }
    }

    private func show(_ reason: Reason, in text: ScreenText) async {
        await display.speak(text)
        let offline = Scene.Offline(merchantName: "Till", detail: reason.message, storage: .init(reason))
        // A screen that is missing as well is said by whoever opened it.
        _ = try? await display.show(.offline(offline))
    }

    private func page(_ reason: Reason) -> TroublePage? {
        TroublePage(
            address: configuration.webAddress,
            port: configuration.webPort,
            state: configuration.state,
            reason
        ) { reason, languages in
            let text = ScreenText.preferred(languages) ?? .english
            guard let storage = Scene.Offline.Storage(reason) else {
                return .init([reason.message, reason.action], language: "en")
            }
            let lines = [text.storageTitle, text.storageDetails(storage), text.storageWhatToDo(storage)]
            return .init(lines, language: text.languageTag)
        }
    }

    /// It is not told that the terminal is ready: a new version that cannot read the record must not be kept.
    private func tellManager(_ reason: Reason) {
        guard let manager = ServiceManager(environment: ProcessInfo.processInfo.environment) else { return }
        // A manager that does not listen ends the program in its own time, and starts it again. The first word is for the appliance's
        // self-test, which does not wait for a terminal that says it.
        try? manager.tell(.starting(pause + .seconds(60)), .status("storage: \(reason.message)"))
    }
}
