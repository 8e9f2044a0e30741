import Logging
import Payments
import TapProtocol

/// What a sale needs of the station it belongs to.
protocol TapSaleHost: Sendable {
    /// How the acquirer answered a moment ago; nil where nobody asked it lately.
    func reachability() async -> Bool?
    /// Whether the acquirer answers now. Bounded in time.
    func confirmOnline() async -> Bool
    /// What the terminal risks on vouchers, and has taken of them.
    func voucherBook() async -> VoucherBook
    /// A voucher's spend was taken: a book that was made before does not know it.
    func voucherTaken() async
    /// The acquirer answered, or did not.
    func note(_ word: TapWord) async
    /// Something changed that the radio or the screen goes by.
    func changed() async
    /// Looks for a phone whose link has fallen, for that long at most.
    func recover(_ sessionID: [UInt8], of payment: PaymentID, within limit: Duration) async
    /// A payment was taken offline, or its end is known.
    func queueChanged() async
}

/// One payment over BLE: its serial executor. Whatever happens to it goes through here one after the other, into the journal
/// first, and only then to phones and acquirer. Source: BPP/1, section 14, rule R1.
actor TapSale: TapLink.Owner {
    /// What a sale works with.
    struct Tools: Sendable {
        var credentials: TapCredentials
        let archive: TapArchive
        /// Nil where the payment was made at another acquirer, or as another merchant, than what is set now.
        var acquirer: (any TapAcquirer)?
        let clock: TerminalClock
        let timers: TapTimers
        let logger: Logger
        let host: any TapSaleHost
        /// Nil where wallets are not served.
        var wallet: (any TapWalletGateway)?
    }

    enum Job: Sendable {
        case claim(ClaimStep)
        case settle(attempt: Int, submits: Bool)
        case overdue(attempt: Int, after: Duration)
        case expire
        case linger
        case report
        case wallet(LinkID, WalletStep)
        /// The phone that was to pay the link has had its time.
        case linkOverdue(ObjectHash)
    }

    /// An accept that has passed its checks and waits for the charge's word.
    struct Pending {
        let link: LinkID
        let sid: [UInt8]
        let accept: Signed<PaymentAcceptance>
        let pass: Signed<PaymentPass>
        let judged: Judgement
        /// The journal did not take its claim once.
        var isSecondTry = false
    }

    /// What the checks of an accept came to: who can execute it, on what ground, and when that was found.
    struct Judgement {
        let mode: PaymentClaim.Mode
        let isTerminalOnline: Bool
        let at: Duration
        /// Signed beside the checks, for where it is granted as judged. Nobody has seen it.
        let claim: Signed<PaymentClaim>?
    }

    nonisolated let name: TapStory.Name
    /// Minor units, without the tip.
    nonisolated let amount: Int64
    /// What the screen's code says in tagged mode: good for this charge alone.
    nonisolated let tag: TerminalTag
    private(set) var tools: Tools
    var story: TapStory
    var machine: TerminalPayment
    var attempt: AttemptLink
    var links: [LinkID: TapLink] = [:]
    /// Phones that show the request.
    var prompting: Set<LinkID> = []
    var pending: Pending?
    /// The number of the message that is being answered.
    var answering: Int?
    /// The number of each phone's accept, which its claim answers.
    var acceptNumbers: [LinkID: Int] = [:]
    var isCancelWanted = false
    var endsByExpiry = false
    /// The acquirer's word for a "no" that no receipt came with.
    var refusalCode: String?
    /// Wallets that are being served, and the one whose signatures the gateway has or whose phone pays the link.
    var visits: [LinkID: WalletVisit] = [:]
    var walletWinner: LinkID?
    var walletTransaction: String?
    var isWalletTold = false
    var isWalletFollowed = false
    /// For certain the gateway does not have the signatures, and gets them in a while.
    var isWalletWithheld = false
    /// What the desk has not taken yet.
    var unreported: Bool = false
    /// Whoever is told of a claim once phone and acquirer have been.
    private var untold: AsyncStream<Never>.Continuation?
    private var isAcquirerAsked = false
    private var isSpeaking = false
    let turn = Turnstile()
    let jobs = AsyncStream<Job>.makeStream()
    private var watchers: [AsyncStream<Never>.Continuation] = []
    private var settling: Set<Int> = []

    init(story: TapStory, attempt: AttemptLink, tools: Tools) {
        var story = story
        // Before anything is asked of it: while the gateway has signatures, no clock ends the payment.
        walletWinner = story.walletSession.map { story.link(of: $0) }
        (name, self.story, self.attempt, self.tools) = (story.name, story, attempt, tools)
        machine = story.machine
        amount = Int64(story.request.payload.amount)
        let terminal = story.certificate.payload
        tag = TerminalTag(for: story.request.hash, terminalKey: terminal.staticKey, name: terminal.merchantName)
    }

    var clock: TerminalClock { tools.clock }
    var nowMilliseconds: Int { Int(clock.wallTime().millisecondsSince1970) }
    var isOpen: Bool { machine.state == .open }
    var isOver: Bool { machine.state.isFinal }

    // MARK: - Life

    /// Does what the sale has to do until nothing is left of it.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await job in self.jobs.stream { group.addTask { await self.perform(job) } }
            group.cancelAll()
        }
        tellOthers()
        for watcher in watchers { watcher.finish() }
    }

    /// Begins, or goes on after a restart.
    func begin() async {
        await turn.enter()
        defer { turn.leave() }
        if isOver {
            await announce()
            jobs.continuation.yield(.linger)
            return await tools.host.queueChanged()
        }
        jobs.continuation.yield(.expire)
        if let walletWinner, isOpen {
            // Only the gateway's last word says whether it is over, also long after its time.
            jobs.continuation.yield(.wallet(walletWinner, .follow))
            if story.isLinkClaim, let claim = story.walletClaim {
                jobs.continuation.yield(.linkOverdue(claim.payload.acceptHash))
            } else if let signed = story.walletSignatures, let payment = gatewayPayment {
                jobs.continuation.yield(.wallet(walletWinner, .confirm(payment, signed, isFirst: false)))
            }
            await recover(walletWinner)
        } else {
            // For one that has just been made this only begins the search.
            await handle(.restarted(nowMilliseconds: nowMilliseconds, mayResume: canResume))
        }
        await tools.host.changed()
    }

    /// A request goes on after a restart only under the keys it was made under, and where its merchant can be paid.
    private var canResume: Bool {
        tools.acquirer != nil && story.certificate.payload.staticKey == tools.credentials.keys.agreement.publicKey
    }

    /// Ends when the payment is over for the desk.
    func ending() -> AsyncStream<Never> {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        if isOver { continuation.finish() } else { watchers.append(continuation) }
        return stream
    }

    private func perform(_ job: Job) async {
        switch job {
        case .claim(let step): await askForClaim(step)
        case .settle(let number, let submits):
            defer { tellOthers() }
            guard settling.insert(number).inserted else { return }
            await settle(number, submits: submits)
            settling.remove(number)
        case .overdue(let number, let limit):
            do { try await clock.sleep(limit) } catch { return }  // The terminal stops.
            await turn.enter()
            defer { turn.leave() }
            if machine.winner?.attempt == number { await handle(.executionOverdue) }
        case .expire: await expire()
        case .report: await report()
        case .wallet(let link, let step): await perform(step, for: link)
        case .linkOverdue(let accept):
            repeat {
                do { try await clock.sleep(tools.timers.executeByPhone) } catch { return }  // The next run asks again.
            } while await !linkOverdue(accept)
        case .linger:
            do { try await clock.sleep(tools.timers.recover) } catch { return }
            for link in links.values { await link.close() }
            jobs.continuation.finish()
        }
    }

    private func expire() async {
        let overdue = machine.expiresAtMilliseconds + TerminalPayment.expiryGraceMilliseconds + 1
        while !isOver {
            let left = overdue - nowMilliseconds
            do { try await clock.sleep(.milliseconds(max(left, 500))) } catch { return }
            await turn.enter()
            // While the charge is being asked, the accept came first.
            if pending == nil, walletWinner == nil { await handle(.clock(nowMilliseconds: nowMilliseconds)) }
            // Nobody waits for that long: money that moved then would be a surprise to both.
            if let late = pending, isOpen, .milliseconds(nowMilliseconds - overdue) > tools.timers.recover {
                pending = nil
                await drop(late, .over)
                if isOpen { pending = late }
            }
            turn.leave()
            if machine.state != .open, pending == nil, isOver || machine.winner != nil, left < -60_000 { return }
        }
    }

    // MARK: - What the desk wants

    /// Takes the payment back where no accept has won.
    /// - Parameter isBeaten: The charge is being paid another way.
    func withdraw(isBeaten: Bool) async {
        await turn.enter()
        defer { turn.leave() }
        // While the charge is being asked, its answer says what becomes of the accept.
        // So does the gateway's word on a wallet's signatures.
        if pending != nil || walletWinner != nil && !isBeaten {
            isCancelWanted = true
        } else if walletWinner == nil {
            await handle(isBeaten ? .closedByRail : .cancelRequested)
        }
        // Else the money that moves may be this wallet's: whoever follows it waits for the gateway's last word.
    }

    /// Says how the payment stands, and asks the acquirer where only that knows.
    func ask() async {
        switch machine.state {
        case .open:
            await turn.enter()
            defer { turn.leave() }
            guard walletWinner == nil else { return await reportGateway(again: true) }
            await handle(.clock(nowMilliseconds: nowMilliseconds))
            if isOpen, pending == nil { await attempt.record(.reported(attempt: attempt.id, report: .requiresAction)) }
        case .claimed, .executing, .unknown:
            guard let number = machine.winner?.attempt else { return }
            if settling.isEmpty { jobs.continuation.yield(.settle(attempt: number, submits: false)) }
            await askOnce(number, submits: false)
        case .done:
            await turn.enter()
            defer { turn.leave() }
            await announce()
        }
    }

    func follow(_ attempt: AttemptLink) { self.attempt = attempt }

    /// Takes a new login and new keys of the acquirer that the payment was made at. Another merchant's login is none of its.
    func use(_ setup: TapStation.Setup) {
        // One that is there stays: it knows what each phone was offered.
        if tools.wallet == nil { tools.wallet = setup.wallet(for: story) }
        guard setup.serves(story) else { return }
        (tools.credentials, tools.acquirer) = (setup.credentials, setup.acquirer)
    }

    // MARK: - The machine

    /// One event: its record is on disk before anything else of it happens.
    /// - Parameters:
    ///   - extra: What is kept together with the machine's own record.
    ///   - isKept: It is in the journal already.
    ///   - telling: Ends once phones have been told, and the acquirer where it is asked.
    /// - Returns: False where the journal did not take it: it has not happened.
    @discardableResult
    func handle(
        _ event: TerminalPayment.Event,
        with extra: [TapRecord] = [],
        isKept: Bool = false,
        telling: AsyncStream<Never>.Continuation? = nil
    ) async -> Bool {
        var next = machine
        let actions = next.handle(event)
        var records = extra
        if case .journal(let record)? = actions.first { records += record.kept(in: story, extra) }
        if isKept { await add(records) } else { guard await keep(records) else { return false } }
        let before = machine.state
        machine = next
        for case .cancelAll(.expired) in actions { endsByExpiry = true }
        // What is on disk may leave now, and first where it takes longest. The desk's own note of it waits, and not a customer.
        let questions = actions.filter(\.asksTheAcquirer)
        if let telling { (untold, isSpeaking, isAcquirerAsked) = (telling, true, questions.isEmpty) }
        for action in questions { await perform(action) }
        for action in actions where !action.asksTheAcquirer { await perform(action) }
        if telling != nil {
            isSpeaking = false
            if isAcquirerAsked { tellOthers() }
        }
        if machine.state != before { await announce() }
        if !before.isFinal, isOver {
            for watcher in watchers { watcher.finish() }
            watchers = []
            jobs.continuation.yield(.linger)
        }
        if machine.state != before { await tools.host.changed() }
        return true
    }

    /// The acquirer has been asked, or is not going to be. Screens and pages do not come between a customer and the money.
    func tellOthers() {
        isAcquirerAsked = true
        guard !isSpeaking else { return }
        untold?.finish()
        untold = nil
    }

    /// True once `records` are on disk.
    func keep(_ records: [TapRecord]) async -> Bool {
        guard !records.isEmpty else { return true }
        do throws(JournalError) {
            try await tools.archive.keep(records, of: name, spend: spend(of: records))
        } catch {
            tools.logger.critical(
                "the journal does not take what happened over BLE",
                metadata: ["payment": "\(name.payment)", "error": "\(error)"]
            )
            return false
        }
        await add(records)
        return true
    }

    /// Takes over what is on disk. Nothing of it has left the terminal: the next spend is checked against this one.
    private func add(_ records: [TapRecord]) async {
        if spend(of: records) != nil { await tools.host.voucherTaken() }
        for record in records { story.add(record) }
    }

    /// What they take of a voucher.
    func spend(of records: [TapRecord]) -> TapArchive.Spend? {
        let isTaken = records.contains {
            if case .claimed = $0 { true } else if case .promised = $0 { true } else { false }
        }
        guard isTaken else { return nil }
        var next = story
        for record in records { next.add(record) }
        return next.accepted.flatMap { TapArchive.Spend($0.accept, $0.pass) }
    }

    private func perform(_ action: TerminalPayment.Action) async {
        let id = name.payment
        switch action {
        // Kept before; the offer is in the handshake's answer; the claim follows the accept that the phone sends again.
        case .journal, .offer: break
        case .note(let link):
            if prompting.insert(link).inserted { await tools.host.changed() }
        case .claim(let link): await sendClaim(to: link)
        case .hold(let link): await hold(link)
        case .holdOthers(let winner): for link in links.keys where link != winner { await hold(link) }
        case .otherPaidTo(let link):
            guard link != walletWinner else {
                isWalletTold = false
                return await tellWalletPaid()
            }
            await links[link]?.send(.otherPaid(id), isFinal: true)
        case .otherPaid(let winner):
            for (link, way) in links where link != winner && link != walletWinner {
                await way.send(.otherPaid(id), isFinal: true)
            }
            await tellWalletPaid()
        case .reopenAll(let number):
            for way in links.values {
                await way.allowSilence(false)
                await way.send(.reopen(id, attempt: number))
            }
        case .reopen(let link, let number):
            await links[link]?.allowSilence(false)
            await links[link]?.send(.reopen(id, attempt: number))
        case .cancel(let link, let reason): await tellCancelled([link], reason)
        case .cancelAll(let reason): await tellCancelled(Array(links.keys), reason)
        case .cancelOthers(let winner, let reason): await tellCancelled(links.keys.filter { $0 != winner }, reason)
        case .result(let link, let status): await sendResult(status, to: link)
        case .acknowledge(let link): await links[link]?.send(.acknowledge(id), answering: answering ?? 1)
        case .refuse(let link, let code): await links[link]?.send(.error(id, code, text: nil), answering: answering)
        case .pong: break  // Answered where it arrives: it carries its bytes back.
        case .close(let link): await links[link]?.close()
        case .recover(let link): await recover(link)
        // The state has changed with it, or the sale has just begun: the radio hears of that after the phones.
        case .startScanning, .stopScanning: break
        case .submit: startSettling(submits: true, limit: tools.timers.execute)
        case .awaitResult: startSettling(submits: false, limit: tools.timers.executeByPhone)
        case .queueForSync: await tools.host.queueChanged()
        case .askGateway: startSettling(submits: false, limit: nil)
        case .tellStaffUnknown, .tellStaffPaidAfterEnd, .refuseCancel: break  // The charge says it: see `announce`.
        }
    }

    private func startSettling(submits: Bool, limit: Duration?) {
        guard let number = machine.winner?.attempt else { return }
        if let limit { jobs.continuation.yield(.overdue(attempt: number, after: limit)) }
        jobs.continuation.yield(.settle(attempt: number, submits: submits))
    }

    // MARK: - To phones

    private func hold(_ link: LinkID) async {
        await links[link]?.send(.hold(name.payment), allowsSilence: true)
    }

    private func sendClaim(to link: LinkID) async {
        guard let claim = story.claim, let number = answering else { return }
        await links[link]?.send(.claim(claim), answering: number, allowsSilence: true)
    }

    private func sendResult(_ status: PaymentStatus, to link: LinkID) async {
        let receipt = story.receipt.flatMap { $0.payload.status == status ? $0 : nil }
        guard let way = links[link] else { return await recover(link) }
        await way.send(
            .result(name.payment, status, receipt: receipt, transactionID: nil),
            isFinal: isOver
        )
    }

    private func tellCancelled(_ told: [LinkID], _ reason: TerminalCancelReason) async {
        for link in told { await links[link]?.send(.cancelledByTerminal(name.payment, reason), isFinal: true) }
        if let winner = machine.winner?.link, links[winner] == nil { await recover(winner) }
    }

    func recover(_ link: LinkID) async {
        guard let sid = story.sessions.first(where: { $0.value == link })?.key else { return }
        await tools.host.recover(sid, of: name.payment, within: searchTime)
    }

    /// How long a payer is looked for whose link has fallen. A payment that is claimed and not over may end by that phone
    /// alone: it may have been restarted without its claim, and this terminal may have no network.
    private var searchTime: Duration {
        guard machine.winner != nil, !isOver, let claim = story.claim else { return tools.timers.recover }
        let age = Duration.milliseconds(nowMilliseconds - claim.payload.claimedAtMilliseconds)
        return max(tools.timers.recover, tools.timers.submission - max(age, .zero))
    }

    // MARK: - To the charge

    /// Tells the desk how the payment stands now, and again until it is in the journal.
    func announce() async {
        unreported = false
        for event in news {
            guard await attempt.takes(event) else {
                if !unreported { jobs.continuation.yield(.report) }
                unreported = true
                return
            }
        }
    }

    private func report() async {
        while unreported {
            do { try await clock.sleep(.seconds(2)) } catch { return }  // The terminal stops; the next run reports.
            await turn.enter()
            for event in news where unreported {
                guard await attempt.takes(event) else { break }
                if event == news.last { unreported = false }
            }
            turn.leave()
        }
    }

    /// What the charge has to hear in this state.
    private var news: [Charge.Event] {
        let id = attempt.id
        switch machine.state {
        case .open: return machine.attempt > 1 ? [.claimDropped(attempt: id)] : []
        case .claimed, .executing: return [.reported(attempt: id, report: .processing)]
        case .unknown:
            return [.overdue(attempt: id)]
        case .done(.completed):
            let paid = Charge.Event.reported(attempt: id, report: .succeeded(evidence))
            return story.isGivenBack ? [paid, .givenBack(attempt: id)] : [paid]
        case .done(.failed): return [.reported(attempt: id, report: .failed(code: failureCode))]
        case .done(.cancelled) where story.receipt?.payload.isMoneyThatCameBack == true:
            return [.reported(attempt: id, report: .succeeded(evidence)), .givenBack(attempt: id)]
        case .done(.cancelled):
            if let refusalCode { return [.reported(attempt: id, report: .failed(code: refusalCode))] }
            return [.reported(attempt: id, report: endsByExpiry ? .expired : .cancelled)]
        case .done(.acceptedOffline): return [.promised(attempt: id)]
        case .done(.paidElsewhere): return [.reported(attempt: id, report: .cancelled)]
        }
    }

    private var failureCode: String? { story.receipt?.payload.declineCode.map { "decline_\($0)" } }

    private var evidence: Evidence {
        Evidence(
            paymentID: name.payment.description,
            transactionID: story.receipt?.payload.transactionID,
            paid: nil
        )
    }
}

extension PaymentReceipt {
    /// A payment that was given back names the transaction that it was: money moved and returned.
    var isMoneyThatCameBack: Bool { status == .cancelled && transactionID != nil }
}

extension TerminalPayment.Record {
    /// As the journal keeps it; a claim is kept by the one who signs it.
    fileprivate func kept(in story: TapStory, _ extra: [TapRecord]) -> [TapRecord] {
        switch self {
        case .claimed, .acceptedOffline: []  // In `extra`, with the claim's signature.
        case .reopened(let attempt): [.reopened(attempt: attempt)]
        case .unknown: [.unknown]
        case .done(let outcome): [.done(outcome)]
        }
    }
}

extension AttemptLink {
    /// Records an event. False where it must be said again, because the journal did not take it.
    func takes(_ event: Charge.Event) async -> Bool {
        guard let attempt = await record(event) else { return true }  // Not at the desk, and nobody waits for it.
        switch event {
        case .reported(_, .succeeded):
            guard case .ended(.succeeded, _) = attempt.phase else { return false }
            return true
        case .reported(_, .failed), .reported(_, .expired), .reported(_, .cancelled): return !attempt.isOpen
        case .claimDropped: return attempt.claim == nil
        case .promised: return attempt.isPromised || !attempt.isOpen
        case .givenBack: return attempt.isGivenBack
        default: return true
        }
    }
}

extension TerminalPayment.Action {
    fileprivate var asksTheAcquirer: Bool {
        switch self {
        case .submit, .awaitResult, .askGateway: true
        default: false
        }
    }
}
