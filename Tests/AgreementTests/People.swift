import FoundationEssentials
import Locks
import Payments
import Sandbox
import Terminal
import TerminalTestSupport
import WalletConnectPay

/// The people at the counter.
extension ChargeSimulation {
    /// What is done in front of the screen while a run of the program lasts.
    func work(at desk: ChargeDesk, for run: ProgramRun, _ archive: MortalArchive, _ merchant: MerchantClient) async {
        let office = BackOffice(simulation: self, merchant: merchant, archive: archive, run: run)
        await withDiscardingTaskGroup { group in
            for await snapshot in await desk.snapshots() {
                if run.isOver { break }
                await attend(snapshot, desk)
                if case .charging(let charge) = snapshot.phase, let link = charge.link {
                    links.continuation.yield(link)
                }
                if scenario.hasOffice, await office.isWanted() { group.addTask { await office.work() } }
            }
            group.cancelAll()
        }
    }

    /// What the cashier does at this sight.
    private func attend(_ snapshot: TerminalSnapshot, _ desk: ChargeDesk) async {
        switch snapshot.phase {
        case .idle where notes.withLock({ $0.opened == nil }):
            let request = ChargeRequest(
                amount: Money(minorUnits: 1250, currency: .euro),
                key: key,
                by: .staff(name: "Ada")
            )
            // Refused or dead: the cashier asks again under the same key.
            if let charge = try? await desk.open(request) { notes.withLock { $0.opened = charge.id } }
        case .charging(let charge):
            let id = charge.id
            notes.withLock { $0.opened = id }
            if scenario.isCancelled, charge.link != nil, notes.withLock({ !$0.hasCancelled }) {
                let isDone = (try? await desk.cancel(id, by: .staff(name: "Ada"))) != nil
                notes.withLock { $0.hasCancelled = isDone }
            }
            if scenario == .released, charge.charge.canRelease, notes.withLock({ !$0.hasReleased }) {
                let isDone = (try? await desk.release(id, by: .staff(name: "Ada"))) != nil
                notes.withLock { $0.hasReleased = isDone }
            }
        default: break
        }
    }

    // MARK: - The customer

    /// There is one, and they scan the first code that they see. What becomes of the terminal is nothing to their wallet.
    func serveCustomers() async {
        guard scenario.hasCustomer else { return }
        for await link in links.stream {
            notes.withLock { $0.isCustomerBusy = true }
            let payment = String(link.split(separator: "=").last ?? "")
            switch scenario {
            case .declined: await decline(payment)
            case .identified where await !identify(payment): break
            default: await pay(link, payment)
            }
            notes.withLock { $0.isCustomerBusy = false }
            return
        }
    }

    private func pay(_ link: String, _ payment: String) async {
        do throws(WalletRefusal) {
            var wishes = CustomerWallet.Wishes()
            wishes.chainID = 8453
            let signed = try await wallet.sign(try await wallet.look(at: link, wishes))
            let report = try await wallet.confirm(signed, waitingUpTo: .seconds(60))
            await say(report.status == .succeeded ? .paid : .stands(report.status.word), of: payment, "the wallet")
        } catch {
            // Their wallet says that it did not work, or that nobody knows. They leave.
            if !error.mayHavePaid { await say(.notPaid, of: payment, "the wallet") }
        }
    }

    /// Another wallet than ours, which takes the payment back for the customer.
    private func decline(_ payment: String) async {
        for _ in 1...5 {
            if let standing = await ask(.get, "/v1/gateway/payment/\(payment)")?.status {
                await say(.stands(standing), of: payment, "another wallet")
                if PaymentStatus(word: standing).isFinal { return }
            }
            if let standing = await ask(.post, "/v1/gateway/payment/\(payment)/cancel", body: "{}")?.status {
                await say(.stands(standing), of: payment, "another wallet")
            }
            do { try await clock.terminalClock.sleep(.seconds(2)) } catch { return }  // The play is over.
        }
    }

    /// The customer fills in the form. False where they give up.
    private func identify(_ payment: String) async -> Bool {
        let answers = """
            {"fullName":"Ada","dob":"1990-01-01","porCountry":"CH","porAddress":"Bern","tosConfirmed":true}
            """
        for _ in 1...3 {
            _ = await ask(.get, "/collect/?pid=\(payment)")
            if await ask(.post, "/collect/?pid=\(payment)", body: answers) != nil { return true }
            do { try await clock.terminalClock.sleep(.seconds(2)) } catch { return false }  // The play is over.
        }
        return false
    }

    private struct Answer: Decodable { var status: String? }

    /// What the gateway answers to yes; nil for everything else.
    private func ask(_ method: HTTPRequest.Method, _ path: String, body: String? = nil) async -> Answer? {
        let headers = [HTTPRequest.Header("App-Id", "other"), HTTPRequest.Header("Client-Id", "other")]
        let request = HTTPRequest(
            method: method,
            url: DirectTransport.baseURL + path,
            headers: headers,
            body: body.map { Array($0.utf8) }
        )
        guard let answer = try? await line.send(request), (200..<300).contains(answer.status) else { return nil }
        return try? JSONDecoder().decode(Answer.self, from: Data(answer.body))
    }
}
