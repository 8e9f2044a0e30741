import Foundation
import Terminal

/// A bundle on its way from a browser, piece after piece: a long one takes no more memory than one piece.
extension UpdateDesk {
    /// On the data partition, and gone with the next start.
    nonisolated var uploadPath: String { folder + "/update.upload" }
    /// What has to stay free for payments.
    private static let spareBytes: Int64 = 64 * 1024 * 1024

    /// Begins to take a file up; an earlier one is forgotten.
    func beginUpload(bytes: Int64) throws(Problem) {
        _ = try requireIdle()
        offer = nil
        forgetUpload()
        guard bytes > 0 else { throw .field("file", Self.problem(.notWhole).reason) }
        guard bytes <= Self.mostBytes else { throw .field("file", Self.tooLarge.reason) }
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder)
        if let free = attributes?[.systemFreeSize] as? NSNumber, free.int64Value < bytes + Self.spareBytes {
            throw Self.noRoom
        }
        guard
            FileManager.default.createFile(atPath: uploadPath, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: uploadPath)
        else { throw Self.noRoom }
        upload = Upload(file: handle, totalBytes: Int(bytes))
    }

    /// Takes the next piece. One that has arrived already is taken for the same once more: its answer may have been lost.
    func add(_ piece: [UInt8], at place: Int64) throws(Problem) {
        _ = try requireIdle()
        guard var upload = self.upload else { throw Self.notBegun }
        let turn = PieceTurn(
            of: piece.count,
            at: place,
            receivedBytes: upload.receivedBytes,
            totalBytes: upload.totalBytes
        )
        switch turn {
        case .again: return
        case .outOfTurn: throw Self.outOfPlace
        case .next: break
        }
        do { try upload.file.write(contentsOf: piece) } catch {
            forgetUpload()
            throw Self.noRoom
        }
        upload.receivedBytes += piece.count
        self.upload = upload
    }

    /// Forgets the file and what was offered.
    func drop() throws(Problem) {
        _ = try requireIdle()
        offer = nil
        forgetUpload()
    }

    func forgetUpload() {
        try? upload?.file.close()
        upload = nil
        try? FileManager.default.removeItem(atPath: uploadPath)  // Where there is none, nothing has to go.
    }
}
