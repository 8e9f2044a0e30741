import Foundation
import Journal
import Locks
import Logging
import Payments
import TerminalTestSupport
import Testing
import TestSupport

@testable import Console
@testable import Terminal

/// A new version that comes in without any page: what the terminal shows and keeps of what others have installed.
@Suite(.timeLimit(.minutes(2)))
struct StickUpdateTests {
    private static let newer = "0.10.0-20261120000000"
    private static let amount = Money(minorUnits: 100, currency: .euro)

    private func until(_ page: Page, _ isSo: (SystemUpdate?) -> Bool) async {
        for await snapshot in await page.desk.snapshots() where isSo(snapshot.update) { return }
    }

    private func state(_ page: Page) async throws -> [String: Any] {
        try Page.said(try await page.ask("GET", "update", ""))
    }

    /// What the audit log says of updates.
    private func rows(_ page: Page) async throws -> [String] {
        try await page.rows().filter { $0.what.hasPrefix("update") }.map { "\($0.what) \($0.result) \($0.detail)" }
    }

    @Test func aStickThatNeedsNoPageIsShownAndKeptLikeAnUpdateFromThePage() async throws {
        let (updates, folder) = (FakeUpdates(), try TemporaryFolder())
        try await withConsole(updates: updates, in: folder) { page in
            _ = try await Program.shop(page)
            updates.others.continuation.yield(.begun)
            await until(page) { $0 == .installing(version: "", percent: 0) }
            await #expect(throws: ChargeRefusal.updating) {
                try await page.desk.open(ChargeRequest(amount: Self.amount, by: .keypad))
            }
            updates.others.continuation.yield(.written(percent: 40))
            await until(page) { $0 == .installing(version: "", percent: 40) }
            let now = try await state(page)
            #expect(now["phase"] as? String == "installing" && now["percent"] as? Int == 40)
            #expect(try await page.send("POST", "update", #"{"bytes":5}"#) == 409, "one at a time")
            updates.others.continuation.yield(.installed(version: Self.newer))
            await until(page) { $0 == .restarting(version: Self.newer) }
            #expect(
                try await rows(page) == [
                    "update begun from a USB stick", "update ok \(Self.newer) from a USB stick",
                ]
            )
        }
        let next = FakeUpdates()
        next.state.withLock { ($0.version, $0.start) = (Self.newer, "second start") }
        try await withConsole(updates: next, in: folder) { page in
            await until(page) { $0 == .updated(version: Self.newer) }
            let last = try await rows(page).last
            #expect(last == "update.result ok \(Self.newer)")
        }
    }

    @Test(arguments: [
        (UpdateFault.signature, SystemUpdate.Refusal.signature, "update_signature"),
        (.notWhole, .notWhole, "update_not_whole"), (.otherMachine, .otherMachine, "update_other_machine"),
        (.nobodyMaySign, .nobodyMaySign, "update_nobody_may_sign"), (.notNewer, .notNewer, "update_not_newer"),
        (.refused(detail: "no space"), .failed, "update_refused"),
        (.unclear(detail: "it ended"), .failed, "update_unclear"),
    ])
    func whatIsRefusedIsSaidOnTheScreenAndThePage(
        fault: UpdateFault,
        refusal: SystemUpdate.Refusal,
        code: String
    ) async throws {
        let updates = FakeUpdates()
        try await withConsole(updates: updates) { page in
            _ = try await Program.shop(page)
            updates.others.continuation.yield(.begun)
            updates.others.continuation.yield(.written(percent: 40))
            updates.others.continuation.yield(.failed(fault))
            await until(page) { $0 == .refused(refusal) }
            #expect(
                try await rows(page) == ["update begun from a USB stick", "update failed from a USB stick \(code)"]
            )
            let now = try await state(page)
            #expect((now["problem"] as? [String: Any])?["code"] as? String == code)
            #expect(now["phase"] as? String == "idle" && now["last"] is NSNull, "nothing was installed")
            _ = try await page.desk.open(ChargeRequest(amount: Self.amount, by: .keypad))
        }
        #expect(updates.state.withLock { $0.restarts } == 0)
    }

    // MARK: - Time

    /// Runs a desk whose time the test makes pass, on a terminal that takes charges.
    private func withDesk(
        _ updates: FakeUpdates,
        after installed: String? = nil,
        _ body: (Page, CustomerShop, ManualClock) async throws -> Void
    ) async throws {
        try await withConsole { page in
            let shop = try await Program.shop(page)
            if let installed {
                let record = #"{"version":"\#(installed)","from":"0.9.0","start":"before","at":0,"stage":"installed"}"#
                _ = try await page.journal.setDocument(
                    "update",
                    Array(record.utf8),
                    expecting: .any,
                    by: .terminal,
                    at: page.clock.wallTime
                )
            }
            let clock = ManualClock()
            let desk = UpdateDesk(
                service: updates,
                folder: page.folder,
                journal: page.journal,
                desk: page.desk,
                clock: clock.terminalClock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            try await desk.load()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await desk.run() }
                try await body(page, shop, clock)
                group.cancelAll()
            }
        }
    }

    private func untilSleeping(for duration: Duration, at clock: ManualClock) async throws {
        while !clock.hasSleeper(for: duration) { try await Task.sleep(for: .milliseconds(2)) }
    }

    private func wait(for duration: Duration, at clock: ManualClock) async throws {
        try await untilSleeping(for: duration, at: clock)
        clock.advance(by: duration)
    }

    @Test func theScreenSaysForAMinuteWhyNothingWasInstalled() async throws {
        let updates = FakeUpdates()
        try await withDesk(updates) { page, _, clock in
            updates.others.continuation.yield(.begun)
            updates.others.continuation.yield(.failed(.notWhole))
            await until(page) { $0 == .refused(.notWhole) }
            try await wait(for: .seconds(60), at: clock)
            await until(page) { $0 == nil }
        }
    }

    /// What is charged before it has passed keeps the version before from going on with its own record.
    @Test func aVersionThatHasNotPassedItsSelfTestTakesNoChargeForTwoMinutes() async throws {
        let updates = FakeUpdates()
        updates.state.withLock { ($0.version, $0.good) = (Self.newer, false) }
        try await withDesk(updates, after: Self.newer) { page, _, clock in
            await until(page) { $0 == .trying(version: Self.newer) }
            for _ in 0..<23 { try await wait(for: .seconds(5), at: clock) }
            #expect(await page.desk.snapshot.update?.holdsTerminal == true)
            try await wait(for: .seconds(5), at: clock)
            await until(page) { $0 == nil }
            // It is still asking whether the version is good: what it hears next is for after its sleep.
            try await untilSleeping(for: .seconds(5), at: clock)
            updates.state.withLock { $0.good = true }
            clock.advance(by: .seconds(5))
            await until(page) { $0 == .updated(version: Self.newer) }
        }
    }

    /// Whoever installed starts the machine anew. A stick that was pulled out does not: then the terminal does, in its time.
    @Test(arguments: [true, false])
    func anOpenChargeHoldsUpTheStartWithWhatWasInstalledButNotForEver(isPaid: Bool) async throws {
        let updates = FakeUpdates()
        try await withDesk(updates) { page, shop, clock in
            let charge = try await shop.offered()
            updates.others.continuation.yield(.begun)
            updates.others.continuation.yield(.installed(version: Self.newer))
            await until(page) { $0 == .restarting(version: Self.newer) }
            for _ in 0..<3 { try await wait(for: .seconds(1), at: clock) }
            if isPaid {
                try await shop.pay(charge)
                try await wait(for: .seconds(1), at: clock)
            } else {
                for _ in 3..<600 { try await wait(for: .seconds(1), at: clock) }
            }
            #expect(updates.state.withLock { $0.restarts } == 0)
            try await wait(for: .seconds(30), at: clock)
            while updates.state.withLock({ $0.restarts }) == 0 { try await Task.sleep(for: .milliseconds(2)) }
        }
    }
}
