import Payments
import Terminal
import WebServer

/// The set-up of a new terminal, step by step.
extension Console {
    func setUpResponse() async -> WebResponse {
        let (stored, version) = (await setUp.current, await setUp.version)
        let current = stored ?? SetUp()
        return .json(
            JSON.object([
                "begun": .bool(stored != nil), "state": .string(current.state.rawValue),
                "step": .string(current.step.rawValue), "furthest": .string(current.furthest.rawValue),
                "steps": .array(SetUpStep.allCases.map { .string($0.rawValue) }),
                "answers": .object(current.draft.mapValues(JSON.string)),
                "testCharge": .optional(current.testCharge), "version": .integer(Int64(version)),
            ]).text
        )
    }

    func saveSetUp(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        let (form, version) = try Self.setUpForm(pass)
        do throws(Problem) { try await setUp.save(form, replacing: version, by: pass.who) } catch {
            await entrance.audit("set-up", "refused", error.reason.code, by: pass.who, from: pass.request.peerAddress)
            throw error
        }
        let words = [form.state?.rawValue, form.step?.rawValue].compactMap(\.self).joined(separator: " ")
        await entrance.audit("set-up", "ok", words, by: pass.who, from: pass.request.peerAddress)
        return await setUpResponse()
    }

    private static func setUpForm(_ pass: Gate.Pass) throws(Problem) -> (SetUpForm, version: Int) {
        var fields = try Form(pass.request.body)
        var form = SetUpForm()
        let step = fields.optionalText("step", limit: 20)
        let state = fields.optionalText("state", limit: 20)
        let charge = fields.optionalText("testCharge", limit: 40)
        for (name, limit) in SetUp.fields { form.answers[name] = fields.optionalText(name, limit: limit) }
        let version = fields.integer("version") ?? 0
        try fields.finish()
        form.step = try step.map { text throws(Problem) in try known(SetUpStep(rawValue: text), "step") }
        form.state = try state.map { text throws(Problem) in try known(SetUp.State(rawValue: text), "state") }
        form.testCharge = try charge.map { text throws(Problem) in try known(ChargeID(text), "testCharge") }
        return (form, Int(clamping: version))
    }

    private static func known<Value>(_ value: Value?, _ name: String) throws(Problem) -> Value {
        if let value { return value }
        throw .field(
            name,
            Reason(code: "unknown_value", message: "The terminal does not know this.", action: "Load the page again.")
        )
    }
}
