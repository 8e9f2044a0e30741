import Foundation
import Logging
import Payments
import Testing

@testable import Console

/// The log lines that the owner sees.
struct LogTests {
    private static let at = WallTime(millisecondsSince1970: 1_790_000_000_000)

    private func logger(_ ring: LogRing, level: Logger.Level = .info) -> Logger {
        Logger(label: "test") { _ in ring.handler(level: level) }
    }

    @Test func theNewestComeFirstAndTheOldestGo() {
        let ring = LogRing()
        for number in 1...(2 * LogRing.mostLines + 5) { ring.add(.info, "line \(number)", at: Self.at) }
        var query = LogQuery()
        query.limit = LogRing.mostLines
        let lines = ring.lines(query)
        #expect(lines.count == LogRing.mostLines && lines.first?.text == "line \(2 * LogRing.mostLines + 5)")
        #expect(lines.map(\.number) == lines.map(\.number).sorted(by: >))
        query.before = lines.last?.number ?? 0
        #expect(ring.lines(query).isEmpty)
    }

    @Test func longLinesDoNotFillTheMemory() {
        let ring = LogRing()
        let word = String(repeating: "a b ", count: 10_000)
        for _ in 0..<400 { ring.add(.info, word, at: Self.at) }
        var query = LogQuery()
        query.limit = LogRing.mostLines
        let bytes = ring.lines(query).reduce(0) { $0 + $1.text.utf8.count }
        #expect(bytes <= LogRing.mostBytes && bytes > LogRing.mostBytes / 2)
    }

    @Test func aLevelAndASearchNarrowIt() throws {
        let ring = LogRing()
        let logger = logger(ring)
        logger.debug("not kept")
        logger.info("the page is there")
        logger.warning("the Gateway is silent", metadata: ["after": "3"])
        logger.error("no room", metadata: ["error": "disk full"])
        #expect(
            ring.lines(LogQuery()).map(\.text) == [
                "no room error=disk full", "the Gateway is silent after=3", "the page is there",
            ]
        )
        #expect(ring.lines(try LogQuery(["level": "warning"])).count == 2)
        #expect(ring.lines(try LogQuery(["q": "gateway"])).map(\.level) == [.warning])
        #expect(ring.lines(try LogQuery(["limit": "1"])).count == 1)
        for wrong in [["level": "loud"], ["limit": "0"], ["before": "-1"], ["q": ""], ["colour": "red"]] {
            #expect(throws: Problem.self) { try LogQuery(wrong) }
        }
    }

    /// Secrets as they could come into a line by a mistake.
    @Test(arguments: [
        ("password=hunter2-canary", "hunter2-canary"), (#"{"password":"hunter2canary"}"#, "hunter2canary"),
        ("Authorization: Bearer abcCANARY", "abcCANARY"), ("gatewayKey=\"wcpCANARY\"", "wcpCANARY"),
        ("the key wcp_live_CANARY0123 was sent", "CANARY0123"), ("till_metrics_Zm9vYmFyCANARY", "CANARY"),
        ("asked https://host.test/pay?token=CANARY&x=1 once", "CANARY"),
        ("https://till.local:8443/#claim=ABCD-EFGH&cert=x", "ABCD-EFGH"),
        ("pairing wc:9f@2?relay-protocol=irn&symKey=7c5eCANARY", "7c5eCANARY"),
        ("eyJhbGciOiJIUzI1NiJ9CANARY.payload", "CANARY"), ("pin=4711", "4711"),
        ("key 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "8899aabbccddeeff"),
        ("sealed Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MEFCQ0RFRg here", "Zm9vYmFyYmF6"),
    ]) func whatLooksLikeASecretIsHidden(line: String, secret: String) {
        let clean = LogRedaction.clean(line)
        #expect(!clean.contains(secret) && clean.contains("[hidden]"), "\(clean)")
    }

    @Test(arguments: [
        "the page is at https://till.local:8443", "charge 019aa1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b: succeeded",
        "the acquirer's password cannot be read; enter it again", "not offered: pay_0123456789abcdef0123456789abcdef",
        "4 tokens were read, error=disk full at 12:30", "a phone was not asked reason=it's gone",
    ]) func ordinaryWordsStayAsTheyAre(line: String) { #expect(LogRedaction.clean(line) == line) }

    @Test func metadataUnderASecretsNameIsHidden() {
        let ring = LogRing()
        var logger = logger(ring)
        logger[metadataKey: "apiKey"] = "CANARY"
        logger.notice("asked", metadata: ["gateway-token": "CANARY", "path": "/x", "pin": "CANARY"])
        let text = ring.lines(LogQuery()).map(\.text).joined()
        #expect(!text.contains("CANARY") && text.contains("path=/x"), "\(text)")
    }

    @Test func aLineCannotBecomeTwo() {
        let clean = LogRedaction.clean("one\r\ntwo\nthree\rfour")
        #expect(!clean.contains(where: \.isNewline) && clean.hasSuffix("two three four"))
    }
}
