import Foundation
import Screen
import Testing

/// Whoever looks for the screen's words in the guide finds them there.
struct TroubleshootingTests {
    private static let guide: String = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return (try? String(contentsOf: root.appending(path: "docs/troubleshooting.md"), encoding: .utf8)) ?? ""
    }()

    /// By which words each page is found; one that is new does not compile without.
    private static func words(of scene: Scene) -> [String] {
        let text = ScreenText.english
        return switch scene {
        case .starting: [text.startingTitle]
        case .idle(let idle):
            idle.notices.map { text.notices($0.kind) } + idle.lights.map { text.readiness($0.readiness) }
                + [idle.progress == nil ? text.welcome : text.setupTitle] + (idle.rest == nil ? [] : ["grey on black"])
        case .setup(let setup): [text.setupTitles(setup.purpose)]
        case .charge(let charge):
            [text.timeLeft, text.chargeCode, text.formTitle]
                + (charge.note == .gatewaySilent ? [String(text.gatewaySilent.prefix { $0 != "." })] : [])
        case .processing: [text.processingTitle]
        case .paid: [text.paidTitle, text.arrivedLate]
        case .promised: [text.promisedTitle]
        case .notPaid(let notPaid): [text.notPaidTitles(notPaid.kind)]
        case .unknown: [text.unknownTitle]
        case .offline(let offline):
            offline.storage.map { [text.storageTitle, text.storageDetails($0)] }
                ?? [
                    offline.pausedUntilText != nil
                        ? text.pausedTitle : offline.clockText == nil ? text.offlineTitle : text.clockTitle
                ]
        case .message: [text.messageIsNoPayment]
        case .keypad(let keypad): [text.keypadTitles(keypad.kind)]
        case .update(let update):
            // Of one that is not installed the title is the same whatever the cause.
            [text.updateTitles(update.kind)]
                + (text.updateTitles(update.kind) == text.updateTitles(.notInstalled)
                    ? [text.updateDetails(update.kind).prefix { $0 != "." } + "."].map(String.init) : [])
        case .backup(let backup): [text.backupTitles(backup.kind)]
        case .onboarding(let onboarding): [text.onboardingTitles(onboarding.kind)]
        case .ownerReset: [text.ownerResetTitle]
        }
    }

    @Test func everyPageOfTheScreenIsInTheGuideByItsWords() throws {
        #expect(!Self.guide.isEmpty)
        let notices = Scene.Notice.Kind.allCases.map { Scene.Notice($0, amountText: "€1", chargeCode: "K7QM") }
        let lights = Scene.Light.Readiness.allCases.map { Scene.Light(.scan, $0) }
        let scenes =
            Sample.scenes() + Sample.messages() + Scene.Keypad.Kind.allCases.map { .keypad(.init($0)) }
            + Scene.Update.Kind.allCases.map { .update(.init($0)) }
            + Scene.Backup.Kind.allCases.map { .backup(.init($0)) }
            + Scene.Onboarding.Kind.allCases.map { .onboarding(.init($0)) }
            + Scene.NotPaid.Kind.allCases.map { .notPaid(.init(kind: $0)) }
            + Scene.Offline.Storage.allCases.map { .offline(.init(merchantName: "", storage: $0)) }
            + [.idle(.init(merchantName: "", lights: lights, notices: notices)), Sample.setup(purpose: .reset)]
        for word in scenes.flatMap(Self.words) + [ScreenText.english.codeNotShownTitle] {
            #expect(Self.guide.contains(word), "docs/troubleshooting.md does not say what to do at ‘\(word)’")
        }
    }
}
