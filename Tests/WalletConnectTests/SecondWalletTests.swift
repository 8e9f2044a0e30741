import Testing

@testable import WalletConnect

/// Two wallets scan one code: one of them gets the session, and the other hears that it has none.
struct SecondWalletTests {
    /// Another wallet scans the same code and approves what lies in its mailbox. It stands where the first one stood.
    private func approve(_ uri: WalletConnectURI, in peers: inout Peers, seed: UInt64) throws -> Topic {
        let proposal = try #require(peers.sent.first { $0.byDapp && $0.publication.topic == uri.topic }?.publication)
        peers.wallet = SignEngine(metadata: .wallet, random: TestRandom(seed: seed), book: Book())
        _ = try peers.act(dapp: false) { try $0.pair(uri, by: .scan) }
        let message = RelayMessage(topic: proposal.topic, message: proposal.message, tag: proposal.tag)
        _ = peers.act(dapp: false) { $0.receive(message) }
        let found = try #require(peers.wallet.book.proposals.values.first?.value)
        return try peers.act(dapp: false) { try $0.approve(found.id, Example.grant(), sessionProperties: nil) }.topic
    }

    @Test func whoeverApprovesAfterTheSessionIsThereHearsThatThereIsNone() throws {
        var peers = Peers()
        let (uri, proposal) = try peers.propose()
        let first = try peers.act(dapp: false) { try $0.approve(proposal.id, Example.grant(), sessionProperties: nil) }
        let approval = peers.post
        peers.deliver()
        #expect(peers.dapp.book.sessions[first.topic]?.isOver == false)
        _ = peers.takeEvents()
        for seed in [2001, 3001] as [UInt64] {
            let topic = try approve(uri, in: &peers, seed: seed)
            #expect(peers.wallet.book.sessions[topic] != nil)
            peers.deliver()
            #expect(peers.wallet.book.sessions[topic] == nil, "it was told")
            #expect(peers.takeEvents().contains(.approvedTooLate(uri.topic)))
        }
        // The first one's approval again, as relays bring it, ends nothing.
        peers.post = approval
        peers.deliver()
        #expect(peers.dapp.book.sessions[first.topic]?.isOver == false)
        #expect(!peers.takeEvents().contains(.approvedTooLate(uri.topic)))
        // Nothing of it is kept longer than somebody can scan the code, and some minutes.
        try peers.act(dapp: true) { try $0.disconnect(uri.topic, .userDisconnected) }
        peers.post = []
        peers.pass(seconds: 601)
        #expect(peers.dapp.book.offers.isEmpty)
        #expect(peers.dapp.book.pairings.isEmpty)
        #expect(peers.dapp.book.sessions[first.topic] != nil)
    }

    @Test func whoeverApprovesWhileAnotherOneSettlesHearsThatThereIsNoSession() throws {
        var peers = Peers()
        let (uri, proposal) = try peers.propose()
        let first = try peers.act(dapp: false) { try $0.approve(proposal.id, Example.grant(), sessionProperties: nil) }
        let settlement = peers.post.removeFirst()
        peers.deliver()
        _ = peers.takeEvents()
        let topic = try approve(uri, in: &peers, seed: 2001)
        peers.deliver()
        #expect(peers.wallet.book.sessions[topic] == nil)
        #expect(peers.takeEvents().contains(.approvedTooLate(uri.topic)))
        peers.post = [settlement]
        peers.deliver()
        #expect(peers.dapp.book.sessions[first.topic]?.isOver == false)
    }
}
