public import Logging
import Payments
import Screen
public import Sound

/// Lets be heard what the screen says of the charge on it: paid, not paid, or that staff must look.
///
/// Wakes only for news. Nothing waits for it: while a sound is played the newest news waits for the sound.
public struct SoundDirector: Sendable {
    private let desk: ChargeDesk
    private let loudspeaker: any Loudspeaker
    private let logger: Logger

    public init(desk: ChargeDesk, loudspeaker: any Loudspeaker, logger: Logger) {
        (self.desk, self.loudspeaker, self.logger) = (desk, loudspeaker, logger)
    }

    /// Plays until cancelled.
    public func run() async { await run {} }

    /// - Parameter hasLooked: Called after each look at the terminal, before anything of it is played.
    func run(hasLooked: @Sendable () -> Void) async {
        var ear = Ear()
        var failure: SoundFailure?
        for await snapshot in await desk.snapshots() {
            let tone = ear.tone(for: snapshot.phase)
            hasLooked()
            guard let tone, snapshot.sound.isOn, snapshot.sound.loudness > 0 else { continue }
            var new: SoundFailure?
            do throws(SoundFailure) { try await loudspeaker.play(tone, loudness: snapshot.sound.loudness) } catch {
                new = error
            }
            // A terminal without a loudspeaker says so once, and not with each payment.
            if new != failure, !Task.isCancelled { note(new) }
            failure = new
        }
    }

    private func note(_ failure: SoundFailure?) {
        switch failure {
        case nil: logger.notice("payments are heard again")
        case .off: break  // As the operator wanted it.
        case let failure?:
            logger.notice("payments end without a sound", metadata: ["why": "\(failure)"])
        }
    }

    /// Tells what is new to be heard.
    struct Ear {
        /// What the screen says of a charge that is over, or as good as over.
        private enum End: Equatable { case paid, notPaid, unknown, promised }

        private var last: (charge: ChargeID, end: End)?
        /// Not before the first look at a terminal that has asked about what an earlier run left.
        private var isListening = false

        /// What is to be heard now; nil where nothing is, or where it was before.
        mutating func tone(for phase: TerminalSnapshot.Phase) -> Tone? {
            if case .starting = phase { return nil }
            defer { isListening = true }
            guard case .charging(let charge) = phase, let end = Self.end(of: charge) else { return nil }
            if let last, last.charge == charge.id, last.end == end { return nil }
            last = (charge.id, end)
            guard isListening else { return nil }
            return switch end {
            case .paid: .paid
            case .notPaid: .notPaid
            // Promised is not paid: whoever hears two rising notes gives the goods away without a look.
            case .unknown, .promised: .unknown
            }
        }

        /// By the page that the screen has for it: nobody hears something else than stands there.
        private static func end(of charge: ChargeSnapshot) -> End? {
            switch ScreenDirector.scene(of: charge, trouble: nil, at: .zero) {
            case .paid: .paid
            case .notPaid: .notPaid
            case .unknown: .unknown
            case .promised: .promised
            case .starting, .idle, .setup, .charge, .processing, .offline, .message, .keypad, .update, .backup,
                .onboarding, .ownerReset:
                nil
            }
        }
    }
}
