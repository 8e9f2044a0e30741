import Console
import Postgres
import Subprocess
import SystemPackage
import Testing

@testable import till

/// What the owner reads of the operator's database.
struct PostgresSinkTests {
    @Test(
        arguments: [
            (PostgresFault.unreachable, EventFault.Kind.unreachable, ""), (.silent, .unreachable, ""),
            (.broken, .unreachable, ""), (.noTLS, .plain, ""), (.certificate, .certificate, ""),
            (.otherName, .certificate, ""), (.authorities, .authorities, ""), (.password, .password, ""),
            (.notAllowed, .password, ""), (.noDatabase, .table, ""), (.noTable, .table, ""), (.noRight, .table, ""),
            (.refused("23514"), .refused, "23514"), (.noLibrary, .refused, "libpq5"),
        ]
    )
    func eachFaultHasItsWords(fault: PostgresFault, kind: EventFault.Kind, code: String) {
        let said = EventFault(fault)
        #expect(said.kind == kind && said.code == code)
    }

    /// Its libraries would be in the memory of every terminal.
    @Test func aTerminalWithoutADatabaseDoesNotCarryItsLibrary() async throws {
        let result = try await run(
            .name("ldd"),
            arguments: [Programs.directory.appending("till").string],
            output: .string(limit: 65536)
        )
        #expect(result.terminationStatus.isSuccess && result.standardOutput.contains("libmicrohttpd"))
        for name in ["libpq", "libldap", "libkrb5"] { #expect(!result.standardOutput.contains(name)) }
    }
}
