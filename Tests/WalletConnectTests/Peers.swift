import StrictJSON
import Testing

@testable import WalletConnect

/// A dapp and a wallet without clients, clocks or tasks: what one sends the other gets, when the test says so.
struct Peers {
    var dapp: SignEngine
    var wallet: SignEngine
    /// Milliseconds since 1970.
    var now: Int64 = 1_800_000_000_000
    var events: [SignEvent] = []
    /// Everything either side sent.
    var sent: [(byDapp: Bool, publication: RelayPublication)] = []

    init(seed: UInt64 = 1) {
        dapp = SignEngine(metadata: .terminal, random: TestRandom(seed: seed), book: Book())
        wallet = SignEngine(metadata: .wallet, random: TestRandom(seed: seed + 1000), book: Book())
    }

    /// Lets one side do something; what it sends waits in `post`.
    var post: [(toDapp: Bool, message: RelayMessage)] = []

    mutating func act<Value>(dapp isDapp: Bool, _ body: (inout SignEngine) throws -> Value) rethrows -> Value {
        var engine = isDapp ? dapp : wallet
        engine.begin(now)
        defer {
            let book = engine.book
            let output = engine.takeOutput()
            events += output.events
            for case .publish(let number) in output.operations {
                guard let record = book.outbox[number] else { continue }
                sent.append((isDapp, record.publication))
                post.append((!isDapp, RelayMessage(topic: record.topic, message: record.message, tag: record.tag)))
                engine.book.removeOutbox(number)
            }
            if isDapp { dapp = engine } else { wallet = engine }
        }
        return try body(&engine)
    }

    /// Delivers until nobody has anything to say.
    mutating func deliver() {
        while !post.isEmpty {
            let (toDapp, message) = post.removeFirst()
            _ = act(dapp: toDapp) { $0.receive(message) }
        }
    }

    mutating func pass(seconds: Int64) {
        now += seconds * 1000
        for isDapp in [true, false] { act(dapp: isDapp) { $0.tick() } }
    }

    mutating func takeEvents() -> [SignEvent] {
        defer { events = [] }
        return events
    }

    /// Up to a proposal in front of the user.
    mutating func propose(_ wish: [String: ProposalNamespace]? = nil) throws -> (WalletConnectURI, Session.Proposal) {
        let wish = try wish ?? Example.wish()
        let uri = try act(dapp: true) { engine in
            try engine.connect(
                required: [:],
                optional: wish,
                sessionProperties: nil,
                scopedProperties: nil,
                authentication: nil
            )
        }
        _ = try act(dapp: false) { try $0.pair(uri, by: .scan) }
        deliver()
        return (uri, try #require(wallet.book.proposals.values.first?.value))
    }

    /// Up to a session both sides have.
    mutating func settle(_ grant: [String: SessionNamespace]? = nil) throws -> Topic {
        let grant = try grant ?? Example.grant()
        let (_, proposal) = try propose()
        let session = try act(dapp: false) { try $0.approve(proposal.id, grant, sessionProperties: nil) }
        deliver()
        return session.topic
    }

    /// A request on its way; returns its ID.
    mutating func ask(_ topic: Topic, method: String = "personal_sign", seconds: Int64 = 300) throws -> RPCID {
        try act(dapp: true) { engine in
            try engine.request(
                Request(
                    topic: topic,
                    method: method,
                    params: .strings(["0x6869", Example.address]),
                    chainId: .example("eip155:1"),
                    ttlSeconds: seconds
                )
            )
        }
    }

    /// A message under the session's key that one side would never send.
    func forged(_ text: String, on topic: Topic, nonce: UInt8 = 9) throws -> RelayMessage {
        let key = try #require(
            wallet.book.sessions[topic]?.key ?? dapp.book.sessions[topic]?.key ?? dapp.book.pairings[topic]?.key
        )
        let envelope = Envelope.seal(text, with: key.secret, nonce: [UInt8](repeating: nonce, count: 12))
        return RelayMessage(topic: topic, message: envelope.text(for: .relay), tag: 0)
    }

    /// The last thing a side sent, opened.
    func last(byDapp: Bool) throws -> RPCMessage {
        let publication = try #require(sent.last { $0.byDapp == byDapp }?.publication)
        return try opened(publication)
    }

    func opened(_ publication: RelayPublication) throws -> RPCMessage {
        let books = [dapp.book, wallet.book]
        let keys = books.flatMap { book in
            [book.sessions[publication.topic]?.key, book.pairings[publication.topic]?.key].compactMap { $0 }
        }
        guard case .sealed(let sealed) = try Envelope(text: publication.message, from: .relay) else {
            throw ExactJSON.Missing(name: "envelope")
        }
        let key = try #require(keys.first)
        return try RPCMessage(parsing: sealed.open(with: key.secret))
    }

    func lastError(byDapp: Bool) throws -> JSONRPCError? {
        guard case .response(let response) = try last(byDapp: byDapp), case .error(let error) = response.result else {
            return nil
        }
        return error
    }
}
