public import Journal
import Locks
public import Logging
import Paper
public import Payments
public import Sound
public import Terminal
import WebServer

/// The terminal's own web page and the API behind it.
///
/// Every request passes ``Gate`` first; what is refused is answered with a stable code and two sentences.
public struct Console: Sendable {
    let desk: ChargeDesk
    let settings: SettingsDesk
    let days: DayDesk
    /// Nil on a terminal without Tap.
    let taps: TapDesk?
    let customers: CustomerDesk
    let receipts: ReceiptDesk
    let counter: CounterDesk
    let sound: SoundDesk
    let tokens: TokenDesk
    let webhooks: WebhookDesk
    let outbox: OutboxDesk
    let setUp: SetUpDesk
    let staff: StaffDesk
    private let journal: any Keeping
    let messages: MessageDesk
    let news: PageNews
    /// What programs are told of this terminal beside its charges.
    let about: About
    let books: Journal
    let auditDesk: AuditDesk
    let health: HealthDesk
    /// The program's last log lines.
    let log: LogRing
    let erase: (@Sendable () throws(JournalError) -> Void)?
    let isErased: @Sendable () -> Bool
    let restore: RestoreDesk
    let sticks: StickDesk
    let updates: UpdateDesk
    /// Nil where others look after the machine's network.
    let network: NetworkDesk?
    let logo: LogoDesk
    /// When this run began.
    let startedAt: WallTime
    /// Nil on a terminal without the Connect rail.
    let wallets: ConnectDesk?
    let clock: TerminalClock
    let entrance: Entrance
    let sessions: Sessions
    let gate: Gate
    let refusals = HeadRefusals()
    private let securityContact: String?
    let certificates: CertificateKeeper
    /// What this run serves.
    let certificate: PageCertificate
    private let logger: Logger
    private let own: OwnAddress
    private let server: WebServer
    private let holder: Holder
    private let redirect: WebServer?

    /// Where and what it serves.
    public struct Configuration: Sendable {
        /// IP address to listen on.
        public var address: String
        /// HTTPS; 0 lets the system choose.
        public var port: UInt16
        /// Plain HTTP that only points to HTTPS; 0 for none.
        public var redirectPort: UInt16
        /// Names and addresses by which browsers may call it, beside `address`.
        public var names: [String]
        /// The folder of the page.
        public var pages: String
        /// Where the certificate and its key are kept.
        public var state: String
        /// Where to report a vulnerability, as an address with its scheme; nil: nobody is named.
        public var securityContact: String?
        /// What a customer's own page offers to open, unless the owner chose otherwise.
        public var wallets: [CustomerWallet]
        /// The program's own, as programs on the network are told it.
        public var version = ""
        /// Whether the machine's clock was set by somebody who knows the time; nil: nobody can say.
        public var clockIsSet: @Sendable () -> Bool? = { nil }
        /// When the program was built; nil where nobody can say.
        public var builtAt: WallTime?
        /// Where payments are made: no program may put a code on the screen that leads there.
        public var paymentHosts = ["pay.walletconnect.com", "pay.wct.me"]
        /// The terminal's name in the local network.
        public var localName = LocalNameView.off
        /// What is known of the machine and the program.
        public var machine = MachineView()
        /// Where the program's last log lines are.
        public var log = LogRing()
        /// Begins to erase everything and has the program end; nil where that cannot be done from the page.
        public var erase: (@Sendable () throws(JournalError) -> Void)?
        /// Whether that has begun, at the page or at the device: nobody owns it from then on.
        public var isErased: @Sendable () -> Bool = { false }
        /// Carries webhooks' messages; nil where none can be sent.
        public var webhooks: (any WebhookCarrier)?
        /// Reaches the operator's database; nil where none can be reached.
        public var events: (any EventSink)?
        /// Says that a backup which was checked shall be the journal, and has the program end; nil where that cannot be done
        /// from the page.
        public var restore: (@Sendable () throws(JournalError) -> Void)?
        /// What is heard where the terminal stands; nil where it makes no sound.
        public var loudspeaker: (any Loudspeaker)?
        /// Where sticks for backups are shown; nil where the machine shows none.
        public var sticks: BackupSticks?
        /// Sticks that prove presence at the terminal; nil where the machine shows none.
        public var ownerSticks: OwnerSticks?
        /// Whether the backup that was wanted before this start is restored; nil where none was wanted.
        public var restored: Bool?
        /// Installs new versions of the whole system; nil where the terminal does not run as an appliance.
        public var updates: (any UpdateService)?
        /// Whether a receipt printer may be at an IP address.
        public var printerMayBeAt: @Sendable (_ address: String) -> Bool = { _ in false }
        /// Joins Wi-Fi networks; nil where others look after the machine's network.
        public var network: NetworkDesk?

        public init(
            address: String,
            port: UInt16,
            redirectPort: UInt16 = 0,
            names: [String],
            pages: String,
            state: String,
            securityContact: String? = nil,
            wallets: [CustomerWallet] = []
        ) {
            self.address = address
            self.port = port
            self.redirectPort = redirectPort
            self.names = names
            self.pages = pages
            self.state = state
            self.securityContact = securityContact
            self.wallets = wallets
        }
    }

    /// Serves from here on.
    /// - Throws: `WebServer.StartError`, `StaticFiles.LoadError`, ``JournalError``, or the file system's word on the
    ///   certificate. Nothing is served then.
    public init(
        configuration: Configuration,
        desk: ChargeDesk,
        settings: SettingsDesk,
        days: DayDesk,
        taps: TapDesk? = nil,
        wallets: ConnectDesk? = nil,
        journal: Journal,
        clock: TerminalClock,
        logger: Logger
    ) async throws {
        try await self.init(
            configuration: configuration,
            desk: desk,
            settings: settings,
            days: days,
            taps: taps,
            wallets: wallets,
            keeping: journal,
            books: journal,
            clock: clock,
            logger: logger,
            printer: ReceiptPrinter(mayReach: configuration.printerMayBeAt)
        )
    }

    init(
        configuration: Configuration,
        desk: ChargeDesk,
        settings: SettingsDesk,
        days: DayDesk,
        taps: TapDesk? = nil,
        wallets: ConnectDesk? = nil,
        keeping journal: any Keeping,
        books: Journal,
        clock: TerminalClock,
        logger: Logger,
        hashRounds: Int = PasswordHash.usualRounds,
        printer: ReceiptPrinter,
        numbers: @escaping @Sendable () -> [String] = MachineAddresses.now
    ) async throws {
        let isEverywhere = configuration.address == "0.0.0.0" || configuration.address == "::"
        let names = (isEverywhere ? [] : [configuration.address]) + configuration.names
        let localName = configuration.localName
        let certificates = CertificateKeeper(
            folder: configuration.state,
            names: names,
            localNames: localName.hosts,
            clockIsSet: configuration.clockIsSet
        )
        let chosen = try certificates.load(builtAt: configuration.builtAt)
        if let objection = chosen.objection {
            logger.error("the owner's certificate is not served", metadata: ["reason": "\(objection.reason.code)"])
        }
        self.certificates = certificates
        let files = try StaticFiles(folder: configuration.pages)
        let sessions = Sessions(journal: journal)
        let gate = Gate(sessions: sessions)
        // The handler needs the console and the console the server's port: the box is filled before the first answer.
        let holder = Holder()
        self.holder = holder
        let now = clock.wallTime()
        let serve = { (certificate: PageCertificate) throws(WebServer.StartError) -> WebServer in
            var headers = Self.headers
            if let rule = Self.transportSecurity(of: certificate, at: now) {
                headers["Strict-Transport-Security"] = rule
            }
            var serving = WebServer.Configuration(
                address: configuration.address,
                port: configuration.port,
                tls: TLSIdentity(certificatePEM: certificate.certificatePEM, privateKeyPEM: certificate.keyPEM),
                limits: Self.limits,
                defaultHeaders: headers,
                hostIsAllowed: { host in
                    Self.isAllowed(host, names: names, isEverywhere: isEverywhere) || localName.isOurs(host)
                        || certificate.isFor(host)
                }
            )
            serving.admission = { request, body in
                holder.console?.admission(of: request, body)
                    ?? WebServer.Admission(isKnown: false, .refuse(answer: Self.starting, whenAnswered: {}))
            }
            serving.plainHTTP = { Self.redirect($0, to: $1) }
            return try WebServer(configuration: serving) { request in
                holder.console?.handle(request, files) ?? .now(Self.starting)
            }
        }
        let served: (server: WebServer, certificate: PageCertificate)
        do throws(WebServer.StartError) { served = (try serve(chosen.page), chosen.page) } catch {
            // What the server does not take must not keep the page away: the owner puts in another.
            guard case .tlsIdentityRefused(let detail) = error, chosen.page.issuer != nil else { throw error }
            logger.error("the owner's certificate is not served", metadata: ["reason": "\(detail)"])
            let device = try certificates.device(builtAt: configuration.builtAt)
            served = (try serve(device), device)
        }
        let certificate = served.certificate
        (server, self.certificate) = served
        let port = server.port
        var pointing = WebServer.Configuration(
            address: configuration.address,
            port: configuration.redirectPort,
            defaultHeaders: Self.headers,
            hostIsAllowed: { host in
                Self.isAllowed(host, names: names, isEverywhere: isEverywhere) || localName.isOurs(host)
                    || certificate.isFor(host)
            }
        )
        pointing.admission = { request, _ in
            WebServer.Admission(isKnown: false, .refuse(answer: Self.redirect(request, to: port), whenAnswered: {}))
        }
        redirect =
            configuration.redirectPort == 0
            ? nil : try WebServer(configuration: pointing) { .now(Self.redirect($0, to: port)) }
        self.journal = journal
        let own = OwnAddress(
            names: names,
            port: port,
            isEverywhere: isEverywhere,
            local: { localName.standing().host },
            numbers: numbers
        )
        self.own = own
        self.desk = desk
        self.settings = settings
        self.days = days
        self.taps = taps
        self.wallets = wallets
        (self.clock, self.logger) = (clock, logger)
        self.sessions = sessions
        self.gate = gate
        news = PageNews(desk: desk, sessions: sessions, clock: clock)
        let hashing = HashingQueue()
        entrance = Entrance(
            journal: journal,
            desk: desk,
            sessions: sessions,
            clock: clock,
            logger: logger,
            address: own.text,
            codeAddress: own.code,
            fingerprint: certificate.fingerprint,
            compactFingerprint: certificate.compactFingerprint,
            ownerSticks: configuration.ownerSticks,
            hashRounds: hashRounds,
            hashing: hashing
        )
        tokens = TokenDesk(journal: journal, clock: clock)
        webhooks = WebhookDesk(
            journal: journal,
            books: books,
            desk: desk,
            carrier: configuration.webhooks,
            version: configuration.version,
            clock: clock,
            logger: logger
        )
        outbox = OutboxDesk(
            journal: journal,
            books: books,
            desk: desk,
            sink: configuration.events,
            clock: clock,
            logger: logger
        )
        logo = LogoDesk(journal: journal, desk: desk, clock: clock, logger: logger)
        setUp = SetUpDesk(journal: journal, desk: desk, settings: settings, clock: clock, logger: logger)
        staff = StaffDesk(
            journal: journal,
            sessions: sessions,
            clock: clock,
            logger: logger,
            address: own.code,
            compactFingerprint: certificate.compactFingerprint,
            pinRounds: min(hashRounds, StaffPIN.usualRounds),
            hashing: hashing
        )
        messages = MessageDesk(desk: desk, clock: clock, paymentHosts: configuration.paymentHosts)
        about = About(
            version: configuration.version,
            fingerprint: certificate.fingerprint,
            state: configuration.state,
            clockIsSet: configuration.clockIsSet,
            addresses: numbers
        )
        self.books = books
        auditDesk = AuditDesk(journal: books, settings: settings)
        health = HealthDesk(
            journal: books,
            desk: desk,
            settings: settings,
            taps: taps,
            clock: clock,
            machine: configuration.machine,
            certificate: certificate,
            addresses: own.all,
            webhooks: webhooks,
            outbox: outbox,
            localName: localName
        )
        (log, erase, isErased) = (configuration.log, configuration.erase, configuration.isErased)
        startedAt = clock.wallTime()
        restore = RestoreDesk(journal: books, clock: clock, begin: configuration.restore)
        sticks = StickDesk(sticks: configuration.sticks, journal: journal, desk: desk, clock: clock, logger: logger)
        updates = UpdateDesk(
            service: configuration.updates,
            folder: books.folder,
            journal: journal,
            desk: desk,
            clock: clock,
            logger: logger
        )
        network = configuration.network
        customers = CustomerDesk(
            journal: journal,
            desk: desk,
            supplied: configuration.wallets,
            ownAddress: own.reachable,
            // By its names alone: whoever may write an address here could lead customers to any other machine by its number.
            isOurs: { Self.isAllowed($0, names: names, isEverywhere: false) || localName.isOurs($0) },
            clock: clock,
            logger: logger
        )
        counter = CounterDesk(journal: journal, desk: desk, clock: clock, logger: logger)
        sound = SoundDesk(configuration.loudspeaker)
        receipts = ReceiptDesk(
            journal: journal,
            desk: desk,
            settings: settings,
            clock: clock,
            logger: logger,
            printer: printer
        )
        securityContact = configuration.securityContact
        try await entrance.load()
        try await staff.load()
        try await customers.load()
        try await receipts.load()
        try await counter.load()
        try await tokens.load()
        try await webhooks.load()
        try await outbox.load()
        try await setUp.load()
        try await logo.load()
        await restore.load()
        if let restored = configuration.restored { await sticks.showEnd(restored ? .restored : .notRestored) }
        try await updates.load()
        if await !tokens.isReadable {
            logger.error("the tokens of programs cannot be read: none of them is accepted until they can")
        }
        holder.set(self)
    }

    /// Where the page is, for people: `https://name:port`. Where no name was configured it follows the machine's network.
    public var address: String { own.text }

    /// Everywhere that the page is, the best first.
    var pageAddresses: [String] { own.all() }

    /// Where the page is served.
    public var port: UInt16 { server.port }

    /// When a document was changed last and by whom, as members of an answer; null where that is not known.
    func changed(_ document: String) async -> [String: JSON] {
        // An answer without it is worth more than none.
        let stored = try? await journal.document(document)
        return [
            "changedAt": stored.map { .time($0.changedAt) } ?? .null, "changedBy": .optional(stored?.changedBy.name),
        ]
    }

    /// Serves until cancelled. Once only.
    public func run() async throws {
        defer { holder.set(nil) }  // The server holds the holder, and the console the server.
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            if let redirect { group.addTask { try await redirect.run() } }
            group.addTask { await certificates.run(clock, logger, serving: certificate) }
            group.addTask { await recordRefusals() }
            group.addTask { await entrance.keepClaimFresh() }
            group.addTask { await entrance.watchForOwner() }
            group.addTask { await tellOfResets() }
            if own.changes { group.addTask { await followNetwork() } }
            group.addTask { await receipts.printWhenPaid() }
            group.addTask { await messages.run() }
            group.addTask { await news.run() }
            group.addTask { await webhooks.run() }
            group.addTask { await outbox.run() }
            group.addTask { await updates.run() }
            group.addTask { await sticks.run() }
            if let network { group.addTask { await network.run() } }
            try await group.waitForAll()
        }
    }

    /// Puts the address on screens and into links anew each time the machine's network gives another.
    private func followNetwork() async {
        var known = [own.reachable, own.text]
        while true {
            do { try await clock.sleep(.seconds(10)) } catch { return }  // The terminal stops.
            let now = [own.reachable, own.text]
            guard now != known else { continue }
            known = now
            await entrance.addressChanged()
            await customers.addressChanged()
        }
    }

    /// The usual, but for pictures of wallets and for a shop in which everybody's phone shows the page.
    static var limits: WebServer.Limits {
        var limits = WebServer.Limits()
        limits.connections = 320
        limits.newConnectionsPerSecond = 8
        limits.eventStreams = 224
        limits.bodyBytesByPath["/api/v1/customers"] = CustomerForm.bodyBytes
        limits.bodyBytesByPath["/api/v1/backup/import"] = BackupFile.bodyBytes
        limits.bodyBytesByPath["/api/v1/logo"] = LogoDesk.bodyBytes
        limits.bodyBytesByPath["/api/v1/certificate"] = certificateBodyBytes
        limits.bodyBytesByPath["/api/v1/restore"] = RestoreDesk.bodyBytes
        limits.bodyBytesByPath["/api/v1/update"] = RestoreDesk.bodyBytes
        return limits
    }

    // MARK: - Requests

    func handle(_ request: WebRequest, _ files: StaticFiles) -> WebAnswer {
        if request.path == "/healthz", request.method == "GET" { return .later { Self.noStore(await healthz()) } }
        if request.path == SecurityContact.path, request.method == "GET", let securityContact {
            return .now(SecurityContact(address: securityContact, page: address).response(at: clock.wallTime()))
        }
        if request.path == Self.metricsPath { return .later { Self.noStore(await metricsResponse(request)) } }
        if request.path.hasPrefix(CustomerPage.path) {
            let (customers, logo) = (customers, logo)
            return .later { await customers.answer(request, logo: await logo.address) }
        }
        if request.path == Self.contractPath { return .now(files.response(for: request) ?? Problem.notFound.response) }
        guard request.path == "/api" || request.path.hasPrefix("/api/") else {
            return .now(files.response(for: request) ?? Problem.notFound.response)
        }
        guard request.path.hasPrefix("/api/v1/") else { return .now(Self.noStore(Problem.notFound.response)) }
        if !request.headers("Authorization").isEmpty { return .later { Self.noStore(await answerProgram(request)) } }
        let pass: Gate.Pass
        do throws(Problem) {
            pass = try gate.check(request, isClaimed: entrance.claimed.value, now: clock.wallTime())
        } catch {
            let problem = error
            guard problem.status == 403 || problem.status == 401 else { return .now(Self.noStore(problem.response)) }
            let (entrance, peer, path) = (entrance, request.peerAddress, request.path)
            // Who is known by a cookie alone may not have sent what fails for its origin.
            let session =
                problem.reason.code == "not_allowed"
                ? sessions.session(of: request.cookies[Gate.cookie], at: clock.wallTime()) : nil
            // Within the strangers' budget all the same: nobody who works here can fill the storage either.
            let who = session.map { " by \($0.who.name)" } ?? ""
            return .later {
                await entrance.audit(
                    "request",
                    "refused",
                    "\(problem.reason.code) \(path.prefix(80))\(who)",
                    by: .stranger,
                    from: peer
                )
                return Self.noStore(problem.response)
            }
        }
        return .later {
            do throws(Problem) { return Self.noStore(try await answer(pass, request)) } catch {
                return Self.noStore(error.response)
            }
        }
    }

    static func noStore(_ response: WebResponse) -> WebResponse {
        var response = response
        response.headers["Cache-Control"] = "no-store"
        return response
    }

    private static let starting = Problem(503, "starting", "The terminal is starting.", "Try again in a moment.")
        .response

    /// The way to HTTPS for pages; nothing for programs, which would send their secrets first and follow later.
    static func redirect(_ request: WebRequest, to port: UInt16) -> WebResponse {
        guard request.method == "GET", !request.path.hasPrefix("/api"), request.path != metricsPath,
            let host = request.header("Host")
        else {
            return Problem(403, "https_needed", "This terminal speaks over HTTPS only.", "Use its https:// address.")
                .response
        }
        let name = host.hasPrefix("[") ? String(host.prefix { $0 != "]" }) + "]" : String(host.prefix { $0 != ":" })
        return WebResponse(status: 308, headers: ["Location": "https://\(name):\(port)/"])
    }

    /// Against DNS rebinding: a page of another name must not talk to the terminal. Addresses in numbers cannot be
    /// rebound, so any of them is fine where the terminal listens everywhere.
    static func isAllowed(_ host: String, names: [String], isEverywhere: Bool) -> Bool {
        if names.contains(where: { $0.lowercased() == host }) { return true }
        guard isEverywhere else { return false }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil } || host.contains(":")
    }

    /// On every answer. Source: OWASP ASVS 5.0, 3.4.1 to 3.4.6. HSTS comes with the owner's certificate alone: browsers do not
    /// trust the terminal's own, and would then let nobody past their warning.
    static let headers: WebHeaders = [
        "Content-Security-Policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
            + "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ]
}

/// Holds the console for the server's handler, which exists first.
private final class Holder: Sendable {
    private let box = Mutex<Console?>(nil)

    var console: Console? { box.withLock { $0 } }

    func set(_ console: Console?) { box.withLock { $0 = console } }
}

/// A fact that becomes true once.
final class Flag: Sendable {
    private let isSet: Mutex<Bool>

    init(_ isSet: Bool) { self.isSet = Mutex(isSet) }

    var value: Bool { isSet.withLock { $0 } }

    func set() { isSet.withLock { $0 = true } }
}
