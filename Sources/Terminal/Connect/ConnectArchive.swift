public import Journal
import Payments
public import WalletConnect

/// Pairings, sessions, keys and unsent messages of the terminal's WalletConnect client, in the journal's file, each value
/// sealed with the device's key. A batch is one transaction that survives a power cut before it returns.
public struct ConnectStore: KeyValueStore {
    private let journal: Journal
    private let clock: any WallClock

    public init(journal: Journal, clock: any WallClock = SystemWallClock()) {
        (self.journal, self.clock) = (journal, clock)
    }

    /// - Throws: ``StorageFailure`` where one of them was changed or sealed by another device, too: with half of its memory a
    ///   client would ask a customer twice. ``forgetEverything()`` begins anew.
    public func values(prefix: String) async throws(StorageFailure) -> [String: StoredValue] {
        do throws(JournalError) {
            return try await journal.connectValues(prefix: prefix).mapValues { StoredValue($0) }
        } catch { throw StorageFailure(error) }
    }

    public func apply(_ changes: [StorageChange]) async throws(StorageFailure) {
        guard !changes.isEmpty else { return }
        for change in changes where !Self.isName(change.name) {
            throw StorageFailure(reason: "a name of more than 200 characters, or with others than letters and digits")
        }
        let own = changes.map { change in
            switch change {
            case .set(let name, let value): ConnectChange(name: name, bytes: value.bytes)
            case .remove(let name): ConnectChange(name: name, bytes: nil)
            }
        }
        do throws(JournalError) { try await journal.change(connect: own, at: clock.wallTime) } catch {
            throw StorageFailure(error)
        }
    }

    /// Forgets all pairings, sessions and keys, also those that cannot be opened any more. Wallets that are connected hear
    /// nothing of it; whatever they answer later reaches nobody.
    public func forgetEverything() async throws(StorageFailure) {
        do throws(JournalError) { try await journal.forgetConnect() } catch { throw StorageFailure(error) }
    }

    /// As ``StorageChange`` asks for.
    private static func isName(_ name: String) -> Bool {
        (1...200).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

/// Which of the relay's messages were taken already, in the journal's file, so that no copy is taken for a new one after a
/// restart either. Beyond a number of messages the oldest are forgotten, and each when no copy of it can come any more.
public struct ConnectRelayMemory: RelayMemory {
    private let journal: Journal
    private let clock: any WallClock
    private let limit: Int

    /// - Parameter limit: How many messages, at least 1. Each takes some 400 bytes of storage. A charge needs about five, and
    ///   a copy can come for 31 days: the standard is enough for 500 charges a day and more.
    public init(journal: Journal, clock: any WallClock = SystemWallClock(), limit: Int = 100_000) {
        (self.journal, self.clock, self.limit) = (journal, clock, max(limit, 1))
    }

    /// - Throws: ``StorageFailure``
    public func knows(_ mark: RelayMark) async throws -> Bool {
        do throws(JournalError) {
            return try await journal.knowsRelayMessage(topic: mark.topic, hash: mark.hash, at: clock.wallTime)
        } catch { throw StorageFailure(error) }
    }

    /// - Throws: ``StorageFailure``
    public func remember(_ mark: RelayMark, until: Int64) async throws {
        do throws(JournalError) {
            try await journal.rememberRelayMessage(
                topic: mark.topic,
                hash: mark.hash,
                until: until,
                limit: limit,
                at: clock.wallTime
            )
        } catch { throw StorageFailure(error) }
    }
}

extension WallClock {
    fileprivate var wallTime: WallTime { WallTime(millisecondsSince1970: nowMilliseconds) }
}

extension StorageFailure {
    fileprivate init(_ error: JournalError) {
        let reason =
            switch error {
            case .diskFull: "the storage is full: free space, then wallets can connect again"
            case .readOnly(let detail): "the storage takes no writes: \(detail)"
            case .corrupt(let detail): "\(detail): restore a backup, or let the terminal forget its wallets"
            case .fromNewerVersion(let detail): "written by a newer version of the program: \(detail)"
            case .inUse(let detail): "another program uses the terminal's memory: \(detail)"
            case .unavailable(let detail), .lostWrite(let detail), .replaced(let detail): detail
            }
        self.init(reason: reason)
    }
}
