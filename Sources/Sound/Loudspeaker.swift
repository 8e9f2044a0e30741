public import Payments

/// What can be heard where the terminal stands, or not.
public protocol Loudspeaker: Sendable {
    /// What would play now, in words for the owner. Nothing is heard.
    func device() async throws(SoundFailure) -> String

    /// Returns when it was heard, or when it is known that it will not be.
    /// - Parameter loudness: 0 to 100.
    func play(_ tone: Tone, loudness: Int) async throws(SoundFailure)
}

/// Why nothing is heard. No payment has anything to do with it.
public enum SoundFailure: Error, Sendable, Equatable {
    /// `till.yaml` says that there is no sound.
    case off
    case noDevice
    /// Another program plays on it.
    case inUse(device: String)
    /// The device is there and does not play.
    case failed(device: String, detail: String)

    /// In words for whoever stands in the shop.
    public var reason: Reason {
        switch self {
        case .off:
            Reason(
                code: "sound_off",
                message: "The terminal’s configuration file says that it makes no sound.",
                action: "Set sound.device in till.yaml and start the terminal again."
            )
        case .noDevice:
            Reason(
                code: "no_sound_device",
                message: "There is no sound device. Payments are not touched by it.",
                action: "Plug in a USB loudspeaker, or go on without sound."
            )
        case .inUse:
            Reason(
                code: "sound_in_use",
                message: "Another program plays on the sound device. Payments are not touched by it.",
                action: "End the other program, or name another device in till.yaml."
            )
        case .failed:
            Reason(
                code: "sound_failed",
                message: "The sound device does not play. Payments are not touched by it.",
                action: "Unplug the loudspeaker and plug it in again, or name another device in till.yaml."
            )
        }
    }
}
