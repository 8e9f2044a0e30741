import Foundation
import Payments
import WebServer

/// What every request has to pass before anything looks at what it wants. All of it in one place, in order.
///
/// Source: OWASP ASVS 5.0, 3.5.1 to 3.5.3 (cross-site requests), 4.1.1 (content type), 7.2 (sessions), 8.2 (roles).
struct Gate: Sendable {
    /// A request that passed, with who sent it.
    struct Pass: Sendable {
        let route: Route
        let request: WebRequest
        let token: String?
        let session: Session?
        /// Stands in for the request's own body where a part of it is handed on.
        var part: [UInt8]?

        var body: [UInt8] { part ?? request.body }

        /// A program's own way in; it has no session then.
        let program: AccessToken?

        init(
            route: Route,
            request: WebRequest,
            token: String? = nil,
            session: Session? = nil,
            program: AccessToken? = nil
        ) {
            (self.route, self.request, self.token, self.session) = (route, request, token, session)
            self.program = program
        }

        /// Whether the program may see and change the charges alone that it opened.
        var hasOwnChargesOnly: Bool { program.map { !$0.scopes.contains(.charges) } ?? false }

        /// On whose behalf it is done, for the journal and the audit log.
        var who: Payments.Actor {
            if let program { return .till(token: program.name) }
            return session?.who ?? .stranger
        }
    }

    static let cookie = "__Host-till"
    /// Of a browser that was let in for PINs. It signs nobody in.
    static let browserCookie = "__Host-till-browser"

    let sessions: Sessions

    func check(_ request: WebRequest, isClaimed: Bool, now: WallTime) throws(Problem) -> Pass {
        let route = try Route(request.method, request.path, query: request.query)
        try checkOrigin(request, isNeeded: route.changesState)
        try checkSite(request)
        if route.changesState { try checkContentType(request) }
        guard isClaimed || route == .session || route == .claim else { throw .notClaimed }

        let token = request.cookies[Self.cookie]
        let session = sessions.session(of: token, at: now)
        if route.isOpen { return Pass(route: route, request: request, token: token, session: session) }
        guard let session, let token else { throw .notSignedIn }
        guard route.roles.contains(session.role) else {
            throw Problem(403, "not_allowed", "Your role does not include this.", "Ask the owner to do it.")
        }
        if route.changesState, !Sessions.isValid(csrfToken: request.header("X-CSRF-Token"), of: token) {
            throw Problem(
                403,
                "csrf_token_wrong",
                "This request does not come from a page that is up to date.",
                "Reload the page and try again."
            )
        }
        guard !route.needsProof || session.isProved(at: now) else { throw Proof.needed }
        return Pass(route: route, request: request, token: token, session: session)
    }

    /// The token of a program. It has no page and no cookie, so nobody can make a browser send its requests; where it has an
    /// origin all the same, that must be this terminal's own.
    func program(_ request: WebRequest, tokens: TokenDesk) async throws(Problem) -> AccessToken {
        guard request.cookies[Self.cookie] == nil else { throw .twoCredentials }
        try checkOrigin(request, isNeeded: false)
        try checkSite(request)
        switch await tokens.check(Self.shownToken(request), from: request.peerAddress) {
        case .granted(let token):
            if let wait = await tokens.take(token) { throw .tooFast(wait) }
            return token
        case .tooOften(let wait):
            var problem = Problem(
                429,
                "too_many_tries",
                "There were too many tries without a good token. Nothing was done.",
                "Wait, then use a token of this terminal."
            )
            problem.retryAfter = wait
            throw problem
        case .refused: throw .tokenNeeded
        }
    }

    /// The text of the token that a request shows; nil where it shows none, or two.
    static func shownToken(_ request: WebRequest) -> String? {
        let fields = request.headers("Authorization")
        return fields.count == 1 && fields[0].lowercased().hasPrefix("bearer ") ? String(fields[0].dropFirst(7)) : nil
    }

    /// What a program asks for. Nothing is said of an address before its token was found good.
    /// - Parameter hasBody: Whether it has a body, which may be on its way still.
    func check(_ request: WebRequest, of token: AccessToken, hasBody: Bool) throws(Problem) -> Pass {
        let route = try Route(request.method, request.path, query: request.query)
        if route.changesState, hasBody { try checkContentType(request) }
        guard let scope = route.scope else {
            throw Problem(
                403,
                "not_for_tokens",
                "This is for people who are signed in, and not for programs. Nothing was done.",
                "Use the terminal's own page."
            )
        }
        guard token.scopes.contains(scope) || scope == .charges && token.scopes.contains(.ownCharges) else {
            throw Self.scopeMissing(scope)
        }
        return Pass(route: route, request: request, program: token)
    }

    static func scopeMissing(_ scope: TokenScope) -> Problem {
        Problem(
            403,
            "scope_missing",
            "This token does not include \(scope.rawValue). Nothing was done.",
            "Ask the owner for a token that does."
        )
    }

    /// The page that sends it is this terminal's own: same scheme, name and port. Browsers send no origin with a page's own
    /// questions, so it may be missing there; for whatever changes something a missing one is refused too.
    private func checkOrigin(_ request: WebRequest, isNeeded: Bool) throws(Problem) {
        let origins = request.headers("Origin")
        guard isNeeded || !origins.isEmpty else { return }
        guard origins.count == 1, let host = request.header("Host"),
            origins[0].lowercased() == (request.isSecure ? "https://" : "http://") + host.lowercased()
        else { throw .otherOrigin }
    }

    /// What browsers say by themselves. Source: W3C Fetch Metadata, `Sec-Fetch-Site`.
    private func checkSite(_ request: WebRequest) throws(Problem) {
        guard let site = request.header("Sec-Fetch-Site") else { return }
        guard site == "same-origin" || site == "none" else { throw .otherOrigin }
    }

    private func checkContentType(_ request: WebRequest) throws(Problem) {
        let types = request.headers("Content-Type")
        let type = types.first?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        guard types.count == 1, type == "application/json" else {
            throw Problem(
                415,
                "content_type_wrong",
                "The request is not marked as JSON. Nothing was done.",
                "Send it with Content-Type: application/json."
            )
        }
    }
}
