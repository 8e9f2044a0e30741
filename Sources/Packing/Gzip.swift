import CZlib

/// Makes what browsers load smaller. For files of the page alone: an answer that carries a secret beside what somebody else
/// may choose would tell its secret by its length. Source: BREACH, CVE-2013-3587.
public enum Gzip {
    /// The bytes as one gzip member; nil where that saves less than a tenth, or they are more than 4 GB.
    public static func packed(_ bytes: [UInt8]) -> [UInt8]? {
        let room = bytes.count / 10 * 9
        guard room > 0, bytes.count <= Int(UInt32.max) else { return nil }
        let packed = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            unsafe bytes.withUnsafeBufferPointer { input in
                count = unsafe till_gzip(input.baseAddress, input.count, buffer.baseAddress, room)
            }
        }
        return packed.isEmpty ? nil : packed
    }

    /// The CRC-32 of the bytes, as a gzip member ends with it; nil for more than 4 GB.
    public static func checksum(_ bytes: [UInt8]) -> UInt32? {
        guard let count = UInt32(exactly: bytes.count) else { return nil }
        return unsafe UInt32(truncatingIfNeeded: crc32(0, bytes, count))
    }

    /// Whether a browser that sends these `Accept-Encoding` values takes gzip. Source: RFC 9110, 12.5.3.
    public static func isAccepted(_ values: [String]) -> Bool {
        var everything = false
        for item in values.flatMap({ $0.split(separator: ",") }) {
            let parts = item.split(separator: ";", omittingEmptySubsequences: false).map {
                $0.filter { $0 != " " && $0 != "\t" }.lowercased()
            }
            guard let name = parts.first else { continue }
            // `q=0`, in each of its spellings, is a no.
            let isWanted = !parts.dropFirst().contains {
                $0.hasPrefix("q=") && $0.dropFirst(2).allSatisfy { "0.".contains($0) }
            }
            if name == "gzip" || name == "x-gzip" { return isWanted }
            if name == "*" { everything = isWanted }
        }
        return everything
    }
}
