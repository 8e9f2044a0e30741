import Journal
import Logging
import Payments
import Terminal
import WebServer

/// The file for somebody who helps.
extension Console {
    func supportBundle(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var bundle = SupportBundle(at: clock.wallTime())
        bundle.add("health.json", await health.facts().json.text)
        var query = LogQuery()
        query.limit = LogRing.mostLines
        let lines = log.lines(query).map { "\($0.at.moment) \($0.level.rawValue) \($0.text)\n" }
        bundle.add("log.txt", lines.joined())
        do throws(JournalError) { try await bundle.addRecords(of: books) } catch {
            // What could be read is worth having: whoever asks for it may have this very trouble.
            bundle.add("journal-trouble.txt", "\(error.reason.message) \(error.reason.action)\n")
        }
        await entrance.audit("support.bundle", "ok", "", by: pass.who, from: pass.request.peerAddress)
        return .file(
            bundle.tar,
            contentType: SupportBundle.contentType,
            headers: ["Content-Disposition": "attachment; filename=\"\(bundle.name).tar\""]
        )
    }
}
