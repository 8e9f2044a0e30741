internal import Crypto

/// Who this side is to a relay: an Ed25519 key that is kept, because mailboxes and subscriptions belong to it.
///
/// It prints as redacted. Whoever has the key can read and empty this side's mailboxes, but open no envelope.
public struct RelayIdentity: Sendable {
    private let key: Curve25519.Signing.PrivateKey
    /// The public side as relays name it: `did:key:z6Mk…`.
    public let issuer: String

    /// A fresh one, from the system's random source.
    public init() { self.init(Curve25519.Signing.PrivateKey()) }

    /// - Parameter seed: 32 secret bytes, as ``seed`` gave them.
    /// - Throws: ``RelayTokenError/key`` for any other count.
    public init(seed: [UInt8]) throws(RelayTokenError) {
        do { self.init(try Curve25519.Signing.PrivateKey(rawRepresentation: seed)) } catch { throw .key }
    }

    private init(_ key: Curve25519.Signing.PrivateKey) {
        self.key = key
        issuer = DIDKey.text(publicKey: Array(key.publicKey.rawRepresentation))
    }

    /// What to store encrypted, to be the same one after a restart. Secret.
    public var seed: [UInt8] { Array(key.rawRepresentation) }

    func sign(_ bytes: [UInt8]) throws(RelayTokenError) -> [UInt8] {
        do { return Array(try key.signature(for: bytes)) } catch { throw .key }
    }
}

extension RelayIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "RelayIdentity(\(issuer), redacted)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// An Ed25519 public key as a decentralised identifier. Source: W3C CCG, did:key; multicodec table, `ed25519-pub`.
enum DIDKey {
    private static let multicodec: [UInt8] = [0xED, 0x01]

    static func text(publicKey: [UInt8]) -> String { "did:key:z" + Base58.encode(multicodec + publicKey) }

    static func publicKey(_ text: String) -> [UInt8]? {
        guard text.hasPrefix("did:key:z"), let bytes = Base58.decode(String(text.dropFirst(9))),
            bytes.count == 34, bytes.starts(with: multicodec)
        else { return nil }
        return Array(bytes.dropFirst(2))
    }
}
