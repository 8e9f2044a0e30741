import Foundation
import Journal
import Locks
import Logging
import Payments
import TerminalTestSupport
import Testing
import TestSupport
import WalletConnectPay

@testable import Terminal

/// A shop with a day of charges: a journal on disk, the charge desk, and a gateway whose list and statuses the test sets.
struct DayShop: Sendable {
    /// Each charge with its reference and how the journal has it.
    private static let charges: [(number: Int, ending: Report?)] = [
        (1, .succeeded(Evidence(paymentID: "pay_1", transactionID: nil, paid: nil))), (2, .cancelled), (3, .expired),
        (4, .failed(code: nil)), (5, .expired),
    ]
    private static let words = [
        "pay_1": "succeeded", "pay_2": "cancelled", "pay_3": "expired", "pay_4": "failed", "pay_5": "expired",
    ]

    let day: ShopDay
    let ids: [ChargeID]
    let days: DayDesk
    let desk: ChargeDesk
    let gateway: ListGateway
    let clock: ManualClock

    /// Compares while time passes as fast as anybody waits for it.
    func comparing() async throws -> DayReport {
        try await withThrowingTaskGroup(of: DayReport?.self) { group in
            group.addTask { try await days.compare(day) }
            group.addTask {
                while !Task.isCancelled {
                    if let wait = clock.shortestSleep, wait <= .seconds(120) { clock.advance(by: wait) }
                    await Task.yield()
                }
                return nil
            }
            for try await report in group {
                if let report {
                    group.cancelAll()
                    return report
                }
            }
            throw CancellationError()
        }
    }

    /// Throws where the test's time is over.
    static func pause() async throws {
        try Task.checkCancellation()
        await Task.yield()
    }

    /// - Parameters:
    ///   - pageSize: Payments on a page of the gateway's list.
    ///   - inFlight: The gateway's word for the last charge, which the journal has as open.
    ///   - isOver: Whether it is half an hour after the day's end.
    ///   - madeAt: How the gateway's address was written when the charges were opened.
    static func open(
        pageSize: Int = 200,
        inFlight: String? = nil,
        isOver: Bool = true,
        merchantID: String = "mrch_1",
        madeAt gatewayURL: String = "https://gateway.test",
        _ body: (DayShop) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "till-day-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // Of a test: a rest does no harm.
        let path = folder.path(percentEncoded: false)
        let journal = try Journal.open(directory: path, deviceKey: DeviceKey.loadOrCreate(at: "\(path)/device.key"))
        let clock = ManualClock()
        let gateway = ListGateway(pageSize: pageSize, clock: clock)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let desk = ChargeDesk(archive: journal, clock: clock.terminalClock, logger: logger)
        await desk.answerWithoutRunning()
        let settings = SettingsDesk(
            journal: journal,
            desk: desk,
            gateways: GatewayPolicy(allowsLoopbackHTTP: false),
            clock: clock.terminalClock,
            logger: logger
        ) { settings, key in
            try MerchantClient(
                baseURL: settings.gatewayURL,
                credentials: MerchantCredentials(merchantID: settings.merchantID, apiKey: key),
                transport: gateway
            )
        }
        let form = SettingsForm(
            operatorID: "op-1",
            merchantID: merchantID,
            merchantName: "Kiosk",
            gatewayURL: "https://gateway.test",
            gatewayKey: "wcp_key",
            currency: "EUR",
            timeZone: "Europe/Berlin"
        )
        _ = try await settings.save(form, replacing: nil, by: .staff(name: "Ada"))
        let now = clock.terminalClock.wallTime()
        let ids = try await Self.fill(journal, gateway, at: now, inFlight, gatewayURL)
        let days = DayDesk(journal: journal, desk: desk, settings: settings, clock: clock.terminalClock, logger: logger)
        // Midnight in Berlin is 30 400 seconds away. What was charged just now may not be listed yet.
        clock.advance(by: .seconds(isOver ? 32_400 : 900))
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let day = ShopDay(of: now, in: zone)
        try await body(DayShop(day: day, ids: ids, days: days, desk: desk, gateway: gateway, clock: clock))
        try journal.close()
    }

    private static func fill(
        _ journal: Journal,
        _ gateway: ListGateway,
        at now: WallTime,
        _ inFlight: String?,
        _ gatewayURL: String
    ) async throws -> [ChargeID] {
        var random = SystemRandomNumberGenerator()
        var ids: [ChargeID] = []
        for (number, ending) in charges {
            let terms = ChargeTerms(
                id: ChargeID(at: now, using: &random),
                code: ChargeCode(using: &random),
                amount: Money(minorUnits: Int64(1000 + number), currency: .euro),
                reference: nil,
                merchantID: "mrch_1",
                merchantName: "Kiosk",
                operatorID: "op-1",
                gatewayURL: gatewayURL,
                openedBy: .staff(name: "Ada"),
                openedAt: now,
                timeLimitSeconds: 300
            )
            var charge = Charge(terms: terms)
            try await journal.open(terms, under: nil)
            let offer = Offer(paymentID: "pay_\(number)", link: nil, expiresAt: nil)
            var events: [Charge.Event] = [
                .attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1), .offered(attempt: 1, offer: offer),
            ]
            let isOpen = number == charges.count && inFlight != nil
            if let ending, !isOpen { events.append(.reported(attempt: 1, report: ending)) }
            for event in events {
                _ = charge.handle(event)
                try await journal.append(event, to: charge, at: now)
            }
            ids.append(terms.id)
            let word = (isOpen ? inFlight : words["pay_\(number)"]) ?? ""
            gateway.add("pay_\(number)", reference: terms.id.compact, status: word, value: "\(1000 + number)", at: now)
        }
        return ids
    }
}

extension ChargeDesk {
    /// Answers about charges of the record, as after the start of a run, where a test needs no run.
    func answerWithoutRunning() { isLoaded = true }
}

enum ListFault: Sendable, Equatable {
    case status(Int), silence, circle, endless, unreadable, slowDown(Int)
}

/// A gateway with a list and statuses that need not say the same.
final class ListGateway: HTTPTransport {
    private struct Entry {
        var id: String
        var reference: String
        var listed: String
        var status: String
        var value: String
        var createdAt: String
    }

    private struct State {
        var entries: [Entry] = []
        var calls: [String] = []
        var times: [Duration] = []
        var pages = 0
        var fault: (from: Int, what: ListFault, times: Int)?
        var repeats = false
        var silent: Set<String> = []
    }

    private let state = Mutex(State())
    private let pageSize: Int

    private let clock: ManualClock

    init(pageSize: Int, clock: ManualClock) { (self.pageSize, self.clock) = (pageSize, clock) }

    /// When each call came.
    var times: [Duration] { state.withLock { $0.times } }
    var calls: [String] { state.withLock { $0.calls } }
    /// Whether each page begins with the last payment of the page before, as where the list moved meanwhile.
    var repeats: Bool {
        get { state.withLock { $0.repeats } }
        set { state.withLock { $0.repeats = newValue } }
    }

    /// Payments about which it gives no answer.
    var silent: Set<String> {
        get { state.withLock { $0.silent } }
        set { state.withLock { $0.silent = newValue } }
    }

    func add(_ id: String, reference: String, status: String, value: String = "5", at time: WallTime? = nil) {
        state.withLock { state in
            state.entries.append(
                Entry(
                    id: id,
                    reference: reference,
                    listed: status,
                    status: status,
                    value: value,
                    createdAt: time?.internetText ?? state.entries.last?.createdAt ?? ""
                )
            )
        }
    }

    func set(_ id: String, listed: String, status: String) {
        state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0.id == id }) else { return }
            (state.entries[index].listed, state.entries[index].status) = (listed, status)
        }
    }

    func remove(_ id: String) { state.withLock { state in state.entries.removeAll { $0.id == id } } }

    /// From the n-th page asked for, so many times.
    func fail(from page: Int, _ fault: ListFault, times: Int = .max) {
        state.withLock { $0.fault = (page, fault, times) }
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        await Task.yield()
        let answer: Result<HTTPResponse, TransportError> = state.withLock { state in
            state.calls.append(request.url)
            state.times.append(clock.now)
            if request.url.contains("/merchants/payments?") { return page(request.url, &state) }
            let entry = state.entries.first { request.url.contains("/payments/\($0.id)/") }
            if let entry, state.silent.contains(entry.id) { return .failure(.noAnswer(after: .seconds(15))) }
            guard let entry else { return .success(HTTPResponse(status: 404, body: Array("{}".utf8))) }
            let isFinal = !["requires_action", "processing"].contains(entry.status)
            let body = #"{"status":"\#(entry.status)","isFinal":\#(isFinal),"pollInMs":null,"info":null}"#
            return .success(HTTPResponse(status: 200, body: Array(body.utf8)))
        }
        return try answer.get()
    }

    private func page(_ url: String, _ state: inout State) -> Result<HTTPResponse, TransportError> {
        state.pages += 1
        var next: String?
        if let (from, what, times) = state.fault, state.pages >= from, times > 0 {
            state.fault?.times = times - 1
            switch what {
            case .status(let status): return .success(HTTPResponse(status: status, body: []))
            case .silence: return .failure(.noAnswer(after: .seconds(15)))
            case .slowDown(let seconds):
                return .success(HTTPResponse(status: 429, headers: [("Retry-After", "\(seconds)")], body: []))
            case .circle: next = "2"
            case .endless: next = "\(1000 + state.pages)"
            case .unreadable:
                return .success(
                    HTTPResponse(status: 200, body: Array(#"{"data":[{"paymentId":7}],"nextCursor":null}"#.utf8))
                )
            }
        }
        let start = url.split(separator: "cursor=").dropFirst().first.flatMap { Int($0) } ?? 0
        let from = state.repeats ? max(0, start - 1) : start
        let items = state.entries.dropFirst(from).prefix(start + pageSize - from).map { entry in
            """
            {"paymentId":"\(entry.id)","merchant":{"id":"mrch_1"},"referenceId":"\(entry.reference)",
             "status":"\(entry.listed)","isTerminal":true,"createdAt":"\(entry.createdAt)",
             "fiatAmount":{"unit":"iso4217/EUR","value":"\(entry.value)"}}
            """
        }
        if start + pageSize < state.entries.count { next = next ?? "\(start + pageSize)" }
        let cursor = next.map { "\"\($0)\"" } ?? "null"
        let body = #"{"data":[\#(items.joined(separator: ","))],"nextCursor":\#(cursor)}"#
        return .success(HTTPResponse(status: 200, body: Array(body.utf8)))
    }
}
