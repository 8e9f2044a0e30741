import Screen

/// Scenes and links as they occur, with the extremes.
enum Sample {
    static let shortestLink = "https://pay.wct.me/1"
    static let usualLink = "https://pay.walletconnect.com/?pid=pay_01KAB3D9QJ6Y5ZT8W2N4M7RXCE"
    /// A pairing URI that carries a payment link: 600 characters.
    static let longestLink: String = {
        let start =
            "wc:7f6e504bfad60b485450578e05678ed3e8e8c4751d3c6160be17160d63ec90f9@2?relay-protocol=irn&symKey="
            + "587d5484ce2a2a6ee3ba1962fdd7e8588e06200c46823bd18fbd67def96ad303&expiryTimestamp=1795250000"
            + "&methods=wc_sessionPropose&pay=https%3A%2F%2Fpay.walletconnect.com%2F%3Fpid%3Dpay_01KAB3D9QJ6Y5ZT8W2N4M7RXCE"
            + "%26return%3Dhttps%253A%252F%252Ftill.example.com%252Freceipt%252F"
        let filler = "01KAB3D9QJ6Y5ZT8W2N4M7RXCEabcdefghijk"
        var link = start
        while link.count < 600 { link += filler }
        return String(link.prefix(600))
    }()
    /// What an owner scans: the claim's code and the certificate's fingerprint.
    static let claimAddress =
        "https://192.168.100.144:8443/#claim=K7QM-2XRD&cert=n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"
    static let links = [shortestLink, usualLink, claimAddress, longestLink]

    static let sizes = [(480, 320), (800, 480), (1920, 1080), (1080, 1920)].map { PixelSize(width: $0.0, height: $0.1) }
    static let allSizes = sizes + [PixelSize(width: 3840, height: 2160), PixelSize(width: 720, height: 720)]

    /// Merchant names in the scripts the appliance's fonts cover.
    static let names = [
        "Café Morgenrot", "مقهى الفجر الجديد", "北京烤鸭餐厅", "새벽 커피 로스터스", "Ζαχαροπλαστείο Αυγή", "Кофейня «Рассвет»",
        "喫茶店あけぼの", "Bäckerei Müller-Lüdenscheidt & Söhne Vollkornspezialitäten GmbH & Co. Kommanditgesellschaft",
    ]

    static func charge(
        _ link: String = usualLink,
        name: String = "Café Morgenrot",
        amount: String = "€12.50",
        tip: String? = nil,
        ways: [Scene.WayToPay] = [.scan, .tap, .connect],
        seconds: Int? = 272,
        note: Scene.ChargeView.Note? = nil
    ) -> Scene {
        .charge(
            .init(
                merchantName: name,
                amountText: amount,
                tipText: tip,
                link: link,
                waysToPay: ways,
                secondsLeft: seconds,
                chargeCode: "K7QM",
                note: note
            )
        )
    }

    static func setup(_ address: String = claimAddress, purpose: Scene.Setup.Purpose = .claim) -> Scene {
        .setup(
            .init(
                purpose: purpose,
                claimAddress: address,
                addressText: "https://192.168.1.44",
                claimCode: "K7QM-2XRD",
                fingerprintText: "3F9A 12C4 880B 7ED1"
            )
        )
    }

    /// A tag as the terminal makes it.
    static let tag = "bpp:1?t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n=Caf%C3%A9%20Morgenrot"
    static let formLink = "https://pay.walletconnect.com/collect/pay_01KAB3D9QJ6Y5ZT8W2N4M7RXCE?account=1"

    static func tapCharge(
        _ link: String? = usualLink,
        tag: String? = tag,
        form: String? = nil,
        formWay: Scene.WayToPay = .tap,
        turn: Scene.ChargeView.Turn = .form,
        opensForm: Bool = false,
        name: String = "Café Morgenrot",
        amount: String = "€12.50",
        shortCodes: [String] = [],
        note: Scene.ChargeView.Note? = nil
    ) -> Scene {
        .charge(
            .init(
                merchantName: name,
                amountText: amount,
                link: link,
                opensForm: opensForm,
                tag: tag,
                form: form.map { .init(link: $0, way: formWay) },
                turn: turn,
                waysToPay: link == nil ? [.tap] : [.scan, .tap],
                shortCodes: shortCodes,
                secondsLeft: 272,
                chargeCode: "K7QM",
                note: note
            )
        )
    }

    /// What phones add to the page of a charge.
    static func tapScenes(name: String = "Café Morgenrot") -> [Scene] {
        [
            tapCharge(name: name), tapCharge(nil, name: name, shortCodes: ["0471"]),
            tapCharge(name: name, amount: "CHF 1,234,567.50", shortCodes: ["4821", "0937"], note: .gatewaySilent),
            tapCharge(tag: nil, name: name, shortCodes: ["4821"]),
            tapCharge(tag: nil, name: name, shortCodes: ["4821", "0937", "1004"], note: .gatewaySilent),
            tapCharge(nil, tag: nil, name: name, shortCodes: ["4821"]),
            tapCharge(form: formLink, name: name), tapCharge(form: formLink, name: name, shortCodes: ["4821"]),
            tapCharge(form: formLink, formWay: .connect, turn: .payment, name: name),
            tapCharge(formLink, opensForm: true, name: name, note: .form),
            .processing(.init(merchantName: name, amountText: "€12.50", chargeCode: "K7QM", shortCode: "4821")),
            .paid(.init(merchantName: name, amountText: "€12.50", chargeCode: "K7QM", confirmedBy: .acquirer)),
        ]
    }

    /// What a till may put there, with the longest it may say.
    static func messages(name: String = "Café Morgenrot") -> [Scene] {
        let long = String(
            String(repeating: "Your loyalty card has 12 points, and the next coffee is ours. ", count: 4).prefix(200)
        )
        let options =
            [name, "Yes, please", "No, thank you"] + (4...6).map { "Choice number \($0) of all the choices there" }
        return [
            .message(.init(title: name)), .message(.init(title: name, text: long)),
            .message(.init(title: name, text: "Scan for the menu.", code: "https://cafe.example/menu?table=12")),
            .message(
                .init(title: name, text: long, code: "https://cafe.example/" + String(repeating: "a", count: 200))
            ),
            .message(.init(title: "Would you like a receipt?", text: name, options: ["Yes", "No"])),
            .message(.init(title: long, text: long, options: options.map { String($0.prefix(40)) })),
        ]
    }

    /// What staff type, with the longest of it.
    static let keypad: [Scene] =
        [
            .keypad(.init(.typing, amountText: "€0.12")), .keypad(.init(.notAnAmount, amountText: "CHF 1,234,567.50")),
            .keypad(
                .init(
                    .typing,
                    amountText: "CHF 999’999’999.99",
                    sum: .init(count: 200, newestText: "CHF 99’999’999.99")
                )
            ),
            .keypad(.init(.confirming, amountText: "€7.50", sum: .init(count: 2, newestText: "€2.50"))),
            .keypad(.init(.cancel, amountText: "€12.50", chargeCode: "K7QM")),
            .keypad(.init(.release, amountText: "€12.50", chargeCode: "K7QM")),
            .keypad(.init(.tooLate, amountText: "CHF 1,234,567.50", chargeCode: "K7QM")),
            .keypad(.init(.notCharged)), .keypad(.init(.erase, code: "471102", typed: "47")),
            .keypad(.init(.cannotErase, openPayments: 1)), .keypad(.init(.cannotErase, openPayments: 3)),
            .keypad(.init(.cannotErase, openPayments: 111)), .keypad(.init(.notErased)), .keypad(.init(.erasing)),
        ]

    static let updates: [Scene] = [
        .update(.init(.installing, percent: 0, version: "0.9.1-20261122231500")),
        .update(.init(.installing, percent: 100, version: "0.9.1-20261122231500")),
        .update(.init(.restarting, version: "0.9.1-20261122231500")),
        .update(.init(.trying, version: "0.9.1-20261122231500")),
        .update(.init(.updated, version: "0.9.1-20261122231500")), .update(.init(.notUpdated, version: "0.9.0")),
    ]

    static let backups: [Scene] =
        [
            .backup(.init(.writing, percent: 0)), .backup(.init(.writing, percent: 100)),
            .backup(.init(.written, file: "till-backup-2026-11-24-99.age")),
        ]
        + [.notWritten, .reading, .whole, .notUsable, .restoring, .restored, .notRestored].map { .backup(.init($0)) }

    static let ownerResets: [Scene] = [1, 15].map { .ownerReset(.init(minutes: $0)) }

    static let onboardings: [Scene] =
        [.asking, .allowed, .notJoined].map { .onboarding(.init($0)) }
        + [
            .onboarding(.init(.allowed, hasKeys: false)), .onboarding(.init(.joining, network: "Café Morgenrot")),
            .onboarding(.init(.joined, network: String(repeating: "W", count: 32))),
        ]

    /// Every scene, and every kind of it, with a code first.
    static func scenes(name: String = "Café Morgenrot") -> [Scene] {
        tapScenes(name: name) + messages(name: name) + keypad + updates + backups + ownerResets + onboardings + [
            setup(), charge(name: name),
            charge(name: name, amount: "CHF 1,234,567.50", seconds: nil, note: .gatewaySilent),
            .charge(
                .init(
                    merchantName: name,
                    amountText: "€12.50",
                    link: nil,
                    waysToPay: [.tap],
                    secondsLeft: 118,
                    chargeCode: "K7QM"
                )
            ),
            .promised(.init(merchantName: name, amountText: "€13.50", tipText: "€1.00", chargeCode: "K7QM")),
            .starting(checkingPayments: 0), .starting(checkingPayments: 3),
            .idle(.init(merchantName: name)),
            .idle(
                .init(
                    merchantName: name,
                    lights: [.init(.scan, .ready), .init(.tap, .connecting), .init(.connect, .unavailable)],
                    clockText: "14:05",
                    webAddressText: "https://till-4f2a.local"
                )
            ),
            .idle(
                .init(
                    merchantName: name,
                    lights: [.init(.scan, .ready)],
                    webAddressText: "https://till-4f2a.local",
                    notices: [
                        .init(.paidTwice, amountText: "CHF 1,234,567.50", chargeCode: "K7QM"),
                        .init(.late, amountText: "€12.50", chargeCode: "M3XW"),
                    ]
                )
            ),
            .idle(.init(merchantName: name, webAddressText: "https://till.local", progress: .init(step: 3, count: 9))),
            .idle(.init(merchantName: name, notices: [.init(.late, amountText: "€12.50", chargeCode: "K7QM")])),
            .processing(.init(merchantName: name, amountText: "€12.50", chargeCode: "K7QM")),
            .processing(.init(merchantName: name, amountText: "€13.75", tipText: "€1.25", chargeCode: "K7QM")),
            charge(name: name, amount: "CHF 1,234,567.50", tip: "CHF 112,233.40"),
            .paid(.init(merchantName: name, amountText: "€12.50", chargeCode: "K7QM")),
            .paid(
                .init(merchantName: name, amountText: "€13.75", tipText: "€1.25", chargeCode: "K7QM", arrivedLate: true)
            ),
            .unknown(.init(amountText: "€12.50", chargeCode: "K7QM")), .unknown(.init()),
            .offline(.init(merchantName: name)), .offline(.init(merchantName: name, detail: "No network cable.")),
            .offline(.init(merchantName: name, clockText: "1970-01-01")),
            .offline(.init(merchantName: name, pausedUntilText: "14:05")),
        ]
            + Scene.Idle.Rest.allCases.map { .idle(.init(merchantName: name, rest: $0)) }
            + Scene.Update.Kind.allCases.map { .update(.init($0)) }
            + Scene.Offline.Storage.allCases.map { .offline(.init(merchantName: name, storage: $0)) }
            + Scene.NotPaid.Kind.allCases.map { .notPaid(.init(kind: $0, amountText: "€12.50", chargeCode: "K7QM")) }
            + [.notPaid(.init(kind: .failed))]
    }
}
