import Foundation
import Locks
import Payments

@testable import Console

/// Somebody's server, as far as webhooks reach it.
final class WebhookReceiver: WebhookCarrier {
    struct Post: Sendable {
        let url: String
        let headers: [String: String]
        let body: String

        var id: String { headers["webhook-id"] ?? "" }
        var number: Int { Int(id.split(separator: "-").last ?? "") ?? -1 }
        var said: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]) ?? [:] }
        var type: String { said["type"] as? String ?? "" }
        var charge: String { (said["data"] as? [String: Any])?["id"] as? String ?? "" }
    }

    private let answers = Mutex<[WebhookAnswer]>([])
    private let posted = AsyncStream.makeStream(of: Post.self)
    private let count = Mutex(0)

    var posts: Int { count.withLock { $0 } }

    /// The next answers; afterwards each message is taken.
    func answer(_ next: WebhookAnswer...) { answers.withLock { $0 = next } }

    func objection(to url: String) -> WebhookObjection? {
        url.hasPrefix("https://") ? nil : url.hasPrefix("http://") ? .plainHTTP : .notAnAddress
    }

    func post(_ url: String, headers: [(name: String, value: String)], body: [UInt8]) async -> WebhookAnswer {
        await Task.yield()
        let fields = Dictionary(headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        count.withLock { $0 += 1 }
        posted.continuation.yield(Post(url: url, headers: fields, body: String(decoding: body, as: UTF8.self)))
        return answers.withLock { $0.isEmpty ? .status(204, retryAfter: nil) : $0.removeFirst() }
    }

    /// What comes, up to the first that fits.
    func until(_ fits: (Post) -> Bool) async -> [Post] {
        var all: [Post] = []
        for await post in posted.stream {
            all.append(post)
            if fits(post) { break }
        }
        return all
    }

    func next() async -> Post? { await until { _ in true }.last }
}
