import Crypto
import Foundation
import Payments
import Terminal
import WebServer

extension Console {
    /// Does what a request that passed the gate asks for.
    func answer(_ pass: Gate.Pass, _ request: WebRequest) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .session: return await sessionResponse(pass.token, pass.session)
        case .claim: return try await claim(request)
        case .signIn: return try await signIn(request)
        case .signOut:
            try requireEmptyForm(request)
            return await signOut(pass, request)
        case .changePassword: return try await changePassword(pass, request)
        case .startReset:
            try requireEmptyForm(request)
            try await entrance.startReset(from: request.peerAddress)
            return .json(JSON.object(["started": .bool(true)]).text, status: 202)
        case .finishReset: return try await finishReset(request)
        case .sessions: return sessionList(pass)
        case .endSession(let id):
            try requireEmptyForm(request)
            try await entrance.endSession(id, from: request.peerAddress)
            return sessionList(pass)
        case .endOtherSessions:
            try requireEmptyForm(request)
            if let session = pass.session {
                _ = try await entrance.endOthers(than: session, from: request.peerAddress)
            }
            return sessionList(pass)
        case .settings: return await settingsResponse()
        case .saveSettings: return try await saveSettings(request)
        case .testConnection: return try await testConnection(request)
        case .openCharge: return try await openCharge(request)
        case .history(let query): return try await historyResponse(query)
        case .totals(let span, let from, let to): return try await totalsResponse(span, from, to)
        case .export(let format, let query): return await exportResponse(format, query, request)
        case .currentCharge:
            guard case .charging(let charge) = await desk.snapshot.phase else { return WebResponse(status: 204) }
            return .json(JSON.charge(charge).text)
        case .charge(let id): return try await chargeResponse(id)
        case .cancel(let id):
            try requireEmptyForm(request)
            return try await audited("charge.cancel", id.rawValue, request) { () throws(ChargeRefusal) in
                try await desk.cancel(id, by: Self.staff)
            }
        case .release(let id):
            try requireEmptyForm(request)
            return try await audited("charge.release", id.rawValue, request) { () throws(ChargeRefusal) in
                try await desk.release(id, by: Self.staff)
            }
        case .markSeen(let id):
            try requireEmptyForm(request)
            return try await audited("charge.seen", id.rawValue, request) { () throws(ChargeRefusal) in
                try await desk.markSeen(id, by: Self.staff)
            }
        case .tokens: return await tokenList()
        case .makeToken: return try await makeToken(request)
        case .revokeToken(let id):
            try requireEmptyForm(request)
            return try await revokeToken(id, request)
        case .customers: return await customersResponse()
        case .saveCustomers: return try await saveCustomers(request)
        case .receipt(let id, let format): return try await receipt(id, format, request)
        case .printReceipt(let id):
            try requireEmptyForm(request)
            return try await printReceipt(id, request)
        case .receipts: return await receiptsResponse()
        case .saveReceipts: return try await saveReceipts(request)
        case .testReceipt:
            try requireEmptyForm(request)
            return try await testReceipt(request)
        case .taps: return try await tapsResponse()
        case .saveTaps: return try await saveTaps(request)
        case .connect: return try await connectResponse()
        case .saveConnect: return try await saveConnect(request)
        case .forgetConnect:
            try requireEmptyForm(request)
            return try await forgetConnect(request)
        case .turnCode(let id): return try await turnCode(id, request)
        case .calibration, .calibrate, .keepCalibration, .stopCalibration:
            return try await calibration(pass.route, request)
        case .takeBack(let id):
            try requireEmptyForm(request)
            return try await takeBack(id, request)
        case .events: return events(pass)
        case .days: return try await dayList()
        case .day(let day): return try await dayResponse(day)
        case .compareDay(let day):
            try requireEmptyForm(request)
            return try await compare(day, request)
        }
    }

    static let staff = Entrance.ownerActor

    func requireEmptyForm(_ request: WebRequest) throws(Problem) {
        var form = try Form(request.body.isEmpty ? Array("{}".utf8) : request.body)
        try form.finish()
    }

    // MARK: - Sessions

    private func claim(_ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let code = form.text("code", limit: 40)
        let password = form.text("password", limit: 1000)
        try form.finish()
        let (token, session) = try await entrance.claim(code: code, password: password, from: request.peerAddress)
        return await signedIn(token, session, status: 201)
    }

    private func signIn(_ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let password = form.text("password", limit: 1000)
        try form.finish()
        let (token, session) = try await entrance.signIn(password: password, from: request.peerAddress)
        return await signedIn(token, session, status: 200)
    }

    private func signOut(_ pass: Gate.Pass, _ request: WebRequest) async -> WebResponse {
        var response: WebResponse
        do throws(Problem) {
            if let session = pass.session { try await entrance.signOut(session, from: request.peerAddress) }
            response = await sessionResponse(nil, nil)
        } catch {
            // Ended it has, whether or not that is stored: the browser forgets it too.
            response = error.response
        }
        response.headers.add("Set-Cookie", "\(Gate.cookie)=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict")
        return response
    }

    private func signedIn(_ token: String, _ session: Session, status: Int) async -> WebResponse {
        var response = await sessionResponse(token, session)
        response.status = status
        response.headers.add("Set-Cookie", "\(Gate.cookie)=\(token); Path=/; Secure; HttpOnly; SameSite=Strict")
        return response
    }

    private func sessionResponse(_ token: String?, _ session: Session?) async -> WebResponse {
        let stored = await settings.current
        let isIn = session != nil
        return .json(
            JSON.object([
                "claimed": .bool(entrance.claimed.value), "signedIn": .bool(isIn),
                "role": .optional(session?.role.rawValue),
                "csrfToken": isIn ? .optional(token.map(Sessions.csrfToken(of:))) : .null,
                "setUp": .bool(stored != nil),
                // Who is paid is on the screen for everybody; it is nobody's business over the network.
                "merchantName": isIn ? .optional(stored?.settings.merchantName) : .null,
                "currency": isIn ? .optional(stored?.settings.currency.code) : .null,
                "currencyExponent": isIn ? .optional(stored?.settings.currency.exponent) : .null,
                "locale": isIn ? .optional(stored?.settings.locale) : .null,
            ]).text
        )
    }

    private func changePassword(_ pass: Gate.Pass, _ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let current = form.text("currentPassword", limit: 1000)
        let new = form.text("newPassword", limit: 1000)
        let endingOthers = form.bool("signOutOthers") ?? true
        try form.finish()
        guard let session = pass.session else { throw .notSignedIn }
        let (token, renewed) = try await entrance.changePassword(
            from: current,
            to: new,
            endingOthers: endingOthers,
            of: session,
            from: request.peerAddress
        )
        return await signedIn(token, renewed, status: 200)
    }

    private func finishReset(_ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let code = form.text("code", limit: 40)
        let password = form.text("password", limit: 1000)
        try form.finish()
        let (token, session) = try await entrance.finishReset(
            code: code,
            password: password,
            from: request.peerAddress
        )
        return await signedIn(token, session, status: 200)
    }

    private func sessionList(_ pass: Gate.Pass) -> WebResponse {
        let list = sessions.list(at: clock.wallTime()).map { session in
            JSON.object([
                "id": .string(session.id), "role": .string(session.role.rawValue),
                "createdAt": .time(WallTime(millisecondsSince1970: session.createdAt)),
                "usedAt": .time(WallTime(millisecondsSince1970: session.usedAt)),
                "current": .bool(session.id == pass.session?.id),
            ])
        }
        return .json(JSON.object(["sessions": .array(list)]).text)
    }

    // MARK: - Settings

    private func settingsResponse() async -> WebResponse {
        guard let stored = await settings.current else {
            return .json(
                JSON.object([
                    "operatorID": .string(""), "merchantID": .string(""), "merchantName": .string(""),
                    "gatewayURL": .string(""), "gatewayKeySet": .bool(false), "currency": .string(""),
                    "locale": .string("en-US"), "chargeLimitMinor": .null, "hourlyLimitMinor": .null,
                    "timeZone": .null, "changedAt": .null,
                    "version": .integer(0),
                ]).text
            )
        }
        let set = stored.settings
        return .json(
            JSON.object([
                "operatorID": .string(set.operatorID), "merchantID": .string(set.merchantID),
                "merchantName": .string(set.merchantName), "gatewayURL": .string(set.gatewayURL),
                "gatewayKeySet": .bool(stored.gatewayKeySet), "currency": .string(set.currency.code),
                "locale": .string(set.locale), "timeZone": .optional(set.timeZone),
                "chargeLimitMinor": set.limits.maximumMinorUnits.map(JSON.integer) ?? .null,
                "hourlyLimitMinor": set.limits.maximumPerHourMinorUnits.map(JSON.integer) ?? .null,
                "changedAt": .time(stored.changedAt), "version": .integer(Int64(stored.version)),
            ]).text
        )
    }

    /// The form of settings, and the password where the request carries one.
    private func settingsForm(_ request: WebRequest) throws(Problem) -> (
        SettingsForm, password: String?, version: Int64?
    ) {
        var form = try Form(request.body)
        let parsed = SettingsForm(
            operatorID: form.text("operatorID", limit: 200),
            merchantID: form.text("merchantID", limit: 200),
            merchantName: form.text("merchantName", limit: 200),
            gatewayURL: form.text("gatewayURL", limit: 500),
            gatewayKey: form.optionalText("gatewayKey", limit: 500),
            currency: form.text("currency", limit: 10),
            locale: form.optionalText("locale", limit: 20),
            chargeLimitMinor: form.integer("chargeLimitMinor"),
            hourlyLimitMinor: form.integer("hourlyLimitMinor"),
            timeZone: form.optionalText("timeZone", limit: 100)
        )
        let password = form.optionalText("password", limit: 1000)
        let version = form.integer("version")
        try form.finish()
        return (parsed, password, version)
    }

    private func saveSettings(_ request: WebRequest) async throws(Problem) -> WebResponse {
        let (form, password, version) = try settingsForm(request)
        let current = await settings.current
        // The page names the version it showed: two people who save at once must not undo each other.
        if let version, version != Int64(current?.version ?? 0) { throw Self.problem(.conflict) }
        if let current {
            let sendsMoneyElsewhere =
                form.gatewayURL != current.settings.gatewayURL || form.merchantID != current.settings.merchantID
                || form.gatewayKey?.isEmpty == false
            if sendsMoneyElsewhere {
                try await requirePassword(password, because: Self.sendsMoneyElsewhere, from: request.peerAddress)
            }
        }
        do throws(SettingsError) {
            _ = try await settings.save(form, replacing: current?.version, by: Self.staff)
        } catch {
            await entrance.audit("settings", "refused", "", by: Self.staff, from: request.peerAddress)
            throw Self.problem(error)
        }
        await entrance.audit("settings", "ok", "", by: Self.staff, from: request.peerAddress)
        return await settingsResponse()
    }

    static let sendsMoneyElsewhere = "Changing where payments are made needs the password again."

    /// Who is signed in proves again that they are who they were. Source: OWASP ASVS 5.0, 7.5.1.
    /// - Parameter cause: What is changed, as a sentence.
    func requirePassword(_ password: String?, because cause: String, from peer: String) async throws(Problem) {
        guard let password, !password.isEmpty else {
            let reason = Reason(code: "password_needed", message: cause, action: "Enter the owner's password.")
            throw Problem.field("password", reason)
        }
        do throws(Problem) {
            try await entrance.check(password: password, what: "settings.password", by: Self.staff, from: peer)
        } catch {
            // Signed in they are; it is the field that is wrong.
            throw error.status == 401 ? .field("password", error.reason) : error
        }
    }

    private func testConnection(_ request: WebRequest) async throws(Problem) -> WebResponse {
        let (form, _, _) = try settingsForm(request)
        let test: ConnectionTest
        do throws(SettingsError) { test = try await settings.testConnection(form) } catch { throw Self.problem(error) }
        let (seconds, attoseconds) = test.duration.components
        return .json(
            JSON.object([
                "ok": .bool(test.isOK), "code": .string(test.reason.code), "message": .string(test.reason.message),
                "action": .string(test.reason.action),
                "milliseconds": .integer(seconds * 1000 + attoseconds / 1_000_000_000_000_000),
            ]).text
        )
    }

    static func problem(_ error: SettingsError) -> Problem {
        switch error {
        case .invalid(let errors):
            var problem = Problem(
                422,
                "invalid_settings",
                "Some of the settings cannot be used. Nothing was changed.",
                "Correct the fields that are marked."
            )
            problem.fields = errors.fields
            return problem
        case .conflict:
            return Problem(
                409,
                "settings_changed",
                "Somebody else saved settings at the same moment. Yours were not saved.",
                "Look at the settings again, then save."
            )
        case .journal(let error): return Problem(503, error.reason)
        }
    }

    // MARK: - Charges

    private func openCharge(_ request: WebRequest) async throws(Problem) -> WebResponse {
        let keys = request.headers("Idempotency-Key")
        guard keys.count == 1, (1...255).contains(keys[0].utf8.count),
            keys[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Problem(
                400,
                "idempotency_key_missing",
                "The request has no key of its own, so a repetition could charge twice. Nothing was charged.",
                "Send a header Idempotency-Key with a new value for each sale and the same for each repetition."
            )
        }
        guard let stored = await settings.current else { throw Self.problem(.notSetUp, .english) }
        var form = try Form(request.body)
        let typed = form.optionalText("amount", limit: 40)
        let minor = form.integer("amountMinor")
        let currency = form.optionalText("currency", limit: 10)
        let reference = form.optionalText("reference", limit: 200)
        try form.finish()
        let amount = try Self.amount(typed: typed, minor: minor, currency: currency, stored.settings)
        let amountField = minor == nil ? "amount" : "amountMinor"
        let reduced = reference?.isEmpty == true ? nil : reference
        let canonical = JSON.object([
            "amountMinor": .integer(amount.minorUnits), "currency": .string(amount.currency.code),
            "reference": .optional(reduced),
        ])
        let key = IdempotencyKey(key: keys[0], requestDigest: Array(SHA256.hash(data: Array(canonical.text.utf8))))
        var response = try await audited("charge", "\(amount.minorUnits) \(amount.currency.code)", request, amountField)
        {
            () throws(ChargeRefusal) in
            try await desk.open(ChargeRequest(amount: amount, reference: reduced, key: key, by: Self.staff))
        }
        response.status = 201
        return response
    }

    private static func amount(
        typed: String?,
        minor: Int64?,
        currency: String?,
        _ settings: MerchantSettings
    ) throws(Problem) -> Money {
        let format = settings.format
        if let currency, Currency(code: currency) != settings.currency {
            throw problem(.limit(.wrongCurrency(expected: settings.currency)), format)
        }
        switch (typed, minor) {
        case (let typed?, nil):
            do throws(AmountError) {
                return try Money.parse(typed: typed, currency: settings.currency, format: format)
            } catch { throw .field("amount", error.reason) }
        case (nil, let minor?):
            guard minor > 0 else { throw .field("amountMinor", (minor == 0 ? AmountError.zero : .negative).reason) }
            return Money(minorUnits: minor, currency: settings.currency)
        case (nil, nil): throw .field("amount", AmountError.empty.reason)
        case (_?, _?):
            throw .field(
                "amountMinor",
                Reason(
                    code: "amount_twice",
                    message: "The request says the amount in two ways. Nothing was charged.",
                    action: "Send either the amount or the amount in minor units."
                )
            )
        }
    }

    func charge(_ work: () async throws(ChargeRefusal) -> ChargeSnapshot) async throws(Problem) -> WebResponse {
        do throws(ChargeRefusal) { return .json(JSON.charge(try await work()).text) } catch {
            throw Self.problem(error, await desk.format)
        }
    }

    /// Does something to a charge and writes down who asked for it and what became of it.
    private func audited(
        _ what: String,
        _ about: String,
        _ request: WebRequest,
        _ amountField: String = "amount",
        _ work: () async throws(ChargeRefusal) -> ChargeSnapshot
    ) async throws(Problem) -> WebResponse {
        do throws(ChargeRefusal) {
            let charge = try await work()
            await entrance.audit(what, "ok", charge.id.rawValue, by: Self.staff, from: request.peerAddress)
            return .json(JSON.charge(charge).text)
        } catch {
            let problem = Self.problem(error, await desk.format, amountField)
            await entrance.audit(
                what,
                "refused",
                "\(about): \(problem.reason.code)",
                by: Self.staff,
                from: request.peerAddress
            )
            throw problem
        }
    }

    static func problem(
        _ refusal: ChargeRefusal,
        _ format: AmountFormat,
        _ amountField: String = "amount"
    ) -> Problem {
        let reason = refusal.reason(format: format)
        switch refusal {
        case .notSetUp, .notReady, .tooLate: return Problem(409, reason)
        case .busy(let id):
            var problem = Problem(409, reason)
            problem.chargeID = id
            return problem
        case .limit(.wrongCurrency): return .field("currency", reason)
        case .limit: return .field(amountField, reason)
        case .invalidReference: return .field("reference", reason)
        case .invalidTip: return .field("tip", reason)
        case .idempotencyConflict: return Problem(409, reason)
        case .notFound: return Problem(404, reason)
        case .journal: return Problem(503, reason)
        }
    }

    // MARK: - Events

    /// Each change of the terminal, and a heartbeat every 15 seconds. Ends with the session.
    private func events(_ pass: Gate.Pass) -> WebResponse {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ServerSentEvent.self,
            bufferingPolicy: .bufferingNewest(8)
        )
        let (desk, clock, sessions) = (desk, clock, sessions)
        // The stream owns it: it ends with the reader, with the session, or with the terminal.
        let work = Task {
            await withTaskGroup { group in
                group.addTask {
                    for await snapshot in await desk.snapshots() {
                        guard let session = pass.session, sessions.isAlive(session, at: clock.wallTime()) else {
                            return
                        }
                        continuation.yield(ServerSentEvent(event: "terminal", data: JSON.terminal(snapshot).text))
                    }
                }
                group.addTask {
                    while !Task.isCancelled {
                        do { try await clock.sleep(.seconds(15)) } catch { return }  // The reader has left.
                        guard let session = pass.session, sessions.isAlive(session, at: clock.wallTime()) else {
                            return
                        }
                        continuation.yield(ServerSentEvent(event: "ping", data: "{}"))
                    }
                }
                await group.next()
                group.cancelAll()
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in work.cancel() }
        return .events(stream)
    }
}

extension AmountError {
    /// The error in a cashier's words.
    var reason: Reason {
        switch self {
        case .empty:
            Reason(code: "amount_missing", message: "There is no amount. Nothing was charged.", action: "Enter it.")
        case .notANumber:
            Reason(
                code: "amount_not_a_number",
                message: "This is not an amount. Nothing was charged.",
                action: "Use digits and one point or comma."
            )
        case .negative:
            Reason(
                code: "amount_not_positive",
                message: "An amount cannot be below zero. Nothing was charged.",
                action: "To give money back, make a refund at the gateway."
            )
        case .zero:
            Reason(
                code: "amount_not_positive",
                message: "The amount must be more than zero. Nothing was charged.",
                action: "Enter the amount again."
            )
        case .tooManyDecimals(let allowed):
            Reason(
                code: "amount_too_fine",
                message: allowed == 0
                    ? "This currency has no decimals. Nothing was charged."
                    : "This currency has \(allowed) decimals at most. Nothing was charged.",
                action: "Enter the amount again."
            )
        case .ambiguous:
            Reason(
                code: "amount_ambiguous",
                message: "This could be read in two ways, a thousand times apart. Nothing was charged.",
                action: "Enter it without a separator for thousands."
            )
        case .tooLarge:
            Reason(
                code: "amount_above_limit",
                message: "The amount is larger than the terminal can count. Nothing was charged.",
                action: "Enter a smaller amount."
            )
        }
    }
}
