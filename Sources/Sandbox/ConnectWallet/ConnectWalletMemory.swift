import FoundationEssentials
public import WalletConnect

/// What a WalletConnect wallet must not forget, as one document that is replaced as a whole: keys, sessions, unsent messages,
/// and which of the relay's messages it took. It holds secrets in the clear: for the sandbox only.
public actor ConnectWalletMemory: KeyValueStore, RelayMemory {
    private struct Content: Codable {
        var values: [String: Data] = [:]
        /// By topic and hash, with the second since 1970 at which it may be forgotten.
        var taken: [String: Int64] = [:]
    }

    private let storage: (any PhoneStorage)?
    private var content: Content

    /// - Parameter storage: nil: it forgets everything with the process.
    /// - Throws: When what is stored cannot be read. It stays as it is.
    public init(_ storage: (any PhoneStorage)?) throws(StateFileError) {
        self.storage = storage
        guard let text = try storage?.load() else {
            content = Content()
            return
        }
        do { content = try JSONDecoder().decode(Content.self, from: Data(text.utf8)) } catch {
            throw StateFileError(description: "the wallet's memory is damaged: delete it to start anew")
        }
    }

    /// A secret of the wallet's own by its name; made and kept where there is none.
    public func secret(_ name: String, else make: @Sendable () -> [UInt8]) throws(StorageFailure) -> [UInt8] {
        if let known = content.values[name] { return Array(known) }
        let made = make()
        try keep { $0.values[name] = Data(made) }
        return made
    }

    public func values(prefix: String) async throws(StorageFailure) -> [String: StoredValue] {
        content.values.filter { $0.key.hasPrefix(prefix) }.mapValues { StoredValue(Array($0)) }
    }

    public func apply(_ changes: [StorageChange]) async throws(StorageFailure) {
        try keep { content in
            for change in changes {
                switch change {
                case .set(let name, let value): content.values[name] = Data(value.bytes)
                case .remove(let name): content.values[name] = nil
                }
            }
        }
    }

    public func knows(_ mark: RelayMark) async throws -> Bool { content.taken[Self.name(mark)] != nil }

    public func remember(_ mark: RelayMark, until: Int64) async throws {
        try keep { content in
            content.taken[Self.name(mark)] = until
            // A wallet takes some ten messages per payment: so many are more than it will see in a month.
            guard content.taken.count > 5000 else { return }
            let old = content.taken.sorted { $0.value < $1.value }.prefix(1000)
            for (name, _) in old { content.taken[name] = nil }
        }
    }

    private static func name(_ mark: RelayMark) -> String { "\(mark.topic)/\(mark.hash)" }

    private func keep(_ change: (inout Content) -> Void) throws(StorageFailure) {
        var changed = content
        change(&changed)
        guard let storage else {
            content = changed
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // Texts, bytes and numbers, which all can be written.
        guard let data = try? encoder.encode(changed) else { throw StorageFailure(reason: "it cannot be written") }
        do throws(StateFileError) { try storage.save(String(decoding: data, as: UTF8.self)) } catch {
            throw StorageFailure(reason: "\(error)")
        }
        content = changed
    }
}
