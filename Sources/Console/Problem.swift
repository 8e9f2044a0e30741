import Payments
import WebServer

/// Why a request was not done: a status, a stable code, and two sentences for a cashier. Nothing happened by it.
struct Problem: Error, Sendable, Equatable {
    var status: Int
    var reason: Reason
    /// What is wrong with each field of a form.
    var fields: [String: Reason] = [:]
    /// The charge that stands in the way.
    var chargeID: ChargeID?
    var retryAfter: Duration?
    /// The methods that the address does take.
    var allowed: [String] = []

    init(_ status: Int, _ code: String, _ message: String, _ action: String) {
        self.init(status, Reason(code: code, message: message, action: action))
    }

    init(_ status: Int, _ reason: Reason) { (self.status, self.reason) = (status, reason) }

    /// One field of a form is wrong.
    static func field(_ name: String, _ reason: Reason) -> Problem {
        var problem = Problem(422, reason)
        problem.fields = [name: reason]
        return problem
    }

    var response: WebResponse {
        var body = JSON.parts(of: reason)
        if !fields.isEmpty {
            body["fields"] = .object(
                fields.mapValues { .reason($0) }
            )
        }
        if let chargeID { body["chargeID"] = .string(chargeID.rawValue) }
        var headers: WebHeaders = [:]
        if let retryAfter { headers.add("Retry-After", String(max(1, retryAfter.components.seconds + 1))) }
        if !allowed.isEmpty { headers.add("Allow", allowed.joined(separator: ", ")) }
        return .json(JSON.object(body).text, status: status, headers: headers)
    }

    static let notSignedIn = Problem(401, "not_signed_in", "You are not signed in.", "Sign in and try again.")
    static let notFound = Problem(404, "not_found", "There is nothing at this address.", "Use the terminal's own page.")
    static let notClaimed = Problem(
        403,
        "not_claimed",
        "This terminal has no owner yet.",
        "Claim it first with the code on its screen."
    )
    static let otherOrigin = Problem(
        403,
        "other_origin",
        "This request does not come from the terminal's own page.",
        "Open the terminal's page and try again."
    )

    static let tokenNeeded = Problem(
        401,
        "token_needed",
        "This needs a good token of this terminal. Nothing was done.",
        "Send it as Authorization: Bearer …; the owner makes one in the settings."
    )
    static let twoCredentials = Problem(
        400,
        "two_credentials",
        "The request has a session and a token, and they may not be the same one's. Nothing was done.",
        "Send the token alone."
    )

    /// A token's own requests come faster than any till needs.
    static func tooFast(_ wait: Duration) -> Problem {
        var problem = Problem(
            429,
            "too_many_requests",
            "This token asks more often than the terminal answers. Nothing was done.",
            "Send it again after the pause, with the same Idempotency-Key; wait for changes instead of asking often."
        )
        problem.retryAfter = wait
        return problem
    }

    static func tooMany(_ wait: Duration) -> Problem {
        let seconds = wait.components.seconds + 1
        var problem = Problem(
            429,
            Reason(
                code: "too_many_tries",
                message: "There were too many wrong tries.",
                action: "Wait \(seconds) seconds, then try again.",
                values: ["seconds": String(seconds)]
            )
        )
        problem.retryAfter = wait
        return problem
    }
}
