import Foundation
import Glibc
import Locks
import Payments
import Testing

@testable import Keypad

/// Devices that come and go, with pipes in their place.
@Suite(.timeLimit(.minutes(1)))
struct KeypadsTests {
    /// A folder of devices. What is opened for writing here is a keypad that is plugged in.
    private final class Bench: Sendable {
        let folder = NSTemporaryDirectory() + "till-keypad-\(UUID().uuidString)"
        let grabs = Mutex(0)
        /// Those that are still plugged in; let go of, they would be unplugged.
        private let plugged = Mutex<[FileHandle]>([])

        init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

        func plug(_ name: String) throws -> FileHandle {
            // Made beside and moved in, as a whole: no reader finds it without its writer.
            let path = "\(folder)/making-\(name)"
            try #require(unsafe mkfifo(path, 0o600) == 0)
            let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
            try #require(descriptor >= 0)
            try FileManager.default.moveItem(atPath: path, toPath: "\(folder)/\(name)")
            let device = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            plugged.withLock { $0.append(device) }
            return device
        }

        func unplug(_ name: String, _ device: FileHandle) throws {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            try device.close()
        }

        /// Returns once all that was typed has been read.
        func waitUntilRead() async throws {
            for device in plugged.withLock({ $0 }) {
                var waiting: Int32 = 1
                while waiting > 0 {
                    try #require(unsafe ioctl(device.fileDescriptor, UInt(FIONREAD), &waiting) == 0)
                    if waiting > 0 { try await Task.sleep(for: .milliseconds(1)) }
                }
            }
        }

        var questions: InputQuestions {
            InputQuestions(
                isKeypad: { _ in true },
                grab: { _ in
                    self.grabs.withLock { $0 += 1 }
                    return true
                },
                keysDown: { _ in [] },
                name: { _ in "pipe" }
            )
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }  // Of a test: a rest does no harm.
    }

    private struct Listener: Sendable {
        let stream: AsyncStream<KeypadEvent>

        func next() async -> KeypadEvent? {
            for await event in stream { return event }
            return nil
        }
    }

    /// Runs a test with a listener, which has to end when it is told to.
    private func listening(
        _ body: (Bench, Listener) async throws -> Void
    ) async throws {
        let bench = try Bench()
        defer { withExtendedLifetime(bench) {} }
        let keypads = Keypads(folder: bench.folder, questions: bench.questions)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await keypads.run() }
            let events = Listener(stream: keypads.events)
            try await body(bench, events)
            group.cancelAll()
            for try await _ in group {}
            while let event = await events.next() { Issue.record("afterwards: \(event)") }
        }
    }

    @Test func aKeypadThatIsPluggedInTypesAndOneThatIsUnpluggedIsMissed() async throws {
        try await listening { bench, events in
            for name in ["event0", "event7"] {  // Unplugged and plugged in again, under another number.
                let device = try bench.plug(name)
                #expect(await events.next() == .connected(name: "pipe"))
                try device.write(contentsOf: Data(Events.typed))
                #expect(await events.next() == .pressed(.digit(7)))
                #expect(await events.next() == .pressed(.digit(5)))
                #expect(await events.next() == .pressed(.enter))
                try bench.unplug(name, device)
                // Half an amount of it is none.
                #expect(await events.next() == .lost)
                #expect(await events.next() == .disconnected)
            }
            #expect(bench.grabs.withLock { $0 } == 2)
        }
    }

    @Test func twoKeypadsTypeBesideEachOther() async throws {
        try await listening { bench, events in
            let one = try bench.plug("event0")
            #expect(await events.next() == .connected(name: "pipe"))
            let two = try bench.plug("event1")
            #expect(await events.next() == .connected(name: "pipe"))
            try one.write(contentsOf: Data(Events.press(79)))
            #expect(await events.next() == .pressed(.digit(1)))
            try two.write(contentsOf: Data(Events.press(80)))
            #expect(await events.next() == .pressed(.digit(2)))
        }
    }

    @Test func whatIsNoDeviceIsLeftAlone() async throws {
        try await listening { bench, events in
            try Data("text".utf8).write(to: URL(fileURLWithPath: bench.folder + "/event3"))
            try FileManager.default.createDirectory(atPath: bench.folder + "/event4", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: bench.folder + "/event5",
                withDestinationPath: "/dev/zero"
            )
            let other = try bench.plug("mouse0")
            let device = try bench.plug("event6")
            #expect(await events.next() == .connected(name: "pipe"))
            try device.write(contentsOf: Data(Events.press(79)))
            #expect(await events.next() == .pressed(.digit(1)))
            #expect(bench.grabs.withLock { $0 } == 1)
            try other.close()
        }
    }

    /// Nobody takes the keys for a while: the first ones are kept, and that others are missing is said before what follows.
    @Test func keysThatNobodyTakesAreLostAndItIsSaid() async throws {
        try await listening { bench, events in
            var devices: [FileHandle] = []
            // More devices than one, so that no single one is muted.
            for index in 0..<8 { devices.append(try bench.plug("event\(index)")) }
            while bench.grabs.withLock({ $0 }) < 8 { try await Task.sleep(for: .milliseconds(5)) }
            for _ in 0..<9 { for device in devices { try device.write(contentsOf: Data(Events.press(79))) } }
            try await bench.waitUntilRead()
            var taken: [KeypadEvent] = []
            while taken.count < 64, let event = await events.next() { taken.append(event) }
            #expect(!taken.contains(.lost))
            try devices[0].write(contentsOf: Data(Events.press(80)))
            #expect(await events.next() == .lost)
            #expect(await events.next() == .pressed(.digit(2)))
        }
    }

    /// 10 000 keys a second: no key gets through after the first ones, and the keypad beside it works.
    @Test func aFloodOfOneDeviceDoesNotDrownAnother() async throws {
        try await listening { bench, events in
            let hostile = try bench.plug("event0")
            #expect(await events.next() == .connected(name: "pipe"))
            let good = try bench.plug("event1")
            #expect(await events.next() == .connected(name: "pipe"))
            try hostile.write(contentsOf: Data((0..<400).flatMap { _ in Events.press(79) }))
            var seen: [KeypadEvent] = []
            while let event = await events.next() {
                seen.append(event)
                if event == .lost { break }
            }
            #expect(seen.count <= 12)
            try good.write(contentsOf: Data(Events.press(80)))
            #expect(await events.next() == .pressed(.digit(2)))
        }
    }
}
