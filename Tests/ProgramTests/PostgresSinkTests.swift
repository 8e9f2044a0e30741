import Console
import Postgres
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
}
