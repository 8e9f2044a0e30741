import CLinuxInput
import Payments

/// Turns one device's events into keys of the counter.
///
/// Only a key going down counts, for Num Lock its going up: what is held does not repeat. What the kernel had to drop is said
/// and never guessed.
struct KeyReader: Sendable {
    enum Output: Sendable, Equatable {
        case key(CounterKey)
        /// The kernel dropped events, or the device types faster than people do.
        case lost
        /// ``heldTogether`` has gone down or up.
        case chord(isDown: Bool)
    }

    private var events = InputReader()
    /// Keys that are down, of those that mean something here.
    private(set) var down: Set<UInt16> = []
    /// Until the next report everything is worthless. Source: kernel, Documentation/input/event-codes.rst, SYN_DROPPED.
    private var isDropping = false
    /// The usage of the key that comes next, for keys that Linux has no code for.
    private var scan: Int32?
    private var allowance = Allowance()

    /// Set until somebody asked the device which keys are down now.
    private(set) var needsState = false
    /// Since when Num Lock is down, and nothing else was pressed.
    private var numLockDown: Duration?
    /// From when on Enter is one of somebody who has read what it answers.
    private var enterCounts: Duration?

    /// Many keypads have a Num Lock of their own and press the machine's around each key, for a report or two of some 10 ms. A
    /// finger stays longer.
    static let shortestPress = Duration.milliseconds(40)
    /// A worn key presses twice, going down or going up, and a second Enter charges a sum.
    static let enterPause = Duration.milliseconds(200)

    /// Held together for long they ask to erase the terminal: `+` and `-`, which every keypad has, and no amount.
    static let heldTogether: Set<UInt16> = [UInt16(KEY_KPPLUS), UInt16(KEY_KPMINUS)]

    /// - Parameter now: The monotonic clock's.
    mutating func take(_ bytes: ArraySlice<UInt8>, at now: Duration) -> [Output] {
        var outputs: [Output] = []
        for event in events.take(bytes) { take(event, now, &outputs) }
        return outputs
    }

    /// What the device says is down, after it had to drop events.
    mutating func take(state: Set<UInt16>) -> [Output] {
        needsState = false
        let was = isChord
        down = state
        return was == isChord ? [] : [.chord(isDown: isChord)]
    }

    private var isChord: Bool { Self.heldTogether.isSubset(of: down) }

    private mutating func take(_ event: InputEvent, _ now: Duration, _ outputs: inout [Output]) {
        switch (Int32(event.type), Int32(event.code)) {
        case (EV_SYN, SYN_DROPPED):
            (isDropping, numLockDown) = (true, nil)
            outputs.append(.lost)
        case (EV_SYN, SYN_REPORT):
            if isDropping { (isDropping, needsState) = (false, true) }
            scan = nil
        case _ where isDropping: break
        case (EV_MSC, MSC_SCAN): scan = event.value
        case (EV_KEY, _): take(key: event, now, &outputs)
        default: break
        }
    }

    private mutating func take(key event: InputEvent, _ now: Duration, _ outputs: inout [Output]) {
        let was = isChord
        switch event.value {
        case 0:
            down.remove(event.code)
            if isEnter(event) { enterCounts = event.time + Self.enterPause }
            if isNumLock(event), let since = numLockDown {
                numLockDown = nil
                guard event.time - since >= Self.shortestPress else { break }
                press(.cancel, now, &outputs)
                // It may ask something, and the Enter that such a keypad has it around is no answer.
                enterCounts = event.time + Self.enterPause
            }
        case 1:
            // A device that claims to have every key down is not remembered.
            if down.count < 64 { down.insert(event.code) }
            // `+` and `-` on their way to being held together are neither.
            if isChord { break }
            numLockDown = isNumLock(event) ? event.time : nil
            guard let key = CounterKey(linux: event.code, scan: scan) else { break }
            if isEnter(event) {
                defer { enterCounts = event.time + Self.enterPause }
                // A clock that was set back does not keep anybody waiting.
                if let enterCounts, (enterCounts - Self.enterPause..<enterCounts).contains(event.time) { break }
            }
            press(key, now, &outputs)
        default: break  // 2: it repeats.
        }
        if was != isChord { outputs.append(.chord(isDown: isChord)) }
    }

    private func isNumLock(_ event: InputEvent) -> Bool { event.code == UInt16(KEY_NUMLOCK) }
    private func isEnter(_ event: InputEvent) -> Bool { [KEY_ENTER, KEY_KPENTER].contains(Int32(event.code)) }

    private mutating func press(_ key: CounterKey, _ now: Duration, _ outputs: inout [Output]) {
        switch allowance.take(at: now) {
        case .granted: outputs.append(.key(key))
        case .refused(let isFirst): if isFirst { outputs.append(.lost) }
        }
    }

    /// Whether the device types faster than people do and is not listened to now.
    var isMuted: Bool { allowance.isMuted }
}

extension CounterKey {
    /// Source: linux/input-event-codes.h; HID Usage Tables 1.5, page 0x07, for the keys `00` and `000`, which Linux knows as
    /// unknown.
    init?(linux code: UInt16, scan: Int32?) {
        switch Int32(code) {
        case KEY_KP7...KEY_KP9: self = .digit(UInt8(Int32(code) - KEY_KP7 + 7))
        case KEY_KP4...KEY_KP6: self = .digit(UInt8(Int32(code) - KEY_KP4 + 4))
        case KEY_KP1...KEY_KP3: self = .digit(UInt8(Int32(code) - KEY_KP1 + 1))
        case KEY_KP0, KEY_0: self = .digit(0)
        case KEY_1...KEY_9: self = .digit(UInt8(Int32(code) - KEY_1 + 1))
        case KEY_UNKNOWN where scan == 0x7_00B0: self = .zeros(2)
        case KEY_UNKNOWN where scan == 0x7_00B1: self = .zeros(3)
        case KEY_KPASTERISK: self = .zeros(2)
        case KEY_KPDOT, KEY_KPCOMMA, KEY_DOT, KEY_COMMA: self = .point
        case KEY_KPPLUS: self = .plus
        case KEY_KPENTER, KEY_ENTER: self = .enter
        case KEY_BACKSPACE: self = .backspace
        case KEY_KPMINUS, KEY_DELETE: self = .clear
        case KEY_ESC, KEY_KPSLASH: self = .cancel
        case KEY_MINUS...KEY_EQUAL, KEY_Q...KEY_RIGHTBRACE, KEY_A...KEY_GRAVE, KEY_BACKSLASH...KEY_M, KEY_SLASH,
            KEY_SPACE,
            KEY_102ND, KEY_KPEQUAL, KEY_KPLEFTPAREN, KEY_KPRIGHTPAREN:
            self = .other
        default: return nil
        }
    }
}

/// How fast people type: more is a scanner, a broken device, or one that wants harm.
struct Allowance: Sendable, Equatable {
    enum Answer: Equatable { case granted, refused(isFirst: Bool) }

    /// Keys at once, as a `00` key that presses `0` twice among quick fingers.
    static let burst = 10.0
    static let perSecond = 12.0
    /// So long it must be quiet before it is listened to again.
    static let quiet = Duration.seconds(2)

    private var left = burst
    private var last: Duration?
    private(set) var isMuted = false

    mutating func take(at now: Duration) -> Answer {
        let passed = last.map { max(.zero, now - $0) } ?? .zero
        last = now
        if isMuted {
            guard passed >= Self.quiet else { return .refused(isFirst: false) }
            (isMuted, left) = (false, Self.burst)
        }
        left = min(Self.burst, left + passed / .seconds(1) * Self.perSecond)
        guard left >= 1 else {
            isMuted = true
            return .refused(isFirst: true)
        }
        left -= 1
        return .granted
    }
}
