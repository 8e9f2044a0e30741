import CMalloc
import Foundation
import Locks

/// What this process holds in memory, at some moments.
final class MemoryReadings: Sendable {
    struct Reading: Sendable {
        /// How much had happened by then.
        let count: Int
        /// What somebody still holds of the heap: nothing that is free, and no fragments between.
        let heapBytes: Int
        let residentBytes: Int
    }

    private let readings = Mutex<[Reading]>([])

    var all: [Reading] { readings.withLock { $0 } }

    /// - Parameter what: The plural of what is counted, for whoever reads the figures.
    func note(after count: Int, _ what: String) {
        malloc_trim(0)
        let heap = mallinfo2()
        let reading = Reading(count: count, heapBytes: heap.uordblks + heap.hblkhd, residentBytes: Self.resident)
        readings.withLock { $0.append(reading) }
        let (heapKB, residentKB) = (reading.heapBytes / 1024, reading.residentBytes / 1024)
        print("after \(count) \(what): \(heapKB) kB of heap, \(residentKB) kB resident")
    }

    /// Growth for each thing counted, between the second reading and the last: the first ones fill much of what has a size of
    /// its own, such as the database's cache. Nil where other tests run beside and their memory would be counted too.
    /// - Parameter variable: Names what says that this test runs alone.
    func growth(where variable: String) -> (heapBytes: Int, residentBytes: Int)? {
        guard ProcessInfo.processInfo.environment[variable] != nil else { return nil }
        let all = all
        guard all.count > 1, let last = all.last, last.count > all[1].count else { return nil }
        let more = last.count - all[1].count
        return ((last.heapBytes - all[1].heapBytes) / more, (last.residentBytes - all[1].residentBytes) / more)
    }

    private static var resident: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (Int(line.filter(\.isNumber)) ?? 0) * 1024
    }
}
