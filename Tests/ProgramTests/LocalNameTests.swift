import FoundationEssentials
import NIOHTTP1
import Subprocess
import Testing

/// The real terminal asks for its name where others can reach it, and where its configuration does not say otherwise.
@Suite(.timeLimit(.minutes(2)))
struct LocalNameTests {
    private struct Health: Decodable {
        struct Check: Decodable { var part: String, code: String }
        var checks: [Check]
    }

    @Test(arguments: [
        (address: "127.0.0.1", isOn: true, asks: false), ("0.0.0.0", false, false), ("0.0.0.0", true, true),
    ])
    func aNameIsAskedForOnlyWhereItIsOfUse(address: String, isOn: Bool, asks: Bool) async throws {
        try await withTestBed { bed in
            // A bus that is not there: the network that the tests run in hears of no terminal.
            let environment = Environment.inherit.updating([
                "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(bed.folder)/no-bus"
            ])
            try await bed.withTerminal(address: address, hasLocalName: isOn, environment: environment) { terminal in
                let session = try await terminal.claim()
                let health = try await terminal.send(.GET, "/api/v1/health", session).json(Health.self)
                let name = try #require(health.checks.first { $0.part == "name" })
                #expect(
                    (asks ? ["health_name_asking", "health_name_no_bus"] : ["health_name_off"]).contains(name.code)
                )
            }
        }
    }
}
