import CClock
import Foundation

/// Whether the machine's clock was set by somebody who knows the time.
enum MachineClock {
    /// True where the kernel hears the time from outside, or took it from a clock with a battery when it started.
    ///
    /// Changes while the program runs: a terminal that has just started may not know the time yet.
    /// - Parameters:
    ///   - kernel: What the kernel says of its clock.
    ///   - clocks: Where the kernel shows its clocks with a battery.
    /// Source: adjtimex(2), `TIME_ERROR`; Linux, Documentation/ABI/testing/sysfs-class-rtc, `hctosys`.
    static func isSet(kernel: () -> Int32 = kernelState, clocks: String = "/sys/class/rtc") -> Bool {
        if (0..<TIME_ERROR).contains(kernel()) { return true }
        return (0..<4).contains { number in
            let word = FileManager.default.contents(atPath: "\(clocks)/rtc\(number)/hctosys")
            return word?.first == UInt8(ascii: "1")
        }
    }

    /// Asks only; changes nothing.
    static func kernelState() -> Int32 {
        var state = timex()
        return unsafe adjtimex(&state)
    }
}
