extension ScreenText {
    public static let arabic = ScreenText(
        languageTag: "ar",
        readsRightToLeft: true,
        startingTitle: "يبدأ التشغيل",
        startingDetail: "لحظة من فضلك.",
        checkingPayments: { count in
            arabicCount(
                count,
                one: "يجري التحقق من دفعة سابقة واحدة.",
                two: "يجري التحقق من دفعتين سابقتين.",
                few: "يجري التحقق من \(count) دفعات سابقة.",
                many: "يجري التحقق من \(count) دفعة سابقة."
            )
        },
        welcome: "أهلًا وسهلًا",
        staffPage: "صفحة الموظفين",
        wayNames: { way in
            switch way {
            case .scan: "رمز QR"
            case .tap: "تقريب"
            case .connect: "اتصال"
            }
        },
        readiness: { readiness in
            switch readiness {
            case .ready: "جاهز"
            case .connecting: "جارٍ الاتصال"
            case .unavailable: "غير متاح"
            }
        },
        notices: { kind in
            switch kind {
            case .late: "للموظفين: وصلت دفعة متأخرة"
            case .paidTwice: "للموظفين: دُفع مرتين، أعيدوا إحداهما"
            }
        },
        moreNotices: { count in "و\(count) أخرى" },
        setupTitles: { purpose in
            switch purpose {
            case .claim: "إعداد هذا الجهاز"
            case .reset: "كلمة مرور جديدة للمالك"
            }
        },
        setupScan: "امسح الرمز أو افتح",
        setupCodes: { purpose in
            switch purpose {
            case .claim: "رمز التفعيل"
            case .reset: "رمز إعادة التعيين، للمالك فقط"
            }
        },
        setupFingerprint: "سيحذّر المتصفح. تابع فقط إذا بدأت بصمة الشهادة بهذا",
        setupTitle: "يجري الإعداد",
        setupProgress: { progress in "الخطوة \(progress.step) من \(progress.count)" },
        wayInstructions: { way in
            switch way {
            case .scan: "امسح الرمز بمحفظتك"
            case .tap: "قرّب هاتفك"
            case .connect: "صِل أي محفظة"
            }
        },
        appNames: { way in
            switch way {
            case .scan, .connect: "محفظة"
            case .tap: "تطبيق الدفع"
            }
        },
        appSteps: { way in
            switch way {
            case .scan, .connect: "امسح الرمز للدفع"
            case .tap: "امسح الرمز وقرّب هاتفك"
            }
        },
        tagInstruction: "امسح الرمز بتطبيق الدفع وقرّب هاتفك",
        compareDigits: { phones in
            phones == 1
                ? "هل يعرض هاتفك الشيء نفسه؟"
                : "\(phones) هواتف ترى هذا. هل يعرض هاتفك واحدًا منها؟"
        },
        formTitle: "بياناتك أولًا",
        formWhatToDo: "امسح الرمز بالكاميرا واملأ النموذج. ثم يتابع هاتفك من تلقاء نفسه.",
        formSteps: { way in
            switch way {
            case .tap: "تدفع بالهاتف؟ امسح هذا الرمز"
            case .scan, .connect: "محفظتك متصلة؟ امسح هذا الرمز"
            }
        },
        formComesBack: "هل تُطلب بياناتك؟ يعود رمزها بعد ثوانٍ.",
        codeComesBack: "تدفع بمحفظة أخرى؟ يعود رمزها بعد ثوانٍ.",
        openPage: "امسح الرمز بكاميرا هاتفك",
        timeLeft: "الوقت المتبقي",
        chargeCode: "الرمز",
        gatewaySilent: "غير معروف بعد: لا جواب في الوقت الحالي. هل دفعت بالفعل؟ لا تدفع مرة أخرى.",
        walletAsks: { name in
            name.isEmpty ? "وافق على الدفع في محفظتك." : "وافق على الدفع في \u{2068}\(name)\u{2069}."
        },
        walletDidNotPay: "لم تدفع هذه المحفظة. حاول مجددًا، أو بمحفظة أخرى، أو بطريقة أخرى.",
        formFirst: "امسح الرمز واملأ النموذج. ثم يتابع الدفع من تلقاء نفسه.",
        processingTitle: "الدفع جارٍ",
        processingDetail: "انتظر من فضلك. لا تدفع مرة أخرى.",
        paidTitle: "مدفوع",
        tip: "شامل إكرامية",
        arrivedLate: "وصل متأخرًا",
        confirmedBy: { authority in
            switch authority {
            case .gateway: "أكدته البوابة"
            case .acquirer: "أكدته الجهة المحصِّلة"
            }
        },
        givenBackTitle: "تم الدفع ثم الاسترداد",
        givenBackDetail: "أُعيد المال إليك.",
        refundRecordedDetail: "سجّل المتجر استردادًا. إن لم تستلم مالك فاسأل الموظفين.",
        promisedTitle: "قُبل دون اتصال",
        promisedDetail: "شكرًا لك. يُقيَّد المبلغ حين يعود الجهاز إلى الاتصال.",
        notPaidTitles: { kind in
            switch kind {
            case .failed: "لم يُدفع"
            case .expired: "انتهى الوقت"
            case .cancelled: "أُلغيت"
            case .refused: "رُفض"
            }
        },
        notPaidWhatHappened: { kind in
            switch kind {
            case .failed: "فشلت الدفعة. لم يُخصم أي مبلغ."
            case .expired: "لم يُدفع في الوقت المحدد. لم يُخصم أي مبلغ."
            case .cancelled: "أُلغيت العملية. لم يُخصم أي مبلغ."
            case .refused: "رُفضت الدفعة. لم يُخصم أي مبلغ."
            }
        },
        notPaidWhatToDo: { kind in
            switch kind {
            case .failed: "يمكنك المحاولة مجددًا."
            case .expired: "اطلب من الموظفين البدء من جديد."
            case .cancelled: "اطلب من الموظفين البدء من جديد."
            case .refused: "جرّب محفظة أخرى أو طريقة دفع أخرى."
            }
        },
        unknownTitle: "غير معروف بعد",
        unknownWarning: "لا تدفع مرة أخرى.",
        unknownWhatToDo: "اسأل الموظفين من فضلك.",
        offlineTitle: "دون اتصال",
        offlineDetail: "الدفع غير ممكن في الوقت الحالي.",
        offlineWhatToDo: "يواصل الجهاز المحاولة من تلقاء نفسه.",
        clockTitle: "الساعة غير مضبوطة",
        clockDetail: { day in
            "تشير ساعة الجهاز إلى \(day) ولم يضبطها أحد، فلا يمكن التحقق من البوابة. لا يمكن الدفع، ولا ينتقل أي مال."
        },
        clockWhatToDo: "للموظفين: أتيحوا للجهاز الوصول إلى الإنترنت. يضبط ساعته من تلقاء نفسه ويواصل.",
        pausedTitle: "يُرجى الانتظار",
        pausedDetail: { time in "تطلب خدمة الدفع من الجهاز الانتظار حتى الساعة \(time)." },
        pausedWhatToDo: "بعد ذلك يواصل الجهاز من تلقاء نفسه.",
        storageTitle: "لا يمكن تسجيل المدفوعات",
        storageDetails: { kind in
            switch kind {
            case .full: "ذاكرة التخزين في الجهاز ممتلئة."
            case .readOnly: "ذاكرة التخزين في الجهاز لا تقبل الكتابة."
            case .damaged: "سجل المدفوعات في الجهاز تالف."
            case .newer: "سجل المدفوعات من إصدار أحدث."
            case .inUse: "برنامج آخر يفتح سجل المدفوعات."
            case .failed: "ذاكرة التخزين في الجهاز لا تعمل."
            }
        },
        storageWhatToDo: { kind in
            switch kind {
            case .full: "يرجى الدفع بطريقة أخرى. للموظفين: وفّروا مساحة أو اطلبوا المساعدة. لا يضيع شيء مما سُجّل."
            case .readOnly:
                "يرجى الدفع بطريقة أخرى. للموظفين: أطفئوا الجهاز ثم شغّلوه. إن استمر ذلك فاستبدلوا ذاكرة التخزين."
            case .damaged: "يرجى الدفع بطريقة أخرى. للموظفين: اطلبوا المساعدة ولا تحذفوا السجل."
            case .newer: "يرجى الدفع بطريقة أخرى. للموظفين: حدّثوا برنامج الجهاز."
            case .inUse: "يرجى الدفع بطريقة أخرى. للموظفين: أغلقوا البرنامج الآخر، أو أطفئوا الجهاز ثم شغّلوه."
            case .failed:
                "يرجى الدفع بطريقة أخرى. للموظفين: أطفئوا الجهاز ثم شغّلوه. إن استمر ذلك فاستبدلوا ذاكرة التخزين."
            }
        },
        messageIsNoPayment: "رسالة من المتجر. ليست دفعة.",
        messageAnswer: "أخبر الموظفين من فضلك.",
        keypadTitles: { kind in
            switch kind {
            case .typing: "مبلغ جديد"
            case .notAnAmount: "ليس مبلغًا"
            case .confirming: "تحصيل هذا المبلغ؟"
            case .cancel: "إلغاء هذا التحصيل؟"
            case .release: "المتابعة دون جواب؟"
            case .tooLate: "لا يمكن الإلغاء الآن"
            case .notCharged: "لم يُحصَّل شيء"
            case .erase: "محو كل شيء؟"
            case .cannotErase: "لم يُمحَ شيء"
            case .notErased: "لم يُمحَ شيء"
            case .erasing: "جارٍ المحو"
            }
        },
        keypadDetails: { kind in
            switch kind {
            case .typing, .confirming: ""
            case .notAnAmount: "ضُغط مفتاح زائد، أو في أحد المبالغ كسور عشرية وليست في غيره."
            case .cancel: "إن كان العميل أسرع فالدفعة محسوبة."
            case .release: "لم تُعرف نتيجة الدفع بعد، ويواصل الجهاز الاستعلام."
            case .tooLate: "الدفعة جارية. انتظر حتى يقول الجهاز كيف انتهت."
            case .notCharged: "السبب في صفحة الجهاز."
            case .erase: "تزول الدفعات والإعدادات والمفاتيح والمالك نهائيًا. للمحو اكتب هذا الرمز:"
            case .cannotErase: "بعد المحو لن يعرف أحد هنا كيف انتهت."
            case .notErased: "لم تقبله ذاكرة الجهاز. راجع صفحة الجهاز."
            case .erasing: "لا تطفئ الجهاز. سيعيد التشغيل من تلقاء نفسه."
            }
        },
        keypadKeys: { kind in
            switch kind {
            case .typing: "Enter: تحصيل · +: إضافة · −: حذف"
            case .notAnAmount: "Backspace: تراجع · −: حذف"
            case .confirming: "Enter: تحصيل · Num: رجوع"
            case .cancel: "Enter: إلغاء التحصيل · Num: رجوع"
            case .release: "Enter: متابعة · Num: رجوع"
            case .tooLate, .notCharged, .cannotErase, .notErased: "أي مفتاح: رجوع"
            case .erase: "Enter: محو · Num: رجوع"
            case .erasing: ""
            }
        },
        keypadSum: { count in
            arabicCount(count, one: "مبلغ واحد", two: "مبلغان", few: "\(count) مبالغ", many: "\(count) مبلغًا")
        },
        keypadOpenPayments: { count in
            arabicCount(
                count,
                one: "دفعة واحدة بلا جواب نهائي.",
                two: "دفعتان بلا جواب نهائي.",
                few: "\(count) دفعات بلا جواب نهائي.",
                many: "\(count) دفعة بلا جواب نهائي."
            )
        },
        updateTitles: { kind in
            switch kind {
            case .installing: "جارٍ التحديث"
            case .restarting: "تم التحديث: يُعاد تشغيل الجهاز"
            case .trying: "تم التحديث: تُجرَّب النسخة الجديدة"
            case .updated: "تم تحديث الجهاز"
            case .notUpdated: "لم ينجح التحديث"
            case .signature, .notWhole, .otherMachine, .nobodyMaySign, .notNewer, .notInstalled:
                "لم يُثبَّت التحديث"
            }
        },
        updateDetails: { kind in
            switch kind {
            case .installing: "لا تطفئ الجهاز. يعيد الجهاز التشغيل من تلقاء نفسه."
            case .restarting: "لا تطفئ الجهاز. يستغرق ذلك دقيقة أو دقيقتين."
            case .trying:
                "يعود استلام المدفوعات خلال دقيقة أو دقيقتين. إذا لم تعمل، تعود النسخة السابقة تلقائيًا."
            case .updated: "يقبل المدفوعات كما كان من قبل."
            case .notUpdated: "تعمل النسخة السابقة من جديد وتقبل المدفوعات كما كانت. صفحة الجهاز تذكر المزيد."
            case .signature:
                "لم يوقّعه أحد يعرفه هذا الجهاز، أو غُيِّر بعد ذلك. تستمر المدفوعات كما كانت. خذه من جديد من مصدر الجهاز."
            case .notWhole:
                "هذا ليس تحديثًا، أو جزء منه فقط. تستمر المدفوعات كما كانت. نزّله من جديد."
            case .otherMachine:
                "هو لنوع آخر من الأجهزة. تستمر المدفوعات كما كانت. خذ التحديث المخصص لهذا الجهاز."
            case .nobodyMaySign:
                "صُنع هذا الجهاز دون أحد يحق له التوقيع، فلا يقبل أي تحديث. تستمر المدفوعات كما كانت. اسأل من صنع صورته."
            case .notNewer:
                "ليس أحدث مما عمل هنا من قبل، ولا يُثبَّت ما هو أقدم. تستمر المدفوعات كما كانت. خذ تحديثًا أحدث."
            case .notInstalled:
                "تعذّرت كتابته. تبقى النسخة العاملة وتستمر المدفوعات كما كانت. حاول مرة أخرى."
            }
        },
        backupTitles: { kind in
            switch kind {
            case .writing: "جارٍ كتابة النسخة الاحتياطية على ذاكرة USB"
            case .written: "النسخة الاحتياطية على ذاكرة USB"
            case .notWritten: "النسخة الاحتياطية ليست على ذاكرة USB"
            case .reading: "جارٍ قراءة النسخة الاحتياطية من ذاكرة USB"
            case .whole: "النسخة الاحتياطية على ذاكرة USB كاملة"
            case .notUsable: "لا يمكن استخدام النسخة الاحتياطية على ذاكرة USB"
            case .restoring: "جارٍ استعادة النسخة الاحتياطية"
            case .restored: "تمت استعادة النسخة الاحتياطية"
            case .notRestored: "لم تُستعَد النسخة الاحتياطية"
            }
        },
        backupDetails: { kind in
            switch kind {
            case .writing: "اترك الذاكرة موصولة. تستمر المدفوعات في هذه الأثناء."
            case .written: "يمكنك نزعها."
            case .notWritten: "لا يبقى ملف ناقص باسم نسخة احتياطية. صفحة الجهاز تذكر السبب."
            case .reading: "اترك الذاكرة موصولة. لا يتغيّر شيء بذلك."
            case .whole: "لم يتغيّر شيء. تُستعاد من صفحة الجهاز."
            case .notUsable: "لم يتغيّر شيء. صفحة الجهاز تذكر السبب."
            case .restoring: "لا تطفئ الجهاز. يعيد الجهاز التشغيل من تلقاء نفسه."
            case .restored: "امحُ الجهاز القديم قبل تشغيله من جديد."
            case .notRestored: "كل شيء كما كان. سجل التدقيق يذكر السبب."
            }
        },
        onboardingTitles: { kind in
            switch kind {
            case .asking: "هاتف يريد توصيل هذا الجهاز بشبكة Wi-Fi"
            case .allowed: "اختر شبكة Wi-Fi على الهاتف"
            case .joining: "جارٍ الاتصال بشبكة Wi-Fi"
            case .notJoined: "تعذّر الاتصال بشبكة Wi-Fi"
            case .joined: "الجهاز متصل بشبكة Wi-Fi"
            }
        },
        onboardingDetails: { kind in
            switch kind {
            case .asking: "اسمح بذلك فقط إذا كان الهاتف هاتفك."
            case .allowed: "اكتب كلمة مرورها هناك."
            case .joining: "لحظة من فضلك."
            case .notJoined: "تحقق من الشبكة وكلمة مرورها، ثم حاول مرة أخرى على الهاتف."
            case .joined: "يقود الهاتف إلى صفحة الجهاز."
            }
        },
        onboardingKeys: { kind in
            switch kind {
            case .asking: "Enter: سماح · Num: لا"
            case .allowed, .notJoined: "Num: إيقاف"
            case .joining, .joined: ""
            }
        },
        ownerResetTitle: "يطلب شخص ما كلمة مرور جديدة للمالك",
        ownerResetMinutes: { count in
            arabicCount(
                count,
                one: "سيظهر رمز هنا بعد دقيقة واحدة.",
                two: "سيظهر رمز هنا بعد دقيقتين.",
                few: "سيظهر رمز هنا بعد \(count) دقائق.",
                many: "سيظهر رمز هنا بعد \(count) دقيقة."
            )
        },
        ownerResetDetail: "لا تعرف من هو؟ انزع ذاكرة USB وأخبر المالك.",
        codeNotShownTitle: "لا يمكن عرض هذا الرمز",
        codeNotShownWhatToDo: "اسأل الموظفين من فضلك. لا تستخدم الرمز الظاهر على هذه الشاشة.",
        openThisLink: "افتح هذا الرابط"
    )

    /// The form of a noun that goes with a count. Source: Unicode CLDR 44, plural rules of Arabic.
    private static func arabicCount(_ count: Int, one: String, two: String, few: String, many: String) -> String {
        switch count {
        case 1: one
        case 2: two
        default: (3...10).contains(count % 100) ? few : many
        }
    }
}
