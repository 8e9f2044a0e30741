import CLinuxInput

/// One event of an input device, as the kernel writes it. Source: linux/input.h, `struct input_event`.
struct InputEvent: Sendable, Equatable {
    var type: UInt16
    var code: UInt16
    var value: Int32

    static let bytes = MemoryLayout<input_event>.size
    private static let typeOffset = MemoryLayout<timeval>.size
}

extension InputEvent {
    /// The bytes of exactly one event, in this machine's order. What the kernel's clock says is left out.
    init(_ bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == Self.bytes)
        let own = bytes.dropFirst(Self.typeOffset)
        func two(_ offset: Int) -> UInt16 {
            let low = UInt16(own[own.startIndex + offset]), high = UInt16(own[own.startIndex + offset + 1])
            return UInt16(littleEndian: low | high << 8)
        }
        (type, code) = (two(0), two(2))
        value = Int32(bitPattern: UInt32(two(4)) | UInt32(two(6)) << 16)
    }
}

/// Cuts a device's bytes into events. A rest that is no whole event waits for what follows; it never grows beyond one.
struct InputReader: Sendable {
    private var rest: [UInt8] = []

    mutating func take(_ bytes: ArraySlice<UInt8>) -> [InputEvent] {
        let all = rest + bytes
        let whole = all.count / InputEvent.bytes
        rest = Array(all.dropFirst(whole * InputEvent.bytes))
        return (0..<whole).map { index in
            InputEvent(all[index * InputEvent.bytes..<(index + 1) * InputEvent.bytes])
        }
    }
}
