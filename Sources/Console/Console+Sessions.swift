import Foundation
import Journal
import Payments
import Terminal
import WebServer

/// Who is signed in, and how.
extension Console {
    func claim(_ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let code = form.text("code", limit: 40)
        let password = form.text("password", limit: 1000)
        try form.finish()
        let (token, session) = try await entrance.claim(
            code: code,
            password: password,
            on: await device(request),
            from: request.peerAddress
        )
        return await signedIn(token, session, status: 201, request)
    }

    func signIn(_ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let password = form.text("password", limit: 1000)
        try form.finish()
        let (token, session) = try await entrance.signIn(
            password: password,
            on: await device(request),
            from: request.peerAddress
        )
        await endEarlier(request)
        return await signedIn(token, session, status: 200, request)
    }

    /// Ends the session that this browser had before a new sign-in. Source: OWASP ASVS 5.0, 7.2.4.
    func endEarlier(_ request: WebRequest) async {
        let now = clock.wallTime()
        guard let earlier = sessions.session(of: request.cookies[Gate.cookie], at: now) else { return }
        do throws(Problem) { try await entrance.signOut(earlier, from: request.peerAddress) } catch {
            // It has ended here; the entrance has written down that a restart would bring it back.
        }
    }

    func signOut(_ pass: Gate.Pass, _ request: WebRequest) async -> WebResponse {
        var response: WebResponse
        do throws(Problem) {
            if let session = pass.session { try await entrance.signOut(session, from: request.peerAddress) }
            response = await sessionResponse(nil, nil, at: browserToken(request))
        } catch {
            // Ended it has, whether or not that is stored: the browser forgets it too.
            response = error.response
        }
        response.headers.add("Set-Cookie", "\(Gate.cookie)=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict")
        return response
    }

    /// - Parameter browser: What the browser's own cookie holds from now on; nil: as before.
    func signedIn(
        _ token: String,
        _ session: Session,
        status: Int,
        _ request: WebRequest,
        browser: String? = nil
    ) async -> WebResponse {
        var response = await sessionResponse(token, session, at: browser ?? browserToken(request))
        response.status = status
        response.headers.add("Set-Cookie", "\(Gate.cookie)=\(token); Path=/; Secure; HttpOnly; SameSite=Strict")
        return response
    }

    /// - Parameter browser: What the browser's own cookie holds.
    func sessionResponse(_ token: String?, _ session: Session?, at browser: String?) async -> WebResponse {
        let stored = await settings.current
        let isIn = session != nil
        let known = await staff.browser(of: browser)
        let tips = await counter.tips
        return .json(
            JSON.object([
                // In its last second it must not send a page to a sign-in that nobody can answer any more.
                "claimed": .bool(entrance.claimed.value && !isErased()), "signedIn": .bool(isIn),
                "role": .optional(session?.role.rawValue),
                "csrfToken": isIn ? .optional(token.map(Sessions.csrfToken(of:))) : .null,
                "setUp": .bool(stored != nil),
                "setUpState": isIn ? .optional(await setUp.current?.state.rawValue) : .null,
                "name": .optional(session?.name), "person": .optional(session?.person),
                "lockMinutes": .optional(session?.lockMinutes),
                "ownMaximumMinor": await staff.maximum(of: session).map(JSON.integer) ?? .null,
                // Who works here is for browsers that were let in, and for nobody else on the network.
                "browser": known.map { .string($0.person == nil ? "counter" : "own") } ?? .null,
                "people": .array(
                    await staff.people(at: known).map { person in
                        .object([
                            "id": .string(person.id), "name": .string(person.name),
                            "role": .string(person.role.rawValue),
                        ])
                    }
                ),
                // Who is paid is on the screen for everybody; it is nobody's business over the network.
                "merchantName": isIn ? .optional(stored?.settings.merchantName) : .null,
                "currency": isIn ? .optional(stored?.settings.currency.code) : .null,
                "currencyExponent": isIn ? .optional(stored?.settings.currency.exponent) : .null,
                "locale": isIn ? .optional(stored?.settings.locale) : .null,
                "timeZone": isIn ? .string((stored?.settings.zone ?? .current).identifier) : .null,
                "who": .optional(session?.who.name),
                "maximumMinor": isIn ? stored?.settings.limits.maximumMinorUnits.map(JSON.integer) ?? .null : .null,
                "tips": isIn ? .tips(tips) : .null,
                // What a page that is just loaded would ask for next.
                "charge": isIn && stored != nil ? await chargeShown() : .null,
            ]).text
        )
    }

    private func chargeShown() async -> JSON {
        guard case .charging(let charge) = await desk.snapshot.phase else { return .null }
        return JSON.charge(charge, for: .staff)
    }

    func changePassword(_ pass: Gate.Pass, _ request: WebRequest) async throws(Problem) -> WebResponse {
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
        return await signedIn(token, renewed, status: 200, request)
    }

    /// The state of a password reset. Open to everybody: the screen says no less.
    func resetResponse() async -> WebResponse {
        let reset = await desk.snapshot.ownerReset
        return .json(
            JSON.object([
                "reset": .ownerReset(reset),
                // How it is begun: with a stick, or at the machine that the program runs on.
                "way": .string(entrance.ownerSticks == nil ? "command" : "stick"),
                "waitMinutes": .integer(Int64(Reset.wait / .seconds(60))),
            ]).text
        )
    }

    /// Tells webhooks of new owner passwords, until cancelled.
    func tellOfResets() async {
        await withDiscardingTaskGroup { group in
            // A receiver that does not answer keeps no other news back.
            for await news in entrance.resetNews.stream {
                group.addTask { await webhooks.tell(news.type, news.data) }
            }
            group.cancelAll()
        }
    }

    func finishReset(_ request: WebRequest) async throws(Problem) -> WebResponse {
        var form = try Form(request.body)
        let code = form.text("code", limit: 40)
        let password = form.text("password", limit: 1000)
        try form.finish()
        let (token, session) = try await entrance.finishReset(
            code: code,
            password: password,
            on: await device(request),
            from: request.peerAddress
        )
        return await signedIn(token, session, status: 200, request)
    }

    /// Those that the one who asks may see and end.
    func sessionList(_ pass: Gate.Pass) -> WebResponse {
        let own = pass.session
        let list = sessions.list(at: clock.wallTime()).filter { own?.oversees($0) == true }.map { session in
            JSON.object([
                "id": .string(session.id), "role": .string(session.role.rawValue), "name": .optional(session.name),
                "browser": .optional(session.browser), "system": .optional(session.system),
                "createdAt": .time(WallTime(millisecondsSince1970: session.createdAt)),
                "usedAt": .time(WallTime(millisecondsSince1970: session.usedAt)),
                "current": .bool(session.id == own?.id), "own": .bool(own?.isOfSamePerson(as: session) == true),
            ])
        }
        return .json(JSON.object(["sessions": .array(list)]).text)
    }

    /// What the browser's own cookie holds.
    func browserToken(_ request: WebRequest) -> String? { request.cookies[Gate.browserCookie] }

    func device(_ request: WebRequest) async -> Device {
        await staff.device(request.header("User-Agent"), await staff.browser(of: browserToken(request)))
    }
}
