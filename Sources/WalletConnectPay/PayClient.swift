/// How a wallet says who it is. The gateway takes one way or the other, never both.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `securitySchemes`.
public enum WalletCredentials: Sendable, Equatable {
    /// The wallet's project at WalletConnect, and this installation of the wallet: any stable text.
    case app(id: String, clientID: String)
    case apiKey(Secret)

    var headers: [HTTPRequest.Header] {
        switch self {
        case .app(let id, let clientID):
            [HTTPRequest.Header("App-Id", id), HTTPRequest.Header("Client-Id", clientID)]
        case .apiKey(let key): [HTTPRequest.Header("Api-Key", key.reveal())]
        }
    }
}

/// The wallet side of WalletConnect Pay: finds out what a payment can be paid with, and pays it.
///
/// A value: copies ask the same gateway and share what they remember. Nothing runs between its calls, and no call outlives
/// its task. It sends no telemetry and does not name the wallet to the gateway.
/// Source: WalletConnect Pay API 2026-02-19.preview, tag Gateway; the official SDK for iOS for its shape.
public struct PayClient: Sendable {
    private let base: GatewayAddress
    private let headers: [HTTPRequest.Header]
    private let transport: any HTTPTransport
    private let hosts: LinkHosts
    private let clock: any Clock<Duration>
    private let retries: Int
    private let log: (@Sendable (String) -> Void)?
    private let memory = OptionMemory()

    /// - Parameters:
    ///   - baseURL: `https://…`, with or without `/v1`; plain `http` to this machine only.
    ///   - linkHosts: Hosts that a payment link may point to.
    ///   - clock: Paces polling and retries. The time of day is never asked for, so a clock that is wrong does not matter.
    ///   - retries: How often a call is repeated after silence, a 5xx or a 429. The gateway takes every call of this
    ///     client again without acting twice.
    ///   - log: Gets a line for each exchange: method, path, status. No account, signature or key.
    /// - Throws: `PayError.unclear` where `baseURL` is no gateway address.
    public init(
        baseURL: String,
        credentials: WalletCredentials,
        transport: any HTTPTransport,
        linkHosts: LinkHosts = .walletConnectPay,
        clock: any Clock<Duration> = ContinuousClock(),
        retries: Int = 5,
        log: (@Sendable (String) -> Void)? = nil
    ) throws(PayError) {
        guard let base = GatewayAddress(baseURL) else { throw .unclear(detail: "not a gateway address") }
        self.base = base
        self.transport = transport
        self.clock = clock
        self.retries = retries
        self.log = log
        hosts = linkHosts
        headers =
            credentials.headers + [
                HTTPRequest.Header("WCP-Version", MerchantClient.usualVersion),
                HTTPRequest.Header("Accept", "application/json"),
            ]
    }

    /// A client that was not set up right: its calls send nothing and say why.
    init(failing error: ConfigError) {
        base = .production
        headers = []
        transport = NoTransport(error: error)
        hosts = .walletConnectPay
        clock = ContinuousClock()
        (retries, log) = (0, nil)
    }

    /// A client that asks once and leaves it to its caller to ask again.
    /// - Parameters:
    ///   - appID: The wallet's project at WalletConnect, sent with `clientID`.
    ///   - clientID: This installation of the wallet; any stable text.
    /// - Throws: `PayError.unclear` where `baseURL` is no gateway address.
    public init(
        baseURL: String,
        appID: String,
        clientID: String,
        transport: any HTTPTransport,
        linkHosts: LinkHosts = .walletConnectPay
    ) throws(PayError) {
        try self.init(
            baseURL: baseURL,
            credentials: .app(id: appID, clientID: clientID),
            transport: transport,
            linkHosts: linkHosts,
            retries: 0
        )
    }

    /// What the accounts can pay the link's payment with.
    /// - Parameters:
    ///   - accounts: CAIP-10, on as many chains as the wallet has.
    ///   - includesInfo: Asks for ``PaymentOptions/info`` too.
    /// - Throws: Nothing has happened, whatever it says; ask again.
    public func options(
        link: String,
        accounts: [String],
        includesInfo: Bool = true
    ) async throws(PayError) -> PaymentOptions {
        let id: PaymentID
        do throws(PaymentLink.Refusal) { id = try PaymentLink(link, hosts: hosts).paymentID } catch {
            throw .invalidLink(error)
        }
        let answer: WireOptions = try await post(
            "/gateway/payment/\(id)/options?includePaymentInfo=\(includesInfo)",
            WireOptionsRequest(accounts: accounts)
        )
        let (options, unreadable) = answer.readOptions
        // Nothing to choose from would read as too little money.
        guard unreadable == 0 || !options.isEmpty else {
            throw .unclear(detail: "none of the \(unreadable) options is as documented")
        }
        if unreadable > 0 { log?("\(unreadable) of \(unreadable + options.count) options are not as documented") }
        memory.keep(options, of: id)
        return PaymentOptions(
            paymentID: id,
            info: answer.info?.info,
            options: options,
            collectData: answer.collectDataAction,
            result: answer.resultInfo?.value?.result,
            unreadableOptions: unreadable
        )
    }

    /// The wallet calls that an option needs, in order, with every `build` step resolved.
    /// - Throws: Nothing has happened, whatever it says. After a refusal ask for the options again: they may have changed.
    public func requiredActions(paymentID: PaymentID, option: PaymentOption) async throws(PayError) -> [WalletRPC] {
        try await calls(of: option.steps, paymentID: paymentID, optionID: option.id)
    }

    /// The same for an option by its name; what ``options(link:accounts:includesInfo:)`` said about it is remembered.
    func requiredActions(paymentID: PaymentID, optionID: String) async throws(PayError) -> [WalletRPC] {
        try await calls(of: memory.steps(of: optionID, paymentID), paymentID: paymentID, optionID: optionID)
    }

    private func calls(
        of steps: [PaymentStep],
        paymentID: PaymentID,
        optionID: String
    ) async throws(PayError) -> [WalletRPC] {
        var calls: [WalletRPC] = []
        for step in steps.isEmpty ? [.build(data: "")] : steps {
            switch step {
            case .call(let call): calls.append(call)
            case .unrecognised(let kind): throw .unclear(detail: "a step of the unknown kind '\(kind)'")
            case .build(let data):
                let answer: WireActions = try await post(
                    "/gateway/payment/\(paymentID)/fetch",
                    WireFetch(optionId: optionID, data: data)
                )
                for built in answer.actions {
                    switch built.step {
                    case .call(let call)?: calls.append(call)
                    case .build?: throw .unclear(detail: "a build step that leads to another one")
                    case .unrecognised(let kind)?: throw .unclear(detail: "a step of the unknown kind '\(kind)'")
                    case nil: throw .unclear(detail: "a wallet action without its chain or method")
                    }
                }
            }
        }
        return calls
    }

    /// Hands the signatures over, one for each action and in their order, and waits for the gateway's last word.
    ///
    /// The gateway's own flag ends the wait, whatever the status beside it: ``PaymentStatus/isFinal`` says whether that status
    /// is an outcome. An end that the flag calls not final is asked about again. The call takes as long as `limit`, and up to
    /// twenty seconds more where the gateway falls silent at the end.
    /// Source: yttrium, `pay/mod.rs`, `confirm_payment`.
    /// - Parameters:
    ///   - collectedData: Answers to ``CollectDataAction/fields``; nil after a form, which hands them over itself.
    ///   - limit: How long to wait in all; nil is an hour.
    /// - Throws: `refused`, `rateLimited`, `notSent`: nothing was paid by this call. All others: it may have been; ask
    ///   ``status(of:waits:)``.
    public func confirm(
        paymentID: PaymentID,
        optionID: String,
        signatures: [String],
        collectedData: [CollectDataFieldResult]? = nil,
        waitingUpTo limit: Duration? = nil
    ) async throws(PayError) -> StatusReport {
        let request = WireConfirm(
            optionId: optionID,
            results: signatures.map { WireConfirm.Result(data: [$0]) },
            collectedData: collectedData.map { answers in
                WireConfirm.Collected(fields: answers.map { WireConfirm.Field(id: $0.id, value: $0.value) })
            }
        )
        return try await follow(paymentID, request, limit ?? Self.longestWait, clock)
    }

    /// How a payment stands.
    /// - Parameter waits: Lets the gateway hold the answer back until the status changes, for 20 seconds at most.
    public func status(of id: PaymentID, waits: Bool = false) async throws(PayError) -> StatusReport {
        try await status(of: id, heldFor: waits ? Self.longestPoll : nil, Effort(clock: clock, retries: retries))
    }
}

// MARK: - Polling

extension PayClient {
    private static let longestPoll = Duration.seconds(20)
    /// Time for an answer beyond what a long poll may take.
    private static let margin = Duration.seconds(10)
    /// A gateway that asks for less is not asked in a tight loop.
    private static let shortestPause = Duration.milliseconds(100)
    /// The end of a confirmation whose caller sets no limit: a gateway that never comes to an end holds no wallet for ever.
    private static let longestWait = Duration.seconds(3600)

    private func follow<C: Clock<Duration>>(
        _ id: PaymentID,
        _ request: WireConfirm,
        _ limit: Duration,
        _ clock: C
    ) async throws(PayError) -> StatusReport {
        let started = clock.now
        func remaining() -> Duration { max(.zero, limit - started.duration(to: clock.now)) }

        var effort = Effort(clock: clock, retries: retries, limit: limit)
        var report = try await confirm(id, request, min(Self.longestPoll, limit), &effort)
        while !report.isFinal {
            if remaining() == .zero { throw .pollingTimeout(after: started.duration(to: clock.now)) }
            let pause = max(report.pollAfter ?? .seconds(1), Self.shortestPause)
            do { try await clock.sleep(for: min(pause, remaining())) } catch { throw .cancelled }
            let left = remaining()
            do throws(PayError) {
                report = try await status(
                    of: id,
                    heldFor: min(Self.longestPoll, left),
                    Effort(clock: clock, retries: retries, limit: left)
                )
            } catch {
                // The signatures are with the gateway: no error from here on may say that nothing was paid.
                switch error {
                case .notSent: throw .noAnswer(after: started.duration(to: clock.now))
                case .refused, .rateLimited: throw .unclear(detail: "confirmed, then \(error.text)")
                case .invalidLink, .noAnswer, .unclear, .pollingTimeout, .cancelled: throw error
                }
            }
        }
        return report
    }

    /// After an answer that says neither yes nor no the payment's status is asked for.
    /// - Throws: `refused` only where the payment is known not to have been confirmed by an earlier try.
    private func confirm(
        _ id: PaymentID,
        _ body: WireConfirm,
        _ hold: Duration,
        _ effort: inout Effort
    ) async throws(PayError) -> StatusReport {
        let path = "/gateway/payment/\(id)/confirm?maxPollMs=\(hold.milliseconds)"
        let refusal: PayError
        do throws(PayError) {
            let request = try post(path, body, timeout: hold + Self.margin)
            let answer: WireStatus = try await exchange(request, &effort)
            return answer.report
        } catch {
            guard effort.mayHaveTakenEffect else { throw error }
            switch error {
            case .refused, .rateLimited, .notSent: refusal = error
            case .unclear where effort.hasUnreadableAnswer:
                return try await standing(
                    of: id,
                    after: error,
                    Effort(clock: clock, retries: retries, limit: effort.limit)
                )
            default: throw error
            }
        }
        // A try before this one got no answer: it may be what made the gateway refuse. How the payment stands tells.
        let report: StatusReport
        do throws(PayError) {
            report = try await status(of: id, heldFor: nil, Effort(clock: clock, retries: 0))
        } catch {
            throw .unclear(detail: "\(refusal), after a try that got no answer")
        }
        switch report.status {
        case .requiresAction, .expired, .cancelled: throw refusal
        case .processing, .succeeded, .failed, .unrecognised: return report
        }
    }

    /// How the payment stands after a "yes" to the confirmation that cannot be read.
    /// - Throws: `unreadable` where that is not to be had, or where the payment waits as if there had been no confirmation.
    private func standing(
        of id: PaymentID,
        after unreadable: PayError,
        _ effort: Effort
    ) async throws(PayError) -> StatusReport {
        let report: StatusReport
        do throws(PayError) { report = try await status(of: id, heldFor: nil, effort) } catch {
            throw error == .cancelled ? PayError.cancelled : unreadable
        }
        guard report.status != .requiresAction else { throw unreadable }
        return report
    }

    private func status(
        of id: PaymentID,
        heldFor hold: Duration?,
        _ effort: Effort
    ) async throws(PayError) -> StatusReport {
        let path = "/gateway/payment/\(id)/status" + (hold.map { "?maxPollMs=\($0.milliseconds)" } ?? "")
        let timeout = (hold ?? .zero) + Self.margin
        var effort = effort
        let answer: WireStatus = try await exchange(
            HTTPRequest(method: .get, url: base.url(path), headers: headers, timeout: timeout),
            &effort
        )
        return answer.report
    }
}

// MARK: - One call

/// How hard a call is tried, and what became of the tries.
private struct Effort {
    let clock: any Clock<Duration>
    var retries: Int
    /// After that no try begins.
    var limit: Duration?
    /// A try got no answer that excludes an effect.
    var mayHaveTakenEffect = false
    /// The last try got a "yes" that is not as documented.
    var hasUnreadableAnswer = false

    init(clock: any Clock<Duration>, retries: Int, limit: Duration? = nil) {
        (self.clock, self.retries, self.limit) = (clock, retries, limit)
    }
}

extension PayClient {
    private func post(_ path: String, _ body: some WireType, timeout: Duration) throws(PayError) -> HTTPRequest {
        let bytes: [UInt8]
        do { bytes = try body.encoded() } catch { throw .unclear(detail: "the request cannot be written as JSON") }
        let json = HTTPRequest.Header("Content-Type", "application/json")
        return HTTPRequest(
            method: .post,
            url: base.url(path),
            headers: headers + [json],
            body: bytes,
            timeout: timeout
        )
    }

    private func post<Answer: Decodable>(_ path: String, _ body: some WireType) async throws(PayError) -> Answer {
        var effort = Effort(clock: clock, retries: retries)
        return try await exchange(try post(path, body, timeout: .seconds(15)), &effort)
    }

    private func exchange<Answer: Decodable>(
        _ request: HTTPRequest,
        _ effort: inout Effort
    ) async throws(PayError) -> Answer {
        try await exchange(request, &effort, effort.clock)
    }

    /// Tries until there is an answer that another try would not change.
    /// Source: yttrium, `with_retry`: what is repeated and after how long.
    private func exchange<Answer: Decodable, C: Clock<Duration>>(
        _ request: HTTPRequest,
        _ effort: inout Effort,
        _ clock: C
    ) async throws(PayError) -> Answer {
        let started = clock.now
        var request = request
        var attempt = 0
        while true {
            let body: [UInt8]
            do throws(PayError) {
                body = try await send(request)
            } catch {
                switch error {
                case .notSent, .rateLimited: break
                case .noAnswer, .unclear: effort.mayHaveTakenEffect = true
                case .refused, .invalidLink, .pollingTimeout, .cancelled: throw error
                }
                attempt += 1
                let pause = Self.pause(before: attempt, error)
                let elapsed = started.duration(to: clock.now)
                guard attempt <= effort.retries, effort.limit.map({ elapsed + pause < $0 }) ?? true else { throw error }
                do { try await clock.sleep(for: pause) } catch { throw .cancelled }
                if let limit = effort.limit {
                    let left = max(.zero, limit - started.duration(to: clock.now))
                    request.timeout = min(request.timeout, left + Self.margin)
                }
                continue
            }
            do { return try WalletAnswer.decode(body) } catch {
                (effort.mayHaveTakenEffect, effort.hasUnreadableAnswer) = (true, true)
                throw .unclear(detail: "an answer with a body that is not as documented")
            }
        }
    }

    /// One exchange. Returns the body of an answer that says yes.
    private func send(_ request: HTTPRequest) async throws(PayError) -> [UInt8] {
        let response: HTTPResponse
        do throws(TransportError) { response = try await transport.send(request) } catch {
            log?("\(request.method.rawValue) \(request.url) → \(error)")
            throw error == .cancelled ? .cancelled : PayError(MerchantError(error))
        }
        log?("\(request.method.rawValue) \(request.url) → \(response.status)")
        guard (200..<300).contains(response.status) else { throw PayError(MerchantError(response, needsCode: false)) }
        return response.body
    }

    /// One second, then two; a gateway that names its own time is heard up to two seconds.
    private static func pause(before attempt: Int, _ failure: PayError) -> Duration {
        if case .rateLimited(let named?) = failure { return min(named, .seconds(2)) }
        return .seconds(min(attempt, 2))
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
