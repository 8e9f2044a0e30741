import Foundation

/// The part of the space that a run plays. A sample depends on a seed and on nothing else, so that it can be played again.
///
/// `TILL_SEED` is the seed, the commit by default; `TILL_EXHAUSTIVE=1` plays everything. docs/fault-matrix.md says what a
/// sample finds.
struct Sample: Sendable {
    static let ofThisRun: Sample = {
        let environment = ProcessInfo.processInfo.environment
        guard environment["TILL_EXHAUSTIVE"] == nil else { return Sample(seed: nil) }
        return Sample(seed: environment["TILL_SEED"] ?? "")
    }()

    /// Nil: everything is played.
    let seed: String?

    var isExhaustive: Bool { seed == nil }

    /// One of so many of them, at least one where there is any, in their order.
    /// - Parameter name: What they are choices of: the same list elsewhere is drawn from anew.
    func some<Element>(_ all: [Element], of name: String, oneIn share: Int) -> [Element] {
        guard let seed, !all.isEmpty else { return all }
        let ranked = all.indices.map { (rank: Self.rank("\(seed) \(name) \($0)"), index: $0) }.sorted { $0 < $1 }
        return ranked.prefix(max(1, all.count / share)).map(\.index).sorted().map { all[$0] }
    }

    /// The same in every run and on every machine. Source: FNV-1a, 64 bits; the finalizer of MurmurHash3.
    private static func rank(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        return hash ^ (hash >> 33)
    }
}
