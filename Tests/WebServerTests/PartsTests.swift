import Locks
import Testing

@testable import WebServer

/// Long answers in parts over real connections.
struct PartsTests {
    private struct Broken: Error {}

    private func answer(parts count: Int, breaksAt broken: Int? = nil, _ made: @escaping @Sendable () -> Void = {})
        -> WebAnswer
    {
        let number = Mutex(0)
        return .now(
            WebResponse(
                headers: ["Content-Type": "text/plain"],
                body: .parts {
                    let next = number.withLock { number in
                        number += 1
                        return number
                    }
                    made()
                    if next == broken { throw Broken() }
                    return next > count ? nil : Array("part \(next);".utf8) + [UInt8](repeating: 0x2E, count: 20_000)
                }
            )
        )
    }

    @Test func allPartsArriveInTheirOrderAndTheConnectionGoesOn() async throws {
        try await withServer(handler: { request in
            request.path == "/long" ? self.answer(parts: 30) : .now(.text("quick"))
        }) { server in
            let client = try RawClient(server)
            try await client.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await client.head()
            for number in 1...30 { try await client.expect("part \(number);") }
            try await client.expect("\r\n0\r\n\r\n")
            #expect(try await client.get("/").text == "quick")
        }
    }

    /// Without the last chunk nobody takes what arrived for the whole.
    @Test func anAnswerThatBreaksOffIsNotEnded() async throws {
        try await withServer(handler: { _ in self.answer(parts: 5, breaksAt: 3) }) { server in
            let client = try RawClient(server)
            try await client.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await client.head()
            let text = String(decoding: try await client.untilClosed(), as: UTF8.self)
            #expect(text.contains("part 2;") && !text.contains("part 3;") && !text.hasSuffix("0\r\n\r\n"))
        }
    }

    /// A part is made when the one before has gone: a reader that stops costs memory for one.
    @Test func aSlowReaderHoldsBackWhoMakesTheParts() async throws {
        let made = Mutex(0)
        let count = 5000
        let work: @Sendable () -> Void = { made.withLock { $0 += 1 } }
        try await withServer(handler: { request in
            request.path == "/long" ? self.answer(parts: count, work) : .now(.text("quick"))
        }) { server in
            let (slow, other) = (try RawClient(server, receiveBuffer: 4096), try RawClient(server))
            try await slow.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await slow.head()
            for _ in 0..<200 { #expect(try await other.get("/").text == "quick") }
            #expect(made.withLock { $0 } < count)
            slow.leave()
        }
    }
}
