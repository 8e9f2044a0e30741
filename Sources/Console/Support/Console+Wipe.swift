import Foundation
import Journal
import Payments
import Terminal
import WebServer

/// Erasing everything.
extension Console {
    /// What the owner has to type so that nobody erases a terminal by a slip: its merchant's name, or a word.
    private var wipeWord: String { get async { await settings.current?.settings.merchantName ?? "ERASE" } }

    /// Payments that no authority has ended, and those that were taken offline and are not booked.
    func unfinished() async throws(Problem) -> Int {
        do throws(JournalError) {
            let open = try await books.openCharges().count
            guard let taps else { return open }
            return max(open, await taps.station.status.waiting)
        } catch { throw Problem(503, error.reason) }
    }

    func wipeResponse() async throws(Problem) -> WebResponse {
        .json(
            JSON.object([
                "word": .string(await wipeWord), "openPayments": .integer(Int64(try await unfinished())),
            ]).text
        )
    }

    /// Erases the device's key and has the program end, which erases the rest and begins anew as a terminal without owner.
    func wipe(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        guard let erase else { throw .notFound }
        var form = try Form(pass.request.body)
        let word = form.text("word", limit: 200)
        let password = form.optionalText("password", limit: 1000)
        let evenWithOpenPayments = form.bool("evenWithOpenPayments") ?? false
        try form.finish()
        let peer = pass.request.peerAddress
        let wanted = await wipeWord
        guard word.trimmingCharacters(in: .whitespaces).lowercased() == wanted.lowercased() else {
            throw .field(
                "word",
                Reason(
                    code: "word_wrong",
                    message: "This is not what was to be typed.",
                    action: "Type: \(wanted)",
                    values: ["wanted": wanted]
                )
            )
        }
        try await requirePassword(password, because: "Erasing everything needs the password again.", of: pass)
        // A record that cannot be read must not keep its owner from erasing it.
        let open = evenWithOpenPayments ? 0 : try await unfinished()
        guard open == 0 else {
            await entrance.audit("wipe", "refused", "\(open) payments are open", by: pass.who, from: peer)
            throw Problem(
                409,
                Reason(
                    code: "payments_open",
                    message:
                        "Payments without a final answer: \(open). Once erased, nobody hears at this terminal how they "
                        + "ended, and money that still comes is in no book here.",
                    action: "Wait until they have ended, or say that you want to erase all the same.",
                    values: ["open": "\(open)"]
                )
            )
        }
        do throws(JournalError) { try erase() } catch {
            await entrance.audit("wipe", "failed", "", by: pass.who, from: peer)
            throw Problem(503, error.reason)
        }
        var response = WebResponse.json(JSON.object(["erasing": .bool(true)]).text, status: 202)
        response.headers.add("Set-Cookie", "\(Gate.cookie)=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict")
        return response
    }
}
