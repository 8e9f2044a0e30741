import Payments
import Sound
import Terminal
import WebServer

/// The owner's settings for the counter.
extension Console {
    func counterResponse() async -> WebResponse {
        let (tips, keypad, version) = (await counter.tips, await counter.keypad, await counter.version)
        let (rest, heard) = (await counter.rest, await counter.sound)
        let (device, trouble) = await sound.device()
        let members: [String: JSON] = [
            "tips": .tips(tips), "version": .integer(Int64(version)),
            "keypad": .object(["mode": .string(keypad.mode.rawValue), "mayErase": .bool(keypad.mayErase)]),
            "screen": .object([
                "rest": .string(rest.mode.rawValue), "from": .string(ScreenRest.text(rest.from)),
                "until": .string(ScreenRest.text(rest.until)),
            ]),
            "sound": .object([
                "on": .bool(heard.isOn), "loudness": .integer(Int64(heard.loudness)), "device": .optional(device),
                "trouble": .reason(trouble?.reason),
            ]),
        ]
        return .json(JSON.object(members).text)
    }

    func saveCounter(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let (form, sent) = try Self.counterForm(pass)
        let version: Int
        if let sent { version = Int(clamping: sent) } else { version = await counter.version }
        do throws(Problem) {
            try await counter.save(form, replacing: version, by: pass.who)
        } catch {
            await entrance.audit("counter", "refused", error.reason.code, by: pass.who, from: pass.request.peerAddress)
            throw error
        }
        await entrance.audit("counter", "ok", "", by: pass.who, from: pass.request.peerAddress)
        return await counterResponse()
    }

    static func counterForm(_ pass: Gate.Pass) throws(Problem) -> (CounterForm, version: Int64?) {
        var fields = try Form(pass.body)
        var form = CounterForm()
        form.tipMode = fields.optionalText("tipMode", limit: 20)
        form.tipMaximumPercent = fields.integer("tipMaximumPercent")
        form.tipPresets = fields.optionalText("tipPresets", limit: 100)
        form.keypadMode = fields.optionalText("keypadMode", limit: 20)
        form.keypadErase = fields.bool("keypadErase")
        form.screenRest = fields.optionalText("screenRest", limit: 20)
        form.screenRestFrom = fields.optionalText("screenRestFrom", limit: 20)
        form.screenRestUntil = fields.optionalText("screenRestUntil", limit: 20)
        form.sound = fields.bool("sound")
        form.soundLoudness = fields.integer("soundLoudness")
        let version = fields.integer("version")
        try fields.finish()
        return (form, version)
    }
}

extension JSON {
    static func tips(_ tips: CounterTips) -> JSON {
        .object([
            "mode": .string(tips.mode.rawValue), "maximumPercent": .integer(Int64(tips.maximumPercent)),
            "presets": .array(tips.presetsPercent.map { .integer(Int64($0)) }),
        ])
    }
}
