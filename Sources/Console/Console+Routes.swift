import Foundation
import Journal
import Payments
import Terminal
import WebServer

extension Console {
    /// Does what a request that passed the gate asks for.
    func answer(_ pass: Gate.Pass, _ request: WebRequest) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .session: return await sessionResponse(pass.token, pass.session, at: browserToken(request))
        case .signInWithPIN, .signInWithCode, .changePIN, .staff, .addPerson, .saveStaffRules, .changePerson,
            .removePerson, .makeSignInCode, .makeCounter, .forgetBrowser:
            return try await staffAnswer(pass, request)
        case .claim: return try await claim(request)
        case .signIn: return try await signIn(request)
        case .signOut:
            try requireEmptyForm(pass)
            return await signOut(pass, request)
        case .changePassword: return try await changePassword(pass, request)
        case .prove: return try await prove(pass, request)
        case .access: return try await accessResponse()
        case .endAccess: return try await endAccess(pass)
        case .resetState: return await resetResponse()
        case .finishReset: return try await finishReset(request)
        case .refuseReset:
            try requireEmptyForm(pass)
            _ = await entrance.refuseReset(by: pass.who, from: request.peerAddress)
            return await resetResponse()
        case .sessions: return sessionList(pass)
        case .endSession(let id):
            try requireEmptyForm(pass)
            guard let session = pass.session else { throw .notSignedIn }
            try await entrance.endSession(id, by: session, from: request.peerAddress)
            return sessionList(pass)
        case .endOtherSessions:
            try requireEmptyForm(pass)
            if let session = pass.session {
                _ = try await entrance.endOthers(than: session, from: request.peerAddress)
            }
            return sessionList(pass)
        case .settings: return await settingsResponse()
        case .saveSettings: return try await saveSettings(pass)
        case .testConnection: return try await testConnection(pass)
        case .checkName: return try await checkName(pass)
        case .openCharge: return try await openCharge(pass)
        case .history(var query):
            if pass.hasOwnChargesOnly { query.openedBy = pass.who.name }
            return try await historyResponse(query, for: pass.reader)
        case .totals(let span, let from, let to): return try await totalsResponse(span, from, to)
        case .export(let format, let query): return await exportResponse(format, query, pass)
        case .currentCharge:
            guard case .charging(let charge) = await desk.snapshot.phase,
                !pass.hasOwnChargesOnly || charge.charge.terms.openedBy == pass.who
            else { return WebResponse(status: 204) }
            return .json(JSON.charge(charge, for: pass.reader).text)
        case .charge(let id): return try await chargeResponse(id, for: pass.reader)
        case .cancel(let id):
            try requireEmptyForm(pass)
            return try await audited("charge.cancel", id.rawValue, pass) { () throws(ChargeRefusal) in
                try await desk.cancel(id, by: pass.who)
            }
        case .release(let id):
            try requireEmptyForm(pass)
            return try await audited("charge.release", id.rawValue, pass) { () throws(ChargeRefusal) in
                try await desk.release(id, by: pass.who)
            }
        case .markSeen(let id):
            try requireEmptyForm(pass)
            return try await audited("charge.seen", id.rawValue, pass) { () throws(ChargeRefusal) in
                try await desk.markSeen(id, by: pass.who)
            }
        case .putAway(let id):
            try requireEmptyForm(pass)
            return try await charge { () throws(ChargeRefusal) in try await desk.putAway(id) }
        case .counter: return await counterResponse()
        case .saveCounter: return try await saveCounter(pass)
        case .trySound: return try await trySound(pass)
        case .people: return try await peopleResponse()
        case .refund(let id): return try await refund(id, pass)
        case .refundAgain(let id):
            try requireEmptyForm(pass)
            return try await refundAgain(id, pass)
        case .shifts, .openShift, .currentShift, .shift, .closeShift, .shiftReport:
            return try await shiftAnswer(pass)
        case .tokens: return await tokenList()
        case .makeToken: return try await makeToken(pass)
        case .revokeToken(let id):
            try requireEmptyForm(pass)
            return try await revokeToken(id, pass)
        case .outbox, .saveOutbox, .testOutbox: return try await outboxAnswer(pass)
        case .webhooks, .makeWebhook, .pauseWebhook, .removeWebhook, .testWebhook:
            return try await webhookAnswer(pass)
        case .customers: return await customersResponse()
        case .saveCustomers: return try await saveCustomers(pass)
        case .receipt(let id, let format): return try await receipt(id, format, pass)
        case .printReceipt(let id):
            try requireEmptyForm(pass)
            return try await printReceipt(id, pass)
        case .receipts: return await receiptsResponse()
        case .saveReceipts: return try await saveReceipts(pass)
        case .testReceipt:
            try requireEmptyForm(pass)
            return try await testReceipt(pass)
        case .setUp: return await setUpResponse()
        case .saveSetUp: return try await saveSetUp(pass)
        case .certificate: return try await certificateResponse()
        case .saveCertificate: return try await saveCertificate(pass)
        case .removeCertificate: return try await removeCertificate(pass)
        case .logo: return await logoResponse()
        case .saveLogo: return try await saveLogo(pass)
        case .taps: return try await tapsResponse()
        case .saveTaps: return try await saveTaps(pass)
        case .connect: return try await connectResponse()
        case .saveConnect: return try await saveConnect(pass)
        case .forgetConnect:
            try requireEmptyForm(pass)
            return try await forgetConnect(pass)
        case .turnCode(let id): return try await turnCode(id, pass)
        case .calibration, .calibrate, .keepCalibration, .stopCalibration:
            return try await calibration(pass.route, pass)
        case .takeBack(let id):
            try requireEmptyForm(pass)
            return try await takeBack(id, pass)
        case .audit(let query): return try await auditResponse(query)
        case .exportAudit(let format): return await auditExport(format, pass)
        case .verifyAudit:
            try requireEmptyForm(pass)
            return try await verifyAudit(pass)
        case .health: return await healthResponse()
        case .logs(let query): return await logResponse(query)
        case .wipe: return try await wipeResponse()
        case .exportBackup: return try await exportBackup(pass)
        case .importBackup: return try await importBackup(pass)
        case .takeBackup: return try await takeBackup(pass)
        case .stick, .writeToStick: return try await stickAnswer(pass)
        case .restore, .beginRestore, .addToRestore, .dropRestore, .checkRestore, .applyRestore:
            return try await restoreAnswer(pass)
        case .update, .beginUpdate, .addToUpdate, .dropUpdate, .checkUpdate, .installUpdate:
            return try await updateAnswer(pass)
        case .network, .scanNetworks, .joinNetwork, .leaveNetwork, .forgetNetwork:
            return try await networkAnswer(pass)
        case .wipeEverything: return try await wipe(pass)
        case .supportBundle: return try await supportBundle(pass)
        case .events: return try await events(pass)
        case .waitForCharge(let id, let wait): return try await waitForCharge(id, wait, pass)
        case .chargeOfKey(let key): return try await chargeOfKey(key, pass)
        case .terminal: return await terminalResponse()
        case .diagnosis: return await diagnosisResponse()
        case .showMessage, .currentMessage, .message, .answerMessage, .takeMessage: return try await screen(pass)
        case .days: return try await dayList()
        case .day(let day): return try await dayResponse(day)
        case .compareDay(let day):
            try requireEmptyForm(pass)
            return try await compare(day, pass)
        }
    }

    func requireEmptyForm(_ pass: Gate.Pass) throws(Problem) {
        var form = try Form(pass.request.body.isEmpty ? Array("{}".utf8) : pass.request.body)
        try form.finish()
    }
}
