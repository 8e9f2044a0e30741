import BusTestSupport
import DBus
import Foundation
import Locks
import Testing

@testable import Updates

/// Asking the update service, on a bus with one that stands in for it.
@Suite(.timeLimit(.minutes(1)))
struct InstallerTests {
    private func withInstaller(_ body: (Installer, FakeInstaller) async throws -> Void) async throws {
        try await withPrivateBus { address, _ in
            let fake = try await FakeInstaller(address)
            let bus = try await BusConnection.open(address: address)
            try await body(Installer(bus: bus), fake)
            bus.close()
            fake.bus.close()
        }
    }

    private final class Steps: Sendable {
        let all = Mutex<[UpdateProgress]>([])
    }

    @Test func anUpdateIsFollowedFromItsBeginningToItsEnd() async throws {
        try await withInstaller { installer, fake in
            let steps = Steps()
            try await installer.install("/data/update.raucb") { step in steps.all.withLock { $0.append(step) } }
            #expect(
                steps.all.withLock { $0 } == [
                    UpdateProgress(percent: 0, step: "Installing"),
                    UpdateProgress(percent: 40, step: "Checking bundle"),
                    UpdateProgress(percent: 100, step: "Installing done."),
                ]
            )
            #expect(fake.calls.withLock { $0 } == ["install /data/update.raucb"])
        }
    }

    @Test func aRefusedBundleIsSaidInTheServicesOwnWords() async throws {
        try await withInstaller { installer, _ in
            await #expect(throws: UpdateError.refused(.other, detail: "Bundle version 1 is too old")) {
                try await installer.install("/data/bad.raucb") { _ in }
            }
            await #expect(throws: UpdateError.busy) { try await installer.install("/data/busy.raucb") { _ in } }
        }
    }

    @Test(arguments: ["leaves", "dies"])
    func aServiceThatEndsWhileItInstallsLeavesTheOutcomeOpen(bundle: String) async throws {
        try await withInstaller { installer, _ in
            do throws(UpdateError) {
                try await installer.install("/data/\(bundle).raucb") { _ in }
                Issue.record("it never said that it is done")
            } catch {
                if case .unclear = error {} else { Issue.record("\(error)") }
            }
        }
    }

    // MARK: - What others ask for

    /// What was told, until it is taken.
    private final class Told: Sendable {
        private let state = Mutex((news: [Installer.News](), hasEnded: false))

        func add(_ news: Installer.News) { state.withLock { $0.news.append(news) } }
        func end() { state.withLock { $0.hasEnded = true } }

        /// So many, or as many as came before the end.
        func next(_ count: Int) async throws -> [Installer.News] {
            while true {
                let news = state.withLock { state -> [Installer.News]? in
                    guard state.news.count >= count || state.hasEnded else { return nil }
                    defer { state.news.removeFirst(min(count, state.news.count)) }
                    return Array(state.news.prefix(count))
                }
                if let news { return news }
                try await Task.sleep(for: .milliseconds(2))
            }
        }
    }

    /// Follows on a connection of its own.
    private func withFollower(
        on address: String,
        _ body: (Told, BusConnection) async throws -> Void
    ) async throws {
        let told = Told()
        let bus = try await BusConnection.open(address: address)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // That the bus went away is told, too.
                try? await Installer(bus: bus).follow { told.add($0) }
                told.end()
            }
            try await body(told, bus)
            group.cancelAll()
        }
        bus.close()
    }

    /// From here on nothing of what the service says is missed.
    private func untilHeard(_ fake: FakeInstaller, _ told: Told) async throws {
        try fake.bus.set(["Operation": .string("installing")], of: FakeInstaller.interface, at: .root)
        #expect(try await told.next(1) == [.begun])
        try fake.complete(0)
        #expect(try await told.next(1) == [.done])
    }

    private static let steps: [Installer.News] = [
        .begun, .progress(UpdateProgress(percent: 0, step: "Installing")),
        .progress(UpdateProgress(percent: 40, step: "Checking bundle")),
        .progress(UpdateProgress(percent: 100, step: "Installing done.")),
    ]

    @Test func anInstallationThatAnotherProgramAskedForIsFollowed() async throws {
        try await withPrivateBus { address, _ in
            try await withFollower(on: address) { told, _ in
                let fake = try await FakeInstaller(address)
                try await untilHeard(fake, told)
                let stick = Installer(bus: try await BusConnection.open(address: address))
                try await stick.install("/stick/update.raucb") { _ in }
                #expect(try await told.next(5) == Self.steps + [.done])
                try? await stick.install("/stick/bad.raucb") { _ in }
                let cause = UpdateError.refused(.other, detail: "Bundle version 1 is too old")
                #expect(try await told.next(5) == Self.steps + [.failed(cause)])
                // What never began is not told of.
                try? await stick.install("/stick/busy.raucb") { _ in }
                try await stick.install("/stick/update.raucb") { _ in }
                #expect(try await told.next(5) == Self.steps + [.done])
                fake.bus.close()
            }
        }
    }

    @Test func anInstallationThatGoesOnAlreadyIsFollowedToItsEnd() async throws {
        try await withPrivateBus { address, _ in
            let fake = try await FakeInstaller(address)
            try fake.bus.set(["Operation": .string("installing")], of: FakeInstaller.interface, at: .root)
            try await withFollower(on: address) { told, _ in
                #expect(try await told.next(1) == [.begun])
                try fake.complete(0)
                #expect(try await told.next(1) == [.done])
            }
            fake.bus.close()
        }
    }

    @Test func aServiceOrABusThatGoesAwayEndsWhatWasToldOf() async throws {
        try await withPrivateBus { address, _ in
            try await withFollower(on: address) { told, bus in
                let first = try await FakeInstaller(address)
                try await untilHeard(first, told)
                let stick = Installer(bus: try await BusConnection.open(address: address))
                try? await stick.install("/stick/dies.raucb") { _ in }
                let died = try await told.next(5)
                #expect(died.dropLast() == Self.steps[...])
                #expect(died.last.map(isUnclear) == true, "\(died)")

                let fake = try await FakeInstaller(address)
                try fake.bus.set(["Operation": .string("installing")], of: FakeInstaller.interface, at: .root)
                #expect(try await told.next(1) == [.begun])
                bus.close()
                let end = try await told.next(2)
                #expect(end.count == 1 && isUnclear(end[0]), "\(end)")
                fake.bus.close()
            }
        }
    }

    private func isUnclear(_ news: Installer.News) -> Bool {
        if case .failed(.unclear) = news { true } else { false }
    }

    @Test func aBundleIsLookedAtBeforeItIsInstalled() async throws {
        try await withInstaller { installer, fake in
            let bundle = try await installer.inspect("/data/update.raucb")
            #expect(bundle == Installer.Bundle(compatible: "till-x86-64", version: "1.2.3"))
            do throws(UpdateError) {
                _ = try await installer.inspect("/data/unsigned.raucb")
                Issue.record("it has no signature")
            } catch {
                #expect(
                    error == .refused(.signature, detail: "signature verification failed: [31mno"),
                    "no control characters"
                )
            }
            #expect(fake.calls.withLock { $0 }.isEmpty, "nothing was installed")
        }
    }

    /// What RAUC 1.8 said of bundles that were spoilt on purpose.
    @Test(arguments: [
        ("signature verification failed: Verify error: self-signed certificate", UpdateError.Cause.signature),
        ("Invalid bundle format: Signature size (18226803671471813422) exceeds bundle size", .notWhole),
        ("Invalid bundle format: Failed to seek to end of bundle: Error seeking in file: Invalid argument", .notWhole),
        ("No such file: /var/lib/till/update.upload", .notWhole),
        ("failed to load CA file 'none.pem' and/or directory '(null)'", .nobodyMaySign),
        ("Compatible mismatch: Expected 'till-x86-64' but bundle manifest has 'till-arm64'", .otherMachine),
        ("Installation error: Compatible mismatch: Expected 'till-x86-64' but bundle manifest has 'x'", .otherMachine),
        ("Installation error: Handler error: Child process exited with code 1", .notNewer),
        ("Pre-install handler error: Child process exited with code 1", .notNewer),
        ("Pre-install handler error: Child process exited with code 2", .other),
        ("Failed writing: Input/output error", .other),
    ])
    func theServicesWordsAreUnderstood(words: String, cause: UpdateError.Cause) {
        #expect(UpdateError.Cause(words) == cause)
    }

    @Test func theMachineSaysWhichBundlesAreForIt() async throws {
        try await withInstaller { installer, _ in
            let machine = try await installer.compatible()
            #expect(machine == "till-x86-64")
        }
    }

    @Test func theSlotsSayWhatRunsAndWhatIsGood() async throws {
        try await withInstaller { installer, _ in
            let slots = try await installer.slots()
            #expect(slots.map(\.name) == ["rootfs.0", "rootfs.1", "data.0"])
            #expect(slots.map(\.isRunning) == [true, false, false])
            #expect(slots.map(\.isGood) == [true, false, nil])
            #expect(slots.map(\.version) == ["1.2.2", "", ""])
        }
    }

    /// In the image nothing runs the service until it is asked for: the bus starts it.
    @Test(arguments: ["look", "slots", "machine", "install"])
    func aServiceThatSleepsIsWoken(question: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "till-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // What the bus starts tells this test, which takes the name in its place.
        let (rules, bell) = (folder + "/bus.conf", folder + "/bell")
        let isMade = unsafe mkfifo(bell, 0o600) == 0
        #expect(isMade)
        let service = "[D-BUS Service]\nName=\(FakeInstaller.name)\nExec=/bin/sh -c \"echo woken > \(bell)\"\n"
        try Data(service.utf8).write(to: URL(filePath: folder + "/rauc.service"))
        let settings = """
            <busconfig><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth><servicedir>\(folder)</servicedir>
            <policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_type="signal"/>
            <allow send_requested_reply="true"/><allow receive_sender="*"/></policy></busconfig>
            """
        try Data(settings.utf8).write(to: URL(filePath: rules))

        try await withPrivateBus(rules: "--config-file=\(rules)") { address, _ in
            let bus = try await BusConnection.open(address: address)
            let installer = Installer(bus: bus)
            async let waker = FakeInstaller.comes(at: bell, to: address)
            switch question {
            case "look": #expect(try await installer.inspect("/data/update.raucb").version == "1.2.3")
            case "slots": #expect(try await installer.slots().count == 3)
            case "machine": #expect(try await installer.compatible() == "till-x86-64")
            default: try await installer.install("/data/update.raucb") { _ in }
            }
            try await waker.bus.close()
            bus.close()
        }
    }

    @Test func aMachineWithoutTheServiceSaysSo() async throws {
        try await withPrivateBus { address, _ in
            let installer = Installer(bus: try await BusConnection.open(address: address))
            await #expect(throws: UpdateError.noService) { _ = try await installer.slots() }
            await #expect(throws: UpdateError.noService) { try await installer.install("/data/u.raucb") { _ in } }
        }
    }
}
