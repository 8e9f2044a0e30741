import FoundationEssentials
public import Acquirer
public import Journal
public import Logging
public import Payments
import TapProtocol
import WalletConnectPay

/// The Tap settings in force, with who set them.
public struct StoredTapSettings: Sendable, Equatable {
    public let settings: TapSettings
    public let version: Int
    /// Whether the acquirer's password is stored. It never leaves the terminal.
    public let hasPassword: Bool
}

/// Keeps what the merchant set about Tap, the terminal's keys and its certificate, and gives the station what it works with.
public actor TapDesk {
    /// Makes a client of the acquirer at an address.
    public typealias Connect = @Sendable (_ url: String) throws -> AcquirerClient

    let journal: Journal
    let desk: ChargeDesk
    public nonisolated let station: TapStation
    public nonisolated let calibrator: TapCalibrator
    let clock: TerminalClock
    let logger: Logger
    private let acquirers: GatewayPolicy
    private let connect: Connect
    private let turn = Turnstile()
    private static let document = "tap"
    private static let certificateDocument = "tap-certificate"
    private static let tagDocument = "tap-tag"
    private static let passwordName = "tap-acquirer-password"

    /// Nil before ``load()``.
    public private(set) var current: StoredTapSettings?
    private var acquirer: (any TapAcquirer)?
    private var keys: TapTerminalKeys?
    private var kept: KeptCertificate?
    /// The tag's name: 16 bytes, the same until it is changed in the settings.
    private var tagID: [UInt8]?
    private var hindrance: Reason?
    private var makeWallet: (@Sendable (_ projectID: String) async -> (any TapWalletGateway)?)?

    /// A certificate is renewed once it is this old.
    static let renewAfter = Duration.seconds(86_400)

    struct KeptCertificate {
        var certificate: Signed<TerminalCertificate>
        var trusted: GatewayKeys
        var acquirerURL: String
        /// Whose it is at the acquirer; nil where an earlier version kept it, which did not write that down.
        var login: String?
        var madeAt: WallTime
    }

    public init(
        journal: Journal,
        desk: ChargeDesk,
        station: TapStation,
        acquirers: GatewayPolicy,
        clock: TerminalClock,
        logger: Logger,
        connect: @escaping Connect
    ) {
        (self.journal, self.desk, self.station) = (journal, desk, station)
        calibrator = TapCalibrator(station: station)
        (self.clock, self.logger, self.acquirers, self.connect) = (clock, logger, acquirers, connect)
    }

    /// The rail for the charge desk; nil while Tap is switched off and nothing of it is open.
    public var rail: (any RailDriver)? {
        get async {
            if current?.settings.isEnabled != true, await !isNeeded { return nil }
            return TapRail(station: station)
        }
    }

    /// Whether something is open that somebody has to follow, also while Tap is switched off.
    private var isNeeded: Bool {
        get async {
            if await station.hasOpenPayments { return true }
            // Also a phone that was asked, or a wallet that has signed, when an earlier run ended. Where the journal cannot say,
            // better once too often.
            guard let charges = try? await journal.openCharges() else { return true }
            return charges.contains { $0.attempts.contains { $0.rail == .tap && $0.isOpen && $0.phase != .idle } }
        }
    }

    /// Takes the way to the WalletConnect Pay gateway, for wallets without network.
    public func serveWallets(_ make: @escaping @Sendable (_ projectID: String) async -> (any TapWalletGateway)?) {
        makeWallet = make
    }

    /// What the way to the gateway is made of has changed.
    public func renewWallets() async { await putIntoForce() }

    // MARK: - Settings

    /// Reads what was set earlier and puts it into force. Call once, before charges are taken.
    public func load() async throws(JournalError) {
        await station.serve(desk)
        await station.queueChanged()
        let stored = try await journal.document(Self.document)
        var settings = TapSettings()
        if let stored {
            do { settings = try JSONDecoder().decode(TapSettings.self, from: Data(stored.bytes)) } catch {
                settings.notUnderstood = ["settings"]
            }
        }
        if !settings.notUnderstood.isEmpty {
            logger.error(
                "stored Tap settings are not understood: no payment is offered to phones until they are saved again",
                metadata: ["fields": "\(settings.notUnderstood.joined(separator: ", "))"]
            )
        }
        if !settings.timers.corrected.isEmpty {
            logger.warning(
                "stored times of Tap are not used as they stand",
                metadata: ["times": "\(settings.timers.corrected.joined(separator: ", "))"]
            )
        }
        let (password, terminalKeys) = (try await password(), try await terminalKeys())
        let (certificate, tag) = (try await keptCertificate(), try await keptTag())
        // All at once: what the earlier account answers is never kept as the new one's.
        (keys, kept, tagID, acquirer) = (terminalKeys, certificate, tag, nil)
        current = StoredTapSettings(settings: settings, version: stored?.version ?? 0, hasPassword: password != nil)

        // Also while Tap is switched off: what is open is followed.
        if let password, !settings.acquirerURL.isEmpty {
            do {
                let account = TapAccount(
                    client: try connect(settings.acquirerURL),
                    identifier: settings.acquirerLogin,
                    password: password
                )
                let clock = clock
                acquirer = TapAcquirerClient(
                    account: account,
                    url: settings.acquirerURL,
                    terminalID: settings.terminalID
                ) {
                    Int(clock.wallTime().secondsSince1970)
                }
            } catch {
                hindrance = Reason(
                    code: "acquirer_address",
                    message: "The acquirer’s address cannot be used.",
                    action: "Correct it in the settings."
                )
            }
        }
        await putIntoForce()
    }

    /// What is wrong with a form, by field; empty where it could be saved.
    public func validate(_ form: TapForm) -> [String: Reason] {
        do throws(FormErrors) {
            _ = try form.checked(
                over: current?.settings ?? TapSettings(),
                hasPassword: keepsPassword(form),
                acquirers: acquirers
            )
            return [:]
        } catch { return error.fields }
    }

    /// The stored password belongs to the stored acquirer: sent to another address it would be given away.
    private func keepsPassword(_ form: TapForm) -> Bool {
        guard let current, current.hasPassword else { return false }
        return form.acquirerURL.map { AcquirerAddress.areSame($0, current.settings.acquirerURL) } ?? true
    }

    /// Whether a form would have payments executed at another acquirer, or as somebody else there. Another spelling of the
    /// same address is no other acquirer.
    public func movesPayments(_ form: TapForm) -> Bool {
        guard let settings = current?.settings else { return false }
        return form.acquirerURL.map { !AcquirerAddress.areSame($0, settings.acquirerURL) } ?? false
            || form.acquirerLogin.map { $0 != settings.acquirerLogin } ?? false
    }

    /// Whether a form takes more without the acquirer's answer than the settings in force do, or begins to take payments by phone.
    public func raisesRisk(_ form: TapForm) -> Bool {
        guard let settings = current?.settings else { return true }
        func isMore(_ wanted: Int64?, _ now: some BinaryInteger) -> Bool { wanted.map { $0 > Int64(now) } ?? false }
        return form.isEnabled == true && !settings.isEnabled
            || form.isOfflineAllowed == true && !settings.offline.isAllowed
            || isMore(form.offlineFloorMinor, settings.offline.floorMinorUnits)
            || isMore(form.offlineTotalMinor, settings.offline.totalMinorUnits)
            || isMore(form.offlineHours, settings.offline.maximumHours)
    }

    /// Checks and stores a form, and puts it into force at once. Payments under way keep what they were made with.
    /// - Parameter version: Of the settings that the form was made from; 0: there were none.
    /// - Throws: ``SettingsError``: nothing has changed.
    public func save(
        _ form: TapForm,
        replacing version: Int,
        by actor: Actor
    ) async throws(SettingsError) -> StoredTapSettings {
        await turn.enter()
        defer { turn.leave() }
        guard version == current?.version ?? 0 else { throw .conflict }
        let settings: TapSettings
        do throws(FormErrors) {
            settings = try form.checked(
                over: current?.settings ?? TapSettings(),
                hasPassword: keepsPassword(form),
                acquirers: acquirers
            )
        } catch { throw .invalid(error) }
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(settings)) } catch {
                throw JournalError.unavailable(detail: "the Tap settings cannot be written: \(error)")
            }
            // A password goes with its acquirer: one that stayed would be sent to the next address.
            let isElsewhere =
                !AcquirerAddress.areSame(settings.acquirerURL, current?.settings.acquirerURL ?? "")
                && current?.hasPassword == true
            let typed = form.acquirerPassword.flatMap { $0.isEmpty ? nil : Array($0.utf8) }
            // With the settings or not at all: a tag that could not be kept would leave half of the form in force.
            let tag = form.renewsTag == true ? Self.freshTag() : nil
            let change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: .version(version == 0 ? nil : version),
                with: typed != nil || isElsewhere ? SecretChange(name: Self.passwordName, bytes: typed) : nil,
                and: tag.map { (Self.tagDocument, Self.tagBytes($0)) },
                by: actor,
                at: clock.wallTime()
            )
            if case .stored = change {
                do throws(JournalError) { try await load() } catch {
                    // The earlier account's merchant would be paid for as long as nobody reads the new one.
                    acquirer = nil
                    await putIntoForce()
                    throw error
                }
                wake?.yield()
                if let current { return current }
            }
        } catch { throw .journal(error) }
        throw .conflict
    }

    private func password() async throws(JournalError) -> Secret? {
        do throws(JournalError) {
            return try await journal.secret(Self.passwordName).map { Secret(String(decoding: $0, as: UTF8.self)) }
        } catch {
            guard case .corrupt(let detail) = error else { throw error }
            logger.error("the acquirer's password cannot be read; enter it again", metadata: ["error": "\(detail)"])
            return nil
        }
    }

    // MARK: - Keys and certificate

    private func terminalKeys() async throws(JournalError) -> TapTerminalKeys {
        let agreement = try await secret("tap-agreement-key")
        let signing = try await secret("tap-signing-key")
        do {
            return TapTerminalKeys(
                agreement: try AgreementKey(bytes: agreement),
                signer: try Ed25519Signer(seed: signing)
            )
        } catch { throw .corrupt(detail: "the terminal's keys cannot be read: \(error)") }
    }

    /// 32 bytes that this terminal has made for itself.
    private func secret(_ name: String) async throws(JournalError) -> [UInt8] {
        if let stored = try await journal.secret(name) { return stored }
        var generator = SystemRandomNumberGenerator()
        let fresh = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        try await journal.setSecret(name, fresh, by: .terminal, at: clock.wallTime())
        return fresh
    }

    private func keptCertificate() async throws(JournalError) -> KeptCertificate? {
        guard let stored = try await journal.document(Self.certificateDocument) else { return nil }
        guard case .map(let map)? = try? CBOR(decoding: stored.bytes), case .bytes(let bytes)? = map[1],
            case .text(let url)? = map[2], case .array(let items)? = map[3],
            let certificate = try? Signed<TerminalCertificate>(decoding: bytes)
        else { return nil }  // Renewed as if there were none.
        var trusted = GatewayKeys()
        for case .array(let parts) in items {
            guard parts.count == 3, case .text(let issuer) = parts[0], case .bytes(let id) = parts[1],
                case .bytes(let key) = parts[2]
            else { return nil }
            trusted.add(issuer: issuer, keyID: id, ed25519: key)
        }
        var login: String?
        if case .text(let text)? = map[4] { login = text }
        return KeptCertificate(
            certificate: certificate,
            trusted: trusted,
            acquirerURL: url,
            login: login,
            madeAt: stored.changedAt
        )
    }

    /// Shows at the desk how Tap stands, until cancelled.
    public func show() async {
        for await status in await station.statuses() { await desk.setTap(status) }
    }

    /// Returns once Tap has been switched on: before that the radio is left alone.
    public func waitUntilEnabled() async {
        let changes = await station.changesFromNow()
        if current?.settings.isEnabled == true { return }
        for await _ in changes where current?.settings.isEnabled == true { return }
    }

    /// Renews the certificate in time, and tries again while there is none. Runs until cancelled.
    public func run() async {
        var pause = Duration.seconds(5)
        while !Task.isCancelled {
            // A new one for each wait: a stream whose reader was cancelled has ended, and would wake at once for ever.
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            wake = continuation
            let isDone = await renew()
            pause = isDone ? .seconds(3600) : min(pause * 2, .seconds(60))
            let wait = isDone ? .seconds(3600) : pause
            await withTaskGroup { group in
                group.addTask { try? await self.clock.sleep(wait) }  // Cancelled: the terminal stops.
                group.addTask { for await _ in stream { return } }
                await group.next()
                group.cancelAll()
            }
            if isDone { pause = .seconds(5) }
        }
    }
    private var wake: AsyncStream<Void>.Continuation?

    /// True where there is nothing to try again soon.
    private func renew() async -> Bool {
        guard let settings = current?.settings, let acquirer, let keys else { return true }
        if !settings.isEnabled {
            // What is open is followed also while Tap is switched off, and never with another login's certificate.
            if let kept, isOurs(kept, settings) { return true }
            guard await isNeeded else { return true }
        }
        let now = clock.wallTime()
        if let kept, isOurs(kept, settings), kept.madeAt.duration(to: now) < Self.renewAfter {
            // Also says whether the acquirer is there.
            let word = await acquirer.keys(issuer: kept.certificate.payload.issuer)
            await station.note(word)
            guard case .keys(let trusted) = word else { return false }
            if trusted != kept.trusted { await keep(kept.certificate, trusted, of: settings) }
            await putIntoForce()
            return true
        }
        switch await acquirer.certificate(for: keys) {
        case .issued(let certificate, let trusted):
            let check = RequestCheck(trusted: trusted, environment: certificate.payload.environment)
            let milliseconds = Int(now.millisecondsSince1970)
            guard
                (try? check.check(certificate, terminalKey: keys.agreement.publicKey, nowMilliseconds: milliseconds))
                    != nil
            else {
                hinder("certificate_invalid", "The acquirer’s certificate does not fit this terminal or this time.")
                return await refresh(false)
            }
            // The proof that the keys are ours names the time, and the acquirer refuses one that is off.
            await station.noteClockChecked()
            await station.note(online: true)
            await keep(certificate, trusted, of: settings)
            hindrance = nil
            return await refresh(true)
        case .refused(let code):
            await station.noteRefusal()
            hinder("acquirer_refuses", "The acquirer does not take this terminal (\(Reason.clean(code))).")
            return await refresh(false)
        case .noAnswer(let reason):
            await station.note(online: false)
            hinder("acquirer_silent", "The acquirer cannot be reached (\(Reason.clean(reason))).")
            return await refresh(false)
        }
    }

    private func hinder(_ code: String, _ message: String) {
        hindrance = Reason(
            code: code,
            message: message + " Charges go on by QR code.",
            action: "Check the acquirer’s settings and the network."
        )
    }

    private func refresh(_ isDone: Bool) async -> Bool {
        await putIntoForce()
        return isDone
    }

    /// - Parameter settings: Those whose account got the certificate.
    private func keep(
        _ certificate: Signed<TerminalCertificate>,
        _ trusted: GatewayKeys,
        of settings: TapSettings
    ) async {
        let items = trusted.all.sorted { ($0.issuer, $0.keyID.hexadecimal) < ($1.issuer, $1.keyID.hexadecimal) }
            .map { CBOR.array([.text($0.issuer), .bytes($0.keyID), .bytes($0.ed25519)]) }
        let body: CBORMap = [
            1: .bytes(certificate.encoded), 2: .text(settings.acquirerURL), 3: .array(items),
            4: .text(settings.acquirerLogin),
        ]
        let now = clock.wallTime()
        kept = KeptCertificate(
            certificate: certificate,
            trusted: trusted,
            acquirerURL: settings.acquirerURL,
            login: settings.acquirerLogin,
            madeAt: now
        )
        do throws(JournalError) {
            _ = try await journal.setDocument(
                Self.certificateDocument,
                CBOR.map(body).encoded,
                expecting: .any,
                by: .terminal,
                at: now
            )
        } catch {
            logger.error("the certificate is not kept", metadata: ["error": "\(error)"])
        }
    }

    /// Whether it was issued for what is set now: with another login's, money would go to that merchant. Of one whose login
    /// is not known nobody can say so, and it is renewed at once.
    private func isOurs(_ kept: KeptCertificate, _ settings: TapSettings) -> Bool {
        AcquirerAddress.areSame(kept.acquirerURL, settings.acquirerURL) && kept.login == settings.acquirerLogin
            && kept.certificate.payload.staticKey == keys?.agreement.publicKey
            && kept.certificate.payload.terminalID == settings.terminalID
    }

    private func putIntoForce() async {
        guard let stored = current, let keys else { return await station.use(nil) }
        let settings = stored.settings
        let none = Reason(
            code: "no_certificate",
            message: "The terminal has no certificate of the acquirer that holds now. Charges go on by QR code.",
            action: "Check the acquirer’s settings and the network."
        )
        let fault = Self.fault(in: settings)
        let why = fault ?? (settings.isEnabled ? hindrance ?? none : nil)
        guard let acquirer, let kept, isOurs(kept, settings) else { return await station.use(nil, because: why) }
        let isInTime = Int64(kept.certificate.payload.notAfterSeconds) > clock.wallTime().secondsSince1970
        let tag = await tag(keys, kept.certificate.payload.merchantName)
        let wallet = settings.walletProjectID.isEmpty ? nil : await makeWallet?(settings.walletProjectID)
        // Settings that came meanwhile put themselves into force.
        guard current == stored else { return }
        await station.use(
            TapStation.Setup(
                settings: settings,
                credentials: TapCredentials(keys: keys, certificate: kept.certificate, trusted: kept.trusted),
                acquirer: acquirer,
                tag: tag,
                wallet: wallet
            ),
            because: isInTime ? fault : why
        )
    }

    /// Why settings of another version offer nothing; nil where all of them is understood.
    private static func fault(in settings: TapSettings) -> Reason? {
        guard !settings.notUnderstood.isEmpty else { return nil }
        return Reason(
            code: "settings_not_understood",
            message:
                "Stored settings of Tap are not understood (\(settings.notUnderstood.joined(separator: ", "))). Charges "
                + "go on by QR code; payments under way are still followed.",
            action: "Look through the Tap settings and save them, or update the terminal."
        )
    }

    // MARK: - Tag

    private func tag(_ keys: TapTerminalKeys, _ name: String) async -> TerminalTag? {
        if tagID == nil {
            let fresh = Self.freshTag()
            do throws(JournalError) { try await keepTag(fresh) } catch {
                logger.error(
                    "the tag is not kept: what is printed now is void after the next start",
                    metadata: ["error": "\(error)"]
                )
                tagID = fresh
            }
        }
        guard let tagID else { return nil }
        return TerminalTag(tagID: tagID, terminalKey: keys.agreement.publicKey, name: name)
    }

    private static func freshTag() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// Stickers and displays carry it: it outlives every restart.
    private func keepTag(_ id: [UInt8]) async throws(JournalError) {
        _ = try await journal.setDocument(
            Self.tagDocument,
            Self.tagBytes(id),
            expecting: .any,
            by: .terminal,
            at: clock.wallTime()
        )
        tagID = id
    }

    private static func tagBytes(_ id: [UInt8]) -> [UInt8] { CBOR.map([1: .bytes(id)]).encoded }

    private func keptTag() async throws(JournalError) -> [UInt8]? {
        guard let stored = try await journal.document(Self.tagDocument) else { return nil }
        guard case .map(let map)? = try? CBOR(decoding: stored.bytes), case .bytes(let id)? = map[1], id.count == 16
        else { return nil }  // Made anew as if there were none.
        return id
    }
}
