import Acquirer
import Payments
import StrictJSON
import TapProtocol

/// Vouchers: what spends take from held money, and what happens to devices that spend it twice.
///
/// Source: BPP/1, sections 16.2 and 16.3.
extension AcquirerState {
    /// Judges a spend of a voucher. The accept has been checked against its pass.
    mutating func judgeSpend(
        _ bundle: ExecutionBundle,
        _ claimedAt: WallTime,
        _ judged: inout Judgement,
        at now: WallTime
    ) {
        let id = bundle.pass.payload.passID
        guard let pass = passes[id], let name = pass.hold, let hold = holds[name], let voucher = hold.voucher else {
            (judged.verdict, judged.decline) = (.revoked, .passSpent)
            return
        }
        let other = pass.spends.first { Self.contradict($0, bundle.accept, bundle.pass) }
        if !pass.spends.contains(where: { $0.hash == bundle.acceptHash }) { passes[id]?.spends.append(bundle.accept) }
        let total = bundle.accept.payload.total
        if let other {
            judged.verdict = .conflict
            judged.evidence = other
            block(bundle.pass.payload.deviceKey, of: pass.customer, at: now)
        } else if let end = [hold.voidedAt, blockedDevices[bundle.pass.payload.deviceKey]].compactMap({ $0 }).min(),
            end <= claimedAt
        {
            (judged.verdict, judged.decline) = (.revoked, .passSpent)
            return
        }
        judged.kind = "voucher"
        // The acquirer stands for what it promised, whoever was cheated; the merchant for what goes beyond.
        guard hold.spent + total <= voucher.limitTotal else {
            (judged.verdict, judged.decline) = (.conflict, .doubleSpend)
            return
        }
        judged.payer = payer(total, voucher, name)
    }

    /// The hold; where that was given back already, the instrument; where that is empty, the acquirer itself.
    private func payer(_ total: Int, _ voucher: PaymentPass.Voucher, _ hold: String) -> AcquirerBooks.Account {
        let places = [AcquirerBooks.Account.hold(hold), .instrument(voucher.instrumentID)]
        return places.first { books.balance($0, voucher.currency) >= total } ?? .acquirer
    }

    /// Two spends that one honest device cannot both have signed.
    private static func contradict(
        _ one: Signed<PaymentAcceptance>,
        _ other: Signed<PaymentAcceptance>,
        _ pass: Signed<PaymentPass>
    ) -> Bool {
        guard one.hash != other.hash, let first = one.payload.spend, let second = other.payload.spend else {
            return false
        }
        if DoubleSpendProof(one, other, pass: pass) != nil { return true }
        // The running sum must grow by at least what the later one takes.
        let (earlier, later, total) =
            first.counter < second.counter
            ? (first, second, other.payload.total) : (second, first, one.payload.total)
        return later.counter > earlier.counter && later.spentAfter - earlier.spentAfter < total
    }

    /// Ends everything that a device may pay with. What is held stays held: other terminals may still tell of spends.
    private mutating func block(_ device: VerificationKey, of customer: String, at now: WallTime) {
        if blockedDevices[device] == nil { blockedDevices[device] = now }
        blockedCustomers.insert(customer)
        for id in holdOrder where holds[id]?.pass.payload.deviceKey == device && holds[id]?.status == .available {
            holds[id]?.status = .voided
        }
    }

    // MARK: - Synchronising

    /// Answers an upload: one answer for each item, in their order.
    mutating func sync(_ items: [SyncItem], _ script: Script, at now: WallTime) -> ExactJSON {
        .members([
            "answers": .array(
                items.map { item in
                    switch item {
                    case .bundle(let bundle, let isClockSet): sync(bundle, isClockSet, script, at: now)
                    case .accept(let accept): tell(accept, at: now)
                    }
                }
            )
        ])
    }

    private mutating func sync(
        _ bundle: ExecutionBundle,
        _ isClockSet: Bool,
        _ script: Script,
        at now: WallTime
    ) -> ExactJSON {
        do throws(AcquirerRefusal) {
            let execution = try execute(bundle, isClockSet: isClockSet, script, at: now)
            return Self.answer(execution.attempt, wasKnown: execution.wasKnown)
        } catch {
            if error.code == .paymentBusy { return Self.answer(bundle.accept, .waiting, "busy") }
            let detail = error.detail ?? error.code.rawValue
            return Self.answer(bundle.accept, detail == BundleCheck.voucherEnded ? .expired : .refused, detail)
        }
    }

    /// What an attempt is to synchronisation: what was told before is a duplicate, unless its verdict says more.
    private static func answer(_ attempt: AcquirerPayment.Attempt, wasKnown: Bool) -> ExactJSON {
        if attempt.word == .inProgress { return answer(attempt.accept, .waiting, "in progress") }
        if attempt.word == .cancelled { return attempt.answer(.cancelled) }
        if attempt.verdict == .settled, attempt.declineCode != nil { return attempt.answer(.refused) }
        return attempt.answer(wasKnown && attempt.verdict == .settled ? .duplicate : attempt.verdict)
    }

    private static func answer(
        _ accept: Signed<PaymentAcceptance>,
        _ verdict: SyncAnswer.Verdict,
        _ detail: String
    ) -> ExactJSON {
        .members([
            "paymentId": .string(accept.payload.paymentID.description), "acceptHash": .base64(accept.hash.bytes),
            "verdict": .string(verdict.rawValue), "paid": .bool(false), "receipt": .null, "evidence": .array([]),
            "detail": .string(String(detail.prefix(64))),
        ])
    }

    /// A phone tells of its accept: what came of it, or that the terminal has still to tell.
    private mutating func tell(_ accept: Signed<PaymentAcceptance>, at now: WallTime) -> ExactJSON {
        let named = keys(named: accept.payload.paymentID)
        let known = named.first { payments[$0]?.place(of: accept.hash) != nil }
        if let key = known, let payment = payments[key], let place = payment.place(of: accept.hash) {
            return Self.answer(payment.attempts[place], wasKnown: false)
        }
        guard let spend = accept.payload.spend, let pass = passes[spend.passID],
            (try? accept.verify(pass.pass.payload.deviceKey)) != nil
        else { return Self.answer(accept, .refused, "A2") }
        // The request may have been announced; whose payment it is, only the terminal says.
        for key in named {
            guard let payment = payments[key] else { continue }
            if payment.isVoid, payment.request?.hash == accept.payload.requestHash {
                return Self.answer(accept, .cancelled, "void")
            }
            if payment.request?.hash == accept.payload.requestHash, !payment.told.contains(accept) {
                update(key, at: now) { $0.told.append(accept) }
            }
        }
        let made = WallTime(millisecondsSince1970: Int64(min(accept.payload.createdAtMilliseconds, 1 << 52)))
        let isOver = made.duration(to: now) > configuration.settlementWindow
        return isOver ? Self.answer(accept, .expired, "never told") : Self.answer(accept, .waiting, "terminal")
    }
}
