import FoundationEssentials
import StrictJSON
import Testing
import WalletConnect

@Suite("What clients and relays say to each other")
struct FrameTests {
    private struct Vectors: Decodable { let rawFrames: [String] }

    private func frame(_ text: String) throws -> RelayFrame {
        try RelayFrame(parsing: Array(text.utf8), limitBytes: 1 << 20)
    }

    @Test func `Every published frame is read`() throws {
        let frames = try JSONDecoder().decode(Vectors.self, from: Vector.data("relay_rpc.json")).rawFrames
        #expect(frames.count > 15)
        var calls: [RelayCall] = []
        for text in frames where text.contains("jsonrpc") {
            if case .call(_, let call) = try frame(text) { calls.append(call) }
        }
        let expected = RelayPost(
            topic: "topic",
            message: "payload",
            ttlSeconds: 12,
            tag: 0,
            attestation: "attestation_payload"
        )
        #expect(calls.contains(.publish(expected)))
        let parcel = RelayParcel(topic: "test_topic", message: "test_message", publishedAt: 123, tag: 1000)
        // `iridium_` is the older spelling.
        #expect(calls.contains(.delivery(subscription: "test_id", parcel)))
        #expect(calls.filter { if case .approveSession = $0 { true } else { false } }.count == 3)
        #expect(
            calls.filter { if case .unknown = $0 { true } else { false } } == [
                .unknown("irn_watchRegister"), .unknown("irn_watchUnregister"),
            ]
        )
    }

    @Test(arguments: [
        (#"1659980684711969"#, #"1659980684711969"#), (#""1795235711070016166""#, #""1795235711070016166""#),
        // One implementation appends an n to what it takes for a big number.
        (#""1795235579864000001n""#, #""1795235579864000001""#),
    ])
    func `A request's number comes back as it came`(number: String, answer: String) throws {
        let text = #"{"id":\#(number),"jsonrpc":"2.0","method":"irn_subscribe","params":{"topic":"t"}}"#
        guard case .call(let id, _) = try frame(text) else { throw Unexpected() }
        #expect(RelayFrame.result(id, .bool(true)).text == #"{"id":\#(answer),"jsonrpc":"2.0","result":true}"#)
    }

    @Test(arguments: [
        ("", "Serialization"), ("{", "Serialization"), ("[]", "InvalidRequestId"), (#"{"id":1.5}"#, "InvalidRequestId"),
        (#"{"id":1}"#, "InvalidJsonRpcVersion"), (#"{"id":1,"jsonrpc":"1.0"}"#, "InvalidJsonRpcVersion"),
        (#"{"id":1,"jsonrpc":"2.0"}"#, "Serialization"),
        (#"{"id":1,"jsonrpc":"2.0","method":"irn_publish"}"#, "InvalidParams"),
        (
            #"{"id":1,"jsonrpc":"2.0","method":"irn_publish","params":{"topic":"t","message":"m","ttl":"1"}}"#,
            "InvalidParams"
        ),
        (#"{"id":1,"jsonrpc":"2.0","method":"irn_batchSubscribe","params":{"topics":[]}}"#, "BatchEmpty"),
        (#"{"id":1,"jsonrpc":"2.0","method":"irn_batchSubscribe","params":{"topics":[1]}}"#, "InvalidParams"),
    ])
    func `What is wrong with a frame is said by name`(text: String, tag: String) {
        let refusal = #expect(throws: RelayFrame.Refusal.self) { try frame(text) }
        #expect(refusal?.error.tag == tag)
        #expect(refusal?.error.code == -32600)
    }

    @Test func `A batch of 500 is read and one of 501 refused`() throws {
        func batch(_ count: Int) -> String {
            let topics = Array(repeating: "\"t\"", count: count).joined(separator: ",")
            return #"{"id":1,"jsonrpc":"2.0","method":"irn_batchSubscribe","params":{"topics":[\#(topics)]}}"#
        }
        _ = try frame(batch(500))
        let refusal = #expect(throws: RelayFrame.Refusal.self) { try frame(batch(501)) }
        #expect(refusal?.error.tag == "BatchLimitExceeded")
    }

    @Test func `A frame beyond the limit is refused unread`() {
        let refusal = #expect(throws: RelayFrame.Refusal.self) {
            try RelayFrame(parsing: Array(repeating: 0x20, count: 101), limitBytes: 100)
        }
        #expect(refusal?.error.tag == "PayloadSizeExceeded")
        #expect(refusal?.id == RelayID(0))
    }

    @Test func `What is sent is read as the same`() throws {
        let post = RelayPost(topic: "t", message: "a\"b\\ü", ttlSeconds: 300, tag: 1100, prompt: true)
        let calls: [RelayCall] = [
            .subscribe(topic: "t"), .batchSubscribe(topics: ["a", "b"], partial: false),
            .batchSubscribe(topics: ["a"], partial: true), .unsubscribe(.init(topic: "t", id: "s")),
            .batchUnsubscribe([.init(topic: "t"), .init(topic: "u", id: "v")]), .publish(post), .batchPublish([post]),
            .fetch(topic: "t"), .batchFetch(topics: ["t", "u"]), .receive([.init(topic: "t")]), .createTopic("t"),
            .delivery(
                subscription: "s",
                RelayParcel(topic: "t", message: "m", publishedAt: 5, tag: 6, attestation: "a")
            ),
        ]
        for call in calls {
            let text = RelayFrame.call(RelayID(7), call).text
            #expect(text.hasPrefix("{\""))
            #expect(try frame(text) == .call(RelayID(7), call), "\(text)")
        }
        let error = RelayAnswerError(code: 3000, message: "no", tag: "InvalidJwt")
        #expect(try frame(RelayFrame.failure(RelayID(7), error).text) == .failure(RelayID(7), error))
    }

    private struct Unexpected: Error {}
}
