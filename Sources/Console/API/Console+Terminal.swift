import Payments
import Terminal
import WebServer

/// How the terminal stands, for programs that drive it and for those that watch it.
extension Console {
    func terminalResponse() async -> WebResponse {
        let snapshot = await desk.snapshot
        let set = await settings.current?.settings
        let blocked = Self.blocked(snapshot, isSetUp: set != nil)
        // Taken it would be, and nothing of it would leave: whoever drives the terminal waits, or asks for other money.
        let unsent = blocked == nil ? Self.unsent(snapshot) : nil
        let format = await desk.format
        var charge = JSON.null
        if case .charging(let shown) = snapshot.phase {
            charge = .object([
                "id": .string(shown.id.rawValue), "code": .string(shown.charge.terms.code.rawValue),
                "state": .string(shown.charge.state.rawValue), "unresolved": .bool(shown.isUnresolved),
                "holdsTerminal": .bool(shown.charge.holdsTerminal),
            ])
        }
        return .json(
            JSON.object([
                "ready": .bool(blocked == nil && snapshot.trouble == nil && unsent == nil),
                "reason": .reason(snapshot.trouble ?? blocked?.reason(format: format) ?? unsent),
                "merchantName": .optional(set?.merchantName), "currency": .optional(set?.currency.code),
                "currencyExponent": .optional(set?.currency.exponent), "locale": .optional(set?.locale),
                "rails": .object([
                    "scan": .gateway(snapshot), "tap": .tap(snapshot.tap.light),
                    "connect": .wallets(snapshot.connect.light),
                ]),
                "charge": charge, "message": .optional(snapshot.message?.id), "version": .string(about.version),
                "api": .string("1"), "at": .time(snapshot.at),
            ]).text
        )
    }

    /// Why a new charge would be refused just now, whatever its amount; nil where it would not.
    private static func blocked(_ snapshot: TerminalSnapshot, isSetUp: Bool) -> ChargeRefusal? {
        if snapshot.update?.holdsTerminal == true { return .updating }
        switch snapshot.phase {
        case .starting(let checking): return .notReady(checking: checking)
        case .unclaimed, .setup: return .notSetUp
        case .idle, .resetting: return isSetUp ? nil : .notSetUp
        case .charging(let charge): return charge.charge.holdsTerminal ? .busy(charge.id) : nil
        }
    }

    /// Why a new charge would be taken and not sent; nil where one would be sent, or could be paid by a phone.
    private static func unsent(_ snapshot: TerminalSnapshot) -> Reason? {
        if case .ready = snapshot.tap.light { return nil }
        switch snapshot.gateway {
        case .paused: return snapshot.gatewayPause
        case .clock: return .gatewayClock
        case .unknown, .ready, .unreachable, .refused: return nil
        }
    }

    func diagnosisResponse() async -> WebResponse {
        let snapshot = await desk.snapshot
        let standing = await desk.standing
        let storage = about.storage
        let now = clock.wallTime()
        return .json(
            JSON.object([
                "version": .string(about.version), "api": .string("1"), "at": .time(now),
                "startedAt": .time(startedAt),
                "uptimeSeconds": .integer(max(0, startedAt.duration(to: now).components.seconds)),
                "address": .string(address), "addresses": .array(about.addresses().map(JSON.string)),
                "fingerprint": .string(about.fingerprint), "gateway": .gateway(snapshot),
                "tap": .tap(snapshot.tap.light), "wallets": .wallets(snapshot.connect.light),
                "notices": .array(snapshot.tap.notices.map { .reason($0) }),
                "storage": .object([
                    "trouble": .reason(snapshot.trouble), "freeBytes": storage.map { .integer($0.free) } ?? .null,
                    "wholeBytes": storage.map { .integer($0.whole) } ?? .null,
                ]),
                "clockIsSet": about.clockIsSet().map(JSON.bool) ?? .null,
                "payments": .object([
                    "open": .integer(Int64(standing.open)), "unknown": .integer(Int64(standing.unknown)),
                    "promised": .integer(Int64(standing.promised)),
                    "unsentOffline": .integer(Int64(snapshot.tap.waiting)),
                    "unseen": .integer(Int64(snapshot.notices.count)),
                ]),
                "memoryBytes": .optional(ProcessMeasures().residentBytes),
            ]).text
        )
    }
}

extension JSON {
    private static func light(_ state: String, _ reason: Reason? = nil) -> JSON {
        .object(["state": .string(state), "reason": .reason(reason)])
    }

    fileprivate static func gateway(_ snapshot: TerminalSnapshot) -> JSON {
        switch snapshot.gateway {
        case .unknown: self.light("connecting")
        case .ready: self.light("ready")
        case .unreachable:
            self.light(
                "hindered",
                Reason(
                    code: "gateway_unreachable",
                    message: "The gateway did not answer the last question, so nobody can pay by scanning.",
                    action: "Check the shop's internet connection. The terminal keeps trying."
                )
            )
        case .clock: self.light("hindered", .gatewayClock)
        case .paused: self.light("hindered", snapshot.gatewayPause)
        case .refused:
            self.light(
                "hindered",
                Reason(
                    code: "gateway_refused",
                    message: "The gateway does not accept the key or the merchant ID, so nobody can pay by scanning.",
                    action: "Ask the owner to check them in the settings."
                )
            )
        }
    }

    fileprivate static func tap(_ light: TapStatus.Light) -> JSON {
        switch light {
        case .off: self.light("off")
        case .ready: self.light("ready")
        case .hindered(let reason): self.light("hindered", reason)
        }
    }

    fileprivate static func wallets(_ light: ConnectStatus.Light) -> JSON {
        switch light {
        case .off: self.light("off")
        case .connecting: self.light("connecting")
        case .ready: self.light("ready")
        case .hindered(let reason): self.light("hindered", reason)
        }
    }
}
