import StrictJSON
import WebSocket

/// What a test or an operator asks of the relay itself.
extension Relay {
    /// Open connections by number.
    public var openSessions: [UInt64] { sessions.keys.sorted() }

    /// Messages that a subscriber has acknowledged since the start.
    public var acknowledgedCount: Int { counts.acknowledged }

    /// Closes one connection with this code.
    public func closeOnDemand(_ id: UInt64, _ code: UInt16) { close(id, code, "on demand") }

    func faultsOfHandshake() -> [RelayFault] { faults.meeting(.connect) }

    func counted(_ refusal: WebSocketServer.Answer) -> WebSocketServer.Answer {
        counts.refused[refusal.status, default: 0] += 1
        return refusal
    }

    /// | call | what |
    /// |---|---|
    /// | `GET`, `POST`, `DELETE /control/faults` | the faults that are set; set one; clear all |
    /// | `POST /control/close` | `{"code"}`: closes every connection with this code |
    /// | `GET /control/mailboxes` | what waits, by topic: how many, how many bytes, how many subscribers |
    func control(_ question: WebSocketServer.Question) -> WebSocketServer.Answer {
        guard let token = configuration.controlToken else { return .init(404, "Nothing here\n") }
        guard question.header("Authorization") == "Bearer \(token)" else {
            return .init(401, "Send the control token as Authorization: Bearer TOKEN\n")
        }
        let body = try? ExactJSON(parsing: question.body)
        switch (question.method, question.path) {
        case ("GET", "/control/faults"): break
        case ("DELETE", "/control/faults"): faults.clear()
        case ("POST", "/control/faults"):
            do throws(FaultError) { faults.set(try RelayFault(body ?? .null)) } catch {
                return .init(400, error.description + "\n")
            }
        case ("POST", "/control/close"):
            guard let code = body?["code"]?.integerValue, (1000...4999).contains(code) else {
                return .init(400, "'code' is a number from 1000 to 4999\n")
            }
            let ids = sessions.keys.sorted()
            for id in ids { close(id, UInt16(code), "on demand") }
            return Self.json(.members(["closed": .integer(ids.count)]))
        case ("GET", "/control/mailboxes"):
            let mailboxes = mailboxes.topics.sorted { $0.key < $1.key }.map { topic, mailbox in
                ExactJSON.members([
                    "topic": .string(topic), "messages": .integer(mailbox.letters.count),
                    "bytes": .integer(mailbox.bytes), "subscribers": .integer(mailbox.subscribers.count),
                ])
            }
            return Self.json(.members(["mailboxes": .array(mailboxes)]))
        default: return .init(404, "No such order\n")
        }
        return Self.json(.members(["faults": .array(faults.entries.map(\.fault.json))]))
    }

    private static func json(_ json: ExactJSON) -> WebSocketServer.Answer {
        .init(200, json.text + "\n", contentType: "application/json")
    }

    /// In the text format of Prometheus, version 0.0.4.
    var metrics: String {
        var lines: [String] = []
        func write(_ name: String, _ type: String, _ help: String, _ values: [(String, Int)]) {
            lines.append("# HELP till_relay_\(name) \(help)")
            lines.append("# TYPE till_relay_\(name) \(type)")
            for (labels, value) in values { lines.append("till_relay_\(name)\(labels) \(value)") }
        }
        func labelled<Key>(_ name: String, _ values: [Key: Int]) -> [(String, Int)] {
            values.map { ("{\(name)=\"\(Self.label($0.key))\"}", $0.value) }.sorted { $0.0 < $1.0 }
        }
        let subscriptions = mailboxes.clients.values.reduce(0) { $0 + $1.count }
        write("connections", "gauge", "Open connections.", [("", sessions.count)])
        write("clients", "gauge", "Clients with an open connection.", [("", sessionsOfClient.count)])
        write("subscriptions", "gauge", "Subscriptions, of clients that are away too.", [("", subscriptions)])
        write("mailboxes", "gauge", "Topics with messages or subscribers.", [("", mailboxes.topics.count)])
        write("messages", "gauge", "Messages kept.", [("", mailboxes.letterCount)])
        write("message_bytes", "gauge", "Bytes of messages kept.", [("", mailboxes.byteCount)])
        write("connections_total", "counter", "Connections accepted.", [("", counts.opened)])
        write("refused_total", "counter", "Handshakes refused.", labelled("status", counts.refused))
        write("closed_total", "counter", "Connections closed by the relay.", labelled("code", counts.closed))
        write("requests_total", "counter", "Requests.", labelled("kind", counts.requests))
        write("errors_total", "counter", "Requests refused.", labelled("tag", counts.errors))
        write("rate_limited_total", "counter", "Requests beyond a client's rate.", [("", counts.limited)])
        write("published_total", "counter", "Messages taken.", [("", counts.published)])
        write("duplicates_total", "counter", "Messages that were there already.", [("", counts.duplicates)])
        write("pushes_total", "counter", "Messages sent to subscribers.", [("", counts.pushes)])
        write("resent_total", "counter", "Messages sent again.", [("", counts.resent)])
        write("acknowledged_total", "counter", "Messages acknowledged by a subscriber.", [("", counts.acknowledged)])
        write("expired_total", "counter", "Messages whose time was over.", [("", counts.expired)])
        return lines.joined(separator: "\n") + "\n"
    }

    /// Tags of faults come from outside.
    private static func label(_ value: some Any) -> String {
        String("\(value)".filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }.prefix(64))
    }
}
