import Journal
import Logging
public import Payments
import TapProtocol

/// Whether the acquirer can be asked: by its last word, and by a short question where that word is old.
extension TapStation {
    /// How the acquirer answered a moment ago; nil where nobody asked it lately.
    func reachability() -> Bool? {
        guard let heardAt, clock.elapsed() - heardAt < timers.fresh else { return nil }
        return isReachable
    }

    /// Whether the acquirer answers now. Takes no longer than the time limit for this question; silence counts as no.
    func confirmOnline() async -> Bool {
        if let known = reachability() { return known }
        await probing.enter()
        defer { probing.leave() }
        // Whoever asked first asked for all.
        if let known = reachability() { return known }
        guard let setup else { return false }
        await probe(setup)
        return isReachable
    }

    private func probe(_ setup: Setup) async {
        let issuer = setup.credentials.certificate.payload.issuer
        let word = try? await clock.within(timers.probe) { await setup.acquirer.keys(issuer: issuer) }
        // What was broken off because nobody waits any more says nothing of the acquirer.
        guard !Task.isCancelled else { return }
        await note(word ?? .silent)
    }

    /// Serves a phone. While its customer may accept, the acquirer's word is kept fresh: the accept then waits for no question.
    func serve(_ link: TapLink) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await link.serve() }
            group.addTask { await self.stayInTouch() }
            await group.next()
            group.cancelAll()
        }
    }

    /// Asks the acquirer again when half of the time is over for which its last word counts. Runs until cancelled.
    private func stayInTouch() async {
        while !Task.isCancelled {
            let life = max(timers.fresh / 2, .milliseconds(500))
            // Where every question is to be asked anew there is nothing to keep.
            if let setup, timers.fresh > .zero, await hasOpenSale {
                await probing.enter()
                if silence >= life, !Task.isCancelled { await probe(setup) }
                probing.leave()
            }
            do { try await clock.sleep(silence < life ? life - silence : life) } catch { return }
        }
    }

    /// How long the acquirer has said nothing; for ever where it never was asked.
    private var silence: Duration { heardAt.map { clock.elapsed() - $0 } ?? .seconds(Int64.max / 2) }

    private var hasOpenSale: Bool {
        get async {
            for sale in sales.values where await sale.isOpen { return true }
            return false
        }
    }

    /// Takes what came of asking for the acquirer's keys.
    func note(_ word: TapKeysWord) async {
        switch word {
        case .keys: await note(online: true)
        case .refused: noteRefusal()
        case .silent: await note(online: false)
        }
    }

    /// Takes what an exchange with the acquirer said of it.
    func note(_ word: TapWord) async {
        switch word {
        case .receipt, .inProgress, .unknownPayment, .voided: await note(online: true)
        case .refused, .notNow: noteRefusal()
        case .noAnswer, .unreachable: await note(online: false)
        }
    }

    /// The acquirer is there and says no. That is no reason to take a voucher: it may be a "no" to this terminal. Nor does it
    /// count as having been online, or a terminal that is shut out could take vouchers for ever. It wakes no upload, which
    /// would be refused too.
    public func noteRefusal() { (isReachable, isWelcome, heardAt) = (true, false, clock.elapsed()) }

    /// Takes whether the acquirer answered. Every exchange says so: a terminal that believes an old word claims what
    /// nobody can execute.
    public func note(online isOnline: Bool) async {
        let isBack = isOnline && !isWelcome
        (isReachable, isWelcome, heardAt) = (isOnline, isOnline, clock.elapsed())
        guard isOnline else { return }
        // What was taken offline need not sit out a pause that grew while nobody answered.
        if isBack { uploadWake?.yield() }
        let now = AcquirerAnswer(wall: clock.wallTime(), elapsed: clock.elapsed())
        answered = now
        // A disk wears out by what is written, and nobody waits for it. By a clock that is not set it would say nothing.
        guard isClockSet, answerKeptAt.map({ now.elapsed - $0 >= .seconds(60) }) ?? true else { return }
        answerKeptAt = now.elapsed
        jobs.continuation.yield(.keepAnswer(now.wall))
    }

    /// When the acquirer answered last since the start. A "no" is no answer.
    public var lastOnline: WallTime? { answered.flatMap { $0.elapsed >= startedAt ? $0.wall : nil } }

    /// When the acquirer answered last, by the clock as it stands: setting that back does not make it later.
    /// Source: BPP/1, section 16.2, rule V1.
    var answeredMilliseconds: Int? {
        guard let answered else { return nil }
        let byElapsed = clock.wallTime().advanced(by: answered.elapsed - clock.elapsed())
        return Int(min(answered.wall, byElapsed).millisecondsSince1970)
    }

    /// Reads when an earlier run was answered last. By a clock that is not set nobody can say how long ago that was.
    func recallAnswer() async {
        guard answered == nil, !isAnswerRecalled, isClockSet else { return }
        do throws(JournalError) {
            let kept = try await archive.lastAnswer()
            guard answered == nil, !isAnswerRecalled else { return }
            isAnswerRecalled = true
            guard let kept else { return }
            let now = clock.elapsed()
            let age = kept.duration(to: clock.wallTime())
            // An earlier run was over when this one began. What says otherwise was kept by a wrong clock, or is read by one,
            // and must not come true with time.
            guard age >= now - startedAt else { return await keepAnswer(nil) }
            answered = AcquirerAnswer(wall: kept, elapsed: now - age)
        } catch {
            logger.warning(
                "the journal does not say when the acquirer answered last; no voucher is taken until it answers again",
                metadata: ["error": "\(error)"]
            )
        }
    }

    /// - Parameter time: Nil where nothing is known any more.
    func keepAnswer(_ time: WallTime?) async {
        do throws(JournalError) { try await archive.keep(lastAnswer: time) } catch {
            logger.warning(
                "it is not kept when the acquirer answered; a start without network takes no voucher then",
                metadata: ["error": "\(error)"]
            )
        }
    }

    /// Whether this terminal knows the time: the machine says so, or the acquirer has checked it and nobody set it since.
    public var isClockSet: Bool {
        if isMachineClockSet() { return true }
        guard let checkedClock else { return false }
        let drift = wallAtStart - checkedClock
        return drift.magnitude < Self.clockTolerance
    }

    /// The acquirer has checked this terminal's time.
    public func noteClockChecked() { checkedClock = wallAtStart }

    /// What the wall clock says of the moment from which elapsed time counts: changes only where somebody sets the clock.
    private var wallAtStart: Duration {
        .milliseconds(clock.wallTime().millisecondsSince1970) - clock.elapsed()
    }

    /// Source: BPP/1, rule P2 and check A1: what both sides' clocks may differ by.
    private static let clockTolerance = Duration.seconds(600)
}

/// A moment in which the acquirer answered.
struct AcquirerAnswer: Sendable {
    let wall: WallTime
    /// On the clock's `elapsed`; less than at the start for a moment of an earlier run.
    let elapsed: Duration
}

extension Duration {
    var magnitude: Duration { self < .zero ? .zero - self : self }
}
