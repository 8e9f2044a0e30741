import CMicrohttpd

/// One request and its answer, from the request line until the answer is sent. Lives on the server's thread only.
///
/// libmicrohttpd uses a connection for the next request as soon as one is over, so what belongs to a request hangs
/// here and never on the connection.
final class Exchange {
    private enum Stage {
        /// The head is complete and not yet looked at.
        case head
        case body
        case working(PendingAnswer)
        case streaming(EventFeed)
        case answered
    }

    /// A chunked body may go on this many times over the limit before the connection is cut without an answer.
    private static let patience = 4

    private let context: ServerContext
    private let link: Link
    private let target: Result<RequestTarget, RequestTarget.Refusal>
    /// The longest body that the target takes, and from its admission on the longest that is kept.
    private(set) var bodyLimit: Int
    /// False where the body is dropped as it comes.
    private var keepsBody = true
    /// The room that the body has in the budget of all.
    private var room: (bytes: Int, kind: BodyBudget.Kind)?
    private var isKnown = true
    /// Length of the target as libmicrohttpd shows it.
    let targetBytes: Int
    private var stage = Stage.head
    private var head: RequestHead?
    private var body: [UInt8] = []
    private var bodyBytes = 0

    init(context: ServerContext, link: Link, target: UnsafeBufferPointer<UInt8>) {
        (self.context, self.link) = (context, link)
        targetBytes = target.count
        self.target = Result { () throws(RequestTarget.Refusal) in
            try unsafe RequestTarget(target, reading: context.configuration.addresses)
        }
        let limits = context.configuration.limits
        bodyLimit = (try? self.target.get()).flatMap { limits.bodyBytesByPath[$0.path] } ?? limits.bodyBytes
        link.setDeadline(monotonicNanoseconds() + context.receiving)
    }

    /// The head is complete. A refusal is answered here, before the body: libmicrohttpd then closes the connection. An
    /// answer given here to a good request would close it too, so that one waits for the next call.
    func receiveHead(_ head: Result<RequestHead, Refusal>, on connection: Connection) -> MHD_Result {
        do throws(Refusal) {
            let target: RequestTarget
            switch self.target {
            case .success(let good): target = good
            case .failure(let refusal): throw .target(refusal)
            }
            let complete = try head.get()
            self.head = complete
            if let refused = try admit(complete, target) {
                link.hasUnreadBody = true
                return answer(refused, on: connection)
            }
            stage = .body
            return .YES
        } catch {
            link.hasUnreadBody = error == .bodyTooLarge || error == .busy
            return answer(context.configuration.refusal(error.response), on: connection)
        }
    }

    /// Decides by the head what becomes of the body, and takes room for it.
    /// - Returns: The answer where the request is refused before its body is sent.
    private func admit(_ head: RequestHead, _ target: RequestTarget) throws(Refusal) -> WebResponse? {
        let limits = context.configuration.limits
        if let judge = context.configuration.admission {
            let admission = judge(request(head, target, body: []), head.body)
            isKnown = admission.isKnown
            context.links.note(link, isKnown: isKnown)
            switch admission.verdict {
            case .take(let bytes): bodyLimit = min(bodyLimit, max(0, bytes))
            case .refuse(let answer, let whenAnswered):
                keepsBody = false
                switch head.body {
                case .none: return nil
                case .bytes(let count) where count <= limits.droppedBytes && !head.expectsContinue: return nil
                case .bytes, .chunked:
                    whenAnswered()
                    return answer
                }
            }
        } else {
            context.links.note(link, isKnown: true)
        }
        let most: Int
        switch head.body {
        case .none: return nil
        case .bytes(let count): most = count
        case .chunked: most = bodyLimit
        }
        guard most <= bodyLimit else { throw .bodyTooLarge }
        let kind: BodyBudget.Kind = !isKnown ? .unknown : most > limits.bodyBytes ? .long : .usual
        guard context.bodies.take(most, for: kind) else { throw .busy }
        room = (most, kind)
        if case .bytes(let count) = head.body { body.reserveCapacity(count) }
        return nil
    }

    private func request(_ head: RequestHead, _ target: RequestTarget, body: [UInt8]) -> WebRequest {
        WebRequest(
            method: head.method,
            target: target,
            head: head.fields,
            body: body,
            peerAddress: link.peerAddress,
            isSecure: context.configuration.tls != nil
        )
    }

    var isAtHead: Bool { if case .head = stage { true } else { false } }

    /// Takes a part of the body. Past the limit the rest is read and dropped, up to a bound, so that the client gets
    /// to read the 413.
    func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>) -> MHD_Result {
        // One that is dropped was announced, and is short.
        guard case .body = stage, keepsBody else { return .YES }
        bodyBytes += bytes.count
        guard bodyBytes <= bodyLimit else {
            body = []
            return bodyBytes > bodyLimit * Self.patience ? .NO : .YES
        }
        unsafe body.append(contentsOf: bytes)
        return .YES
    }

    /// The request is complete, or its task has something to do.
    func proceed(on connection: Connection) -> MHD_Result {
        switch stage {
        case .body: return begin(on: connection)
        case .working(let pending): return advance(pending, on: connection)
        case .head, .streaming, .answered: return .YES
        }
    }

    private func begin(on connection: Connection) -> MHD_Result {
        guard let head, case .success(let target) = target else { return .NO }
        link.isAnswering = true
        if bodyBytes > bodyLimit {
            return answer(context.configuration.refusal(Refusal.bodyTooLarge.response), on: connection)
        }
        if context.isStopping { return answer(.stopping, on: connection) }
        let request = self.request(head, target, body: body)
        body = []  // The handler has it; its room is given back when the request ends.
        switch context.handler(request) {
        case .now(let response): return answer(response, on: connection)
        case .later(let work):
            let pending = PendingAnswer(connection: connection, ledger: context.ledger)
            pending.start(work)
            return advance(pending, on: connection)
        }
    }

    private func advance(_ pending: PendingAnswer, on connection: Connection) -> MHD_Result {
        if let response = pending.advance() { return answer(response, on: connection) }
        // Before the first wait: the sweeper and `stop` then know of it. Most answers never wait.
        if case .body = stage {
            stage = .working(pending)
            link.setDeadline(monotonicNanoseconds() + context.answering)
            link.activity = .answer(pending)
            if context.isStopping { pending.cancel() }
        }
        guard let response = pending.wait() else { return .YES }
        return answer(response, on: connection)
    }

    private func answer(_ response: WebResponse, on connection: Connection) -> MHD_Result {
        finishWorking()
        link.isAnswering = true
        link.setDeadline(monotonicNanoseconds() + context.sending)
        if let prepared = response.prepared, let kept = context.finished(prepared) {
            return kept.handle.queue(prepared.response.status, on: connection)
        }
        switch response.body {
        case .bytes(let body): return send(response, body: body, on: connection)
        case .events(let events):
            // The answer to HEAD has no body; `events` ends its producer when it goes.
            if head?.isHEAD == true { return send(response, body: [], on: connection) }
            return stream(response, on: connection) { $0.start(events) }
        case .hub(let hub, let isWelcome):
            if head?.isHEAD == true { return send(response, body: [], on: connection) }
            return stream(response, on: connection) { $0.start(hub, while: isWelcome) }
        case .parts(let next):
            if head?.isHEAD == true { return send(response, body: [], on: connection) }
            return stream(response, on: connection) { $0.start(parts: next) }
        }
    }

    private func send(_ response: WebResponse, body: [UInt8], on connection: Connection) -> MHD_Result {
        let defaults = context.configuration.defaultHeaders
        if (200...599).contains(response.status),
            let handle = ResponseHandle(response, body: body, defaults: defaults)
        {
            return handle.queue(response.status, on: connection)
        }
        guard case .bytes(let text) = WebResponse.faulty.body,
            let handle = ResponseHandle(.faulty, body: text, defaults: defaults)
        else { return .NO }
        return handle.queue(WebResponse.faulty.status, on: connection)
    }

    private func stream(
        _ response: WebResponse,
        on connection: Connection,
        start: (EventFeed) -> Void
    ) -> MHD_Result {
        guard !context.isStopping else { return answer(.stopping, on: connection) }
        guard context.openStream(isKnown: isKnown) else { return answer(.tooManyStreams, on: connection) }
        let (links, link) = (context.links, link)
        let feed = EventFeed(
            connection: connection,
            ledger: context.ledger,
            limitBytes: context.configuration.limits.eventBacklogBytes,
            cut: { links.cut(link) }
        )
        stage = .streaming(feed)
        link.setDeadline(.max)
        link.activity = .events(feed)
        guard let handle = ResponseHandle(response, feed: feed, defaults: context.configuration.defaultHeaders) else {
            return .NO
        }
        start(feed)
        if context.isStopping { feed.finish() }
        return handle.queue(response.status, on: connection)
    }

    private func finishWorking() {
        if case .working(let pending) = stage {
            pending.requestEnded()
            link.activity = .none
        }
        stage = .answered
    }

    /// The answer was sent, or the connection is lost. Nothing is called on this exchange afterwards.
    func end() {
        if case .streaming(let feed) = stage {
            feed.requestEnded()
            context.closeStream(isKnown: isKnown)
            link.activity = .none
        }
        finishWorking()
        if let room { context.bodies.giveBack(room.bytes, for: room.kind) }
        room = nil
        // The next request may begin up to `idle` from now, and then has `receiving` to arrive.
        link.setDeadline(monotonicNanoseconds() + context.idle + context.receiving)
        link.isAnswering = false
        if context.isStopping { context.ledger.noteChange() }
    }
}
