/// The terminal's nine checks of an accept, in their order. Source: BPP/1, section 14.
public enum AcceptanceCheckNumber: Int, Sendable, CaseIterable {
    /// The pass opens under a trusted key and is in time.
    case a1 = 1
    /// The accept opens under the pass's key.
    case a2
    /// It is for this request.
    case a3
    /// Amount and currency are the request's.
    case a4
    /// The total is amount and tip.
    case a5
    /// The tip is allowed.
    case a6
    /// The rail was offered, and the accept was made before the request ended.
    case a7
    /// A voucher's spend keeps its rules.
    case a8
    /// The payment is open.
    case a9
}

/// The first check that an accept failed. Nothing has happened; send `code`.
public struct AcceptanceRefusal: Error, Sendable, Equatable {
    public let check: AcceptanceCheckNumber
    public let code: TapErrorCode
    /// Where `check` is a8: which of the voucher's rules.
    public let voucher: VoucherRefusal?

    init(_ check: AcceptanceCheckNumber, _ code: TapErrorCode, voucher: VoucherRefusal? = nil) {
        (self.check, self.code, self.voucher) = (check, code, voucher)
    }
}

/// What a terminal knows when an accept arrives, and how it judges one.
public struct AcceptanceCheck: Sendable {
    public var trusted: GatewayKeys
    public var request: Signed<PaymentRequest>
    /// The certificate's largest total, in minor units.
    public var maximumTotal: Int
    /// False once an accept has won or the payment has ended.
    public var isOpen: Bool
    public var isTerminalOnline: Bool
    /// What the terminal risks without a gateway, and what it has risked already.
    public var vouchers: VoucherBook

    public init(
        trusted: GatewayKeys,
        request: Signed<PaymentRequest>,
        maximumTotal: Int,
        isOpen: Bool,
        isTerminalOnline: Bool,
        vouchers: VoucherBook
    ) {
        (self.trusted, self.request, self.maximumTotal) = (trusted, request, maximumTotal)
        (self.isOpen, self.isTerminalOnline, self.vouchers) = (isOpen, isTerminalOnline, vouchers)
    }

    /// Passes when the accept may be claimed.
    /// - Returns: The mode of the claim: offline where neither side reaches the gateway, and a voucher pays.
    public func check(
        _ accept: Signed<PaymentAcceptance>,
        pass: Signed<PaymentPass>,
        nowMilliseconds: Int
    ) throws(AcceptanceRefusal) -> PaymentClaim.Mode {
        try checkPass(pass, of: accept, nowMilliseconds: nowMilliseconds)
        return try checkAccept(accept, pass: pass, nowMilliseconds: nowMilliseconds)
    }

    /// Check A1 alone. With ``checkAccept(_:pass:nowMilliseconds:)`` it is the whole, and both may run at the same time: where
    /// both refuse, this one's refusal counts.
    public func checkPass(
        _ pass: Signed<PaymentPass>,
        of accept: Signed<PaymentAcceptance>,
        nowMilliseconds: Int
    ) throws(AcceptanceRefusal) {
        guard let key = trusted.key(issuer: pass.payload.issuer, keyID: pass.envelope.keyID) else {
            throw AcceptanceRefusal(.a1, .passInvalid)
        }
        do throws(COSEError) { try pass.verify(key) } catch { throw AcceptanceRefusal(.a1, .passInvalid) }
        let isInTime = RequestCheck.isInTime(
            pass.payload.notBeforeSeconds,
            pass.payload.notAfterSeconds,
            nowMilliseconds
        )
        guard isInTime else {
            throw AcceptanceRefusal(.a1, accept.payload.spend == nil ? .passInvalid : .voucherExpired)
        }
    }

    /// Checks A2 to A9, which say nothing without A1: see ``checkPass(_:of:nowMilliseconds:)``.
    /// - Returns: As ``check(_:pass:nowMilliseconds:)``.
    public func checkAccept(
        _ accept: Signed<PaymentAcceptance>,
        pass: Signed<PaymentPass>,
        nowMilliseconds: Int
    ) throws(AcceptanceRefusal) -> PaymentClaim.Mode {
        do throws(COSEError) { try accept.verify(pass.payload.deviceKey) } catch {
            throw AcceptanceRefusal(.a2, .acceptSignatureInvalid)
        }
        let (asked, agreed) = (request.payload, accept.payload)
        guard agreed.requestHash == request.hash, agreed.paymentID == asked.paymentID else {
            throw AcceptanceRefusal(.a3, .notThisRequest)
        }
        guard agreed.amount == asked.amount, agreed.currency == asked.currency else {
            throw AcceptanceRefusal(.a4, .amountMismatch)
        }
        // Both are at most 2^53 - 1, so the sum fits.
        guard agreed.total == agreed.amount + agreed.tip else { throw AcceptanceRefusal(.a5, .amountMismatch) }
        guard asked.tip.allows(agreed.tip), agreed.total <= maximumTotal else {
            throw AcceptanceRefusal(.a6, .tipRefused)
        }
        guard asked.offeredRails.contains(where: { $0.type == agreed.railType && $0 != .unknown(type: $0.type) }) else {
            throw AcceptanceRefusal(.a7, .instrumentRefused)
        }
        try checkRail(agreed)
        guard agreed.createdAtMilliseconds <= asked.expiresAtMilliseconds else {
            throw AcceptanceRefusal(.a7, .expired)
        }
        let mode = try checkVoucher(accept, pass: pass, nowMilliseconds: nowMilliseconds)
        guard isOpen else { throw AcceptanceRefusal(.a9, .paymentClosed) }
        return mode
    }

    /// What an agreement to another way than an instrument needs.
    private func checkRail(_ agreed: PaymentAcceptance) throws(AcceptanceRefusal) {
        switch agreed.railType {
        case 2:
            // The link is paid as it stands, by the phone and over its network.
            guard agreed.tip == 0 else { throw AcceptanceRefusal(.a6, .tipRefused) }
            guard agreed.flags.contains(.phoneOnline) else { throw AcceptanceRefusal(.a8, .vouchersNotTaken) }
        // A wallet that signs over BLE agrees by its signatures.
        case 3: throw AcceptanceRefusal(.a7, .instrumentRefused)
        default: break
        }
    }

    private func checkVoucher(
        _ accept: Signed<PaymentAcceptance>,
        pass: Signed<PaymentPass>,
        nowMilliseconds: Int
    ) throws(AcceptanceRefusal) -> PaymentClaim.Mode {
        let agreed = accept.payload
        let isSomebodyOnline = isTerminalOnline || agreed.flags.contains(.phoneOnline)
        guard agreed.spend != nil else {
            // With nobody online only a voucher pays.
            guard isSomebodyOnline else { throw AcceptanceRefusal(.a8, .vouchersNotTaken) }
            return .online
        }
        // The rail of instruments only: a wallet's payment is the chain's to settle, and that needs somebody online.
        guard agreed.railType == 1 else { throw AcceptanceRefusal(.a8, .instrumentRefused) }
        do throws(VoucherRefusal) {
            try vouchers.check(
                accept,
                pass: pass,
                request: request.payload,
                nowMilliseconds: nowMilliseconds
            )
        } catch {
            throw AcceptanceRefusal(.a8, error.code, voucher: error)
        }
        return isSomebodyOnline ? .online : .offline
    }
}
