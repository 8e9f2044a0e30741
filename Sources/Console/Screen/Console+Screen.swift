import Payments
import Terminal
import WebServer

/// What programs put on the screen, and what staff answer.
extension Console {
    func screen(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        switch pass.route {
        case .showMessage:
            let form = try MessageForm(pass.request.body, paymentHosts: messages.paymentHosts)
            let message = try await messages.show(form, by: pass.who)
            await note("screen.show", message.form.kind.rawValue, pass)
            return await response(message, status: 201)
        case .currentMessage:
            guard let message = await messages.current else { return WebResponse(status: 204) }
            return await response(message)
        case .message(let id, let seconds):
            if seconds > 0, try await messages.message(id).state == .up {
                let messages = messages
                try await hold(for: seconds, pass) {
                    for await _ in await messages.following() {
                        guard let state = try? await messages.message(id).state, state == .up else { return }
                    }
                }
            }
            return await response(try await messages.message(id))
        case .answerMessage(let id):
            var form = try Form(pass.request.body)
            let answer = form.integer("answer")
            try form.finish()
            let message = try await messages.answer(id, with: answer.map { Int(clamping: $0) } ?? -1)
            await note("screen.answer", id, pass)
            return await response(message)
        case .takeMessage(let id):
            try requireEmptyForm(pass)
            let message = try await messages.withdraw(id)
            await note("screen.withdraw", id, pass)
            return await response(message)
        default: throw .notFound
        }
    }

    private func note(_ what: String, _ about: String, _ pass: Gate.Pass) async {
        await entrance.audit(what, "ok", about, by: pass.who, from: pass.request.peerAddress)
    }

    private func response(_ message: ShownMessage, status: Int = 200) async -> WebResponse {
        let snapshot = await desk.snapshot
        let isVisible = message.state == .up && snapshot.phase == .idle && snapshot.trouble == nil
        return .json(
            JSON.object([
                "id": .string(message.id), "kind": .string(message.form.kind.rawValue),
                "title": .string(message.form.title), "text": .string(message.form.text),
                "content": .optional(message.form.content),
                "options": .array(message.form.options.map(JSON.string)),
                "state": .string(message.state.rawValue), "visible": .bool(isVisible),
                "answer": .optional(message.answer),
                "answerText": .optional(message.answer.map { message.form.options[$0] }),
                "createdAt": .time(message.createdAt),
            ]).text,
            status: status
        )
    }
}

extension JSON {
    /// For the page, where staff answer it.
    static func onScreen(_ message: ScreenMessage) -> JSON {
        .object([
            "id": .string(message.id), "title": .string(message.title), "text": .string(message.text),
            "options": .array(message.options.map(JSON.string)),
        ])
    }
}
