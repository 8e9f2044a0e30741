@testable import Journal
import Payments
import Testing
import TestSupport

/// Names of charges by which a terminal knows its own.
struct ChargeMarkTests {
    @Test func aTerminalKnowsTheNamesThatItMadeAndNoOthers() async throws {
        let (own, other) = (ChargeMark(Array(repeating: 7, count: 32)), ChargeMark(Array(repeating: 8, count: 32)))
        var generator = SeededGenerator(seed: 1)
        var names: Set<ChargeID> = []
        for number in 0..<2000 {
            let id = own.chargeID(at: .example.advanced(by: .milliseconds(number / 500)), using: &generator)
            #expect(ChargeID(id.rawValue) != nil && own.made(id.compact) && !other.made(id.compact))
            #expect(ChargeID.of(compact: id.compact) == id)
            names.insert(id)
            #expect(!own.made(ChargeID(at: .example, using: &generator).compact))
        }
        #expect(names.count == 2000)
        for name in ["", "A 4711", String(repeating: "0", count: 32), String(repeating: "é", count: 32)] {
            #expect(!own.made(name))
        }
    }

    @Test func theMarkStaysOverRestartsAndIsPrintedNowhere() async throws {
        let folder = try TemporaryFolder()
        var journal = try folder.open()
        let mark = try await journal.chargeMark(at: .example)
        var generator = SeededGenerator(seed: 2)
        let id = mark.chargeID(at: .example, using: &generator)
        try journal.close()
        journal = try folder.open()
        let again = try await journal.chargeMark(at: .example)
        #expect(again.made(id.compact))
        #expect("\(mark)" == "redacted" && String(reflecting: mark) == "redacted")
    }
}
