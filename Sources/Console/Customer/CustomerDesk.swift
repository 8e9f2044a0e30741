import Foundation
import Journal
import Logging
import Payments
import Terminal
import WebServer

/// Customers' own pages: what the owner set about them, who may look at what, and how often.
actor CustomerDesk {
    private let journal: any Keeping
    private let desk: ChargeDesk
    private let clock: TerminalClock
    private let logger: Logger
    /// The wallets that came with the terminal.
    nonisolated let supplied: [CustomerWallet]
    /// `https://…` by which staff reach the terminal, without a path; nil while nobody does.
    nonisolated let ownAddress: @Sendable () -> String?
    private let isOurs: @Sendable (String) -> Bool

    private(set) var settings = CustomerSettings()
    /// 0 before anything was saved.
    private(set) var version = 0
    private var pass: CustomerPass?
    /// Of those who have a charge's link, for each link and address.
    private var pace = AddressPace()
    /// Of those who have none, so that their guesses cost nobody else anything.
    private var strangers = AddressPace()

    private static let document = "customers"
    private static let keyName = "customer-page-key"

    init(
        journal: any Keeping,
        desk: ChargeDesk,
        supplied: [CustomerWallet],
        ownAddress: @autoclosure @escaping @Sendable () -> String?,
        isOurs: @escaping @Sendable (String) -> Bool,
        clock: TerminalClock,
        logger: Logger
    ) {
        (self.journal, self.desk, self.supplied, self.ownAddress) = (journal, desk, supplied, ownAddress)
        (self.isOurs, self.clock, self.logger) = (isOurs, clock, logger)
    }

    /// Reads what was set earlier and puts it into force. What cannot be read leaves the pages off.
    func load() async throws(JournalError) {
        guard let stored = try await journal.document(Self.document) else { return }
        version = stored.version
        do {
            settings = try JSONDecoder().decode(CustomerSettings.self, from: Data(stored.bytes))
            settings.dropPicturesNotTaken()
            pass = try await journal.secret(Self.keyName).map(CustomerPass.init)
        } catch {
            settings.isEnabled = false
            logger.error("customers have no page: its settings cannot be read", metadata: ["error": "\(error)"])
        }
        await putIntoForce()
    }

    /// What the form would change about where customers are led, by its fields' names. Switching the pages off leads nowhere,
    /// and switching them on again leads only where the owner has agreed to before, unless the screen then leads there.
    /// - Throws: ``Problem`` where the form cannot be used.
    func leads(_ form: CustomerForm) throws(Problem) -> [String] {
        let new = try form.checked(over: settings, isOurs: isOurs)
        var names: [String] = []
        if new.isOnScreen != settings.isOnScreen || new.isOnScreen && new.isEnabled && !settings.isEnabled {
            names.append("onScreen")
        }
        if new.address != settings.address { names.append("address") }
        if new.wallets != settings.wallets { names.append("wallets") }
        return names
    }

    /// Checks and stores a form, and puts it into force at once.
    ///
    /// Switched on, the pages get a new key: what was handed out before they were switched off stays void.
    /// - Throws: ``Problem``: what was in force before still is.
    func save(_ form: CustomerForm, replacing version: Int, by actor: Payments.Actor) async throws(Problem) {
        guard version == self.version else { throw Console.problem(.conflict) }
        let new = try form.checked(over: settings, isOurs: isOurs)
        let change: DocumentChange
        var fresh: [UInt8]?
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(new)) } catch {
                throw JournalError.unavailable(detail: "the settings cannot be written: \(error)")
            }
            if new.isEnabled, !settings.isEnabled || pass == nil { fresh = CustomerPass.freshKey() }
            change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: .version(version == 0 ? nil : version),
                with: fresh.map { SecretChange(name: Self.keyName, bytes: $0) },
                by: actor,
                at: clock.wallTime()
            )
        } catch { throw Console.problem(.journal(error)) }
        guard case .stored(let stored) = change else { throw Console.problem(.conflict) }
        (settings, self.version) = (new, stored)
        if let fresh { pass = CustomerPass(key: fresh) }
        await putIntoForce()
    }

    private func putIntoForce() async {
        guard settings.isEnabled, let pass else { return await desk.use(nil as CustomerPages?) }
        let (address, ownAddress) = (settings.address, ownAddress)
        await desk.use(
            CustomerPages(isOnScreen: settings.isOnScreen) { id in
                (address ?? ownAddress()).map { "\($0)\(CustomerPage.path)\(pass.text(for: id))" }
            }
        )
    }

    /// The terminal is reached by another address from now on.
    func addressChanged() async { await putIntoForce() }

    // MARK: - Answers

    /// The page at an address below ``CustomerPage/path``. Who asks too often is told to wait; every address that shows
    /// nothing is answered alike.
    ///
    /// The proof comes first, which costs one hash: who has none spends nothing of those who share their address.
    func answer(_ request: WebRequest, logo: String? = nil) async -> WebResponse {
        let text = request.path.dropFirst(CustomerPage.path.utf8.count)
        let known = settings.isEnabled ? pass?.charge(in: text) : nil
        let (peer, now) = (request.peerAddress, clock.elapsed())
        let wait = if let known { pace.take("\(peer) \(known)", at: now) } else { strangers.take(peer, at: now) }
        let tongue = request.header("Accept-Language")
        let words = CustomerWords.inLanguage(MerchantSettings.language(preferredIn: tongue))
        if let wait { return CustomerPage.busy(retryAfter: wait, words) }
        guard request.method == "GET" else { return CustomerPage.readOnly(words) }
        guard let id = known, request.query.isEmpty else { return CustomerPage.gone(words) }
        do throws(JournalError) {
            guard let view = try await desk.customerView(of: id, acceptLanguage: tongue) else {
                return CustomerPage.gone(words)
            }
            let wallets = settings.wallets ?? supplied
            let page = CustomerPage(view: view, wallets: wallets, now: clock.wallTime(), logo: logo)
            return page.response(unless: request.header("If-None-Match"))
        } catch {
            logger.error("a customer's page cannot be shown", metadata: ["error": "\(error)"])
            return CustomerPage.unavailable(words)
        }
    }
}
