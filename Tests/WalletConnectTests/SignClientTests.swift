import Crypto
import Ethereum
import StrictJSON
import Testing

@testable import WalletConnect

struct SignClientTests {
    @Test func twoClientsPairAgreeAskAnswerAndPart() async throws {
        try await Duo.run { duo in
            var pairing = duo.wallet.streams.pairingStates.makeAsyncIterator()
            #expect(await pairing.next() == false)
            let (ours, theirs) = try await duo.settle()
            #expect(ours.topic == theirs.topic && ours.accounts.map(\.address) == [Example.address])
            var requests = duo.wallet.streams.sessionRequests.makeAsyncIterator()
            let id = try await duo.dapp.request(duo.sign(ours.topic))
            let request = try #require(await requests.next()).request
            #expect(request.id == id && request.params == .strings(["0x6869", Example.address]))
            #expect(await duo.wallet.getPendingRequests().map(\.id) == [id])
            let account = try #require(Account("eip155:1:\(Example.address)"))
            try await duo.wallet.respond(requestId: id, signature: "0xabcd", from: account)
            let response = try await duo.dapp.response(to: id, topic: ours.topic)
            #expect(response.result == .response(.string("0xabcd")) && response.timing == .inTime)
            try await duo.dapp.ping(topic: ours.topic)
            var deleted = duo.wallet.streams.sessionDeletes.makeAsyncIterator()
            try await duo.dapp.disconnect(topic: ours.topic)
            #expect(await deleted.next() == SessionEnd(topic: ours.topic, cause: .peer(.userDisconnected)))
            #expect(await duo.wallet.getSessions().isEmpty)
            #expect(await duo.dapp.getSessions().isEmpty)
            #expect(await duo.dapp.getPairings().count == 1)
            // Each side listens before it speaks: an answer cannot be missed.
            #expect(duo.hub.unheard == 0)
        }
    }

    @Test func aNoAndAWithdrawalReachWhoeverWaits() async throws {
        try await Duo.run { duo in
            var proposals = duo.wallet.streams.sessionProposals.makeAsyncIterator()
            let uri = try await duo.dapp.connect(namespaces: Example.wish())
            try await duo.wallet.pair(scanned: uri.absoluteString)
            let proposal = try #require(await proposals.next()).proposal
            try await duo.wallet.reject(proposalId: proposal.id, reason: .userRejected)
            let failure = await #expect(throws: ProposalFailure.self) { try await duo.dapp.session(pairing: uri.topic) }
            #expect(failure?.cause == .rejected(.userRejected))
            let second = try await duo.dapp.connect(namespaces: Example.wish())
            try await duo.dapp.cancel(pairing: second.topic)
            let withdrawn = await #expect(throws: ProposalFailure.self) {
                try await duo.dapp.session(pairing: second.topic)
            }
            #expect(withdrawn?.cause == .withdrawn)
        }
    }

    @Test func aLinkThatOpensTheWalletPairsAndIsRemembered() async throws {
        try await Duo.run { duo in
            var proposals = duo.wallet.streams.sessionProposals.makeAsyncIterator()
            let uri = try await duo.dapp.connect(namespaces: Example.wish())
            let link = try #require(DappLink.connect(uri, wallet: "examplewallet://"))
            #expect(try await duo.wallet.open(link: link) == .pair(uri))
            #expect(await proposals.next()?.proposal.transport == .link)
            #expect(try await duo.wallet.open(link: "examplewallet://wc?uri=wc:\(uri.topic.text)@2") == .ignore)
            await #expect(throws: PairingError.self) {
                try await duo.wallet.open(link: "wc:abc@2?symKey=1&relay-protocol=irn")
            }
            #expect(await duo.wallet.getPairings().count == 1)
        }
    }

    @Test func aWalletOpenedByALinkWaitsForItsFirstConnection() async throws {
        let uri = try WalletConnectURI(parsing: PairingURITests.good)
        for comes in [true, false] {
            let hub = RelayHub()
            hub.setDown(true)
            try await Duo.run(hub: hub) { duo in
                async let paired: Void = duo.wallet.pair(uri: uri)
                for _ in 0..<9 { await duo.beat() }
                if comes {
                    hub.setDown(false)
                    try await paired
                } else {
                    await duo.beat()
                    await #expect(throws: PairingError.notConnected) { try await duo.wallet.pair(uri: uri) }
                    _ = try? await paired
                }
                #expect(await duo.wallet.getPairings().map(\.topic) == [uri.topic])
            }
        }
    }

    @Test func everythingIsThereAfterARestartAndWhatWasNotSentIsSentUnchanged() async throws {
        let (hub, clock) = (RelayHub(), TestClock())
        let stores = (MemoryStore(), MemoryStore())
        let (topic, id) = try await Duo.run(stores: stores, hub: hub, clock: clock) { duo in
            let session = try await duo.settle().dapp
            hub.setDown(true)
            var statuses = duo.dapp.streams.socketConnectionStatuses.makeAsyncIterator()
            while await statuses.next() != .disconnected {}
            let request = try duo.sign(session.topic)
            let error = await #expect(throws: SignError.self) { try await duo.dapp.request(request) }
            #expect(error == .notConnected && error?.isStillBeingSent == true)
            let open = await duo.dapp.openRequests(topic: session.topic)
            return (session.topic, try #require(open.first?.id))
        }
        let kept = try await stores.0.values(prefix: "wc2/outbox/").values.map {
            String(decoding: $0.bytes, as: UTF8.self)
        }
        hub.setDown(false)
        try await Duo.run(stores: stores, hub: hub, clock: clock) { duo in
            #expect(await duo.dapp.getSessions().map(\.topic) == [topic])
            #expect(await duo.wallet.getSessions().map(\.topic) == [topic])
            while await duo.wallet.getPendingRequests().map(\.id) != [id] { await duo.beat() }
            let sent = try #require(hub.publications.last { $0.publication.tag == 1108 }).publication
            #expect(kept.contains { $0.contains(sent.message) })
            try await duo.wallet.respond(topic: topic, requestId: id, response: .response(.string("0x1")))
            #expect(try await duo.dapp.response(to: id, topic: topic).result == .response(.string("0x1")))
            while await !duo.dapp.engine.book.outbox.isEmpty { await duo.beat() }
        }
        #expect(try await stores.0.values(prefix: "wc2/outbox/").isEmpty)
    }

    @Test func whatCannotBeStoredIsNotSent() async throws {
        let store = TestStore()
        try await Duo.run(stores: (store, MemoryStore())) { duo in
            let session = try await duo.settle().dapp
            await store.breakDown(true)
            await #expect(throws: SignError.storage(reason: "disk full")) {
                try await duo.dapp.request(duo.sign(session.topic))
            }
            await #expect(throws: SignError.self) { try await duo.dapp.disconnect(topic: session.topic) }
            #expect(!duo.hub.publications.contains { [1108, 1112].contains($0.publication.tag) })
            #expect(await duo.dapp.getSessions().map(\.topic) == [session.topic])
            // What arrives meanwhile is not acknowledged, and comes again.
            let update = try Example.grant(["eip155:1", "eip155:10"])
            try await duo.wallet.update(topic: session.topic, namespaces: update)
            await store.breakDown(false)
            while await duo.dapp.getSessions().first?.namespaces != update { await duo.beat() }
        }
    }

    @Test func aRelayThatDoesNotConfirmIsATimeoutAndWhatWasSaidIsSentAgain() async throws {
        try await Duo.run { duo in
            var proposals = duo.wallet.streams.sessionProposals.makeAsyncIterator()
            let uri = try await duo.dapp.connect(namespaces: Example.wish())
            duo.hub.setSilent(true)
            await #expect(throws: PairingError.timedOut) { try await duo.wallet.pair(uri: uri) }
            #expect(PairingError.timedOut.userClass == .noConnection)
            await #expect(throws: SignError.timedOut) { try await duo.dapp.connect(namespaces: Example.wish()) }
            duo.hub.setSilent(false)
            duo.hub.settle()
            let proposal = try #require(await proposals.next()).proposal
            duo.hub.setSilent(true)
            let error = await #expect(throws: SignError.self) {
                try await duo.wallet.approve(proposalId: proposal.id, namespaces: Example.grant())
            }
            #expect(error == .timedOut && error?.isStillBeingSent == true)
            duo.hub.setSilent(false)
            while await duo.dapp.getSessions().isEmpty { await duo.beat() }
            #expect(try await duo.dapp.session(pairing: uri.topic).peer.name == "Wallet")
            while await duo.wallet.getSessions().first?.acknowledged != true { await duo.beat() }
        }
    }

    @Test func aWalletHearsOfTheThreeTroublesOfAScan() async throws {
        try await Duo.run { duo in
            let (ours, _) = try await duo.settle()
            let pairing = try #require(await duo.dapp.getPairings().first)
            let key = try #require(await duo.dapp.engine.book.pairings[pairing.topic]?.key.secret)
            let used = WalletConnectURI(symKey: key, expiryTimestamp: 1_800_000_300)
            await #expect(throws: PairingError.alreadyPaired(ours.pairingTopic)) {
                try await duo.wallet.pair(uri: used)
            }
            let old = WalletConnectURI(symKey: key, expiryTimestamp: 1_800_000_000)
            await #expect(throws: PairingError.expired) { try await duo.wallet.pair(uri: old) }
            duo.hub.setDown(true)
            var statuses = duo.wallet.streams.socketConnectionStatuses.makeAsyncIterator()
            while await statuses.next() != .disconnected {}
            let other = WalletConnectURI(
                symKey: SymmetricSecret(key: .init(size: .bits256)),
                expiryTimestamp: 1_800_000_300
            )
            await #expect(throws: PairingError.notConnected) { try await duo.wallet.pair(uri: other) }
            await #expect(throws: SignError.notConnected) { try await duo.dapp.connect(namespaces: Example.wish()) }
            #expect(await duo.dapp.engine.book.offers.values.allSatisfy { $0.phase == .over })
        }
    }

    @Test func timeIsToldByStreams() async throws {
        try await Duo.run { duo in
            var expired = duo.wallet.streams.sessionProposalExpirations.makeAsyncIterator()
            var pairings = duo.wallet.streams.pairingExpirations.makeAsyncIterator()
            var proposals = duo.wallet.streams.sessionProposals.makeAsyncIterator()
            let uri = try await duo.dapp.connect(namespaces: Example.wish())
            try await duo.wallet.pair(uri: uri)
            let proposal = try #require(await proposals.next()).proposal
            await duo.beat(seconds: 301)
            #expect(await expired.next() == proposal)
            #expect(await pairings.next()?.active == false)
            let failure = await #expect(throws: ProposalFailure.self) { try await duo.dapp.session(pairing: uri.topic) }
            #expect(failure?.cause == .expired)
            await #expect(throws: SignError.proposalExpired) {
                try await duo.wallet.approve(proposalId: proposal.id, namespaces: Example.grant())
            }
            let (ours, _) = try await duo.settle()
            var requests = duo.wallet.streams.sessionRequests.makeAsyncIterator()
            var ends = duo.wallet.streams.requestExpirations.makeAsyncIterator()
            let id = try await duo.dapp.request(params: duo.sign(ours.topic))
            _ = await requests.next()
            await duo.beat(seconds: 301)
            #expect(await ends.next() == id)
            await #expect(throws: SignError.noAnswer) { try await duo.dapp.response(to: id, topic: ours.topic) }
            await #expect(throws: SignError.requestExpired) {
                try await duo.wallet.respond(topic: ours.topic, requestId: id, response: .response(.string("0x1")))
            }
        }
    }

    @Test func aSignatureForAnExpiredRequestIsNotSentAndTheDappHearsWhy() async throws {
        try await Duo.run { duo in
            let (ours, _) = try await duo.settle()
            var requests = duo.wallet.streams.sessionRequests.makeAsyncIterator()
            var answers = duo.dapp.streams.sessionResponses.makeAsyncIterator()
            let id = try await duo.dapp.request(duo.sign(ours.topic))
            _ = await requests.next()
            await duo.beat(seconds: 301)
            let account = try #require(Account("eip155:1:\(Example.address)"))
            let error = await #expect(throws: SignError.self) {
                try await duo.wallet.respond(requestId: id, signature: "0xabcd", from: account)
            }
            try #require(error == .requestExpired)
            let answer = try #require(await answers.next())
            #expect(answer.id == id && answer.result == .error(.sessionRequestExpired))
            #expect(answer.timing == .afterExpiry)
        }
    }

    @Test func everyListenerGetsEverythingAndStatesBeginWithThePresent() async throws {
        try await Duo.run { duo in
            let (first, second) = (duo.dapp.streams.sessionSettles, duo.dapp.streams.sessionSettles)
            let (ours, _) = try await duo.settle()
            for stream in [first, second] {
                var iterator = stream.makeAsyncIterator()
                #expect(await iterator.next()?.topic == ours.topic)
            }
            var sessions = duo.dapp.streams.sessions.makeAsyncIterator()
            #expect(await sessions.next()?.map(\.topic) == [ours.topic])
            var proposals = duo.wallet.streams.pendingProposals.makeAsyncIterator()
            #expect(await proposals.next()?.isEmpty == true)
            var statuses = duo.dapp.streams.socketConnectionStatuses.makeAsyncIterator()
            #expect(await statuses.next() == .connected)
        }
    }

    @Test func everyStreamTellsWhatItsNameSays() async throws {
        try await Duo.run { duo in
            let topic = try await duo.settle().dapp.topic
            let streams = duo.dapp.streams
            var updates = streams.sessionUpdates.makeAsyncIterator()
            var extends = streams.sessionExtends.makeAsyncIterator()
            var events = streams.sessionEvents.makeAsyncIterator()
            var pongs = streams.pingResponses.makeAsyncIterator()
            var rejections = streams.sessionRejections.makeAsyncIterator()
            let wider = try Example.grant(["eip155:1", "eip155:10"])
            try await duo.wallet.update(topic: topic, namespaces: wider)
            let update = try #require(await updates.next())
            #expect(update.topic == topic && update.namespaces == wider)
            await duo.beat(seconds: 60)
            try await duo.wallet.extend(topic: topic)
            let extended = try #require(await extends.next())
            #expect(extended.topic == topic && extended.expiry == 1_800_604_860)
            let event = Session.Event(name: "chainChanged", data: .string("0x1"))
            try await duo.wallet.emit(topic: topic, event: event, chainId: .example("eip155:1"))
            let told = try #require(await events.next())
            #expect(try told.event == event && told.topic == topic && told.chainId == .example("eip155:1"))
            try await duo.dapp.ping(topic: topic)
            #expect(await pongs.next() == topic)
            var proposals = duo.wallet.streams.sessionProposals.makeAsyncIterator()
            var ended = duo.wallet.streams.pairingDeletes.makeAsyncIterator()
            let uri = try await duo.dapp.connect(namespaces: Example.wish())
            try await duo.wallet.pair(uri: uri)
            let proposal = try #require(await proposals.next()).proposal
            try await duo.wallet.reject(proposalId: proposal.id, reason: .userRejected)
            #expect(await rejections.next()?.pairingTopic == uri.topic)
            try await duo.dapp.disconnect(topic: uri.topic)
            #expect(await ended.next()?.topic == uri.topic)
        }
    }

    @Test func aClientRunsOnceAndItsStreamsEndWithIt() async throws {
        let client = try await Duo.run { duo in
            await #expect(throws: SignError.stopped) { try await duo.dapp.run() }
            return duo.dapp
        }
        for await _ in client.streams.sessionSettles {}
        await #expect(throws: SignError.stopped) { try await client.connect(namespaces: [:]) }
        await #expect(throws: PairingError.stopped) { try await client.pair(scanned: PairingURITests.good) }
    }

    @Test func aWalletSignsInAndOpensASessionWithOneSignature() async throws {
        try await Duo.run { duo in
            let key = PrivateKey()
            let account = try #require(Account("eip155:1:\(key.address)"))
            var requests = duo.wallet.streams.authRequests.makeAsyncIterator()
            var responses = duo.dapp.streams.authResponses.makeAsyncIterator()
            let uri = try await duo.dapp.connect(
                namespaces: Example.wish(),
                authentication: AuthRequestParams(
                    domain: "shop.example",
                    chains: [.example("eip155:1"), .example("eip155:8453")],
                    nonce: "32891756",
                    uri: "https://shop.example/login",
                    methods: ["personal_sign"]
                )
            )
            #expect(uri.methods == ["wc_sessionAuthenticate"])
            try await duo.wallet.pair(uri: uri)
            let request = try #require(await requests.next())
            let message = try #require(request.message(for: account))
            let signature = key.sign(Cacao.digest(of: message)).hexadecimal
            let now = duo.clock.nowMilliseconds / 1000
            let other = try #require(Account("eip155:1:\(PrivateKey().address)"))
            #expect(throws: SignError.self) {
                try AuthObject.make(request.payload, account: other, signature: signature, nowSeconds: now)
            }
            let cacao = try AuthObject.make(request.payload, account: account, signature: signature, nowSeconds: now)
            let theirs = try #require(
                try await duo.wallet.approveSessionAuthenticate(requestId: request.id, auths: [cacao])
            )
            let response = try #require(await responses.next())
            #expect(response.accounts == [account] && response.session?.topic == theirs.topic && response.error == nil)
            #expect(try await duo.dapp.session(pairing: uri.topic).topic == theirs.topic)
            #expect(await duo.wallet.getPendingProposals().isEmpty)
            #expect(
                duo.hub.publications.contains { $0.publication.tag == 1117 && $0.publication.message.hasPrefix("A") }
            )
            let id = try await duo.dapp.request(duo.sign(theirs.topic))
            while await duo.wallet.getPendingRequests().isEmpty { await duo.beat() }
            try await duo.wallet.respond(topic: theirs.topic, requestId: id, response: .error(.userRejectedRequest))
            #expect(try await duo.dapp.response(to: id, topic: theirs.topic).result == .error(.userRejectedRequest))
        }
    }

    @Test func aForgedSignInGivesNoSessionAndARefusedOneSaysSo() async throws {
        try await Duo.run { duo in
            for isForged in [true, false] {
                var requests = duo.wallet.streams.authRequests.makeAsyncIterator()
                var responses = duo.dapp.streams.authResponses.makeAsyncIterator()
                let uri = try await duo.dapp.connect(
                    namespaces: Example.wish(),
                    authentication: AuthRequestParams(
                        domain: "shop.example",
                        chains: [.example("eip155:1")],
                        nonce: "1",
                        uri: "https://shop.example",
                        methods: ["personal_sign"]
                    )
                )
                try await duo.wallet.pair(uri: uri)
                let request = try #require(await requests.next())
                if isForged {
                    // A wallet that lies about whose signature it is, which ours refuses to do.
                    let cacao = Cacao(
                        payload: request.payload,
                        iss: "did:pkh:eip155:1:\(Example.address)",
                        signature: PrivateKey().sign(Cacao.digest(of: "x")).hexadecimal
                    )
                    await #expect(throws: SignError.self) {
                        try await duo.wallet.approveSessionAuthenticate(requestId: request.id, auths: [cacao])
                    }
                    let offer = try #require(await duo.dapp.engine.book.offers.values.first)
                    let key = AgreementKey(using: TestRandom(seed: 3))
                    let secret = try #require(key.sharedSecret(with: offer.key.publicKey))
                    let text = RPCMessage.response(
                        RPCResponse(
                            id: request.id,
                            result: .response(
                                .of([
                                    "cacaos": .array([cacao.json]),
                                    "responder": .of([
                                        "publicKey": .string(key.publicKey.text), "metadata": AppMetadata.wallet.json,
                                    ]),
                                ])
                            )
                        )
                    ).text
                    let envelope = Envelope.seal(
                        text,
                        from: key.publicKey,
                        with: secret,
                        nonce: [UInt8](repeating: 0, count: 12)
                    )
                    duo.hub.inject(envelope.text(for: .relay), topic: offer.key.publicKey.answerTopic, to: 1)
                } else {
                    try await duo.wallet.rejectSession(requestId: request.id)
                }
                let response = try #require(await responses.next())
                #expect(response.session == nil && response.accounts.isEmpty)
                #expect(response.error?.code == (isForged ? 11004 : 12001))
                #expect(await duo.dapp.getSessions().isEmpty)
            }
        }
    }

    @Test func theSharedClientIsWhatItWasLastSetUpToBe() async throws {
        #expect(!WalletKit.isConfigured)
        // Whoever asks too early hears so from the call itself, and nobody waits for ever.
        let (early, nowhere) = (WalletKit.instance, try #require(Topic(PairingURITests.topic)))
        await #expect(throws: PairingError.stopped) { try await early.pair(scanned: PairingURITests.good) }
        await #expect(throws: SignError.stopped) { try await early.connect(namespaces: [:]) }
        await #expect(throws: SignError.stopped) { try await early.run() }
        await #expect(throws: ProposalFailure.self) { try await early.session(pairing: nowhere) }
        for await _ in early.streams.sessionProposals { Issue.record("it comes from nowhere") }

        let hub = RelayHub()
        let client = try await WalletKit.configure(.init(metadata: .wallet, relay: hub.port(7), clock: TestClock()))
        #expect(WalletKit.isConfigured && WalletKit.instance === client)
        #expect(Sign.instance === client)
    }
}
