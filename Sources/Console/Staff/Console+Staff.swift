import Foundation
import Journal
import Payments
import Terminal
import WebServer

/// Who works here: adding, changing, and signing in.
extension Console {
    func staffAnswer(_ pass: Gate.Pass, _ request: WebRequest) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .signInWithPIN: return try await signInWithPIN(request)
        case .signInWithCode: return try await signInWithCode(request)
        case .changePIN: return try await changePIN(pass, request)
        case .staff: return await staffList(pass)
        case .addPerson: return try await addPerson(pass)
        case .saveStaffRules: return try await saveStaffRules(pass)
        case .changePerson(let id): return try await changePerson(id, pass)
        case .removePerson(let id): return try await removePerson(id, pass)
        case .makeSignInCode(let id): return try await makeSignInCode(id, pass)
        case .makeCounter: return try await makeCounter(pass, request)
        case .forgetBrowser(let id): return try await forgetBrowser(id, pass)
        default: throw .notFound
        }
    }

    private func asker(_ pass: Gate.Pass) throws(Problem) -> StaffDesk.Asker {
        guard let session = pass.session else { throw .notSignedIn }
        return StaffDesk.Asker(role: session.role, who: pass.who)
    }

    /// Writes down what became of a change.
    private func noted<Value>(
        _ what: String,
        _ about: String,
        _ pass: Gate.Pass,
        _ work: () async throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        do throws(Problem) { return try await work() } catch {
            let detail = about.isEmpty ? error.reason.code : "\(about): \(error.reason.code)"
            await entrance.audit(what, "refused", detail, by: pass.who, from: pass.request.peerAddress)
            throw error
        }
    }

    private func note(_ what: String, _ detail: String, _ pass: Gate.Pass) async {
        await entrance.audit(what, "ok", detail, by: pass.who, from: pass.request.peerAddress)
    }

    // MARK: - People

    private func staffList(_ pass: Gate.Pass, status: Int = 200) async -> WebResponse {
        let (book, activity, browsers) = await (staff.book, staff.activity, staff.browsers)
        let (changedAt, changedBy) = await (staff.changedAt, staff.changedBy)
        let asker = pass.session.map { StaffDesk.Asker(role: $0.role, who: pass.who) }
        let signedIn = Dictionary(grouping: sessions.list(at: clock.wallTime()), by: \.person)
        var people: [JSON] = []
        for person in book.people.sorted(by: { StaffPerson.form(of: $0.name) < StaffPerson.form(of: $1.name) }) {
            people.append(
                .object([
                    "id": .string(person.id), "name": .string(person.name), "role": .string(person.role.rawValue),
                    "enabled": .bool(person.isEnabled), "pinSet": .bool(await staff.hasPIN(person)),
                    "createdAt": .milliseconds(person.createdAt), "createdBy": .string(person.createdBy),
                    "changedAt": .milliseconds(person.changedAt), "changedBy": .string(person.changedBy),
                    "usedAt": activity.used[person.id].map(JSON.milliseconds) ?? .null,
                    "signedIn": .integer(Int64(signedIn[person.id]?.count ?? 0)),
                    "mayChange": .bool(asker?.manages(person.role) == true),
                ])
            )
        }
        let current = await staff.browser(of: browserToken(pass.request))
        return .json(
            JSON.object([
                "people": .array(people), "readable": .bool(await staff.isReadable),
                "most": .integer(Int64(StaffBook.most)),
                "browsers": .array(
                    browsers.map { browser in
                        .object([
                            "id": .string(browser.id), "person": .optional(browser.person),
                            "browser": .optional(browser.browser), "system": .optional(browser.system),
                            "madeAt": .milliseconds(browser.madeAt), "madeBy": .string(browser.madeBy),
                            "current": .bool(browser.id == current?.id),
                        ])
                    }
                ),
                "cashierMaximumMinor": book.rules.cashierMaximumMinor.map(JSON.integer) ?? .null,
                "managerMaximumMinor": book.rules.managerMaximumMinor.map(JSON.integer) ?? .null,
                "lockMinutes": .optional(book.rules.lockMinutes),
                "changedAt": changedAt.map(JSON.time) ?? .null, "changedBy": .optional(changedBy?.name),
            ]).text,
            status: status
        )
    }

    private func wish(_ pass: Gate.Pass) throws(Problem) -> StaffDesk.Wish {
        var form = try Form(pass.request.body)
        let wish = StaffDesk.Wish(
            name: form.optionalText("name", limit: 100),
            role: form.optionalText("role", limit: 20),
            pin: form.optionalText("pin", limit: 20),
            isEnabled: form.bool("enabled")
        )
        try form.finish()
        return wish
    }

    private func addPerson(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let (wish, asker) = (try wish(pass), try asker(pass))
        let person = try await noted("staff.add", "", pass) { () throws(Problem) in
            try await staff.add(wish, by: asker)
        }
        await note("staff.add", "\(person.id) \(person.role.rawValue) \(person.name)", pass)
        return await staffList(pass, status: 201)
    }

    private func changePerson(_ id: String, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let (wish, asker) = (try wish(pass), try asker(pass))
        // Switching somebody off takes away and gives nothing: it waits for no password.
        if wish.pin != nil || wish.role != nil || wish.name != nil || wish.isEnabled != false { try requireProof(pass) }
        let (person, hasEnded) = try await noted("staff.change", String(id.prefix(40)), pass) { () throws(Problem) in
            try await staff.change(id, wish, by: asker)
        }
        let detail = [
            person.id, person.role.rawValue, person.isEnabled ? "on" : "off",
            wish.pin?.isEmpty == false ? "new PIN" : "",
            person.name,
        ]
        if hasEnded { await note("staff.change", detail.filter { !$0.isEmpty }.joined(separator: " "), pass) }
        return await staffList(pass)
    }

    private func removePerson(_ id: String, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        try requireEmptyForm(pass)
        let asker = try asker(pass)
        let person = try await noted("staff.remove", String(id.prefix(40)), pass) { () throws(Problem) in
            try await staff.remove(id, by: asker)
        }
        await note("staff.remove", "\(person.id) \(person.name)", pass)
        return await staffList(pass)
    }

    private func saveStaffRules(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.request.body)
        var rules = StaffRules()
        rules.cashierMaximumMinor = form.integer("cashierMaximumMinor")
        rules.managerMaximumMinor = form.integer("managerMaximumMinor")
        let lock = form.integer("lockMinutes")
        try form.finish()
        for (field, limit) in [
            ("cashierMaximumMinor", rules.cashierMaximumMinor), ("managerMaximumMinor", rules.managerMaximumMinor),
        ] where (limit ?? 1) < 1 {
            throw .field(
                field,
                Reason(
                    code: "limit_not_positive",
                    message: "A limit must be more than zero.",
                    action: "Enter an amount, or leave it empty for no limit of its own."
                )
            )
        }
        if let lock {
            guard let minutes = Int(exactly: lock), StaffRules.lockRange.contains(minutes) else {
                throw .field(
                    "lockMinutes",
                    Reason(
                        code: "out_of_range",
                        message: "A counter locks itself after 1 to 240 minutes.",
                        action: "Choose a time in between, or none."
                    )
                )
            }
            rules.lockMinutes = minutes
        }
        let wanted = rules
        try await noted("staff.rules", "", pass) { () throws(Problem) in try await staff.save(wanted, by: pass.who) }
        await note("staff.rules", "", pass)
        return await staffList(pass)
    }

    // MARK: - Codes and browsers

    private func makeSignInCode(_ id: String, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        try requireEmptyForm(pass)
        let asker = try asker(pass)
        let (code, url, person) = try await noted("staff.code", String(id.prefix(40)), pass) { () throws(Problem) in
            try await staff.makeCode(for: id, by: asker)
        }
        await note("staff.code", "\(person.id) \(person.name)", pass)
        return .json(
            JSON.object([
                "code": .string(code.grouped), "url": .string(url), "address": .string(address),
                "modules": .array((QRText(url)?.rows ?? []).map(JSON.string)),
                "seconds": .integer(SignInCode.lifetime.components.seconds), "name": .string(person.name),
            ]).text,
            status: 201
        )
    }

    private func makeCounter(_ pass: Gate.Pass, _ request: WebRequest) async throws(Problem) -> WebResponse {
        try requireEmptyForm(pass)
        let cookie = try await noted("staff.counter", "", pass) { () throws(Problem) in
            try await staff.makeCounter(
                Device(userAgent: request.header("User-Agent")),
                replacing: browserToken(request),
                by: pass.who
            )
        }
        await note("staff.counter", "this browser is a counter", pass)
        var response = await sessionResponse(pass.token, pass.session, at: cookie)
        response.status = 201
        response.headers.add("Set-Cookie", Self.browserCookie(cookie))
        return response
    }

    private func forgetBrowser(_ id: String, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        try requireEmptyForm(pass)
        let asker = try asker(pass)
        try await noted("staff.browser.forget", String(id.prefix(40)), pass) { () throws(Problem) in
            try await staff.forget(browser: id, by: asker)
        }
        await note("staff.browser.forget", id, pass)
        return await staffList(pass)
    }

    /// 400 days: browsers keep no cookie longer. Source: RFC 6265bis, 5.5.
    private static func browserCookie(_ token: String) -> String {
        "\(Gate.browserCookie)=\(token); Path=/; Max-Age=34560000; Secure; HttpOnly; SameSite=Strict"
    }

    // MARK: - Signing in

    private func signInWithPIN(_ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let person = form.text("person", limit: 40)
        let pin = form.text("pin", limit: 20)
        try form.finish()
        do throws(Problem) {
            let (token, session) = try await staff.signIn(
                person,
                pin: pin,
                at: browserToken(request),
                on: request.header("User-Agent")
            )
            await entrance.audit("login.pin", "ok", person, by: session.who, from: request.peerAddress)
            await endEarlier(request)
            return await signedIn(token, session, status: 200, request)
        } catch {
            let about = await staff.person(person)?.id ?? "nobody"
            let detail = "\(about): \(error.reason.code)"
            await entrance.audit("login.pin", "refused", detail, by: .stranger, from: request.peerAddress)
            throw error
        }
    }

    private func signInWithCode(_ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let code = form.text("code", limit: 40)
        try form.finish()
        do throws(Problem) {
            let opened = try await staff.useCode(
                code,
                at: browserToken(request),
                on: request.header("User-Agent"),
                from: request.peerAddress
            )
            let who = opened.session.who
            await entrance.audit("login.code", "ok", opened.session.person ?? "", by: who, from: request.peerAddress)
            await endEarlier(request)
            var response = await signedIn(opened.token, opened.session, status: 200, request, browser: opened.browser)
            if let cookie = opened.browser { response.headers.add("Set-Cookie", Self.browserCookie(cookie)) }
            return response
        } catch {
            await entrance.audit("login.code", "refused", error.reason.code, by: .stranger, from: request.peerAddress)
            throw error
        }
    }

    private func changePIN(_ pass: Gate.Pass, _ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let current = form.text("currentPIN", limit: 20)
        let new = form.text("newPIN", limit: 20)
        try form.finish()
        guard let session = pass.session else { throw .notSignedIn }
        if let objection = PINRule.objection(to: new) { throw .field("newPIN", objection) }
        let (token, renewed) = try await noted("staff.pin", session.person ?? "", pass) { () throws(Problem) in
            try await staff.changePIN(from: current, to: new, of: session)
        }
        await note("staff.pin", session.person ?? "", pass)
        return await signedIn(token, renewed, status: 200, request)
    }
}

extension JSON {
    /// A moment that is kept in milliseconds since 1970.
    static func milliseconds(_ time: Int64) -> JSON { .time(WallTime(millisecondsSince1970: time)) }
}
