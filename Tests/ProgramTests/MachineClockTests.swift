import Foundation
import Payments
import Terminal
import Testing

@testable import till

/// Whether the terminal knows the time.
struct MachineClockTests {
    private static let built = WallTime(millisecondsSince1970: 1_764_000_000_000)

    /// - Parameters:
    ///   - late: How much later it is by the machine's clock than when the program was built.
    ///   - batteryLate: The same by the clock with a battery, where that is another time.
    private func isSet(
        kernel: Int32,
        battery: String?,
        late: Duration = .seconds(1),
        batteryLate: Duration? = nil
    ) throws -> Bool {
        let folder = NSTemporaryDirectory() + "/clocks-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/rtc0", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try battery.map { try Data($0.utf8).write(to: URL(filePath: folder + "/rtc0/hctosys")) }
        let seconds = Self.built.advanced(by: batteryLate ?? late).secondsSince1970
        try Data("\(seconds)\n".utf8).write(to: URL(filePath: folder + "/rtc0/since_epoch"))
        return MachineClock.isSet(
            kernel: { kernel },
            clocks: folder,
            now: Self.built.advanced(by: late),
            notBefore: Self.built,
            notAfter: Self.built.advanced(by: .seconds(700_000_000))
        )
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

    /// Its battery was empty: it begins again in the past, where vouchers that have ended would still hold.
    @Test func aClockWithABatteryThatIsBehindWhatHasHappenedIsNotTrustedUntilTheTimeIsHeard() throws {
        #expect(try !isSet(kernel: 5, battery: "1\n", late: .seconds(-1)))
        #expect(try !isSet(kernel: 5, battery: "1\n", late: .seconds(-800_000_000)))
        #expect(try isSet(kernel: 5, battery: "1\n", late: .zero))
        #expect(try isSet(kernel: 0, battery: "1\n", late: .seconds(-1)))
        // The system has set its own clock, to where it stood when the power went.
        #expect(try !isSet(kernel: 5, battery: "1\n", batteryLate: .seconds(-800_000_000)))
        #expect(try !isSet(kernel: 5, battery: "1\n", batteryLate: .seconds(2_300_000_000)), "2100")
        #expect(try isSet(kernel: 5, battery: "1\n", batteryLate: .seconds(-12 * 3600)), "it keeps the local time")
    }

    /// One that says 2100 would have every certificate end, and the terminal's own made anew.
    @Test func aClockWithABatteryThatIsDecadesAheadIsNotTrustedUntilTheTimeIsHeard() throws {
        #expect(try isSet(kernel: 5, battery: "1\n", late: .seconds(700_000_000)))
        #expect(try !isSet(kernel: 5, battery: "1\n", late: .seconds(700_000_001)))
        #expect(try isSet(kernel: 0, battery: "1\n", late: .seconds(2_000_000_000)))
        let years = WallTime.now.duration(to: MachineClock.latest).components.seconds / (366 * 86_400)
        #expect((1...20).contains(years), "the program's own limit lies \(years) years ahead")
    }

    @Test func theProgramKnowsWhenItWasBuilt() throws {
        let file = NSTemporaryDirectory() + "/built-\(UUID().uuidString)"
        try Data().write(to: URL(filePath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let made = Date(timeIntervalSince1970: 1_700_000_000)
        try FileManager.default.setAttributes([.modificationDate: made], ofItemAtPath: file)
        #expect(MachineClock.builtAt(file) == WallTime(millisecondsSince1970: 1_700_000_000_000))
        #expect(MachineClock.builtAt(file + ".none") == nil)
        #expect(try #require(MachineClock.builtAt()) > WallTime(millisecondsSince1970: 1_700_000_000_000))
    }

    @Test func theKernelAnswers() {
        #expect((-1...5).contains(MachineClock.kernelState()))
    }

    /// A shop without a time server whose clock is right is not told that its clock is to blame for a wrong certificate.
    @Test func aCertificateIsJudgedByAClockThatCanBeRight() {
        let built = WallTime(millisecondsSince1970: 1_790_000_000_000)
        func isPlausible(_ days: Int64, state: Int32 = 5) -> Bool {
            MachineClock.isPlausible(
                now: built.advanced(by: .seconds(days * 86_400)),
                kernel: { state },
                builtAt: built,
                latest: built.advanced(by: .seconds(7000 * 86_400))
            )
        }
        #expect(isPlausible(1) && isPlausible(6999))
        #expect(!isPlausible(-1) && !isPlausible(-20_000), "1970, or the day before the program was built")
        #expect(!isPlausible(7001), "2100")
        #expect(isPlausible(-1, state: 0), "somebody who knows has set it")
    }
}
