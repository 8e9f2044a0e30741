import Crypto
import Foundation

/// Opens an age file from its beginning to its end. What it gives was in the file as it was sealed, at that place.
struct AgeOpener {
    private let file: FileHandle
    private let key: SymmetricKey
    private var counter = AgeCounter()
    /// Of the file, and not read yet.
    private var left: Int
    private var opened: [UInt8] = []
    private var place = 0
    private var isOver = false

    /// Computes as long as ``AgeHead/init(reading:passphrase:)``.
    init(path: String, passphrase: String) throws(BackupError) {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw .unreadable(detail: "\(path) cannot be opened")
        }
        let (start, size): ([UInt8], Int)
        do {
            size = Int(clamping: try file.seekToEnd())
            try file.seek(toOffset: 0)
            start = Array(try file.read(upToCount: AgeHead.mostBytes) ?? Data())
        } catch { throw .unreadable(detail: "\(error)") }
        let head = try AgeHead(reading: start, passphrase: passphrase)
        let nonce: [UInt8]
        do {
            try file.seek(toOffset: UInt64(head.bytes.count))
            nonce = Array(try file.read(upToCount: 16) ?? Data())
        } catch { throw .unreadable(detail: "\(error)") }
        guard nonce.count == 16 else { throw .damaged(detail: "it ends in its head") }
        key = head.payloadKey(nonce)
        left = size - head.bytes.count - 16
        self.file = file
    }

    /// The next `count` bytes.
    /// - Throws: `damaged` where the file ends before.
    mutating func take(_ count: Int) throws(BackupError) -> ArraySlice<UInt8> {
        while opened.count - place < count {
            guard !isOver else { throw .damaged(detail: "it ends too early") }
            try openNext()
        }
        defer { place += count }
        return opened[place..<place + count]
    }

    /// Makes sure that nothing follows.
    mutating func finish() throws(BackupError) {
        while !isOver { try openNext() }
        guard place == opened.count else { throw .damaged(detail: "something follows its end") }
    }

    private mutating func openNext() throws(BackupError) {
        let sealedBytes = min(left, AgeCounter.pieceBytes + AgeCounter.tagBytes)
        guard sealedBytes >= AgeCounter.tagBytes else { throw .damaged(detail: "it ends too early") }
        let sealed: [UInt8]
        do { sealed = Array(try file.read(upToCount: sealedBytes) ?? Data()) } catch {
            throw .unreadable(detail: "\(error)")
        }
        guard sealed.count == sealedBytes else { throw .damaged(detail: "it became shorter while it was read") }
        left -= sealedBytes
        do {
            let box = try ChaChaPoly.SealedBox(
                nonce: try counter.next(isLast: left == 0),
                ciphertext: sealed.dropLast(AgeCounter.tagBytes),
                tag: sealed.suffix(AgeCounter.tagBytes)
            )
            let bytes = try ChaChaPoly.open(box, using: key)
            opened.removeFirst(place)
            place = 0
            opened += bytes
        } catch { throw .damaged(detail: "a piece of it is not as it was made, or not in its place") }
        isOver = left == 0
    }
}
