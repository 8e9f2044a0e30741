import FoundationEssentials
import Glibc

/// Small files of the kernel's and of the system's, below a root that tests choose.
struct KernelFiles {
    let root: String

    /// Nil where it cannot be read, is no text, or is longer than `limit` bytes.
    func text(_ path: String, limit: Int = 64 * 1024) -> String? {
        let descriptor = unsafe open(root + path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // A file of /sys says that it has 4096 bytes, and one of /proc that it has none.
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: min(limit + 1, 1 << 18))
        while true {
            let count = unsafe part.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else { return nil }
            if count == 0 { return String(validating: bytes, as: UTF8.self) }
            bytes += part[..<count]
            guard bytes.count <= limit else { return nil }
        }
    }

    /// The first line without what stands around it; nil where there is none.
    func line(_ path: String) -> String? {
        guard let line = text(path)?.split(whereSeparator: { $0.isNewline || $0 == "\0" }).first else { return nil }
        let trimmed = line.drop(while: \.isWhitespace)
        guard let last = trimmed.lastIndex(where: { !$0.isWhitespace }) else { return nil }
        return String(trimmed[...last])
    }

    func number(_ path: String) -> Int? { line(path).flatMap { Int($0) } }

    /// What a folder holds, by name; empty where it cannot be listed.
    func names(_ path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: root + path)) ?? []).sorted()
    }

    /// Where a link leads, as it is written there.
    func target(_ path: String) -> String? { try? FileManager.default.destinationOfSymbolicLink(atPath: root + path) }

    static func hexadecimal(_ text: Substring) -> Int? {
        Int(text.hasPrefix("0x") ? text.dropFirst(2) : text, radix: 16)
    }
}
