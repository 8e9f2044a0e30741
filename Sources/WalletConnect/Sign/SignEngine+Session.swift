internal import StrictJSON

/// What both sides say within a session.
extension SignEngine {
    mutating func receiveSessionRequest(_ request: RPCRequest, _ session: SessionRecord, attestation: String?) {
        guard !session.isOver else { return }
        guard let method = Method(rawValue: request.method) else {
            answer(request.id, .error(.methodUnsupported), to: nil, on: session.topic, key: session.key)
            return
        }
        if method == .sessionDelete { return receiveDelete(request, session) }
        if method == .sessionRequest { return receiveCall(request, session, attestation: attestation) }
        do throws(JSONRPCError) {
            switch method {
            case .sessionPing: break
            case .sessionSettle: guard request.id == session.settleID else { throw .invalidSessionSettleRequest }
            case .sessionUpdate: try receiveUpdate(request, session)
            case .sessionExtend: try receiveExtend(request, session)
            case .sessionEvent: try receiveEvent(request, session)
            default: throw .methodUnsupported
            }
            answer(request.id, .response(.bool(true)), to: method, on: session.topic, key: session.key)
        } catch {
            answer(request.id, .error(error), to: method, on: session.topic, key: session.key)
        }
    }

    private mutating func receiveUpdate(_ request: RPCRequest, _ session: SessionRecord) throws(JSONRPCError) {
        guard !session.isController else { throw .unauthorizedUpdateRequest }
        // An ID says when it was made: an older update would undo a newer one.
        guard (request.id.number ?? 0) > session.lastUpdate else {
            log("\(session.topic): passed over an update that is older than the last one")
            return
        }
        let namespaces: [String: SessionNamespace]
        do throws(NamespaceError) {
            namespaces = try SessionNamespace.read(request.params.value(named: "namespaces"))
            try NamespaceRules.check(namespaces, gives: session.required)
        } catch { throw .invalidUpdateRequest.saying(error.description) }
        var session = session
        (session.namespaces, session.lastUpdate) = (namespaces, request.id.number ?? 0)
        book.put(session)
        emit(.sessionUpdated(session.topic, namespaces))
    }

    /// Longer, by at most seven days from now. Without a time it means just that.
    static func extended(
        from current: Int64,
        to wish: Int64?,
        byController: Bool,
        now: Int64
    ) throws(JSONRPCError) -> Int64 {
        guard byController else { throw .unauthorizedExtendRequest }
        let latest = now + Lifetime.session
        let expiry = wish ?? latest
        guard expiry > current else { throw .invalidExtendRequest.saying("The new end is not after the present one.") }
        guard expiry <= latest else { throw .invalidExtendRequest.saying("The new end is more than 7 days away.") }
        return expiry
    }

    private mutating func receiveExtend(_ request: RPCRequest, _ session: SessionRecord) throws(JSONRPCError) {
        var session = session
        let written = request.params.present("expiry")
        if written != nil, written?.integer == nil { throw .invalidExtendRequest }
        if written == nil, !session.isController, session.expiry >= now + Lifetime.session { return }
        session.expiry = try Self.extended(
            from: session.expiry,
            to: written?.integer,
            byController: !session.isController,
            now: now
        )
        book.put(session)
        emit(.sessionExtended(session.topic, expiry: session.expiry))
    }

    private mutating func receiveEvent(_ request: RPCRequest, _ session: SessionRecord) throws(JSONRPCError) {
        guard let event = request.params.value(named: "event"), let name = event.value(named: "name")?.string,
            let chain = request.params.value(named: "chainId")?.string.flatMap(Blockchain.init)
        else { throw .invalidEvent }
        guard NamespaceRules.allows(event: name, on: chain, in: session.namespaces) else {
            throw .unauthorizedEvent.saying("The session has no event \(name.cut(toBytes: 64)) on \(chain).")
        }
        guard (request.id.number ?? 0) > session.lastEvent else {
            log("\(session.topic): passed over an event that is older than the last one")
            return
        }
        var session = session
        session.lastEvent = request.id.number ?? 0
        book.put(session)
        emit(.sessionEvent(session.topic, Session.Event(name: name, data: event.value(named: "data") ?? .null), chain))
    }

    private mutating func receiveDelete(_ request: RPCRequest, _ session: SessionRecord) {
        answer(request.id, .response(.bool(true)), to: .sessionDelete, on: session.topic, key: session.key)
        endSession(session.topic)
        emit(.sessionEnded(SessionEnd(topic: session.topic, cause: .peer(Self.reason(in: request.params)))))
    }

    /// Ends a session here first, then tells the peer, who need not answer.
    mutating func disconnect(_ topic: Topic, _ reason: Reason) throws(SignError) {
        guard let session = book.sessions[topic], !session.isOver else {
            return try disconnectPairing(topic, reason)
        }
        _ = send(
            .sessionDelete,
            .of(["code": .number(reason.code), "message": .string(reason.message)]),
            on: topic,
            key: session.key
        )
        endSession(topic)
    }

    /// Forgets a session; while a request of ours is open, only for others: its answer can still mean money.
    mutating func endSession(_ topic: Topic) {
        guard var session = book.sessions[topic] else { return }
        let isOpen = book.sent.values.contains {
            $0.topic == topic && $0.method == .sessionRequest && $0.expiry > now
        }
        if isOpen {
            session.isOver = true
            book.put(session)
        } else {
            book.removeSession(topic)
            act(.unsubscribe(topic))
        }
    }

    // MARK: Answers

    mutating func receiveSessionResponse(_ response: RPCResponse, _ session: SessionRecord) {
        guard let sent = book.sent[SentRecord.name(session.topic, response.id)], sent.method == .sessionSettle else {
            return receiveAnswer(response, on: session.topic)
        }
        book.removeSent(sent)
        switch response.result {
        case .response:
            var session = session
            session.acknowledged = true
            book.put(session)
            emit(.settlementAcknowledged(session.topic))
        case .error(let error):
            endSession(session.topic)
            emit(.sessionEnded(SessionEnd(topic: session.topic, cause: .settlementRefused(error))))
        }
    }

    /// Finds what an answer belongs to by topic and ID. Tags say nothing: peers use wrong ones.
    mutating func receiveAnswer(_ response: RPCResponse, on topic: Topic) {
        guard let sent = book.sent[SentRecord.name(topic, response.id)] else {
            return log("\(topic): dropped an answer to nothing that was asked")
        }
        book.removeSent(sent)
        switch (sent.method, response.result) {
        case (.sessionRequest, let result):
            guard let call = sent.call, let chain = sent.chain else { return }
            let timing: SessionResponse.Timing =
                now >= sent.expiry ? .afterExpiry : sent.gaveUp ? .afterGivingUp : .inTime
            emit(
                .responded(
                    SessionResponse(
                        id: sent.id,
                        topic: topic,
                        method: call,
                        chainId: chain,
                        result: result,
                        timing: timing
                    )
                )
            )
        case (.sessionPing, .response), (.pairingPing, .response): emit(.pong(sent.id, topic))
        case (_, .response): break
        case (_, .error(let error)): emit(.callRefused(sent.id, topic, error))
        }
        if let session = book.sessions[topic], session.isOver { endSession(topic) }
    }

    // MARK: Calls

    /// The dapp asks the wallet for something.
    mutating func request(_ request: Request) throws(SignError) -> RPCID {
        let session = try liveSession(request.topic)
        guard !session.isController else { throw .notAllowed(reason: "a wallet answers requests, it sends none") }
        guard (Lifetime.shortestRequest...Lifetime.longestRequest).contains(request.ttlSeconds) else {
            throw .invalid(reason: "a request lives for 300 to 604800 s")
        }
        guard NamespaceRules.allows(request.chainId, in: session.namespaces) else {
            throw .notAllowed(reason: "the session has no account on \(request.chainId)")
        }
        guard NamespaceRules.allows(method: request.method, on: request.chainId, in: session.namespaces) else {
            throw .notAllowed(reason: "the session does not have \(request.method) on \(request.chainId)")
        }
        let expiry = now + request.ttlSeconds
        let params = ExactJSON.of([
            "request": .of([
                "method": .string(request.method), "params": request.params, "expiryTimestamp": .number(expiry),
            ]), "chainId": .string(request.chainId.absoluteString),
        ])
        guard params.text.utf8.count <= RPCMessage.limitBytes / 2 else { throw .invalid(reason: "more than 512 KiB") }
        let id = send(
            .sessionRequest,
            params,
            on: request.topic,
            key: session.key,
            ttl: Int(max(Lifetime.shortestRequest, expiry - now))
        )
        book.put(
            SentRecord(
                id: id,
                topic: request.topic,
                method: .sessionRequest,
                call: request.method,
                chain: request.chainId,
                expiry: expiry
            )
        )
        return id
    }

    /// From here on an answer is a late one.
    mutating func stopWaiting(_ id: RPCID, on topic: Topic) {
        guard var sent = book.sent[SentRecord.name(topic, id)] else { return }
        sent.gaveUp = true
        book.put(sent)
    }

    /// The wallet is asked for something.
    private mutating func receiveCall(_ request: RPCRequest, _ session: SessionRecord, attestation: String?) {
        if let known = book.received[SentRecord.name(session.topic, request.id)] {
            // Sealed anew by a peer that got no answer. Asking the user twice could pay twice.
            if let message = known.answer {
                deliver(
                    message,
                    on: session.topic,
                    tag: Method.sessionRequest.responseTag(.success),
                    ttl: Method.sessionRequest.responseTTL(.success),
                    prompt: false,
                    method: .sessionRequest
                )
            }
            return
        }
        do throws(JSONRPCError) {
            let record = try call(in: request, session)
            book.put(record)
            emit(
                .requestReceived(
                    record.value,
                    VerifyContext(
                        claimedURL: session.peer.url,
                        attestedOrigin: attestation.flatMap(Attestation.origin(in:))
                    )
                )
            )
        } catch {
            answer(request.id, .error(error), to: .sessionRequest, on: session.topic, key: session.key)
        }
    }

    private func call(in request: RPCRequest, _ session: SessionRecord) throws(JSONRPCError) -> ReceivedRecord {
        guard session.isController else { throw .unauthorizedMethod }
        guard let body = request.params.value(named: "request"), let method = body.value(named: "method")?.string,
            (1...128).contains(method.utf8.count),
            let chain = request.params.value(named: "chainId")?.string.flatMap(Blockchain.init)
        else { throw JSONRPCError(code: -32602, message: "The request has no method or no chain.") }
        guard NamespaceRules.allows(chain, in: session.namespaces) else { throw .unauthorizedChain }
        guard NamespaceRules.allows(method: method, on: chain, in: session.namespaces) else {
            throw .unauthorizedMethod
        }
        let written = body.present("expiryTimestamp") ?? body.present("expiry")
        if let written {
            guard let expiry = written.integer, expiry > now, expiry - now <= Lifetime.longestRequest else {
                throw .sessionRequestExpired
            }
        }
        let open = book.received.values.count { $0.topic == session.topic && $0.answer == nil && !$0.isOver }
        guard open < Self.openLimit else { throw JSONRPCError(code: -32005, message: "Too many open requests.") }
        return ReceivedRecord(
            id: request.id,
            topic: session.topic,
            call: method,
            params: StoredJSON(body.value(named: "params") ?? .array([])),
            chain: chain,
            expiry: written?.integer,
            at: now
        )
    }

    /// What `respond` came to.
    enum RespondResult: Sendable, Equatable { case sent, expired }

    /// The user answered. After the request's end the dapp is told so instead.
    mutating func respond(_ topic: Topic, _ id: RPCID, _ result: RPCResult) throws(SignError) -> RespondResult {
        let session = try liveSession(topic)
        guard var record = book.received[SentRecord.name(topic, id)], record.answer == nil else {
            throw .unknown(what: "open request")
        }
        let isLate = isExpired(record)
        let told = isLate ? .error(.sessionRequestExpired) : result
        record.answer = answer(id, told, to: .sessionRequest, on: topic, key: session.key)
        record.isOver = true
        book.put(record)
        return isLate ? .expired : .sent
    }

    /// The same for callers that know only the request's ID. The account matters only while a signature would still be sent.
    mutating func respond(to id: RPCID, _ result: RPCResult, from account: Account) throws(SignError) -> RespondResult {
        let unanswered = book.received.values.filter { $0.id == id && $0.answer == nil }
        let open = unanswered.filter { !isExpired($0) }
        guard let record = open.first ?? unanswered.first else { throw .unknown(what: "open request") }
        guard open.count <= 1 else {
            throw .invalid(
                reason: "\(open.count) sessions have an open request of this ID, so its session must be named"
            )
        }
        guard open.isEmpty || record.chain == account.blockchain else {
            throw .invalid(reason: "the account is on \(account.blockchain) and the request on \(record.chain)")
        }
        return try respond(record.topic, id, result)
    }

    private func isExpired(_ record: ReceivedRecord) -> Bool {
        record.isOver || record.expiry.map { now >= $0 } ?? false
    }
}
