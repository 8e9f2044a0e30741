import Terminal

/// What keeps a new version out, in the owner's words.
extension UpdateDesk {
    static func problem(_ fault: UpdateFault) -> Problem {
        switch fault {
        case .noService:
            Problem(
                503,
                "update_no_service",
                "The terminal's update service does not answer. Nothing was changed.",
                "Turn the terminal off and on, then try again."
            )
        case .signature:
            Problem(
                422,
                "update_signature",
                "Nobody whom this terminal knows has signed this file, or it was changed since. Nothing was changed.",
                "Take the file anew from where the terminal comes from."
            )
        case .notWhole:
            Problem(
                422,
                "update_not_whole",
                "This is no update, or only a part of one. Nothing was changed.",
                "Download it again, then try once more."
            )
        case .otherMachine:
            Problem(
                422,
                "update_other_machine",
                "This update is for another kind of machine. Nothing was changed.",
                "Take the one for this machine."
            )
        case .nobodyMaySign:
            Problem(
                422,
                "update_nobody_may_sign",
                "This terminal was made without anybody who may sign updates: it takes none. Nothing was changed.",
                "Ask whoever made its image."
            )
        case .notNewer: notNewer
        case .busy: busy
        case .refused(let detail):
            Problem(
                422,
                "update_refused",
                "The update was not installed: \(detail). The version that runs stays.",
                "Try once more, or take another file."
            )
        case .unclear(let detail):
            Problem(
                503,
                "update_unclear",
                "Nobody can say how far the update came: \(detail). The version that runs stays until the next start.",
                "Turn the terminal off and on, then look at its version."
            )
        }
    }

    /// The same for the screen.
    static func refusal(_ fault: UpdateFault) -> SystemUpdate.Refusal {
        switch fault {
        case .signature: .signature
        case .notWhole: .notWhole
        case .otherMachine: .otherMachine
        case .nobodyMaySign: .nobodyMaySign
        case .notNewer: .notNewer
        case .noService, .busy, .refused, .unclear: .failed
        }
    }

    static let notNewer = Problem(
        422,
        "update_not_newer",
        "This update is not newer than what was good on this terminal, and nothing older is installed. Nothing was changed.",
        "Take a newer one."
    )
    static let busy = Problem(
        409,
        "update_busy",
        "The terminal is working on an update already. Nothing was changed.",
        "Wait until it is done."
    )
    static let absent = Problem(
        409,
        "update_absent",
        "This terminal is a program on a machine of its own owner, who updates it. Nothing was changed.",
        "Update it the way it was installed."
    )
    static let chargeOpen = Problem(
        409,
        "update_charge_open",
        "A charge is running, and an update starts the terminal anew. Nothing was changed.",
        "Finish or cancel that charge first."
    )
    static let noRoom = Problem(
        503,
        "update_no_room",
        "The terminal's storage has no room for this file. Nothing was changed.",
        "Use a USB stick instead."
    )
    static let tooLarge = Problem(
        422,
        "update_too_large",
        "This file is larger than any update. Nothing was changed.",
        "Choose the file whose name ends in .raucb."
    )
    static let notBegun = Problem(
        409,
        "update_not_begun",
        "The update has not arrived whole at the terminal. Nothing was changed.",
        "Choose the file again."
    )
    static let outOfPlace = Problem(
        409,
        "update_out_of_place",
        "A piece of the update came out of its turn. Nothing was changed.",
        "Choose the file again."
    )
    static let notChecked = Problem(
        409,
        "update_not_checked",
        "No update was checked. Nothing was changed.",
        "Choose the file and check it first."
    )
    static let stickGone = Problem(
        409,
        "update_stick_gone",
        "This update is on no stick that is plugged in. Nothing was changed.",
        "Plug the stick in again."
    )
    static let notRestarted = Problem(
        503,
        "update_not_restarted",
        "The update is installed, but the terminal did not start anew by itself.",
        "Turn the terminal off and on."
    )
}
