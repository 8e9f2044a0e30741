/// The wallet side of WalletConnect Pay: finds out what a payment can be paid with, and pays it.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, tag Gateway; the official SDK for iOS for its shape.
public struct PayClient: Sendable {
    private let base: BaseURL
    private let headers: [HTTPRequest.Header]
    private let transport: any HTTPTransport
    private let hosts: LinkHosts

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
        guard let base = BaseURL(baseURL) else { throw .unclear(detail: "not a gateway address") }
        self.base = base
        self.transport = transport
        hosts = linkHosts
        headers = [
            HTTPRequest.Header("App-Id", appID), HTTPRequest.Header("Client-Id", clientID),
            HTTPRequest.Header("WCP-Version", MerchantClient.version), HTTPRequest.Header("Accept", "application/json"),
        ]
    }

    /// What the accounts can pay the link's payment with.
    /// - Parameter accounts: CAIP-10, on as many chains as the wallet has.
    public func options(link: String, accounts: [String]) async throws(PayError) -> PaymentOptions {
        let id: PaymentID
        do throws(PaymentLink.Refusal) { id = try PaymentLink(link, hosts: hosts).paymentID } catch {
            throw .invalidLink(error)
        }
        let answer: WireOptions = try await post(
            "/gateway/payment/\(id)/options?includePaymentInfo=true",
            WireOptionsRequest(accounts: accounts)
        )
        var options: [PaymentOption] = []
        for option in answer.options ?? [] {
            var actions: [PaymentAction] = []
            for action in option.actions { actions.append(try action.action()) }
            options.append(
                PaymentOption(
                    id: option.id,
                    account: option.account,
                    amount: option.amount.amount,
                    etaSeconds: option.etaS ?? 0,
                    expiresAtSeconds: option.expiresAt,
                    actions: actions
                )
            )
        }
        return PaymentOptions(paymentID: id, info: answer.info?.info, options: options)
    }

    /// The wallet calls that an option needs, in order, with every `build` step resolved.
    public func requiredActions(paymentID: PaymentID, option: PaymentOption) async throws(PayError) -> [WalletRPC] {
        var calls: [WalletRPC] = []
        for action in option.actions.isEmpty ? [.build(data: "")] : option.actions {
            switch action {
            case .walletRPC(let call): calls.append(call)
            case .build(let data):
                let answer: WireActions = try await post(
                    "/gateway/payment/\(paymentID)/fetch",
                    WireFetch(optionId: option.id, data: data)
                )
                for built in answer.actions {
                    guard case .walletRPC(let call) = try built.action() else {
                        throw .unclear(detail: "a build step that leads to another one")
                    }
                    calls.append(call)
                }
            }
        }
        return calls
    }

    /// Hands the signatures over, one for each action and in their order, and waits until the payment is final.
    /// - Parameter limit: How long to wait in all; nil waits for as long as the gateway says it is under way.
    public func confirm(
        paymentID: PaymentID,
        optionID: String,
        signatures: [String],
        waitingUpTo limit: Duration? = nil,
        clock: some Clock<Duration> = ContinuousClock()
    ) async throws(PayError) -> StatusReport {
        let started = clock.now
        let request = WireConfirm(optionId: optionID, results: signatures.map { WireConfirm.Result(data: [$0]) })
        let answer: WireStatus = try await post(
            "/gateway/payment/\(paymentID)/confirm?maxPollMs=\(Self.longPollMilliseconds)",
            request,
            timeout: Self.longPollTimeout
        )
        var report = answer.report
        while !report.status.isFinal {
            let elapsed = started.duration(to: clock.now)
            if let limit, elapsed >= limit { throw .pollingTimeout(after: elapsed) }
            do { try await clock.sleep(for: report.pollAfter ?? .seconds(1)) } catch { throw .cancelled }
            report = try await status(of: paymentID, waits: true)
        }
        return report
    }

    /// How a payment stands.
    /// - Parameter waits: Lets the gateway hold the answer back until the status changes.
    public func status(of id: PaymentID, waits: Bool = false) async throws(PayError) -> StatusReport {
        let path = "/gateway/payment/\(id)/status" + (waits ? "?maxPollMs=\(Self.longPollMilliseconds)" : "")
        let answer: WireStatus = try await exchange(
            HTTPRequest(method: .get, url: base.url(path), headers: headers, timeout: Self.longPollTimeout)
        )
        return answer.report
    }

    private static let longPollMilliseconds = 20_000
    private static let longPollTimeout = Duration.seconds(30)

    private func post<Answer: WireType>(
        _ path: String,
        _ body: some WireType,
        timeout: Duration = .seconds(15)
    ) async throws(PayError) -> Answer {
        let bytes: [UInt8]
        do { bytes = try body.encoded() } catch { throw .unclear(detail: "the request cannot be written as JSON") }
        let json = HTTPRequest.Header("Content-Type", "application/json")
        return try await exchange(
            HTTPRequest(method: .post, url: base.url(path), headers: headers + [json], body: bytes, timeout: timeout)
        )
    }

    private func exchange<Answer: WireType>(_ request: HTTPRequest) async throws(PayError) -> Answer {
        let response: HTTPResponse
        do throws(TransportError) { response = try await transport.send(request) } catch {
            throw error == .cancelled ? .cancelled : PayError(MerchantError(error))
        }
        guard (200..<300).contains(response.status) else { throw PayError(MerchantError(response)) }
        do { return try Answer.decode(response.body) } catch {
            throw .unclear(detail: "HTTP \(response.status) with a body that is not as documented")
        }
    }
}
