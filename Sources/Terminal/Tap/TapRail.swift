public import Payments
import TapProtocol

/// Pay by holding a phone near: offers each charge to phones over BLE, and carries what a customer agreed to the acquirer.
public struct TapRail: RailDriver {
    public let rail = Rail.tap
    private let station: TapStation

    public init(station: TapStation) { self.station = station }

    public func pursue(_ attempt: AttemptLink) async {
        while !Task.isCancelled, let now = await attempt.current(), now.isOpen {
            if now.phase == .idle, let refusal = await station.refusal(of: attempt.terms) {
                // Nothing has left: the charge goes on by its other ways.
                await attempt.record(.refused(attempt: attempt.id, refusal: refusal))
                return
            }
            do throws(JournalError) {
                if let sale = try await station.sale(for: attempt, makes: now.phase == .idle) {
                    await offer(sale, attempt, now)
                    for await _ in await sale.ending() {}
                    return
                }
                await attempt.record(.silent(attempt: attempt.id, reason: Self.hindered))
            } catch {
                await attempt.record(.silent(attempt: attempt.id, reason: "the journal does not take the payment"))
            }
            // The attempt is over, or the terminal stops.
            do { try await station.clock.sleep(.seconds(2)) } catch { return }
        }
    }

    private func offer(_ sale: TapSale, _ attempt: AttemptLink, _ now: Attempt) async {
        guard case .idle = now.phase else { return }
        let offer = await sale.offer(link: station.tagURI(of: sale))
        await attempt.record(.offered(attempt: attempt.id, offer: offer))
    }

    public func withdraw(_ attempt: AttemptLink) async {
        // Asked again by the desk.
        guard let sale = try? await station.sale(for: attempt, makes: false) else { return }
        await sale.withdraw(isBeaten: await attempt.isBeaten())
    }

    public func ask(_ attempt: AttemptLink) async {
        do throws(JournalError) {
            guard let sale = try await station.sale(for: attempt, makes: false) else {
                guard await attempt.current()?.isOpen == true, await attempt.current()?.phase != .idle else { return }
                await attempt.record(.silent(attempt: attempt.id, reason: Self.hindered))
                return
            }
            await sale.ask()
        } catch {
            await attempt.record(
                .silent(attempt: attempt.id, reason: "the journal does not say how the payment stands")
            )
        }
    }

    private static let hindered = "Tap is switched off or not set up: nobody can say how the phone's payment stands"
}

extension AttemptLink {
    /// Whether the customer pays another way: phones hear that somebody has paid, and not that nobody wants to be.
    /// - Parameter own: Where a phone pays the code's payment itself, that is none.
    func isBeaten(besides own: Rail? = nil) async -> Bool {
        guard let charge = await charge(), !charge.isCancelRequested else { return false }
        return charge.attempts.contains { other in
            guard other.id != id, other.rail != own else { return false }
            switch other.phase {
            case .offered(_, let progress): return progress.isProcessing || other.claim != nil
            case .ended(.succeeded, _): return true
            case .idle, .sending, .unanswered, .ended: return false
            }
        }
    }
}

extension TapStation {
    /// What a sticker says to phones; nil where they need not read any.
    public var tagURI: String? {
        guard let setup, setup.settings.mode == .tagged else { return nil }
        return setup.tag?.uri(opening: setup.settings.appLink)
    }

    /// What the screen says to phones while this charge waits for one.
    func tagURI(of sale: TapSale) -> String? {
        guard let setup, setup.settings.mode == .tagged else { return nil }
        return sale.tag.uri(opening: setup.settings.appLink)
    }
}

extension TapSale {
    func offer(link: String?) -> Offer {
        Offer(
            paymentID: name.payment.description,
            link: link,
            expiresAt: WallTime(millisecondsSince1970: Int64(story.request.payload.expiresAtMilliseconds))
        )
    }
}
