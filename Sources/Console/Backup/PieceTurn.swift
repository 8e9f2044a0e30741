/// Which turn a piece of a file has that arrives in pieces. A value: it decides, and whoever writes the file acts.
///
/// The place comes from a request and may be any number: it is compared, and nothing is added to it.
enum PieceTurn: Sendable, Equatable {
    /// The file goes on with it.
    case next
    /// It is the last piece once more: its answer may have been lost. Nothing is written.
    case again
    /// Another piece should come, or it does not fit into the file.
    case outOfTurn

    /// - Parameters:
    ///   - pieceBytes: Length of the piece.
    ///   - place: Where in the file the request says that it begins.
    ///   - receivedBytes: What has arrived, 0 to `totalBytes`.
    init(of pieceBytes: Int, at place: Int64, receivedBytes: Int, totalBytes: Int) {
        if pieceBytes <= receivedBytes, place == Int64(receivedBytes - pieceBytes) {
            self = .again
        } else if pieceBytes > 0, place == Int64(receivedBytes), pieceBytes <= totalBytes - receivedBytes {
            self = .next
        } else {
            self = .outOfTurn
        }
    }
}
