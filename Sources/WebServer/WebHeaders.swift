/// The fields of an HTTP head in the order they were written. Names compare without case.
///
/// A name may appear more than once (`Set-Cookie`).
public struct WebHeaders: Sendable, Equatable {
    /// One line of an HTTP head.
    public struct Field: Sendable, Equatable {
        public var name: String
        public var value: String

        public init(name: String, value: String) { (self.name, self.value) = (name, value) }
    }

    private var fields: [Field]

    public init() { fields = [] }

    public init(_ fields: some Sequence<(String, String)>) {
        self.fields = fields.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value of `name`. Setting replaces every field of that name; `nil` removes them.
    public subscript(name: String) -> String? {
        get { fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
        set {
            fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
            if let newValue { add(name, newValue) }
        }
    }

    /// Appends a field and keeps those already there: two cookies are two `Set-Cookie` fields.
    public mutating func add(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    /// All values of `name`, first written first.
    public func values(_ name: String) -> [String] {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }
}

extension WebHeaders: RandomAccessCollection {
    public var startIndex: Int { fields.startIndex }
    public var endIndex: Int { fields.endIndex }
    public subscript(position: Int) -> Field { fields[position] }
}

extension WebHeaders: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) { self.init(elements) }
}

extension String {
    /// Field names and hosts are ASCII and carry no case. Source: RFC 9110, 5.1 and 4.2.3.
    func equalsIgnoringASCIICase(_ other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { asciiLowercased($0) == asciiLowercased($1) }
    }
}

func asciiLowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
