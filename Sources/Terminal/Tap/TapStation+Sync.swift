import Logging
import Payments
import TapProtocol

/// What was taken while nobody could be asked: kept, shown, and told to the acquirer, oldest first.
/// Source: BPP/1, section 16.3.
extension TapStation {
    /// What the terminal risks on vouchers, and has taken of them.
    func voucherBook() async -> VoucherBook {
        await recallAnswer()
        var current = await storedBook()
        // The time can be set, and lost, while a book is held.
        current.isClockSet = current.isClockSet && isClockSet
        current.lastOnlineMilliseconds = answeredMilliseconds
        return current
    }

    private func storedBook() async -> VoucherBook {
        if let book { return book }
        let edition = bookEdition
        let offline = setup?.settings.offline
        var made = VoucherBook(
            floor: Int(clamping: offline?.floorMinorUnits ?? 0),
            merchantLimit: Int(clamping: offline?.totalMinorUnits ?? 0),
            maximumOfflineAge: .seconds(3600 * (offline?.maximumHours ?? 0)),
            lastOnlineMilliseconds: answeredMilliseconds,
            isClockSet: offline?.isAllowed == true
        )
        do throws(JournalError) {
            for (pass, entry) in try await archive.spends() { made.learn(passID: pass, entry: entry) }
            let unsettled = try await archive.unsettled()
            for story in unsettled.stories { if let accept = story.accepted?.accept { made.take(accept) } }
            // A terminal that does not know what it took takes nothing more.
            if !unsettled.unreadable.isEmpty { made.isClockSet = false }
        } catch {
            logger.critical(
                "the journal does not say what was taken offline; no voucher is taken until it does",
                metadata: ["error": "\(error)"]
            )
            made.isClockSet = false
            return made
        }
        // What was taken while it was read may be missing in it.
        guard edition == bookEdition else { return await storedBook() }
        book = made
        return made
    }

    func voucherTaken() { book = nil }

    func queueChanged() async {
        book = nil
        if let unsettled = await readUnsettled() { waiting = unsettled.count }
        await changed()
    }

    /// What waits to be told; nil where the journal cannot say. What of it cannot be read is said once.
    private func readUnsettled() async -> TapArchive.Unsettled? {
        do throws(JournalError) {
            let found = try await archive.unsettled()
            for payment in found.unreadable where !plight.unreadable.contains(payment) {
                logger.error(
                    "a payment that was taken offline cannot be read: it is not told to the acquirer, and its money may not come",
                    metadata: ["payment": "\(Reason.clean(payment))"]
                )
            }
            plight.unreadable = found.unreadable
            plight.elsewhere = setup.map { own in found.stories.count { !own.serves($0) } } ?? 0
            return found
        } catch {
            logger.error(
                "the journal does not say what was taken offline; the acquirer is told once it does",
                metadata: ["error": "\(error)"]
            )
            return nil
        }
    }

    /// Tells the acquirer of everything that was taken offline, again after longer and longer pauses, and soon after it is
    /// there again.
    func synchronise() async {
        await queueChanged()
        var pause = Self.shortestUploadPause
        while !Task.isCancelled {
            let changes = changesFromNow()
            if waiting == 0 || setup == nil {
                for await _ in changes where waiting > 0 && setup != nil { break }
                pause = Self.shortestUploadPause
                if Task.isCancelled { return }
            }
            let before = waiting
            await synchroniseOnce()
            if waiting < before { pause = Self.shortestUploadPause }
            guard waiting > 0 else { continue }
            guard let isWoken = await waitToUpload(pause) else { return }
            pause = isWoken ? Self.shortestUploadPause : min(pause * 2, .seconds(600))
        }
    }

    /// Between two uploads, also where the acquirer comes and goes.
    private static let shortestUploadPause = Duration.seconds(5)

    /// Waits before the next upload.
    /// - Returns: Whether the acquirer came back before the pause was over; nil where the terminal stops.
    private func waitToUpload(_ pause: Duration) async -> Bool? {
        // New for each wait, so that the answers to the upload itself wake nobody.
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        uploadWake = continuation
        defer { uploadWake = nil }
        do {
            try await clock.sleep(Self.shortestUploadPause)
            return try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await self.clock.sleep(pause - Self.shortestUploadPause)
                    return false
                }
                group.addTask {
                    for await _ in stream { return true }
                    throw CancellationError()
                }
                defer { group.cancelAll() }
                return try await group.next() ?? false
            }
        } catch { return nil }
    }

    /// Tells of every payment once, in uploads of a few. What another acquirer or merchant is owed stays until that one is
    /// set again.
    func synchroniseOnce() async {
        guard let setup, let found = await readUnsettled() else { return }
        let own = found.stories.filter { setup.serves($0) }
        told = told.filter { entry in own.contains { $0.name.payment == entry.key } }
        plight.refused = plight.refused.filter { told[$0.key] != nil }
        // Whoever was told of least often comes first, so that one without an end holds back no other.
        var queue = own.enumerated().sorted { one, other in
            (told[one.element.name.payment] ?? 0, one.offset) < (told[other.element.name.payment] ?? 0, other.offset)
        }.map(\.element)[...]
        while !queue.isEmpty, !Task.isCancelled {
            let batch = Array(queue.prefix(uploadSize))
            queue = queue.dropFirst(batch.count)
            for story in batch { told[story.name.payment, default: 0] += 1 }
            // Nothing is taken offline by a terminal that does not know the time.
            switch await setup.acquirer.synchronise(batch.compactMap(\.bundle), isClockSet: true) {
            case .answers(let answers):
                await note(online: true)
                uploadSize = min(uploadSize * 2, uploadLimit)
                for answer in answers { await take(answer, in: batch, setup) }
            case .refused(let code):
                await note(.refused)
                refused(batch, code)
                // Again in smaller parts: the others may be taken without the one that is not.
                if batch.count > 1 { queue = batch[...] + queue }

            case .notNow(let code):
                await note(.refused)
                return logger.warning(
                    "the acquirer does not take what was taken offline now; it is told again",
                    metadata: ["code": "\(Reason.clean(code))", "payments": "\(own.count)"]
                )
            case .noAnswer, .unreachable:
                await note(online: false)
                // Should one payment be what makes it fall silent, it is alone some time.
                uploadSize = max(1, batch.count / 2)
                return
            }
        }
        await changed()
    }

    private func take(_ answer: TapSyncAnswer, in batch: [TapStory], _ setup: Setup) async {
        guard let story = batch.first(where: { $0.name.payment == answer.paymentID }) else { return }
        plight.refused[answer.paymentID] = nil
        guard let sale = await sale(of: story, setup) else {
            return logger.error(
                "the acquirer's answer to a payment taken offline cannot be booked yet; it is asked for again",
                metadata: ["payment": "\(answer.paymentID)"]
            )
        }
        await sale.take(answer)
    }

    private func refused(_ batch: [TapStory], _ code: String) {
        guard let story = batch.first, batch.count == 1 else { return uploadSize = max(1, batch.count / 2) }
        let payment = story.name.payment
        if plight.refused[payment] != code {
            logger.error(
                "the acquirer does not take a payment that was taken offline: its money is not booked",
                metadata: ["payment": "\(payment)", "code": "\(Reason.clean(code))"]
            )
        }
        plight.refused[payment] = code
    }

    /// The sale of a story, also where nobody follows it any more.
    private func sale(of story: TapStory, _ setup: Setup) async -> TapSale? {
        if let known = sales[story.name.payment] { return known }
        guard let attempt = await reach?(story.name.charge, story.name.attempt) else { return nil }
        do throws(JournalError) { return try await sale(for: attempt, makes: false) } catch { return nil }
    }
}

/// What stands in the way of money that was taken offline, besides a missing network.
struct OfflinePlight: Sendable, Equatable {
    /// Names of payments that cannot be read.
    var unreadable: [String] = []
    /// Payments that the acquirer does not take, with its word for it.
    var refused: [PaymentID: String] = [:]
    /// Payments of another acquirer or merchant than the one that is set.
    var elsewhere = 0

    var reasons: [Reason] {
        var reasons: [Reason] = []
        if !unreadable.isEmpty {
            reasons.append(
                Reason(
                    code: "offline_unreadable",
                    message:
                        "\(Self.payments(unreadable.count)) taken offline cannot be read from the storage. The acquirer "
                        + "is not told, so that money may not come.",
                    action:
                        "Compare the day with the acquirer and call for help. Nothing more is taken offline until then."
                )
            )
        }
        for (payment, code) in refused.sorted(by: { $0.key.description < $1.key.description }).prefix(5) {
            reasons.append(
                Reason(
                    code: "offline_refused",
                    message: "The acquirer does not take payment \(payment), which was taken offline "
                        + "(\(Reason.clean(code))). Its money is not booked.",
                    action: "Ask the acquirer about this payment. The terminal goes on telling it."
                )
            )
        }
        if elsewhere > 0 {
            reasons.append(
                Reason(
                    code: "offline_elsewhere",
                    message:
                        "\(Self.payments(elsewhere)) taken offline at another acquirer, or with another login, than the one "
                        + "in the settings. That money is not booked.",
                    action: "Set that acquirer and its login again until nothing waits any more."
                )
            )
        }
        return reasons
    }

    private static func payments(_ count: Int) -> String { count == 1 ? "1 payment" : "\(count) payments" }
}
