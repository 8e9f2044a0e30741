import Payments
import TapProtocol

/// Rail 2: the phone pays the code's link by itself, over its own network. The terminal sees to it that only one phone does
/// so at a time, and takes the end from the gateway, as for the code: it is one payment there, and is paid once.
/// Source: BPP/1, section 9, rails; section 12.
extension TapSale {
    /// As accepts name this rail.
    static let linkRail = 2

    private var offeredLink: String? {
        for case .paymentLink(let link) in story.request.payload.offeredRails { return link }
        return nil
    }

    /// An accept that has passed its checks. It wins at once: other ways to pay need not be taken back, for what this phone
    /// pays is the payment behind the code.
    func takeLink(_ accept: Signed<PaymentAcceptance>, _ pass: Signed<PaymentPass>, from link: LinkID) async {
        guard let offered = offeredLink, await paymentLink == offered else {
            // The code's payment is over or has been taken back: nobody could pay the link any more.
            return _ = await handle(.accept(link, .invalid(accept.hash, .instrumentRefused)))
        }
        let sid = story.sessions.first { $0.value == link }?.key ?? []
        guard let claim = walletClaim(for: accept.hash),
            await keep([.accepted(sid: sid, accept, pass), .walletClaimed(sid: sid, claim, nil)])
        else {
            await links[link]?.send(.error(name.payment, .backendUnreachable, text: nil), answering: answering)
            return
        }
        await giveClaim(claim, to: link)
        jobs.continuation.yield(.linkOverdue(accept.hash))
    }

    /// What the phone says of its own payment. It proves nothing, and nothing is booked by it: that is the gateway's to say.
    func takeLinkWord(_ status: PaymentStatus, _ link: LinkID) async {
        await links[link]?.send(.acknowledge(name.payment), answering: answering ?? 1)
        switch status {
        // It knows, and need not be looked for.
        case .completed: isWalletTold = true
        case .failed, .cancelled: await letGo(andAskAgain: link)
        case .initiated, .inProgress, .acceptedOffline: break
        }
    }

    /// A phone that holds the claim and pays nothing keeps the others waiting no longer than this. What the gateway has
    /// begun is its to end.
    /// - Returns: False where the phone keeps its place for now.
    func linkOverdue(_ accept: ObjectHash) async -> Bool {
        await turn.enter()
        defer { turn.leave() }
        guard walletWinner != nil, isOpen, story.isLinkClaim, story.walletClaim?.payload.acceptHash == accept else {
            return true
        }
        let scans = await attempt.charge()?.attempts.filter { $0.rail == .scan && $0.isOpen } ?? []
        guard !scans.contains(where: \.isProcessing) else { return false }
        await letGo(andAskAgain: nil)
        // The journal may not have taken it.
        return walletWinner == nil
    }

    /// Other phones may pay again. Should this one pay the link all the same, the gateway takes one payment, and another
    /// accept moves money only once the gateway has taken the code's payment back.
    private func letGo(andAskAgain link: LinkID?) async {
        guard let winner = walletWinner, await keep([.walletDropped]) else { return }
        (walletWinner, isWalletTold) = (nil, false)
        if await attempt.charge()?.isCancelRequested == true || isCancelWanted {
            await handle(.cancelRequested)
            return
        }
        if await attempt.isBeaten(besides: .scan) {
            await handle(.closedByRail)
            return
        }
        for (other, way) in links where other != winner || other == link {
            await way.allowSilence(false)
            await way.send(.reopen(name.payment, attempt: machine.attempt))
        }
        await tools.host.changed()
    }
}

extension Attempt {
    /// Whether the authority says that money is on its way.
    fileprivate var isProcessing: Bool {
        if case .offered(_, let progress) = phase { progress.isProcessing } else { false }
    }
}
