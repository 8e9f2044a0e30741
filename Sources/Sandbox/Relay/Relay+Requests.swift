import Payments
import StrictJSON
import WalletConnect
import WebSocket

extension Relay {
    /// Takes one frame of a client.
    func take(_ bytes: [UInt8], from id: UInt64) {
        guard let client = sessions[id]?.client else { return }
        heard(id)
        let frame: RelayFrame
        do throws(RelayFrame.Refusal) {
            frame = try RelayFrame(parsing: bytes, limitBytes: configuration.listen.messageLimitBytes)
        } catch {
            // Whoever floods with nonsense counts like everybody else.
            refuse(id, error.id, excess(client) ?? error.error)
            return
        }
        switch frame {
        case .result(let number, _): acknowledged(number, by: client, over: id)
        // A client that cannot take a message says so; it comes again like one that was not answered.
        case .failure: break
        case .call(let number, let call):
            counts.requests[call.place.rawValue, default: 0] += 1
            if let excess = excess(client) { return refuse(id, number, excess) }
            guard number.number.map({ $0 >= Self.smallestNumber }) ?? true else {
                return refuse(id, number, Self.smallNumber)
            }
            work(on: call, number, client, id)
        }
    }

    /// Production takes no request ID below it. Source: relay_rpc, `MessageId::validate`.
    private static let smallestNumber: UInt64 = 1_000_000_000
    private static let smallNumber = RelayAnswerError.payload("InvalidRequestId", "request ID below 10^9")

    private func work(on call: RelayCall, _ number: RelayID, _ client: String, _ id: UInt64) {
        let met = faults.meeting(call.place)
        let before = met.filter { $0.moment == .before }
        for fault in before {
            switch fault.effect {
            case .drop: return
            case .close(let code): return close(id, code, "on demand")
            case .error(let tag): return refuse(id, number, Self.error(tag))
            case .die: return configuration.onDeath()
            default: break
            }
        }
        do throws(RelayAnswerError) {
            let result = try result(of: call, client, id)
            let after = met.filter { $0.moment == .after || !$0.effect.isInsteadOfWork }
            answer(id, result.frame(number), after, stored: result.isStored, thenDeliver: result.subscribed)
        } catch {
            refuse(id, number, error)
        }
    }

    private enum Outcome {
        case done
        case subscribed([String])
        case json(ExactJSON, subscribed: [String])
        case mailbox([RelayParcel], hasMore: Bool)

        var subscribed: [String] {
            switch self {
            case .subscribed(let topics), .json(_, let topics): topics
            case .done, .mailbox: []
            }
        }

        /// Whether it promises that a message was kept. Subscriptions are made again after each break anyway.
        var isStored: Bool {
            switch self {
            case .done, .subscribed: true
            case .json, .mailbox: false
            }
        }

        func frame(_ id: RelayID) -> RelayFrame {
            switch self {
            case .done, .subscribed: .result(id, .bool(true))
            case .json(let json, _): .result(id, json)
            case .mailbox(let parcels, let hasMore): .mailbox(id, parcels, hasMore: hasMore)
            }
        }
    }

    private func result(of call: RelayCall, _ client: String, _ id: UInt64) throws(RelayAnswerError) -> Outcome {
        switch call {
        case .subscribe(let topic):
            let name = try subscribe(topic, client, id)
            return .json(.string(Self.subscriptionID(name, client)), subscribed: [name])
        case .batchSubscribe(let topics, let partial): return try subscribe(all: topics, partial, client, id)
        case .unsubscribe(let subscription):
            try unsubscribe([subscription], client)
            return .done
        case .batchUnsubscribe(let list):
            try unsubscribe(list, client)
            return .done
        case .publish(let post):
            try publish([post], client)
            return .done
        case .batchPublish(let posts):
            try publish(posts, client)
            return .done
        case .fetch(let topic): return try fetch([topic], client, id)
        case .batchFetch(let topics): return try fetch(topics, client, id)
        case .createTopic(let topic):
            _ = try Self.topic(topic)
            return .done
        // Receipts name messages by numbers that this relay does not give; acknowledgements are what counts.
        case .receive: return .done
        case .proposeSession(let post):
            try publish([post], client)
            return .subscribed([try subscribe(post.topic, client, id)])
        case .approveSession(let response, let settlement):
            try publish([settlement, response], client)
            return .subscribed([try subscribe(settlement.topic, client, id)])
        case .delivery, .unknown:
            throw .payload("InvalidMethod", "this relay does not serve that method")
        }
    }

    // MARK: - Subscriptions

    private func subscribe(_ text: String, _ client: String, _ id: UInt64) throws(RelayAnswerError) -> String {
        let topic = try Self.topic(text)
        let known = mailboxes.topics(of: client)
        guard known.contains(topic) || known.count < configuration.subscriptionLimit else {
            throw .handler("SubscriberLimitExceeded", "more than \(configuration.subscriptionLimit) subscriptions")
        }
        if mailboxes.subscribe(client, to: topic) { record(.subscribed(client, topic: topic)) }
        sessions[id]?.fetched[topic] = nil
        return topic
    }

    private func subscribe(
        all texts: [String],
        _ partial: Bool,
        _ client: String,
        _ id: UInt64
    ) throws(RelayAnswerError) -> Outcome {
        var topics: [String] = []
        var answers: [ExactJSON] = []
        if !partial { for text in texts { _ = try Self.topic(text) } }
        for text in texts {
            do throws(RelayAnswerError) {
                let topic = try subscribe(text, client, id)
                topics.append(topic)
                let name = ExactJSON.string(Self.subscriptionID(topic, client))
                answers.append(partial ? .members(["id": name]) : name)
            } catch {
                guard partial else { throw error }
                answers.append(
                    .members([
                        "error": .members([
                            "code": .integer(error.code), "message": .string(error.message), "data": .text(error.tag),
                        ])
                    ])
                )
            }
        }
        // Delivered after the answer, so that the client knows the subscriptions.
        return .json(.array(answers), subscribed: topics)
    }

    private func unsubscribe(_ list: [RelaySubscription], _ client: String) throws(RelayAnswerError) {
        var topics: [String] = []
        for subscription in list { topics.append(try Self.topic(subscription.topic)) }
        for topic in topics where mailboxes.unsubscribe(client, from: topic) {
            record(.unsubscribed(client, topic: topic))
        }
    }

    func deliver(_ topics: [String], _ id: UInt64) {
        for topic in topics { queueWaiting(topic, id) }
        push(id)
    }

    // MARK: - Messages

    private func publish(_ posts: [RelayPost], _ client: String) throws(RelayAnswerError) {
        var letters: [RelayMailboxes.Letter] = []
        for post in posts { letters.append(try letter(post, client)) }
        for letter in letters {
            let limit = (letters: configuration.mailboxLimit, bytes: configuration.mailboxLimitBytes)
            switch mailboxes.keep(letter, limit: limit, totalBytes: configuration.totalLimitBytes) {
            case .full: throw .handler("MailboxLimitExceeded", "the mailbox is full")
            case .known: counts.duplicates += 1
            case .kept:
                counts.published += 1
                record(letter.record)
                for subscriber in mailboxes.subscribers(of: letter.topic) where subscriber != client {
                    for session in sessionsOfClient[subscriber] ?? [] {
                        sessions[session]?.toPush.append(letter.name)
                        push(session)
                    }
                }
            }
        }
    }

    private func letter(_ post: RelayPost, _ client: String) throws(RelayAnswerError) -> RelayMailboxes.Letter {
        let topic = try Self.topic(post.topic)
        guard !post.message.isEmpty else { throw .payload("InvalidParams", "the message is empty") }
        guard post.message.utf8.count <= configuration.messageLimitBytes,
            post.attestation?.utf8.count ?? 0 <= 16_384
        else {
            throw .payload("PayloadSizeExceeded", "more than \(configuration.messageLimitBytes) bytes")
        }
        let asked = post.ttlSeconds ?? configuration.usualTTL(tag: post.tag)
        guard asked >= configuration.ttlSeconds.lowerBound else {
            throw .handler("TtlTooShort", "ttl is below \(configuration.ttlSeconds.lowerBound) s")
        }
        guard asked <= configuration.ttlSeconds.upperBound else {
            throw .handler("TtlTooLong", "ttl is above \(configuration.ttlSeconds.upperBound) s")
        }
        let now = clock.now()
        let ttl = min(asked, configuration.tagLimitSeconds[post.tag] ?? asked)
        return RelayMailboxes.Letter(
            topic: topic,
            hash: RelayRecord.hash(post.message),
            message: post.message,
            tag: post.tag,
            attestation: post.attestation,
            sender: client,
            publishedAt: now,
            expiresAt: now.advanced(by: .seconds(ttl))
        )
    }

    /// A page of what waits. Nothing is taken by it: only an acknowledgement, or time, ends a message.
    private func fetch(_ texts: [String], _ client: String, _ id: UInt64) throws(RelayAnswerError) -> Outcome {
        var topics: [String] = []
        for text in texts { topics.append(try Self.topic(text)) }
        var page: [RelayParcel] = []
        var bytes = 0
        for topic in topics {
            for letter in mailboxes.waiting(topic, for: client)
            where sessions[id]?.fetched[topic]?.contains(letter.hash) != true {
                guard page.count < 100, page.isEmpty || bytes + letter.bytes <= configuration.messageLimitBytes else {
                    return .mailbox(page, hasMore: true)
                }
                page.append(letter.parcel)
                bytes += letter.bytes
                sessions[id]?.fetched[topic, default: []].insert(letter.hash)
            }
        }
        // The next question starts from the beginning.
        for topic in topics { sessions[id]?.fetched[topic] = nil }
        return .mailbox(page, hasMore: false)
    }

    private func acknowledged(_ number: RelayID, by client: String, over id: UInt64) {
        for fault in faults.meeting(.ack) {
            switch fault.effect {
            case .drop: return
            case .close(let code): return close(id, code, "on demand")
            case .die: return configuration.onDeath()
            default: break
            }
        }
        guard let number = number.number, let name = sessions[id]?.letGo(number) else { return }
        if mailboxes.take(name, by: client) {
            counts.acknowledged += 1
            record(.taken(name, by: client))
        }
        push(id)
    }

    private func refuse(_ id: UInt64, _ number: RelayID, _ error: RelayAnswerError) {
        counts.errors[error.tag ?? String(error.code), default: 0] += 1
        answer(id, .failure(number, error), [])
    }

    private static func topic(_ text: String) throws(RelayAnswerError) -> String {
        guard let topic = Topic(text) else { throw .payload("InvalidTopic", "a topic is 64 hexadecimal digits") }
        return topic.text
    }

    private static func error(_ tag: String) -> RelayAnswerError {
        switch tag {
        case "TooManyRequests": .tooManyRequests
        case "InvalidJwt", "MissingJwt", "ProjectNotFound", "ProjectInactive", "ProjectIdNotSpecified",
            "OriginNotAllowed", "CountryBlocked":
            RelayAnswerError(code: 3000, message: "Unauthorized", tag: tag)
        case "Internal": RelayAnswerError(code: -32603, message: "Internal error", tag: tag)
        case "TtlTooShort", "TtlTooLong", "MailboxLimitExceeded", "SubscriberLimitExceeded":
            .handler(tag, "on demand")
        default: .payload(tag, "on demand")
        }
    }
}

extension RelayCall {
    var place: RelayFault.Place {
        switch self {
        case .subscribe, .batchSubscribe: .subscribe
        case .unsubscribe, .batchUnsubscribe: .unsubscribe
        case .publish, .batchPublish, .proposeSession, .approveSession: .publish
        case .fetch, .batchFetch, .receive, .createTopic, .unknown: .fetch
        case .delivery: .push
        }
    }
}

extension RelayMailboxes.Letter {
    var record: RelayRecord {
        .kept(
            name,
            message: message,
            tag: tag,
            attestation: attestation,
            sender: sender,
            from: publishedAt.millisecondsSince1970,
            until: expiresAt.millisecondsSince1970
        )
    }
}
