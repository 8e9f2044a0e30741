import CMalloc
import Foundation
import Glibc

/// What only the start needed.
enum StartupMemory {
    /// Gives it back to the system: free blocks of the heap, some 2 MB, and the mapping of code, of which a terminal that
    /// waits runs little. Code that is needed again is mapped from the page cache, some hundred faults of a microsecond.
    static func release() {
        malloc_trim(0)
        // FileManager takes a file that says it has no bytes for read after the first 4 KB of it.
        guard let maps = try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd() else { return }
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            guard let code = Code(line) else { continue }
            // Pages of a file that are never written come back as they are on the next touch, whoever runs there now; a
            // refusal keeps them. Source: madvise(2), MADV_DONTNEED.
            unsafe madvise(UnsafeMutableRawPointer(bitPattern: code.start), code.length, MADV_DONTNEED)
        }
    }

    /// A mapping of a file that can be run and not written.
    private struct Code {
        let start: UInt
        let length: Int

        /// - Parameter line: `start-end permissions offset device inode path`. Source: proc_pid_maps(5).
        init?(_ line: Substring) {
            let fields = line.split(separator: " ")
            guard fields.count >= 6, fields[1] == "r-xp", fields[5].hasPrefix("/") else { return nil }
            let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard ends.count == 2, ends[0] < ends[1] else { return nil }
            (start, length) = (ends[0], Int(ends[1] - ends[0]))
        }
    }
}
