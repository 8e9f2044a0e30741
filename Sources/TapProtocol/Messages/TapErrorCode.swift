/// What an ERROR says went wrong. Source: BPP/1, section 18.
public struct TapErrorCode: RawRepresentable, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let malformed = TapErrorCode(rawValue: 0x01)
    public static let unknownType = TapErrorCode(rawValue: 0x02)
    public static let unexpected = TapErrorCode(rawValue: 0x03)
    public static let certificateInvalid = TapErrorCode(rawValue: 0x10)
    public static let keyMismatch = TapErrorCode(rawValue: 0x11)
    public static let certificateDenied = TapErrorCode(rawValue: 0x12)
    public static let clockSkew = TapErrorCode(rawValue: 0x13)
    public static let requestInvalid = TapErrorCode(rawValue: 0x14)
    public static let environmentMismatch = TapErrorCode(rawValue: 0x15)
    public static let passInvalid = TapErrorCode(rawValue: 0x20)
    public static let acceptSignatureInvalid = TapErrorCode(rawValue: 0x21)
    public static let notThisRequest = TapErrorCode(rawValue: 0x22)
    public static let amountMismatch = TapErrorCode(rawValue: 0x23)
    public static let tipRefused = TapErrorCode(rawValue: 0x24)
    public static let receiptInvalid = TapErrorCode(rawValue: 0x25)
    public static let instrumentRefused = TapErrorCode(rawValue: 0x26)
    public static let paymentClosed = TapErrorCode(rawValue: 0x30)
    public static let tooLateToCancel = TapErrorCode(rawValue: 0x31)
    public static let expired = TapErrorCode(rawValue: 0x32)
    public static let busy = TapErrorCode(rawValue: 0x33)
    public static let vouchersNotTaken = TapErrorCode(rawValue: 0x40)
    public static let voucherExpired = TapErrorCode(rawValue: 0x41)
    public static let overLimit = TapErrorCode(rawValue: 0x42)
    public static let counterConflict = TapErrorCode(rawValue: 0x43)
    public static let declined = TapErrorCode(rawValue: 0x50)
    public static let backendUnreachable = TapErrorCode(rawValue: 0x51)

    /// Every code of this version.
    public static let all: [TapErrorCode] =
        (Array(0x01...0x03) + Array(0x10...0x15) + Array(0x20...0x26) + Array(0x30...0x33) + Array(0x40...0x43)
        + Array(0x50...0x51)).map(TapErrorCode.init(rawValue:))

    /// What an error ends.
    public enum Scope: Sendable, CaseIterable { case nothing, link, attempt, payment }

    /// What this error ends. A code of a later version ends the attempt.
    public var ends: Scope {
        switch self {
        case .unknownType, .unexpected, .tipRefused, .receiptInvalid, .instrumentRefused, .tooLateToCancel,
            .backendUnreachable:
            .nothing
        case .malformed, .certificateInvalid, .keyMismatch, .certificateDenied, .environmentMismatch, .busy: .link
        case .clockSkew, .requestInvalid, .paymentClosed, .expired: .payment
        default: .attempt
        }
    }
}
