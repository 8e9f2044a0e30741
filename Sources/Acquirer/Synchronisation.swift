public import TapProtocol

/// One thing that was agreed without the acquirer, told afterwards. Source: BPP/1, section 16.3.
public enum SyncItem: Sendable, Hashable {
    /// A terminal's: the whole bundle. `isClockSet` is false where the terminal did not know the time when it claimed.
    case bundle(ExecutionBundle, isClockSet: Bool = true)
    /// A phone's: its accept alone.
    case accept(Signed<PaymentAcceptance>)

    /// How many one upload takes.
    public static let batchLimit = 32
    /// What one upload may take.
    public static let uploadLimitBytes = 262_144

    public var accept: Signed<PaymentAcceptance> {
        switch self {
        case .bundle(let bundle, _): bundle.accept
        case .accept(let accept): accept
        }
    }

    public var paymentID: PaymentID { accept.payload.paymentID }
    public var acceptHash: ObjectHash { accept.hash }

    /// An upload as it travels: an array with, for each bundle, an array of its five objects and, where the clock was not
    /// set, the number 1; for each accept, its bytes.
    public static func encoded(_ items: [SyncItem]) -> [UInt8] {
        CBOR.array(
            items.map { item in
                switch item {
                case .accept(let accept): .bytes(accept.encoded)
                case .bundle(let bundle, let isClockSet): .array(bundle.items + (isClockSet ? [] : [.unsigned(1)]))
                }
            }
        ).encoded
    }

    /// Reads an upload. No signature is checked.
    public static func decoding(_ bytes: [UInt8]) throws(MalformedObject) -> [SyncItem] {
        let item: CBOR
        do throws(CBORError) {
            item = try CBOR(decoding: bytes, limitBytes: uploadLimitBytes)
        } catch {
            throw .cbor(error)
        }
        guard case .array(let entries) = item, (1...batchLimit).contains(entries.count) else { throw .notTheStructure }
        var items: [SyncItem] = []
        for entry in entries { items.append(try decoding(entry)) }
        return items
    }

    private static func decoding(_ entry: CBOR) throws(MalformedObject) -> SyncItem {
        switch entry {
        case .bytes: return .accept(try Signed(decoding: try ExecutionBundle.bytes(entry)))
        case .array(let parts) where parts.count == 5: return .bundle(try ExecutionBundle(parts))
        case .array(let parts) where parts.count == 6 && parts[5] == .unsigned(1):
            return .bundle(try ExecutionBundle(Array(parts.prefix(5))), isClockSet: false)
        default: throw .notTheStructure
        }
    }
}

/// What became of one thing that was synchronised. Source: BPP/1, section 16.3.
public struct SyncAnswer: Sendable, Equatable {
    public enum Verdict: String, Sendable, CaseIterable {
        case settled = "SETTLED"
        /// It was told before; the rest says what came of it then.
        case duplicate = "DUPLICATE"
        /// Paid, though it came late.
        case late = "LATE"
        /// Too late: the settlement window has closed, or the voucher had ended before the claim.
        case expired = "EXPIRED"
        /// The voucher was void, or the terminal was taken back, before the claim.
        case revoked = "REVOKED"
        /// The device spent the same money twice. `evidence` proves it; `receipt` says whether the merchant is paid anyway.
        case conflict = "CONFLICT"
        /// A void reached the acquirer first.
        case cancelled = "CANCELLED"
        /// The bundle is not sound, or nothing to be synchronised: it never settles. `detail` names the check.
        case refused = "REFUSED"
        /// The terminal has not told of this accept yet. Ask again; the acquirer waits for the terminal.
        case waiting = "WAITING"

        /// False where the same has to be told again later.
        public var isFinal: Bool { self != .waiting }
    }

    public let paymentID: PaymentID
    public let acceptHash: ObjectHash
    public let verdict: Verdict
    /// Whether the merchant has the money. Always what the receipt says, where there is one.
    public let isPaid: Bool
    /// Names this payment and accept; its signature is still to be checked.
    public let receipt: Signed<PaymentReceipt>?
    /// Two accepts signed by one device, where the verdict is `conflict`.
    public let evidence: [Signed<PaymentAcceptance>]
    /// For a log.
    public let detail: String?
}
