import Foundation
import Payments
import Terminal
import WebServer

extension Console {
    /// Does what a request that passed the gate asks for.
    func answer(_ pass: Gate.Pass, _ request: WebRequest) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .session: return await sessionResponse(pass.token, pass.session)
        case .claim: return try await claim(request)
        case .signIn: return try await signIn(request)
        case .signOut:
            try requireEmptyForm(request)
            return await signOut(pass, request)
        case .changePassword: return try await changePassword(pass, request)
        case .startReset:
            try requireEmptyForm(request)
            try await entrance.startReset(from: request.peerAddress)
            return .json(JSON.object(["started": .bool(true)]).text, status: 202)
        case .finishReset: return try await finishReset(request)
        case .sessions: return sessionList(pass)
        case .endSession(let id):
            try requireEmptyForm(request)
            try await entrance.endSession(id, from: request.peerAddress)
            return sessionList(pass)
        case .endOtherSessions:
            try requireEmptyForm(request)
            if let session = pass.session {
                _ = try await entrance.endOthers(than: session, from: request.peerAddress)
            }
            return sessionList(pass)
        case .settings: return await settingsResponse()
        case .saveSettings: return try await saveSettings(request)
        case .testConnection: return try await testConnection(request)
        case .openCharge: return try await openCharge(request)
        case .history(let query): return try await historyResponse(query)
        case .totals(let span, let from, let to): return try await totalsResponse(span, from, to)
        case .export(let format, let query): return await exportResponse(format, query, request)
        case .currentCharge:
            guard case .charging(let charge) = await desk.snapshot.phase else { return WebResponse(status: 204) }
            return .json(JSON.charge(charge).text)
        case .charge(let id): return try await chargeResponse(id)
        case .cancel(let id):
            try requireEmptyForm(request)
            return try await audited("charge.cancel", id.rawValue, request) { () throws(ChargeRefusal) in
                try await desk.cancel(id, by: Self.staff)
            }
        case .release(let id):
            try requireEmptyForm(request)
            return try await audited("charge.release", id.rawValue, request) { () throws(ChargeRefusal) in
                try await desk.release(id, by: Self.staff)
            }
        case .markSeen(let id):
            try requireEmptyForm(request)
            return try await audited("charge.seen", id.rawValue, request) { () throws(ChargeRefusal) in
                try await desk.markSeen(id, by: Self.staff)
            }
        case .tokens: return await tokenList()
        case .makeToken: return try await makeToken(request)
        case .revokeToken(let id):
            try requireEmptyForm(request)
            return try await revokeToken(id, request)
        case .customers: return await customersResponse()
        case .saveCustomers: return try await saveCustomers(request)
        case .receipt(let id, let format): return try await receipt(id, format, request)
        case .printReceipt(let id):
            try requireEmptyForm(request)
            return try await printReceipt(id, request)
        case .receipts: return await receiptsResponse()
        case .saveReceipts: return try await saveReceipts(request)
        case .testReceipt:
            try requireEmptyForm(request)
            return try await testReceipt(request)
        case .taps: return try await tapsResponse()
        case .saveTaps: return try await saveTaps(request)
        case .connect: return try await connectResponse()
        case .saveConnect: return try await saveConnect(request)
        case .forgetConnect:
            try requireEmptyForm(request)
            return try await forgetConnect(request)
        case .turnCode(let id): return try await turnCode(id, request)
        case .calibration, .calibrate, .keepCalibration, .stopCalibration:
            return try await calibration(pass.route, request)
        case .takeBack(let id):
            try requireEmptyForm(request)
            return try await takeBack(id, request)
        case .events: return events(pass)
        case .days: return try await dayList()
        case .day(let day): return try await dayResponse(day)
        case .compareDay(let day):
            try requireEmptyForm(request)
            return try await compare(day, request)
        }
    }

    static let staff = Entrance.ownerActor

    func requireEmptyForm(_ request: WebRequest) throws(Problem) {
        var form = try Form(request.body.isEmpty ? Array("{}".utf8) : request.body)
        try form.finish()
    }
}
