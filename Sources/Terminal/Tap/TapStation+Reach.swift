import Payments
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
        let issuer = setup.credentials.certificate.payload.issuer
        do {
            await note(try await clock.within(timers.probe) { await setup.acquirer.keys(issuer: issuer) })
        } catch { await note(online: false) }
        return isReachable
    }

    /// Takes what came of asking for the acquirer's keys. A "no" is no reason to take a voucher: it may be a "no" to this
    /// terminal. Nor does it count as having been online, or a terminal that is shut out could take vouchers for ever.
    func note(_ word: TapKeysWord) async {
        switch word {
        case .keys: await note(online: true)
        case .refused: (isReachable, heardAt) = (true, clock.elapsed())  // Wakes no upload: it would be refused too.
        case .silent: await note(online: false)
        }
    }

    /// Takes what an exchange with the acquirer said of it.
    func note(_ word: TapWord) async { await note(online: word.isAnAnswer) }

    /// Takes whether the acquirer answered. Every exchange says so: a terminal that believes an old word claims what
    /// nobody can execute.
    public func note(online isOnline: Bool) async {
        let isBack = isOnline && !isReachable
        (isReachable, heardAt) = (isOnline, clock.elapsed())
        guard isOnline else { return }
        // What was taken offline need not sit out a pause that grew while nobody answered.
        if isBack { uploadWake?.yield() }
        lastOnline = clock.wallTime()
        book?.lastOnlineMilliseconds = Int(clock.wallTime().millisecondsSince1970)
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

extension Duration {
    var magnitude: Duration { self < .zero ? .zero - self : self }
}
