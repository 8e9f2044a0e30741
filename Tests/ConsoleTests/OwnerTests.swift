import Foundation
import Journal
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// The owner's password and sessions over the page's own API, with a storage that works and one that does not.
@Suite(.timeLimit(.minutes(2)))
struct OwnerTests {
    private static let password = "correct horse battery"
    private static let other = "staple battery horse"

    private func claim(_ page: Page) async throws {
        let code = try await page.claimCode()
        #expect(try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#) == 201)
    }

    private func signIn(_ page: Page, _ password: String = password) async throws -> Int {
        try await page.send("POST", "login", #"{"password":"\#(password)"}"#)
    }

    private func change(
        _ page: Page,
        from current: String = password,
        to new: String = other,
        _ more: String = ""
    ) async throws -> Int {
        try await page.send("PUT", "password", #"{"currentPassword":"\#(current)","newPassword":"\#(new)"\#(more)}"#)
    }

    private func isSignedIn(_ page: Page) async throws -> Bool { try await page.send("GET", "settings", "") == 200 }

    // MARK: - Guesses

    /// Whoever has many addresses guesses at a pace, and never where the owner has signed in.
    @Test func guessesFromTwoHundredAddressesMakeTheNextAddressWaitAndTheOwnersNot() async throws {
        try await withConsole { page in
            try await claim(page)
            #expect(try await signIn(page.another()) == 200)
            let guess = #"{"password":"not the password"}"#
            for number in 0..<Throttle.Pace.password.burst {
                let peer = "10.0.\(number / 250).\(number % 250 + 1)"
                #expect(try await page.another().send("POST", "login", guess, from: peer) == 401)
            }
            let refused = try await page.another().ask("POST", "login", guess, from: "10.0.9.1")
            #expect(refused.status == 429)
            #expect(try await isSignedIn(page), "whoever is signed in stays so")
            #expect(try await signIn(page.another()) == 200, "at an address where the owner has signed in")
            let wait = try #require(refused.headers["Retry-After"].flatMap(Int.init))
            #expect(wait <= 21)
            page.clock.advance(by: .seconds(wait))
            #expect(try await page.another().send("POST", "login", guess, from: "10.0.9.1") == 401, "a pace, no pause")
        }
    }

    @Test func ofGuessesInTheSameMomentThreeAreLookedAt() async throws {
        try await withConsole { page in
            try await claim(page)
            let entrance = page.console.entrance
            let statuses = await withTaskGroup(of: Int.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        do throws(Problem) {
                            _ = try await entrance.signIn(password: "guess \(number)", from: "10.0.0.9")
                            return 200
                        } catch { return error.status }
                    }
                }
                return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [401: 3, 429: 17])
        }
    }

    // MARK: - Claim

    @Test func ofTwoClaimsWithOneCodeAtOnceExactlyOneOwnsTheTerminal() async throws {
        try await withConsole { page in
            let code = try await page.claimCode()
            let entrance = page.console.entrance
            let refused = await withTaskGroup(of: String?.self, returning: [String].self) { group in
                for number in 0..<2 {
                    group.addTask {
                        do throws(Problem) {
                            _ = try await entrance.claim(
                                code: code,
                                password: "\(Self.password) \(number)",
                                from: "192.168.1.\(number)"
                            )
                            return nil
                        } catch { return error.reason.code }
                    }
                }
                return await group.reduce(into: []) { codes, code in if let code { codes.append(code) } }
            }
            #expect(refused == ["already_claimed"])
            #expect(page.console.sessions.list(at: page.clock.wallTime).count == 1)
        }
    }

    // MARK: - Claim and sign-out with a storage that fails

    @Test func whoseSignInCouldNotBeStoredOwnsTheTerminalAllTheSame() async throws {
        let box = Box()
        try await withConsole(keepingIn: { box.wrap($0) }) { page in
            let code = try await page.claimCode()
            try box.storage.fail("sessions")
            let answer = try await page.ask("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            #expect(try Page.said(answer)["code"] as? String == "claimed_not_signed_in" && answer.status == 503)
            try box.storage.fail()
            #expect(try Page.said(try await page.ask("GET", "session"))["claimed"] as? Bool == true)
            #expect(try await signIn(page) == 200)
            #expect(try await isSignedIn(page))
        }
    }

    @Test func aClaimThatCouldNotBeStoredCanBeMadeAgain() async throws {
        let box = Box()
        try await withConsole(keepingIn: { box.wrap($0) }) { page in
            try box.storage.fail("owner")
            let code = try await page.claimCode()
            let body = #"{"code":"\#(code)","password":"\#(Self.password)"}"#
            #expect(try await page.send("POST", "claim", body) == 503)
            #expect(try Page.said(try await page.ask("GET", "session"))["claimed"] as? Bool == false)
            try box.storage.fail()
            #expect(try await page.send("POST", "claim", body) == 201)
        }
    }

    @Test func aSignOutThatCannotBeStoredSignsOutAndSaysWhatARestartWouldDo() async throws {
        let box = Box()
        try await withConsole(keepingIn: { box.wrap($0) }) { page in
            try await claim(page)
            let token = try #require(page.token)
            try box.storage.fail("sessions")
            let answer = try await page.ask("POST", "logout")
            let said = try Page.said(answer)
            #expect(answer.status == 503 && said["code"] as? String == "signed_out_until_restart")
            #expect((said["message"] as? String)?.contains("After a restart") == true)
            #expect(answer.headers["Set-Cookie"]?.hasPrefix("__Host-till=; Path=/; Max-Age=0") == true)
            #expect(page.console.sessions.session(of: token, at: page.clock.wallTime) == nil)
            #expect(try await page.rows().last.map { "\($0.what) \($0.result)" } == "logout not stored")
            // What is stored next stores the end too.
            try box.storage.fail()
            #expect(try await signIn(page) == 200)
            let restarted = Sessions(journal: page.journal)
            try await restarted.load()
            #expect(restarted.session(of: token, at: page.clock.wallTime) == nil)
        }
    }

    // MARK: - The password

    @Test func aNewPasswordNeedsTheOldOneAndSignsEverybodyElseOut() async throws {
        try await withConsole { page in
            try await claim(page)
            let second = page.another()
            #expect(try await signIn(second) == 200)
            let before = try #require(page.token)
            #expect(try await change(page) == 200)
            #expect(page.token != before && page.token != nil, "a new token for the one who changed it")
            #expect(page.console.sessions.session(of: before, at: page.clock.wallTime) == nil)
            #expect(try await isSignedIn(page))
            #expect(try await !isSignedIn(second))
            #expect(try await signIn(second) == 401, "the old password opens nothing")
            #expect(try await signIn(second, Self.other) == 200)
            let rows = try await page.rows().map { "\($0.what) \($0.result)" }
            #expect(rows.contains("password ok") && rows.contains("password.change ok"))
        }
    }

    @Test func othersStaySignedInWhereTheOwnerSaysSo() async throws {
        try await withConsole { page in
            try await claim(page)
            let second = page.another()
            #expect(try await signIn(second) == 200)
            let before = try #require(page.token)
            #expect(try await change(page, Self.password, Self.other, #","signOutOthers":false"#) == 200)
            #expect(try await isSignedIn(second))
            #expect(page.token != before && page.console.sessions.session(of: before, at: page.clock.wallTime) == nil)
        }
    }

    private func change(_ page: Page, _ current: String, _ new: String, _ more: String) async throws -> Int {
        try await change(page, from: current, to: new, more)
    }

    @Test func aBadChangeIsRefusedAtItsFieldAndGuessesAreSlowedDown() async throws {
        try await withConsole { page in
            try await claim(page)
            for (current, new, field) in [
                ("wrong horse battery", Self.other, "currentPassword"), (Self.password, "kite", "newPassword"),
                (Self.password, "Password123", "newPassword"),
            ] {
                let body = #"{"currentPassword":"\#(current)","newPassword":"\#(new)"}"#
                let answer = try await page.ask("PUT", "password", body)
                #expect(answer.status == 422)
                let said = try Page.said(answer)["fields"] as? [String: Any]
                #expect(said?.keys.sorted() == [field])
            }
            for _ in 1..<Throttle.freeTriesOfSession {
                #expect(try await change(page, from: "wrong horse battery") == 422)
            }
            #expect(try await change(page) == 429, "even the right one waits")
            #expect(try await isSignedIn(page))
            #expect(try await signIn(page.another()) == 200, "a session's guesses are its own")
        }
    }

    @Test func ofTwoChangesAtOnceExactlyOneCounts() async throws {
        try await withConsole { page in
            try await claim(page)
            let entrance = page.console.entrance
            let session = try #require(page.console.sessions.list(at: page.clock.wallTime).first)
            let results = await withTaskGroup(of: Result<Void, Problem>.self, returning: [Result<Void, Problem>].self) {
                group in
                for number in 0..<2 {
                    group.addTask {
                        do throws(Problem) {
                            _ = try await entrance.changePassword(
                                from: Self.password,
                                to: "\(Self.other) \(number)",
                                endingOthers: true,
                                of: session,
                                from: "192.168.1.\(number)"
                            )
                            return .success(())
                        } catch { return .failure(error) }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let refused = results.compactMap { if case .failure(let problem) = $0 { problem.reason.code } else { nil } }
            #expect(refused == ["password_changed_meanwhile"])
        }
    }

    @Test func aChangeEndsTheOthersEvenWhereOnlyThePasswordCouldBeStored() async throws {
        let box = Box()
        try await withConsole(keepingIn: { box.wrap($0) }) { page in
            try await claim(page)
            let second = page.another()
            #expect(try await signIn(second) == 200)
            let token = try #require(second.token)
            page.clock.advance(by: .seconds(1))
            try box.storage.fail("sessions")
            #expect(try await change(page) == 200)
            #expect(try await isSignedIn(page))
            // The document of the sessions still has the other one; the password's says that it is over.
            let document = try #require(try await page.journal.document("owner"))
            let owner = try JSONDecoder().decode(Owner.self, from: Data(document.bytes))
            let restarted = Sessions(journal: page.journal)
            try await restarted.load(from: owner.sessionsFrom)
            #expect(restarted.session(of: token, at: page.clock.wallTime) == nil)
            let forgetful = Sessions(journal: page.journal)
            try await forgetful.load()
            #expect(forgetful.session(of: token, at: page.clock.wallTime) != nil, "this is what would have happened")
        }
    }

    @Test func aPasswordThatCouldNotBeStoredIsNotChanged() async throws {
        let box = Box()
        try await withConsole(keepingIn: { box.wrap($0) }) { page in
            try await claim(page)
            let second = page.another()
            #expect(try await signIn(second) == 200)
            try box.storage.fail("owner")
            #expect(try await change(page) == 503)
            #expect(try await isSignedIn(page))
            #expect(try await isSignedIn(second))
            #expect(try await signIn(page.another()) == 200)
        }
    }

    @Test func anOwnerStoredBeforeThereWereSuchChangesIsKnown() throws {
        let hash = try PasswordHash(Self.password)
        let old = try JSONEncoder().encode(hash)
        #expect(try JSONDecoder().decode(Owner.self, from: old) == Owner(password: hash))
        let new = Owner(password: hash, sessionsFrom: 7)
        #expect(try JSONDecoder().decode(Owner.self, from: try JSONEncoder().encode(new)) == new)
    }

    // MARK: - Sessions

    @Test func theOwnersSessionsAreListedAndEndOneByOneOrAllOthers() async throws {
        try await withConsole { page in
            try await claim(page)
            var others: [Page] = []
            for _ in 0..<3 {
                page.clock.advance(by: .seconds(60))
                let other = page.another()
                #expect(try await signIn(other) == 200)
                others.append(other)
            }
            let (ids, own) = try await page.sessions()
            #expect(ids.count == 4 && own.count == 1)
            let answer = try await page.ask("GET", "sessions")
            let first = try #require((try Page.said(answer)["sessions"] as? [[String: Any]])?.first)
            #expect(
                Set(first.keys) == [
                    "id", "role", "name", "browser", "system", "createdAt", "usedAt", "current", "own",
                ],
                "nothing of the token"
            )
            let victim = try #require(try await others[0].sessions().own.first)
            let events = try #require(page.console.sessions.list(at: page.clock.wallTime).first { $0.id == victim })
            #expect(try await page.send("DELETE", "sessions/\(victim)", "") == 200)
            #expect(!page.console.sessions.isAlive(events, at: page.clock.wallTime), "its streams of events end")
            #expect(try await !isSignedIn(others[0]))
            #expect(try await isSignedIn(others[1]))
            #expect(try await page.send("DELETE", "sessions/\(victim)", "") == 404)
            #expect(try await page.send("DELETE", "sessions", "") == 200)
            #expect(try await !isSignedIn(others[1]))
            #expect(try await !isSignedIn(others[2]))
            #expect(try await page.sessions().ids == own)
            let rows = try await page.rows().filter { $0.what == "session.end" }
            #expect(rows.map(\.detail) == [victim, "2 others"] && rows.allSatisfy { $0.result == "ok" })
        }
    }

    @Test func anEndThatCannotBeStoredHoldsUntilTheRestartAndIsSaid() async throws {
        let box = Box()
        try await withConsole(keepingIn: { box.wrap($0) }) { page in
            try await claim(page)
            let second = page.another()
            #expect(try await signIn(second) == 200)
            try box.storage.fail("sessions")
            let answer = try await page.ask("DELETE", "sessions")
            #expect(try Page.said(answer)["code"] as? String == "ended_until_restart" && answer.status == 503)
            #expect(try await !isSignedIn(second))
            #expect(try await isSignedIn(page))
        }
    }
}

/// Gives a test the storage that the console was built with.
final class Box {
    private var made: FailingStorage?

    func wrap(_ journal: Journal) -> any Keeping {
        let storage = FailingStorage(journal)
        made = storage
        return storage
    }

    var storage: FailingStorage { get throws { try #require(made) } }
}
