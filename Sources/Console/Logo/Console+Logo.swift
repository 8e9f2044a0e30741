import Payments
import WebServer

/// The merchant's logo, as the owner sees and changes it.
extension Console {
    func logoResponse() async -> WebResponse {
        .json(
            JSON.object(["image": .optional(await logo.address), "version": .integer(Int64(await logo.version))]).text
        )
    }

    func saveLogo(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let (image, sent) = try Self.logoForm(pass)
        let version: Int
        if let sent { version = Int(clamping: sent) } else { version = await logo.version }
        do throws(Problem) {
            try await logo.save(image, replacing: version, by: pass.who)
        } catch {
            await entrance.audit("logo", "refused", error.reason.code, by: pass.who, from: pass.request.peerAddress)
            throw error
        }
        let words = image == nil ? "removed" : "changed"
        await entrance.audit("logo", "ok", words, by: pass.who, from: pass.request.peerAddress)
        return await logoResponse()
    }

    static func logoForm(_ pass: Gate.Pass) throws(Problem) -> (image: String?, version: Int64?) {
        var fields = try Form(pass.body, bytes: LogoDesk.bodyBytes)
        let image = fields.optionalText("image", limit: LogoDesk.bodyBytes)
        let version = fields.integer("version")
        try fields.finish()
        return (image, version)
    }
}
