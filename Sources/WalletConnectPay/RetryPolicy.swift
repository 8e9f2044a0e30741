/// When a call to the merchant side is worth repeating, and after how long. A value: it decides and waits for nothing.
///
/// | the last try | read | create, under its key | cancel, mark refunded |
/// |---|---|---|---|
/// | did not leave | again | again | again |
/// | silence, 5xx, an answer that is none | again | again: the key makes one payment | again: both end the same way twice |
/// | 429 | after `Retry-After` | after `Retry-After` | after `Retry-After` |
/// | 4xx without a code of the gateway's | again | again | again |
/// | 4xx with one, an order that breaks a rule | never | never | never |
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `Idempotency-Key`, HTTP 429 with `Retry-After`.
public struct RetryPolicy: Sendable, Equatable {
    /// How often a call is repeated after its first try.
    public var retries: Int
    /// Before the first repetition; it doubles from there.
    public var firstPause: Duration
    /// No pause of our own is longer.
    public var longestPause: Duration
    /// A gateway that asks for a longer pause than this is not waited for: the caller gets the error, with the pause in it.
    public var longestObedience: Duration

    public init(
        retries: Int = 4,
        firstPause: Duration = .milliseconds(500),
        longestPause: Duration = .seconds(8),
        longestObedience: Duration = .seconds(60)
    ) {
        self.retries = retries
        self.firstPause = firstPause
        self.longestPause = longestPause
        self.longestObedience = longestObedience
    }

    /// No repetition at all.
    public static let never = RetryPolicy(retries: 0)

    /// How long to wait before the next try; nil where there shall be none.
    /// - Parameters:
    ///   - failures: How many tries have failed, this one included: 1 or more.
    ///   - spread: 0 to 1, drawn at random, so that terminals that failed together do not come back together.
    public func pause(after error: MerchantError, failures: Int, spread: Double) -> Duration? {
        guard failures <= retries else { return nil }
        switch error {
        case .invalid, .refused: return nil
        case .notSent, .noAnswer, .unclear, .strange: return ownPause(failures, spread)
        case .rateLimited(let retryAfter):
            guard let retryAfter else { return ownPause(failures, spread) }
            // Never less than asked for; a little more, so that not everybody comes back in the same instant.
            return retryAfter > longestObedience ? nil : retryAfter + firstPause * min(max(spread, 0), 1)
        }
    }

    /// Doubling pauses, the upper half of each left to chance.
    private func ownPause(_ failures: Int, _ spread: Double) -> Duration {
        var pause = firstPause
        for _ in 1..<max(failures, 1) where pause < longestPause { pause *= 2 }
        pause = min(pause, longestPause)
        return pause / 2 + pause / 2 * min(max(spread, 0), 1)
    }
}

/// A merchant client that repeats what may be repeated, by a ``RetryPolicy``.
///
/// For programs that ask and want an answer. Whoever keeps a record of every request uses ``MerchantClient`` and repeats by
/// that record.
public struct RetryingMerchant<C: Clock<Duration>>: Sendable {
    private let merchant: MerchantClient
    private let policy: RetryPolicy
    private let clock: C
    private let spread: @Sendable () -> Double

    /// - Parameter spread: Draws from 0 to 1 for the part of each pause that is left to chance.
    public init(
        _ merchant: MerchantClient,
        policy: RetryPolicy = RetryPolicy(),
        clock: C,
        spread: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        (self.merchant, self.policy, self.clock, self.spread) = (merchant, policy, clock, spread)
    }

    /// Makes a payment, or returns the one that was made under this key.
    /// - Throws: Where ``MerchantError/mayHaveTakenEffect`` a payment may exist: call again with the same order and key.
    ///   A refusal that follows such a try is thrown as `unclear`: it says nothing about what that try made.
    public func create(_ order: NewPayment, idempotencyKey: String) async throws(MerchantError) -> CreatedPayment {
        try await clearly { () throws(MerchantError) in try await merchant.create(order, idempotencyKey: idempotencyKey)
        }
    }

    /// Asks how a payment stands.
    public func status(of id: PaymentID, waitingUpTo wait: Duration? = nil) async throws(MerchantError) -> StatusReport
    {
        try await repeating { () throws(MerchantError) in try await merchant.status(of: id, waitingUpTo: wait) }
    }

    /// Asks the gateway to take a payment back. Returns how it stands then, also where an earlier try without an answer had
    /// ended it already and the gateway refuses the repetition.
    /// - Throws: Where ``MerchantError/mayHaveTakenEffect`` it may be cancelled: ask for its status.
    public func cancel(_ id: PaymentID) async throws(MerchantError) -> PaymentStatus {
        var isInTheDark = false
        let failure: MerchantError
        do throws(MerchantError) {
            return try await repeating({ isInTheDark = isInTheDark || $0.mayHaveTakenEffect }) {
                () throws(MerchantError) in try await merchant.cancel(id)
            }
        } catch { failure = error }
        guard isInTheDark, !failure.mayHaveTakenEffect else { throw failure }
        // The first try may be why it is refused: only the status tells.
        let status: PaymentStatus
        do throws(MerchantError) { status = try await self.status(of: id).status } catch {
            throw .unclear(detail: "a try without an answer, then \(failure.summary), then \(error.summary)")
        }
        guard status.isFinal else {
            throw .unclear(
                detail: "a try without an answer, then \(failure.summary); the payment is \(status.word) so far"
            )
        }
        return status
    }

    /// Marks a payment as refunded. A repetition that finds it marked is an answer like any other.
    /// - Throws: Where ``MerchantError/mayHaveTakenEffect`` it may be marked: call again. A refusal that follows such a try is
    ///   thrown as `unclear`: it says nothing about what that try did.
    public func markRefunded(_ id: PaymentID) async throws(MerchantError) -> RefundMark {
        try await clearly { () throws(MerchantError) in try await merchant.markRefunded(id) }
    }

    /// Everything the gateway says of one payment.
    public func payment(_ id: PaymentID) async throws(MerchantError) -> PaymentDetails {
        try await repeating { () throws(MerchantError) in try await merchant.payment(id) }
    }

    /// One page of this merchant's payments.
    public func payments(_ query: PaymentQuery) async throws(MerchantError) -> PaymentPage {
        try await repeating { () throws(MerchantError) in try await merchant.payments(query) }
    }

    /// All pages of this merchant's payments; each is asked for again where that may help.
    public func pages(_ query: PaymentQuery) -> PaymentPages {
        PaymentPages(query) { [self] query async throws(MerchantError) in try await payments(query) }
    }

    /// Repeats a call that changes something. After a try without an answer no error says that nothing happened.
    private func clearly<Value>(
        _ call: () async throws(MerchantError) -> Value
    ) async throws(MerchantError) -> Value {
        var isInTheDark = false
        do throws(MerchantError) {
            return try await repeating({ isInTheDark = isInTheDark || $0.mayHaveTakenEffect }, call)
        } catch {
            guard isInTheDark, !error.mayHaveTakenEffect else { throw error }
            throw .unclear(detail: "a try without an answer, then \(error.summary)")
        }
    }

    private func repeating<Value>(
        _ note: (MerchantError) -> Void = { _ in },
        _ call: () async throws(MerchantError) -> Value
    ) async throws(MerchantError) -> Value {
        var failures = 0
        while true {
            let failure: MerchantError
            do throws(MerchantError) { return try await call() } catch { failure = error }
            failures += 1
            note(failure)
            guard let pause = policy.pause(after: failure, failures: failures, spread: spread()) else { throw failure }
            do { try await clock.sleep(for: pause) } catch { throw failure }  // The task is cancelled.
        }
    }
}
