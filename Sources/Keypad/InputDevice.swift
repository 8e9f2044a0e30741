import CLinuxInput
import Glibc

/// What is asked of an input device beside its bytes. Tests, whose devices are pipes, answer themselves.
struct InputQuestions: Sendable {
    /// Whether it has the keys of a keypad or a keyboard.
    var isKeypad: @Sendable (Int32) -> Bool
    /// Keeps its keys from everybody else. False where somebody else has it.
    var grab: @Sendable (Int32) -> Bool
    /// The keys that are down.
    var keysDown: @Sendable (Int32) -> Set<UInt16>
    /// Its own name. From outside: for the log only.
    var name: @Sendable (Int32) -> String

    static let kernel = InputQuestions(
        isKeypad: { InputDevice.isKeypad(keys: InputDevice.keyBits($0, InputDevice.capabilities)) },
        grab: { descriptor in
            // Where the kernel refuses it, a step of the machine's clock can lose one key.
            var clock = CLOCK_MONOTONIC
            _ = unsafe ioctl(descriptor, InputDevice.clockRequest, &clock)
            return ioctl(descriptor, InputDevice.grabRequest, 1) == 0
        },
        keysDown: { descriptor in
            let bits = InputDevice.keyBits(descriptor, InputDevice.state)
            return Set((0..<UInt16(bits.count * 8)).filter { InputDevice.isSet($0, in: bits) })
        },
        name: InputDevice.name
    )
}

enum InputDevice {
    /// Bytes of a bit for each key. Source: linux/input-event-codes.h, `KEY_CNT`.
    static let keyBytes = Int(KEY_MAX + 1) / 8

    // The kernel's macros for requests are not imported. Source: asm-generic/ioctl.h; linux/input.h.
    private static func read(_ number: UInt, bytes: Int) -> UInt {
        2 << 30 | UInt(bytes) << 16 | UInt(UInt8(ascii: "E")) << 8 | number
    }
    /// `EVIOCGBIT(EV_KEY, …)`.
    static let capabilities = read(0x20 + UInt(EV_KEY), bytes: keyBytes)
    /// `EVIOCGKEY(…)`.
    static let state = read(0x18, bytes: keyBytes)
    /// `EVIOCGNAME(…)`.
    private static let nameRequest = read(0x06, bytes: 80)
    /// `EVIOCGRAB`: `_IOW('E', 0x90, int)`.
    static let grabRequest: UInt = 1 << 30 | 4 << 16 | UInt(UInt8(ascii: "E")) << 8 | 0x90
    /// `EVIOCSCLOCKID`: `_IOW('E', 0xa0, int)`.
    static let clockRequest: UInt = 1 << 30 | 4 << 16 | UInt(UInt8(ascii: "E")) << 8 | 0xA0

    /// Empty where the device does not answer.
    static func keyBits(_ descriptor: Int32, _ request: UInt) -> [UInt8] {
        var bits = [UInt8](repeating: 0, count: keyBytes)
        return unsafe ioctl(descriptor, request, &bits) >= 0 ? bits : []
    }

    static func isSet(_ key: UInt16, in bits: [UInt8]) -> Bool {
        let index = Int(key) / 8
        return index < bits.count && bits[index] >> (key % 8) & 1 == 1
    }

    /// All digits and an Enter, on a keypad or in a row: no mouse, no power button, no remote control.
    static func isKeypad(keys bits: [UInt8]) -> Bool {
        func has(_ keys: some Sequence<Int32>) -> Bool { keys.allSatisfy { isSet(UInt16($0), in: bits) } }
        let pad = has([KEY_KP0, KEY_KP1, KEY_KP2, KEY_KP3, KEY_KP4, KEY_KP5, KEY_KP6, KEY_KP7, KEY_KP8, KEY_KP9])
        return (pad || has(KEY_1...KEY_0)) && (has([KEY_KPENTER]) || has([KEY_ENTER]))
    }

    static func name(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 80)
        guard unsafe ioctl(descriptor, nameRequest, &bytes) > 0 else { return "without a name" }
        // Whoever built the device chose it.
        let visible = bytes.prefix { $0 != 0 }.filter { (0x20...0x7E).contains($0) }
        return String(decoding: visible, as: UTF8.self)
    }
}
