import CClock
import Foundation
import Payments

/// Whether the machine's clock was set by somebody who knows the time.
enum MachineClock {
    /// True where the kernel hears the time from outside, or took it from a clock with a battery when it started and that
    /// clock is later than everything that has certainly happened, and not later than anybody still runs this program.
    ///
    /// A clock whose battery is empty begins again years ago, and vouchers that ended long since would be in time by it. Some
    /// systems set their own clock to where it stood when the power went then, and where the battery's runs far ahead: it is
    /// looked at itself. One that runs on but is late by minutes passes: the profile forgives ten. What has happened is taken
    /// as it was when the program started: what is written later bears this clock's own time. Changes while the program
    /// runs: a terminal that has just started may not know the time yet.
    /// - Parameters:
    ///   - kernel: What the kernel says of its clock.
    ///   - clocks: Where the kernel shows its clocks with a battery.
    ///   - now: By the machine's clock.
    ///   - earliest: The newest of what has certainly happened: the program was built, the journal was written.
    ///   - latest: What is later is a clock that runs wild, such as one that says 2100.
    /// Source: adjtimex(2), `TIME_ERROR`; Linux, Documentation/ABI/testing/sysfs-class-rtc, `hctosys`, `since_epoch`; BPP/1, sections 7.4
    /// and 16.
    static func isSet(
        kernel: () -> Int32 = kernelState,
        clocks: String = "/sys/class/rtc",
        now: WallTime,
        notBefore earliest: WallTime,
        notAfter latest: WallTime = latest
    ) -> Bool {
        if isSynchronised(kernel: kernel) { return true }
        guard now >= earliest, now <= latest else { return false }
        return (0..<4).contains { number in
            let folder = "\(clocks)/rtc\(number)"
            guard FileManager.default.contents(atPath: folder + "/hctosys")?.first == UInt8(ascii: "1"),
                let word = FileManager.default.contents(atPath: folder + "/since_epoch"),
                let seconds = Int64(String(decoding: word, as: UTF8.self).prefix { $0.isNumber })
            else { return false }
            // It is what the kernel took. Some keep the local time.
            return abs(seconds - now.secondsSince1970) < 86_400
        }
    }

    /// True where the kernel hears the time from outside.
    static func isSynchronised(kernel: () -> Int32 = kernelState) -> Bool { (0..<TIME_ERROR).contains(kernel()) }

    /// Whether a certificate may be judged by the machine's clock: the kernel hears the time from outside, or the clock
    /// stands after the program was built and not after anybody still runs it. Elsewhere than in 1970 a certificate that is
    /// not believed is rather the certificate's fault.
    static func isPlausible(
        now: WallTime,
        kernel: () -> Int32 = kernelState,
        builtAt: WallTime?,
        latest: WallTime = latest
    ) -> Bool {
        isSynchronised(kernel: kernel) || builtAt.map { now >= $0 && now <= latest } ?? false
    }

    /// Twenty years after this program was built: no terminal goes so long without an update.
    static let latest =
        builtAt()?.advanced(by: .seconds(20 * 366 * 86_400)) ?? WallTime(millisecondsSince1970: .max)

    /// When this program was built or installed, whichever is later: its file's time. Nil where that cannot be read.
    static func builtAt(_ file: String = "/proc/self/exe") -> WallTime? {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: file)) ?? file
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let date = attributes?[.modificationDate] as? Date, date.timeIntervalSince1970 > 0 else { return nil }
        return WallTime(millisecondsSince1970: Int64(date.timeIntervalSince1970 * 1000))
    }

    /// Asks only; changes nothing.
    static func kernelState() -> Int32 {
        var state = timex()
        return unsafe adjtimex(&state)
    }
}
