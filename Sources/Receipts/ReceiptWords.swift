import Payments

/// What a receipt says beside what it is told, in one language.
public struct ReceiptWords: Sendable {
    /// BCP 47.
    public let language: String
    public let readsRightToLeft: Bool
    let copy: String
    let paidTwice: String
    let refundedByHand: String
    let amount: String
    let tip: String
    let total: String
    let givenBack: String
    let date: String
    let way: String
    let paidWith: String
    let confirmedBy: String
    let reference: String
    let code: String
    let terminal: String
    let merchantID: String
    let charge: String
    let payment: String
    let transaction: String
    let asKnownOn: String
    /// The document's name.
    public let receipt: String
    let ways: @Sendable (Rail) -> String
    let authorities: @Sendable (Authority) -> String
    /// The large word.
    let title: @Sendable (Receipt.Standing) -> String
    /// What it means for the money; nil where the title says all.
    let meaning: @Sendable (Receipt.Standing) -> String?

    static let all = [english, german, spanish, french, arabic]

    /// English where there are no words in that language.
    public static func inLanguage(_ tag: String?) -> ReceiptWords { all.first { $0.language == tag } ?? english }

    static let english = ReceiptWords(
        language: "en",
        readsRightToLeft: false,
        copy: "COPY",
        paidTwice: "Paid more than once: the shop has a payment to give back.",
        refundedByHand: "The shop says that it gave the money back itself.",
        amount: "Amount",
        tip: "Tip",
        total: "Total",
        givenBack: "Refunded",
        date: "Date",
        way: "Way of payment",
        paidWith: "Paid with",
        confirmedBy: "Confirmed by",
        reference: "Reference",
        code: "Code",
        terminal: "Terminal",
        merchantID: "Merchant ID",
        charge: "Charge",
        payment: "Payment",
        transaction: "Transaction",
        asKnownOn: "As known on",
        receipt: "Receipt",
        ways: { rail in
            switch rail {
            case .scan: "QR code"
            case .tap: "Phone held near"
            case .connect: "Connected wallet"
            }
        },
        authorities: { authority in
            switch authority {
            case .gateway: "gateway"
            case .acquirer: "acquirer"
            }
        },
        title: { standing in
            switch standing {
            case .paid: "PAID"
            case .refunded: "REFUNDED"
            case .acceptedOffline: "ACCEPTED OFFLINE"
            case .failed, .expired, .cancelled: "NOT PAID"
            case .notPaidYet: "NOT PAID YET"
            case .inProgress: "IN PROGRESS"
            case .unknown: "NOT KNOWN YET"
            }
        },
        meaning: { standing in
            switch standing {
            case .paid: nil
            case .refunded: "This was paid, and the money went back to the customer."
            case .acceptedOffline:
                "Accepted offline, not yet settled: the customer’s phone "
                    + "has promised the money. This is not a proof of payment."
            case .failed: "The payment was not made. No money moved."
            case .expired: "The time to pay ran out. No money moved."
            case .cancelled: "The charge was cancelled. No money moved."
            case .notPaidYet: "The customer has not paid yet. This is not a proof of payment."
            case .inProgress: "The payment is under way and not confirmed. This is not a proof of payment."
            case .unknown:
                "Nobody could say yet whether this was paid. This is not a "
                    + "proof of payment. Do not pay again before the shop knows."
            }
        }
    )

    static let german = ReceiptWords(
        language: "de",
        readsRightToLeft: false,
        copy: "KOPIE",
        paidTwice: "Mehrfach bezahlt: Das Geschäft muss eine Zahlung erstatten.",
        refundedByHand: "Das Geschäft gibt an, das Geld selbst erstattet zu haben.",
        amount: "Betrag",
        tip: "Trinkgeld",
        total: "Summe",
        givenBack: "Davon erstattet",
        date: "Datum",
        way: "Zahlungsweg",
        paidWith: "Bezahlt mit",
        confirmedBy: "Bestätigt von",
        reference: "Referenz",
        code: "Code",
        terminal: "Terminal",
        merchantID: "Händler-ID",
        charge: "Vorgang",
        payment: "Zahlung",
        transaction: "Transaktion",
        asKnownOn: "Stand vom",
        receipt: "Beleg",
        ways: { rail in
            switch rail {
            case .scan: "QR-Code"
            case .tap: "Telefon angehalten"
            case .connect: "Wallet verbunden"
            }
        },
        authorities: { authority in
            switch authority {
            case .gateway: "Gateway"
            case .acquirer: "Acquirer"
            }
        },
        title: { standing in
            switch standing {
            case .paid: "BEZAHLT"
            case .refunded: "ERSTATTET"
            case .acceptedOffline: "OFFLINE ANGENOMMEN"
            case .failed, .expired, .cancelled: "NICHT BEZAHLT"
            case .notPaidYet: "NOCH NICHT BEZAHLT"
            case .inProgress: "ZAHLUNG LÄUFT"
            case .unknown: "NOCH NICHT BEKANNT"
            }
        },
        meaning: { standing in
            switch standing {
            case .paid: nil
            case .refunded: "Dies wurde bezahlt, und das Geld ging an den Kunden zurück."
            case .acceptedOffline:
                "Offline angenommen, noch nicht gebucht: Das Telefon des Kunden "
                    + "hat das Geld zugesagt. Dies ist kein Zahlungsnachweis."
            case .failed: "Die Zahlung kam nicht zustande. Es ist kein Geld geflossen."
            case .expired: "Die Zeit zum Bezahlen ist abgelaufen. Es ist kein Geld geflossen."
            case .cancelled: "Der Vorgang wurde abgebrochen. Es ist kein Geld geflossen."
            case .notPaidYet: "Der Kunde hat noch nicht bezahlt. Dies ist kein Zahlungsnachweis."
            case .inProgress: "Die Zahlung läuft und ist nicht bestätigt. Dies ist kein Zahlungsnachweis."
            case .unknown:
                "Niemand konnte bisher sagen, ob bezahlt wurde. Dies ist kein Zahlungsnachweis. "
                    + "Bezahlen Sie nicht noch einmal, bevor das Geschäft es weiß."
            }
        }
    )

    static let spanish = ReceiptWords(
        language: "es",
        readsRightToLeft: false,
        copy: "COPIA",
        paidTwice: "Pagado más de una vez: el comercio debe devolver un pago.",
        refundedByHand: "El comercio indica que ha devuelto el dinero por sí mismo.",
        amount: "Importe",
        tip: "Propina",
        total: "Total",
        givenBack: "Importe devuelto",
        date: "Fecha",
        way: "Forma de pago",
        paidWith: "Pagado con",
        confirmedBy: "Confirmado por",
        reference: "Referencia",
        code: "Código",
        terminal: "Terminal",
        merchantID: "ID de comercio",
        charge: "Cobro",
        payment: "Pago",
        transaction: "Transacción",
        asKnownOn: "Situación a",
        receipt: "Recibo",
        ways: { rail in
            switch rail {
            case .scan: "Código QR"
            case .tap: "Teléfono acercado"
            case .connect: "Monedero conectado"
            }
        },
        authorities: { authority in
            switch authority {
            case .gateway: "la pasarela"
            case .acquirer: "el adquirente"
            }
        },
        title: { standing in
            switch standing {
            case .paid: "PAGADO"
            case .refunded: "DEVUELTO"
            case .acceptedOffline: "ACEPTADO SIN CONEXIÓN"
            case .failed, .expired, .cancelled: "NO PAGADO"
            case .notPaidYet: "AÚN NO PAGADO"
            case .inProgress: "PAGO EN CURSO"
            case .unknown: "AÚN NO SE SABE"
            }
        },
        meaning: { standing in
            switch standing {
            case .paid: nil
            case .refunded: "Esto se pagó y el dinero volvió al cliente."
            case .acceptedOffline:
                "Aceptado sin conexión, aún sin liquidar: el teléfono del cliente "
                    + "ha prometido el dinero. Esto no es un justificante de pago."
            case .failed: "El pago no se realizó. No se movió dinero."
            case .expired: "Se agotó el tiempo para pagar. No se movió dinero."
            case .cancelled: "El cobro se canceló. No se movió dinero."
            case .notPaidYet: "El cliente aún no ha pagado. Esto no es un justificante de pago."
            case .inProgress: "El pago está en curso y sin confirmar. Esto no es un justificante de pago."
            case .unknown:
                "Nadie ha podido decir todavía si se pagó. Esto no es un justificante "
                    + "de pago. No vuelva a pagar antes de que el comercio lo sepa."
            }
        }
    )

    static let french = ReceiptWords(
        language: "fr",
        readsRightToLeft: false,
        copy: "COPIE",
        paidTwice: "Payé plus d’une fois : le commerçant a un paiement à rembourser.",
        refundedByHand: "Le commerçant indique avoir rendu l’argent lui-même.",
        amount: "Montant",
        tip: "Pourboire",
        total: "Total",
        givenBack: "Dont remboursé",
        date: "Date",
        way: "Moyen de paiement",
        paidWith: "Payé avec",
        confirmedBy: "Confirmé par",
        reference: "Référence",
        code: "Code",
        terminal: "Terminal",
        merchantID: "ID commerçant",
        charge: "Encaissement",
        payment: "Paiement",
        transaction: "Transaction",
        asKnownOn: "Situation au",
        receipt: "Reçu",
        ways: { rail in
            switch rail {
            case .scan: "Code QR"
            case .tap: "Téléphone approché"
            case .connect: "Portefeuille connecté"
            }
        },
        authorities: { authority in
            switch authority {
            case .gateway: "la passerelle"
            case .acquirer: "l’acquéreur"
            }
        },
        title: { standing in
            switch standing {
            case .paid: "PAYÉ"
            case .refunded: "REMBOURSÉ"
            case .acceptedOffline: "ACCEPTÉ HORS LIGNE"
            case .failed, .expired, .cancelled: "NON PAYÉ"
            case .notPaidYet: "PAS ENCORE PAYÉ"
            case .inProgress: "PAIEMENT EN COURS"
            case .unknown: "PAS ENCORE CONNU"
            }
        },
        meaning: { standing in
            switch standing {
            case .paid: nil
            case .refunded: "Ceci a été payé, et l’argent a été rendu au client."
            case .acceptedOffline:
                "Accepté hors ligne, pas encore télécollecté : le téléphone du client "
                    + "a promis l’argent. Ceci n’est pas une preuve de paiement."
            case .failed: "Le paiement n’a pas été effectué. Aucun argent n’a été débité."
            case .expired: "Le temps pour payer est écoulé. Aucun argent n’a été débité."
            case .cancelled: "L’encaissement a été annulé. Aucun argent n’a été débité."
            case .notPaidYet: "Le client n’a pas encore payé. Ceci n’est pas une preuve de paiement."
            case .inProgress: "Le paiement est en cours et non confirmé. Ceci n’est pas une preuve de paiement."
            case .unknown:
                "Personne n’a encore pu dire si c’est payé. Ceci n’est pas une preuve de "
                    + "paiement. Ne payez pas de nouveau avant que le commerçant le sache."
            }
        }
    )

    static let arabic = ReceiptWords(
        language: "ar",
        readsRightToLeft: true,
        copy: "نسخة",
        paidTwice: "دُفع أكثر من مرة: على المتجر إعادة دفعة.",
        refundedByHand: "يفيد المتجر بأنه أعاد المال بنفسه.",
        amount: "المبلغ",
        tip: "إكرامية",
        total: "المجموع",
        givenBack: "المبلغ المستردّ",
        date: "التاريخ",
        way: "طريقة الدفع",
        paidWith: "دُفع بـ",
        confirmedBy: "أكدها",
        reference: "المرجع",
        code: "الرمز",
        terminal: "الجهاز",
        merchantID: "معرّف التاجر",
        charge: "العملية",
        payment: "الدفعة",
        transaction: "المعاملة",
        asKnownOn: "الحالة في",
        receipt: "إيصال",
        ways: { rail in
            switch rail {
            case .scan: "رمز QR"
            case .tap: "تقريب الهاتف"
            case .connect: "محفظة متصلة"
            }
        },
        authorities: { authority in
            switch authority {
            case .gateway: "البوابة"
            case .acquirer: "الجهة المحصِّلة"
            }
        },
        title: { standing in
            switch standing {
            case .paid: "مدفوع"
            case .refunded: "تم الاسترداد"
            case .acceptedOffline: "قُبل دون اتصال"
            case .failed, .expired, .cancelled: "لم يُدفع"
            case .notPaidYet: "لم يُدفع بعد"
            case .inProgress: "الدفع جارٍ"
            case .unknown: "غير معروف بعد"
            }
        },
        meaning: { standing in
            switch standing {
            case .paid: nil
            case .refunded: "دُفع هذا، ثم أُعيد المال إلى العميل."
            case .acceptedOffline: "قُبل دون اتصال ولم يُسوَّ بعد: وعد هاتف العميل بالمبلغ. هذا ليس إثبات دفع."
            case .failed: "لم تتم الدفعة. لم يُخصم أي مبلغ."
            case .expired: "انقضى وقت الدفع. لم يُخصم أي مبلغ."
            case .cancelled: "أُلغيت العملية. لم يُخصم أي مبلغ."
            case .notPaidYet: "لم يدفع العميل بعد. هذا ليس إثبات دفع."
            case .inProgress: "الدفع جارٍ ولم يتأكد. هذا ليس إثبات دفع."
            case .unknown:
                "لم يستطع أحد أن يقول بعد هل دُفع هذا. هذا ليس إثبات دفع. لا تدفع مرة أخرى قبل أن يعرف المتجر."
            }
        }
    )
}
