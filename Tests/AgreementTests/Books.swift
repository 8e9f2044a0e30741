import Foundation
import Journal
import Locks
import Payments

/// A shop's journal, which goes on from play to play as a shop's does. Two days lie between two plays, so that none of them
/// sees what the one before it has left, and it is opened once for many: opening is half of what a play costs. Where it is
/// opened for each run all the same, the books are new after some plays: opening reads all that is in them.
final class Books: Sendable {
    private struct State {
        var open: Journal?
        var plays = 0
        /// Counts the books, each in a folder of its own.
        var volume = 0
    }

    /// In memory where the machine has such a place. A death here is a program's and not the machine's, so that nothing is
    /// asked of a disk.
    private static let base =
        FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()

    private static let playsInAVolume = 8

    private let shelf = base + "/till-agreement-\(UUID().uuidString)"
    private let reopens: Bool
    private let state = Mutex(State())

    /// - Parameter reopens: Whether every run of the program opens the files anew, as the real one does. Else only what the
    ///   journal is asked comes from the files, and that is all that a new run starts from.
    init(reopens: Bool) { self.reopens = reopens }

    deinit {
        try? state.withLock { $0.open }?.close()
        try? FileManager.default.removeItem(atPath: shelf)  // Of a test: a rest does no harm.
    }

    /// When the next play begins, on the test's clock.
    func nextPlay() throws -> (number: Int, start: Duration) {
        try state.withLock { state in
            if reopens, state.plays.isMultiple(of: Self.playsInAVolume) {
                try state.open?.close()
                (state.open, state.volume) = (nil, state.volume + 1)
            }
            state.plays += 1
            return (state.plays, .seconds(2 * 86_400 * state.plays))
        }
    }

    /// For the next run of the program. Whoever had it before must not use it any more.
    func journal() throws -> Journal {
        try state.withLock { state in
            if let open = state.open {
                guard reopens else { return open }
                try open.close()
            }
            let folder = "\(shelf)/\(state.volume)"
            let key = try DeviceKey.loadOrCreate(at: folder + "/device.key")
            let journal = try Journal.open(directory: folder, deviceKey: key)
            state.open = journal
            return journal
        }
    }
}
