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

        /// On whose behalf it is done, for the journal and the audit log.
        var who: Payments.Actor { session?.who ?? .stranger }
    }

    static let cookie = "__Host-till"

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
        return Pass(route: route, request: request, token: token, session: session)
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
