import Payments
import Terminal
import WebServer
import WiFi

/// Which Wi-Fi the terminal is in, for the owner and managers.
extension Console {
    func networkAnswer(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let network else {
            guard pass.route == .network else { throw Problem(409, NetworkRules.notManaged) }
            return .json(
                JSON.object(["state": .string("unavailable"), "reason": .reason(NetworkRules.notManaged)]).text
            )
        }
        switch pass.route {
        case .scanNetworks:
            try requireEmptyForm(pass)
            try await change("network.scan", "", pass) { () throws(NetworkRefusal) in try await network.scan() }
        case .joinNetwork:
            let (wish, passphrase) = try Self.networkWish(pass)
            try await change("network", "", pass) { () throws(NetworkRefusal) in
                try await network.join(wish, passphrase: passphrase, by: pass.who)
            }
            return .json(await networkState(network).text, status: 202)
        case .leaveNetwork:
            try requireEmptyForm(pass)
            try await change("network.leave", "", pass) { () throws(NetworkRefusal) in try await network.leave() }
        case .forgetNetwork(let code):
            try requireEmptyForm(pass)
            guard let id = WiFiNetwork.ID(code: code) else { throw .notFound }
            try await change("network.forget", id.name.shown, pass) { () throws(NetworkRefusal) in
                try await network.forget(id)
            }
        default: break
        }
        return .json(await networkState(network).text)
    }

    /// Does it, and notes in the audit log what changed, and what was refused.
    private func change(
        _ what: String,
        _ detail: String,
        _ pass: Gate.Pass,
        _ body: () async throws(NetworkRefusal) -> Void
    ) async throws(Problem) {
        do throws(NetworkRefusal) { try await body() } catch {
            let reason = NetworkRules.reason(error)
            await entrance.audit(what, "refused", reason.code, by: pass.who, from: pass.request.peerAddress)
            switch error {
            case .failed(.unavailable, _), .failed(.tooSlow, _), .failed(.interrupted, _), .failed(.refused, _):
                throw Problem(503, reason)
            default: throw Problem(409, reason)
            }
        }
        // What became of a joining is noted when it is known; listening changes nothing.
        guard pass.route == .leaveNetwork || what == "network.forget" else { return }
        await entrance.audit(what, "ok", detail, by: pass.who, from: pass.request.peerAddress)
    }

    private static func networkWish(_ pass: Gate.Pass) throws(Problem) -> (NetworkDesk.Wish, Passphrase?) {
        var form = try Form(pass.request.body)
        let code = form.optionalText("network", limit: 80)
        let name = form.optionalText("name", limit: 32)
        let typed = form.optionalText("passphrase", limit: 100) ?? ""
        try form.finish()
        let passphrase = Passphrase(typed)
        guard typed.isEmpty || passphrase != nil else { throw .field("passphrase", passphraseUnfit) }
        if let code {
            guard name == nil, let id = WiFiNetwork.ID(code: code) else {
                throw .field("network", NetworkRules.notHeard)
            }
            return (.heard(id), passphrase)
        }
        guard let name = name.flatMap(WiFiName.init) else { throw .field("name", nameUnfit) }
        return (.hidden(name), passphrase)
    }

    private static let passphraseUnfit = Reason(
        code: "wifi_passphrase_unfit",
        message: "A passphrase has 8 to 63 letters, digits and signs, without accents.",
        action: "Type it as it stands on the router."
    )
    private static let nameUnfit = Reason(
        code: "wifi_name_unfit",
        message: "The name of a network has 1 to 32 letters, fewer where they have accents.",
        action: "Type it as it stands on the router."
    )
    private func networkState(_ network: NetworkDesk) async -> JSON {
        let view = await network.view()
        var parts: [String: JSON] = [
            "attempt": view.attempt.map(Self.attempt) ?? .null, "chargeOpen": .bool(view.isChargeOpen),
            "known": .array(
                view.known.map { known in
                    let isHeard = view.networks.contains { $0.id == known.id }
                    return .object(
                        Self.parts(of: known.id).merging(["hidden": .bool(known.isHidden), "heard": .bool(isHeard)]) {
                            $1
                        }
                    )
                }
            ),
        ]
        switch view.state {
        case .unavailable(let reason):
            parts["state"] = .string("unavailable")
            parts["reason"] = .reason(NetworkRules.reason(reason))
        case .ready(let station):
            parts["state"] = .string("ready")
            parts["scanning"] = .bool(station.isScanning)
            parts["addresses"] = .array(view.addresses.map(JSON.string))
            // Where the page is once this network is left.
            parts["pages"] = .array(pageAddresses.map(JSON.string))
            parts["networks"] = .array(view.networks.map(Self.row))
            switch station.link {
            case .none: parts["link"] = .string("none")
            case .joining(let id):
                parts["link"] = .string("joining")
                parts["network"] = id.map { .object(Self.parts(of: $0)) } ?? .null
            case .joined(let id):
                parts["link"] = .string("joined")
                parts["network"] = id.map { .object(Self.parts(of: $0)) } ?? .null
            }
        }
        return .object(parts)
    }

    private static func attempt(_ attempt: NetworkDesk.Attempt) -> JSON {
        .object([
            "name": .string(attempt.name.shown), "stage": .string(attempt.stage.rawValue),
            "reason": .reason(attempt.reason),
        ])
    }

    private static func parts(of id: WiFiNetwork.ID) -> [String: JSON] {
        ["id": .string(id.code), "name": .string(id.name.shown), "security": .string(id.security.rawValue)]
    }

    private static func row(_ network: WiFiNetwork) -> JSON {
        .object(
            parts(of: network.id).merging([
                "bars": .integer(Int64(NetworkRules.bars(strengthDBm: network.strengthDBm))),
                "strengthDBm": .integer(Int64(network.strengthDBm)), "known": .bool(network.isKnown),
                "joined": .bool(network.isJoined), "supported": .bool(network.id.security.isSupported),
            ]) { $1 }
        )
    }
}
