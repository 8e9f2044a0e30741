import Payments
import Terminal
import WebServer

/// What the page may see and change about wallets over the relay.
extension Console {
    func connectResponse() async throws(Problem) -> WebResponse {
        guard let wallets, let stored = await wallets.current else { throw .notFound }
        let status = await wallets.station.status
        let set = stored.settings
        return .json(
            JSON.object(
                [
                    "enabled": .bool(set.isEnabled), "relayURL": .string(set.relayURL),
                    "projectID": .string(set.projectID), "chains": .string(set.chains.joined(separator: ", ")),
                    "oneCode": .bool(set.usesOneCode), "light": .connectLight(status.light),
                    "counts": Self.counts(status.counts), "version": .integer(Int64(stored.version)),
                ].merging(await changed("connect")) { own, _ in own }
            ).text
        )
    }

    private static func counts(_ counts: ConnectStatus.Counts) -> JSON {
        func number(_ value: Int) -> JSON { .integer(Int64(value)) }
        return JSON.object([
            "connections": number(counts.connections), "failedConnections": number(counts.failedConnections),
            "published": number(counts.published), "received": number(counts.received),
            "pairings": number(counts.pairings), "sessions": number(counts.sessions),
            "refusals": number(counts.refusals), "signatures": number(counts.signatures),
            "lateAnswers": number(counts.lateAnswers),
        ])
    }

    func saveConnect(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let wallets, let current = await wallets.current else { throw .notFound }
        let (form, version) = try Self.connectForm(pass)
        if let version, version != Int64(current.version) { throw Self.problem(SettingsError.conflict) }
        do throws(SettingsError) {
            _ = try await wallets.save(form, replacing: current.version, by: pass.who)
        } catch {
            await entrance.audit("connect", "refused", "", by: pass.who, from: pass.request.peerAddress)
            throw Self.problem(error)
        }
        await settings.railsChanged()
        await entrance.audit("connect", "ok", "", by: pass.who, from: pass.request.peerAddress)
        return try await connectResponse()
    }

    static func connectForm(_ pass: Gate.Pass) throws(Problem) -> (ConnectForm, version: Int64?) {
        var fields = try Form(pass.body)
        var form = ConnectForm()
        form.isEnabled = fields.bool("enabled")
        form.relayURL = fields.optionalText("relayURL", limit: 300)
        form.projectID = fields.optionalText("projectID", limit: 100)
        form.chains = fields.optionalText("chains", limit: 2000)
        form.usesOneCode = fields.bool("oneCode")
        let version = fields.integer("version")
        try fields.finish()
        return (form, version)
    }

    /// Lets the terminal forget its wallets.
    func forgetConnect(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let wallets else { throw .notFound }
        do throws(ConnectForgetError) { try await wallets.forgetEverything() } catch {
            await entrance.audit("connect.forget", "refused", "", by: pass.who, from: pass.request.peerAddress)
            throw Problem(error == .inUse ? 409 : 503, error.reason)
        }
        await entrance.audit("connect.forget", "ok", "", by: pass.who, from: pass.request.peerAddress)
        return try await connectResponse()
    }

    /// Turns the screen's code from one kind of wallets to the other.
    func turnCode(_ id: ChargeID, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var fields = try Form(pass.request.body)
        let kind = fields.text("code", limit: 20)
        try fields.finish()
        guard let choice = ChargeSnapshot.CodeChoice(rawValue: kind), choice != .both else {
            throw .field(
                "code",
                Reason(
                    code: "choice_unknown",
                    message: "The terminal does not know this code.",
                    action: "Choose payment or pairing."
                )
            )
        }
        // With a form open there is no code for wallets: the one that has it is let go.
        if choice == .pairing { await wallets?.station.endForm(of: id) }
        return try await charge { () throws(ChargeRefusal) in
            try await desk.turnCode(of: id, toPairing: choice == .pairing)
        }
    }
}

extension JSON {
    static func connectLight(_ light: ConnectStatus.Light) -> JSON {
        let (state, reason): (String, Reason?) =
            switch light {
            case .off: ("off", nil)
            case .connecting: ("connecting", nil)
            case .ready: ("ready", nil)
            case .hindered(let reason): ("hindered", reason)
            }
        let parts = reason.map(parts) ?? ["message": .null, "action": .null]
        return .object(parts.merging(["state": .string(state)]) { _, state in state })
    }

    /// The wallet that pays a charge, for staff. Never its pairing: that is a key.
    static func connect(_ snapshot: ChargeSnapshot) -> JSON {
        guard snapshot.isPayable || snapshot.charge.isClaimed, let connect = snapshot.connect else { return .null }
        let hasBoth = snapshot.codeChoice != .both && snapshot.paymentLink != nil && snapshot.pairingURI != nil
        // With a form open the code is never a pairing; turned to one, the wallet is let go.
        let hasForm = snapshot.isPayable && connect.step == .form
        let choice = hasForm ? .payment : snapshot.codeChoice
        return .object([
            "step": .string(connect.step.rawValue), "wallet": .optional(connect.wallet),
            "trouble": .reason(connect.trouble), "canTurnCode": .bool(hasBoth || hasForm),
            "code": .string(choice.rawValue),
        ])
    }
}
