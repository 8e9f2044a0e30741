import StrictJSON
import Testing
import TestSupport

@testable import WalletConnect

/// A peer or a relay that means harm, or has lost its mind. Nothing it sends may stop a client, end a session it cannot
/// seal for, or make money move twice.
struct HostilePeerTests {
    @Test func malformedEnvelopesAndWrongKeysAreDroppedWithoutAWord() throws {
        var peers = Peers()
        let topic = try peers.settle()
        _ = peers.takeEvents()
        let before = peers.sent.count
        let stranger = try #require(SymmetricSecret(bytes: [UInt8](repeating: 7, count: 32)))
        let delete =
            "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionDelete\",\"params\":{\"code\":6000,\"message\":\"\"}}"
        let nonce = [UInt8](repeating: 0, count: 12)
        let bad = [
            "", "A", "====", "not base64 at all", "AAAA", Base64.padded([3] + [UInt8](repeating: 0, count: 60)),
            Base64.padded([2] + Array(delete.utf8)), Base64.padded([1] + [UInt8](repeating: 0, count: 80)),
            Envelope.seal(delete, with: stranger, nonce: nonce).text(for: .relay),
        ]
        for text in bad {
            let isHandled = peers.act(dapp: true) { $0.receive(RelayMessage(topic: topic, message: text, tag: 1112)) }
            #expect(isHandled)
        }
        #expect(peers.sent.count == before)
        #expect(peers.dapp.book.sessions[topic] != nil)
        #expect(peers.takeEvents().allSatisfy { if case .log = $0 { true } else { false } })
        for text in ["{}", "[", "{\"id\":1}", "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionDelete\"", "\u{0}"]
        {
            let forged = try peers.forged(text, on: topic, nonce: UInt8(text.utf8.count))
            _ = peers.act(dapp: true) { $0.receive(forged) }
        }
        #expect(peers.sent.count == before && peers.dapp.book.sessions[topic] != nil)
    }

    @Test func unknownTopicsAreDroppedAndNeverThrow() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let unknown = try #require(Topic(String(repeating: "ee", count: 32)))
        let message = try peers.forged("{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":true}", on: topic)
        let isHandled = peers.act(dapp: true) {
            $0.receive(RelayMessage(topic: unknown, message: message.message, tag: 1103))
        }
        #expect(isHandled)
        #expect(peers.dapp.book.seen[unknown] == nil)
    }

    @Test func replaysAndCopiesChangeNothing() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let id = try peers.ask(topic)
        peers.deliver()
        _ = try peers.act(dapp: false) { try $0.respond(topic, id, .response(.string("0xab"))) }
        peers.deliver()
        let (sent, state) = (peers.sent, (peers.dapp.book.sessions, peers.wallet.book.received))
        _ = peers.takeEvents()
        for (_, publication) in sent {
            for isDapp in [true, false] {
                let message = RelayMessage(topic: publication.topic, message: publication.message, tag: publication.tag)
                _ = peers.act(dapp: isDapp) { $0.receive(message) }
            }
        }
        #expect(peers.sent.count == sent.count && peers.takeEvents() == [])
        #expect(peers.dapp.book.sessions == state.0 && peers.wallet.book.received == state.1)
    }

    @Test func aFloodOfRequestsIsRefusedBeyondALimitAndForgottenMemoryIsBounded() throws {
        var peers = Peers()
        let topic = try peers.settle()
        for number in 0..<200 {
            _ = try peers.ask(topic)
            peers.now += 1
            if number.isMultiple(of: 50) { peers.deliver() }
        }
        peers.deliver()
        #expect(peers.wallet.book.received.count == SignEngine.openLimit)
        #expect(
            peers.takeEvents().count { if case .requestReceived = $0 { true } else { false } } == SignEngine.openLimit
        )
        var book = Book()
        for number in 0..<(Book.seenLimit * 2) { book.see("\(number)", on: topic, at: Int64(number)) }
        #expect((book.seen[topic]?.count ?? 0) <= Book.seenLimit)
        #expect(book.hasSeen("\(Book.seenLimit * 2 - 1)", on: topic))
    }

    @Test func aFloodOfPingsWaitsInItsMailboxWhileTheRelayTakesNothing() throws {
        var peers = Peers()
        let topic = try peers.settle()
        var wallet = peers.wallet
        for number in 0..<2000 {
            let text = "{\"id\":\(number),\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionPing\",\"params\":{}}"
            let ping = try peers.forged(text, on: topic, nonce: UInt8(number & 255))
            let isHandled = wallet.receive(ping)
            #expect(isHandled == (number < SignEngine.outboxLimit))
        }
        #expect(wallet.book.outbox.count == SignEngine.outboxLimit)
        wallet.book.removeOutbox(try #require(wallet.book.outbox.keys.min()))
        let answer = try peers.forged(
            "{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionPing\",\"params\":{}}",
            on: topic,
            nonce: 3
        )
        let isTaken = wallet.receive(answer)
        #expect(isTaken)
    }

    @Test func aFloodOnUnknownTopicsWhileAProposalIsOpenIsBounded() throws {
        var peers = Peers()
        let (_, proposal) = try peers.propose()
        for number in 0..<1000 {
            let topic = Topic(bytes: [UInt8](repeating: UInt8(number & 255), count: 32))
            let message = RelayMessage(topic: topic, message: "AA\(number)", tag: 0)
            _ = peers.act(dapp: true) { $0.receive(message) }
        }
        #expect(peers.dapp.early.count == SignEngine.earlyLimit)
        let session = try peers.act(dapp: false) {
            try $0.approve(proposal.id, Example.grant(), sessionProperties: nil)
        }
        peers.deliver()
        _ = session
        peers.pass(seconds: 301)
        #expect(peers.dapp.early.isEmpty)
    }

    @Test func aMessageOfMoreThanAMebibyteIsDroppedAndOneBelowIsRead() throws {
        var peers = Peers()
        let topic = try peers.settle()
        let big =
            "{\"id\":77,\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionPing\",\"params\":{\"x\":\"\(String(repeating: "y", count: 700_000))\"}}"
        let readable = try peers.forged(big, on: topic)
        #expect(readable.message.utf8.count > 900_000 && readable.message.utf8.count <= RPCMessage.limitBytes)
        let before = peers.sent.count
        _ = peers.act(dapp: false) { $0.receive(readable) }
        #expect(peers.sent.count == before + 1)
        let tooBig = RelayMessage(
            topic: topic,
            message: String(repeating: "A", count: RPCMessage.limitBytes + 1),
            tag: 0
        )
        let isHandled = peers.act(dapp: false) { $0.receive(tooBig) }
        #expect(isHandled && peers.sent.count == before + 1)
    }

    @Test func idsAsTextsAndOfNineteenDigitsAreEchoedAndMatched() throws {
        var peers = Peers()
        let topic = try peers.settle()
        for (index, id) in ["\"1795235674605190614\"", "1795235674605190615", "\"abc\""].enumerated() {
            let forged = try peers.forged(
                "{\"id\":\(id),\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionPing\",\"params\":{}}",
                on: topic,
                nonce: UInt8(index)
            )
            _ = peers.act(dapp: false) { $0.receive(forged) }
            #expect(try peers.last(byDapp: false).text == "{\"id\":\(id),\"jsonrpc\":\"2.0\",\"result\":true}")
        }
        for suffix in ["", "n"] {
            let id = try peers.ask(topic)
            let answer = try peers.forged(
                "{\"id\":\"\(id)\(suffix)\",\"jsonrpc\":\"2.0\",\"result\":\"0xab\"}",
                on: topic,
                nonce: UInt8(90 + suffix.utf8.count)
            )
            _ = peers.takeEvents()
            _ = peers.act(dapp: true) { $0.receive(answer) }
            #expect(
                peers.takeEvents().contains {
                    if case .responded(let response) = $0 { response.id == id } else { false }
                }
            )
        }
    }

    @Test func wrongTagsOnAnswersDoNotMatter() throws {
        var peers = Peers()
        let topic = try peers.settle()
        for tag in [0, 1, 1000, 1103, 9999] {
            let id = try peers.ask(topic)
            let message = try peers.forged(
                "{\"id\":\(id),\"jsonrpc\":\"2.0\",\"result\":1}",
                on: topic,
                nonce: UInt8(tag & 127)
            )
            _ = peers.takeEvents()
            _ = peers.act(dapp: true) {
                $0.receive(RelayMessage(topic: message.topic, message: message.message, tag: tag))
            }
            #expect(
                peers.takeEvents().contains {
                    if case .responded(let response) = $0 { response.id == id } else { false }
                }
            )
        }
    }

    @Test func aSettlementByAnotherThanWhoAnsweredIsRefused() throws {
        var peers = Peers()
        let (_, proposal) = try peers.propose()
        let session = try peers.act(dapp: false) {
            try $0.approve(proposal.id, Example.grant(), sessionProperties: nil)
        }
        guard case .request(let settle) = try peers.opened(peers.post[0].message.publication) else {
            throw ExactJSON.Missing(name: "settle")
        }
        peers.post.removeFirst()
        let key = AgreementKey(using: TestRandom(seed: 8)).publicKey.text
        for (number, change)
            in ([
                ("controller", ExactJSON.of(["publicKey": .string(key), "metadata": AppMetadata.wallet.json])),
                ("controller", .object([])), ("expiry", .number(1)), ("namespaces", .array([])),
                (
                    "namespaces",
                    .of([
                        "eip155": .of(["accounts": .strings(["eip155:1"]), "methods": .array([]), "events": .array([])])
                    ])
                ),
            ] as [(String, ExactJSON)]).enumerated()
        {
            var other = peers
            other.deliver()
            let members = settle.params.members?.map { $0.name == change.0 ? .init($0.name, change.1) : $0 } ?? []
            let text = RPCMessage.request(RPCRequest(id: settle.id, method: settle.method, params: .object(members)))
                .text
            let forged = try other.forged(text, on: session.topic, nonce: UInt8(number))
            _ = other.takeEvents()
            _ = other.act(dapp: true) { $0.receive(forged) }
            #expect(other.dapp.book.sessions.isEmpty)
            #expect(
                other.takeEvents().contains {
                    if case .proposalFailed(let failure) = $0, case .unusable(let reason) = failure.cause {
                        !reason.isEmpty
                    } else {
                        false
                    }
                }
            )
            other.deliver()
            #expect(other.wallet.book.sessions.isEmpty)
        }
    }

    @Test func foreignNamespacesAndOtherChainsAreASessionTheTerminalCanJudge() throws {
        var peers = Peers()
        let (_, proposal) = try peers.propose(try Example.wish(["eip155:8453"]))
        var grant = try Example.grant(["eip155:137"])
        grant["solana"] = SessionNamespace(
            accounts: [
                try #require(
                    Account("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv")
                )
            ],
            methods: ["solana_signTransaction"],
            events: []
        )
        let session = try peers.act(dapp: false) { try $0.approve(proposal.id, grant, sessionProperties: nil) }
        peers.deliver()
        let ours = try #require(peers.dapp.book.sessions[session.topic]?.value)
        let error = #expect(throws: NamespaceError.self) {
            try ours.check(chain: .example("eip155:8453"), method: "eth_sendTransaction")
        }
        #expect(error?.code == 5100)
        #expect(throws: SignError.self) {
            try peers.act(dapp: true) {
                try $0.request(
                    Request(
                        topic: ours.topic,
                        method: "personal_sign",
                        params: .array([]),
                        chainId: .example("eip155:8453")
                    )
                )
            }
        }
        let reason = try #require(error?.reason)
        try peers.act(dapp: true) { try $0.disconnect(ours.topic, reason) }
        peers.deliver()
        #expect(peers.takeEvents().contains(.sessionEnded(SessionEnd(topic: ours.topic, cause: .peer(reason)))))
    }

    @Test func answersNobodyAskedForAndSessionsMessagesOnAPairingDoNothing() throws {
        var peers = Peers()
        let (uri, _) = try peers.propose()
        _ = peers.takeEvents()
        for (number, text) in [
            "{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{\"relay\":{\"protocol\":\"irn\"},\"responderPublicKey\":\"00\"}}",
            "{\"id\":2,\"jsonrpc\":\"2.0\",\"error\":{\"code\":5000,\"message\":\"\"}}",
            "{\"id\":3,\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionSettle\",\"params\":{}}",
            "{\"id\":4,\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionPropose\",\"params\":{}}",
            "{\"id\":5,\"jsonrpc\":\"2.0\",\"method\":\"wc_sessionRequest\",\"params\":{}}",
        ].enumerated() {
            let forged = try peers.forged(text, on: uri.topic, nonce: UInt8(number))
            _ = peers.act(dapp: true) { $0.receive(forged) }
        }
        #expect(peers.dapp.book.offers.values.map(\.phase) == [.open])
        #expect(peers.dapp.book.sessions.isEmpty && peers.dapp.book.proposals.isEmpty)
    }

    @Test func noMutatedConversationStopsEitherSide() throws {
        for seed in 1...40 {
            var generator = SeededGenerator(seed: UInt64(seed))
            var peers = Peers(seed: UInt64(seed))
            let topic = try peers.settle()
            var texts = try peers.sent.map { try peers.opened($0.publication).text }
            _ = try peers.ask(topic)
            texts.append(try peers.last(byDapp: true).text)
            for number in 0..<60 {
                var bytes = Array(texts.randomElement(using: &generator)?.utf8 ?? "".utf8)
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    let index = Int.random(in: 0..<bytes.count, using: &generator)
                    switch Int.random(in: 0..<3, using: &generator) {
                    case 0: bytes[index] = UInt8.random(in: 32...126, using: &generator)
                    case 1:
                        bytes.removeSubrange(
                            index..<min(bytes.count, index + Int.random(in: 1...20, using: &generator))
                        )
                    default:
                        bytes.insert(
                            contentsOf: Array("{}[]\",:0null".utf8).shuffled(using: &generator).prefix(3),
                            at: index
                        )
                    }
                    if bytes.isEmpty { bytes = [0x7B] }
                }
                let place = Bool.random(using: &generator) ? topic : peers.dapp.book.pairings.keys.first ?? topic
                guard
                    let forged = try? peers.forged(
                        String(decoding: bytes, as: UTF8.self),
                        on: place,
                        nonce: UInt8(number)
                    )
                else { continue }
                _ = peers.act(dapp: Bool.random(using: &generator)) { $0.receive(forged) }
                if number.isMultiple(of: 10) { peers.deliver() }
            }
            peers.pass(seconds: 3_000_000)
            #expect(peers.dapp.book.sessions.isEmpty && peers.wallet.book.sessions.isEmpty)
        }
    }
}

extension RelayMessage {
    var publication: RelayPublication {
        RelayPublication(topic: topic, message: message, tag: tag, ttlSeconds: 300, prompt: false)
    }
}
