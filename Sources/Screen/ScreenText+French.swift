extension ScreenText {
    public static let french = ScreenText(
        languageTag: "fr",
        readsRightToLeft: false,
        startingTitle: "Démarrage",
        startingDetail: "Un instant, s’il vous plaît.",
        checkingPayments: { count in
            count == 1 ? "Vérification de 1 paiement antérieur." : "Vérification de \(count) paiements antérieurs."
        },
        welcome: "Bienvenue",
        staffPage: "Page du personnel",
        wayNames: { way in
            switch way {
            case .scan: "Scanner"
            case .tap: "Approcher"
            case .connect: "Connecter"
            }
        },
        readiness: { readiness in
            switch readiness {
            case .ready: "prêt"
            case .connecting: "connexion"
            case .unavailable: "indisponible"
            }
        },
        notices: { kind in
            switch kind {
            case .late: "Personnel : un paiement est arrivé en retard"
            case .paidTwice: "Personnel : payé deux fois, remboursez-en un"
            }
        },
        moreNotices: { count in "et \(count) autres" },
        setupTitles: { purpose in
            switch purpose {
            case .claim: "Configurer ce terminal"
            case .reset: "Nouveau mot de passe du propriétaire"
            }
        },
        setupScan: "Scannez le code ou ouvrez",
        setupCodes: { purpose in
            switch purpose {
            case .claim: "Code d’activation"
            case .reset: "Code de réinitialisation, pour le propriétaire seulement"
            }
        },
        setupFingerprint: "Le navigateur avertit. Continuer seulement si l’empreinte du certificat commence par",
        setupTitle: "En cours de configuration",
        setupProgress: { progress in "Étape \(progress.step) sur \(progress.count)" },
        wayInstructions: { way in
            switch way {
            case .scan: "Scannez avec votre portefeuille"
            case .tap: "Approchez votre téléphone"
            case .connect: "Connectez n’importe quel portefeuille"
            }
        },
        appNames: { way in
            switch way {
            case .scan, .connect: "Portefeuille"
            case .tap: "Application de paiement"
            }
        },
        appSteps: { way in
            switch way {
            case .scan, .connect: "Scannez pour payer"
            case .tap: "Scannez et approchez votre téléphone"
            }
        },
        tagInstruction: "Scannez avec votre application de paiement et approchez votre téléphone",
        compareDigits: { phones in
            phones == 1
                ? "Votre téléphone affiche-t-il la même chose ?"
                : "\(phones) téléphones voient ceci. Le vôtre en affiche-t-il un ?"
        },
        formTitle: "D’abord vos coordonnées",
        formWhatToDo:
            "Scannez avec l’appareil photo et remplissez le formulaire. Votre téléphone continue ensuite de lui-même.",
        formSteps: { way in
            switch way {
            case .tap: "Paiement par téléphone ? Scannez ceci"
            case .scan, .connect: "Portefeuille connecté ? Scannez ceci"
            }
        },
        formComesBack: "Vos coordonnées sont demandées ? Leur code revient dans quelques secondes.",
        codeComesBack: "Vous payez avec un autre portefeuille ? Son code revient dans quelques secondes.",
        openPage: "Scannez avec l’appareil photo de votre téléphone",
        timeLeft: "Temps restant",
        chargeCode: "Code",
        gatewaySilent: "Pas encore connu : pas de réponse pour le moment. Déjà payé ? Ne payez pas de nouveau.",
        walletAsks: { name in
            name.isEmpty ? "Approuvez le paiement dans votre portefeuille." : "Approuvez le paiement dans \(name)."
        },
        walletDidNotPay: "Ce portefeuille n’a pas payé. Réessayez, avec un autre portefeuille ou autrement.",
        formFirst: "Scannez et remplissez le formulaire. Le paiement continue ensuite de lui-même.",
        processingTitle: "Paiement en cours",
        processingDetail: "Veuillez patienter. Ne payez pas de nouveau.",
        paidTitle: "Payé",
        tip: "pourboire compris",
        arrivedLate: "Arrivé en retard",
        confirmedBy: { authority in
            switch authority {
            case .gateway: "Confirmé par la passerelle"
            case .acquirer: "Confirmé par l’acquéreur"
            }
        },
        givenBackTitle: "Payé et remboursé",
        givenBackDetail: "L’argent vous a été rendu.",
        refundRecordedDetail:
            "Le magasin a enregistré un remboursement. Si vous n’avez rien reçu, adressez-vous au personnel.",
        promisedTitle: "Accepté hors ligne",
        promisedDetail: "Merci. L’argent est comptabilisé quand le terminal est de nouveau en ligne.",
        notPaidTitles: { kind in
            switch kind {
            case .failed: "Non payé"
            case .expired: "Temps écoulé"
            case .cancelled: "Annulé"
            case .refused: "Refusé"
            }
        },
        notPaidWhatHappened: { kind in
            switch kind {
            case .failed: "Le paiement a échoué. Aucun argent n’a été débité."
            case .expired: "Le paiement n’a pas été fait à temps. Aucun argent n’a été débité."
            case .cancelled: "L’encaissement a été annulé. Aucun argent n’a été débité."
            case .refused: "Le paiement a été refusé. Aucun argent n’a été débité."
            }
        },
        notPaidWhatToDo: { kind in
            switch kind {
            case .failed: "Vous pouvez réessayer."
            case .expired: "Demandez au personnel de recommencer."
            case .cancelled: "Demandez au personnel de recommencer."
            case .refused: "Essayez un autre portefeuille ou un autre moyen de paiement."
            }
        },
        unknownTitle: "Pas encore connu",
        unknownWarning: "Ne payez pas de nouveau.",
        unknownWhatToDo: "Veuillez vous adresser au personnel.",
        offlineTitle: "Hors ligne",
        offlineDetail: "Les paiements ne sont pas possibles en ce moment.",
        offlineWhatToDo: "Le terminal continue d’essayer de lui-même.",
        clockTitle: "L’horloge n’est pas réglée",
        clockDetail: { day in
            "L’horloge du terminal indique \(day), et personne ne l’a réglée : la passerelle ne peut pas être vérifiée. Aucun paiement n’est possible, et aucun argent ne bouge."
        },
        clockWhatToDo:
            "Personnel : donnez au terminal l’accès à Internet. Il règle son horloge de lui-même et continue.",
        pausedTitle: "Veuillez patienter",
        pausedDetail: { time in "Le service de paiement demande au terminal d’attendre jusqu’à \(time)." },
        pausedWhatToDo: "Le terminal reprend ensuite de lui-même.",
        storageTitle: "Les paiements ne peuvent pas être enregistrés",
        storageDetails: { kind in
            switch kind {
            case .full: "La mémoire du terminal est pleine."
            case .readOnly: "La mémoire du terminal refuse l’écriture."
            case .damaged: "Le registre des paiements du terminal est endommagé."
            case .newer: "Le registre des paiements vient d’une version plus récente."
            case .inUse: "Un autre programme a ouvert le registre des paiements."
            case .failed: "La mémoire du terminal ne fonctionne pas."
            }
        },
        storageWhatToDo: { kind in
            switch kind {
            case .full:
                "Veuillez payer autrement. Personnel : libérez de la place ou demandez de l’aide. Rien d’enregistré n’est perdu."
            case .readOnly:
                "Veuillez payer autrement. Personnel : éteignez et rallumez. Si cela persiste, faites changer la mémoire."
            case .damaged: "Veuillez payer autrement. Personnel : demandez de l’aide. N’effacez pas le registre."
            case .newer: "Veuillez payer autrement. Personnel : mettez à jour le programme du terminal."
            case .inUse: "Veuillez payer autrement. Personnel : fermez l’autre programme, ou éteignez et rallumez."
            case .failed:
                "Veuillez payer autrement. Personnel : éteignez et rallumez. Si cela persiste, faites changer la mémoire."
            }
        },
        messageIsNoPayment: "Message du magasin. Ce n’est pas un paiement.",
        messageAnswer: "Veuillez le dire au personnel.",
        keypadTitles: { kind in
            switch kind {
            case .typing: "Nouveau montant"
            case .notAnAmount: "Pas un montant"
            case .confirming: "Encaisser ce montant ?"
            case .cancel: "Annuler cet encaissement ?"
            case .release: "Continuer sans réponse ?"
            case .tooLate: "Annulation impossible maintenant"
            case .notCharged: "Rien n’a été encaissé"
            case .erase: "Tout effacer ?"
            case .cannotErase: "Rien n’est effacé"
            case .notErased: "Rien n’est effacé"
            case .erasing: "Effacement"
            }
        },
        keypadDetails: { kind in
            switch kind {
            case .typing, .confirming: ""
            case .notAnAmount: "Une touche était de trop, ou un montant a des décimales et un autre n’en a pas."
            case .cancel: "Si le client a été plus rapide, le paiement compte."
            case .release: "On ne sait pas encore si le paiement a abouti. Le terminal continue de demander."
            case .tooLate: "Le paiement est en cours. Attendez que le terminal dise comment il s’est terminé."
            case .notCharged: "La page du terminal en donne la raison."
            case .erase:
                "Paiements, réglages, clés et propriétaire disparaissent pour toujours. Pour effacer, tapez ce code :"
            case .cannotErase: "Une fois effacé, personne ici n’apprend comment ils se sont terminés."
            case .notErased: "La mémoire du terminal a refusé. Regardez la page du terminal."
            case .erasing: "N’éteignez pas. Le terminal redémarre tout seul."
            }
        },
        keypadKeys: { kind in
            switch kind {
            case .typing: "Entrée : encaisser · + : ajouter · − : effacer"
            case .notAnAmount: "Retour arrière : corriger · − : effacer"
            case .confirming: "Entrée : encaisser · Num : retour"
            case .cancel: "Entrée : annuler l’encaissement · Num : retour"
            case .release: "Entrée : continuer · Num : retour"
            case .tooLate, .notCharged, .cannotErase, .notErased: "Une touche : retour"
            case .erase: "Entrée : effacer · Num : retour"
            case .erasing: ""
            }
        },
        keypadSum: { count in count == 1 ? "1 montant" : "\(count) montants" },
        keypadOpenPayments: { count in
            count == 1 ? "1 paiement est sans réponse définitive." : "\(count) paiements sont sans réponse définitive."
        },
        updateTitles: { kind in
            switch kind {
            case .installing: "Mise à jour en cours"
            case .restarting: "Mis à jour : le terminal redémarre"
            case .trying: "Mis à jour : la nouvelle version est à l’essai"
            case .updated: "Le terminal a été mis à jour"
            case .notUpdated: "La mise à jour n’a pas réussi"
            case .signature, .notWhole, .otherMachine, .nobodyMaySign, .notNewer, .notInstalled:
                "La mise à jour n’a pas été installée"
            }
        },
        updateDetails: { kind in
            switch kind {
            case .installing: "N’éteignez pas. Le terminal redémarre de lui-même."
            case .restarting: "N’éteignez pas. Cela prend une minute ou deux."
            case .trying:
                "Les encaissements reprennent dans une minute ou deux. Si elle ne fonctionne pas, la version précédente revient d’elle-même."
            case .updated: "Il accepte les paiements comme avant."
            case .notUpdated:
                "La version précédente fonctionne de nouveau et accepte les paiements comme avant. La page du terminal en dit plus."
            case .signature:
                "Personne que ce terminal connaît ne l’a signée, ou elle a été modifiée depuis. Les paiements continuent comme avant. Reprenez-la là d’où vient le terminal."
            case .notWhole:
                "Ce n’est pas une mise à jour, ou seulement une partie. Les paiements continuent comme avant. Téléchargez-la de nouveau."
            case .otherMachine:
                "Elle est destinée à un autre type d’appareil. Les paiements continuent comme avant. Prenez celle de ce terminal."
            case .nobodyMaySign:
                "Ce terminal a été fait sans personne qui puisse signer : il n’accepte aucune mise à jour. Les paiements continuent comme avant. Demandez à qui a fait son image."
            case .notNewer:
                "Elle n’est pas plus récente que ce qui a fonctionné ici, et rien de plus ancien n’est installé. Les paiements continuent comme avant. Prenez-en une plus récente."
            case .notInstalled:
                "Elle n’a pas pu être écrite. La version qui tourne reste, et les paiements continuent comme avant. Essayez encore une fois."
            }
        },
        backupTitles: { kind in
            switch kind {
            case .writing: "Écriture de la sauvegarde sur la clé USB"
            case .written: "La sauvegarde est sur la clé USB"
            case .notWritten: "La sauvegarde n’est pas sur la clé USB"
            case .reading: "Lecture de la sauvegarde sur la clé USB"
            case .whole: "La sauvegarde de la clé USB est entière"
            case .notUsable: "La sauvegarde de la clé USB est inutilisable"
            case .restoring: "Restauration de la sauvegarde"
            case .restored: "La sauvegarde a été restaurée"
            case .notRestored: "La sauvegarde n’a pas été restaurée"
            }
        },
        backupDetails: { kind in
            switch kind {
            case .writing: "Laissez la clé en place. Les paiements continuent."
            case .written: "Vous pouvez la retirer."
            case .notWritten: "Rien d’incomplet ne porte le nom d’une sauvegarde. La page du terminal dit pourquoi."
            case .reading: "Laissez la clé en place. Cela ne modifie rien."
            case .whole: "Rien n’a été modifié. Elle se restaure depuis la page du terminal."
            case .notUsable: "Rien n’a été modifié. La page du terminal dit pourquoi."
            case .restoring: "N’éteignez pas. Le terminal redémarre de lui-même."
            case .restored: "Effacez l’ancien terminal avant de le rallumer."
            case .notRestored: "Tout est comme avant. Le journal d’audit dit pourquoi."
            }
        },
        onboardingTitles: { kind in
            switch kind {
            case .asking: "Un téléphone veut connecter ce terminal au Wi-Fi"
            case .allowed: "Choisissez le Wi-Fi sur le téléphone"
            case .joining: "Le terminal se connecte au Wi-Fi"
            case .notJoined: "Le terminal n’a pas pu rejoindre le Wi-Fi"
            case .joined: "Le terminal est dans le Wi-Fi"
            }
        },
        onboardingDetails: { kind in
            switch kind {
            case .asking: "Autorisez-le seulement si ce téléphone est le vôtre."
            case .allowed: "Saisissez-y son mot de passe."
            case .joining: "Un instant, s’il vous plaît."
            case .notJoined: "Vérifiez le Wi-Fi et son mot de passe, puis réessayez sur le téléphone."
            case .joined: "Le téléphone mène à la page du terminal."
            }
        },
        onboardingKeys: { kind in
            switch kind {
            case .asking: "Entrée : autoriser · Num : non"
            case .allowed, .notJoined: "Num : arrêter"
            case .joining, .joined: ""
            }
        },
        ownerResetTitle: "Quelqu’un demande un nouveau mot de passe du propriétaire",
        ownerResetMinutes: { count in
            count == 1 ? "Un code s’affiche ici dans 1 minute." : "Un code s’affiche ici dans \(count) minutes."
        },
        ownerResetDetail: "Vous ne savez pas qui ? Retirez la clé USB et prévenez le propriétaire.",
        codeNotShownTitle: "Ce code ne peut pas être affiché",
        codeNotShownWhatToDo: "Adressez-vous au personnel. Ne scannez pas cet écran.",
        openThisLink: "Ouvrez ce lien"
    )
}
