import StrictJSON
import Testing

@testable import WalletConnect

/// What both sides agree on, step by step.
struct SignEngineTests {
    @Test func aProposalIsInTheMailboxBeforeItsCodeIsShown() throws {
        var peers = Peers()
        let (uri, proposal) = try peers.propose()
        let publication = try #require(peers.sent.first?.publication)
        #expect(publication.topic == uri.topic && publication.tag == 1100 && publication.ttlSeconds == 300)
        #expect(publication.prompt)
        #expect(publication.message.hasPrefix("A") && publication.message.utf8.count.isMultiple(of: 4))
        guard case .request(let request) = try peers.opened(publication) else {
            throw ExactJSON.Missing(name: "request")
        }
        let params = request.params
        #expect(RPCMessage.request(request).text.hasPrefix("{\""))
        #expect(params.value(named: "requiredNamespaces") == .object([]))
        #expect(params.value(named: "sessionProperties") == nil)
        #expect(
            params.value(named: "optionalNamespaces")?.value(named: "eip155")?.value(named: "chains")
                == .strings(["eip155:1"])
        )
        #expect(params.value(named: "expiryTimestamp")?.integer == 1_800_000_300)
        #expect(params.value(named: "proposer")?.value(named: "metadata")?.value(named: "redirect") == nil)
        #expect(proposal.proposer.name == "Terminal" && proposal.id.utf8.count == 64)
    }

    @Test func anApprovalMakesOneSessionThatBothSidesDescribeAlike() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let (theirs, ours) = (
            try #require(peers.wallet.book.sessions[topic]), try #require(peers.dapp.book.sessions[topic])
        )
        #expect(theirs.namespaces == ours.namespaces && theirs.expiry == ours.expiry)
        #expect(theirs.acknowledged && ours.acknowledged && theirs.isController && !ours.isController)
        #expect(ours.peer.name == "Wallet" && theirs.peer.name == "Terminal")
        #expect(peers.sent.map(\.publication.tag) == [1100, 1102, 1101, 1103])
        #expect(peers.dapp.book.offers.values.allSatisfy { $0.phase == .over } && peers.wallet.book.proposals.isEmpty)
        let pairing = try #require(peers.dapp.book.pairings.values.first)
        #expect(pairing.active && pairing.expiry == 1_800_000_000 + 2_592_000)
        #expect(peers.wallet.book.pairings[pairing.topic]?.active == true)
    }

    @Test func theAgreementWorksInWhateverOrderItsMessagesCome() throws {
        for order in [[0, 1], [1, 0]] {
            var peers = Peers()
            let (_, proposal) = try peers.propose()
            let session = try peers.act(dapp: false) {
                try $0.approve(proposal.id, Example.grant(), sessionProperties: nil)
            }
            // The settlement first means: before the dapp has the key. It waits, unacknowledged, until it can be read.
            peers.post = order.map { peers.post[$0] }
            let first = peers.post.removeFirst()
            let handled = peers.act(dapp: true) { $0.receive(first.message) }
            #expect(handled == (order == [1, 0]))
            peers.deliver()
            #expect(peers.dapp.book.sessions[session.topic] != nil)
            #expect(peers.wallet.book.sessions[session.topic]?.acknowledged == true)
        }
    }

    @Test func aNoReachesTheDappWithItsCode() throws {
        var peers = Peers()
        let (_, proposal) = try peers.propose()
        try peers.act(dapp: false) { try $0.reject(proposal.id, .userRejected) }
        #expect(peers.sent.last?.publication.tag == 1120)
        peers.deliver()
        let failures = peers.takeEvents().compactMap {
            if case .proposalFailed(let failure) = $0 { failure.cause } else { nil }
        }
        #expect(failures == [.rejected(.userRejected)])
        #expect(peers.dapp.book.offers.isEmpty)
    }

    @Test func aProposalWithBrokenNamespacesIsRefusedForTheUserWithItsCode() throws {
        var peers = Peers()
        let (uri, _) = try peers.propose()
        let text = """
            {"id":5,"jsonrpc":"2.0","method":"wc_sessionPropose","params":{"requiredNamespaces":{"eip155":{"chains":["42"],\
            "methods":[],"events":[]}},"optionalNamespaces":{},"relays":[{"protocol":"irn"}],"proposer":{"publicKey":\
            "\(String(repeating: "ab", count: 32))","metadata":{"name":"x","description":"","url":"","icons":[]}}}}
            """
        let forged = try peers.forged(text, on: uri.topic)
        _ = peers.act(dapp: false) { $0.receive(forged) }
        #expect(try peers.lastError(byDapp: false)?.code == 5100)
        #expect(peers.sent.last?.publication.tag == 1121)
        #expect(peers.wallet.book.proposals.count == 1)
    }

    @Test func aScanIsRepeatableUntilItWasApproved() throws {
        var peers = Peers()
        let (uri, proposal) = try peers.propose()
        _ = peers.takeEvents()
        let again = try peers.act(dapp: false) { try $0.pair(uri, by: .scan) }
        #expect(again == .again(uri.topic))
        #expect(peers.takeEvents() == [.proposalReceived(proposal)])
        _ = try peers.act(dapp: false) { try $0.approve(proposal.id, Example.grant(), sessionProperties: nil) }
        #expect(throws: PairingError.alreadyPaired(uri.topic)) {
            try peers.act(dapp: false) { try $0.pair(uri, by: .scan) }
        }
        peers.now += 300_000
        #expect(throws: PairingError.expired) { try peers.act(dapp: false) { try $0.pair(uri, by: .scan) } }
    }

    @Test func awaitingAProposalIsTrueFromTheScanToItsArrival() throws {
        var peers = Peers()
        let uri = try peers.act(dapp: true) {
            try $0.connect(
                required: [:],
                optional: Example.wish(),
                sessionProperties: nil,
                scopedProperties: nil,
                authentication: nil
            )
        }
        #expect(!peers.wallet.isPairing)
        _ = try peers.act(dapp: false) { try $0.pair(uri, by: .scan) }
        #expect(peers.wallet.isPairing)
        peers.deliver()
        #expect(!peers.wallet.isPairing)
        #expect(peers.wallet.book.pairings[uri.topic]?.state == .proposed)
    }

    @Test func aCallIsAnsweredOnceUnderItsID() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let id = try peers.ask(topic, seconds: 400)
        #expect(peers.sent.last?.publication.tag == 1108 && peers.sent.last?.publication.ttlSeconds == 400)
        peers.deliver()
        let received = peers.takeEvents().compactMap {
            if case .requestReceived(let request, _) = $0 { request } else { nil }
        }
        #expect(received.map(\.id) == [id] && received.first?.expiryTimestamp == 1_800_000_400)
        let result = try peers.act(dapp: false) { try $0.respond(topic, id, .response(.string("0xab"))) }
        #expect(result == .sent && peers.sent.last?.publication.tag == 1109)
        peers.deliver()
        let responses = peers.takeEvents().compactMap {
            if case .responded(let response) = $0 { response } else { nil }
        }
        #expect(responses.map(\.result) == [.response(.string("0xab"))])
        #expect(responses.map(\.timing) == [.inTime])
        #expect(throws: SignError.unknown(what: "open request")) {
            try peers.act(dapp: false) { try $0.respond(topic, id, .response(.null)) }
        }
    }

    @Test func theSameCallSealedAnewIsNotShownTwiceButAnsweredAgain() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let id = try peers.ask(topic)
        let text = try peers.last(byDapp: true).text
        peers.deliver()
        _ = peers.takeEvents()
        let again = try peers.forged(text, on: topic, nonce: 1)
        _ = peers.act(dapp: false) { $0.receive(again) }
        #expect(peers.takeEvents() == [])
        _ = try peers.act(dapp: false) { try $0.respond(topic, id, .response(.string("0xab"))) }
        let answer = try #require(peers.sent.last?.publication.message)
        let thrice = try peers.forged(text, on: topic, nonce: 2)
        _ = peers.act(dapp: false) { $0.receive(thrice) }
        #expect(peers.sent.last?.publication.message == answer)
        peers.deliver()
        #expect(peers.takeEvents().count { if case .responded = $0 { true } else { false } } == 1)
    }

    @Test func whatASessionDoesNotAllowIsNeitherAskedNorAnswered() throws {
        var peers = Peers()
        let topic = try peers.settle(try Example.grant(methods: ["personal_sign"]))
        for (chain, method) in [("eip155:5", "personal_sign"), ("eip155:1", "eth_sendTransaction")] {
            #expect(throws: SignError.self) {
                try peers.act(dapp: true) {
                    try $0.request(Request(topic: topic, method: method, params: .array([]), chainId: .example(chain)))
                }
            }
            let text = """
                {"id":\(chain == "eip155:5" ? 71 : 72),"jsonrpc":"2.0","method":"wc_sessionRequest","params":{"request":\
                {"method":"\(method)","params":[]},"chainId":"\(chain)"}}
                """
            let forged = try peers.forged(text, on: topic, nonce: UInt8(chain.utf8.count + method.utf8.count))
            _ = peers.act(dapp: false) { $0.receive(forged) }
            #expect(try peers.lastError(byDapp: false)?.code == (chain == "eip155:5" ? 3005 : 3001))
        }
        #expect(throws: SignError.self) {
            try peers.act(dapp: false) {
                try $0.request(
                    Request(topic: topic, method: "personal_sign", params: .array([]), chainId: .example("eip155:1"))
                )
            }
        }
    }

    @Test func aWalletChangesExtendsAndAnnouncesAndADappDoesNot() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let wider = try Example.grant(["eip155:1", "eip155:8453"])
        peers.now += 60_000
        _ = try peers.act(dapp: false) { try $0.update(topic, wider) }
        #expect(peers.sent.last?.publication.tag == 1104)
        _ = try peers.act(dapp: false) { try $0.extend(topic) }
        #expect(peers.sent.last?.publication.tag == 1106)
        let event = Session.Event(name: "chainChanged", data: .string("0x1"))
        _ = try peers.act(dapp: false) { try $0.emit(topic, event, .example("eip155:1")) }
        #expect(peers.sent.last?.publication.tag == 1110)
        peers.deliver()
        let events = peers.takeEvents()
        #expect(events.contains(.sessionUpdated(topic, wider)))
        #expect(events.contains(.sessionExtended(topic, expiry: 1_800_604_860)))
        #expect(events.contains(.sessionEvent(topic, event, try .example("eip155:1"))))
        #expect(peers.dapp.book.sessions[topic]?.namespaces == wider)
        for change in [{ _ = try $0.update(topic, wider) }, { _ = try $0.extend(topic) }]
            as [(inout SignEngine) throws -> Void]
        {
            #expect(throws: SignError.self) { try peers.act(dapp: true, change) }
        }
        #expect(throws: SignError.self) {
            try peers.act(dapp: false) { try $0.emit(topic, .init(name: "other", data: .null), .example("eip155:1")) }
        }
    }

    @Test func whatOnlyAWalletMayDoIsRefusedFromADapp() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let grant = SignEngine.json(try Example.grant()).text
        for (text, code) in [
            ("\"wc_sessionUpdate\",\"params\":{\"namespaces\":\(grant)}", 3003),
            ("\"wc_sessionExtend\",\"params\":{\"expiry\":1800700000}", 3004),
            ("\"wc_sessionEvent\",\"params\":{\"event\":{\"name\":\"foo\",\"data\":1},\"chainId\":\"eip155:1\"}", 3002),
            ("\"wc_sessionEvent\",\"params\":{}", 1002), ("\"wc_nothing\",\"params\":{}", 10001),
        ] {
            let forged = try peers.forged(
                "{\"id\":\(code),\"jsonrpc\":\"2.0\",\"method\":\(text)}",
                on: topic,
                nonce: UInt8(code & 255)
            )
            _ = peers.act(dapp: false) { $0.receive(forged) }
            #expect(try peers.lastError(byDapp: false)?.code == code)
        }
        for (text, code) in [
            ("\"wc_sessionUpdate\",\"params\":{\"namespaces\":{}}", 1003), ("\"wc_sessionUpdate\",\"params\":{}", 1003),
            ("\"wc_sessionExtend\",\"params\":{\"expiry\":1}", 1004),
            ("\"wc_sessionExtend\",\"params\":{\"expiry\":\"x\"}", 1004),
            (
                "\"wc_sessionRequest\",\"params\":{\"request\":{\"method\":\"personal_sign\",\"params\":[]},\"chainId\":\"eip155:1\"}",
                3001
            ),
        ] {
            let id = 1_900_000_000_000_000 + code
            let forged = try peers.forged(
                "{\"id\":\(id),\"jsonrpc\":\"2.0\",\"method\":\(text)}",
                on: topic,
                nonce: UInt8(text.utf8.count & 127)
            )
            _ = peers.act(dapp: true) { $0.receive(forged) }
            #expect(try peers.lastError(byDapp: true)?.code == code)
        }
    }

    @Test func anOlderUpdateThatComesLateChangesNothing() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let (first, second) = (
            try Example.grant(methods: ["personal_sign"]), try Example.grant(["eip155:1", "eip155:10"])
        )
        _ = try peers.act(dapp: false) { try $0.update(topic, first) }
        _ = try peers.act(dapp: false) { try $0.update(topic, second) }
        peers.post.swapAt(0, 1)
        peers.deliver()
        #expect(peers.dapp.book.sessions[topic]?.namespaces == second)
    }

    @Test func anUpdateThatTakesAwayWhatWasRequiredIsRefused() throws {
        var peers = Peers()
        let uri = try peers.act(dapp: true) {
            try $0.connect(
                required: Example.wish(),
                optional: [:],
                sessionProperties: nil,
                scopedProperties: nil,
                authentication: nil
            )
        }
        _ = try peers.act(dapp: false) { try $0.pair(uri, by: .scan) }
        peers.deliver()
        let id = try #require(peers.wallet.book.proposals.keys.first)
        let less = try Example.grant(methods: ["personal_sign"])
        #expect(throws: SignError.self) {
            try peers.act(dapp: false) { try $0.approve(id, less, sessionProperties: nil) }
        }
        let session = try peers.act(dapp: false) { try $0.approve(id, Example.grant(), sessionProperties: ["a": "b"]) }
        peers.deliver()
        #expect(peers.dapp.book.sessions[session.topic]?.sessionProperties == ["a": "b"])
        #expect(throws: SignError.self) { try peers.act(dapp: false) { try $0.update(session.topic, less) } }
        let forged = try peers.forged(
            "{\"id\":1900000000000000,\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionUpdate\",\"params\":{\"namespaces\":\(SignEngine.json(less).text)}}",
            on: session.topic
        )
        _ = peers.act(dapp: true) { $0.receive(forged) }
        #expect(try peers.lastError(byDapp: true)?.code == 1003)
        #expect(try peers.lastError(byDapp: true)?.message.contains("eth_sendTransaction") == true)
    }

    /// The usual wish is all optional, so that no other rule refuses it.
    @Test func aSessionThatAllowsNothingIsRefusedByEitherSide() throws {
        var peers = Peers()
        let (uri, proposal) = try peers.propose()
        #expect(throws: SignError.namespaces(NamespaceError(5100, "Session namespaces must not be empty"))) {
            try peers.act(dapp: false) { try $0.approve(proposal.id, [:], sessionProperties: nil) }
        }
        #expect(peers.wallet.book.sessions.isEmpty && peers.post.isEmpty, "nothing is sent, and no session kept")
        // The proposal is still open: the wallet can approve something, or say no.
        let session = try peers.act(dapp: false) {
            try $0.approve(proposal.id, Example.grant(), sessionProperties: nil)
        }
        #expect(throws: SignError.self) { try peers.act(dapp: false) { try $0.update(session.topic, [:]) } }
        // A wallet of others that settles nothing at all: the dapp refuses it and waits no longer.
        let answer = try #require(peers.post.first { $0.toDapp && $0.message.topic == uri.topic })
        peers.post = [answer]
        peers.deliver()
        let key = try #require(peers.wallet.book.sessions[session.topic]).selfKey.text
        let settlement = try peers.forged(
            """
            {"id":1900000000000001,"jsonrpc":"2.0","method":"wc_sessionSettle","params":{"relay":{"protocol":"irn"},\
            "namespaces":{},"controller":{"publicKey":"\(key)","metadata":{}},"expiry":1800604800}}
            """,
            on: session.topic
        )
        _ = peers.takeEvents()
        _ = peers.act(dapp: true) { $0.receive(settlement) }
        #expect(peers.dapp.book.sessions.isEmpty)
        #expect(try peers.lastError(byDapp: true)?.code == 5100)
        let failures = peers.takeEvents().compactMap {
            if case .proposalFailed(let failure) = $0 { failure } else { nil }
        }
        #expect(failures.map(\.cause) == [.unusable(reason: "Session namespaces must not be empty")])
    }

    @Test func aRequestThatOnlyItsIDNamesIsAnsweredOrSaidWhyNot() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let id = try peers.ask(topic)
        peers.deliver()
        let account = try #require(Account("eip155:1:\(Example.address)"))
        let elsewhere = try #require(Account("eip155:10:\(Example.address)"))
        let signature = RPCResult.response(.string("0xab"))
        let sent = peers.sent.count
        #expect(throws: SignError.invalid(reason: "the account is on eip155:10 and the request on eip155:1")) {
            try peers.act(dapp: false) { try $0.respond(to: id, signature, from: elsewhere) }
        }
        #expect(throws: SignError.unknown(what: "open request")) {
            try peers.act(dapp: false) { try $0.respond(to: RPCID(1), signature, from: account) }
        }
        // Another dapp's request of the same ID: nobody may guess which of them is signed.
        let other = SessionRecord.example(namespaces: try Example.grant(), isController: true)
        let copy = try #require(peers.wallet.book.received[SentRecord.name(topic, id)])
        peers.wallet.book.put(other)
        peers.wallet.book.put(
            ReceivedRecord(
                id: id,
                topic: other.topic,
                call: copy.call,
                params: copy.params,
                chain: copy.chain,
                expiry: copy.expiry.map { $0 - 100 },
                at: copy.at
            )
        )
        #expect {
            try peers.act(dapp: false) { try $0.respond(to: id, signature, from: account) }
        } throws: {
            "\($0)".contains("2 sessions")
        }
        #expect(peers.sent.count == sent, "none of these sends anything")
        // Its time over, the other one is in nobody's way.
        peers.now += 250_000
        #expect(try peers.act(dapp: false) { try $0.respond(to: id, signature, from: account) } == .sent)
        peers.deliver()
        #expect(peers.takeEvents().contains { if case .responded(let answer) = $0 { answer.id == id } else { false } })
        // It hears that its time is over, and no signature of whatever account.
        #expect(try peers.act(dapp: false) { try $0.respond(to: id, signature, from: elsewhere) } == .expired)
        #expect(try peers.lastError(byDapp: false)?.code == 8000)
    }

    @Test(arguments: [true, false]) func eitherSideEndsASessionAndTheOtherHearsOfItOnce(byDapp: Bool) throws {
        var peers = Peers()
        let topic = try peers.settle()
        _ = peers.takeEvents()
        try peers.act(dapp: byDapp) { try $0.disconnect(topic, .userDisconnected) }
        #expect((byDapp ? peers.dapp : peers.wallet).book.sessions.isEmpty)
        let copy = peers.post
        peers.deliver()
        peers.post = copy
        peers.deliver()
        #expect(
            peers.takeEvents().filter { if case .sessionEnded = $0 { true } else { false } }
                == [.sessionEnded(SessionEnd(topic: topic, cause: .peer(.userDisconnected)))]
        )
        #expect(peers.dapp.book.sessions.isEmpty && peers.wallet.book.sessions.isEmpty)
        #expect(throws: SignError.self) { try peers.ask(topic) }
    }

    @Test func pingsAreAnsweredOnPairingsAndSessions() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let pairing = try #require(peers.dapp.book.pairings.keys.first)
        for place in [topic, pairing] {
            let id = try peers.act(dapp: true) { try $0.ping(place) }
            peers.deliver()
            #expect(peers.takeEvents().contains(.pong(id, place)))
        }
        #expect(peers.sent.suffix(4).map(\.publication.tag) == [1114, 1115, 1002, 1003])
        try peers.act(dapp: true) { try $0.disconnect(pairing, .userDisconnected) }
        #expect(peers.sent.last?.publication.tag == 1000)
        peers.deliver()
        #expect(peers.takeEvents().contains(.pairingDeleted(pairing, .userDisconnected)))
        // Kept here for a wallet that comes late by the same code.
        #expect(peers.wallet.book.pairings.isEmpty && peers.dapp.book.pairings.values.allSatisfy(\.isOver))
    }

    @Test func whatIsKeptReadsBackTheSame() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let id = try peers.ask(topic)
        peers.deliver()
        _ = try peers.propose()
        for engine in [peers.dapp, peers.wallet] {
            var copy = Book()
            for value in engine.book.pairings.values { copy.put(value) }
            for value in engine.book.proposals.values { copy.put(value) }
            for value in engine.book.offers.values { copy.put(value) }
            for value in engine.book.sessions.values { copy.put(value) }
            for value in engine.book.sent.values { copy.put(value) }
            for value in engine.book.received.values { copy.put(value) }
            for (topic, hashes) in engine.book.seen { for (hash, at) in hashes { copy.see(hash, on: topic, at: at) } }
            var stored: [String: StoredValue] = [:]
            for case .set(let name, let value) in copy.takeChanges() {
                #expect(name.utf8.count <= 200 && !name.utf8.contains { $0 <= 0x20 })
                stored[name] = value
            }
            let read = try Book(stored: stored)
            #expect(read.pairings == engine.book.pairings && read.proposals == engine.book.proposals)
            #expect(read.offers == engine.book.offers && read.sessions == engine.book.sessions)
            #expect(
                read.sent == engine.book.sent && read.received == engine.book.received && read.seen == engine.book.seen
            )
        }
        #expect(peers.wallet.book.received.values.contains { $0.id == id })
        #expect(throws: StorageFailure.self) { try Book(stored: ["wc2/session/x": StoredValue([1, 2])]) }
    }
}
