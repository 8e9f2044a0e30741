import Logging
import Payments
import TapProtocol

/// Looking for phones, and connecting to one at a time.
extension TapStation {
    func watchRadio() async {
        for await health in radio.health {
            radioHealth = health
            // The radio's own word is newer than what a scan met before it.
            scanFault = nil
            await changed()
        }
    }

    /// Looks for phones while somebody wants one.
    func seek() async {
        while !Task.isCancelled {
            guard await wantsPhones else {
                // Nobody scans, so nobody would find out that it works again.
                if scanFault != nil {
                    scanFault = nil
                    await changed()
                }
                let changes = changesFromNow()
                if await wantsPhones { continue }
                for await _ in changes { break }
                continue
            }
            do {
                let phone = try await nextPhone()
                // A while in which nobody is heard says little: the next start of a scan may just be failing.
                if let fault = scanFault, phone != nil || clock.elapsed() > fault.at + Self.scanFaultHolds {
                    scanFault = nil
                    await changed()
                }
                if let phone { await connect(to: phone) }
            } catch is CancellationError {
                return
            } catch {
                scanFault = (Reason.clean("\(error)"), clock.elapsed())
                await changed()
                do { try await clock.sleep(.seconds(2)) } catch { return }
            }
        }
    }

    /// Longer than the radio takes over a start of a scan that nobody answers.
    private static let scanFaultHolds = Duration.seconds(10)

    /// Whether a phone that is found now would be asked.
    var wantsPhones: Bool {
        get async {
            guard let setup, setup.settings.isEnabled, linked.count < maximumLinks(setup) else { return false }
            lost = lost.filter { $0.value.until > clock.elapsed() }
            if !lost.isEmpty { return true }
            for sale in sales.values where await sale.wantsPhones { return true }
            return false
        }
    }

    private func maximumLinks(_ setup: Setup) -> Int {
        min(gate?.maximumLinks(at: clock.elapsed()) ?? Self.maximumLinks, Self.maximumLinks)
    }

    /// Scans until a phone passes the gate, nobody wants one any more, or the scan has lasted long enough.
    private func nextPhone() async throws -> TapSighting.PhoneAddress? {
        guard let setup else { return nil }
        let settings = setup.settings
        let tags = await tags(setup)
        var gate =
            gate
            ?? ProximityGate(
                mode: settings.mode,
                thresholds: settings.thresholds,
                service: settings.characteristics.service,
                tag: setup.tag?.advertisedService,
                acceptsUnknownSignal: settings.acceptsUnknownSignal
            )
        gate.look(for: tags)
        // Where phones have failed there may be a crowd: whoever is heard first is not whoever is nearest.
        let isCrowd = tried.values.contains { $0.link.failures > 0 }
        listensUntil = isCrowd ? max(clock.elapsed(), restsUntil) + timers.listen : .zero
        if !isCrowd, let phone = choose(&gate) { return phone }
        let services = gate.services
        self.gate = gate
        return try await withThrowingTaskGroup(of: TapSighting.PhoneAddress?.self) { group in
            group.addTask {
                try await self.rest()
                for try await sighting in self.radio.sightings(of: services) {
                    if let phone = await self.see(sighting) { return phone }
                }
                try Task.checkCancellation()
                // A scan that ends by itself is begun again, after a moment.
                try await self.clock.sleep(.milliseconds(500))
                return nil
            }
            group.addTask {
                try await self.rest()
                if isCrowd {
                    // Some radios report each phone once: nothing may come after the listening.
                    try await self.clock.sleep(self.timers.listen)
                    if let phone = await self.heard() { return phone }
                }
                try await self.clock.sleep(self.timers.scan)
                return nil
            }
            group.addTask {
                for await _ in await self.changesFromNow() where await !self.wantsPhones { return nil }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// The sticker's tag, and that of each charge which a phone may come to, or come back to.
    private func tags(_ setup: Setup) async -> [ServiceUUID] {
        var tags = [setup.tag?.advertisedService].compactMap(\.self)
        for sale in sales.values {
            let isAwaited = lost.values.contains { $0.payment == sale.name.payment }
            guard await !sale.isOver || isAwaited, let tag = sale.tag.advertisedService else { continue }
            tags.append(tag)
        }
        return tags
    }

    /// Leaves the radio to the phone that was just asked. Phones that were heard before are asked meanwhile.
    private func rest() async throws {
        while restsUntil > clock.elapsed() { try await clock.sleep(restsUntil - clock.elapsed()) }
    }

    private func see(_ sighting: TapSighting) -> TapSighting.PhoneAddress? {
        guard var gate else { return nil }
        gate.see(sighting)
        lastHeard = clock.wallTime()
        defer { self.gate = gate }
        return clock.elapsed() < listensUntil ? nil : choose(&gate)
    }

    private func heard() -> TapSighting.PhoneAddress? {
        guard var gate else { return nil }
        defer { self.gate = gate }
        return choose(&gate)
    }

    /// The phone to try now: the nearest, where each failure makes a phone count as somewhat further away. So a near customer
    /// whose link could not be made comes before strangers at the back, and a phone that only fails lets others have their turn.
    private func choose(_ gate: inout ProximityGate) -> TapSighting.PhoneAddress? {
        let now = clock.elapsed()
        func failures(_ candidate: ProximityGate.Candidate) -> Int { tried[candidate.address]?.link.failures ?? 0 }
        func nearness(_ candidate: ProximityGate.Candidate) -> Int {
            // A radio that knows no strengths knows none of any phone.
            (candidate.rssi ?? TapThresholds.range.lowerBound) - failures(candidate) * Self.failureCost
        }
        let waiting = gate.candidates(at: now).filter { candidate in
            guard linked[candidate.address] == nil else { return false }
            guard let tried = tried[candidate.address] else { return true }
            return tried.link.state == .seen && now >= tried.notBefore
        }
        // Whoever has just failed is not the next one while somebody else waits.
        let others = waiting.filter { $0.address != lastFailed }
        return (others.isEmpty ? waiting : others).max { one, other in
            (nearness(one), -failures(one)) < (nearness(other), -failures(other))
        }?.address
    }

    /// dB. Source: BPP/1, section 4.3: what a candidate may lose before it counts as gone.
    private static let failureCost = 10

    // MARK: - One phone

    /// Connects and answers the handshake; others wait for no longer than the time limits allow.
    private func connect(to address: TapSighting.PhoneAddress) async {
        guard let setup else { return }
        var phone = tried[address] ?? Tried()
        _ = phone.link.handle(.gate)
        tried[address] = phone
        // In other modes a phone advertises the service, and has read a tag all the same.
        let tag = setup.settings.mode == .tagged ? gate?.service(of: address) : setup.tag?.advertisedService
        let characteristics = setup.settings.characteristics
        do {
            let timers = timers
            // The radio keeps to these itself, and tries twice to end its search before, at two seconds each.
            let limit = timers.connect + timers.discover + timers.hello + .seconds(4)
            let connection = try await clock.within(limit) {
                try await self.radio.connect(address, characteristics: characteristics, timers: timers)
            }
            let link = TapLink(connection, address: address, timers: timers, clock: clock, logger: logger)
            linked[address] = link
            do throws(TapLink.Failure) {
                try await link.greet(
                    keys: setup.credentials.keys,
                    prologue: { hello in
                        Prologue(service: characteristics.service, tagID: hello.isTagged ? tag?.bytes : nil)
                    },
                    welcome: { hello, link in await self.welcome(hello, link, by: tag) }
                )
            } catch {
                linked[address] = nil
                lastFailed = error.isUnwanted ? nil : address
                return failed(address, isFinal: error.isUnwanted, "\(error)")
            }
            lastFailed = nil
            restsUntil = clock.elapsed() + timers.rest
            jobs.continuation.yield(.serve(link))
        } catch {
            lastFailed = address
            failed(address, isFinal: false, "\(error)")
        }
    }

    /// A phone is tried again after a while, three times at most; one that is not wanted, later.
    private func failed(_ address: TapSighting.PhoneAddress, isFinal: Bool, _ reason: String) {
        logger.debug("a phone was not asked", metadata: ["reason": "\(Reason.clean(reason))"])
        var phone = tried[address] ?? Tried()
        gate?.remove(address)
        if isFinal {
            phone.link = TerminalLink()
            phone.notBefore = clock.elapsed() + .seconds(5)
        } else {
            _ = phone.link.handle(.failed)
            for case .retry(let after) in phone.link.handle(.disconnected) {
                phone.notBefore = clock.elapsed() + after
            }
        }
        tried[address] = phone
    }

    /// Which payment a phone is asked for: the one that it left in the middle, else the one that waits. Somebody new is not
    /// asked for one that another customer is paying.
    /// - Parameter tag: By which it was found: that of a charge leads to this charge alone.
    private func welcome(
        _ hello: Hello,
        _ link: TapLink,
        by tag: ServiceUUID?
    ) async -> (owner: any TapLink.Owner, offer: TerminalOffer)? {
        let left = lost[hello.sessionID].flatMap { sales[$0.payment] }
        let isOfOneCharge = setup?.settings.mode == .tagged && tag != setup?.tag?.advertisedService
        var open: [TapSale] = []
        for sale in sales.values where await sale.isOpen(to: hello.sessionID) {
            if !isOfOneCharge || sale.tag.advertisedService == tag { open.append(sale) }
        }
        for sale in [left].compactMap(\.self) + open {
            guard let offer = await sale.admit(hello, link) else { continue }
            lost[hello.sessionID] = nil
            return (Visit(sale: sale, station: self), offer)
        }
        return nil
    }

    fileprivate func ended(_ link: TapLink, because reason: String, of sale: TapSale) async {
        linked[link.address] = nil
        // Whoever is gone needs no radio.
        if linked.isEmpty { restsUntil = .zero }
        if await sale.isOver {
            // The next charge may wait for this phone already: BlueZ takes seconds to end a link.
            gate?.remove(link.address)
            tried[link.address] = nil
        } else {
            let isOnlyLater = await link.isPhoneBusy
            failed(link.address, isFinal: await !sale.isOpen || isOnlyLater, reason)
        }
        await changed()
    }
}

/// One phone's visit to a sale: the sale hears what it says, the station when it is gone.
private struct Visit: TapLink.Owner {
    let sale: TapSale
    let station: TapStation

    func received(_ message: TapMessage, by link: TapLink) async { await sale.received(message, by: link) }

    func refused(_ code: TapErrorCode, answering number: Int, by link: TapLink) async {
        await sale.refused(code, answering: number, by: link)
    }

    func ended(_ link: TapLink, because reason: String) async {
        await sale.ended(link, because: reason)
        await station.ended(link, because: reason, of: sale)
    }
}

extension TapLink.Failure {
    var isUnwanted: Bool { if case .unwanted = self { true } else { false } }
}

extension TapSale {
    /// An accept that won stops the search.
    var wantsPhones: Bool { machine.state == .open && pending == nil && walletWinner == nil }

    /// Whether a phone is asked that is not looked for: a new one, or one that was here before.
    fileprivate func isOpen(to sessionID: [UInt8]) -> Bool {
        wantsPhones || isOpen && story.sessions[sessionID] != nil
    }
}
