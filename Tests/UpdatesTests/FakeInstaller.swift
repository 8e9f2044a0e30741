import DBus
import Locks
import Subprocess
import Testing

/// Stands in for RAUC on a bus: speaks its interface, and does with a bundle what its name says.
final class FakeInstaller: Sendable {
    static let name = "de.pengutronix.rauc"
    static let interface = "de.pengutronix.rauc.Installer"
    let bus: BusConnection
    /// What it was asked to do, in order.
    let calls = Mutex<[String]>([])

    init(_ address: String) async throws {
        bus = try await BusConnection.open(address: address)
        let install = ExportedMethod(takes: "sa{sv}") { [weak self] call in self?.install(call) }
        let info = ExportedMethod(takes: "s", returns: "ss") { call in
            let path = call.arguments.first?.text ?? ""
            guard !path.contains("unsigned") else {
                return call.refuse(
                    "org.gtk.GDBus.UnmappedGError.Quark",
                    "signature verification failed: \u{1B}[31mno\n"
                )
            }
            call.answer([.string("till-x86-64"), .string("1.2.3\n")])
        }
        let slots = ExportedMethod(returns: "a(sa{sv})") { call in
            func slot(_ name: String, _ facts: [String: String]) -> BusValue {
                .structure([.string(name), .properties(facts.mapValues(BusValue.string))])
            }
            let rows = [
                slot(
                    "rootfs.0",
                    ["bootname": "A", "state": "booted", "boot-status": "good", "bundle.version": "1.2.2"]
                ),
                slot("rootfs.1", ["bootname": "B", "state": "inactive", "boot-status": "bad"]),
                slot("data.0", ["state": "active"]),
            ]
            call.answer([.array(of: rows[0].type, rows)])
        }
        let exported = ExportedInterface(
            Self.interface,
            methods: ["InstallBundle": install, "Info": info, "GetSlotStatus": slots],
            properties: [
                "LastError": .string(""), "Compatible": .string("till-x86-64"), "Operation": .string("idle"),
                "Progress": .structure([.int32(0), .string(""), .int32(1)]),
            ]
        )
        try bus.export([exported], at: .root)
        try await bus.own(Self.name)
    }

    /// Comes once somebody rings.
    static func comes(at bell: String, to address: String) async throws -> FakeInstaller {
        let ring = try await run(.name("cat"), arguments: [bell], output: .string(limit: 100), error: .discarded)
        #expect(ring.standardOutput == "woken\n")
        return try await FakeInstaller(address)
    }

    /// Says that an installation is over.
    func complete(_ result: Int32) throws {
        try bus.emit(path: .root, interface: Self.interface, member: "Completed", [.int32(result)])
        try bus.set(["Operation": .string("idle")], of: Self.interface, at: .root)
    }

    private func note(_ call: String) { calls.withLock { $0.append(call) } }

    private func install(_ call: MethodCall) {
        let path = call.arguments.first?.text ?? ""
        note("install \(path)")
        if path.contains("busy") {
            return call.refuse("org.gtk.GDBus.UnmappedGError.Quark", "Already processing a different method")
        }
        let fails = path.contains("bad")
        do {
            // In the order of RAUC 1.8.
            try bus.set(["Operation": .string("installing")], of: Self.interface, at: .root)
            try bus.set(["LastError": .string("")], of: Self.interface, at: .root)
            for (percent, words) in [(0, "Installing"), (40, "Checking bundle\u{7}"), (100, "Installing done.")] {
                try bus.set(
                    ["Progress": .structure([.int32(Int32(percent)), .string(words), .int32(1)])],
                    of: Self.interface,
                    at: .root
                )
            }
            if fails {
                try bus.set(["LastError": .string("Bundle version 1 is too old\n")], of: Self.interface, at: .root)
            }
            // Before the answer: whoever begins to listen after it is too late.
            if path.contains("dies") { return bus.close() }
            if path.contains("leaves") {
                call.answer()
                return bus.close()
            }
            try complete(fails ? 1 : 0)
            call.answer()
        } catch { Issue.record(error) }
    }
}
