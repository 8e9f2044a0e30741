/// What one kind of signed object says.
public protocol SignedPayload: Sendable, Hashable {
    static var context: SigningContext { get }
    static var algorithm: SigningAlgorithm { get }
    /// Reads the members of the payload's map.
    init(map: CBORMap) throws(MalformedObject)
    /// The payload's map.
    var map: CBORMap { get }
}

/// An object as it travels, with what it says. Reading it proves nothing; `verify` says who wrote it.
public struct Signed<Payload: SignedPayload>: Sendable, Hashable {
    public let payload: Payload
    public let envelope: COSESign1
    /// The SHA-256 of `encoded`, by which other objects name this one.
    public let hash: ObjectHash

    /// As it travels.
    public var encoded: [UInt8] { envelope.encoded }

    /// Reads an object without checking its signature.
    public init(decoding bytes: [UInt8]) throws(MalformedObject) {
        let item: CBOR
        do throws(COSEError) {
            envelope = try COSESign1(decoding: bytes)
        } catch {
            throw .cose(error)
        }
        do throws(CBORError) {
            item = try CBOR(decoding: envelope.payload)
        } catch {
            throw .cbor(error)
        }
        guard envelope.algorithm == Payload.algorithm else { throw .cose(.wrongAlgorithm) }
        guard case .map(let map) = item else { throw .notTheStructure }
        payload = try Payload(map: map)
        hash = ObjectHash(of: bytes)
    }

    /// Signs what a payload says.
    /// - Throws: Where the signer does not sign, is of the wrong kind, or the payload breaks its own limits.
    public init(signing payload: Payload, with signer: some ObjectSigner) throws(SigningFailure) {
        guard signer.algorithm == Payload.algorithm else { throw SigningFailure(reason: "wrong kind of key") }
        let envelope = try COSESign1(signing: CBOR.map(payload.map).encoded, as: Payload.context, with: signer)
        // What this side would refuse to read it must not send.
        do throws(MalformedObject) {
            self = try Signed(decoding: envelope.encoded)
        } catch {
            throw SigningFailure(reason: "not a sound payload: \(error)")
        }
    }

    /// Passes when the holder of `key` signed this object as what it is.
    public func verify(_ key: VerificationKey) throws(COSEError) { try envelope.verify(key, as: Payload.context) }
}
