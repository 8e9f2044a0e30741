import Testing

/// Events as the kernel writes them on this machine: two 64-bit words of time, type, code, value.
enum Events {
    /// - Parameter milliseconds: Of the kernel's clock.
    static func event(_ type: UInt16, _ code: UInt16, _ value: Int32, at milliseconds: UInt64 = 1) -> [UInt8] {
        func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
            (0..<value.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        return bytes(milliseconds / 1000) + bytes(milliseconds % 1000 * 1000) + bytes(type) + bytes(code) + bytes(value)
    }

    static let report = event(0, 0, 0)
    static let dropped = event(0, 3, 0)

    /// A key of a USB keypad going down and up, with the usage that comes before it.
    static func press(_ code: UInt16, usage: Int32 = 0, at start: UInt64 = 1, for milliseconds: UInt64 = 70) -> [UInt8]
    {
        event(4, 4, usage) + event(1, code, 1, at: start) + report
            + event(4, 4, usage) + event(1, code, 0, at: start + milliseconds) + report
    }

    static func down(_ code: UInt16) -> [UInt8] { event(1, code, 1) + report }
    static func up(_ code: UInt16) -> [UInt8] { event(1, code, 0) + report }

    /// `7 5 Enter` in the form of the kernel (x86-64), written by hand, with scan codes as keypads send them.
    static let typed: [UInt8] = [
        0x5e, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x1d, 0x4d, 0x08, 0, 0, 0, 0, 0, 0x04, 0, 0x04, 0, 0x5f, 0, 0x07, 0,
        0x5e, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x1d, 0x4d, 0x08, 0, 0, 0, 0, 0, 0x01, 0, 0x47, 0, 0x01, 0, 0, 0,
        0x5e, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x1d, 0x4d, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0x5e, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x44, 0x9c, 0x09, 0, 0, 0, 0, 0, 0x04, 0, 0x04, 0, 0x5f, 0, 0x07, 0,
        0x5e, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x44, 0x9c, 0x09, 0, 0, 0, 0, 0, 0x01, 0, 0x47, 0, 0, 0, 0, 0,
        0x5e, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x44, 0x9c, 0x09, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0x5f, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x10, 0x27, 0x00, 0, 0, 0, 0, 0, 0x01, 0, 0x4c, 0, 0x01, 0, 0, 0,
        0x5f, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x10, 0x27, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0x5f, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x20, 0x4e, 0x00, 0, 0, 0, 0, 0, 0x01, 0, 0x4c, 0, 0x02, 0, 0, 0,
        0x5f, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x20, 0x4e, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0x5f, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x30, 0x75, 0x00, 0, 0, 0, 0, 0, 0x01, 0, 0x60, 0, 0x01, 0, 0, 0,
        0x5f, 0x7f, 0x92, 0x6a, 0, 0, 0, 0, 0x30, 0x75, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ]
}
