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
    /// `https://…` by which staff reach the terminal, without a path.
    nonisolated let ownAddress: String
    private let isOurs: @Sendable (String) -> Bool

    private(set) var settings = CustomerSettings()
    /// 0 before anything was saved.
    private(set) var version = 0
    private var pass: CustomerPass?
    private var pace = AddressPace()

    private static let document = "customers"
    private static let keyName = "customer-page-key"

    init(
        journal: any Keeping,
        desk: ChargeDesk,
        supplied: [CustomerWallet],
        ownAddress: String,
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
            pass = try await journal.secret(Self.keyName).map(CustomerPass.init)
        } catch {
            settings.isEnabled = false
            logger.error("customers have no page: its settings cannot be read", metadata: ["error": "\(error)"])
        }
        await putIntoForce()
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
        let base = settings.address ?? ownAddress
        await desk.use(
            CustomerPages(
                isOnScreen: settings.isOnScreen,
                address: { "\(base)\(CustomerPage.path)\(pass.text(for: $0))" }
            )
        )
    }

    // MARK: - Answers

    /// The page at an address below ``CustomerPage/path``. Who asks too often is told to wait; every address that shows
    /// nothing is answered alike.
    func answer(_ request: WebRequest) async -> WebResponse {
        if let wait = pace.take(request.peerAddress, at: clock.elapsed()) { return CustomerPage.busy(retryAfter: wait) }
        guard request.method == "GET" else { return CustomerPage.readOnly }
        let text = request.path.dropFirst(CustomerPage.path.utf8.count)
        guard settings.isEnabled, request.query.isEmpty, let id = pass?.charge(in: text) else {
            return CustomerPage.gone
        }
        do throws(JournalError) {
            guard let view = try await desk.customerView(of: id) else { return CustomerPage.gone }
            return CustomerPage(
                view: view,
                wallets: settings.wallets ?? supplied,
                now: clock.wallTime()
            ).response
        } catch {
            logger.error("a customer's page cannot be shown", metadata: ["error": "\(error)"])
            return CustomerPage.unavailable
        }
    }
}
