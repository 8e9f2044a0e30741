import Avahi
import Foundation
import Glibc
import Subprocess
import Testing

/// The terminal's name as Avahi itself publishes it, asked for from another machine of the same network.
@Suite(.timeLimit(.minutes(4)))
struct RealAvahiTests {
    private static let name = LocalName(identity: [0x12, 0x34, 0x56, 0x78])

    @Test(.enabled(if: TwoMachines.isPossible, "needs root, and avahi-daemon, avahi-utils and iproute2 of Debian"))
    func anotherMachineFindsTheTerminalAndASecondTerminalTakesTheNextName() async throws {
        try await TwoMachines.with { shop, other, ask in
            let terminal = Self.publisher(shop)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await terminal.run(port: 8443) }
                await Self.wait(terminal) { $0.host != nil }
                #expect(terminal.standing.host == Self.name.host(1))
                #expect(try await ask("avahi-resolve -4 -n \(Self.name.host(1))").hasSuffix("\t\(shop.address)"))
                let services = try await ask("avahi-browse -rpt _https._tcp")
                #expect(services.contains(";\(Self.name.host(1));\(shop.address);8443;"), "\(services)")
                #expect(services.contains("\"path=/\"") && services.contains("\"api=/api/v1\""), "\(services)")
                #expect(
                    try await ask("avahi-resolve -4 -n shop.local").hasSuffix("\t\(shop.address)"),
                    "its own name stays"
                )

                let second = Self.publisher(other)
                group.addTask { await second.run(port: 8443) }
                await Self.wait(second) { $0.host != nil }
                #expect(second.standing.host == Self.name.host(2), "one name is never two terminals'")
                #expect(terminal.standing.host == Self.name.host(1))
                #expect(try await ask("avahi-resolve -4 -n \(Self.name.host(2))").hasSuffix("\t\(other.address)"))
                group.cancelAll()
            }
            // From memory alone it would be answered for two minutes: Avahi has told the network that it is gone.
            let start = ContinuousClock.now
            while try await !ask("avahi-resolve -4 -n \(Self.name.host(1))").contains("Failed to resolve") {}
            #expect(start.duration(to: .now) < .seconds(100))
        }
    }

    private static func publisher(_ machine: TwoMachines.Machine) -> NamePublisher {
        NamePublisher(
            name: name,
            addresses: { [LocalAddress(interface: machine.interface, text: machine.address)] },
            busAddress: machine.bus,
            sleep: { try await Task.sleep(for: $0) }
        )
    }

    private static func wait(_ publisher: NamePublisher, until isSo: (NameStanding) -> Bool) async {
        for await standing in publisher.standings() where isSo(standing) { return }
    }
}

/// Two machines with one cable between them, in namespaces of their own.
enum TwoMachines {
    struct Machine {
        let bus: String
        let interface: Int32
        let address: String
    }

    static var isPossible: Bool {
        geteuid() == 0
            && ["/usr/sbin/avahi-daemon", "/usr/bin/avahi-resolve", "/usr/sbin/ip", "/usr/bin/unshare"]
                .allSatisfy(FileManager.default.isExecutableFile)
    }

    /// - Parameter body: Gets the terminal's machine, the other one, and what runs a command on that one.
    static func with(
        _ body: (_ shop: Machine, _ other: Machine, _ ask: (String) async throws -> String) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "/till-network-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "network").path
        _ = try await run(
            .name("unshare"),
            arguments: ["--net", "--mount", "--pid", "--fork", "--kill-child", script, folder],
            input: .inputWriter,
            output: .sequence,
            error: .discarded
        ) { network in
            var lines = network.standardOutput.strings().makeAsyncIterator()
            let ready = try #require(await lines.next()).split(whereSeparator: \.isWhitespace).map(String.init)
            try #require(ready.count == 5 && ready[0] == "ready")
            let shop = Machine(bus: "unix:path=\(folder)/shop.bus", interface: Int32(ready[1]) ?? 0, address: ready[2])
            let other = Machine(
                bus: "unix:path=\(folder)/phone.bus",
                interface: Int32(ready[3]) ?? 0,
                address: ready[4]
            )
            try await body(shop, other) { command in
                _ = try await network.standardInputWriter.write(command + "\n")
                return try #require(await lines.next()).trimmingCharacters(in: .whitespacesAndNewlines)
            }
            await network.teardown(using: [.gracefulShutDown(allowedDurationToNextStep: .milliseconds(200))])
        }
    }
}
