import Acquirer
import TapProtocol

/// Everything that can be said of a bundle from the bundle alone: what fails here fails for ever.
///
/// Source: BPP/1, sections 7.4 (what a terminal may ask for) and 14 (A1 to A9).
struct BundleCheck: Sendable {
    let trusted: GatewayKeys
    let issuer: String
    let environment: TerminalCertificate.Environment

    /// The detail of a refusal for a voucher that had ended before the claim.
    static let voucherEnded = "A1 voucher ended"

    /// Passes when terminal, phone and acquirer all signed what they should have.
    func check(_ bundle: ExecutionBundle) throws(AcquirerRefusal) {
        let claimedAt = Self.claimedAt(bundle)
        try check(bundle.request, of: bundle.certificate, atMilliseconds: claimedAt)
        guard bundle.accept.payload.railType == 1 else { throw AcquirerRefusal(code: .railNotExecuted) }
        try checkClaim(bundle)
        try checkAccept(bundle, atMilliseconds: claimedAt)
    }

    /// The claim's time, which is the terminal's word, within what the request leaves. Source: BPP/1, section 16.3.
    static func claimedAt(_ bundle: ExecutionBundle) -> Int {
        let request = bundle.request.payload
        let latest = max(request.createdAtMilliseconds, request.expiresAtMilliseconds)
        return min(max(bundle.claim.payload.claimedAtMilliseconds, request.createdAtMilliseconds), latest)
    }

    /// Passes when the terminal may ask for this.
    func check(
        _ request: Signed<PaymentRequest>,
        of certificate: Signed<TerminalCertificate>,
        atMilliseconds now: Int
    ) throws(AcquirerRefusal) {
        let (asked, terminal) = (request.payload, certificate.payload)
        guard terminal.issuer.utf8.elementsEqual(issuer.utf8),
            let key = trusted.key(issuer: terminal.issuer, keyID: certificate.envelope.keyID)
        else { throw .bundle("P1") }
        do throws(COSEError) { try certificate.verify(key) } catch { throw .bundle("P1") }
        let grace = RequestCheck.graceSeconds
        guard (terminal.notBeforeSeconds - grace) * 1000 <= now, now <= (terminal.notAfterSeconds + grace) * 1000 else {
            throw .bundle("P2")
        }
        do throws(COSEError) { try request.verify(terminal.requestKey) } catch { throw .bundle("P6") }
        guard asked.certificateHash == certificate.hash, asked.merchantID.utf8.elementsEqual(terminal.merchantID.utf8),
            asked.merchantName.utf8.elementsEqual(terminal.merchantName.utf8),
            asked.terminalID.utf8.elementsEqual(terminal.terminalID.utf8)
        else { throw .bundle("P7") }
        guard terminal.currencies.contains(asked.currency), asked.amount <= terminal.maximumAmount else {
            throw .bundle("P8")
        }
        guard asked.paymentID.isVersion7 else { throw .bundle("P9") }
        guard
            abs(asked.createdAtMilliseconds - asked.paymentID.madeAtMilliseconds)
                <= RequestCheck.nameToleranceMilliseconds
        else { throw .bundle("P10") }
        guard terminal.environment == environment else { throw .bundle("P11") }
    }

    private func checkClaim(_ bundle: ExecutionBundle) throws(AcquirerRefusal) {
        let claim = bundle.claim.payload
        do throws(COSEError) {
            try bundle.claim.verify(bundle.certificate.payload.requestKey)
        } catch {
            throw .bundle("claim")
        }
        guard claim.paymentID == bundle.paymentID, claim.acceptHash == bundle.acceptHash else { throw .bundle("claim") }
        // Without anybody online only a voucher pays.
        guard claim.mode == .online || bundle.accept.payload.spend != nil else { throw .bundle("A8") }
    }

    private func checkAccept(_ bundle: ExecutionBundle, atMilliseconds now: Int) throws(AcquirerRefusal) {
        // What the terminal risks is its own affair: no floor here, and no sum.
        let book = VoucherBook(floor: .max, merchantLimit: .max, lastOnlineMilliseconds: now, isClockSet: true)
        let check = AcceptanceCheck(
            trusted: trusted,
            request: bundle.request,
            maximumTotal: bundle.certificate.payload.maximumAmount,
            isOpen: true,
            isTerminalOnline: bundle.claim.payload.mode == .online,
            vouchers: book
        )
        do throws(AcceptanceRefusal) {
            _ = try check.check(bundle.accept, pass: bundle.pass, nowMilliseconds: now)
        } catch {
            // Of a voucher, synchronisation has a word of its own for this.
            throw error.code == .voucherExpired && error.check == .a1
                ? .bundle(Self.voucherEnded) : .bundle("A\(error.check.rawValue)")
        }
        guard bundle.pass.payload.issuer.utf8.elementsEqual(issuer.utf8) else { throw .bundle("A1") }
        if let voucher = bundle.pass.payload.voucher, bundle.accept.payload.spend != nil {
            guard voucher.instrumentID.utf8.elementsEqual(bundle.accept.payload.instrumentID.utf8) else {
                throw .bundle("A8")
            }
        }
    }
}
