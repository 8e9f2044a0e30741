import Foundation
import Glibc
import Supervision
import Testing

/// What the service manager hears, on a real socket.
struct ServiceManagerTests {
    @Test(arguments: ["READY=1", "two\nlines"]) func itIsToldAtOnceAndInOneMessage(words: String) throws {
        let ear = try Ear(abstract: false)
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": ear.address]))
        try manager.tell(.ready, .status(words))
        #expect(ear.hears() == "READY=1\nSTATUS=\(words.replacing("\n", with: " "))")
    }

    @Test func aNameThatIsInNoFolderIsFoundToo() throws {
        let ear = try Ear(abstract: true)
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": ear.address]))
        try manager.tell(.alive)
        #expect(ear.hears() == "WATCHDOG=1")
        try manager.tell(.stopping)
        #expect(ear.hears() == "STOPPING=1")
    }

    @Test func withoutAManagerThereIsNobodyToTell() {
        #expect(ServiceManager(environment: [:]) == nil)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": ""]) == nil)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": "relative/name"]) == nil)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)]) == nil)
    }

    @Test func theWatchdogIsOnlyForTheProcessThatItNames() {
        func watchdog(_ more: [String: String]) -> Duration? {
            ServiceManager(environment: more.merging(["NOTIFY_SOCKET": "/run/n"]) { first, _ in first }, process: 7)?
                .watchdog
        }
        #expect(watchdog(["WATCHDOG_USEC": "30000000"]) == .seconds(30))
        #expect(watchdog(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"]) == .seconds(30))
        #expect(watchdog(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"]) == nil)
        #expect(watchdog(["WATCHDOG_USEC": "0"]) == nil)
        #expect(watchdog(["WATCHDOG_USEC": "soon"]) == nil)
        #expect(watchdog([:]) == nil)
    }

    @Test func aManagerThatIsGoneIsSaidAndHoldsNothingUp() throws {
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": "/nonexistent/notify"]))
        #expect(throws: ServiceManager.SendError.self) { try manager.tell(.ready) }
    }

    @Test func aManagerThatDoesNotReadHoldsNothingUp() throws {
        let ear = try Ear(abstract: false)
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": ear.address]))
        // The socket's room is bounded: the kernel refuses what does not fit, and nobody waits.
        #expect(throws: ServiceManager.SendError.self) {
            for _ in 0..<100_000 { try manager.tell(.alive) }
        }
    }
}

/// The manager's end of the socket.
private final class Ear: Sendable {
    let address: String
    private let descriptor: Int32

    init(abstract isAbstract: Bool) throws {
        let name = "\(NSTemporaryDirectory())/notify-\(UUID().uuidString.prefix(8))"
        address = isAbstract ? "@" + name : name
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var own = sockaddr_un()
        own.sun_family = sa_family_t(AF_UNIX)
        let path = isAbstract ? [0] + Array(name.utf8) : Array(name.utf8)
        unsafe withUnsafeMutableBytes(of: &own.sun_path) { room in unsafe room.copyBytes(from: path) }
        let length = socklen_t(try #require(MemoryLayout.offset(of: \sockaddr_un.sun_path)) + path.count)
        let status = unsafe withUnsafePointer(to: &own) { own in
            unsafe own.withMemoryRebound(to: sockaddr.self, capacity: 1) { own in unsafe bind(descriptor, own, length) }
        }
        try #require(status == 0)
    }

    deinit {
        close(descriptor)
        if !address.hasPrefix("@") { unsafe unlink(address) }
    }

    /// The next message; empty where there is none.
    func hears() -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
