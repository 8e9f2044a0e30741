import Payments
import Terminal

/// What the console answers, one case an address. Everything else is "not found".
enum Route: Sendable, Equatable {
    case session, claim, signIn, signOut
    case changePassword, resetState, finishReset, refuseReset
    case signInWithPIN, signInWithCode, changePIN
    case prove, access, endAccess
    case staff, addPerson, saveStaffRules, changePerson(String), removePerson(String), makeSignInCode(String)
    case makeCounter, forgetBrowser(String)
    case sessions, endOtherSessions, endSession(String)
    case settings, saveSettings, testConnection, checkName
    case openCharge, history(HistoryQuery), currentCharge
    case totals(by: TakingsSpan, from: ShopDay?, to: ShopDay?), export(ExportFormat, HistoryQuery)
    case charge(ChargeID), cancel(ChargeID), release(ChargeID), markSeen(ChargeID), putAway(ChargeID)
    case events
    case days, day(ShopDay), compareDay(ShopDay)
    case taps, saveTaps, takeBack(ChargeID)
    case customers, saveCustomers
    case receipts, saveReceipts, testReceipt
    case receipt(ChargeID, ReceiptFormat?), printReceipt(ChargeID)
    case counter, saveCounter, trySound
    case refund(ChargeID), refundAgain(ChargeID), people
    case shifts(from: ShopDay?, to: ShopDay?, by: String?), openShift, currentShift, shift(Int64), closeShift(Int64)
    case shiftReport(Int64, ShiftFormat)
    case tokens, makeToken, revokeToken(String)
    case outbox, saveOutbox, testOutbox
    case webhooks, makeWebhook, pauseWebhook(String), removeWebhook(String), testWebhook(String)
    case connect, saveConnect, forgetConnect, turnCode(ChargeID)
    case calibration, calibrate, keepCalibration, stopCalibration
    case setUp, saveSetUp, logo, saveLogo
    case certificate, saveCertificate, removeCertificate
    case waitForCharge(ChargeID, ChargeWait), chargeOfKey(String)
    case terminal, diagnosis
    case showMessage, currentMessage, message(String, seconds: Int), answerMessage(String), takeMessage(String)
    case audit(AuditQuery), exportAudit(ExportFormat), verifyAudit
    case health, logs(LogQuery), supportBundle
    case wipe, wipeEverything, exportBackup, importBackup
    case update, beginUpdate, addToUpdate, dropUpdate, checkUpdate, installUpdate
    case takeBackup, stick, writeToStick
    case network, scanNetworks, joinNetwork, leaveNetwork, forgetNetwork(String)
    case restore, beginRestore, addToRestore, dropRestore, checkRestore, applyRestore

    /// - Throws: ``Problem`` 404, 405 or 400: no such address, not this way, or a query that means nothing.
    init(_ method: String, _ path: String, query: [String: String]) throws(Problem) {
        let parts = path.split(separator: "/").dropFirst(2).map(String.init)  // Without "api" and "v1".
        guard let first = parts.first else { throw .notFound }
        switch (first, parts.count) {
        case ("session", 1): self = try Self.only(method, ["GET": .session])
        case ("claim", 1): self = try Self.only(method, ["POST": .claim])
        case ("login", 1): self = try Self.only(method, ["POST": .signIn])
        case ("login", 2) where parts[1] == "pin": self = try Self.only(method, ["POST": .signInWithPIN])
        case ("login", 2) where parts[1] == "code": self = try Self.only(method, ["POST": .signInWithCode])
        case ("pin", 1): self = try Self.only(method, ["PUT": .changePIN])
        case ("staff", 1):
            self = try Self.only(method, ["GET": .staff, "POST": .addPerson, "PUT": .saveStaffRules])
        case ("staff", 2):
            self = try Self.only(method, ["PUT": .changePerson(parts[1]), "DELETE": .removePerson(parts[1])])
        case ("staff", 3) where parts[2] == "code": self = try Self.only(method, ["POST": .makeSignInCode(parts[1])])
        case ("browsers", 1): self = try Self.only(method, ["POST": .makeCounter])
        case ("browsers", 2): self = try Self.only(method, ["DELETE": .forgetBrowser(parts[1])])
        case ("logout", 1): self = try Self.only(method, ["POST": .signOut])
        case ("password", 1): self = try Self.only(method, ["PUT": .changePassword])
        case ("reset", 1):
            self = try Self.only(method, ["GET": .resetState, "PUT": .finishReset, "DELETE": .refuseReset])
        case ("proof", 1): self = try Self.only(method, ["POST": .prove])
        case ("access", 1): self = try Self.only(method, ["GET": .access])
        case ("access", 2) where parts[1] == "end": self = try Self.only(method, ["POST": .endAccess])
        case ("sessions", 1): self = try Self.only(method, ["GET": .sessions, "DELETE": .endOtherSessions])
        case ("sessions", 2): self = try Self.only(method, ["DELETE": .endSession(parts[1])])
        case ("settings", 1): self = try Self.only(method, ["GET": .settings, "PUT": .saveSettings])
        case ("settings", 2) where parts[1] == "test-connection":
            self = try Self.only(method, ["POST": .testConnection])
        case ("settings", 2) where parts[1] == "name": self = try Self.only(method, ["POST": .checkName])
        case ("setup", 1): self = try Self.only(method, ["GET": .setUp, "PUT": .saveSetUp])
        case ("certificate", 1):
            self = try Self.only(
                method,
                ["GET": .certificate, "PUT": .saveCertificate, "DELETE": .removeCertificate]
            )
        case ("logo", 1): self = try Self.only(method, ["GET": .logo, "PUT": .saveLogo])
        case ("taps", 1): self = try Self.only(method, ["GET": .taps, "PUT": .saveTaps])
        case ("counter", 1): self = try Self.only(method, ["GET": .counter, "PUT": .saveCounter])
        case ("counter", 2) where parts[1] == "sound": self = try Self.only(method, ["POST": .trySound])
        case ("people", 1): self = try Self.only(method, ["GET": .people])
        case ("shifts", _): self = try Self.shifts(method, Array(parts.dropFirst()), query)
        case ("charges", 3) where parts[2] == "refund":
            self = try Self.only(method, ["POST": .refund(Self.id(parts[1])), "PUT": .refundAgain(Self.id(parts[1]))])
        case ("tokens", 1): self = try Self.only(method, ["GET": .tokens, "POST": .makeToken])
        case ("tokens", 2): self = try Self.only(method, ["DELETE": .revokeToken(parts[1])])
        case ("outbox", 1): self = try Self.only(method, ["GET": .outbox, "PUT": .saveOutbox])
        case ("outbox", 2) where parts[1] == "test": self = try Self.only(method, ["POST": .testOutbox])
        case ("webhooks", 1): self = try Self.only(method, ["GET": .webhooks, "POST": .makeWebhook])
        case ("webhooks", 2):
            self = try Self.only(method, ["PUT": .pauseWebhook(parts[1]), "DELETE": .removeWebhook(parts[1])])
        case ("webhooks", 3) where parts[2] == "test": self = try Self.only(method, ["POST": .testWebhook(parts[1])])
        case ("customers", 1): self = try Self.only(method, ["GET": .customers, "PUT": .saveCustomers])
        case ("receipts", 1): self = try Self.only(method, ["GET": .receipts, "PUT": .saveReceipts])
        case ("receipts", 2) where parts[1] == "test": self = try Self.only(method, ["POST": .testReceipt])
        case ("connect", 1): self = try Self.only(method, ["GET": .connect, "PUT": .saveConnect])
        case ("connect", 2) where parts[1] == "forget":
            self = try Self.only(method, ["POST": .forgetConnect])
        case ("taps", 2) where parts[1] == "calibration":
            self = try Self.only(
                method,
                ["GET": .calibration, "POST": .calibrate, "PUT": .keepCalibration, "DELETE": .stopCalibration]
            )
        case ("days", 1): self = try Self.only(method, ["GET": .days])
        case ("days", 2): self = try Self.only(method, ["GET": .day(Self.day(parts[1]))])
        case ("days", 3) where parts[2] == "compare":
            self = try Self.only(method, ["POST": .compareDay(Self.day(parts[1]))])
        case ("totals", 1): self = try Self.only(method, ["GET": Self.totals(query)])
        case ("export.csv", 1):
            self = try Self.only(method, ["GET": .export(.csv, HistoryQuery(query, isList: false))])
        case ("export.json", 1):
            self = try Self.only(method, ["GET": .export(.json, HistoryQuery(query, isList: false))])
        case ("audit", 1): self = try Self.only(method, ["GET": .audit(AuditQuery(query))])
        case ("audit.csv", 1): self = try Self.only(method, ["GET": .exportAudit(.csv)])
        case ("audit.json", 1): self = try Self.only(method, ["GET": .exportAudit(.json)])
        case ("audit", 2) where parts[1] == "verify": self = try Self.only(method, ["POST": .verifyAudit])
        case ("health", 1): self = try Self.only(method, ["GET": .health])
        case ("support-bundle", 1): self = try Self.only(method, ["GET": .supportBundle])
        case ("wipe", 1): self = try Self.only(method, ["GET": .wipe, "POST": .wipeEverything])
        case ("backup", 2) where parts[1] == "export": self = try Self.only(method, ["POST": .exportBackup])
        case ("backup", 2) where parts[1] == "everything": self = try Self.only(method, ["POST": .takeBackup])
        case ("backup", 2) where parts[1] == "stick":
            self = try Self.only(method, ["GET": .stick, "POST": .writeToStick])
        case ("restore", 1):
            self = try Self.only(
                method,
                ["GET": .restore, "POST": .beginRestore, "PUT": .addToRestore, "DELETE": .dropRestore]
            )
        case ("restore", 2) where parts[1] == "check": self = try Self.only(method, ["POST": .checkRestore])
        case ("restore", 2) where parts[1] == "apply": self = try Self.only(method, ["POST": .applyRestore])
        case ("update", 1):
            self = try Self.only(
                method,
                ["GET": .update, "POST": .beginUpdate, "PUT": .addToUpdate, "DELETE": .dropUpdate]
            )
        case ("update", 2) where parts[1] == "check": self = try Self.only(method, ["POST": .checkUpdate])
        case ("update", 2) where parts[1] == "install": self = try Self.only(method, ["POST": .installUpdate])
        case ("network", 1): self = try Self.only(method, ["GET": .network])
        case ("network", 2) where parts[1] == "scan": self = try Self.only(method, ["POST": .scanNetworks])
        case ("network", 2) where parts[1] == "connection":
            self = try Self.only(method, ["PUT": .joinNetwork, "DELETE": .leaveNetwork])
        case ("network", 3) where parts[1] == "known":
            self = try Self.only(method, ["DELETE": .forgetNetwork(parts[2])])
        case ("backup", 2) where parts[1] == "import": self = try Self.only(method, ["POST": .importBackup])
        case ("logs", 1): self = try Self.only(method, ["GET": .logs(LogQuery(query))])
        case ("events", 1): self = try Self.only(method, ["GET": .events])
        case ("charges", 1) where method == "GET": self = .history(try HistoryQuery(query, isList: true))
        case ("charges", 1): self = try Self.only(method, ["POST": .openCharge])
        case ("charges", 2) where parts[1] == "current": self = try Self.only(method, ["GET": .currentCharge])
        case ("charges", 2) where parts[1] == "lookup":
            self = try Self.only(method, ["GET": .chargeOfKey(Self.key(query))])
        case ("charges", 2) where query["wait"] != nil || query["since"] != nil:
            self = try Self.only(method, ["GET": .waitForCharge(Self.id(parts[1]), ChargeWait(query))])
        case ("charges", 2): self = try Self.only(method, ["GET": .charge(Self.id(parts[1]))])
        case ("terminal", 1): self = try Self.only(method, ["GET": .terminal])
        case ("diagnosis", 1): self = try Self.only(method, ["GET": .diagnosis])
        case ("screen", 1): self = try Self.only(method, ["GET": .currentMessage, "POST": .showMessage])
        case ("screen", 2):
            self = try Self.only(
                method,
                [
                    "GET": .message(parts[1], seconds: Self.wait(query)), "PUT": .answerMessage(parts[1]),
                    "DELETE": .takeMessage(parts[1]),
                ]
            )
        case ("charges", 3) where parts[2] == "cancel":
            self = try Self.only(method, ["POST": .cancel(Self.id(parts[1]))])
        case ("charges", 3) where parts[2] == "release":
            self = try Self.only(method, ["POST": .release(Self.id(parts[1]))])
        case ("charges", 3) where parts[2] == "seen":
            self = try Self.only(method, ["POST": .markSeen(Self.id(parts[1]))])
        case ("charges", 3) where parts[2] == "put-away":
            self = try Self.only(method, ["POST": .putAway(Self.id(parts[1]))])
        case ("charges", 3) where parts[2] == "take-back":
            self = try Self.only(method, ["POST": .takeBack(Self.id(parts[1]))])
        case ("charges", 3) where parts[2] == "receipt":
            self = try Self.only(method, ["GET": .receipt(Self.id(parts[1]), Self.receiptFormat(query))])
        case ("charges", 4) where parts[2] == "receipt" && parts[3] == "print":
            self = try Self.only(method, ["POST": .printReceipt(Self.id(parts[1]))])
        case ("charges", 3) where parts[2] == "code":
            self = try Self.only(method, ["POST": .turnCode(Self.id(parts[1]))])
        default: throw .notFound
        }
    }

    /// Who may use it. Not listed is not allowed.
    var roles: Set<Role> {
        switch self {
        case .session, .claim, .signIn, .signInWithPIN, .signInWithCode, .resetState, .finishReset:
            []  // Open; each looks after itself.
        case .signOut, .sessions, .endOtherSessions, .endSession, .prove: [.owner, .manager, .cashier]
        case .changePIN: [.manager, .cashier]
        case .changePassword, .refuseReset, .access, .endAccess: [.owner]
        // Whom they may change is looked at for each person.
        case .staff, .addPerson, .changePerson, .removePerson, .makeSignInCode, .makeCounter, .forgetBrowser:
            [.owner, .manager]
        case .saveStaffRules: [.owner]
        case .settings: [.owner, .manager]  // They hold no secret.
        case .saveSettings, .testConnection, .checkName, .taps, .saveTaps, .connect, .saveConnect, .forgetConnect:
            [.owner]
        case .calibration, .calibrate, .keepCalibration, .stopCalibration: [.owner]
        case .setUp, .saveSetUp, .logo, .saveLogo: [.owner]
        case .certificate, .saveCertificate, .removeCertificate: [.owner]
        case .customers, .saveCustomers, .tokens, .makeToken, .revokeToken: [.owner]
        case .webhooks, .outbox: [.owner, .manager]
        case .saveOutbox, .testOutbox: [.owner]
        case .makeWebhook, .pauseWebhook, .removeWebhook, .testWebhook: [.owner]
        case .audit, .exportAudit, .verifyAudit, .logs, .supportBundle, .wipe, .wipeEverything, .exportBackup,
            .importBackup:
            [.owner]
        case .takeBackup, .stick, .writeToStick: [.owner]
        case .restore, .beginRestore, .addToRestore, .dropRestore, .checkRestore, .applyRestore: [.owner]
        case .update, .beginUpdate, .addToUpdate, .dropUpdate, .checkUpdate, .installUpdate: [.owner]
        case .health: [.owner, .manager]
        case .network, .scanNetworks, .joinNetwork, .leaveNetwork, .forgetNetwork: [.owner, .manager]
        case .openCharge, .cancel, .release, .markSeen, .currentCharge, .charge, .events: [.owner, .manager, .cashier]
        case .putAway, .turnCode, .receipt, .printReceipt: [.owner, .manager, .cashier]
        case .receipts, .saveReceipts, .testReceipt: [.owner]
        case .history, .people: [.owner, .manager, .cashier]
        case .counter, .trySound, .refund, .refundAgain: [.owner, .manager]
        case .saveCounter: [.owner]
        // Of a cashier their own only: what answers looks at whose it is.
        case .shifts, .openShift, .currentShift, .shift, .closeShift, .shiftReport: [.owner, .manager, .cashier]
        case .days, .day, .compareDay, .takeBack, .totals, .export: [.owner, .manager]
        case .waitForCharge, .chargeOfKey, .terminal, .currentMessage, .message, .answerMessage, .takeMessage:
            [.owner, .manager, .cashier]
        case .diagnosis, .showMessage: [.owner, .manager]
        }
    }

    /// Whether it answers without a session.
    var isOpen: Bool { self == .session || self == .resetState || isEntrance }

    /// Whether it is the way in, which cannot carry a token yet.
    var isEntrance: Bool {
        [.claim, .signIn, .signInWithPIN, .signInWithCode, .finishReset].contains(self)
    }

    var changesState: Bool {
        switch self {
        case .session, .resetState, .access, .sessions, .settings, .history, .currentCharge, .charge, .events, .days,
            .day, .taps,
            .connect, .calibration, .setUp, .logo, .certificate, .customers, .tokens, .receipts, .receipt, .totals,
            .export, .staff,
            .audit, .exportAudit, .health, .logs, .supportBundle, .wipe, .webhooks, .outbox, .stick, .restore,
            .update, .network:
            false
        case .signInWithPIN, .signInWithCode, .changePIN: true
        case .addPerson, .saveStaffRules, .changePerson, .removePerson, .makeSignInCode: true
        case .makeCounter, .forgetBrowser: true
        case .counter, .people, .shifts, .currentShift, .shift, .shiftReport: false
        case .saveCounter, .trySound, .refund, .refundAgain, .openShift, .closeShift: true
        case .verifyAudit, .wipeEverything, .exportBackup, .importBackup: true
        case .takeBackup, .writeToStick, .beginRestore, .addToRestore, .dropRestore, .checkRestore, .applyRestore: true
        case .beginUpdate, .addToUpdate, .dropUpdate, .checkUpdate, .installUpdate: true
        case .scanNetworks, .joinNetwork, .leaveNetwork, .forgetNetwork: true
        case .saveReceipts, .testReceipt, .printReceipt: true
        case .saveCustomers, .makeToken, .revokeToken: true
        case .saveOutbox, .testOutbox: true
        case .makeWebhook, .pauseWebhook, .removeWebhook, .testWebhook: true
        case .changePassword, .finishReset, .refuseReset, .prove, .endAccess, .endOtherSessions, .endSession: true
        case .claim, .signIn, .signOut, .saveSettings, .testConnection, .checkName: true
        case .openCharge, .cancel, .release, .markSeen, .compareDay, .saveTaps, .takeBack, .saveConnect,
            .forgetConnect, .turnCode, .putAway:
            true
        case .calibrate, .keepCalibration, .stopCalibration, .saveSetUp, .saveLogo: true
        case .saveCertificate, .removeCertificate: true
        case .waitForCharge, .chargeOfKey, .terminal, .diagnosis, .currentMessage, .message: false
        case .showMessage, .answerMessage, .takeMessage: true
        }
    }

    static func only(_ method: String, _ routes: [String: Route]) throws(Problem) -> Route {
        guard let route = routes[method] else {
            let methods = routes.keys.sorted()
            var problem = Problem(
                405,
                "method_not_allowed",
                "This address does not take this kind of request.",
                "Use \(methods.joined(separator: " or "))."
            )
            problem.allowed = methods
            throw problem
        }
        return route
    }

    private static func id(_ text: String) throws(Problem) -> ChargeID {
        guard let id = ChargeID(text) else {
            throw Problem(404, "charge_not_found", "There is no such charge here.", "Look at the last charges.")
        }
        return id
    }

    private static func day(_ text: String) throws(Problem) -> ShopDay {
        guard let day = ShopDay(text) else {
            throw Problem(404, "day_not_found", "This is no day.", "Write it as year, month and day: 2026-11-20.")
        }
        return day
    }

    private static func receiptFormat(_ query: [String: String]) throws(Problem) -> ReceiptFormat? {
        guard let name = query["format"], query.count == 1 else {
            if query.isEmpty { return nil }
            throw invalidQuery(query.keys.first { $0 != "format" } ?? "format")
        }
        guard let format = ReceiptFormat(rawValue: name) else { throw invalidQuery("format") }
        return format
    }

    private static func invalidQuery(_ name: String) -> Problem {
        .field(
            String(name.prefix(40)),
            Reason(
                code: "invalid_query",
                message: "A receipt cannot be asked for like this.",
                action: "Use format=\(ReceiptFormat.allCases.map(\.rawValue).joined(separator: ", format="))."
            )
        )
    }
}
