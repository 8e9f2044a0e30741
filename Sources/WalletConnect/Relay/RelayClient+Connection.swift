internal import StrictJSON

extension RelayClient {
    /// Uses one connection until it ends, and says why it did.
    func serve(_ line: any WebSocketLine) async -> RelayTrouble {
        connectionNumber += 1
        let (outgoing, writes) = AsyncStream.makeStream(of: String.self)
        let (chores, work) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        connection = Connection(line: line, outgoing: writes, chores: work, lastSign: clock.elapsed())
        let trouble = await withTaskGroup(of: RelayTrouble?.self) { group in
            group.addTask { await self.read(line) }
            group.addTask { await self.write(outgoing, to: line) }
            group.addTask { await self.watch(line) }
            group.addTask { await self.prepare(chores) }
            var trouble: RelayTrouble?
            while trouble == nil, let ended = await group.next() { trouble = ended }
            let verdict = connection?.verdict
            // In this order: whoever waits for an answer or for the network is let go before it is waited for.
            endConnection()
            await line.close(code: 1000)
            group.cancelAll()
            return verdict ?? trouble ?? .lost("ended")
        }
        return trouble
    }

    private func read(_ line: any WebSocketLine) async -> RelayTrouble? {
        while true {
            do throws(WebSocketFailure) {
                let event = try await line.receive()
                connection?.lastSign = clock.elapsed()
                connection?.pingedAt = nil
                if case .message(let bytes) = event { await take(bytes) }
                if let verdict = connection?.verdict { return verdict }
            } catch {
                return RelayTrouble(error)
            }
        }
    }

    private func write(_ outgoing: AsyncStream<String>, to line: any WebSocketLine) async -> RelayTrouble? {
        for await text in outgoing {
            do throws(WebSocketFailure) { try await line.send(text) } catch { return RelayTrouble(error) }
            connection?.unwritten -= 1
        }
        return nil
    }

    /// Every second, or more often where answers are awaited for less than four: deadlines, signs of life, what has to be asked for again.
    private func watch(_ line: any WebSocketLine) async -> RelayTrouble? {
        while true {
            do { try await clock.sleep(min(.seconds(1), settings.deadline / 4)) } catch { return nil }
            endOverdueRequests()
            showStatus()
            guard let now = connection else { return nil }
            let quiet = clock.elapsed() - now.lastSign
            if quiet >= settings.silence { return .silent }
            if quiet >= settings.heartbeat, now.pingedAt == nil {
                connection?.pingedAt = clock.elapsed()
                do throws(WebSocketFailure) { try await line.ping() } catch { return RelayTrouble(error) }
            }
            askAgainForUnstored()
            letGoOfStrays()
            if let again = now.fetchAgainAt, again <= clock.elapsed() {
                connection?.fetchAgainAt = nil
                connection?.fetchAgain = []
                wantFetch(now.fetchAgain)
            }
        }
    }

    /// Subscribes to everything, then asks for what waits: in this order nothing can fall between. Then it fetches
    /// whenever there is a reason to.
    private func prepare(_ chores: AsyncStream<Void>) async -> RelayTrouble? {
        let known = Array(topics.keys)
        for start in stride(from: 0, to: known.count, by: RelayCall.batchLimit) {
            let batch = Array(known[start..<min(start + RelayCall.batchLimit, known.count)])
            switch await ask(.batchSubscribe(topics: batch.map(\.text), partial: false)) {
            case .success(.array(let ids)) where ids.count == batch.count: note(Array(zip(batch, ids)))
            case .success: return .lost("it answered a subscription with something else")
            case .failure(.refused(let code, let reason)):
                return code == 3000 ? .credentials(reason) : .busy("it refuses to subscribe: \(reason)")
            case .failure(.timedOut): return .silent
            case .failure(.notConnected): return nil
            }
        }
        guard connection != nil else { return nil }
        connection?.isReady = true
        show(.connected)
        wantFetch(known)
        for await _ in chores {
            while let topics = connection?.toFetch, !topics.isEmpty {
                connection?.toFetch = []
                await fetch(Array(topics))
            }
        }
        return nil
    }

    private func fetch(_ wanted: [Topic]) async {
        for start in stride(from: 0, to: wanted.count, by: RelayCall.batchLimit) {
            await fetch(batch: Array(wanted[start..<min(start + RelayCall.batchLimit, wanted.count)]))
        }
    }

    private func fetch(batch: [Topic]) async {
        let call: RelayCall =
            batch.count == 1 ? .fetch(topic: batch[0].text) : .batchFetch(topics: batch.map(\.text))
        // A relay that always says "more" ends with its first page without news.
        for _ in 0..<1000 {
            guard connection?.cannotFetch == false else { return }
            switch await ask(call) {
            case .success(let answer):
                guard await take(mailbox: answer) else { return fetchLater(batch, answer) }
            case .failure(.timedOut): return fetchAgain(batch)
            // Subscriptions bring the mailbox too; this relay knows no other way.
            case .failure(.refused): connection?.cannotFetch = true
            case .failure(.notConnected): return
            }
        }
    }

    /// False when there is nothing more to ask for.
    private func take(mailbox answer: ExactJSON) async -> Bool {
        guard case .array(let entries) = answer.value(named: "messages") else { return false }
        var isNews = false
        for entry in entries {
            guard let parcel = RelayParcel(entry) else {
                counts.malformed += 1
                continue
            }
            if await take(parcel, copy: nil) { isNews = true }
        }
        return isNews && answer.value(named: "hasMore") == .bool(true)
    }

    /// A page brought nothing new, and yet there is more: what fills it has to be stored first.
    private func fetchLater(_ topics: [Topic], _ answer: ExactJSON) {
        if answer.value(named: "hasMore") == .bool(true) { fetchAgain(topics) }
    }

    /// Asks for the mailbox again after five seconds.
    func fetchAgain(_ topics: some Sequence<Topic>) {
        guard let now = connection, !now.cannotFetch else { return }
        connection?.fetchAgain.formUnion(topics)
        if now.fetchAgainAt == nil { connection?.fetchAgainAt = clock.elapsed() + .seconds(5) }
    }
}
