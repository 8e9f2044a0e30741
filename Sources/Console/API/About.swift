import Glibc

/// What programs are told of the machine.
struct About: Sendable {
    /// The program's own.
    let version: String
    /// SHA-256 of the terminal's certificate.
    let fingerprint: String
    /// Where the journal is.
    let state: String
    let clockIsSet: @Sendable () -> Bool?
    /// The machine's numbers in the network.
    let addresses: @Sendable () -> [String]

    /// Room on the storage of the journal, in bytes; nil where the system does not say.
    var storage: (free: Int64, whole: Int64)? {
        var answer = statvfs()
        guard unsafe statvfs(state, &answer) == 0 else { return nil }
        let block = Int64(clamping: answer.f_frsize)
        return (
            block.multipliedOrMost(Int64(clamping: answer.f_bavail)),
            block.multipliedOrMost(Int64(clamping: answer.f_blocks))
        )
    }
}

extension Int64 {
    fileprivate func multipliedOrMost(_ other: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }
}
