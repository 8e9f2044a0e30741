import Crypto
import Foundation
import Journal
import Payments
import Testing
import TestSupport

@testable import Console

/// How long a browser stays signed in, over restarts too, and what of it is kept.
struct SessionsTests {
    private let folder: TemporaryFolder
    private let journal: Journal
    private let start = WallTime(millisecondsSince1970: 1_790_000_000_000)
    private static let hour = Duration.seconds(3600)
    private static let day = hour * 24

    init() throws {
        folder = try TemporaryFolder()
        journal = try folder.openJournal()
    }

    /// The sessions as the next run of the program finds them.
    private func reloaded() async throws -> Sessions {
        let sessions = Sessions(journal: journal)
        try await sessions.load()
        return sessions
    }

    @Test func idleForTwelveHoursItEnds() async throws {
        let sessions = Sessions(journal: journal)
        let (token, session) = try await sessions.begin(.owner, at: start)
        let used = start.advanced(by: Self.hour * 12)
        #expect(sessions.session(of: token, at: used)?.role == .owner)
        // Each use begins the twelve hours anew.
        let again = used.advanced(by: Self.hour * 12)
        #expect(sessions.session(of: token, at: again) != nil)
        let over = again.advanced(by: Self.hour * 12 + .milliseconds(1))
        #expect(!sessions.isAlive(session, at: over))
        #expect(sessions.session(of: token, at: over) == nil)
        #expect(sessions.session(of: token, at: again) == nil, "what has ended does not come back with the clock")
    }

    @Test func howeverBusyItEndsAfterSevenDays() async throws {
        let sessions = Sessions(journal: journal)
        let (token, session) = try await sessions.begin(.owner, at: start)
        for hours in stride(from: 6, through: 7 * 24, by: 6) {
            #expect(sessions.session(of: token, at: start.advanced(by: Self.hour * hours)) != nil, "hour \(hours)")
        }
        let over = start.advanced(by: Self.day * 7 + .milliseconds(1))
        #expect(!sessions.isAlive(session, at: over) && sessions.session(of: token, at: over) == nil)
    }

    @Test func aWallClockThatWasSetBackForLongEndsIt() async throws {
        let sessions = Sessions(journal: journal)
        let (token, _) = try await sessions.begin(.owner, at: start)
        #expect(sessions.session(of: token, at: start.advanced(by: Self.hour * -1)) != nil)
        #expect(sessions.session(of: token, at: start.advanced(by: Self.hour * -1 - .milliseconds(1))) == nil)
    }

    @Test func itSurvivesARestartAndItsLimitsToo() async throws {
        let (token, session) = try await Sessions(journal: journal).begin(.owner, at: start)
        let sessions = try await reloaded()
        #expect(sessions.session(of: token, at: start.advanced(by: Self.hour)) == reused(session, after: Self.hour))
        #expect(sessions.isAlive(session, at: start.advanced(by: Self.hour)))
        #expect(Sessions.isValid(csrfToken: Sessions.csrfToken(of: token), of: token))
        let idle = try await reloaded()
        #expect(idle.session(of: token, at: start.advanced(by: Self.hour * 12 + .milliseconds(1))) == nil)
        let old = try await reloaded()
        #expect(old.session(of: token, at: start.advanced(by: Self.day * 8)) == nil)
    }

    private func reused(_ session: Session, after duration: Duration) -> Session {
        var session = session
        session.usedAt = start.advanced(by: duration).millisecondsSince1970
        return session
    }

    @Test func aFileThatWasClosedAndOpenedKnowsIt() async throws {
        let (token, _) = try await Sessions(journal: journal).begin(.owner, at: start)
        try journal.close()
        let sessions = Sessions(journal: try folder.openJournal())
        try await sessions.load()
        #expect(sessions.session(of: token, at: start) != nil)
    }

    @Test func signedOutIsSignedOutAfterARestartToo() async throws {
        let sessions = Sessions(journal: journal)
        let (token, session) = try await sessions.begin(.owner, at: start)
        let (other, _) = try await sessions.begin(.owner, at: start)
        try await sessions.end(session, at: start)
        #expect(sessions.session(of: token, at: start) == nil && !sessions.isAlive(session, at: start))
        let next = try await reloaded()
        #expect(next.session(of: token, at: start) == nil && !next.isAlive(session, at: start))
        #expect(next.session(of: other, at: start) != nil, "the other browser stays signed in")
    }

    @Test func onlyItsHashIsKept() async throws {
        let (token, session) = try await Sessions(journal: journal).begin(.owner, at: start)
        #expect(token.utf8.count == 64 && token.utf8.allSatisfy("0123456789abcdef".utf8.contains))
        let document = try #require(try await journal.document("sessions"))
        let stored = try JSONDecoder().decode([Session].self, from: Data(document.bytes))
        #expect(stored == [session] && stored.first?.tokenHash == Array(SHA256.hash(data: Array(token.utf8))))
        let fields = try #require(JSONSerialization.jsonObject(with: Data(document.bytes)) as? [[String: Any]])
        #expect(Set(fields.flatMap(\.keys)) == ["tokenHash", "role", "createdAt", "usedAt"])
        let everything = folder.bytes
        let secret = stride(from: 0, to: 64, by: 2).compactMap { UInt8(token.dropFirst($0).prefix(2), radix: 16) }
        #expect(everything.firstRange(of: Data(document.bytes)) != nil, "the folder was searched")
        #expect(everything.firstRange(of: Data(token.utf8)) == nil)
        #expect(everything.firstRange(of: Data(secret)) == nil)
    }

    @Test func whatIsNoTokenIsNobody() async throws {
        let sessions = Sessions(journal: journal)
        let (token, session) = try await sessions.begin(.owner, at: start)
        let hash = session.tokenHash.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
        for wrong in [nil, "", hash, token.uppercased() + "x", String(token.dropLast()), token + "0"] {
            #expect(sessions.session(of: wrong, at: start) == nil, "\(wrong ?? "none")")
        }
        #expect(sessions.session(of: token, at: start) != nil)
        #expect(!Sessions.isValid(csrfToken: token, of: token) && !Sessions.isValid(csrfToken: nil, of: token))
    }

    @Test func thereAreNeverMoreThanTwoHundred() async throws {
        let sessions = Sessions(journal: journal)
        var tokens: [String] = []
        for index in 0..<Sessions.most {
            tokens.append(try await sessions.begin(.owner, at: start.advanced(by: .seconds(index))).token)
        }
        let now = start.advanced(by: .seconds(1000))
        #expect(sessions.session(of: tokens[0], at: now) != nil)
        let (newest, _) = try await sessions.begin(.owner, at: now)
        #expect(sessions.session(of: tokens[1], at: now) == nil, "the one unused for longest made room")
        let next = try await reloaded()
        let alive = ([newest] + tokens).filter { next.session(of: $0, at: now) != nil }
        #expect(alive.count == Sessions.most && alive.contains(newest) && alive.contains(tokens[0]))
    }

    @Test func aSlowWriteNeverBringsBackWhatEndedMeanwhile() async throws {
        let storage = FailingStorage(journal)
        let sessions = Sessions(journal: storage)
        let (token, session) = try await sessions.begin(.owner, at: start)
        let (arrived, release) = storage.holdNextWrite()
        async let slow = sessions.begin(.owner, at: start)
        for await _ in arrived {}
        try await sessions.end(session, at: start)
        release.finish()
        let other = try await slow.token
        let next = try await reloaded()
        #expect(next.session(of: token, at: start) == nil, "signed out stays signed out")
        #expect(next.session(of: other, at: start) != nil)
    }

    @Test func aSignInThatCouldNotBeStoredLeavesNobodySignedIn() async throws {
        let storage = FailingStorage(journal)
        let sessions = Sessions(journal: storage)
        storage.fail("sessions")
        await #expect(throws: JournalError.self) { try await sessions.begin(.owner, at: start) }
        storage.fail()
        _ = try await sessions.begin(.owner, at: start)
        let document = try #require(try await journal.document("sessions"))
        #expect(try JSONDecoder().decode([Session].self, from: Data(document.bytes)).count == 1)
    }

    @Test func itsNameTellsNothingOfItsToken() async throws {
        let sessions = Sessions(journal: journal)
        let (token, session) = try await sessions.begin(.owner, at: start)
        let (_, other) = try await sessions.begin(.owner, at: start)
        let hash = session.tokenHash.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
        #expect(session.id.utf8.count == 12 && session.id != other.id)
        #expect(!hash.contains(session.id) && !token.contains(session.id))
        #expect(try await reloaded().session(of: token, at: start)?.id == session.id, "the same after a restart")
    }
}
