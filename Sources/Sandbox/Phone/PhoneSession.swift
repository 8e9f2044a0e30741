import TapProtocol

/// One session with one terminal: from a reading of READ to the next, or to the link's end.
struct PhoneSession: Sendable {
    /// A whole message, or a control code, on its way to the terminal.
    struct Outgoing: Sendable {
        /// Nil for a control code.
        let type: Int?
        let content: Content

        enum Content: Sendable {
            case message([UInt8])
            case control(ControlCode)
        }
    }

    /// Which of the phone's sessions, counted.
    let number: Int
    let startedAtMilliseconds: Int
    /// What READ returns.
    let firstMessage: [UInt8]
    private var handshake: PhoneHandshake?
    private var secure: SecureSession?
    private var reassembler: Reassembler
    private var fragmenter: Fragmenter?
    private var incoming = MessageNumbering()
    private var outgoing = MessageNumbering()
    /// Sealed already, and nobody subscribed yet.
    private var unsent: [Outgoing] = []

    /// After the handshake and the certificate's checks.
    var terminal: (certificate: Signed<TerminalCertificate>, key: [UInt8])?
    var terminalCapabilities: TapCapabilities = []
    /// The request that this terminal has shown, after all checks.
    var offer: Signed<PaymentRequest>?
    var exchange = WalletExchange()
    /// The orders so far, and the number of the last one's message.
    var orders: [SigningOrder] = []
    var optionsExpireAtSeconds = 0
    var lastOrderNumber = 0
    /// Everything more that comes in it is ignored.
    var isClosed = false

    init(number: Int, hello: Hello, prologue: Prologue, nowMilliseconds: Int) {
        self.number = number
        startedAtMilliseconds = nowMilliseconds
        let handshake = PhoneHandshake(hello: hello, prologue: prologue)
        firstMessage = handshake.firstMessage
        self.handshake = handshake
        reassembler = Reassembler(messageBytes: hello.maximumMessageBytes)
    }

    var isSecure: Bool { secure != nil }
    var shortCode: String { secure?.shortCode ?? "" }
    /// When the next fragment must be there.
    var fragmentDeadline: Duration? { reassembler.deadline }

    /// The terminal asks again: what the wallet had begun here is void.
    mutating func startExchangeAgain() { (exchange, orders) = (WalletExchange(), []) }

    // MARK: From the terminal

    mutating func receive(_ fragment: [UInt8], nowMilliseconds: Int) throws(FramingError) -> Reassembler.Arrival? {
        try reassembler.receive(fragment, at: .milliseconds(nowMilliseconds))
    }

    /// Reads the terminal's half of the handshake.
    mutating func finishHandshake(_ message: [UInt8]) throws(SessionError) -> (payload: [UInt8], terminalKey: [UInt8]) {
        guard let handshake else { throw .handshakeFailed }
        self.handshake = nil
        let (payload, key, session) = try handshake.finish(reading: message)
        secure = session
        return (payload, key)
    }

    /// Decrypts a message of the session.
    mutating func open(_ message: [UInt8]) throws(SessionError) -> [UInt8] {
        guard var secure else { throw .handshakeFailed }
        defer { self.secure = secure }
        return try secure.open(message)
    }

    mutating func acceptsNumber(_ number: Int) -> Bool { incoming.accepts(number) }

    // MARK: To the terminal

    /// The terminal listens; what waited goes out.
    mutating func subscribed(maximumValueLength: Int) -> [(type: Int?, fragments: [[UInt8]])] {
        if fragmenter == nil { fragmenter = Fragmenter(fragmentBytes: maximumValueLength) }
        defer { unsent = [] }
        return unsent.compactMap { fragments($0) }
    }

    /// Numbers, seals and cuts a message; nil where it has to wait for the subscription, or where no message may follow.
    mutating func send(_ body: TapBody, answering number: Int?) -> (type: Int?, fragments: [[UInt8]])? {
        guard !isClosed, var secure else { return nil }
        let message = TapMessage(number: outgoing.next(), answers: number, body: body)
        guard let sealed = try? secure.seal(message.encoded) else {
            isClosed = true
            return nil
        }
        self.secure = secure
        return queue(Outgoing(type: body.type, content: .message(sealed)))
    }

    /// Ends the session with a code in clear.
    mutating func control(_ code: ControlCode) -> (type: Int?, fragments: [[UInt8]])? {
        guard !isClosed else { return nil }
        isClosed = true
        return queue(Outgoing(type: nil, content: .control(code)))
    }

    private mutating func queue(_ out: Outgoing) -> (type: Int?, fragments: [[UInt8]])? {
        guard fragmenter != nil else {
            if unsent.count < 16 { unsent.append(out) }
            return nil
        }
        return fragments(out)
    }

    private mutating func fragments(_ out: Outgoing) -> (type: Int?, fragments: [[UInt8]])? {
        guard var fragmenter else { return nil }
        defer { self.fragmenter = fragmenter }
        switch out.content {
        case .control(let code): return (nil, [fragmenter.control(code)])
        case .message(let bytes): return (try? fragmenter.fragments(of: bytes)).map { (out.type, $0) }
        }
    }
}
