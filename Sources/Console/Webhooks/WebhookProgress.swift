import Payments

/// Why a message did not arrive.
struct WebhookFailure: Sendable, Codable, Equatable {
    enum Kind: String, Sendable, Codable {
        case gone, refused, redirected, unreachable, silent, tooLarge, notAllowed, noSecret
    }

    let kind: Kind
    /// What the other side answered, where it did.
    var status: Int?
    var objection: WebhookObjection?

    /// Nil where the message has arrived.
    init?(_ answer: WebhookAnswer) {
        switch answer {
        case .status(200..<300, _): return nil
        case .status(410, _): (kind, status) = (.gone, 410)
        case .status(let status, _):
            (kind, self.status) = ((300..<400).contains(status) ? .redirected : .refused, status)
        case .notSent: kind = .unreachable
        case .silence: kind = .silent
        case .tooLarge: kind = .tooLarge
        case .notAllowed(let objection): (kind, self.objection) = (.notAllowed, objection)
        }
    }

    init(_ kind: Kind) { self.kind = kind }

    var reason: Reason {
        let status = ["status": String(status ?? 0)]
        return switch kind {
        case .gone:
            Reason(
                code: "webhook_gone",
                message: "The receiver says that it is gone for good (410). Nothing is sent there any more.",
                action: "Ask whoever runs it, then switch it on again or delete it."
            )
        case .refused:
            Reason(
                code: "webhook_refused",
                message: "The receiver does not take the message (\(self.status ?? 0)). It is sent again.",
                action: "Look into the receiver’s log: it has to answer with 200.",
                values: status
            )
        case .redirected:
            Reason(
                code: "webhook_redirected",
                message: "The receiver points elsewhere (\(self.status ?? 0)), where the terminal does not follow.",
                action: "Make a webhook with the address it points to.",
                values: status
            )
        case .unreachable:
            Reason(
                code: "webhook_unreachable",
                message: "Nobody answers at this address. The message is sent again.",
                action: "Check the address, its certificate, and the network."
            )
        case .silent:
            Reason(
                code: "webhook_silent",
                message: "The receiver did not answer in time. The message is sent again.",
                action: "Have it answer at once and do its work afterwards."
            )
        case .tooLarge:
            Reason(
                code: "webhook_too_large",
                message: "The receiver answers more than the terminal reads. The message is sent again.",
                action: "Have it answer with a status alone."
            )
        case .notAllowed: WebhookFailure.reason(objection ?? .place)
        case .noSecret:
            Reason(
                code: "webhook_secret_missing",
                message: "Its secret cannot be read, so nothing can be signed. Nothing is sent.",
                action: "Delete it and make it anew."
            )
        }
    }

    static func reason(_ objection: WebhookObjection) -> Reason {
        switch objection {
        case .notAnAddress:
            Reason(
                code: "webhook_address",
                message: "This is not an address that messages can be sent to.",
                action: "Enter one such as https://shop.example/till, without a user name and without #."
            )
        case .plainHTTP:
            Reason(
                code: "webhook_plain",
                message: "Unencrypted messages stay in the shop’s own network.",
                action: "Use https://, or the receiver’s address in the shop’s network."
            )
        case .place:
            Reason(
                code: "webhook_place",
                message: "This address leads to the terminal itself or to a place no shop has a server at.",
                action: "Enter the receiver’s own address."
            )
        }
    }
}

/// How far a webhook has come, and when it is tried again. A value that decides: no clock, no I/O.
struct WebhookProgress: Sendable, Codable, Equatable {
    struct Sent: Sendable, Codable, Equatable {
        let at: WallTime
        let number: Int64
    }

    struct Failed: Sendable, Codable, Equatable {
        let at: WallTime
        let failure: WebhookFailure
    }

    enum Off: String, Sendable, Codable {
        /// The other side said so.
        case gone
        /// Nothing arrived for days.
        case givenUp
    }

    /// Up to this entry everything has arrived that was wanted.
    var sequence: Int64
    private(set) var failures = 0
    private(set) var failingSince: WallTime?
    private(set) var delivered: Sent?
    private(set) var failed: Failed?
    private(set) var off: Off?
    /// Until then it waits; nil where it does not. Kept, so that a start of the terminal changes nothing of it.
    private(set) var nextTry: WallTime?

    init(after sequence: Int64) { self.sequence = sequence }

    static let delays: [Duration] = [5, 30, 120, 600, 1800, 3600, 7200, 14_400].map { .seconds($0) }
    /// A fifth more than the last delay.
    static let longestDelay = Duration.seconds(17_280)
    /// Both: neither a clock that jumps nor a terminal that restarts again and again is days of silence.
    static let mostFailures = 30
    static let longestFailing = Duration.seconds(5 * 86_400)

    mutating func arrived(_ number: Int64, at time: WallTime) {
        sequence = number
        delivered = Sent(at: time, number: number)
        noteAnswer()
    }

    /// The receiver is back.
    mutating func noteAnswer() {
        failures = 0
        failingSince = nil
        failed = nil
        nextTry = nil
    }

    /// Takes a try that failed. The one at a start of the terminal comes before its time and counts for nothing: the wait that was
    /// written down goes on.
    /// - Parameters:
    ///   - retryAfter: Seconds for which the other side asks to be left alone.
    ///   - chance: 0 to 1: many terminals do not come back at the same moment.
    ///   - isAtStart: Whether it is the first try of this run.
    /// - Returns: When to try again; nil where it is switched off.
    mutating func fail(
        _ failure: WebhookFailure,
        at time: WallTime,
        retryAfter: Int64?,
        chance: Double,
        isAtStart: Bool = false
    ) -> Duration? {
        failed = Failed(at: time, failure: failure)
        let asked = Duration.seconds(min(max(retryAfter ?? 0, 0), 14_400))
        if isAtStart, let nextTry, failure.kind != .gone {
            // A clock that was set meanwhile makes the wait neither longer than it can be nor none at all.
            let left = max(min(time.duration(to: nextTry), Self.longestDelay), Self.delays[0], asked)
            self.nextTry = time.advanced(by: left)
            return left
        }
        failures += 1
        let since = failingSince ?? time
        failingSince = since
        if failure.kind == .gone {
            off = .gone
        } else if failures >= Self.mostFailures, since.duration(to: time) >= Self.longestFailing {
            off = .givenUp
        }
        guard off == nil else {
            nextTry = nil
            return nil
        }
        let delay = Self.delays[min(failures, Self.delays.count) - 1]
        let wait = max(delay * (0.8 + 0.4 * chance), asked)
        nextTry = time.advanced(by: wait)
        return wait
    }

    /// Somebody has looked after it.
    mutating func resume() {
        off = nil
        noteAnswer()
    }

    /// Why it is switched off; nil where it is not.
    var offReason: Reason? {
        switch off {
        case nil: nil
        case .gone: WebhookFailure(.gone).reason
        case .givenUp:
            Reason(
                code: "webhook_given_up",
                message: "Nothing has arrived there for days. Nothing is sent any more; what happened is kept.",
                action: "Mend the receiver, send a test, then switch it on again."
            )
        }
    }
}
