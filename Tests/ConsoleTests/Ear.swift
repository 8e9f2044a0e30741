@testable import WebServer

/// Hears what a page's event stream says, without a network.
final class Ear: EventTaker {
    struct NoEvents: Error {}

    /// Each event as it travels. Ends where the stream does.
    let heard: AsyncStream<String>
    private let hears: AsyncStream<String>.Continuation

    /// - Throws: ``NoEvents``: the answer is something else.
    init(_ response: WebResponse) throws {
        guard case .hub(let hub, let isWelcome) = response.body else { throw NoEvents() }
        (heard, hears) = AsyncStream.makeStream()
        _ = hub.join(self, while: isWelcome)
    }

    func take(_ bytes: [UInt8], number: Int) -> Bool {
        hears.yield(String(decoding: bytes, as: UTF8.self))
        return false
    }

    func end() { hears.finish() }
}
