/// Why bytes are not one item of the CBOR that BPP/1 allows. Source: BPP/1, section 8, rules E1 and E3.
public enum CBORError: Error, Sendable, Equatable {
    /// The bytes end inside an item, or an item claims more than there is.
    case truncated
    /// Bytes follow the item.
    case trailingBytes
    /// More bytes than the caller takes.
    case tooLong
    /// A number or a length in more bytes than it needs.
    case notShortest
    /// A length that is not said in advance.
    case indefiniteLength
    /// Additional information 28, 29 or 30.
    case reserved
    /// A tag, a float, null, undefined or another simple value.
    case notAllowed
    /// More than four containers inside each other.
    case tooDeep
    /// A map's key is not a whole number of 64 bits.
    case keyNotInteger
    case keyTwice
    case keysUnsorted
    /// A text is not UTF-8.
    case notUTF8
    /// A text is not in normalization form C.
    case notNormalized
    /// A text holds a control character.
    case controlCharacter
}
