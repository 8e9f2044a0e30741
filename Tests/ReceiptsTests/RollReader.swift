import Glibc

@testable import Receipts

/// Reads a printer's bytes as a printer does, by the command set alone; whatever it does not know, it refuses.
struct RollReader {
    struct Line: Equatable {
        var text: String
        var isBold: Bool
        var isHigh: Bool
        var isCentred: Bool
    }

    enum Fault: Error, Equatable { case unknown([UInt8]), cutShort, control(UInt8) }

    private(set) var lines: [Line] = []
    private(set) var codes: [String] = []
    /// Rows of pictures, one below the other, true where a dot is black.
    private(set) var rows: [[Bool]] = []
    private(set) var isPictureCentred = false
    private(set) var cuts = 0
    private(set) var kicks = 0
    private(set) var feeds = 0
    private(set) var initialisations = 0
    private(set) var codePage: UInt8 = 0

    private var text: [UInt8] = []
    private var (isBold, isHigh, isCentred) = (false, false, false)
    private var stored: [UInt8] = []
    private let alphabet: String

    /// - Parameter alphabet: The name that the C library knows the code page by.
    init(_ bytes: [UInt8], alphabet: String) throws {
        self.alphabet = alphabet
        var rest = bytes[...]
        while !rest.isEmpty { try take(&rest) }
    }

    private static func next(_ rest: inout ArraySlice<UInt8>) throws -> UInt8 {
        guard let byte = rest.popFirst() else { throw Fault.cutShort }
        return byte
    }

    private mutating func take(_ rest: inout ArraySlice<UInt8>) throws {
        let first = try Self.next(&rest)
        switch first {
        case 0x0A: endLine()
        case 0x1B: try escape(&rest)
        case 0x1D: try group(&rest)
        case 0x1C:
            let command = try Self.next(&rest)
            guard command == 0x2E else { throw Fault.unknown([first, command]) }
        case 0x20...0x7E, 0x80...0xFF: text.append(first)
        default: throw Fault.control(first)
        }
    }

    private mutating func escape(_ rest: inout ArraySlice<UInt8>) throws {
        let command = try Self.next(&rest)
        switch command {
        case 0x40:
            initialisations += 1
            (isBold, isHigh, isCentred, codePage) = (false, false, false, 0)
        case 0x45: isBold = try Self.next(&rest) & 1 == 1
        case 0x61: isCentred = try Self.next(&rest) == 1
        case 0x64: feeds += Int(try Self.next(&rest))
        case 0x52: guard try Self.next(&rest) == 0 else { throw Fault.unknown([0x1B, command]) }
        case 0x74: codePage = try Self.next(&rest)
        case 0x70:
            for _ in 0..<3 { _ = try Self.next(&rest) }
            kicks += 1
        default: throw Fault.unknown([0x1B, command])
        }
    }

    private mutating func group(_ rest: inout ArraySlice<UInt8>) throws {
        let command = try Self.next(&rest)
        switch command {
        case 0x21: isHigh = try Self.next(&rest) & 0x07 == 1
        case 0x56:
            let (way, feed) = (try Self.next(&rest), try Self.next(&rest))
            guard way == 66, feed == 0 else { throw Fault.unknown([0x1D, command, way, feed]) }
            cuts += 1
        case 0x76: try picture(&rest)
        case 0x28:
            guard try Self.next(&rest) == 0x6B else { throw Fault.unknown([0x1D, command]) }
            let count = Int(try Self.next(&rest)) + Int(try Self.next(&rest)) * 256
            guard count >= 2, rest.count >= count else { throw Fault.cutShort }
            let parameters = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            try symbol(parameters)
        default: throw Fault.unknown([0x1D, command])
        }
    }

    private mutating func picture(_ rest: inout ArraySlice<UInt8>) throws {
        let head = try (0..<6).map { _ in try Self.next(&rest) }
        let (stride, height) = (Int(head[2]) + Int(head[3]) * 256, Int(head[4]) + Int(head[5]) * 256)
        guard head[0] == 0x30, head[1] == 0, (1...72).contains(stride), (1...2303).contains(height) else {
            throw Fault.unknown([0x1D, 0x76] + head)
        }
        guard rest.count >= stride * height else { throw Fault.cutShort }
        isPictureCentred = isCentred
        for _ in 0..<height {
            let row = rest.prefix(stride)
            rest = rest.dropFirst(stride)
            rows.append(row.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 == 1 } })
        }
    }

    private mutating func symbol(_ parameters: [UInt8]) throws {
        switch (parameters[0], parameters[1]) {
        case (49, 65) where parameters.count == 4, (49, 67) where parameters.count == 3,
            (49, 69) where parameters.count == 3:
            break
        case (49, 80) where parameters.count > 3 && parameters[2] == 48: stored = Array(parameters.dropFirst(3))
        case (49, 81) where parameters == [49, 81, 48]: codes.append(String(decoding: stored, as: UTF8.self))
        default: throw Fault.unknown(parameters)
        }
    }

    private mutating func endLine() {
        let words = Self.decode(text, from: alphabet)
        if !text.isEmpty { lines.append(Line(text: words, isBold: isBold, isHigh: isHigh, isCentred: isCentred)) }
        text = []
    }

    /// By the C library's tables, which are not ours.
    static func decode(_ bytes: [UInt8], from alphabet: String) -> String {
        guard let converter = unsafe iconv_open("UTF-8", alphabet), Int(bitPattern: converter) != -1 else { return "" }
        defer { unsafe iconv_close(converter) }
        var input = bytes.map { CChar(bitPattern: $0) }
        var output = [CChar](repeating: 0, count: bytes.count * 4 + 4)
        let written = unsafe input.withUnsafeMutableBufferPointer { source in
            unsafe output.withUnsafeMutableBufferPointer { target in
                var (from, left) = (source.baseAddress, source.count)
                var (to, room) = (target.baseAddress, target.count)
                _ = unsafe iconv(converter, &from, &left, &to, &room)
                return target.count - room
            }
        }
        return String(decoding: output.prefix(written).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
