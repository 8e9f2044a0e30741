import Journal
import Payments
import Terminal
import WebServer

/// What programs of the shop ask, above all its till.
extension Console {
    /// Where everybody may read what this answers. See docs/lan-api.md.
    static let contractPath = "/api/v1/openapi.json"

    /// Answers a request that shows a token.
    func answerProgram(_ request: WebRequest) async -> WebResponse {
        var who = Payments.Actor.stranger
        do throws(Problem) {
            guard entrance.claimed.value else { throw .notClaimed }
            let token = try await gate.program(request, tokens: tokens)
            who = .till(token: token.name)
            let pass = try gate.check(request, of: token, hasBody: !request.body.isEmpty)
            try await requireOwnCharge(pass)
            return try await answer(pass, request)
        } catch {
            if [401, 403].contains(error.status) || error == .twoCredentials {
                let detail = "\(error.reason.code) \(request.path.prefix(80))"
                await entrance.audit("request", "refused", detail, by: who, from: request.peerAddress)
            }
            var response = error.response
            if error.status == 401 { response.headers.add("WWW-Authenticate", "Bearer realm=\"till\"") }
            return response
        }
    }

    /// A charge that somebody else opened does not exist for a program that may see its own ones only.
    private func requireOwnCharge(_ pass: Gate.Pass) async throws(Problem) {
        guard pass.hasOwnChargesOnly else { return }
        switch pass.route {
        case .charge(let id), .waitForCharge(let id, _), .cancel(let id), .release(let id), .receipt(let id, _):
            let charge: ChargeSnapshot
            do throws(ChargeRefusal) { charge = try await desk.charge(id) } catch {
                throw Self.problem(error, await desk.format)
            }
            guard charge.charge.terms.openedBy == pass.who else { throw Self.problem(.notFound, await desk.format) }
        // Each narrows what it answers.
        case .openCharge, .history, .currentCharge, .chargeOfKey, .events: break
        default: guard pass.route.scope != .charges else { throw Gate.scopeMissing(.charges) }
        }
    }

    /// The charge that was opened under a key.
    func earlier(_ key: String) async throws(Problem) -> ChargeSnapshot? {
        do throws(ChargeRefusal) { return try await desk.charge(openedUnder: key) } catch {
            throw Self.problem(error, await desk.format)
        }
    }

    /// For who never heard the answer to a charge: what the key has made, if anything.
    func chargeOfKey(_ key: String, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let charge = try await earlier(pass.ownKey(key)) else {
            let gap: RecordGap?
            do throws(JournalError) { gap = try await books.gap() } catch { throw Problem(503, error.reason) }
            if let gap, gap.counts(at: clock.wallTime()) { throw Self.notKnown(gap) }
            throw Problem(
                404,
                "charge_not_found",
                "No charge was opened under this key. Nothing was charged by it.",
                "Charge again with the same key."
            )
        }
        return .json(JSON.charge(charge, for: pass.reader).text)
    }

    /// The record may lack the very charge that is asked about.
    private static func notKnown(_ gap: RecordGap) -> Problem {
        let why =
            switch gap.kind {
            case .restored: "was restored from a backup"
            case .endLost: "has lost its end"
            }
        return Problem(
            409,
            "charge_not_known",
            "No charge of this key is in the record, and the record \(why) (\(gap.at.moment)). Whether something was charged by it "
                + "is not known.",
            "Do not charge again before you have looked for the payment at the gateway."
        )
    }

    /// A charge once its state is another than the one that is known, or when the time is over.
    func waitForCharge(_ id: ChargeID, _ wait: ChargeWait, _ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let first: ChargeSnapshot
        do throws(ChargeRefusal) { first = try await desk.charge(id) } catch {
            throw Self.problem(error, await desk.format)
        }
        let before = first.charge.state
        let known = wait.since ?? before
        if known == before {
            let desk = desk
            let wasMissing = first.isAnswerMissing
            try await hold(for: wait.seconds, pass) {
                for await _ in await desk.snapshots() {
                    // What cannot be recorded changes no state, and whoever waits has to hear of it.
                    guard let now = try? await desk.charge(id), now.charge.state == known,
                        now.isAnswerMissing == wasMissing
                    else { return }
                }
            }
        }
        return try await chargeResponse(id, for: pass.reader)
    }

    /// Waits for `change`, as long as whoever asked may: their time, their token or session, and the terminal.
    func hold(
        for seconds: Int,
        _ pass: Gate.Pass,
        until change: @escaping @Sendable () async -> Void
    ) async throws(Problem) {
        var use: (use: Int, ending: AsyncStream<Never>)?
        if let program = pass.program {
            use = await tokens.begin(.wait, program)
            guard use != nil else { throw Self.tooManyOpen }
        }
        let (clock, ending) = (clock, use?.ending)
        await withTaskGroup { group in
            group.addTask { await change() }
            // Cancelled is over too.
            group.addTask { do { try await clock.sleep(.seconds(seconds)) } catch { return } }
            if let ending { group.addTask { for await _ in ending {} } }
            await group.next()
            group.cancelAll()
        }
        if let use { await tokens.end(use.use) }
        if let program = pass.program {
            guard await tokens.list.contains(where: { $0.id == program.id }) else { throw .tokenNeeded }
        } else if let session = pass.session {
            guard sessions.isAlive(session, at: clock.wallTime()) else { throw .notSignedIn }
        }
    }
}

extension Gate.Pass {
    /// A key as the journal has it. Each token's keys are its own: two tills may count their sales alike.
    func ownKey(_ key: String) -> String {
        guard let program else { return key }
        return "till:\(program.name) \(key)"  // No key has a space.
    }
}
