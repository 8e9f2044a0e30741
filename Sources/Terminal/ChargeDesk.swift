public import Journal
public import Logging
import Packing
public import Payments
import Screen

/// The one place that owns the active charges: it journals what happened before anything is done about it.
///
/// One charge at a time holds the terminal; open payments that it went on without are asked about in the background.
/// Everybody who shows a charge shows the desk's snapshots.
public actor ChargeDesk {
    let archive: any ChargeArchive
    let clock: TerminalClock
    let logger: Logger
    /// What has to be done after an event, by the task group of ``run()``.
    let jobs = AsyncStream<Job>.makeStream()

    var settings: MerchantSettings?
    var drivers: [Rail: any RailDriver] = [:]
    /// Rails that are switched off: they begin nothing, and what they began is followed to its end.
    var followers: [Rail: any RailDriver] = [:]
    /// Charges with an attempt that the authority has not ended, and the one whose result is on the screen.
    var charges: [ChargeID: Charge] = [:]
    var updated: [ChargeID: WallTime] = [:]
    /// When each charge's time is over, on the clock's `elapsed`.
    var deadlines: [ChargeID: Duration] = [:]
    /// The charge on the screen: under way, or just ended.
    var shown: ChargeID?
    /// Earlier payments still to be asked about; nil once the terminal takes charges. Not before `run()` has asked.
    var checking: Int? = 0
    var gateway = GatewayLight.unknown
    /// What staff may add to a charge.
    var tips = CounterTips()
    /// Wakes whoever asks about refunds that the gateway has not confirmed.
    let refundsAsked = AsyncStream<ChargeID>.makeStream(bufferingPolicy: .bufferingNewest(100))
    var tap = TapStatus()
    var connect = ConnectStatus()
    /// Charges whose code is for wallets that pair, where it is not for both.
    var turned: Set<ChargeID> = []
    var invitation: ClaimInvitation?
    var ownerReset: OwnerReset?
    /// Set while the owner is setting the terminal up.
    var setUp: SetUpProgress?
    /// What the shop's till has put on the screen for the time in which nobody pays.
    var message: ScreenMessage?
    /// What staff do on the keypad beside the screen.
    var keypad: Scene.Keypad?
    var keypadRules = CounterKeypad()
    /// A new version of the whole system, where one is on its way in or was just tried.
    var update: SystemUpdate?
    /// A backup, where one is on its way or just came to its end.
    var backup: BackupProgress?
    /// A phone that connects the terminal to Wi-Fi.
    var onboarding: Scene.Onboarding?
    var rest = ScreenRest()
    var sound = SoundSettings()
    /// How often somebody has touched the terminal without changing anything else.
    var wakes = 0
    /// Whether what an earlier run left open is at the desk. Before that the journal's word is older than what happened since.
    var isLoaded = false
    /// Charges of an earlier run that are not recorded as resumed yet: nobody has asked how they stand.
    var unresumed: Set<ChargeID> = []
    /// For those who follow charges from outside.
    var changes = ChargeChanges()
    /// The merchant's.
    var logo: Picture?
    /// When something was last heard of the gateway, by the monotonic clock; nil: not since it was set.
    private var gatewayHeardAt: Duration?
    /// When each payment that is under way came under way, by the monotonic clock.
    var processingSince: [ChargeID: Duration] = [:]
    /// What the screen said of each charge's QR code: true when its own pixels decode to the link.
    var readableOnScreen: [ChargeID: Bool] = [:]
    /// Whether the screen does not take what it should show.
    public internal(set) var isScreenDark = false
    /// What happened since the start, for ``measures``.
    var meter = ChargeMeter()
    /// Nil while customers have no page of their own.
    var pages: CustomerPages?
    /// What tells this terminal's charges from a neighbour's; nil before the program has said it.
    var mark: ChargeMark?
    /// Why the journal took nothing when it was tried last; nil while it takes what happens.
    var fault: JournalError?
    /// The same, kept for charges of which an answer is still missing after the journal works again.
    var lastFault: JournalError?
    /// Answers that came and are not in the journal.
    var missing = MissingAnswers()
    /// Charges that are not known by the storage alone, as it was told last.
    var unknownByStorage: Set<ChargeID> = []
    /// Wakes the one who tries the journal again.
    let storageTroubles = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    /// What staff have still to see, newest first.
    var notices: [PaymentNotice] = []
    private let viewers = Listeners<TerminalSnapshot>(.newestOnly)
    var endings: [JobKey: [AsyncStream<Never>.Continuation]] = [:]
    var running: Set<JobKey> = []
    /// When which payment is asked about without anybody waiting for it.
    var schedule = AskingSchedule()
    /// Wakes the one who asks by ``schedule``, where that sleeps.
    var alarm: AsyncStream<Never>.Continuation?
    /// Charges that are being asked about by ``schedule``, each with whether the last question was answered.
    var answered: [ChargeID: Bool] = [:]
    /// The causes of silences about attempts, where a rail knows them.
    var hindrances: [JobKey: AskingHindrance] = [:]
    /// How far the gateway's clock is ahead of the terminal's, by its last answer; nil before one.
    let gatewayAhead: @Sendable () -> Duration?
    /// Counts the results that came to the screen, so that only the newest one's time clears it.
    var results = 0
    let turn = Turnstile()
    let writing = Turnstile()

    /// How long a result stays on the screen before it is idle again.
    public struct ResultTimes: Sendable {
        public var ended: Duration
        /// Longer: staff must see it.
        public var unknown: Duration
        /// For a payment that nobody waited for, unless staff say before that they have seen it.
        public var notice: Duration

        public init(
            ended: Duration = .seconds(20),
            unknown: Duration = .seconds(60),
            notice: Duration = .seconds(30 * 60)
        ) {
            (self.ended, self.unknown, self.notice) = (ended, unknown, notice)
        }
    }
    let resultTimes: ResultTimes

    /// - Parameter gatewayAhead: How far the gateway's clock is ahead of the terminal's, by its last answer; nil before one.
    public init(
        archive: any ChargeArchive,
        clock: TerminalClock,
        logger: Logger,
        resultTimes: ResultTimes = ResultTimes(),
        gatewayAhead: @escaping @Sendable () -> Duration? = { nil }
    ) {
        self.gatewayAhead = gatewayAhead
        self.archive = archive
        self.clock = clock
        self.logger = logger
        self.resultTimes = resultTimes
    }

    // MARK: - What staff and tills ask

    /// Opens a charge and offers it on every rail, as ``openOnce(_:)``.
    public func open(_ request: ChargeRequest) async throws(ChargeRefusal) -> ChargeSnapshot {
        try await openOnce(request).charge
    }

    /// Opens a charge and offers it on every rail, or finds the one that was opened under the request's key. Returns once
    /// it is in the journal, and with it the audit log's line of it.
    /// - Throws: ``ChargeRefusal``: nothing was charged by this request.
    public func openOnce(
        _ request: ChargeRequest
    ) async throws(ChargeRefusal) -> (charge: ChargeSnapshot, isNew: Bool) {
        // Whoever waits for a storage that hangs would wait in the way of everybody else. A repeated request only reads.
        if isStalled {
            if let key = request.key, let earlier = try await chargeOpened(under: key) { return (earlier, false) }
            throw .journal(StallWatch.fault)
        }
        await turn.enter()
        defer { turn.leave() }
        if let key = request.key, let earlier = try await chargeOpened(under: key) { return (earlier, false) }
        let settings = try await acceptingSettings()
        try check(request)
        try await checkLimits(request, settings)

        var generator = SystemRandomNumberGenerator()
        let now = clock.wallTime()
        let terms = ChargeTerms(
            id: mark?.chargeID(at: now, using: &generator) ?? ChargeID(at: now, using: &generator),
            code: ChargeCode(using: &generator),
            amount: request.amount,
            tip: request.tip,
            reference: request.reference,
            note: request.note,
            merchantID: settings.merchantID,
            merchantName: settings.merchantName,
            operatorID: settings.operatorID,
            gatewayURL: settings.gatewayURL,
            openedBy: request.by,
            openedAt: now,
            timeLimitSeconds: settings.timeLimitSeconds,
            gatewayAheadSeconds: GatewayClock.correction(gatewayAhead())
        )
        // Its first attempts are in the same record: nothing leaves for one that is not.
        var steps = Steps(Charge(terms: terms))
        for (index, rail) in railsInOrder.enumerated() where steps.charge.canStart {
            steps.take(.attemptStarted(attempt: index + 1, rail: rail))
        }
        do throws(JournalError) {
            try await archive.open(terms, beginning: steps.events, under: request.key, from: request.from)
        } catch {
            note(error)
            throw .journal(error)
        }
        fault = nil
        charges[terms.id] = steps.charge
        updated[terms.id] = now
        deadlines[terms.id] = clock.elapsed() + .seconds(terms.timeLimitSeconds)
        meter.open(terms.id, at: clock.elapsed())
        if let shown, charges[shown]?.attempts.contains(where: \.isOpen) != true { forget(shown) }
        shown = terms.id
        logger.info(
            "charge opened",
            metadata: ["charge": "\(terms.id)", "amount": "\(settings.format.text(terms.amount))"]
        )
        jobs.continuation.yield(.watchDeadline(terms.id))
        tell(steps, from: Charge(terms: terms), at: now)
        return (try snapshot(of: terms.id), true)
    }

    /// Asks the authority to take the charge back. If a payment was faster, the payment counts.
    public func cancel(_ id: ChargeID, by actor: Actor) async throws(ChargeRefusal) -> ChargeSnapshot {
        try await change(id, .cancelRequested(by: actor)) { $0.canCancel || $0.isCancelRequested }
    }

    /// Lets the terminal go on without an answer. The charge stays open and is asked about in the background.
    public func release(_ id: ChargeID, by actor: Actor) async throws(ChargeRefusal) -> ChargeSnapshot {
        try await change(id, .released(by: actor)) { $0.canRelease || $0.isReleased }
    }

    /// - Throws: ``ChargeRefusal/starting`` in the first moments of a run: what stands in the journal was not asked about yet.
    /// Takes a result off the screen before its time: staff go on with the next customer. An undecided charge is asked about as before.
    /// Nothing happens where another page is on the screen.
    /// - Throws: ``ChargeRefusal``: the charge still holds the terminal, or there is none of this name.
    public func putAway(_ id: ChargeID) async throws(ChargeRefusal) -> ChargeSnapshot {
        let charge = try await self.charge(id)
        guard !charge.charge.holdsTerminal else { throw tooLate(charge.charge) }
        clearResult(of: id)
        return charge
    }

    /// Takes whichever result is on the screen off it.
    func putAwayResult() {
        if let shown { clearResult(of: shown) }
    }

    func clearResult(of id: ChargeID) {
        guard shown == id, let charge = charges[id], !charge.holdsTerminal else { return }
        shown = nil
        if !charge.attempts.contains(where: \.isOpen) { forget(id) }
        publish()
    }

    public func charge(_ id: ChargeID) async throws(ChargeRefusal) -> ChargeSnapshot {
        guard isLoaded, !unresumed.contains(id) else { throw .starting }
        if charges[id] != nil { return try snapshot(of: id) }
        let format = format
        do throws(JournalError) {
            if let record = try await archive.record(of: id) {
                var snapshot = ChargeSnapshot(
                    charge: record.charge,
                    updatedAt: record.updatedAt,
                    secondsLeft: nil,
                    deadline: nil,
                    format: format,
                    recording: recording(of: record.charge)
                )
                snapshot.hindrance = hindrance(of: record.charge)
                return snapshot
            }
        } catch { throw .journal(error) }
        throw .notFound
    }

    /// What is written down of a charge, also before the desk has loaded it. For those who clear away what has ended: a charge that is
    /// open says so. Nil where there is none, or the journal cannot be read.
    func recorded(_ id: ChargeID) async -> Charge? {
        if let charge = charges[id] { return charge }
        return try? await archive.record(of: id)?.charge
    }

    /// Newest first, `limit` at most. `before` continues after the last one of an earlier page.
    public func history(
        before: ChargeID?,
        limit: Int,
        state: Charge.State?
    ) async throws(ChargeRefusal) -> [ChargeSnapshot] {
        guard isLoaded, unresumed.isEmpty else { throw .starting }
        let records: [(charge: Charge, updatedAt: WallTime)]
        do throws(JournalError) {
            records = try await archive.records(before: before, limit: limit, state: state)
        } catch { throw .journal(error) }
        return records.map { record in
            (try? snapshot(of: record.charge.id))  // The desk's own copy knows the time left; it may lack the charge.
                ?? ChargeSnapshot(
                    charge: record.charge,
                    updatedAt: record.updatedAt,
                    secondsLeft: nil,
                    deadline: nil,
                    format: format,
                    recording: recording(of: record.charge)
                )
        }
    }

    // MARK: - What the rest of the terminal tells it

    /// Takes what the merchant set. Charges under way keep what they were opened with.
    /// - Parameters:
    ///   - followers: Rails that are switched off. No charge is offered on them; payments that they began are asked about.
    ///   - keepsLight: The gateway is the same as before, and so is what is known of it.
    public func use(
        _ settings: MerchantSettings?,
        drivers: [any RailDriver],
        followers: [any RailDriver] = [],
        keepsLight: Bool = false
    ) {
        self.settings = settings
        self.drivers = Dictionary(drivers.map { ($0.rail, $0) }) { first, _ in first }
        self.followers = Dictionary(followers.map { ($0.rail, $0) }) { first, _ in first }
        if !keepsLight { (gateway, gatewayHeardAt) = (.unknown, nil) }
        publish()
    }

    /// Takes the terminal's mark: charges that are opened from now on bear it in their names.
    public func use(_ mark: ChargeMark) { self.mark = mark }

    /// Shows how to claim the terminal or to set a new password; nil once it is done. Charges come first.
    public func setClaim(_ invitation: ClaimInvitation?) {
        self.invitation = invitation
        publish()
    }

    /// Takes the result of a question that was not about a charge, such as a connection test.
    public func setGateway(_ light: GatewayLight) {
        gatewayHeardAt = clock.elapsed()
        guard gateway != light else { return }
        gateway = light
        if light == .ready { silenceIsOver() }
        publish()
    }

    /// Takes the screen's word on a charge's QR code, after it decoded its own pixels. Until then the charge does not
    /// count as shown.
    public func screenShows(_ id: ChargeID, isReadable: Bool) {
        guard charges[id] != nil, readableOnScreen[id] != isReadable else { return }
        readableOnScreen[id] = isReadable
        if let charge = charges[id] { meter.show(charge, isReadable: isReadable, at: clock.elapsed()) }
        logger.log(
            level: isReadable ? .debug : .error,
            isReadable ? "the QR code is on the screen and can be read" : "the screen's QR code cannot be read",
            metadata: ["charge": "\(id)"]
        )
        publish()
    }

    /// Takes the screen's word on whether it shows what it should.
    func screenStands(_ failure: ScreenError?) {
        isScreenDark =
            switch failure {
            case .cannotOpen, .cannotDraw: true
            case .qrTooLong, .qrNotReadable, .closed, nil: false
            }
    }

    /// Whether the gateway is to be asked how it is: it is not known to be ready, or that was heard so long ago.
    func mustAskGateway(after age: Duration) -> Bool {
        guard gateway == .ready, let gatewayHeardAt else { return true }
        return clock.elapsed() - gatewayHeardAt >= age
    }

    public var format: AmountFormat { settings?.format ?? .english }

    // MARK: - What everybody sees

    public var snapshot: TerminalSnapshot {
        var snapshot = TerminalSnapshot(
            phase: phase,
            gateway: gateway,
            merchantName: settings?.merchantName,
            language: settings?.language,
            trouble: unknownByStorage.isEmpty ? fault?.reason : fault?.reasonAtCharge,
            notices: notices,
            tap: tap,
            connect: connect,
            setUp: setUp,
            message: message,
            logo: logo,
            keypad: keypad,
            update: update,
            backup: backup,
            onboarding: onboarding,
            ownerReset: ownerReset,
            rest: rest,
            wakes: wakes,
            sound: sound,
            at: clock.wallTime()
        )
        snapshot.zone = shopZone
        return snapshot
    }

    /// The snapshot now, then each newer one. A slow reader gets the newest and misses the ones between.
    public func snapshots() -> AsyncStream<TerminalSnapshot> { view().snapshots }

    /// As ``snapshots()``, for those who have newcomers of their own: ``tellAgain(_:)`` says to `viewer` what is now.
    public func view() -> (viewer: Int, snapshots: AsyncStream<TerminalSnapshot>) {
        viewers.joinByNumber(beginningWith: snapshot)
    }

    /// Says the snapshot now, in its order among the others.
    public func tellAgain(_ viewer: Int) { viewers.tell(snapshot, only: viewer) }

    private var phase: TerminalSnapshot.Phase {
        if let checking { return .starting(checking: checking) }
        if let shown, let snapshot = try? snapshot(of: shown) { return .charging(snapshot) }
        if let invitation { return invitation.purpose == .claim ? .unclaimed(invitation) : .resetting(invitation) }
        return settings == nil ? .setup : .idle
    }

    func publish() { viewers.tell(snapshot) }

    func snapshot(of id: ChargeID) throws(ChargeRefusal) -> ChargeSnapshot {
        guard let charge = charges[id] else { throw .notFound }
        let waits = charge.state == .requiresAction || charge.state == .created
        let recording = recording(of: charge)
        // While nobody can say how it stands no time is counted down for the customer.
        let deadline = waits && !charge.isReleased && recording == .works ? deadlines[id] : nil
        let left = deadline.map { max(.zero, $0 - clock.elapsed()) }
        var snapshot = ChargeSnapshot(
            charge: charge,
            updatedAt: updated[id] ?? charge.terms.openedAt,
            secondsLeft: left.map { Int($0.components.seconds) },
            deadline: deadline,
            format: format,
            isReadableOnScreen: readableOnScreen[id],
            connect: connect.charges[id],
            codeChoice: connect.usesOneCode ? .both : turned.contains(id) ? .pairing : .payment,
            recording: recording
        )
        snapshot.zone = shopZone
        snapshot.hindrance = hindrance(of: charge)
        let processing = charge.state == .processing ? processingSince[id].map { clock.elapsed() - $0 } : nil
        snapshot.processingSeconds = processing.map { Int(max(.zero, $0).components.seconds) }
        snapshot.releaseInSeconds = ReleaseOffer.seconds(for: charge, processing: processing)
        snapshot.page = pages?.link(for: snapshot)
        return snapshot
    }
}

// MARK: - Checks before a charge

extension ChargeDesk {
    private func chargeOpened(under key: IdempotencyKey) async throws(ChargeRefusal) -> ChargeSnapshot? {
        let earlier: (id: ChargeID, requestDigest: [UInt8])?
        do throws(JournalError) { earlier = try await archive.chargeOpened(under: key.key) } catch {
            throw .journal(error)
        }
        guard let earlier else { return nil }
        guard earlier.requestDigest == key.requestDigest else { throw .idempotencyConflict }
        return try await charge(earlier.id)
    }

    private func acceptingSettings() async throws(ChargeRefusal) -> MerchantSettings {
        // A broken storage comes first: finishing another charge would not help.
        if let fault, await archive.writeFault() != nil { throw .journal(fault) }
        if let checking { throw .notReady(checking: checking) }
        if update?.holdsTerminal == true { throw .updating }
        guard let settings, !drivers.isEmpty else { throw .notSetUp }
        if let holder = charges.values.first(where: \.holdsTerminal) { throw .busy(holder.id) }
        return settings
    }

    private func check(_ request: ChargeRequest) throws(ChargeRefusal) {
        if let reference = request.reference, !ChargeRequest.isValid(reference: reference) { throw .invalidReference }
        if let note = request.note, !ChargeRequest.isValid(note: note) { throw .invalidNote }
        if let tip = request.tip {
            // A shop's own till says what its customers added; what staff may add is the owner's to say.
            if case .staff = request.by, tips.mode == .none { throw .tipsAreOff }
            let bill = Money(
                minorUnits: request.amount.minorUnits - min(tip.minorUnits, request.amount.minorUnits),
                currency: request.amount.currency
            )
            guard tip.minorUnits < request.amount.minorUnits, tips.policy.allows(tip, of: bill) else {
                throw .invalidTip
            }
        }
    }

    private func checkLimits(_ request: ChargeRequest, _ settings: MerchantSettings) async throws(ChargeRefusal) {
        if let own = request.ownMaximumMinorUnits, request.amount.minorUnits > own {
            throw .aboveOwnLimit(Money(minorUnits: own, currency: settings.currency))
        }
        var openedLastHour: Int64 = 0
        if settings.limits.maximumPerHourMinorUnits != nil {
            let since = clock.wallTime().advanced(by: .seconds(-3600))
            do throws(JournalError) {
                openedLastHour = try await archive.openedMinorUnits(since: since, currency: settings.currency)
            } catch { throw .journal(error) }
        }
        do throws(ChargeLimits.Violation) {
            try settings.limits.check(
                request.amount,
                currency: settings.currency,
                openedLastHourMinorUnits: openedLastHour
            )
        } catch { throw .limit(error) }
    }

    /// That nothing can be done with a charge now: by its state, or because an answer about it is not recorded.
    private func tooLate(_ charge: Charge) -> ChargeRefusal {
        if case .answerMissing(let reason) = recording(of: charge) { return .unrecorded(reason) }
        return .tooLate(charge.state)
    }

    private func change(
        _ id: ChargeID,
        _ event: Charge.Event,
        where allowed: (Charge) -> Bool
    ) async throws(ChargeRefusal) -> ChargeSnapshot {
        guard isLoaded, !unresumed.contains(id) else { throw .starting }
        guard let charge = charges[id] else { throw .tooLate(try await self.charge(id).charge.state) }
        guard allowed(charge) else { throw tooLate(charge) }
        guard !isStalled else { throw .unrecorded(recording(of: charge).reason ?? StallWatch.fault.reason) }
        do throws(JournalError) { _ = try await record(event, of: id) } catch {
            throw charges[id].flatMap { recording(of: $0).reason }.map(ChargeRefusal.unrecorded) ?? .journal(error)
        }
        return try await self.charge(id)
    }
}

/// Lets one task through at a time, in the order they came. An actor alone would let a second one in at each `await`.
///
/// Used only from inside one actor, whose isolation guards its state.
final class Turnstile {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func enter(isolation: isolated (any _Concurrency.Actor)? = #isolation) async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
