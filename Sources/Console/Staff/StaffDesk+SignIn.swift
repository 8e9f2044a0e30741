import Crypto
import Foundation
import Journal
import Logging
import Payments
import Terminal

/// A code that signs one browser in as one person, once. Held in memory: a restart ends it.
struct SignInCode: Sendable {
    /// 12 characters of 32 are 60 bits: nobody guesses one in its two minutes, however many try.
    let text: String
    /// On the clock's `elapsed`.
    let expiresAt: Duration

    static let lifetime = Duration.seconds(120)

    init(at now: Duration) {
        (text, expiresAt) = (Claim.randomCode(length: 12), now + Self.lifetime)
    }

    /// As it is shown: `K7QM-3XFD-9ABC`.
    var grouped: String {
        stride(from: 0, to: text.count, by: 4).map { String(text.dropFirst($0).prefix(4)) }.joined(separator: "-")
    }
}

extension StaffDesk {
    // MARK: - Known browsers

    /// The browser of a cookie, where an owner or a manager let it in.
    func browser(of token: String?) -> KnownBrowser? {
        guard let token, token.utf8.count == 64 else { return nil }
        let digest = Self.digest(token)
        return browsers.first { $0.digest == digest }
    }

    /// Who may type a PIN there: at a counter everybody who can sign in, elsewhere the one whose browser it is.
    func people(at browser: KnownBrowser?) -> [StaffPerson] {
        guard let browser else { return [] }
        return book.people
            .filter { $0.isEnabled && hasPIN($0) && (browser.person == nil || browser.person == $0.id) }
            .sorted { StaffPerson.form(of: $0.name) < StaffPerson.form(of: $1.name) }
    }

    /// What a browser is, and how long it may be idle: only counters lock themselves.
    func device(_ userAgent: String?, _ browser: KnownBrowser?) -> Device {
        let isCounter = browser.map { $0.person == nil } ?? false
        return Device(userAgent: userAgent, lockMinutes: isCounter ? book.rules.lockMinutes : nil)
    }

    /// Makes a browser a counter, at which everybody who works here may type a PIN.
    /// - Returns: What its cookie holds from now on.
    func makeCounter(_ device: Device, replacing old: String?, by who: Payments.Actor) async throws(Problem) -> String {
        try checkReadable()
        let old = browser(of: old)
        guard browsers.count(where: { $0.person == nil && $0.id != old?.id }) < KnownBrowser.mostCounters else {
            throw Problem(
                409,
                "too_many_counters",
                "There are \(KnownBrowser.mostCounters) counters already. This browser is none.",
                "Take one off the list that is not used."
            )
        }
        return try await letIn(device, as: nil, replacing: old, by: who)
    }

    /// Takes a browser off the list: no PIN opens it any more. Who is signed in there stays so until they sign out.
    func forget(browser id: String, by asker: Asker) async throws(Problem) {
        guard let found = browsers.first(where: { $0.id == id }),
            asker.role == .owner || found.person.map({ asker.manages(person($0)?.role ?? .owner) }) ?? true
        else {
            throw Problem(404, "browser_not_found", "There is no such browser.", "Look at the list again.")
        }
        let before = browsers
        browsers.removeAll { $0.id == id }
        do throws(JournalError) { try await storeBrowsers() } catch {
            browsers = before
            throw Problem(503, error.reason)
        }
    }

    /// Takes every browser off the list.
    /// - Returns: How many there were.
    func forgetAllBrowsers() async throws(Problem) -> Int {
        let before = browsers
        browsers = []
        codes = [:]
        do throws(JournalError) { try await storeBrowsers() } catch {
            browsers = before
            throw Problem(503, error.reason)
        }
        return before.count
    }

    func forgetBrowsers(where isOver: (KnownBrowser) -> Bool) async {
        browsers.removeAll(where: isOver)
        do throws(JournalError) { try await storeBrowsers() } catch {
            logger.error("a forgotten browser is known again after a restart", metadata: ["error": "\(error)"])
        }
    }

    private func letIn(
        _ device: Device,
        as person: String?,
        replacing old: KnownBrowser?,
        by who: Payments.Actor
    ) async throws(Problem) -> String {
        let token = RandomText.make(bytes: 32)
        let new = KnownBrowser(
            id: RandomText.make(bytes: 6),
            digest: Self.digest(token),
            person: person,
            browser: device.browser,
            system: device.system,
            madeAt: clock.wallTime().millisecondsSince1970,
            madeBy: who.name
        )
        browsers.removeAll { $0.id == old?.id }
        if let person {
            let theirs = browsers.filter { $0.person == person }
            let tooMany = Set(theirs.dropLast(KnownBrowser.mostOfOnePerson - 1).map(\.id))
            browsers.removeAll { tooMany.contains($0.id) }
        }
        browsers.append(new)
        do throws(JournalError) { try await storeBrowsers() } catch {
            browsers.removeAll { $0.id == new.id }
            throw Problem(503, error.reason)
        }
        return token
    }

    private func storeBrowsers() async throws(JournalError) {
        _ = try await journal.setDocument(
            Self.browsersDocument,
            try Self.encode(browsers),
            expecting: .any,
            by: .terminal,
            at: clock.wallTime()
        )
    }

    private static func digest(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Array(token.utf8))) }

    // MARK: - Signing in

    /// Signs in with a PIN, at a browser that was let in. Elsewhere no PIN is looked at, so that nobody on the network can
    /// guess one or keep anybody from using theirs.
    func signIn(_ id: String, pin: String, at token: String?, on userAgent: String?) async throws(Problem) -> (
        token: String, session: Session
    ) {
        guard let browser = browser(of: token) else {
            throw Problem(
                403,
                "browser_unknown",
                "This browser was not let in, so no PIN opens it.",
                "Ask the owner or a manager for a sign-in code."
            )
        }
        guard let person = person(id), person.isEnabled, browser.person == nil || browser.person == id,
            hasPIN(person), let kept = person.pin
        else { throw Self.cannotSignIn }
        try await check(pin, kept, of: id, at: GuessSource(browser: browser.id, person: id))
        // Meanwhile the person may have been changed, and the browser taken off the list.
        guard let now = self.person(id), now.isEnabled, now.pin == kept, self.browser(of: token) == browser else {
            throw Self.cannotSignIn
        }
        return try await open(now, on: device(userAgent, browser))
    }

    /// Signs in; the session is there before anything is waited for, so that a change to the person ends it too.
    func open(_ person: StaffPerson, on device: Device) async throws(Problem) -> (token: String, session: Session) {
        let now = clock.wallTime()
        let (token, session) = sessions.add(
            Session(role: person.role, name: person.name, person: person.id, on: device),
            at: now
        )
        activity.used[person.id] = now.millisecondsSince1970
        await storeActivity()
        do throws(JournalError) { try await sessions.keep(session, at: now) } catch { throw Problem(503, error.reason) }
        return (token, session)
    }

    // MARK: - Codes

    /// A new code for one person; an earlier one of theirs is void.
    /// - Returns: The code and the address that a phone opens with it.
    func makeCode(for id: String, by asker: Asker) throws(Problem) -> (
        code: SignInCode, url: String, person: StaffPerson
    ) {
        try checkReadable()
        guard let person = person(id) else { throw Self.notFound }
        guard asker.manages(person.role) else { throw Self.notYours }
        guard person.isEnabled else {
            throw Problem(
                409,
                "person_disabled",
                "This person is switched off, so there is no code for them.",
                "Switch them on first."
            )
        }
        let code = SignInCode(at: clock.elapsed())
        codes[id] = code
        // Browsers never send what stands behind the #.
        let certificate = compactFingerprint.isEmpty ? "" : "&cert=\(compactFingerprint)"
        return (code, "\(address())/#staff=\(code.grouped)\(certificate)", person)
    }

    /// Signs a browser in with a code, which is used up by it, and lets the browser in for that person's PIN.
    /// - Returns: What the browser's cookie holds from now on; nil where it was let in before, or that could not be stored.
    func useCode(
        _ text: String,
        at token: String?,
        on userAgent: String?,
        from peer: String
    ) async throws(Problem) -> (token: String, session: Session, browser: String?) {
        let now = clock.elapsed()
        codes = codes.filter { $0.value.expiresAt > now }
        let typed = SHA256.hash(data: Array(text.uppercased().filter { $0 != " " && $0 != "-" }.utf8))
        var found: String?
        // All are compared, each in the same time.
        for (id, code) in codes where SHA256.hash(data: Array(code.text.utf8)) == typed { found = id }
        guard let found, let person = person(found), person.isEnabled else {
            if let wait = strangers.take(peer, at: now) { throw .tooMany(wait) }
            throw Problem(
                403,
                "sign_in_code_wrong",
                "This code is used up, too old, or none.",
                "Ask for a new one: each signs in once, within two minutes."
            )
        }
        codes[found] = nil
        let known = browser(of: token)
        let opened = try await open(person, on: device(userAgent, known))
        // A counter stays one, and who has a PIN of their own there needs no second cookie.
        if let known, known.person == nil || known.person == found { return (opened.token, opened.session, nil) }
        do throws(Problem) {
            let cookie = try await letIn(opened.session.device, as: found, replacing: known, by: opened.session.who)
            return (opened.token, opened.session, cookie)
        } catch {
            logger.error(
                "the phone is signed in, but its PIN will not work",
                metadata: ["error": "\(error.reason.code)"]
            )
            return (opened.token, opened.session, nil)
        }
    }
}
