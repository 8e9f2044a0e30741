import Journal
import Machine
import Payments
import Terminal

/// Everything that the health of a terminal is judged by, at one moment.
struct HealthFacts: Sendable {
    var at: WallTime
    var startedAt: WallTime
    var isSetUp = true
    var gateway = GatewayLight.unknown
    /// Until when the gateway wants to be left alone, in words; nil while it may be asked.
    var gatewayPause: Reason?
    var tap: Tap?
    var connect = ConnectStatus.Light.off
    /// Nil where there are none.
    var webhooksCheck: HealthCheck?
    /// Nil where it is off.
    var outboxCheck: HealthCheck?
    /// Why nothing can be recorded; nil where it can.
    var journalFault: Reason?
    /// What the record may lack; nil where nothing is known to be missing, or it was long ago.
    var journalGap: RecordGap?
    var journalBytes = 0
    var machine = MachineFacts()
    var clock = MachineView.Clock(isSet: true, isSynchronised: true)
    var offset: MachineView.Offset?
    var certificateEnds: WallTime
    var fingerprint = ""
    /// Whether the owner put it in.
    var isOwnersCertificate = false
    var addresses: [String] = []
    var localName = LocalNameView.Standing.off
    var versions: [String: String] = [:]
    var processBytes: Int?
    var openFiles: Int?

    /// What is known of payments by phone.
    struct Tap: Sendable {
        var light: TapStatus.Light
        var isEnabled: Bool
        /// Whether the acquirer answered when it was asked last.
        var isAcquirerReachable: Bool
        var acquirerHeardAt: WallTime?
        /// What is missing of the acquirer's side.
        var hindrance: Reason?
        var radio: TapRadioHealth
        var phoneHeardAt: WallTime?
        /// Payments that were taken offline and wait to be sent.
        var waiting: Int
        var takesOffline: Bool
    }

    /// In words: `1.2 GB`.
    static func size(_ bytes: Int) -> String {
        for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "KB")] where bytes >= unit {
            let tenths = bytes / (unit / 10)
            return tenths >= 100 ? "\(tenths / 10) \(name)" : "\(tenths / 10).\(tenths % 10) \(name)"
        }
        return "\(bytes) bytes"
    }
}
