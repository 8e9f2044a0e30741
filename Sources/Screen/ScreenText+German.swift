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
        setupFingerprint: "Der Browser warnt. Nur weitergehen, wenn der Fingerabdruck des Zertifikats so beginnt",
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
        refundRecordedDetail:
            "Das Geschäft hat eine Erstattung eingetragen. Haben Sie kein Geld erhalten, fragen Sie das Personal.",
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
        clockTitle: "Die Uhr ist nicht gestellt",
        clockDetail: { day in
            "Die Uhr des Terminals sagt \(day), und niemand hat sie gestellt: Nach ihr ist dem Gateway nicht zu trauen. Zahlungen sind nicht möglich, und es fließt kein Geld."
        },
        clockWhatToDo:
            "Personal: Verbinden Sie das Terminal mit dem Internet. Es stellt seine Uhr von selbst und macht weiter.",
        pausedTitle: "Bitte warten",
        pausedDetail: { time in "Der Zahlungsdienst bittet das Terminal, bis \(time) Uhr zu warten." },
        pausedWhatToDo: "Danach macht das Terminal von selbst weiter.",
        storageTitle: "Zahlungen können nicht verbucht werden",
        storageDetails: { kind in
            switch kind {
            case .full: "Der Speicher des Terminals ist voll."
            case .readOnly: "Der Speicher des Terminals lässt sich nicht beschreiben."
            case .damaged: "Das Zahlungsbuch des Terminals ist beschädigt."
            case .newer: "Das Zahlungsbuch stammt von einer neueren Version."
            case .inUse: "Ein anderes Programm hat das Zahlungsbuch geöffnet."
            case .failed: "Der Speicher des Terminals funktioniert nicht."
            }
        },
        storageWhatToDo: { kind in
            switch kind {
            case .full: "Bitte anders zahlen. Personal: Platz schaffen oder Hilfe holen. Verbuchtes bleibt erhalten."
            case .readOnly:
                "Bitte anders zahlen. Personal: aus- und einschalten. Bleibt es so, Speicher tauschen lassen."
            case .damaged: "Bitte anders zahlen. Personal: Hilfe holen. Das Zahlungsbuch nicht löschen."
            case .newer: "Bitte anders zahlen. Personal: das Programm des Terminals aktualisieren."
            case .inUse: "Bitte anders zahlen. Personal: das andere Programm beenden oder aus- und einschalten."
            case .failed: "Bitte anders zahlen. Personal: aus- und einschalten. Bleibt es so, Speicher tauschen lassen."
            }
        },
        messageIsNoPayment: "Mitteilung des Geschäfts. Keine Zahlung.",
        messageAnswer: "Bitte sagen Sie es dem Personal.",
        keypadTitles: { kind in
            switch kind {
            case .typing: "Neuer Betrag"
            case .notAnAmount: "Kein Betrag"
            case .confirming: "Diesen Betrag kassieren?"
            case .cancel: "Vorgang abbrechen?"
            case .release: "Ohne Antwort weitermachen?"
            case .tooLate: "Jetzt nicht abzubrechen"
            case .notCharged: "Nichts wurde kassiert"
            case .erase: "Alles löschen?"
            case .cannotErase: "Nicht gelöscht"
            case .notErased: "Nicht gelöscht"
            case .erasing: "Wird gelöscht"
            }
        },
        keypadDetails: { kind in
            switch kind {
            case .typing, .confirming: ""
            case .notAnAmount: "Eine Taste war zu viel, oder ein Betrag hat Nachkommastellen und ein anderer nicht."
            case .cancel: "War der Kunde schneller, gilt die Zahlung."
            case .release: "Ob bezahlt wurde, ist ungeklärt. Das Terminal fragt weiter nach."
            case .tooLate: "Die Zahlung läuft. Warten Sie, bis das Terminal sagt, wie sie ausging."
            case .notCharged: "Den Grund zeigt die Seite des Terminals."
            case .erase:
                "Zahlungen, Einstellungen, Schlüssel und Inhaber sind dann für immer weg. Zum Löschen diesen Code eingeben:"
            case .cannotErase: "Nach dem Löschen erfährt hier niemand, wie sie ausgingen."
            case .notErased: "Der Speicher des Terminals nahm es nicht an. Sehen Sie auf der Seite des Terminals nach."
            case .erasing: "Nicht ausschalten. Das Terminal startet von selbst neu."
            }
        },
        keypadKeys: { kind in
            switch kind {
            case .typing: "Enter: kassieren · +: dazu · −: löschen"
            case .notAnAmount: "Rücktaste: rückgängig · −: löschen"
            case .confirming: "Enter: kassieren · Num: zurück"
            case .cancel: "Enter: abbrechen · Num: zurück"
            case .release: "Enter: weiter · Num: zurück"
            case .tooLate, .notCharged, .cannotErase, .notErased: "Beliebige Taste: zurück"
            case .erase: "Enter: löschen · Num: zurück"
            case .erasing: ""
            }
        },
        keypadSum: { count in count == 1 ? "1 Betrag" : "\(count) Beträge" },
        keypadOpenPayments: { count in
            count == 1 ? "1 Zahlung ist ohne endgültige Antwort." : "\(count) Zahlungen sind ohne endgültige Antwort."
        },
        updateTitles: { kind in
            switch kind {
            case .installing: "Wird aktualisiert"
            case .restarting: "Aktualisiert: Das Terminal startet neu"
            case .trying: "Aktualisiert: Die neue Version wird geprüft"
            case .updated: "Das Terminal wurde aktualisiert"
            case .notUpdated: "Die Aktualisierung ist misslungen"
            case .signature, .notWhole, .otherMachine, .nobodyMaySign, .notNewer, .notInstalled:
                "Die Aktualisierung wurde nicht installiert"
            }
        },
        updateDetails: { kind in
            switch kind {
            case .installing: "Nicht ausschalten. Das Terminal startet von selbst neu."
            case .restarting: "Nicht ausschalten. Das dauert ein bis zwei Minuten."
            case .trying:
                "In ein bis zwei Minuten wird wieder kassiert. Arbeitet sie nicht, läuft von selbst wieder die vorige Version."
            case .updated: "Es nimmt Zahlungen an wie zuvor."
            case .notUpdated:
                "Die Version davor läuft wieder und nimmt Zahlungen an wie zuvor. Mehr steht auf der Seite des Terminals."
            case .signature:
                "Niemand, den dieses Terminal kennt, hat sie unterschrieben, oder sie wurde danach verändert. Zahlungen gehen weiter wie zuvor. Holen Sie sie neu von dort, woher das Terminal kommt."
            case .notWhole:
                "Das ist keine Aktualisierung oder nur ein Teil davon. Zahlungen gehen weiter wie zuvor. Laden Sie sie neu herunter."
            case .otherMachine:
                "Sie ist für eine andere Art von Gerät. Zahlungen gehen weiter wie zuvor. Nehmen Sie die für dieses Terminal."
            case .nobodyMaySign:
                "Bei der Herstellung dieses Terminals wurde niemand genannt, der unterschreiben darf: Es nimmt keine an. Zahlungen gehen weiter wie zuvor. Fragen Sie, wer sein Abbild gemacht hat."
            case .notNewer:
                "Sie ist nicht neuer als das, was hier schon lief, und Älteres wird nicht installiert. Zahlungen gehen weiter wie zuvor. Nehmen Sie eine neuere."
            case .notInstalled:
                "Sie konnte nicht geschrieben werden. Die laufende Version bleibt, und Zahlungen gehen weiter wie zuvor. Versuchen Sie es noch einmal."
            }
        },
        backupTitles: { kind in
            switch kind {
            case .writing: "Die Sicherung wird auf den Stick geschrieben"
            case .written: "Die Sicherung ist auf dem Stick"
            case .notWritten: "Die Sicherung ist nicht auf dem Stick"
            case .reading: "Die Sicherung wird vom Stick gelesen"
            case .whole: "Die Sicherung auf dem Stick ist vollständig"
            case .notUsable: "Die Sicherung auf dem Stick ist nicht brauchbar"
            case .restoring: "Die Sicherung wird eingespielt"
            case .restored: "Die Sicherung wurde eingespielt"
            case .notRestored: "Die Sicherung wurde nicht eingespielt"
            }
        },
        backupDetails: { kind in
            switch kind {
            case .writing: "Lassen Sie den Stick stecken. Zahlungen gehen weiter."
            case .written: "Sie können ihn herausziehen."
            case .notWritten:
                "Nichts Halbes steht unter dem Namen einer Sicherung. Warum, steht auf der Seite des Terminals."
            case .reading: "Lassen Sie den Stick stecken. Dabei wird nichts geändert."
            case .whole: "Nichts wurde geändert. Eingespielt wird sie auf der Seite des Terminals."
            case .notUsable: "Nichts wurde geändert. Warum, steht auf der Seite des Terminals."
            case .restoring: "Nicht ausschalten. Das Terminal startet von selbst neu."
            case .restored: "Löschen Sie das alte Terminal, bevor es wieder eingeschaltet wird."
            case .notRestored: "Alles ist, wie es war. Warum, steht im Prüfprotokoll."
            }
        },
        onboardingTitles: { kind in
            switch kind {
            case .asking: "Ein Handy möchte dieses Terminal mit dem WLAN verbinden"
            case .allowed: "Wählen Sie am Handy das WLAN"
            case .joining: "Das Terminal geht ins WLAN"
            case .notJoined: "Das Terminal kam nicht ins WLAN"
            case .joined: "Das Terminal ist im WLAN"
            }
        },
        onboardingDetails: { kind in
            switch kind {
            case .asking: "Erlauben Sie es nur, wenn es Ihr Handy ist."
            case .allowed: "Geben Sie dort sein Passwort ein."
            case .joining: "Einen Moment, bitte."
            case .notJoined: "Prüfen Sie WLAN und Passwort, und versuchen Sie es am Handy noch einmal."
            case .joined: "Das Handy führt zur Seite des Terminals."
            }
        },
        onboardingKeys: { kind in
            switch kind {
            case .asking: "Enter: erlauben · Num: nein"
            case .allowed, .notJoined: "Num: beenden"
            case .joining, .joined: ""
            }
        },
        ownerResetTitle: "Jemand verlangt ein neues Passwort für den Inhaber",
        ownerResetMinutes: { count in
            count == 1 ? "In 1 Minute erscheint hier ein Code." : "In \(count) Minuten erscheint hier ein Code."
        },
        ownerResetDetail:
            "Sie wissen nicht, wer das ist? Ziehen Sie den USB-Stick heraus und sagen Sie es dem Inhaber.",
        codeNotShownTitle: "Dieser Code kann nicht gezeigt werden",
        codeNotShownWhatToDo: "Bitte fragen Sie das Personal. Scannen Sie diesen Bildschirm nicht.",
        openThisLink: "Öffnen Sie diesen Link"
    )
}
