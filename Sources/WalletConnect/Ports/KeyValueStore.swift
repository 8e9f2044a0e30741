/// Where pairings, sessions, keys and unsent messages are kept: a keychain, or encrypted rows of a database.
///
/// Values hold secrets: encrypt them at rest and print none.
public protocol KeyValueStore: Sendable {
    /// Everything whose name begins with `prefix`.
    func values(prefix: String) async throws(StorageFailure) -> [String: StoredValue]
    /// All changes or none, durable when it returns. A later change to the same name wins.
    func apply(_ changes: [StorageChange]) async throws(StorageFailure)
}

/// One change of a batch.
public enum StorageChange: Sendable, Equatable {
    case set(name: String, value: StoredValue)
    /// A name that is not there is no error.
    case remove(name: String)

    /// ASCII letters, digits, `/`, `-` and `_`; at most 200 bytes.
    public var name: String {
        switch self {
        case .set(let name, _), .remove(let name): name
        }
    }
}

/// Bytes that may hold a secret. Prints as "redacted".
public struct StoredValue: Sendable, Equatable {
    public let bytes: [UInt8]
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}

extension StoredValue: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "redacted" }
    public var debugDescription: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The store did not keep what it was given, or could not read what it has. Nothing was sent: a client that cannot remember
/// must not act.
public struct StorageFailure: Error, Sendable, Equatable {
    /// For staff and logs: "disk full".
    public let reason: String
    public init(reason: String) { self.reason = reason }
}

/// Keeps everything in memory: for tests, and for sessions that need not outlive the process.
public actor MemoryStore: KeyValueStore {
    private var stored: [String: StoredValue] = [:]

    public init() {}

    public func values(prefix: String) async throws(StorageFailure) -> [String: StoredValue] {
        stored.filter { $0.key.hasPrefix(prefix) }
    }

    public func apply(_ changes: [StorageChange]) async throws(StorageFailure) {
        for change in changes {
            switch change {
            case .set(let name, let value): stored[name] = value
            case .remove(let name): stored[name] = nil
            }
        }
    }
}
