extension ScreenText {
    public static let german = ScreenText(
        languageTag: "de",
        readsRightToLeft: false,
        startingTitle: "Startet",
        startingDetail: "Einen Moment, bitte.",
        checkingPayments: { count in
            count == 1 ? "1 frühere Zahlung wird geprüft." : "\(count) frühere Zahlungen werden geprüft."
        },
        welcome: "Willkommen",
        staffPage: "Seite für Mitarbeiter",
        wayNames: { way in
            switch way {
            case .scan: "Scannen"
            case .tap: "Anhalten"
            case .connect: "Verbinden"
            }
        },
        readiness: { readiness in
            switch readiness {
            case .ready: "bereit"
            case .connecting: "verbindet sich"
            case .unavailable: "nicht verfügbar"
            }
        },
        notices: { kind in
            switch kind {
            case .late: "Personal: Eine Zahlung kam verspätet"
            case .paidTwice: "Personal: doppelt bezahlt, eine erstatten"
            }
        },
        moreNotices: { count in "und \(count) weitere" },
        setupTitles: { purpose in
            switch purpose {
            case .claim: "Terminal einrichten"
            case .reset: "Neues Passwort des Inhabers"
            }
        },
        setupScan: "Code scannen oder öffnen",
        setupCodes: { purpose in
            switch purpose {
            case .claim: "Übernahmecode"
            case .reset: "Code zum Zurücksetzen, nur für den Inhaber"
            }
        },
        setupFingerprint: "Fingerabdruck des Zertifikats",
        setupTitle: "Wird eingerichtet",
        setupProgress: { progress in "Schritt \(progress.step) von \(progress.count)" },
        wayInstructions: { way in
            switch way {
            case .scan: "Mit Ihrer Wallet scannen"
            case .tap: "Telefon nah heranhalten"
            case .connect: "Beliebige Wallet verbinden"
            }
        },
        appNames: { way in
            switch way {
            case .scan, .connect: "Wallet"
            case .tap: "Bezahl-App"
            }
        },
        appSteps: { way in
            switch way {
            case .scan, .connect: "Zum Bezahlen scannen"
            case .tap: "Scannen und Telefon nah heranhalten"
            }
        },
        tagInstruction: "Mit Ihrer Bezahl-App scannen und das Telefon nah heranhalten",
        compareDigits: { phones in
            phones == 1
                ? "Zeigt Ihr Telefon dasselbe?"
                : "\(phones) Telefone sehen das. Zeigt Ihres eines davon?"
        },
        formTitle: "Zuerst Ihre Angaben",
        formWhatToDo:
            "Scannen Sie mit der Kamera und füllen Sie das Formular aus. Ihr Telefon macht dann von selbst weiter.",
        formSteps: { way in
            switch way {
            case .tap: "Zahlen per Telefon? Hier scannen"
            case .scan, .connect: "Wallet verbunden? Hier scannen"
            }
        },
        formComesBack: "Ihre Angaben sind nötig? Der Code dafür kommt in wenigen Sekunden wieder.",
        codeComesBack: "Zahlen mit einer anderen Wallet? Ihr Code kommt in wenigen Sekunden wieder.",
        openPage: "Mit der Kamera Ihres Telefons scannen",
        timeLeft: "Restzeit",
        chargeCode: "Code",
        gatewaySilent: "Noch nicht bekannt: zurzeit keine Antwort. Schon bezahlt? Nicht noch einmal bezahlen.",
        walletAsks: { name in
            name.isEmpty ? "Bestätigen Sie die Zahlung in Ihrer Wallet." : "Bestätigen Sie die Zahlung in \(name)."
        },
        walletDidNotPay:
            "Diese Wallet hat nicht bezahlt. Versuchen Sie es noch einmal, mit einer anderen Wallet oder auf anderem Weg.",
        formFirst: "Scannen und das Formular ausfüllen. Die Zahlung geht dann von selbst weiter.",
        processingTitle: "Zahlung läuft",
        processingDetail: "Bitte warten. Nicht noch einmal bezahlen.",
        paidTitle: "Bezahlt",
        tip: "inkl. Trinkgeld",
        arrivedLate: "Verspätet eingegangen",
        confirmedBy: { authority in
            switch authority {
            case .gateway: "Vom Gateway bestätigt"
            case .acquirer: "Vom Acquirer bestätigt"
            }
        },
        givenBackTitle: "Bezahlt und erstattet",
        givenBackDetail: "Das Geld ging an Sie zurück.",
        promisedTitle: "Offline angenommen",
        promisedDetail: "Vielen Dank. Das Geld wird gebucht, sobald das Terminal wieder online ist.",
        notPaidTitles: { kind in
            switch kind {
            case .failed: "Nicht bezahlt"
            case .expired: "Zeit abgelaufen"
            case .cancelled: "Abgebrochen"
            case .refused: "Abgelehnt"
            }
        },
        notPaidWhatHappened: { kind in
            switch kind {
            case .failed: "Die Zahlung ist fehlgeschlagen. Es ist kein Geld geflossen."
            case .expired: "Es wurde nicht rechtzeitig bezahlt. Es ist kein Geld geflossen."
            case .cancelled: "Der Vorgang wurde abgebrochen. Es ist kein Geld geflossen."
            case .refused: "Die Zahlung wurde abgelehnt. Es ist kein Geld geflossen."
            }
        },
        notPaidWhatToDo: { kind in
            switch kind {
            case .failed: "Sie können es noch einmal versuchen."
            case .expired: "Bitten Sie das Personal, neu zu beginnen."
            case .cancelled: "Bitten Sie das Personal, neu zu beginnen."
            case .refused: "Versuchen Sie eine andere Wallet oder einen anderen Zahlungsweg."
            }
        },
        unknownTitle: "Noch nicht bekannt",
        unknownWarning: "Nicht noch einmal bezahlen.",
        unknownWhatToDo: "Bitte fragen Sie das Personal.",
        offlineTitle: "Offline",
        offlineDetail: "Zahlungen sind zurzeit nicht möglich.",
        offlineWhatToDo: "Das Terminal versucht es von selbst weiter.",
        messageIsNoPayment: "Mitteilung des Geschäfts. Keine Zahlung.",
        messageAnswer: "Bitte sagen Sie es dem Personal.",
        codeNotShownTitle: "Dieser Code kann nicht gezeigt werden",
        codeNotShownWhatToDo: "Bitte fragen Sie das Personal. Scannen Sie diesen Bildschirm nicht.",
        openThisLink: "Öffnen Sie diesen Link"
    )
}
