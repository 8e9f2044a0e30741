extension CBOR {
    /// Containers that may stand inside each other. Source: BPP/1, section 8, rule E1.
    public static let maximumDepth = 4
    /// What one item may take when nobody says otherwise: far above any signed object, far below a danger.
    public static let standardLimitBytes = 16_384

    /// Reads the one item that `bytes` are, and nothing but the deterministic form.
    ///
    /// Takes any bytes: memory follows what is there, never what is claimed, and nothing recurses.
    /// - Throws: The first rule that is broken. Answer ERROR 0x01.
    public init(
        decoding bytes: some Collection<UInt8>,
        limitBytes: Int = CBOR.standardLimitBytes
    ) throws(CBORError) {
        guard bytes.count <= limitBytes else { throw .tooLong }
        var decoder = CBORDecoder(bytes: Array(bytes))
        self = try decoder.item()
        guard decoder.isAtEnd else { throw .trailingBytes }
    }
}

/// Reads items with a stack of its own, at most `CBOR.maximumDepth` high.
private struct CBORDecoder {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }
    private var remaining: Int { bytes.count - position }

    /// A container whose items are still being read.
    private struct Open {
        var remaining: Int
        var items: [CBOR] = []
        var map: CBORMap?
        var key: Int?

        var closed: CBOR { map.map(CBOR.map) ?? .array(items) }

        mutating func add(_ item: CBOR) throws(CBORError) {
            guard let key else {
                items.append(item)
                return
            }
            if map?.append(key: key, value: item) == false {
                throw map?[key] == nil ? .keysUnsorted : .keyTwice
            }
            self.key = nil
        }
    }

    private enum Step {
        case whole(CBOR)
        case opened(Open)
    }

    mutating func item() throws(CBORError) -> CBOR {
        var stack: [Open] = []
        while true {
            if let last = stack.indices.last, stack[last].map != nil, stack[last].remaining > 0 {
                stack[last].key = try key()
            }
            var finished: CBOR?
            switch try step() {
            case .whole(let item): finished = item
            case .opened(let container):
                guard stack.count < CBOR.maximumDepth else { throw .tooDeep }
                if container.remaining == 0 { finished = container.closed } else { stack.append(container) }
            }
            while let item = finished {
                guard let last = stack.indices.last else { return item }
                try stack[last].add(item)
                stack[last].remaining -= 1
                finished = stack[last].remaining == 0 ? stack.removeLast().closed : nil
            }
        }
    }

    private mutating func key() throws(CBORError) -> Int {
        let (type, argument) = try head()
        switch type {
        case .unsigned: if let key = Int(exactly: argument) { return key }
        case .negative: if let key = Int(exactly: argument) { return -1 - key }
        default: break
        }
        throw .keyNotInteger
    }

    private mutating func step() throws(CBORError) -> Step {
        let (type, argument) = try head()
        switch type {
        case .unsigned: return .whole(.unsigned(argument))
        case .negative: return .whole(.negative(argument))
        case .bytes: return .whole(.bytes(Array(try take(argument))))
        case .text: return .whole(.text(try text(argument)))
        case .array:
            // An item takes one byte at least, so a larger claim cannot be true.
            guard argument <= UInt64(remaining) else { throw .truncated }
            return .opened(Open(remaining: Int(argument)))
        case .map:
            guard argument <= UInt64(remaining / 2) else { throw .truncated }
            return .opened(Open(remaining: Int(argument), map: CBORMap()))
        case .simple where argument == 20 || argument == 21: return .whole(.bool(argument == 21))
        case .tag, .simple: throw .notAllowed
        }
    }

    /// The kind of the next item and the number that belongs to it.
    private mutating func head() throws(CBORError) -> (CBOR.MajorType, UInt64) {
        guard let first = try take(1).first, let type = CBOR.MajorType(rawValue: first >> 5) else { throw .truncated }
        let information = first & 0x1F
        // Of the simple values only true and false exist, and these are short; what follows a longer head is a float.
        if type == .simple, information >= 24, information < 28 { throw .notAllowed }
        switch information {
        case ..<24: return (type, UInt64(information))
        case 24..<28:
            let width = 1 << Int(information - 24)
            let argument = try take(UInt64(width)).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            let least: [Int: UInt64] = [1: 24, 2: 0x100, 4: 0x1_0000, 8: 0x1_0000_0000]
            guard let least = least[width], argument >= least else { throw .notShortest }
            return (type, argument)
        case 31: throw .indefiniteLength
        default: throw .reserved
        }
    }

    private mutating func take(_ count: UInt64) throws(CBORError) -> ArraySlice<UInt8> {
        guard count <= UInt64(remaining) else { throw .truncated }
        let end = position + Int(count)
        defer { position = end }
        return bytes[position..<end]
    }

    private mutating func text(_ count: UInt64) throws(CBORError) -> String {
        let content = try take(count)
        guard let text = String(validating: content, as: UTF8.self) else { throw .notUTF8 }
        try WireText.check(text)
        return text
    }
}
