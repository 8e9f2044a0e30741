import Payments
import Terminal
import WebServer

/// What the page may see and change about Tap.
extension Console {
    func tapsResponse() async throws(Problem) -> WebResponse {
        guard let taps, let stored = await taps.current else { throw .notFound }
        let status = await taps.station.status
        let set = stored.settings
        let tag = await taps.shownTag
        let calibrations = await taps.calibrations
        return .json(
            JSON.object(
                [
                    "enabled": .bool(set.isEnabled), "mode": .string(set.mode.rawValue),
                    "acquirerURL": .string(set.acquirerURL), "acquirerLogin": .string(set.acquirerLogin),
                    "acquirerPasswordSet": .bool(stored.hasPassword), "terminalID": .string(set.terminalID),
                    "walletProjectID": .string(set.walletProjectID), "appLink": .string(set.appLink),
                    "serviceUUID": .string(set.serviceText), "writeUUID": .string(set.writeText),
                    "statusUUID": .string(set.statusText), "readUUID": .string(set.readText),
                    "acceptUnknownSignal": .bool(set.acceptsUnknownSignal),
                    "tapThreshold": .integer(Int64(set.thresholds.tap)),
                    "nearThreshold": .integer(Int64(set.thresholds.near)),
                    "openThreshold": .integer(Int64(set.thresholds.open)),
                    "taggedThreshold": .integer(Int64(set.thresholds.tagged)),
                    "tipMode": .string(set.tips.mode.rawValue),
                    "tipMaximumPercent": .integer(Int64(set.tips.maximumPercent)),
                    "tipPresets": .string(set.tips.presetsPercent.map(String.init).joined(separator: ", ")),
                    "offlineAllowed": .bool(set.offline.isAllowed),
                    "offlineFloorMinor": .integer(set.offline.floorMinorUnits),
                    "offlineTotalMinor": .integer(set.offline.totalMinorUnits),
                    "offlineHours": .integer(Int64(set.offline.maximumHours)),
                    "shortCodeAboveMinor": .integer(set.shortCodeAboveMinorUnits ?? 0),
                    "times": Self.times(set.timers),
                    "light": Self.light(status.light), "waiting": .integer(Int64(status.waiting)),
                    "notices": .array(status.notices.map { JSON.reason($0) }),
                    "tagURI": .optional(tag?.uri), "tagCode": .array((tag?.code ?? []).map(JSON.string)),
                    "calibrations": .object(calibrations.mapValues(Self.kept)),
                    "version": .integer(Int64(stored.version)),
                ].merging(await changed("tap")) { own, _ in own }
            ).text
        )
    }

    private static func times(_ timers: TapTimers) -> JSON {
        var times: [String: JSON] = [:]
        for time in timers.list {
            times[time.name] = .object([
                "milliseconds": .integer(time.milliseconds), "usual": .integer(time.usual),
                "least": .integer(time.bounds.lowerBound), "most": .integer(time.bounds.upperBound),
            ])
        }
        return .object(times)
    }

    private static func light(_ light: TapStatus.Light) -> JSON {
        switch light {
        case .off: JSON.object(["state": .string("off"), "message": .null, "action": .null])
        case .ready: JSON.object(["state": .string("ready"), "message": .null, "action": .null])
        case .hindered(let reason):
            JSON.object(JSON.parts(of: reason).merging(["state": .string("hindered")]) { _, state in state })
        }
    }

    func saveTaps(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let taps, let current = await taps.current else { throw .notFound }
        let (form, password, version) = try Self.tapForm(pass)
        if let version, version != Int64(current.version) { throw Self.problem(SettingsError.conflict) }
        let sendsMoneyElsewhere =
            await taps.movesPayments(form) || form.acquirerPassword?.isEmpty == false
        let raisesRisk = await taps.raisesRisk(form)
        if sendsMoneyElsewhere, current.version > 0 {
            try await requirePassword(password, because: Self.sendsMoneyElsewhere, of: pass)
        } else if pass.part == nil, sendsMoneyElsewhere || raisesRisk {
            // The first acquirer is somewhere else too. Whoever has just signed in, as in the set-up, is not asked again; nor is who
            // brings a settings file in, with the password.
            if let password, !password.isEmpty {
                try await requirePassword(password, because: Self.sendsMoneyElsewhere, of: pass)
            } else {
                try requireProof(pass)
            }
        }
        do throws(SettingsError) {
            _ = try await taps.save(form, replacing: current.version, by: pass.who)
        } catch {
            await entrance.audit("taps", "refused", "", by: pass.who, from: pass.request.peerAddress)
            throw Self.problem(error)
        }
        await settings.railsChanged()
        await entrance.audit("taps", "ok", "", by: pass.who, from: pass.request.peerAddress)
        return try await tapsResponse()
    }

    static func tapForm(_ pass: Gate.Pass) throws(Problem) -> (
        TapForm, password: String?, version: Int64?
    ) {
        var fields = try Form(pass.body)
        var form = TapForm()
        form.isEnabled = fields.bool("enabled")
        form.mode = fields.optionalText("mode", limit: 20)
        form.acquirerURL = fields.optionalText("acquirerURL", limit: 500)
        form.acquirerLogin = fields.optionalText("acquirerLogin", limit: 300)
        form.acquirerPassword = fields.optionalText("acquirerPassword", limit: 500)
        form.terminalID = fields.optionalText("terminalID", limit: 100)
        form.serviceUUID = fields.optionalText("serviceUUID", limit: 40)
        form.writeUUID = fields.optionalText("writeUUID", limit: 40)
        form.statusUUID = fields.optionalText("statusUUID", limit: 40)
        form.readUUID = fields.optionalText("readUUID", limit: 40)
        form.appLink = fields.optionalText("appLink", limit: 300)
        form.walletProjectID = fields.optionalText("walletProjectID", limit: 100)
        form.acceptsUnknownSignal = fields.bool("acceptUnknownSignal")
        form.tapThreshold = fields.integer("tapThreshold")
        form.nearThreshold = fields.integer("nearThreshold")
        form.openThreshold = fields.integer("openThreshold")
        form.taggedThreshold = fields.integer("taggedThreshold")
        form.tipMode = fields.optionalText("tipMode", limit: 20)
        form.tipMaximumPercent = fields.integer("tipMaximumPercent")
        form.tipPresets = fields.optionalText("tipPresets", limit: 100)
        form.isOfflineAllowed = fields.bool("offlineAllowed")
        form.offlineFloorMinor = fields.integer("offlineFloorMinor")
        form.offlineTotalMinor = fields.integer("offlineTotalMinor")
        form.offlineHours = fields.integer("offlineHours")
        form.shortCodeAboveMinor = fields.integer("shortCodeAboveMinor")
        form.times = fields.integers("times")
        form.renewsTag = fields.bool("renewTag")
        let password = fields.optionalText("password", limit: 1000)
        let version = fields.integer("version")
        try fields.finish()
        return (form, password, version)
    }

    func takeBack(_ id: ChargeID, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let taps else { throw .notFound }
        // A charge that is not there is not one of which nothing was paid.
        _ = try await charge { () throws(ChargeRefusal) in try await desk.charge(id) }
        do throws(TakeBackRefusal) {
            try await desk.takeBack(id, by: taps.station)
        } catch {
            await entrance.audit(
                "charge.take-back",
                "refused",
                id.rawValue,
                by: pass.who,
                from: pass.request.peerAddress
            )
            let reason = error.reason
            let status =
                switch error {
                case .unclear, .unrecorded: 503
                default: 409
                }
            throw Problem(status, reason)
        }
        await entrance.audit("charge.take-back", "ok", id.rawValue, by: pass.who, from: pass.request.peerAddress)
        return try await charge { () throws(ChargeRefusal) in try await desk.charge(id) }
    }
}
