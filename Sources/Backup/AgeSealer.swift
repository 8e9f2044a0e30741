import Crypto

/// Seals bytes as an age file, piece after piece.
struct AgeSealer: Sendable {
    /// What the file begins with.
    let start: [UInt8]
    private let key: SymmetricKey
    private var counter = AgeCounter()
    private var waiting: [UInt8] = []

    /// Computes as long as ``AgeHead/init(passphrase:work:)``.
    init(passphrase: String, work: Int) throws {
        let head = try AgeHead(passphrase: passphrase, work: work)
        let nonce = unsafe SymmetricKey(size: .bits128).withUnsafeBytes { unsafe Array($0) }
        key = head.payloadKey(nonce)
        start = head.bytes + nonce
    }

    /// What of `bytes`, and of what was added before, makes whole pieces.
    mutating func add(_ bytes: [UInt8]) throws -> [UInt8] {
        waiting += bytes
        var sealed: [UInt8] = []
        var place = 0
        // One whole piece may be the last: it waits for a byte behind it.
        while waiting.count - place > AgeCounter.pieceBytes {
            try seal(waiting[place..<place + AgeCounter.pieceBytes], isLast: false, into: &sealed)
            place += AgeCounter.pieceBytes
        }
        waiting.removeFirst(place)
        return sealed
    }

    /// The last piece.
    mutating func finish() throws -> [UInt8] {
        var sealed: [UInt8] = []
        try seal(waiting[...], isLast: true, into: &sealed)
        waiting = []
        return sealed
    }

    private mutating func seal(_ piece: ArraySlice<UInt8>, isLast: Bool, into sealed: inout [UInt8]) throws {
        let box = try ChaChaPoly.seal(piece, using: key, nonce: counter.next(isLast: isLast))
        sealed += box.ciphertext
        sealed += box.tag
    }
}
