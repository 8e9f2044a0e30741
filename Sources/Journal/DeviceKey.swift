import Crypto
import Foundation
import Glibc
public import Payments

/// The key that seals this device's secrets at rest: 32 random bytes, made on the device, readable by its user alone.
///
/// It lies beside what it seals until hardware holds it, so it keeps secrets out of backups and logs, not from a thief of
/// the whole storage.
public struct DeviceKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: SymmetricKey

    public var description: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Reads the key, or makes one where there is none. Blocks for a sync of the storage.
    /// - Throws: ``JournalError``: the file cannot be read, cannot be made, or is no key. A damaged one stays as it is.
    public static func loadOrCreate(at path: String) throws(JournalError) -> DeviceKey {
        let folder = (path as NSString).deletingLastPathComponent
        try Storage.makeFolder(folder.isEmpty ? "." : folder)
        if !Storage.exists(path) { try create(at: path, in: folder.isEmpty ? "." : folder) }
        try Storage.tighten(path)
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw .unavailable(detail: "the device key \(path) cannot be read")
        }
        guard bytes.count == 32 else {
            throw .corrupt(detail: "the device key \(path) has \(bytes.count) bytes instead of 32: restore a backup")
        }
        return DeviceKey(key: SymmetricKey(data: bytes))
    }

    /// Writes a new key under a name of its own first: there is never half a key where a key is looked for.
    private static func create(at path: String, in folder: String) throws(JournalError) {
        let draft = "\(path).\(UInt64.random(in: 0 ... .max))"
        let descriptor = unsafe Glibc.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Storage.failure(of: "the device key") }
        defer {
            close(descriptor)
            unsafe unlink(draft)
        }
        let key = SymmetricKey(size: .bits256)
        let written = unsafe key.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        guard written == 32, fsync(descriptor) == 0 else { throw Storage.failure(of: "the device key") }
        // Fails where another program made one in the meantime: then that one is the key.
        guard unsafe link(draft, path) == 0 || errno == EEXIST else { throw Storage.failure(of: "the device key") }
        try Storage.sync(folder)
    }

    /// - Parameter name: Bound to the sealed bytes: under another name they cannot be opened.
    func seal(_ bytes: [UInt8], name: String) throws(JournalError) -> Data {
        do {
            let box = try AES.GCM.seal(bytes, using: key, authenticating: Array(name.utf8))
            guard let combined = box.combined else { throw CryptoKitError.incorrectParameterSize }
            return combined
        } catch {
            throw .unavailable(detail: "the secret “\(name)” cannot be sealed")
        }
    }

    /// Bytes that stay the same for this device and tell nothing of the key.
    func identity(for purpose: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array("till identity \(purpose)".utf8), using: key))
    }

    /// A code that only this device can make over a text. 32 bytes.
    func code(over text: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array("till code \(text)".utf8), using: key))
    }

    func open(_ sealed: Data, name: String) throws(JournalError) -> [UInt8] {
        do {
            let box = try AES.GCM.SealedBox(combined: sealed)
            return Array(try AES.GCM.open(box, using: key, authenticating: Array(name.utf8)))
        } catch {
            throw .corrupt(
                detail: "the secret “\(name)” was changed, or sealed by another device's key: enter it anew"
            )
        }
    }
}

extension Journal {
    /// 32 bytes that stay the same for this device and are no other's. They may be shown to anybody; with the device key, which
    /// goes when everything is erased, they change.
    /// - Parameter purpose: Other purposes have other bytes.
    public func deviceIdentity(for purpose: String) -> [UInt8] { key.identity(for: purpose) }
}
