import Acquirer
import Journal
public import Logging
public import Payments
public import TapProtocol

/// The place where phones are met: one radio, the sales that wait for phones, and what is kept of them.
///
/// Charges go on without it: where radio, certificate or acquirer are missing, it says so and takes no payment.
public actor TapStation {
    /// What the settings and the acquirer's certificate make of this terminal.
    public struct Setup: Sendable {
        public var settings: TapSettings
        public var credentials: TapCredentials
        public var acquirer: any TapAcquirer
        /// What phones read in tagged mode.
        public var tag: TerminalTag?
        /// Nil where wallets without network of their own are not served.
        public var wallet: (any TapWalletGateway)?

        public init(
            settings: TapSettings,
            credentials: TapCredentials,
            acquirer: any TapAcquirer,
            tag: TerminalTag? = nil,
            wallet: (any TapWalletGateway)? = nil
        ) {
            (self.settings, self.credentials, self.acquirer, self.tag) = (settings, credentials, acquirer, tag)
            self.wallet = wallet
        }

        /// Whether its acquirer, asked as its merchant, knows of this payment. Names are the merchants': to another one the
        /// same acquirer says that there is no such payment, and money that was taken would pass for none.
        func serves(_ story: TapStory) -> Bool {
            let (own, its) = (credentials.certificate.payload, story.certificate.payload)
            return AcquirerAddress.areSame(acquirer.url, story.acquirerURL)
                && own.merchantID.utf8.elementsEqual(its.merchantID.utf8)
        }

        /// The way to the gateway that this payment's wallets were offered; nil where that is none or another one.
        func wallet(for story: TapStory) -> (any TapWalletGateway)? {
            guard let wallet else { return nil }
            for case .walletOverTap(let host, _) in story.request.payload.offeredRails
            where host.lowercased() == wallet.host.lowercased() { return wallet }
            return nil
        }
    }

    enum Job: Sendable {
        case run(TapSale)
        case announce(TapStory, any TapAcquirer)
        case serve(TapLink)
        case measure(TapCalibrator, Int)
        /// For the next start: the acquirer answered then.
        case keepAnswer(WallTime)
    }

    /// What is remembered of a phone that was tried.
    struct Tried {
        var link = TerminalLink()
        /// When it may be tried again.
        var notBefore = Duration.zero
    }

    /// How long is waited for what.
    var timers: TapTimers { setup?.settings.timers ?? TapTimers() }

    let radio: any TapRadio
    let archive: TapArchive
    let clock: TerminalClock
    let logger: Logger
    var setup: Setup?
    /// Why no payment can be made, besides the radio.
    public internal(set) var hindrance: Reason?
    /// The radio's last word; before it looked, that it is ready.
    public internal(set) var radioHealth = TapRadioHealth.ready
    /// When a phone was heard last; nil: not since the start.
    public internal(set) var lastHeard: WallTime?
    /// Why scans do not begin, and when one did not last; nil once one does.
    var scanFault: (reason: String, at: Duration)?
    var sales: [PaymentID: TapSale] = [:]
    /// Linked or being linked, by the radio's name for the phone.
    var linked: [TapSighting.PhoneAddress: TapLink] = [:]
    var tried: [TapSighting.PhoneAddress: Tried] = [:]
    /// The phone to which no link could be made last.
    var lastFailed: TapSighting.PhoneAddress?
    var gate: ProximityGate?
    /// Until when phones are only heard, and none is chosen yet.
    var listensUntil = Duration.zero
    /// Until when nobody new is looked for.
    var restsUntil = Duration.zero
    /// Sessions whose phone left in the middle, with their payment and how long they are looked for.
    var lost: [[UInt8]: (payment: PaymentID, until: Duration)] = [:]
    /// When the acquirer answered last, also before the start, once that was asked for. A "no" is no answer.
    var answered: AcquirerAnswer?
    /// By elapsed time: when the last answer was kept.
    var answerKeptAt: Duration?
    var isAnswerRecalled = false
    /// Whether the acquirer was there when it was asked last, and when that was.
    public internal(set) var isReachable = false
    var heardAt: Duration?
    /// Whether its last word was an answer: neither silence nor a "no".
    var isWelcome = false
    let probing = Turnstile()
    /// Ends the pause between two uploads; nil while there is none.
    var uploadWake: AsyncStream<Void>.Continuation?
    /// Whether the machine's clock was set by somebody who knows the time.
    let isMachineClockSet: @Sendable () -> Bool
    /// Where the wall clock stood when the acquirer checked it last.
    var checkedClock: Duration?
    /// Nil where what was taken changed since it was read.
    var book: VoucherBook? { didSet { if book == nil { bookEdition += 1 } } }
    /// Counts how often it did.
    var bookEdition = 0
    /// Payments that were taken offline and are not over.
    var waiting = 0
    var plight = OfflinePlight()
    /// How often the acquirer was told of each of them since the start.
    var told: [PaymentID: Int] = [:]
    let uploadLimit: Int
    /// How many the next upload carries.
    var uploadSize: Int
    /// The way to a charge that this station has news of.
    var reach: (@Sendable (ChargeID, Attempt.ID) async -> AttemptLink?)?
    let jobs = AsyncStream<Job>.makeStream()
    private let changes = Listeners<Void>(.newestOnly)
    private let viewers = Listeners<TapStatus>(.newestOnly)
    private let making = Turnstile()
    /// On the clock's `elapsed`.
    let startedAt: Duration

    public static let maximumLinks = 4

    /// - Parameters:
    ///   - isClockSet: Whether the machine's clock was set by somebody who knows the time. A terminal without the time takes
    ///     no vouchers, unless its acquirer has checked its clock.
    ///   - uploadLimit: How many payments that were taken offline one upload carries, 1 to 32.
    public init(
        radio: any TapRadio,
        journal: any TapJournal,
        clock: TerminalClock,
        logger: Logger,
        isClockSet: @escaping @Sendable () -> Bool = { true },
        uploadLimit: Int = 16
    ) {
        (self.radio, self.clock, self.logger, isMachineClockSet) = (radio, clock, logger, isClockSet)
        self.uploadLimit = min(max(uploadLimit, 1), 32)
        uploadSize = self.uploadLimit
        archive = TapArchive(journal: journal, clock: clock)
        startedAt = clock.elapsed()
    }

    /// Works until cancelled, which stops the asking and never a payment.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.seek() }
            group.addTask { await self.watchRadio() }
            group.addTask { await self.synchronise() }
            group.addTask { await self.tidy() }
            for await job in self.jobs.stream {
                switch job {
                case .run(let sale): group.addTask { await self.run(sale) }
                case .announce(let story, let acquirer): group.addTask { await self.announce(story, to: acquirer) }
                case .serve(let link): group.addTask { await self.serve(link) }
                case .measure(let calibrator, let number): group.addTask { await calibrator.measure(number) }
                case .keepAnswer(let time): group.addTask { await self.keepAnswer(time) }
                }
            }
            group.cancelAll()
        }
    }

    /// Takes what holds from now on. Payments under way stay with the acquirer and the merchant that they were made for.
    ///
    /// A setup that is switched off or hindered makes no payment; what is open is followed with it all the same.
    /// - Parameter hindrance: Why no payment can be made, in words for the owner.
    public func use(_ setup: Setup?, because hindrance: Reason? = nil) async {
        (self.setup, self.hindrance) = (setup, hindrance)
        if let setup { for sale in sales.values { await sale.use(setup) } }
        gate = nil
        book = nil
        await changed()
        await queueChanged()
    }

    /// Takes the way to charges, for news of those that nobody follows.
    public func serve(_ desk: ChargeDesk) { reach = { await desk.link(to: $0, attempt: $1) } }

    /// Forgets vouchers that have ended, now and then. Runs until cancelled.
    private func tidy() async {
        while !Task.isCancelled {
            // By a wrong clock they might not have ended.
            if isClockSet {
                do throws(JournalError) { try await archive.forgetEndedVouchers() } catch {
                    logger.warning("vouchers that have ended are not forgotten yet", metadata: ["error": "\(error)"])
                }
                book = nil
            }
            do { try await clock.sleep(.seconds(21_600)) } catch { return }
        }
    }

    private func run(_ sale: TapSale) async {
        await sale.begin()
        await sale.run()
        sales[sale.name.payment] = nil
        lost = lost.filter { $0.value.payment != sale.name.payment }
        await changed()
    }

    // MARK: - Sales

    /// The sale of an attempt: the one under way, the one in the journal, or a new one.
    /// - Returns: Nil where none can be made now.
    func sale(for attempt: AttemptLink, makes: Bool) async throws(JournalError) -> TapSale? {
        await making.enter()
        defer { making.leave() }
        if let known = sales.values.first(where: { $0.name.charge == attempt.terms.id && $0.name.attempt == attempt.id }
        ) {
            await known.follow(attempt)
            return known
        }
        if let story = try await archive.story(of: attempt.terms.id, attempt: attempt.id) {
            guard let setup else { return nil }
            return add(TapSale(story: story, attempt: attempt, tools: tools(setup, for: story)))
        }
        guard makes, let setup else { return nil }
        // The request says whether the terminal is online; phones choose by that what they pay with.
        async let isOnline = confirmOnline()
        let shown = await shownOffer(of: attempt)
        guard let story = newStory(attempt, setup, shown, isOnline: await isOnline) else { return nil }
        try await archive.keep(
            [.requested(story.certificate, story.request, acquirerURL: story.acquirerURL)],
            of: story.name
        )
        let sale = add(TapSale(story: story, attempt: attempt, tools: tools(setup, for: story)))
        // Once for each request, and beside everything else: a phone shows also what the acquirer has not heard of.
        if story.request.payload.flags.contains(.terminalOnline) {
            jobs.continuation.yield(.announce(story, setup.acquirer))
        }
        return sale
    }

    private func announce(_ story: TapStory, to acquirer: any TapAcquirer) async {
        guard let reason = await acquirer.announce(story.request, of: story.certificate) else { return }
        logger.info(
            "the acquirer was not told of a request: phones cannot compare it",
            metadata: ["payment": "\(story.name.payment)", "reason": "\(reason)"]
        )
    }

    private func add(_ sale: TapSale) -> TapSale {
        sales[sale.name.payment] = sale
        tried = [:]
        jobs.continuation.yield(.run(sale))
        return sale
    }

    private func tools(_ setup: Setup, for story: TapStory) -> TapSale.Tools {
        TapSale.Tools(
            credentials: setup.credentials,
            archive: archive,
            acquirer: setup.serves(story) ? setup.acquirer : nil,
            clock: clock,
            timers: timers,
            logger: logger,
            host: self,
            wallet: setup.wallet(for: story)
        )
    }

    /// The gateway's payment behind the code on the screen; a moment is given to it to be made.
    private func shownOffer(of attempt: AttemptLink) async -> Offer? {
        for _ in 0..<10 {
            let scans = await attempt.charge()?.attempts.filter { $0.rail == .scan && $0.isOpen } ?? []
            if let offer = scans.lazy.compactMap(\.offer).first(where: { $0.link != nil }) { return offer }
            guard !scans.isEmpty else { return nil }
            do { try await clock.sleep(.milliseconds(100)) } catch { return nil }  // Nobody waits any more.
        }
        return nil
    }

    private func newStory(
        _ attempt: AttemptLink,
        _ setup: Setup,
        _ shown: Offer?,
        isOnline: Bool
    ) -> TapStory? {
        var generator = SystemRandomNumberGenerator()
        let now = clock.wallTime()
        let terms = attempt.terms
        // A UUIDv7 as every charge's name, but of its own: it is the customer's to see.
        guard let payment = PaymentID(ChargeID(at: now, using: &generator).rawValue),
            let amount = Int(exactly: terms.amount.minorUnits)
        else { return nil }
        let made = Int(now.millisecondsSince1970)
        let life = min(max(Int(terms.deadline.millisecondsSince1970) - made, 15_000), 600_000)
        var flags: PaymentRequest.Flags = isOnline ? .terminalOnline : []
        if setup.settings.offline.isAllowed, isClockSet { flags.insert(.vouchersTaken) }
        let request = PaymentRequest(
            paymentID: payment,
            certificate: setup.credentials.certificate,
            operatorID: terms.operatorID,
            amount: amount,
            currency: terms.amount.currency.code,
            exponent: terms.amount.currency.exponent,
            createdAtMilliseconds: made,
            expiresAtMilliseconds: made + life,
            // A tip that staff have entered is in the amount.
            tip: terms.tip == nil ? setup.settings.tipTerms(for: amount) : .none,
            reference: terms.reference.map { WireText.sendable($0, limitBytes: 64) },
            flags: flags,
            rails: Self.rails(shown, setup)
        )
        do throws(SigningFailure) {
            return TapStory(
                name: TapStory.Name(charge: terms.id, attempt: attempt.id, payment: payment),
                certificate: setup.credentials.certificate,
                request: try Signed(signing: request, with: setup.credentials.keys.signer),
                acquirerURL: setup.acquirer.url
            )
        } catch {
            logger.error("a request cannot be signed", metadata: ["reason": "\(error.reason)"])
            return nil
        }
    }

    /// An instrument always; and the payment behind the code, paid by the phone or signed for by its wallet.
    private static func rails(_ shown: Offer?, _ setup: Setup) -> [RailOffer]? {
        guard let shown else { return nil }
        var rails = [RailOffer.instrument]
        if let link = shown.link, (1...1024).contains(link.utf8.count) { rails.append(.paymentLink(link)) }
        if let wallet = setup.wallet {
            rails.append(.walletOverTap(gatewayHost: wallet.host, gatewayPaymentID: shown.paymentID))
        }
        return rails.count > 1 ? rails : nil
    }

    private var makesPayments: Bool { setup?.settings.isEnabled == true && hindrance == nil }

    /// Whether a payment over BLE is open that somebody has to follow.
    var hasOpenPayments: Bool {
        get async {
            if waiting > 0 || !sales.isEmpty { return true }
            return (try? await archive.hasClaims()) ?? true  // Where the journal cannot say, better once too often.
        }
    }

    /// Why this charge cannot be paid over BLE; nil where it can.
    func refusal(of terms: ChargeTerms) -> Refusal? {
        guard let setup, makesPayments else {
            return Refusal(code: hindrance?.code ?? "tap_off", message: hindrance?.message ?? "Tap is not set up.")
        }
        let certificate = setup.credentials.certificate.payload
        guard certificate.currencies.contains(terms.amount.currency.code) else {
            return Refusal(code: "tap_currency", message: "The certificate does not name this currency.")
        }
        guard terms.amount.minorUnits <= certificate.maximumAmount else {
            return Refusal(code: "tap_amount", message: "The amount is above what the certificate allows.")
        }
        guard Int64(certificate.notAfterSeconds) > clock.wallTime().secondsSince1970 else {
            return Refusal(code: "tap_certificate", message: "The terminal's certificate has ended.")
        }
        return nil
    }

    // MARK: - What everybody sees

    public var status: TapStatus {
        get async {
            var status = TapStatus(waiting: waiting, notices: plight.reasons)
            status.light = light
            guard let setup, makesPayments else { return status }
            status.tagURI = tagURI
            for sale in sales.values where await !sale.isOver {
                status.phones += await sale.prompting.count
                var view = TapStatus.View(formURL: await sale.formURL)
                if let above = setup.settings.shortCodeAboveMinorUnits, sale.amount >= above {
                    view.shortCodes = await sale.shortCodes
                }
                if view != TapStatus.View() { status.views[sale.name.charge] = view }
            }
            return status
        }
    }

    private var light: TapStatus.Light {
        guard makesPayments else { return hindrance.map(TapStatus.Light.hindered) ?? .off }
        let fault =
            switch radioHealth {
            case .ready: scanFault?.reason
            case .off(let reason), .gone(let reason): reason
            }
        guard let fault else { return .ready }
        return .hindered(
            Reason(
                code: "radio_missing",
                message: "Bluetooth cannot be used: \(fault). Charges go on by QR code.",
                action: "Switch Bluetooth on, or check the adapter."
            )
        )
    }

    /// The status now, then each newer one.
    public func statuses() async -> AsyncStream<TapStatus> {
        // Joined before it is asked: what changes meanwhile is not missed.
        let stream = viewers.join()
        viewers.tell(await status)
        return stream
    }

    /// Something on each change, the newest only.
    func changesFromNow() -> AsyncStream<Void> { changes.join() }
}

extension TapStation: TapSaleHost {
    func changed() async {
        changes.tell(())
        viewers.tell(await status)
    }

    func recover(_ sessionID: [UInt8], of payment: PaymentID, within limit: Duration) async {
        lost[sessionID] = (payment, clock.elapsed() + limit)
        // The phone may be tried again although its link fell.
        tried = [:]
        await changed()
    }
}

extension TapSale {
    /// The digits of the phone that pays, or else of each that shows the request. A phone that has gone has none.
    var shortCodes: [String] {
        get async {
            var asked = prompting.sorted { $0.rawValue < $1.rawValue }
            if let payer = machine.winner?.link ?? pending?.link ?? walletWinner { asked = [payer] }
            var codes: [String] = []
            for link in asked { if let code = await links[link]?.shortCode { codes.append(code) } }
            return codes
        }
    }
}
