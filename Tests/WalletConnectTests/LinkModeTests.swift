import Ethereum
import Locks
import StrictJSON
import Testing

@testable import WalletConnect

/// Two apps on one phone: what goes within links, what does not, and what a stranger's link can do.
@Suite(.timeLimit(.minutes(2)))
struct LinkModeTests {
    private static func metadata(_ name: String, linkMode: Bool = true) -> AppMetadata {
        AppMetadata(
            name: name,
            description: "",
            url: "https://\(name).example",
            icons: [],
            redirect: AppMetadata.Redirect(
                native: "\(name)://",
                universal: "https://\(name).example/app",
                linkMode: linkMode
            )
        )
    }

    /// The phone: hands links to the app whose universal link they begin with.
    private final class Phone: Sendable {
        private let state = Mutex<(links: [String], isBroken: Bool)>(([], false))
        private let waiting = AsyncStream.makeStream(of: String.self)

        /// What was opened, oldest first.
        var links: [String] { state.withLock(\.links) }
        func breakDown(_ isBroken: Bool) { state.withLock { $0.isBroken = isBroken } }

        func open(_ link: String) -> Bool {
            let isTaken = state.withLock { state in
                guard !state.isBroken else { return false }
                state.links.append(link)
                return true
            }
            if isTaken { waiting.continuation.yield(link) }
            return isTaken
        }

        /// The next link that was opened.
        func next() async -> String? {
            for await link in waiting.stream { return link }
            return nil
        }
    }

    /// A dapp and a wallet on one phone, with a relay beside them.
    private struct Pair {
        let dapp, wallet: SignClient
        let phone: Phone
        let hub: RelayHub
        let clock: TestClock
        let key = PrivateKey()

        var account: Account { get throws { try #require(Account("eip155:1:\(key.address)")) } }

        static let walletLink = "https://wallet.example/app"

        static func params(methods: [String] = ["personal_sign"]) throws -> AuthRequestParams {
            AuthRequestParams(
                domain: "dapp.example",
                chains: [try .example("eip155:1")],
                nonce: "32891756",
                uri: "https://dapp.example/login",
                methods: methods
            )
        }

        /// Up to a session that both have, all of it within links.
        func signIn() async throws -> Session {
            var requests = wallet.streams.authRequests.makeAsyncIterator()
            var responses = dapp.streams.authResponses.makeAsyncIterator()
            #expect(try await dapp.authenticate(Self.params(), walletUniversalLink: Self.walletLink) == nil)
            _ = try await wallet.open(link: #require(await phone.next()))
            let request = try #require(await requests.next())
            #expect(request.transport == .link && request.requester.name == "dapp")
            let cacao = try sign(request)
            let theirs = try #require(
                try await wallet.approveSessionAuthenticate(requestId: request.id, auths: [cacao])
            )
            let answer = try #require(await phone.next())
            #expect(answer.hasPrefix("https://dapp.example/app?wc_ev="))
            try await dapp.dispatchEnvelope(answer)
            let response = try #require(await responses.next())
            #expect(response.session?.topic == theirs.topic && response.error == nil)
            #expect(try response.accounts == [account])
            return theirs
        }

        func sign(_ request: AuthenticationRequest) throws -> Cacao {
            let message = try #require(request.message(for: account))
            return try AuthObject.make(
                request.payload,
                account: account,
                signature: key.sign(Cacao.digest(of: message)).hexadecimal,
                nowSeconds: clock.nowMilliseconds / 1000
            )
        }

        func ask(_ session: Session) throws -> Request {
            Request(
                topic: session.topic,
                method: "personal_sign",
                params: .strings(["0x6869", try account.address]),
                chainId: try .example("eip155:1")
            )
        }
    }

    private func withPair(
        dapp: AppMetadata = metadata("dapp"),
        wallet: AppMetadata = metadata("wallet"),
        isDown: Bool = false,
        _ body: (Pair) async throws -> Void
    ) async throws {
        let (phone, hub, clock) = (Phone(), RelayHub(), TestClock())
        hub.setDown(isDown)
        func client(_ metadata: AppMetadata, _ number: Int) async throws -> SignClient {
            try await SignClient(
                metadata: metadata,
                relay: hub.port(number),
                clock: clock,
                random: TestRandom(seed: UInt64(number)),
                opener: { phone.open($0) }
            )
        }
        let pair = Pair(
            dapp: try await client(dapp, 1),
            wallet: try await client(wallet, 2),
            phone: phone,
            hub: hub,
            clock: clock
        )
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await pair.dapp.run() }
            group.addTask { try await pair.wallet.run() }
            do { try await body(pair) } catch {
                group.cancelAll()
                throw error
            }
            group.cancelAll()
        }
    }

    @Test func aSignInAndARequestTravelWithinLinksAndNothingGoesByTheRelay() async throws {
        try await withPair { pair in
            let session = try await pair.signIn()
            let id = try await pair.dapp.request(pair.ask(session))
            let link = try #require(await pair.phone.next())
            #expect(
                link.hasPrefix("https://wallet.example/app?wc_ev=") && link.hasSuffix("&topic=\(session.topic.text)")
            )
            guard case .linkMode(let envelope) = WalletLink(link) else {
                Issue.record("no envelope")
                return
            }
            #expect(envelope.plainText == nil)
            _ = try await pair.wallet.open(link: link)
            let asked = try #require(await pair.wallet.getPendingRequests().first)
            #expect(asked.id == id && asked.method == "personal_sign")
            // Opened twice, as apps do: it is one request.
            _ = try await pair.wallet.open(link: link)
            #expect(await pair.wallet.getPendingRequests().count == 1)
            try await pair.wallet.respond(topic: session.topic, requestId: id, response: .response(.string("0xsigned")))
            _ = try await pair.dapp.open(link: #require(await pair.phone.next()))
            let answer = try await pair.dapp.response(to: id, topic: session.topic)
            #expect(answer.result == .response(.string("0xsigned")) && answer.timing == .inTime)
            #expect(pair.hub.publications.isEmpty)
            // The first message is plain, the first answer names its sender, what follows is under the session's key.
            let types = pair.phone.links.compactMap { LinkEnvelope(link: $0)?.envelope.bytes.first }
            #expect(types == [2, 1, 0, 0])
        }
    }

    @Test func linksNeedNoInternet() async throws {
        try await withPair(isDown: true) { pair in
            let session = try await pair.signIn()
            let id = try await pair.dapp.request(pair.ask(session))
            _ = try await pair.wallet.open(link: #require(await pair.phone.next()))
            try await pair.wallet.respond(topic: session.topic, requestId: id, response: .error(.userRejectedRequest))
            _ = try await pair.dapp.open(link: #require(await pair.phone.next()))
            #expect(try await pair.dapp.response(to: id, topic: session.topic).result == .error(.userRejectedRequest))
        }
    }

    @Test func whatNoAppTakesGoesByTheRelay() async throws {
        try await withPair { pair in
            let session = try await pair.signIn()
            pair.phone.breakDown(true)
            var requests = pair.wallet.streams.sessionRequests.makeAsyncIterator()
            let id = try await pair.dapp.request(pair.ask(session))
            #expect(try #require(await requests.next()).0.id == id)
            try await pair.wallet.respond(topic: session.topic, requestId: id, response: .response(.bool(true)))
            #expect(try await pair.dapp.response(to: id, topic: session.topic).result == .response(.bool(true)))
            #expect(Set(pair.hub.publications.map(\.publication.tag)).isSuperset(of: [1108, 1109]))
        }
    }

    @Test func withoutAWalletThatOpensThereIsACodeWithTheSameQuestion() async throws {
        try await withPair { pair in
            pair.phone.breakDown(true)
            let uri = try #require(
                try await pair.dapp.authenticate(Pair.params(), walletUniversalLink: Pair.walletLink)
            )
            #expect(uri.methods == ["wc_sessionAuthenticate"])
            var requests = pair.wallet.streams.authRequests.makeAsyncIterator()
            try await pair.wallet.pair(uri: uri)
            let request = try #require(await requests.next())
            #expect(request.transport == .scan && request.payload.nonce == "32891756")
            // Nothing is left of the attempt within a link.
            #expect(await pair.dapp.engine.book.offers.values.allSatisfy { $0.isByLink != true })
        }
    }

    @Test(arguments: [false, true]) func linksAreUsedOnlyWhereBothSidesTakeThem(byDapp: Bool) async throws {
        try await withPair(
            dapp: Self.metadata("dapp", linkMode: byDapp),
            wallet: Self.metadata("wallet", linkMode: !byDapp)
        ) { pair in
            if byDapp {
                // A wallet that has not announced it takes no envelope from a link.
                #expect(try await pair.dapp.authenticate(Pair.params(), walletUniversalLink: Pair.walletLink) == nil)
                _ = try await pair.wallet.open(link: #require(await pair.phone.next()))
                #expect(await pair.wallet.getPendingAuthRequests().isEmpty)
            } else {
                #expect(try await pair.dapp.authenticate(Pair.params(), walletUniversalLink: Pair.walletLink) != nil)
                #expect(pair.phone.links.isEmpty)
            }
        }
    }

    @Test func aSessionMadeByACodeNeverMovesToLinks() async throws {
        try await withPair { pair in
            var requests = pair.wallet.streams.authRequests.makeAsyncIterator()
            var responses = pair.dapp.streams.authResponses.makeAsyncIterator()
            let uri = try #require(try await pair.dapp.authenticate(Pair.params()))
            try await pair.wallet.pair(uri: uri)
            let request = try #require(await requests.next())
            let session = try #require(
                try await pair.wallet.approveSessionAuthenticate(requestId: request.id, auths: [pair.sign(request)])
            )
            _ = await responses.next()
            let key = try #require(await pair.wallet.engine.book.sessions[session.topic]?.key)
            let forged = LinkEnvelope(
                sealing: #"{"id":1,"jsonrpc":"2.0","method":"wc_sessionDelete","params":{}}"#,
                with: key.secret,
                topic: session.topic,
                random: TestRandom(seed: 9)
            )
            _ = try await pair.wallet.open(link: #require(forged.link(universal: Pair.walletLink)))
            #expect(await pair.wallet.getSessions().count == 1)
            _ = try await pair.dapp.request(pair.ask(session))
            #expect(pair.phone.links.isEmpty)
        }
    }

    @Test func aStrangersLinkEndsAndOpensNothing() async throws {
        try await withPair { pair in
            let session = try await pair.signIn()
            let topic = try #require(Topic(String(repeating: "5a", count: 32)))
            func plain(_ text: String, _ topic: Topic) throws -> String {
                try #require(LinkEnvelope(plainText: text, topic: topic).link(universal: Pair.walletLink))
            }
            let delete = #"{"id":1,"jsonrpc":"2.0","method":"wc_sessionDelete","params":{"code":6000,"message":"x"}}"#
            let ask = #"{"id":2,"jsonrpc":"2.0","method":"wc_sessionRequest","params":{}}"#
            let other = try #require(SymmetricSecret(bytes: [UInt8](repeating: 7, count: 32)))
            let sealed = LinkEnvelope(sealing: delete, with: other, topic: session.topic, random: TestRandom(seed: 3))
            let request = try #require(pair.phone.links.first)
            for link in [
                try plain(delete, session.topic), try plain(ask, session.topic), try plain(delete, topic),
                try plain("{", topic), try plain(#"{"id":3,"jsonrpc":"2.0","result":true}"#, topic),
                try plain(#"{"id":4,"jsonrpc":"2.0","method":"wc_sessionAuthenticate","params":{}}"#, topic),
                try #require(sealed.link(universal: Pair.walletLink)),
                // The sign-in again, under the topic of the session.
                request.replacing(#/topic=.*/#, with: "topic=\(session.topic.text)"),
            ] {
                _ = try await pair.wallet.open(link: link)
                _ = try await pair.dapp.open(link: link)
            }
            #expect(await pair.wallet.getSessions().map(\.topic) == [session.topic])
            #expect(await pair.dapp.getSessions().map(\.topic) == [session.topic])
            #expect(await pair.wallet.getPendingAuthRequests().isEmpty)
            #expect(await pair.wallet.getPendingRequests().isEmpty)
            for bad in ["https://wallet.example/app", "https://wallet.example/app?wc_ev=!!&topic=1", ""] {
                await #expect(throws: PairingError.self) { try await pair.wallet.dispatchEnvelope(bad) }
            }
        }
    }

    @Test func aSignInThatCannotBeAnsweredByALinkIsNotShown() async throws {
        for redirect in [
            nil, AppMetadata.Redirect(native: "dapp://", universal: nil, linkMode: true),
            AppMetadata.Redirect(native: nil, universal: "https://dapp.example", linkMode: false),
            AppMetadata.Redirect(native: nil, universal: "javascript:alert(1)", linkMode: true),
            AppMetadata.Redirect(native: nil, universal: "https://dapp.example?steal=", linkMode: true),
        ] {
            try await withPair { pair in
                #expect(try await pair.dapp.authenticate(Pair.params(), walletUniversalLink: Pair.walletLink) == nil)
                let link = try #require(await pair.phone.next())
                let envelope = try #require(LinkEnvelope(link: link))
                var json = try ExactJSON(parsing: #require(envelope.plainText))
                var stranger = Self.metadata("dapp")
                stranger.redirect = redirect
                json = try json.replacing(["params", "requester", "metadata"], with: stranger.json)
                let forged = LinkEnvelope(plainText: json.text, topic: envelope.topic)
                _ = try await pair.wallet.open(link: #require(forged.link(universal: Pair.walletLink)))
                #expect(await pair.wallet.getPendingAuthRequests().isEmpty)
                // As it was sent, it is.
                _ = try await pair.wallet.open(link: link)
                #expect(await pair.wallet.getPendingAuthRequests().count == 1)
            }
        }
    }

    @Test func aRefusalAndALateAnswerAreTold() async throws {
        try await withPair { pair in
            var requests = pair.wallet.streams.authRequests.makeAsyncIterator()
            var responses = pair.dapp.streams.authResponses.makeAsyncIterator()
            for isLate in [false, true] {
                #expect(try await pair.dapp.authenticate(Pair.params(), walletUniversalLink: Pair.walletLink) == nil)
                _ = try await pair.wallet.open(link: #require(await pair.phone.next()))
                let request = try #require(await requests.next())
                if isLate {
                    await pair.clock.advance(seconds: 3600, clients: 2)
                    await #expect(throws: SignError.self) { try await pair.wallet.rejectSession(requestId: request.id) }
                    #expect(await pair.dapp.getSessions().isEmpty)
                } else {
                    try await pair.wallet.rejectSession(requestId: request.id)
                    _ = try await pair.dapp.open(link: #require(await pair.phone.next()))
                    let response = try #require(await responses.next())
                    #expect(response.error == .authUserRejectedRequest && response.session == nil)
                }
            }
        }
    }

    /// The two flows of "Mobile Linking", with the messages by the relay and the user taken there and back by links.
    @Test(arguments: [true, false]) func aConnectionAndASignRequestGoThereAndBack(isAutomatic: Bool) async throws {
        try await withPair { pair in
            let router = WalletConnectRouter { link in isAutomatic && pair.phone.open(link) }
            let back = isAutomatic ? WalletConnectRouter.Outcome.opened("dapp://") : .returnByHand
            var proposals = pair.wallet.streams.sessionProposals.makeAsyncIterator()
            let uri = try await pair.dapp.connect(namespaces: Example.wish())
            let there = try #require(DappLink.connect(uri, wallet: "wallet://"))
            guard case .pair = try await pair.wallet.open(link: there) else {
                Issue.record("no invitation")
                return
            }
            let proposal = try #require(await proposals.next()).proposal
            #expect(proposal.transport == .link)
            let session = try await pair.wallet.approve(proposalId: proposal.id, namespaces: Example.grant())
            #expect(await router.goBack(to: proposal.proposer.redirect, by: proposal.transport) == back)
            #expect(try await pair.dapp.session(pairing: uri.topic).topic == session.topic)

            var requests = pair.wallet.streams.sessionRequests.makeAsyncIterator()
            let id = try await pair.dapp.request(
                Request(
                    topic: session.topic,
                    method: "personal_sign",
                    params: .strings(["0x6869", Example.address]),
                    chainId: .example("eip155:1")
                )
            )
            let nudge = try #require(DappLink.request(id: id, sessionTopic: session.topic.text, wallet: "wallet://"))
            #expect(try await pair.wallet.open(link: nudge) == .showRequest(id: id, sessionTopic: session.topic))
            // Older dapps nudge with an incomplete URI: it pairs with nothing.
            let old = "wallet://wc?uri=wc:00e46b69-d0cc-4b3e-b6a2-cee442f97188@2"
            #expect(try await pair.wallet.open(link: old) == .ignore)
            let request = try #require(await requests.next()).0
            try await pair.wallet.respond(topic: session.topic, requestId: request.id, response: .response(.bool(true)))
            let peer = try #require(await pair.wallet.getSessions().first).peer
            #expect(await router.goBack(to: peer.redirect, by: .link) == back)
            #expect(try await pair.dapp.response(to: id, topic: session.topic).result == .response(.bool(true)))
            #expect(pair.phone.links == (isAutomatic ? ["dapp://", "dapp://"] : []))
        }
    }

    @Test func aLinkIsForgottenByNobodyOverARestart() async throws {
        let (phone, hub, clock, store) = (Phone(), RelayHub(), TestClock(), MemoryStore())
        let topic: Topic = try await withPair2(phone, hub, clock, store) { dapp, wallet in
            let pair = Pair(dapp: dapp, wallet: wallet, phone: phone, hub: hub, clock: clock)
            return try await pair.signIn().topic
        }
        try await withPair2(phone, hub, clock, store) { dapp, _ in
            _ = try await dapp.request(
                Request(
                    topic: topic,
                    method: "personal_sign",
                    params: .strings(["0x6869"]),
                    chainId: try .example("eip155:1")
                )
            )
            #expect(phone.links.last?.hasPrefix("https://wallet.example/app?wc_ev=") == true)
        }
    }

    /// As ``withPair(dapp:wallet:isDown:_:)``, with a dapp whose storage outlives it.
    private func withPair2<Value: Sendable>(
        _ phone: Phone,
        _ hub: RelayHub,
        _ clock: TestClock,
        _ store: MemoryStore,
        _ body: (SignClient, SignClient) async throws -> Value
    ) async throws -> Value {
        let dapp = try await SignClient(
            metadata: Self.metadata("dapp"),
            relay: hub.port(1),
            storage: store,
            clock: clock,
            random: TestRandom(seed: 1),
            opener: { phone.open($0) }
        )
        let wallet = try await SignClient(
            metadata: Self.metadata("wallet"),
            relay: hub.port(2),
            clock: clock,
            random: TestRandom(seed: 2),
            opener: { phone.open($0) }
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await dapp.run() }
            group.addTask { try await wallet.run() }
            defer { group.cancelAll() }
            return try await body(dapp, wallet)
        }
    }
}

extension ExactJSON {
    /// The same with what stands at a path replaced.
    fileprivate func replacing(_ path: [String], with value: ExactJSON) throws -> ExactJSON {
        guard let name = path.first else { return value }
        guard case .object(let members) = self else { throw Missing(name: name) }
        return .object(
            try members.map { member in
                member.name == name
                    ? Member(name, try member.value.replacing(Array(path.dropFirst()), with: value)) : member
            }
        )
    }
}
