/// What a customer's own page says beside the words of the screen, in one language.
struct CustomerWords: Sendable {
    struct Notice: Sendable {
        let title: String
        let detail: String

        init(_ title: String, _ detail: String) { (self.title, self.detail) = (title, detail) }
    }

    /// BCP 47.
    let language: String
    let readsRightToLeft: Bool
    let payWithWallet: String
    /// What stands on the terminal's screen too.
    let compare: String
    let fillInForm: String
    let goesOn: String
    let wallets: String
    let openPayment: String
    let anotherWallet: String
    /// Around a wallet's name.
    let open: (before: String, after: String)
    let otherDevice: String
    let codeOfPayment: String
    let scanThere: String
    let lost: String
    let ended: String
    let gone: Notice
    let unavailable: Notice
    let readOnly: Notice
    let busy: Notice

    static let all = [english, german, spanish, french, arabic]

    /// English where there are no words in that language.
    static func inLanguage(_ tag: String?) -> CustomerWords { all.first { $0.language == tag } ?? english }

    static let english = CustomerWords(
        language: "en",
        readsRightToLeft: false,
        payWithWallet: "Pay with your wallet",
        compare: "The terminal’s screen shows the same name, amount and code. If not, do not pay: ask staff.",
        fillInForm: "Fill in the form",
        goesOn: "The payment then goes on by itself.",
        wallets: "Wallets",
        openPayment: "Open the payment",
        anotherWallet: "Another wallet",
        open: ("Open ", ""),
        otherDevice: "Pay with another device",
        codeOfPayment: "QR code of this payment",
        scanThere: "Scan it with the wallet on your other device.",
        lost: "No connection to the terminal. What stands above may be old: look at the terminal’s screen.",
        ended: "This page has ended. What stands above is the last it was told: staff know what came after.",
        gone: Notice(
            "This page is over",
            "It belongs to one payment and ends with it. Look at the terminal’s screen, or ask staff."
        ),
        unavailable: Notice("One moment", "The terminal cannot show this page now. Look at its screen, or ask staff."),
        readOnly: Notice("This page can only be read", "Open it in a browser."),
        busy: Notice("Too many requests", "Wait a moment, then open the page again.")
    )

    static let german = CustomerWords(
        language: "de",
        readsRightToLeft: false,
        payWithWallet: "Mit Ihrer Wallet bezahlen",
        compare:
            "Der Bildschirm des Terminals zeigt denselben Namen, Betrag und Code. Wenn nicht, bezahlen Sie nicht: Fragen Sie das Personal.",
        fillInForm: "Formular ausfüllen",
        goesOn: "Die Zahlung geht dann von selbst weiter.",
        wallets: "Wallets",
        openPayment: "Zahlung öffnen",
        anotherWallet: "Andere Wallet",
        open: ("", " öffnen"),
        otherDevice: "Mit einem anderen Gerät bezahlen",
        codeOfPayment: "QR-Code dieser Zahlung",
        scanThere: "Scannen Sie ihn mit der Wallet auf Ihrem anderen Gerät.",
        lost:
            "Keine Verbindung zum Terminal. Was oben steht, kann veraltet sein: Sehen Sie auf den Bildschirm des Terminals.",
        ended:
            "Diese Seite ist zu Ende. Was oben steht, ist das Letzte, was ihr gesagt wurde: Was danach kam, weiß das Personal.",
        gone: Notice(
            "Diese Seite ist zu Ende",
            "Sie gehört zu einer Zahlung und endet mit ihr. Sehen Sie auf den Bildschirm des Terminals oder fragen Sie das Personal."
        ),
        unavailable: Notice(
            "Einen Moment",
            "Das Terminal kann diese Seite gerade nicht zeigen. Sehen Sie auf seinen Bildschirm oder fragen Sie das Personal."
        ),
        readOnly: Notice("Diese Seite kann man nur lesen", "Öffnen Sie sie in einem Browser."),
        busy: Notice("Zu viele Anfragen", "Warten Sie einen Moment und öffnen Sie die Seite dann noch einmal.")
    )

    static let spanish = CustomerWords(
        language: "es",
        readsRightToLeft: false,
        payWithWallet: "Pague con su monedero",
        compare:
            "La pantalla del terminal muestra el mismo nombre, importe y código. Si no es así, no pague: pregunte al personal.",
        fillInForm: "Rellenar el formulario",
        goesOn: "El pago continúa después por sí solo.",
        wallets: "Monederos",
        openPayment: "Abrir el pago",
        anotherWallet: "Otro monedero",
        open: ("Abrir ", ""),
        otherDevice: "Pagar con otro dispositivo",
        codeOfPayment: "Código QR de este pago",
        scanThere: "Escanéelo con el monedero de su otro dispositivo.",
        lost: "Sin conexión con el terminal. Lo de arriba puede estar desfasado: mire la pantalla del terminal.",
        ended:
            "Esta página ha terminado. Lo de arriba es lo último que se le comunicó: el personal sabe lo que pasó después.",
        gone: Notice(
            "Esta página ha terminado",
            "Pertenece a un pago y termina con él. Mire la pantalla del terminal o pregunte al personal."
        ),
        unavailable: Notice(
            "Un momento",
            "El terminal no puede mostrar esta página ahora. Mire su pantalla o pregunte al personal."
        ),
        readOnly: Notice("Esta página solo se puede leer", "Ábrala en un navegador."),
        busy: Notice("Demasiadas solicitudes", "Espere un momento y vuelva a abrir la página.")
    )

    static let french = CustomerWords(
        language: "fr",
        readsRightToLeft: false,
        payWithWallet: "Payez avec votre portefeuille",
        compare:
            "L’écran du terminal affiche le même nom, le même montant et le même code. Sinon, ne payez pas : adressez-vous au personnel.",
        fillInForm: "Remplir le formulaire",
        goesOn: "Le paiement continue ensuite de lui-même.",
        wallets: "Portefeuilles",
        openPayment: "Ouvrir le paiement",
        anotherWallet: "Autre portefeuille",
        open: ("Ouvrir ", ""),
        otherDevice: "Payer avec un autre appareil",
        codeOfPayment: "Code QR de ce paiement",
        scanThere: "Scannez-le avec le portefeuille de votre autre appareil.",
        lost:
            "Pas de connexion au terminal. Ce qui est affiché ci-dessus peut être ancien : regardez l’écran du terminal.",
        ended:
            "Cette page est terminée. Ce qui est affiché ci-dessus est la dernière information reçue : le personnel sait ce qui a suivi.",
        gone: Notice(
            "Cette page est terminée",
            "Elle appartient à un paiement et prend fin avec lui. Regardez l’écran du terminal ou adressez-vous au personnel."
        ),
        unavailable: Notice(
            "Un instant",
            "Le terminal ne peut pas afficher cette page en ce moment. Regardez son écran ou adressez-vous au personnel."
        ),
        readOnly: Notice("Cette page peut seulement être lue", "Ouvrez-la dans un navigateur."),
        busy: Notice("Trop de demandes", "Patientez un instant, puis rouvrez la page.")
    )

    static let arabic = CustomerWords(
        language: "ar",
        readsRightToLeft: true,
        payWithWallet: "ادفع بمحفظتك",
        compare: "تعرض شاشة الجهاز الاسم والمبلغ والرمز نفسها. وإلا فلا تدفع: اسأل الموظفين.",
        fillInForm: "املأ النموذج",
        goesOn: "ثم يتابع الدفع من تلقاء نفسه.",
        wallets: "المحافظ",
        openPayment: "فتح الدفعة",
        anotherWallet: "محفظة أخرى",
        open: ("فتح ", ""),
        otherDevice: "الدفع بجهاز آخر",
        codeOfPayment: "رمز QR لهذه الدفعة",
        scanThere: "امسحه بالمحفظة على جهازك الآخر.",
        lost: "لا اتصال بالجهاز. قد يكون المعروض أعلاه قديمًا: انظر إلى شاشة الجهاز.",
        ended: "انتهت هذه الصفحة. المعروض أعلاه هو آخر ما وصلها: ويعرف الموظفون ما حدث بعده.",
        gone: Notice("انتهت هذه الصفحة", "تخص دفعة واحدة وتنتهي بانتهائها. انظر إلى شاشة الجهاز أو اسأل الموظفين."),
        unavailable: Notice("لحظة من فضلك", "لا يستطيع الجهاز عرض هذه الصفحة الآن. انظر إلى شاشته أو اسأل الموظفين."),
        readOnly: Notice("هذه الصفحة للقراءة فقط", "افتحها في متصفح."),
        busy: Notice("طلبات كثيرة جدًا", "انتظر لحظة ثم افتح الصفحة مجددًا.")
    )
}
