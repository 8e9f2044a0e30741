import Foundation
import Subprocess
import Testing

struct BenchmarkTests {
    /// What the journal is compared with writes the same tables, also after they have changed.
    @Test func theComparisonWritesTheTablesThatTheJournalHas() async throws {
        let folder = NSTemporaryDirectory() + "till-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }  // Of a test: a rest does no harm.
        let result = try await run(
            .path(Writer.program),
            arguments: [folder, "1"],
            output: .string(limit: 10_000),
            error: .string(limit: 10_000)
        )
        #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
        let lines = result.standardOutput.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("journal, ") && $0.contains("ratio") }.count == 2, "\(lines)")
    }
}
