internal import StrictJSON

extension RelayClient {
    /// Takes one frame from the relay.
    func take(_ bytes: [UInt8]) async {
        let frame: RelayFrame
        do throws(RelayFrame.Refusal) {
            frame = try RelayFrame(parsing: bytes, limitBytes: settings.frameLimitBytes)
        } catch {
            counts.malformed += 1
            connection?.malformed += 1
            if (connection?.malformed ?? 0) >= 100 { connection?.verdict = .lost("it sends what makes no sense") }
            return
        }
        switch frame {
        case .result(let id, let value): answered(id, .success(value))
        case .failure(let id, let error):
            // An answer to nobody, but one that says who we are not.
            if error.code == 3000 { connection?.verdict = .credentials(error.tag ?? error.message) }
            answered(id, .failure(error))
        case .call(let id, .delivery(_, let parcel)): _ = await take(parcel, copy: id)
        case .call(let id, let call):
            counts.malformed += 1
            answer(.failure(id, .payload("InvalidMethod", "\(call.method) is not for clients")))
        }
    }

    /// Hands a message on, where it is new and there is room.
    /// - Parameter copy: The relay's number for it, where it was sent and not fetched.
    /// - Returns: Whether it was new.
    func take(_ parcel: RelayParcel, copy: RelayID?) async -> Bool {
        guard let topic = Topic(parcel.topic), topics[topic] != nil else {
            stray(parcel.topic, copy)
            return false
        }
        let mark = RelayMark(topic: topic.text, message: parcel.message)
        guard !ownMarks.contains(mark) else {
            counts.duplicates += 1
            acknowledge(copy)
            return false
        }
        if inHand[mark] != nil {
            counts.duplicates += 1
            add(copy, to: mark)
            handAgain(parcel, topic, mark)
            return false
        }
        let size = parcel.message.utf8.count + (parcel.attestation?.utf8.count ?? 0)
        guard inHand.count < settings.unstoredLimit, bytesInHand + size <= settings.unstoredLimitBytes else {
            counts.overflowed += 1
            fetchAgain([topic])
            return false
        }
        let receipt = nextReceipt
        nextReceipt += 1
        bytesInHand += size
        marks[receipt] = mark
        inHand[mark] = InHand(
            receipt: receipt,
            topic: topic,
            bytes: size,
            publishedAt: parcel.publishedAt,
            copies: copy.map { [$0] } ?? [],
            connection: connectionNumber,
            handedAt: clock.elapsed()
        )
        do {
            guard try await memory.knows(mark) else {
                hand(on: parcel, topic, receipt)
                return true
            }
            counts.duplicates += 1
            for copy in letGo(mark) { acknowledge(copy) }
        } catch {
            // Without its memory nobody knows whether it is new: it comes again.
            counts.unstored += 1
            _ = letGo(mark)
            fetchAgain([topic])
        }
        return false
    }

    /// A relay remembers the subscriptions of a key and sends what waits as soon as there is a connection, perhaps before
    /// whoever uses this client has asked for the topic again. Acknowledged, it would be lost.
    private func stray(_ topic: String, _ copy: RelayID?) {
        guard let copy else { return }
        guard let topic = Topic(topic), !former.contains(topic) else { return acknowledge(copy) }
        // Beyond that they are neither taken nor acknowledged: the relay keeps them.
        guard let strays = connection?.strays, strays.count < settings.unstoredLimit else { return }
        connection?.strays.append((copy, topic, clock.elapsed()))
    }

    /// What nobody has asked for in half a minute must not keep the relay from sending the rest. Of what somebody has asked
    /// for meanwhile the mailbox was fetched, and the relay's next copy will be acknowledged.
    func letGoOfStrays() {
        let end = clock.elapsed() - .seconds(30)
        guard let strays = connection?.strays, strays.contains(where: { $0.at <= end }) else { return }
        connection?.strays = strays.filter { $0.at > end }
        for stray in strays where stray.at <= end && topics[stray.topic] == nil { acknowledge(stray.copy) }
    }

    private func hand(on parcel: RelayParcel, _ topic: Topic, _ receipt: UInt64) {
        counts.received += 1
        incoming.yield(
            RelayMessage(
                topic: topic,
                message: parcel.message,
                tag: Int(parcel.tag),
                publishedAtMilliseconds: parcel.publishedAt,
                attestation: parcel.attestation,
                receipt: receipt
            )
        )
    }

    /// A copy of what was handed on long ago and never acknowledged: perhaps storing it failed, and works now.
    private func handAgain(_ parcel: RelayParcel, _ topic: Topic, _ mark: RelayMark) {
        guard var held = inHand[mark], clock.elapsed() - held.handedAt >= held.patience else { return }
        held.handedAt = clock.elapsed()
        held.patience *= 2
        inHand[mark] = held
        hand(on: parcel, topic, held.receipt)
    }

    /// Relays give up sending a message again after a while; asking brings it.
    func askAgainForUnstored() {
        let now = clock.elapsed()
        let overdue = inHand.values.filter { now - $0.handedAt >= $0.patience }
        if !overdue.isEmpty { fetchAgain(Set(overdue.map(\.topic))) }
    }

    public func acknowledge(_ message: RelayMessage) async {
        guard let mark = marks[message.receipt], let held = inHand[mark] else { return }
        // As long as a mailbox can hold it: 30 days from when the relay took it, and a day for clocks that differ.
        let from = max((held.publishedAt ?? 0) / 1000, clock.wallMilliseconds() / 1000)
        do { try await memory.remember(mark, until: from + 31 * 86_400) } catch {
            counts.unstored += 1
            _ = letGo(mark)
            fetchAgain([held.topic])
            return
        }
        for copy in letGo(mark) { acknowledge(copy) }
        counts.acknowledged += 1
    }

    /// Forgets a message that is no longer in hand.
    /// - Returns: The numbers of its copies that came over the present connection.
    private func letGo(_ mark: RelayMark) -> [RelayID] {
        guard let held = inHand.removeValue(forKey: mark) else { return [] }
        marks[held.receipt] = nil
        bytesInHand -= held.bytes
        return held.connection == connectionNumber ? held.copies : []
    }

    private func add(_ copy: RelayID?, to mark: RelayMark) {
        guard let copy, var held = inHand[mark] else { return }
        if held.connection != connectionNumber { (held.copies, held.connection) = ([], connectionNumber) }
        // Relays send a copy again every half minute under the same number; more numbers than these are a fault.
        if held.copies.count < 16, !held.copies.contains(copy) { held.copies.append(copy) }
        inHand[mark] = held
    }

    private func acknowledge(_ copy: RelayID?) {
        guard let copy else { return }
        answer(.result(copy, .bool(true)))
    }

    /// Answers are given up before they fill the memory: who does not read them may send again.
    private func answer(_ frame: RelayFrame) {
        guard let now = connection, now.unwritten < 4096 else { return }
        write(frame.text)
    }
}
