import Foundation
import Payments
import Testing
import WebServer

@testable import Console

/// Every number that a request may carry, at the edges of what can be counted. A sum that overflows ends the process, and
/// with it this test; an answer of 500 and above means that a number got further than it should.
///
/// `scripts/check-arithmetic` compares this list with the numbers that the forms read.
@Suite(.timeLimit(.minutes(5)))
struct EdgeNumberTests {
    private static let password = "correct horse battery"

    /// A request with one number: `#` stands for it.
    private static let bodies: [(method: String, path: String, body: String)] = [
        ("PUT", "staff", #"{"cashierMaximumMinor":#}"#), ("PUT", "staff", #"{"managerMaximumMinor":#}"#),
        ("PUT", "staff", #"{"lockMinutes":#}"#),
        ("PUT", "taps", #"{"tapThreshold":#}"#), ("PUT", "taps", #"{"nearThreshold":#}"#),
        ("PUT", "taps", #"{"openThreshold":#}"#), ("PUT", "taps", #"{"taggedThreshold":#}"#),
        ("PUT", "taps", #"{"tipMaximumPercent":#}"#), ("PUT", "taps", #"{"offlineFloorMinor":#}"#),
        ("PUT", "taps", #"{"offlineTotalMinor":#}"#), ("PUT", "taps", #"{"offlineHours":#}"#),
        ("PUT", "taps", #"{"shortCodeAboveMinor":#}"#), ("PUT", "taps", #"{"times":{"connect":#}}"#),
        ("PUT", "taps", #"{"version":#}"#),
        ("PUT", "settings", #"{"chargeLimitMinor":#}"#), ("PUT", "settings", #"{"hourlyLimitMinor":#}"#),
        ("PUT", "settings", #"{"version":#}"#),
        ("POST", "charges", #"{"amountMinor":#}"#), ("POST", "charges", #"{"amountMinor":100,"tipMinor":#}"#),
        ("POST", "charges", #"{"amountMinor":#,"tipMinor":#}"#),
        ("PUT", "receipts", #"{"columns":#}"#), ("PUT", "receipts", #"{"version":#}"#),
        ("PUT", "connect", #"{"version":#}"#),
        ("POST", "update", #"{"bytes":#}"#), ("PUT", "update", #"{"at":#,"piece":"AAAA"}"#),
        ("POST", "restore", #"{"bytes":#}"#), ("PUT", "restore", #"{"at":#,"piece":"AAAA"}"#),
        ("POST", "screen", #"{"kind":"notice","title":"a","seconds":#}"#),
        ("PUT", "screen/x", #"{"answer":#}"#),
        ("PUT", "customers", #"{"version":#}"#), ("PUT", "logo", #"{"version":#}"#),
        ("PUT", "outbox", #"{"port":#}"#), ("PUT", "outbox", #"{"version":#}"#),
        ("PUT", "counter", #"{"soundLoudness":#}"#), ("PUT", "counter", #"{"tipMaximumPercent":#}"#),
        ("PUT", "counter", #"{"version":#}"#), ("POST", "counter/sound", #"{"soundLoudness":#}"#),
        ("POST", "charges/01890a5d-ac96-774b-bcce-b302099a8057/refund", #"{"amountMinor":#}"#),
        ("POST", "charges/01890a5d-ac96-774b-bcce-b302099a8057/refund", #"{"amountMinor":1,"attempt":#}"#),
        ("PUT", "setup", #"{"version":#}"#),
    ]
    private static let addresses: [(method: String, path: String)] = [
        ("GET", "charges?limit=#"), ("GET", "charges?min=#"), ("GET", "charges?max=#"), ("GET", "charges?min=#&max=#"),
        ("GET", "audit?before=#"), ("GET", "audit?limit=#"), ("GET", "logs?limit=#"), ("GET", "logs?before=#"),
        ("GET", "shifts/#"), ("POST", "shifts/#/close"), ("GET", "shifts/#/report.csv"),
        ("GET", "charges/01890a5d-ac96-774b-bcce-b302099a8057?wait=#"), ("GET", "screen/x?wait=#"),
        ("GET", "days/#-01-01"), ("GET", "days/2026-#-01"), ("GET", "totals?from=#-01-01"),
        ("GET", "export.csv?min=#"),
    ]

    static let numbers = [
        "-9223372036854775809", "-9223372036854775808", "-9223372036854775807", "-2147483649", "-2147483648", "-1", "0",
        "1", "255", "256", "32768", "65535", "65536", "2147483647", "2147483648", "4294967295", "4294967296",
        "9007199254740991", "9223372036854775", "9223372036854776", "9223372036854775806", "9223372036854775807",
        "9223372036854775808", "18446744073709551615", "1e400", "-1e400", "1.5", "1e3",
    ]

    @Test func noNumberInARequestEndsTheTerminal() async throws {
        try await withConsole(withTap: true) { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            for number in Self.numbers {
                for one in Self.bodies {
                    let body = one.body.replacingOccurrences(of: "#", with: number)
                    let status = try await page.send(one.method, one.path, body)
                    #expect(status < 500 || status == 503, "\(one.method) \(one.path) \(body): \(status)")
                }
                for one in Self.addresses {
                    let path = one.path.replacingOccurrences(of: "#", with: number)
                    let status = try await page.send(one.method, path, one.method == "GET" ? "" : "{}")
                    #expect(status < 500 || status == 503, "\(one.method) \(path): \(status)")
                }
            }
            #expect(try await page.send("GET", "sessions", "") == 200, "the terminal still answers")
        }
    }

    /// A file is taken up, and its next piece comes with any place there is.
    @Test(arguments: ["restore", "update"])
    func aPieceWithAnyPlaceIsWrittenInItsTurnOrNotAtAll(what: String) async throws {
        try await withConsole(updates: FakeUpdates()) { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            #expect(try await page.send("POST", what, #"{"bytes":1000}"#) == 200)
            #expect(try await page.send("PUT", what, #"{"at":0,"piece":"AAAA"}"#) == 200)
            for number in Self.numbers where number != "0" {
                let status = try await page.send("PUT", what, #"{"at":\#(number),"piece":"AAAA"}"#)
                #expect(status == 409 || status == 422, "\(number): \(status)")
            }
            #expect(try await page.send("PUT", what, #"{"at":0,"piece":"AAAA"}"#) == 200, "the same piece once more")
            #expect(try await page.send("PUT", what, #"{"at":3,"piece":"AAAA"}"#) == 200, "the next one")
        }
    }
}

/// A document out of a backup may hold any number.
struct StoredNumberTests {
    @Test func aStoredSessionWithTimesThatCannotBeIsOver() {
        let now: Int64 = 1_790_000_000_000
        let edges: [Int64] = [.min, .min + 1, -1, 0, now - 8 * 24 * 3600 * 1000, now + 3_600_001, .max - 1, .max]
        for created in edges {
            for used in edges {
                for lock in [nil, Int.min, -1, 0, 1, Int.max] {
                    let session = Session(
                        tokenHash: [],
                        role: .owner,
                        lockMinutes: lock,
                        createdAt: created,
                        usedAt: used
                    )
                    #expect(session.isOver(at: now), "\(created) \(used)")
                }
            }
        }
    }
}

/// Which turn a piece has, for every place that a request can say.
struct PieceTurnTests {
    @Test func onlyTheNextPieceIsWritten() {
        for received in 0...6 {
            for bytes in 0...8 {
                for place in [Int64.min, -1] + Array(0...8) + [Int64(Int32.max), .max - 1, .max] {
                    let turn = PieceTurn(of: bytes, at: place, receivedBytes: received, totalBytes: 6)
                    // In words wider than any place.
                    let end = Double(place) + Double(bytes)
                    if turn == .next {
                        #expect(place == received && bytes > 0 && end <= 6)
                    } else if turn == .again {
                        #expect(end == Double(received) && place >= 0)
                    } else {
                        #expect(place != received || bytes == 0 || end > 6)
                    }
                }
            }
        }
    }
}
