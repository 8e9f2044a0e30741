import StrictJSON
import Testing

@testable import WalletConnect

/// Two recorded conversations: the official JavaScript client with itself, and an independent wallet with a small dapp.
struct TranscriptTests {
    struct Frame {
        let from: String
        let publication: RelayPublication
        let bytes: [UInt8]
        let plain: [UInt8]
        let message: RPCMessage
        var nonce: [UInt8] { Array(bytes[1..<13]) }
    }

    static func frames(_ name: String) throws -> (frames: [Frame], keys: [Topic: SymmetricSecret], file: ExactJSON) {
        let file = try Vectors.load(name)
        var keys: [Topic: SymmetricSecret] = [:]
        let recorded = try file.value(named: "symKeys") ?? file.at("keys", "symKeys")
        for member in recorded.members ?? [] {
            let topic = try #require(Topic(member.name))
            let key: SymmetricSecret = try #require(SymmetricSecret(hexadecimal: member.value.string ?? ""))
            keys[topic] = key
        }
        var frames: [Frame] = []
        for entry in try file.list("frames") where try entry.text("way") == ">" {
            let frame = try ExactJSON(parsing: entry.text("frame"))
            guard frame.value(named: "method")?.string == "irn_publish" else { continue }
            let params = try frame.at("params")
            let topic = try #require(Topic(try params.text("topic")))
            let text = try params.text("message")
            let key = try #require(keys[topic])
            guard case .sealed(let sealed) = try Envelope(text: text, from: .relay) else {
                throw ExactJSON.Missing(name: text)
            }
            let plain = try sealed.open(with: key)
            frames.append(
                Frame(
                    from: try entry.text("who"),
                    publication: RelayPublication(
                        topic: topic,
                        message: text,
                        tag: Int(params.value(named: "tag")?.integer ?? 0),
                        ttlSeconds: Int(params.value(named: "ttl")?.integer ?? 0),
                        prompt: params.value(named: "prompt")?.bool ?? false
                    ),
                    bytes: [0] + sealed.bytes,
                    plain: plain,
                    message: try RPCMessage(parsing: plain)
                )
            )
        }
        return (frames, keys, file)
    }

    @Test(arguments: [("transcript_js_js", 17), ("transcript_pywalletconnect", 13)])
    func everyRecordedMessageOpensAndSealsToTheSameBytes(name: String, least: Int) throws {
        let (frames, keys, file) = try Self.frames(name)
        #expect(frames.count >= least)
        let decrypted = try file.list("decrypted")
        for (index, frame) in frames.enumerated() {
            let secret = try #require(keys[frame.publication.topic])
            let text = String(decoding: frame.plain, as: UTF8.self)
            let sealed = Envelope.seal(text, with: secret, nonce: frame.nonce)
            #expect(sealed.bytes == frame.bytes)
            // The independent wallet leaves the padding out; the official client writes it, as we do.
            if name == "transcript_js_js" { #expect(sealed.text(for: .relay) == frame.publication.message) }
            let recorded = try decrypted[index].at("message")
            #expect(try ExactJSON(parsing: frame.plain).sorted == recorded.sorted)
            #expect(try ExactJSON(parsing: frame.message.text).sorted == recorded.sorted)
            if name == "transcript_js_js" || frame.from == "dapp" { #expect(frame.message.text == text) }
        }
    }

    private func chance(of id: RPCID) -> [UInt8] {
        let chance = (id.number ?? 0) % 1000
        return [UInt8(chance >> 8), UInt8(chance & 255)]
    }

    private func take(_ engine: inout SignEngine) -> (sent: [RelayPublication], events: [SignEvent]) {
        let book = engine.book
        let output = engine.takeOutput()
        let sent = output.operations.compactMap { operation -> RelayPublication? in
            guard case .publish(let number) = operation else { return nil }
            return book.outbox[number]?.publication
        }
        return (sent, output.events)
    }

    private func deliver(_ frame: Frame, to engine: inout SignEngine) {
        let message = RelayMessage(
            topic: frame.publication.topic,
            message: frame.publication.message,
            tag: frame.publication.tag
        )
        let isHandled = engine.receive(message)
        #expect(isHandled)
    }

    private func wire(_ result: Frame) -> RPCID {
        switch result.message {
        case .request(let request): request.id
        case .response(let response): response.id
        }
    }

    /// With the recorded keys, nonces and chances our dapp says byte for byte what was said then, and the unchanged wallet's
    /// answers carry it through.
    @Test func ourDappSpeaksTheRecordedConversationWithTheIndependentWallet() throws {
        let (frames, keys, file) = try Self.frames("transcript_pywalletconnect")
        let recorded = try file.at("keys")
        let pairing = try #require(Topic(try recorded.text("pairingTopic")))
        let proposal = try ExactJSON(parsing: frames[0].plain).at("params")
        let redirect = AppMetadata.Redirect(native: "terminal://", universal: nil, linkMode: false)
        var metadata = try #require(AppMetadata(json: try proposal.at("proposer", "metadata")))
        #expect(metadata.redirect == redirect)
        metadata.redirect = redirect
        let random = TestRandom(
            seed: 1,
            script: [
                try #require(keys[pairing]).bytes, try #require(Hex.bytes(try recorded.text("proposerPrivateKey"))),
                chance(of: wire(frames[0])), frames[0].nonce,
            ]
        )
        var engine = SignEngine(metadata: metadata, random: random, book: Book())
        engine.begin(Int64((wire(frames[0]).number ?? 0) / 1000))
        let uri = try engine.connect(
            required: [:],
            optional: ProposalNamespace.read(try proposal.at("optionalNamespaces")),
            sessionProperties: nil,
            scopedProperties: nil,
            authentication: nil
        )
        #expect(try uri.absoluteString == recorded.text("uri"))
        let first = take(&engine).sent
        #expect(first == [frames[0].publication])

        for frame in frames.dropFirst() {
            engine.begin(Int64(frame.publication.topic == pairing ? 1_795_235_673_000 : 1_795_235_675_000))
            switch (frame.from, frame.message) {
            case ("wallet", .request(let request)) where request.method == "wc_sessionSettle":
                random.append(try #require(frames.first { $0.publication.tag == 1103 }).nonce)
                deliver(frame, to: &engine)
            case ("wallet", _): deliver(frame, to: &engine)
            case (_, .request(let request)):
                random.append(chance(of: request.id))
                random.append(frame.nonce)
                engine.begin(Int64((request.id.number ?? 0) / 1000))
                try speak(request, on: frame.publication.topic, &engine)
                let sent = take(&engine).sent
                #expect(sent == [frame.publication])
            case (_, .response):
                let (sent, events) = take(&engine)
                #expect(sent == [frame.publication])
                #expect(events.contains { if case .sessionSettled = $0 { true } else { false } })
            }
        }
        let answers = take(&engine).events
        #expect(
            answers.contains {
                if case .sessionEnded(let end) = $0 { end.cause == .peer(.userDisconnected) } else { false }
            }
        )
        #expect(engine.book.sessions.isEmpty)
    }

    private func speak(_ request: RPCRequest, on topic: Topic, _ engine: inout SignEngine) throws {
        guard request.method == "wc_sessionRequest" else {
            _ = try engine.ping(topic)
            return
        }
        let body = try request.params.at("request")
        _ = try engine.request(
            Request(
                topic: topic,
                method: try body.text("method"),
                params: try body.at("params"),
                chainId: try .example(try request.params.text("chainId"))
            )
        )
    }

    @Test func theIndependentWalletsAnswersReachTheirRequestsWhateverTheirTag() throws {
        let (frames, keys, _) = try Self.frames("transcript_pywalletconnect")
        let session = try #require(frames.first { $0.publication.tag == 1102 }).publication.topic
        var engine = SignEngine(metadata: .terminal, random: TestRandom(seed: 1), book: Book())
        engine.begin(1_795_235_680_000)
        let key: SymmetricSecret = try #require(keys[session])
        engine.book.put(.example(namespaces: try Example.grant(), key: key))
        var results: [RPCResult] = []
        for frame in frames where frame.from == "wallet" && frame.publication.tag == 0 {
            let id = wire(frame)
            engine.book.put(
                SentRecord(
                    id: id,
                    topic: session,
                    method: .sessionRequest,
                    call: "x",
                    chain: try .example("eip155:1"),
                    expiry: 1_795_235_976
                )
            )
            deliver(frame, to: &engine)
            for case .responded(let response) in take(&engine).events { results.append(response.result) }
        }
        #expect(results.count == 3)
        #expect(results.last == .error(JSONRPCError(code: 4001, message: "User rejected request.")))
    }

    /// The JavaScript clients' private keys were not recorded, but their session's was: both ends' answers are compared.
    @Test(arguments: [true, false])
    func eitherEndOfTheJavaScriptSessionIsAnsweredWithTheRecordedBytes(asWallet: Bool) throws {
        let (frames, keys, _) = try Self.frames("transcript_js_js")
        let settle = try #require(frames.first { $0.publication.tag == 1102 })
        let topic = settle.publication.topic
        let random = TestRandom(seed: 1)
        var engine = SignEngine(metadata: .terminal, random: random, book: Book())
        engine.begin(1_795_235_712_000)
        let namespaces = try SessionNamespace.read(try ExactJSON(parsing: settle.plain).at("params", "namespaces"))
        let key: SymmetricSecret = try #require(keys[topic])
        engine.book.put(.example(namespaces: namespaces, isController: asWallet, key: key, expiry: 1_795_800_000))
        let ours = asWallet ? "wallet" : "dapp"
        let answers = frames.filter { frame in
            if case .response = frame.message { frame.from == ours && frame.publication.topic == topic } else { false }
        }
        var compared = 0
        for frame in frames where frame.from != ours && frame.publication.topic == topic {
            guard case .request(let request) = frame.message else { continue }
            let answer = answers.first { wire($0) == request.id }
            if let answer, request.method != "wc_sessionRequest" { random.append(answer.nonce) }
            deliver(frame, to: &engine)
            if request.method == "wc_sessionRequest", let answer, case .response(let response) = answer.message {
                random.append(answer.nonce)
                let result = try engine.respond(topic, request.id, response.result)
                #expect(result == .sent)
            }
            let sent = take(&engine).sent
            if let answer, request.method != "wc_sessionSettle" {
                #expect(sent.map(\.message) == [answer.publication.message])
                #expect(sent.map(\.tag) == [answer.publication.tag])
                compared += 1
            }
        }
        #expect(compared == (asWallet ? 4 : 3))
    }
}
