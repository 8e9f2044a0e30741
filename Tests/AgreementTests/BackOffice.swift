import FoundationEssentials
import Locks
import Payments
import Terminal
import TerminalTestSupport
import TestSupport
import WalletConnectPay

/// The office behind the counter, with its own access to the gateway. Its program runs, and dies, with the terminal's; what it knows is on paper.
struct BackOffice: Sendable {
    let simulation: ChargeSimulation
    let merchant: MerchantClient
    let archive: MortalArchive
    let run: ProgramRun

    /// Whether there is something to do that nobody does. Whoever asks and hears yes has to ``work()``.
    func isWanted() async -> Bool {
        let isFree = simulation.notes.withLock { !$0.isOfficeBusy && !$0.isAdministered && !$0.isKnownAsRefunded }
        guard isFree, let charge = await charge() else { return false }
        return simulation.notes.withLock { notes in
            let isDue =
                simulation.scenario == .refunded
                ? charge.state == .succeeded && !notes.isKnownAsRefunded
                : charge.attempts.contains { $0.offer != nil } && !notes.isAdministered
            notes.isOfficeBusy = isDue
            return isDue
        }
    }

    func work() async {
        if simulation.scenario == .refunded { await giveBack() } else { await administer() }
        if !run.isOver { simulation.notes.withLock { $0.isOfficeBusy = false } }
    }

    private func charge() async -> Charge? {
        guard let id = simulation.notes.withLock({ $0.opened }) else { return nil }
        return try? await archive.record(of: id)?.charge
    }

    // MARK: - Given back

    /// Looks at the payment, marks it, and looks again, until it is known to be marked.
    private func giveBack() async {
        guard let name = await charge()?.evidence?.paymentID, let payment = PaymentID(name) else { return }
        let retrying = RetryingMerchant(merchant, clock: TurnedClock(clock: simulation.clock), spread: { 0.5 })
        var pause = Duration.seconds(60)
        while !run.isOver {
            if let details = try? await retrying.payment(payment) { await says(details.status, name, "the payment") }
            // On paper first: what this program does not live to hear, the next one must not deny.
            let isInTheDark = simulation.notes.withLock { notes in
                defer { notes.mayBeRefunded = true }
                return notes.mayBeRefunded
            }
            do throws(MerchantError) {
                _ = try await retrying.markRefunded(payment)
                await simulation.say(.refunded, of: name, "the office")
                simulation.notes.withLock { $0.isKnownAsRefunded = true }
            } catch  where !error.mayHaveTakenEffect && !isInTheDark {
                await simulation.say(.notRefunded, of: name, "the office")
                simulation.notes.withLock { $0.mayBeRefunded = false }
            } catch {
                // Nobody knows: the office asks again.
            }
            let query = PaymentQuery(limit: 10)
            for listed in (try? await merchant.partnerPayments(query))?.payments ?? [] {
                await says(listed.status, listed.paymentID.rawValue, "the partner's list")
            }
            if simulation.notes.withLock({ $0.isKnownAsRefunded }) { return }
            do { try await simulation.clock.terminalClock.sleep(pause) } catch { return }  // The program stops.
            pause *= 2
        }
    }

    private func says(_ status: PaymentStatus, _ payment: String, _ who: String) async {
        await simulation.say(.stands(status.word), of: payment, who)
    }

    // MARK: - Merchants

    private struct Found: Decodable {
        struct Named: Decodable { var id: String }
        struct Listed: Decodable { var payment_id: String; var status: String }
        var merchant: Named?
        var settlements: [Named]?
        var data: [Listed]?
    }

    /// One call to each of the partner's endpoints, and none is repeated: what they do is nothing to a charge.
    private func administer() async {
        let asset = "eip155:8453/erc20:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
        let account = "eip155:8453:0x000000000000000000000000000000000000dEaD"
        let name = #"{"merchantName":"Kiosk","merchantEmail":"kiosk@example.com"}"#
        _ = await ask(.get, "")
        let new = await ask(.post, "", name, key: "merchant")?.merchant?.id ?? "mrch_none"
        _ = await ask(.patch, "/\(ChargeSimulation.merchantID)", #"{"merchantName":"Kiosk"}"#)
        _ = await ask(.get, "/\(ChargeSimulation.merchantID)")
        let list = #"{"settlements":[{"asset":"\#(asset)","destination":"\#(account)"}]}"#
        let made = await ask(.post, "/\(new)/settlements/crypto", list, key: "settlement")?.settlements?.first?.id
        let settlement = "/\(new)/settlements/crypto/\(made ?? "crypto_none")"
        _ = await ask(.put, settlement, #"{"destination":"\#(account)"}"#)
        _ = await ask(.get, "/\(new)/settlements")
        _ = await ask(.delete, settlement)
        _ = await ask(.delete, "/\(new)")
        for listed in await ask(.get, "/\(ChargeSimulation.merchantID)/payments")?.data ?? [] {
            await simulation.say(.stands(listed.status), of: listed.payment_id, "the older list")
        }
        if !run.isOver { simulation.notes.withLock { $0.isAdministered = true } }
    }

    private func ask(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String? = nil,
        key: String? = nil
    ) async -> Found? {
        var headers = [HTTPRequest.Header("Api-Key", ChargeSimulation.gatewayKey)]
        if let key { headers.append(HTTPRequest.Header("Idempotency-Key", key)) }
        let request = HTTPRequest(
            method: method,
            url: DirectTransport.baseURL + "/v1/merchants" + path,
            headers: headers,
            body: body.map { Array($0.utf8) }
        )
        let line = MortalTransport(line: simulation.line, run: run, isTills: false)
        guard let answer = try? await line.send(request), (200..<300).contains(answer.status) else { return nil }
        return try? JSONDecoder().decode(Found.self, from: Data(answer.body))
    }
}
