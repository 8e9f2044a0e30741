import CLinuxInput

/// One event of an input device, as the kernel writes it. Source: linux/input.h, `struct input_event`.
struct InputEvent: Sendable, Equatable {
    /// When the kernel had it, by its monotonic clock. Only differences count.
    var time: Duration
    var type: UInt16
    var code: UInt16
    var value: Int32

    static let bytes = MemoryLayout<input_event>.size
    private static let typeOffset = MemoryLayout<timeval>.size
}

extension InputEvent {
    /// The bytes of exactly one event, the lowest byte first, as on every machine that Swift has for Linux.
    init(_ bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == Self.bytes)
        func number(_ offset: Int, bytes count: Int) -> UInt64 {
            let start = bytes.startIndex + offset
            return bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        // What no clock says is cut: nonsense must not overflow.
        let half = Self.typeOffset / 2
        time = .seconds(number(0, bytes: half) & 0xFF_FFFF_FFFF) + .microseconds(number(half, bytes: half) & 0xFFF_FFFF)
        type = UInt16(number(Self.typeOffset, bytes: 2))
        code = UInt16(number(Self.typeOffset + 2, bytes: 2))
        value = Int32(truncatingIfNeeded: number(Self.typeOffset + 4, bytes: 4))
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
