import CMalloc
import Foundation
import Synchronization

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

    private static var resident: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (Int(line.filter(\.isNumber)) ?? 0) * 1024
    }
}
