import Payments

/// Of which charges a receipt was printed, so that only one of each is no copy.
///
/// Bounded: of charges older than those it remembers it says that one was printed, since a copy too many is harmless.
struct PrintedReceipts: Sendable, Equatable, Codable {
    static let most = 500

    /// Charge IDs in order, which is that of their making.
    private(set) var printed: [String] = []
    /// The newest charge that was forgotten.
    private(set) var forgotten: String?

    func contains(_ id: ChargeID) -> Bool {
        if let forgotten, id.rawValue <= forgotten { return true }
        return printed.contains(id.rawValue)
    }

    mutating func insert(_ id: ChargeID) {
        guard !contains(id) else { return }
        let index = printed.firstIndex { $0 > id.rawValue } ?? printed.endIndex
        printed.insert(id.rawValue, at: index)
        if printed.count > Self.most { forgotten = printed.removeFirst() }
    }

    /// For a job of which nothing can be on paper.
    mutating func remove(_ id: ChargeID) { printed.removeAll { $0 == id.rawValue } }
}
