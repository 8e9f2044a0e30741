import Acquirer
import Ethereum
import Glibc
import Improv
import TapProtocol
import TapSigning
import WalletConnectPay

/// What reads bytes from outside, each by its name on the command line.
enum Decoder: String, CaseIterable, Sendable {
    case cbor
    case cose
    case certificate, request, pass, accept, claim, receipt
    case fromTerminal = "from-terminal"
    case fromPhone = "from-phone"
    case offer, framing, hello, handshake, tag, order
    case improv, bundle, upload, token, jwk

    /// The one that the environment names: the fuzzer starts itself again with arguments of its own. A global, because it
    /// calls back through C.
    static let chosen = getenv("TILL_FUZZ").flatMap { Decoder(rawValue: String(cString: $0)) }

    func read(_ bytes: [UInt8]) {
        switch self {
        case .cbor:
            guard let item = try? CBOR(decoding: bytes) else { return }
            precondition(item.encoded == bytes, "one value has two encodings")
        case .cose:
            guard let signed = try? COSESign1(decoding: bytes) else { return }
            precondition(signed.encoded == bytes)
        case .certificate: again(TerminalCertificate.self, bytes)
        case .request: again(PaymentRequest.self, bytes)
        case .pass: again(PaymentPass.self, bytes)
        case .accept: again(PaymentAcceptance.self, bytes)
        case .claim: again(PaymentClaim.self, bytes)
        case .receipt: again(PaymentReceipt.self, bytes)
        case .fromTerminal: message(bytes, from: .terminal)
        case .fromPhone: message(bytes, from: .phone)
        case .offer: _ = try? TerminalOffer(decoding: bytes)
        case .framing: frames(bytes)
        case .hello: _ = try? Hello(decoding: bytes)
        case .handshake: handshake(bytes)
        case .tag: _ = TerminalTag(uri: String(decoding: bytes, as: UTF8.self))
        case .order: order(bytes)
        case .improv: improv(bytes)
        case .bundle: bundle(bytes)
        case .upload: upload(bytes)
        case .token: token(bytes)
        case .jwk: jwk(bytes)
        }
    }

    private func again<Payload: SignedPayload>(_ type: Payload.Type, _ bytes: [UInt8]) {
        // Wrapped as the payload of a signed object, so that the fuzzer need not find the wrapping each time.
        for candidate in [bytes, COSESign1.wrapping(bytes)] {
            guard let signed = try? Signed<Payload>(decoding: candidate) else { continue }
            precondition(signed.encoded == candidate, "an object changes when it is written back")
            _ = "\(signed.payload)"
        }
    }

    private func message(_ bytes: [UInt8], from sender: TapBody.Sender) {
        guard let message = try? TapMessage(decoding: bytes, from: sender) else { return }
        precondition(message.encoded == bytes, "a message changes when it is written back")
    }

    /// Each fragment after its length in one byte; the last bit of the first byte makes time pass.
    private func frames(_ bytes: [UInt8]) {
        var reassembler = Reassembler()
        var rest = bytes[...]
        var now = Duration.zero
        while let length = rest.popFirst() {
            if length & 1 == 1 { now += .seconds(1) }
            let fragment = rest.prefix(Int(length) * 3)
            rest = rest.dropFirst(fragment.count)
            guard (try? reassembler.receive(fragment, at: now)) != nil else { return }
        }
    }

    private func handshake(_ bytes: [UInt8]) {
        let service = ServiceUUID("7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9")
        guard let service, let hello = Hello(sessionID: Array(repeating: 7, count: 8)) else { preconditionFailure() }
        let prologue = Prologue(service: service)
        if let terminal = try? TerminalHandshake(reading: bytes, prologue: { _ in prologue }) {
            _ = try? terminal.finish(payload: [0xA0], staticKey: Self.key, ephemeral: Self.key)
        }
        let phone = PhoneHandshake(hello: hello, prologue: prologue, ephemeral: Self.key)
        _ = try? phone.finish(reading: bytes)
    }

    private static let key = AgreementKey()

    /// What a wallet reads before it signs: JSON of a gateway that may be anybody.
    private func order(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let payment = TapProtocol.PaymentID("019ab697-e800-791a-b5fd-49dd46939c7d") else { preconditionFailure() }
        let account = "eip155:8453:0x1111111111111111111111111111111111111111"
        let option = WalletOption(
            id: "o",
            value: "1000000",
            symbol: "USDC",
            decimals: 6,
            network: "Base",
            account: account
        )
        let check = SigningOrderCheck(option: option, expiresAtSeconds: 1_764_000_120)
        let order = SigningOrder(
            paymentID: payment,
            optionID: "o",
            index: 0,
            count: 1,
            chainID: "eip155:8453",
            method: "eth_signTypedData_v4",
            parameters: text
        )
        _ = try? check.check(order)
    }

    /// What two phones do, a byte each: which of them, what, how many seconds later; before what one writes, its length.
    private func improv(_ bytes: [UInt8]) {
        var (machine, now, rest) = (ImprovMachine(), Duration.zero, bytes[...])
        var (mayJoin, joinings) = (false, 0)
        _ = machine.handle(.armed(asks: true), at: now)
        while let first = rest.popFirst() {
            now += .seconds(Int(first >> 4))
            let phone = ImprovPhone(first & 8 == 0 ? "a" : "b")
            let event: ImprovMachine.Event
            switch first & 7 {
            case 0: event = .came(phone)
            case 1: event = .left(phone)
            case 2: event = .allowed
            case 3: event = .notJoined(number: joinings)
            case 4: event = .joined(number: joinings, page: "https://192.168.7.9:8443")
            default:
                let length = Int(rest.popFirst() ?? 0)
                event = .wrote(phone, ImprovPiece(Array(rest.prefix(length))))
                rest = rest.dropFirst(length)
            }
            let before = machine.phone
            let actions = machine.handle(event, at: now)
            if machine.phone != before { mayJoin = false }
            if event == .allowed, machine.phone != nil { mayJoin = true }
            for case .join(_, let number) in actions {
                precondition(mayJoin && machine.phone == phone, "a network is joined that nobody allowed")
                joinings = number
            }
            for one in ImprovMachine.Characteristic.allCases {
                precondition(machine.value(of: one, for: phone).count <= 258, "no phone takes such an answer")
            }
        }
    }

    /// What the acquirer takes from whoever hands it in: as it comes, and the same bytes cut into pieces.
    private func bundle(_ bytes: [UInt8]) {
        for candidate in [bytes, CBOR.array(pieces(of: bytes)).encoded] {
            guard let bundle = try? ExecutionBundle(decoding: candidate) else { continue }
            precondition(bundle.encoded == candidate, "a bundle changes when it is written back")
        }
    }

    /// What a terminal or a phone tells the acquirer afterwards.
    private func upload(_ bytes: [UInt8]) {
        let pieces = pieces(of: bytes)
        for candidate in [bytes, CBOR.array(pieces).encoded, CBOR.array([.array(pieces)]).encoded] {
            guard let items = try? SyncItem.decoding(candidate) else { continue }
            precondition(SyncItem.encoded(items) == candidate, "an upload changes when it is written back")
        }
    }

    /// Each piece after its length in two bytes, so that the fuzzer need not keep the wrapping's lengths right.
    private func pieces(of bytes: [UInt8]) -> [CBOR] {
        var pieces: [CBOR] = []
        var rest = bytes[...]
        while let high = rest.popFirst(), let low = rest.popFirst() {
            let piece = rest.prefix(Int(high) << 8 | Int(low))
            rest = rest.dropFirst(piece.count)
            pieces.append(.bytes(Array(piece)))
        }
        return pieces
    }

    /// The token of a delegated login, from a back end that may be anybody: as it comes, and with these bytes as its header.
    private func token(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        _ = try? Self.login.open(text)
        let rest = [[UInt8](repeating: 1, count: 12), [2, 3], [UInt8](repeating: 4, count: 16)].map(Base64URL.encode)
        _ = try? Self.login.open("\(Base64URL.encode(bytes))..\(rest.joined(separator: "."))")
    }

    /// The key that somebody's device asks a token for.
    private func jwk(_ bytes: [UInt8]) {
        guard let token = DelegatedToken.seal(Secret("token"), to: String(decoding: bytes, as: UTF8.self)) else {
            return
        }
        // It is for whoever holds that key, and not for this one.
        precondition((try? Self.login.open(token)) == nil, "a token opens under another key")
    }

    private static let login = DelegatedKey()
}

extension COSESign1 {
    /// The bytes as payload between a header and a signature that nobody has checked yet.
    static func wrapping(_ payload: [UInt8]) -> [UInt8] {
        CBOR.array([
            .bytes([0xA2, 0x01, 0x27, 0x04, 0x44, 0x67, 0x77, 0x30, 0x31]), .map([:]), .bytes(payload),
            .bytes(Array(repeating: 0, count: 64)),
        ]).encoded
    }
}
