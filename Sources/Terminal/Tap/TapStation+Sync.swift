import Logging
import Payments
import TapProtocol

/// What was taken while nobody could be asked: kept, shown, and told to the acquirer, oldest first.
/// Source: BPP/1, section 16.3.
extension TapStation {
    /// What the terminal risks on vouchers, and has taken of them.
    func voucherBook() async -> VoucherBook {
        if let book { return book }
        let offline = setup?.settings.offline
        var made = VoucherBook(
            floor: Int(clamping: offline?.floorMinorUnits ?? 0),
            merchantLimit: Int(clamping: offline?.totalMinorUnits ?? 0),
            maximumOfflineAge: .seconds(3600 * (offline?.maximumHours ?? 0)),
            lastOnlineMilliseconds: lastOnline.map { Int($0.millisecondsSince1970) },
            isClockSet: isClockSet && offline?.isAllowed == true
        )
        do throws(JournalError) {
            for (pass, entry) in try await archive.spends() { made.learn(passID: pass, entry: entry) }
            for story in try await archive.unsettled() {
                if let accept = story.accepted?.accept { made.take(accept) }
            }
        } catch {
            // A terminal that does not remember what it took takes nothing more.
            logger.critical("the journal does not say what was taken offline", metadata: ["error": "\(error)"])
            made.isClockSet = false
            return made
        }
        book = made
        return made
    }

    func queueChanged() async {
        book = nil
        waiting = (try? await archive.unsettled().count) ?? waiting
        await changed()
    }

    /// Tells the acquirer of everything that was taken offline, again after longer and longer pauses.
    func synchronise() async {
        await queueChanged()
        var pause = Duration.seconds(5)
        while !Task.isCancelled {
            let changes = changesFromNow()
            if waiting == 0 || setup == nil {
                for await _ in changes where waiting > 0 && setup != nil { break }
                pause = .seconds(5)
                if Task.isCancelled { return }
            }
            let before = waiting
            await synchroniseOnce()
            if waiting < before { pause = .seconds(5) }
            guard waiting > 0 else { continue }
            do { try await clock.sleep(pause) } catch { return }
            pause = min(pause * 2, .seconds(600))
        }
    }

    /// One upload. What another acquirer is owed stays until that one is set again.
    func synchroniseOnce() async {
        guard let setup, let stories = try? await archive.unsettled() else { return }
        let own = stories.filter { $0.acquirerURL == setup.acquirer.url }
        let bundles = own.compactMap(\.bundle).prefix(Self.uploadLimit)
        guard !bundles.isEmpty else { return }
        guard let answers = await setup.acquirer.synchronise(Array(bundles), isClockSet: isClockSet) else {
            isReachable = false
            return
        }
        await note(.unknownPayment)
        for answer in answers {
            guard let story = own.first(where: { $0.name.payment == answer.paymentID }) else { continue }
            await sale(of: story, setup)?.take(answer)
        }
    }

    static let uploadLimit = 16

    /// The sale of a story, also where nobody follows it any more.
    private func sale(of story: TapStory, _ setup: Setup) async -> TapSale? {
        if let known = sales[story.name.payment] { return known }
        guard let attempt = await reach?(story.name.charge, story.name.attempt) else { return nil }
        return try? await sale(for: attempt, makes: false)
    }
}

extension TapStation {
    /// Takes what an exchange that was not about a payment said of the acquirer.
    public func note(online isOnline: Bool) async { await note(isOnline ? .unknownPayment : .unreachable(reason: "")) }
}
