import Foundation

/// How many random tries a test makes. A run makes a share of them that its seed draws; `make test-exhaustive` makes all.
public enum Tries {
    private static let isExhaustive = ProcessInfo.processInfo.environment["TILL_EXHAUSTIVE"] != nil

    /// A third of `all`, one at least.
    public static func share(of all: Int) -> Int { isExhaustive ? all : max(1, all / 3) }

    /// The seeds of a test's cases: a third of the first `all` of them, where the run's own seed says.
    public static func seeds(_ all: Int) -> Range<Int> {
        guard !isExhaustive else { return 0..<all }
        let count = share(of: all)
        // FNV-1a, so that one seed means the same tries on each machine. Source: draft-eastlake-fnv, section 2.
        let text = ProcessInfo.processInfo.environment["TILL_SEED"] ?? ""
        let hash = text.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        let start = Int(hash % UInt32(all - count + 1))
        return start..<start + count
    }
}
