import Foundation
import Testing

@testable import till

/// Whether the terminal knows the time.
struct MachineClockTests {
    private func isSet(kernel: Int32, battery: String?) throws -> Bool {
        let folder = NSTemporaryDirectory() + "/clocks-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/rtc0", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try battery.map { try Data($0.utf8).write(to: URL(filePath: folder + "/rtc0/hctosys")) }
        return MachineClock.isSet(kernel: { kernel }, clocks: folder)
    }

    /// Source: adjtimex(2): 0 to 4 is a clock that is kept in step, 5 one that is not, -1 an error.
    @Test func aClockThatNobodyHasSetIsNotTrusted() throws {
        #expect(try isSet(kernel: 0, battery: nil))
        #expect(try isSet(kernel: 4, battery: nil))
        #expect(try !isSet(kernel: 5, battery: nil))
        #expect(try !isSet(kernel: -1, battery: nil))
        #expect(try isSet(kernel: 5, battery: "1\n"))
        #expect(try !isSet(kernel: 5, battery: "0\n"))
    }

    @Test func theKernelAnswers() {
        #expect((-1...5).contains(MachineClock.kernelState()))
    }
}
