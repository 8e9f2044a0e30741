import StrictJSON
import Testing

@testable import WalletConnect

/// What time ends, and what comes after its end.
struct ExpiryTests {
    @Test func aProposalIsOverForBothAfterFiveMinutes() throws {
        var peers = Peers()
        let (uri, proposal) = try peers.propose()
        _ = peers.takeEvents()
        peers.pass(seconds: 299)
        #expect(peers.takeEvents() == [])
        peers.pass(seconds: 1)
        let events = peers.takeEvents()
        #expect(events.contains(.proposalExpired(proposal)))
        #expect(events.contains(.proposalFailed(ProposalFailure(pairingTopic: uri.topic, cause: .expired))))
        #expect(throws: SignError.proposalExpired) {
            try peers.act(dapp: false) { try $0.approve(proposal.id, Example.grant(), sessionProperties: nil) }
        }
        #expect(throws: SignError.proposalExpired) {
            try peers.act(dapp: false) { try $0.reject(proposal.id, .userRejected) }
        }
        #expect(throws: SignError.unknown(what: "proposal")) {
            try peers.act(dapp: false) { try $0.reject("x", .userRejected) }
        }
    }

    @Test func aPairingNobodyUsedIsOverAfterFiveMinutesAndAnActiveOneAfterThirtyDays() throws {
        var peers = Peers()
        let (uri, _) = try peers.propose()
        peers.pass(seconds: 300)
        let expired = peers.takeEvents().compactMap {
            if case .pairingExpired(let pairing) = $0 { pairing } else { nil }
        }
        #expect(expired.map(\.topic) == [uri.topic, uri.topic] && expired.allSatisfy { !$0.active })
        #expect(peers.wallet.book.pairings.isEmpty)
        peers.pass(seconds: 300)
        #expect(peers.dapp.book.pairings.isEmpty && peers.dapp.book.offers.isEmpty)

        var others = Peers(seed: 5)
        _ = try others.settle()
        others.pass(seconds: 2_591_999)
        #expect(others.dapp.book.pairings.count == 1)
        _ = others.takeEvents()
        others.pass(seconds: 1)
        #expect(
            others.takeEvents().contains { if case .pairingExpired(let pairing) = $0 { pairing.active } else { false } }
        )
        #expect(others.dapp.book.pairings.isEmpty && others.wallet.book.pairings.isEmpty)
    }

    @Test func aWalletThatApprovesTooLateIsToldThatItsSessionIsOver() throws {
        for cancelled in [true, false] {
            var peers = Peers()
            let (uri, proposal) = try peers.propose()
            let session = try peers.act(dapp: false) {
                try $0.approve(proposal.id, Example.grant(), sessionProperties: nil)
            }
            let approval = peers.post
            peers.post = []
            if cancelled {
                try peers.act(dapp: true) { try $0.disconnect(uri.topic, .userDisconnected) }
                peers.post = []
            } else {
                peers.pass(seconds: 301)
            }
            _ = peers.takeEvents()
            peers.post = approval
            peers.deliver()
            #expect(peers.dapp.book.sessions.isEmpty)
            #expect(peers.wallet.book.sessions[session.topic] == nil)
            #expect(!peers.takeEvents().contains { if case .sessionSettled = $0 { true } else { false } })
            #expect(peers.dapp.book.offers.isEmpty)
        }
    }

    @Test func anApprovalWithoutASettlementFailsAfterAMinute() throws {
        var peers = Peers()
        let (_, proposal) = try peers.propose()
        _ = try peers.act(dapp: false) { try $0.approve(proposal.id, Example.grant(), sessionProperties: nil) }
        peers.post.removeFirst()  // The settlement is lost for good.
        peers.deliver()
        peers.pass(seconds: 59)
        #expect(!peers.takeEvents().contains { if case .proposalFailed = $0 { true } else { false } })
        peers.pass(seconds: 1)
        #expect(
            peers.takeEvents().contains { if case .proposalFailed(let f) = $0 { f.cause != .expired } else { false } }
        )
        peers.deliver()
        #expect(peers.wallet.book.sessions.isEmpty)
    }

    @Test func aRequestIsOverForTheUserAtItsSecondAndNothingIsSignedAfter() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let id = try peers.ask(topic)
        peers.deliver()
        _ = peers.takeEvents()
        peers.pass(seconds: 300)
        let events = peers.takeEvents()
        #expect(events.contains(.requestExpired(id, topic)) && events.contains(.unanswered(id, topic)))
        let result = try peers.act(dapp: false) { try $0.respond(topic, id, .response(.string("0xab"))) }
        #expect(result == .expired)
        #expect(try peers.lastError(byDapp: false)?.code == 8000)
    }

    @Test func aRequestThatArrivesTooLateOrIsTooLongIsRefused() throws {
        var peers = Peers()
        let topic = try peers.settle()
        _ = try peers.ask(topic)
        peers.now += 300_000
        peers.deliver()
        #expect(try peers.lastError(byDapp: false)?.code == 8000)
        #expect(!peers.takeEvents().contains { if case .requestReceived = $0 { true } else { false } })
        for (name, expiry, code) in [
            ("expiry", 1_800_000_100, 8000), ("expiryTimestamp", 1_900_000_000, 8000), ("expiry", 1_800_000_900, 0),
        ] {
            let text = """
                {"id":\(expiry),"jsonrpc":"2.0","method":"wc_sessionRequest","params":{"request":{"method":"personal_sign",\
                "params":[],"\(name)":\(expiry)},"chainId":"eip155:1"}}
                """
            let forged = try peers.forged(text, on: topic, nonce: UInt8(expiry & 127))
            _ = peers.act(dapp: false) { $0.receive(forged) }
            if code != 0 { #expect(try peers.lastError(byDapp: false)?.code == code) }
        }
        #expect(peers.takeEvents().count { if case .requestReceived = $0 { true } else { false } } == 1)
    }

    @Test func aLateAnswerIsKeptAndToldApart() throws {
        for (giveUp, wait, timing) in [
            (false, Int64(0), SessionResponse.Timing.inTime), (true, 0, .afterGivingUp), (false, 301, .afterExpiry),
            (true, 3600, .afterExpiry),
        ] {
            var peers = Peers()
            let topic = try peers.settle()
            let id = try peers.ask(topic)
            peers.deliver()
            _ = try peers.act(dapp: false) { try $0.respond(topic, id, .response(.string("0xhash"))) }
            if giveUp { peers.act(dapp: true) { $0.stopWaiting(id, on: topic) } }
            let answer = peers.post
            peers.post = []
            if wait > 0 { peers.pass(seconds: wait) }
            peers.post = answer
            peers.deliver()
            let responses = peers.takeEvents().compactMap {
                if case .responded(let response) = $0 { response } else { nil }
            }
            #expect(responses.map(\.timing) == [timing])
            #expect(responses.map(\.result) == [.response(.string("0xhash"))])
        }
    }

    @Test(arguments: [true, false])
    func anAnswerThatCrossesTheEndOfItsSessionStillArrives(byDapp: Bool) throws {
        var peers = Peers()
        let topic = try peers.settle()
        let id = try peers.ask(topic)
        peers.deliver()
        _ = try peers.act(dapp: false) { try $0.respond(topic, id, .response(.string("0xhash"))) }
        let answer = peers.post
        peers.post = []
        try peers.act(dapp: byDapp) { try $0.disconnect(topic, .userDisconnected) }
        peers.deliver()
        _ = peers.takeEvents()
        peers.post = answer
        peers.deliver()
        #expect(peers.takeEvents().contains { if case .responded = $0 { true } else { false } })
        #expect(peers.dapp.book.sessions.isEmpty)
    }

    @Test func anEndedSessionsKeyGoesWithItsLastRequest() throws {
        var peers = Peers()
        let topic = try peers.settle()
        _ = try peers.ask(topic)
        try peers.act(dapp: true) { try $0.disconnect(topic, .userDisconnected) }
        #expect(peers.dapp.book.sessions[topic]?.isOver == true)
        peers.pass(seconds: 300)
        #expect(peers.dapp.book.sessions.isEmpty && peers.dapp.book.sent.isEmpty)
        #expect(peers.dapp.book.seen[topic] == nil)
    }

    @Test func aSessionIsOverAfterSevenDays() throws {
        var peers = Peers()
        let topic = try peers.settle()
        peers.pass(seconds: 604_799)
        #expect(peers.dapp.book.sessions.count == 1)
        _ = peers.takeEvents()
        peers.pass(seconds: 1)
        #expect(peers.takeEvents().count { $0 == .sessionEnded(SessionEnd(topic: topic, cause: .expired)) } == 2)
        #expect(peers.dapp.book.sessions.isEmpty && peers.wallet.book.sessions.isEmpty)
        #expect(throws: SignError.self) { try peers.ask(topic) }
    }

    @Test func aPingWithoutAnAnswerIsOverAfterThirtySeconds() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let id = try peers.act(dapp: true) { try $0.ping(topic) }
        peers.pass(seconds: 30)
        #expect(peers.takeEvents().contains(.unanswered(id, topic)))
        #expect(peers.dapp.book.sent.isEmpty)
    }
}
