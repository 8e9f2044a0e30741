import FoundationEssentials
import Journal
import Logging
import Payments
import WalletConnectPay

/// Gateways and merchants that settings named earlier, each with the key that was used there, so that payments made there
/// are followed to their end and can be marked as refunded.
///
/// An entry is kept while the journal has an open payment or refund there, and for ``least`` after the settings left it.
/// The next start or save forgets entries that are not needed. Keys lie sealed, as the key in use.
/// Decided in docs/decisions/0034-one-gateway-one-value.md.
struct EarlierGateways: Sendable {
    let journal: Journal
    let clock: TerminalClock
    let logger: Logger
    let connect: SettingsDesk.Connect

    /// For refunds, and for payments that come late.
    static let least = Duration.seconds(30 * 86_400)
    /// More are not kept: the oldest gives way.
    static let most = 8
    private static let document = "earlier-gateways"

    private struct Entry: Codable {
        var settings: MerchantSettings
        var leftAt: WallTime
    }

    private static func keyName(_ place: PaymentPlace) -> String {
        "gateway-key of \(place.merchantID) at \(place.gateway)"
    }

    /// Remembers what is in force now, before other settings take its place.
    /// - Throws: ``JournalError``: nothing was remembered; do not leave it.
    func keep(_ settings: MerchantSettings, _ key: Secret, by actor: Payments.Actor) async throws(JournalError) {
        guard let place = settings.place else { return }  // Nothing was ever made there.
        var entries = try await entries().filter { $0.settings.place != place }
        entries.append(Entry(settings: settings, leftAt: clock.wallTime()))
        let dropped = entries.prefix(max(0, entries.count - Self.most))
        try await store(
            Array(entries.dropFirst(dropped.count)),
            with: SecretChange(name: Self.keyName(place), bytes: Array(key.reveal().utf8)),
            by: actor
        )
        for entry in dropped { try await forgetKey(of: entry, by: actor) }
    }

    /// A client of each gateway and merchant that is kept, without the one in force.
    func connections(without current: PaymentPlace?) async throws(JournalError) -> [PaymentPlace: MerchantClient] {
        let entries = try await tidied(entries())
        var connections: [PaymentPlace: MerchantClient] = [:]
        for entry in entries {
            guard let place = entry.settings.place, place != current else { continue }
            guard let key = try await key(of: place), let client = try? connect(entry.settings, key) else {
                // Its payments say so: ``AskingHindrance/elsewhere``.
                logger.error("an earlier gateway cannot be asked", metadata: ["gateway": "\(place.gateway)"])
                continue
            }
            connections[place] = client
        }
        return connections
    }

    private func key(of place: PaymentPlace) async throws(JournalError) -> Secret? {
        do throws(JournalError) {
            return try await journal.secret(Self.keyName(place)).map { Secret(String(decoding: $0, as: UTF8.self)) }
        } catch {
            guard case .corrupt = error else { throw error }
            return nil
        }
    }

    private func entries() async throws(JournalError) -> [Entry] {
        guard let stored = try await journal.document(Self.document) else { return [] }
        do { return try JSONDecoder().decode([Entry].self, from: Data(stored.bytes)) } catch {
            // No reason not to start, or not to save: payments made there say that nobody can ask about them.
            logger.error("the list of earlier gateways cannot be read", metadata: ["error": "\(error)"])
            return []
        }
    }

    /// Forgets what nothing waits for any more.
    private func tidied(_ entries: [Entry]) async throws(JournalError) -> [Entry] {
        guard !entries.isEmpty else { return [] }
        let now = clock.wallTime()
        let waiting = try await journal.openCharges() + journal.chargesWithAskedRefunds(limit: 1000)
        let needed = Set(waiting.compactMap(\.terms.place))
        let isKept = entries.map { entry in
            guard let place = entry.settings.place else { return false }
            // Left in the future is left by a clock that was wrong: nobody knows for how long.
            return needed.contains(place) || entry.leftAt > now || entry.leftAt.duration(to: now) < Self.least
        }
        let kept = zip(entries, isKept).filter(\.1).map(\.0)
        guard kept.count < entries.count else { return entries }
        try await store(kept, with: nil, by: .terminal)
        for (entry, isKept) in zip(entries, isKept) where !isKept { try await forgetKey(of: entry, by: .terminal) }
        return kept
    }

    private func forgetKey(of entry: Entry, by actor: Payments.Actor) async throws(JournalError) {
        guard let place = entry.settings.place else { return }
        try await journal.setSecret(Self.keyName(place), nil, by: actor, at: clock.wallTime())
    }

    private func store(
        _ entries: [Entry],
        with secret: SecretChange?,
        by actor: Payments.Actor
    ) async throws(JournalError) {
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(entries)) } catch {
            throw .unavailable(detail: "the list of earlier gateways cannot be written: \(error)")
        }
        _ = try await journal.setDocument(
            Self.document,
            bytes,
            expecting: .any,
            with: secret,
            by: actor,
            at: clock.wallTime()
        )
    }
}
