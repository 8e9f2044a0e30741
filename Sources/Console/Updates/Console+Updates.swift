import Foundation
import Payments
import StrictJSON
import Terminal
import WebServer

/// New versions of the whole system, for the owner.
extension Console {
    func updateAnswer(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .beginUpdate:
            var form = try Form(pass.request.body)
            let bytes = form.integer("bytes") ?? 0
            try form.finish()
            try await updates.beginUpload(bytes: bytes)
        case .addToUpdate:
            var form = try Form(pass.request.body, bytes: RestoreDesk.bodyBytes)
            let place = form.integer("at") ?? -1
            guard case .string(let text)? = form.document("piece"), let piece = Data(base64Encoded: text) else {
                throw .field("piece", UpdateDesk.outOfPlace.reason)
            }
            try form.finish()
            try await updates.add(Array(piece), at: place)
        case .dropUpdate:
            try requireEmptyForm(pass)
            try await updates.drop()
        case .checkUpdate:
            var form = try Form(pass.request.body)
            let stick = form.optionalText("stick", limit: 255)
            try form.finish()
            do throws(Problem) { try await updates.check(stick: stick) } catch {
                let (code, peer) = (error.reason.code, pass.request.peerAddress)
                await entrance.audit("update.check", "refused", code, by: pass.who, from: peer)
                throw error
            }
        case .installUpdate:
            var form = try Form(pass.request.body)
            let password = form.optionalText("password", limit: 1000)
            try form.finish()
            try await requirePassword(password, because: "An update needs the password again.", of: pass)
            try await updates.begin(by: pass.who, from: pass.request.peerAddress)
        default: break
        }
        return .json(await updateState().text)
    }

    private func updateState() async -> JSON {
        guard let service = updates.service else { return .object(["available": .bool(false)]) }
        let upload = await updates.upload.map { (total: $0.totalBytes, received: $0.receivedBytes) }
        let place = await service.running()
        return .object([
            "available": .bool(true), "version": .string(service.version), "slot": .optional(place?.name),
            "good": place.map { .bool($0.isGood) } ?? .null,
            "sticks": .array(
                service.sticks().map { .object(["name": .string($0.name), "bytes": .integer($0.bytes)]) }
            ),
            "totalBytes": .optional(upload?.total), "receivedBytes": .integer(Int64(upload?.received ?? 0)),
            "pieceBytes": .integer(Int64(RestoreDesk.pieceBytes)),
            // Not while something else is on its way in.
            "offered": await updates.isOthers
                ? .null
                : updates.offer.map { offer in
                    .object(["version": .string(offer.version), "stick": .optional(offer.stick)])
                } ?? .null,
            "phase": .string(await updates.phase.rawValue), "percent": .integer(Int64(await updates.percent)),
            "problem": .reason(await updates.problem?.reason), "chargeOpen": .bool(await desk.holdsCharge),
            "last": await updates.last.map { last in
                .object([
                    "version": .string(last.version), "from": .string(last.from),
                    "result": .string(last.stage.rawValue),
                    "at": .time(WallTime(millisecondsSince1970: last.at)),
                ])
            } ?? .null,
        ])
    }
}
