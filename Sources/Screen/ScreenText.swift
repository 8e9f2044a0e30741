/// Every fixed word the screen says, in one language. A further language is one more value of this type.
public struct ScreenText: Sendable {
    /// BCP 47 tag, for example `en`. Text shaping follows it.
    public var languageTag: String
    /// True for Arabic or Hebrew: the page is then laid out in mirror image.
    public var readsRightToLeft: Bool

    public var startingTitle: String
    public var startingDetail: String
    /// What is being done with that many payments that were open when the power went. At least 1.
    public var checkingPayments: @Sendable (Int) -> String

    public var welcome: String
    public var staffPage: String
    /// The ways to pay as the idle page names them.
    public var wayNames: Words<Scene.WayToPay>
    public var readiness: Words<Scene.Light.Readiness>

    /// Stands before amount and code of a payment that nobody waited for.
    public var notices: Words<Scene.Notice.Kind>
    /// How many more there are. At least 1.
    public var moreNotices: @Sendable (Int) -> String

    public var setupTitles: Words<Scene.Setup.Purpose>
    public var setupScan: String
    public var setupCodes: Words<Scene.Setup.Purpose>
    public var setupFingerprint: String
    /// Takes the place of the welcome while the terminal is being set up.
    public var setupTitle: String
    public var setupProgress: Words<Scene.Progress>

    /// What the customer does for each way to pay, as an instruction.
    public var wayInstructions: Words<Scene.WayToPay>
    /// Names the kind of app that each of two codes is for.
    public var appNames: Words<Scene.WayToPay>
    /// What the customer does with that app.
    public var appSteps: Words<Scene.WayToPay>
    /// What the customer does where a phone reads the only code first.
    public var tagInstruction: String
    /// Stands above the four digits of that many phones. At least 1.
    public var compareDigits: @Sendable (Int) -> String
    public var formTitle: String
    public var formWhatToDo: String
    /// The same beside a payment's code, in fewer words, by who is asked.
    public var formSteps: Words<Scene.WayToPay>
    /// Where both take turns: on the payment's page, and on the form's.
    public var formComesBack: String
    public var codeComesBack: String
    /// Takes the place of scanning and connecting where the code opens a page on the customer's own phone.
    public var openPage: String
    public var timeLeft: String
    public var chargeCode: String
    public var gatewaySilent: String
    /// A wallet of that name shows what it is to sign.
    public var walletAsks: @Sendable (String) -> String
    /// A wallet had the payment and did not make it. Said where its own reason has no words in this language.
    public var walletDidNotPay: String
    /// The code opens a form.
    public var formFirst: String

    public var processingTitle: String
    public var processingDetail: String

    public var paidTitle: String
    /// Stands before the tip's amount.
    public var tip: String
    public var arrivedLate: String
    public var confirmedBy: Words<Scene.Authority>

    /// On a customer's own page, which shows an ended charge too.
    public var givenBackTitle: String
    /// Where the acquirer has sent the money back.
    public var givenBackDetail: String
    /// Where staff wrote down that they gave the money back: the terminal has sent none.
    public var refundRecordedDetail: String
    public var promisedTitle: String
    public var promisedDetail: String

    public var notPaidTitles: Words<Scene.NotPaid.Kind>
    public var notPaidWhatHappened: Words<Scene.NotPaid.Kind>
    public var notPaidWhatToDo: Words<Scene.NotPaid.Kind>

    public var unknownTitle: String
    public var unknownWarning: String
    public var unknownWhatToDo: String

    public var offlineTitle: String
    public var offlineDetail: String
    public var offlineWhatToDo: String
    /// Where nobody has set the clock by which the gateway's certificate is not believed. The day it says is filled in.
    public var clockTitle: String
    public var clockDetail: @Sendable (String) -> String
    public var clockWhatToDo: String
    /// For a gateway that asks the terminal to wait. Filled in: the time of day until which it does.
    public var pausedTitle: String
    public var pausedDetail: @Sendable (String) -> String
    public var pausedWhatToDo: String
    /// Where nothing can be written down, what of it is so, and what to do.
    public var storageTitle: String
    public var storageDetails: Words<Scene.Offline.Storage>
    public var storageWhatToDo: Words<Scene.Offline.Storage>

    /// Stands above whatever the shop's till shows.
    public var messageIsNoPayment: String
    /// Where the customer is asked something.
    public var messageAnswer: String

    /// Of the keypad beside the screen: what stands there, what it means, and what the keys do.
    public var keypadTitles: Words<Scene.Keypad.Kind>
    public var keypadDetails: Words<Scene.Keypad.Kind>
    public var keypadKeys: Words<Scene.Keypad.Kind>
    /// Says of a sum how many amounts it has. At least 1.
    public var keypadSum: @Sendable (Int) -> String
    /// How many payments have no final answer. At least 1.
    public var keypadOpenPayments: @Sendable (Int) -> String

    /// Of an update of the whole system.
    public var updateTitles: Words<Scene.Update.Kind>
    public var updateDetails: Words<Scene.Update.Kind>
    /// Of a backup on a USB stick, and of one that is restored.
    public var backupTitles: Words<Scene.Backup.Kind>
    public var backupDetails: Words<Scene.Backup.Kind>

    /// Of a phone that connects the terminal to Wi-Fi: what stands there, what to do, and what the keys do.
    public var onboardingTitles: Words<Scene.Onboarding.Kind>
    public var onboardingDetails: Words<Scene.Onboarding.Kind>
    public var onboardingKeys: Words<Scene.Onboarding.Kind>

    /// While somebody at the terminal asks for a new owner password: what goes on, when the code comes (in minutes, at least 1),
    /// and how to end it.
    public var ownerResetTitle: String
    public var ownerResetMinutes: @Sendable (Int) -> String
    public var ownerResetDetail: String

    public var codeNotShownTitle: String
    public var codeNotShownWhatToDo: String
    /// Stands above a link that is printed because the window is too small for its QR code.
    public var openThisLink: String

    /// One text for every case of `Key`; a missing one does not compile.
    public typealias Words<Key> = @Sendable (Key) -> String
}

extension ScreenText {
    /// The language for a BCP 47 tag such as `de-CH`; English when there is none for it.
    public static func inLanguage(_ tag: String) -> ScreenText {
        let primary = tag.prefix { $0 != "-" && $0 != "_" }.lowercased()
        return all.first { $0.languageTag == primary } ?? .english
    }

    /// The languages this screen speaks.
    public static let all: [ScreenText] = [.english, .german, .spanish, .french, .arabic]

    /// The language of an `Accept-Language` header that is wanted most of those this screen speaks; nil where it names none.
    /// Source: RFC 9110, section 12.5.4.
    public static func preferred(_ header: String?) -> ScreenText? {
        let wishes = (header ?? "").prefix(400).split(separator: ",").prefix(20).map { wish in
            let parts = wish.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            return (tag: String(parts.first ?? ""), weight: weight)
        }
        let best = wishes.enumerated().filter { $0.element.weight > 0 }
            .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
        for (_, wish) in best {
            let primary = wish.tag.prefix { $0 != "-" && $0 != "_" }.lowercased()
            if let text = all.first(where: { $0.languageTag == primary }) { return text }
        }
        return nil
    }

    public static let english = ScreenText(
        languageTag: "en",
        readsRightToLeft: false,
        startingTitle: "Starting",
        startingDetail: "One moment, please.",
        checkingPayments: { count in
            count == 1 ? "Checking 1 earlier payment." : "Checking \(count) earlier payments."
        },
        welcome: "Welcome",
        staffPage: "Staff page",
        wayNames: { way in
            switch way {
            case .scan: "Scan"
            case .tap: "Tap"
            case .connect: "Connect"
            }
        },
        readiness: { readiness in
            switch readiness {
            case .ready: "ready"
            case .connecting: "connecting"
            case .unavailable: "not available"
            }
        },
        notices: { kind in
            switch kind {
            case .late: "Staff: a payment arrived late"
            case .paidTwice: "Staff: paid twice, give one back"
            }
        },
        moreNotices: { count in "and \(count) more" },
        setupTitles: { purpose in
            switch purpose {
            case .claim: "Set up this terminal"
            case .reset: "New owner password"
            }
        },
        setupScan: "Scan the code or open",
        setupCodes: { purpose in
            switch purpose {
            case .claim: "Claim code"
            case .reset: "Reset code, for the owner only"
            }
        },
        setupFingerprint: "The browser will warn. Go on only if the certificate’s fingerprint begins with",
        setupTitle: "Being set up",
        setupProgress: { progress in "Step \(progress.step) of \(progress.count)" },
        wayInstructions: { way in
            switch way {
            case .scan: "Scan with your wallet"
            case .tap: "Hold your phone close"
            case .connect: "Connect any wallet"
            }
        },
        appNames: { way in
            switch way {
            case .scan, .connect: "Wallet"
            case .tap: "Payment app"
            }
        },
        appSteps: { way in
            switch way {
            case .scan, .connect: "Scan to pay"
            case .tap: "Scan and hold your phone close"
            }
        },
        tagInstruction: "Scan with your payment app and hold your phone close",
        compareDigits: { phones in
            phones == 1
                ? "Does your phone show the same?"
                : "\(phones) phones see this. Does yours show one of these?"
        },
        formTitle: "Your details first",
        formWhatToDo: "Scan with your camera and fill in the form. Your phone then goes on by itself.",
        formSteps: { way in
            switch way {
            case .tap: "Paying by phone? Scan this"
            case .scan, .connect: "Wallet connected? Scan this"
            }
        },
        formComesBack: "Your details are needed? Their code comes back in a few seconds.",
        codeComesBack: "Paying with another wallet? Its code comes back in a few seconds.",
        openPage: "Scan with your phone’s camera",
        timeLeft: "Time left",
        chargeCode: "Code",
        gatewaySilent: "Not known yet: no answer at the moment. Paid already? Do not pay again.",
        walletAsks: { name in
            name.isEmpty ? "Approve the payment in your wallet." : "Approve the payment in \(name)."
        },
        walletDidNotPay: "This wallet did not pay. Try again, with another wallet or in another way.",
        formFirst: "Scan and fill in the form. The payment then goes on by itself.",
        processingTitle: "Payment in progress",
        processingDetail: "Please wait. Do not pay again.",
        paidTitle: "Paid",
        tip: "incl. tip",
        arrivedLate: "Arrived late",
        confirmedBy: { authority in
            switch authority {
            case .gateway: "Confirmed by the gateway"
            case .acquirer: "Confirmed by the acquirer"
            }
        },
        givenBackTitle: "Paid and refunded",
        givenBackDetail: "The money went back to you.",
        refundRecordedDetail: "The shop has recorded a refund. If you have no money back, ask the staff.",
        promisedTitle: "Accepted offline",
        promisedDetail: "Thank you. The money is booked when the terminal is online again.",
        notPaidTitles: { kind in
            switch kind {
            case .failed: "Not paid"
            case .expired: "Time is up"
            case .cancelled: "Cancelled"
            case .refused: "Refused"
            }
        },
        notPaidWhatHappened: { kind in
            switch kind {
            case .failed: "The payment failed. No money moved."
            case .expired: "The charge was not paid in time. No money moved."
            case .cancelled: "The charge was cancelled. No money moved."
            case .refused: "The payment was refused. No money moved."
            }
        },
        notPaidWhatToDo: { kind in
            switch kind {
            case .failed: "You can try again."
            case .expired: "Ask staff to start again."
            case .cancelled: "Ask staff to start again."
            case .refused: "Try another wallet or way to pay."
            }
        },
        unknownTitle: "Not known yet",
        unknownWarning: "Do not pay again.",
        unknownWhatToDo: "Please ask staff.",
        offlineTitle: "Offline",
        offlineDetail: "Payments are not possible at the moment.",
        offlineWhatToDo: "The terminal keeps trying by itself.",
        clockTitle: "The clock is not set",
        clockDetail: { day in
            "The terminal’s clock says \(day), and nobody has set it: the gateway cannot be trusted by it. No payment can be made, and no money moves."
        },
        clockWhatToDo: "Staff: let the terminal reach the internet. It sets its clock by itself, and goes on.",
        pausedTitle: "Please wait",
        pausedDetail: { time in "The payment service asks the terminal to wait until \(time)." },
        pausedWhatToDo: "The terminal goes on by itself then.",
        storageTitle: "Payments cannot be recorded",
        storageDetails: { kind in
            switch kind {
            case .full: "The terminal’s storage is full."
            case .readOnly: "The terminal’s storage takes no writes."
            case .damaged: "The terminal’s record of payments is damaged."
            case .newer: "The record of payments comes from a newer version."
            case .inUse: "Another program has the record of payments open."
            case .failed: "The terminal’s storage does not work."
            }
        },
        storageWhatToDo: { kind in
            switch kind {
            case .full: "Please pay another way. Staff: free some space, or ask for help. Nothing recorded is lost."
            case .readOnly:
                "Please pay another way. Staff: switch off and on. If this stays, have the storage replaced."
            case .damaged: "Please pay another way. Staff: ask for help. Do not delete the record."
            case .newer: "Please pay another way. Staff: update the terminal’s program."
            case .inUse: "Please pay another way. Staff: stop the other program, or switch off and on."
            case .failed: "Please pay another way. Staff: switch off and on. If this stays, have the storage replaced."
            }
        },
        messageIsNoPayment: "Message from the shop. Not a payment.",
        messageAnswer: "Please tell the staff.",
        keypadTitles: { kind in
            switch kind {
            case .typing: "New charge"
            case .notAnAmount: "Not an amount"
            case .confirming: "Charge this?"
            case .cancel: "Cancel this charge?"
            case .release: "Go on without an answer?"
            case .tooLate: "Cannot be cancelled now"
            case .notCharged: "Nothing was charged"
            case .erase: "Erase everything?"
            case .cannotErase: "Not erased"
            case .notErased: "Not erased"
            case .erasing: "Erasing"
            }
        },
        keypadDetails: { kind in
            switch kind {
            case .typing, .confirming: ""
            case .notAnAmount: "A key was too many, or one amount has decimals and another has none."
            case .cancel: "If the customer was faster, the payment counts."
            case .release: "It is not known yet whether it was paid. The terminal goes on asking."
            case .tooLate: "The payment is under way. Wait until the terminal says how it ended."
            case .notCharged: "Look at the terminal’s page for the reason."
            case .erase: "Payments, settings, keys and the owner go for good. To erase, type this code:"
            case .cannotErase: "Once erased, nobody hears here how they ended."
            case .notErased: "The terminal’s storage did not take it. Look at the terminal’s page."
            case .erasing: "Do not switch off. The terminal starts again by itself."
            }
        },
        keypadKeys: { kind in
            switch kind {
            case .typing: "Enter: charge · +: add · −: clear"
            case .notAnAmount: "Backspace: undo · −: clear"
            case .confirming: "Enter: charge · Num: back"
            case .cancel: "Enter: cancel the charge · Num: back"
            case .release: "Enter: go on · Num: back"
            case .tooLate, .notCharged, .cannotErase, .notErased: "Any key: back"
            case .erase: "Enter: erase · Num: back"
            case .erasing: ""
            }
        },
        keypadSum: { count in count == 1 ? "1 amount" : "\(count) amounts" },
        keypadOpenPayments: { count in
            count == 1 ? "1 payment has no final answer." : "\(count) payments have no final answer."
        },
        updateTitles: { kind in
            switch kind {
            case .installing: "Updating"
            case .restarting: "Updated: the terminal starts anew"
            case .trying: "Updated: the new version is tried"
            case .updated: "The terminal was updated"
            case .notUpdated: "The update did not work"
            case .signature, .notWhole, .otherMachine, .nobodyMaySign, .notNewer, .notInstalled:
                "The update was not installed"
            }
        },
        updateDetails: { kind in
            switch kind {
            case .installing: "Do not switch off. The terminal starts anew by itself."
            case .restarting: "Do not switch off. This takes a minute or two."
            case .trying:
                "Charges are taken again in a minute or two. If it does not work, the version before runs again by itself."
            case .updated: "It takes payments as before."
            case .notUpdated:
                "The version before runs again, and takes payments as before. The terminal’s page says more."
            case .signature:
                "Nobody whom this terminal knows has signed it, or it was changed since. Payments go on as before. Take it anew from where the terminal comes from."
            case .notWhole:
                "It is no update, or only a part of one. Payments go on as before. Download it again."
            case .otherMachine:
                "It is for another kind of machine. Payments go on as before. Take the one for this terminal."
            case .nobodyMaySign:
                "This terminal was made without anybody who may sign updates, and takes none. Payments go on as before. Ask whoever made its image."
            case .notNewer:
                "It is not newer than what was good here, and nothing older is installed. Payments go on as before. Take a newer one."
            case .notInstalled:
                "It could not be written. The version that runs stays, and payments go on as before. Try once more."
            }
        },
        backupTitles: { kind in
            switch kind {
            case .writing: "Writing the backup onto the stick"
            case .written: "The backup is on the stick"
            case .notWritten: "The backup is not on the stick"
            case .reading: "Reading the backup from the stick"
            case .whole: "The backup on the stick is whole"
            case .notUsable: "The backup on the stick cannot be used"
            case .restoring: "Restoring the backup"
            case .restored: "The backup was restored"
            case .notRestored: "The backup was not restored"
            }
        },
        backupDetails: { kind in
            switch kind {
            case .writing: "Leave the stick in. Payments go on meanwhile."
            case .written: "You can pull it out."
            case .notWritten: "Nothing half is left under a backup’s name. The terminal’s page says why."
            case .reading: "Leave the stick in. Nothing is changed by it."
            case .whole: "Nothing was changed. It is restored from the terminal’s page."
            case .notUsable: "Nothing was changed. The terminal’s page says why."
            case .restoring: "Do not switch off. The terminal starts again by itself."
            case .restored: "Erase the old terminal before it is switched on again."
            case .notRestored: "Everything is as it was. The audit log says why."
            }
        },
        onboardingTitles: { kind in
            switch kind {
            case .asking: "A phone wants to connect this terminal to Wi-Fi"
            case .allowed: "Choose the Wi-Fi network on the phone"
            case .joining: "Joining the Wi-Fi network"
            case .notJoined: "The Wi-Fi network could not be joined"
            case .joined: "The terminal is in the Wi-Fi network"
            }
        },
        onboardingDetails: { kind in
            switch kind {
            case .asking: "Allow it only if the phone is yours."
            case .allowed: "Type the network’s password there."
            case .joining: "One moment, please."
            case .notJoined: "Check the network and its password, and try again on the phone."
            case .joined: "The phone leads to the terminal’s page."
            }
        },
        onboardingKeys: { kind in
            switch kind {
            case .asking: "Enter: allow · Num: no"
            case .allowed, .notJoined: "Num: stop"
            case .joining, .joined: ""
            }
        },
        ownerResetTitle: "Somebody asks for a new owner password",
        ownerResetMinutes: { count in
            count == 1 ? "In 1 minute a code is shown here." : "In \(count) minutes a code is shown here."
        },
        ownerResetDetail: "Was it nobody you know? Pull out the USB stick, and tell the owner.",
        codeNotShownTitle: "This code cannot be shown",
        codeNotShownWhatToDo: "Please ask staff. Do not scan this screen.",
        openThisLink: "Open this link"
    )
}
