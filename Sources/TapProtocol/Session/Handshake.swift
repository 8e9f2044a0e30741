/// The phone's side of the handshake: it speaks first and learns who the terminal is.
///
/// Source: Noise pattern NX (`-> e`, `<- e, ee, s, es`); BPP/1, section 7.2.
public struct PhoneHandshake: Sendable {
    /// What READ returns: 45 bytes.
    public let firstMessage: [UInt8]
    private var state: NoiseSymmetricState
    private let ephemeral: AgreementKey

    /// A fresh session. Each reading of READ from its start gets one of its own.
    /// - Parameter ephemeral: Never used twice.
    public init(hello: Hello, prologue: Prologue, ephemeral: AgreementKey = AgreementKey()) {
        self.ephemeral = ephemeral
        state = NoiseSymmetricState(prologue: prologue.bytes)
        state.mixHash(ephemeral.publicKey)
        state.mixHash(hello.encoded)
        firstMessage = ephemeral.publicKey + hello.encoded
    }

    /// Reads the terminal's answer.
    /// - Returns: Its payload, the static key that it proved to hold, and the channel.
    /// - Throws: `handshakeFailed`. Send control 0x03.
    public consuming func finish(
        reading message: [UInt8]
    ) throws(SessionError) -> (payload: [UInt8], terminalKey: [UInt8], session: SecureSession) {
        guard message.count >= TerminalHandshake.overheadBytes, message.count <= Framing.maximumMessageBytes else {
            throw .handshakeFailed
        }
        let remoteEphemeral = Array(message.prefix(32))
        let encryptedStatic = Array(message.dropFirst(32).prefix(48))
        state.mixHash(remoteEphemeral)
        state.mixKey(try ephemeral.shared(with: remoteEphemeral))
        do throws(SessionError) {
            let terminalKey = try state.decryptAndHash(encryptedStatic)
            state.mixKey(try ephemeral.shared(with: terminalKey))
            let payload = try state.decryptAndHash(Array(message.dropFirst(80)))
            let (initiator, responder) = state.split()
            let session = SecureSession(sending: initiator, receiving: responder, handshakeHash: state.hash)
            return (payload, terminalKey, session)
        } catch {
            throw .handshakeFailed
        }
    }
}

/// The terminal's side of the handshake: it answers with its certified key.
public struct TerminalHandshake: Sendable {
    /// The length of what READ returns.
    public static let firstMessageBytes = 45
    /// What the answer is longer than its payload.
    public static let overheadBytes = 32 + 48 + 16

    /// What the phone says about itself.
    public let hello: Hello
    private var state: NoiseSymmetricState
    private let phoneEphemeral: [UInt8]

    /// Reads the phone's first message. Takes any bytes.
    /// - Parameter prologue: Where the phone said that it is tagged, the one with this terminal's tag.
    /// - Throws: `unsupported`, or `length` for anything but 45 bytes.
    public init(
        reading firstMessage: [UInt8],
        prologue: (Hello) -> Prologue
    ) throws(SessionError) {
        guard firstMessage.count == Self.firstMessageBytes else { throw .length }
        phoneEphemeral = Array(firstMessage.prefix(32))
        hello = try Hello(decoding: Array(firstMessage.dropFirst(32)))
        state = NoiseSymmetricState(prologue: prologue(hello).bytes)
        state.mixHash(phoneEphemeral)
        state.mixHash(hello.encoded)
    }

    /// Writes the answer.
    /// - Parameters:
    ///   - payload: Certificate and, if there is one, request.
    ///   - ephemeral: Never used twice.
    /// - Throws: `handshakeFailed` where the phone's key is none.
    public consuming func finish(
        payload: [UInt8],
        staticKey: AgreementKey,
        ephemeral: AgreementKey = AgreementKey()
    ) throws(SessionError) -> (message: [UInt8], session: SecureSession) {
        state.mixHash(ephemeral.publicKey)
        state.mixKey(try ephemeral.shared(with: phoneEphemeral))
        let encryptedStatic = try state.encryptAndHash(staticKey.publicKey)
        state.mixKey(try staticKey.shared(with: phoneEphemeral))
        let encryptedPayload = try state.encryptAndHash(payload)
        let (initiator, responder) = state.split()
        return (
            ephemeral.publicKey + encryptedStatic + encryptedPayload,
            SecureSession(sending: responder, receiving: initiator, handshakeHash: state.hash)
        )
    }
}
