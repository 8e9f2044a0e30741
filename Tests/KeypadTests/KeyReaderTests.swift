import Payments
import Testing

@testable import Keypad

struct KeyReaderTests {
    private func keys(_ bytes: [UInt8], by step: Int = 1 << 20) -> [KeyReader.Output] {
        var reader = KeyReader()
        return stride(from: 0, to: bytes.count, by: step).flatMap { start in
            reader.take(bytes[start..<min(start + step, bytes.count)], at: .milliseconds(start * 20))
        }
    }

    /// However the bytes come, the keys are the same, and a key that repeats while it is held counts once.
    @Test(arguments: [1, 5, 23, 24, 25, 100, 4096]) func typedKeysAreRead(step: Int) {
        #expect(keys(Events.typed, by: step) == [.key(.digit(7)), .key(.digit(5)), .key(.enter)])
    }

    @Test func everyDigitOfPadAndRowIsItself() {
        let pad: [UInt16] = [82, 79, 80, 81, 75, 76, 77, 71, 72, 73]
        let row: [UInt16] = [11, 2, 3, 4, 5, 6, 7, 8, 9, 10]
        for codes in [pad, row] {
            for (digit, code) in codes.enumerated() {
                #expect(keys(Events.press(code)) == [.key(.digit(UInt8(digit)))])
            }
        }
    }

    @Test(arguments: [
        (UInt16(96), CounterKey.enter), (28, .enter), (78, .plus), (74, .clear), (111, .clear), (14, .backspace),
        (1, .cancel),
        (69, .cancel), (98, .cancel), (55, .zeros(2)), (83, .point), (121, .point), (52, .point), (57, .other),
        (12, .other), (13, .other), (16, .other), (30, .other), (50, .other), (53, .other), (117, .other),
    ]) func everyOtherKeyHasItsMeaning(code: UInt16, key: CounterKey) {
        #expect(keys(Events.press(code)) == [.key(key)])
    }

    /// Keypads with a Num Lock of their own press the machine's around each key: what is typed on them is an amount, and no
    /// charge is cancelled.
    @Test func aKeypadThatPressesNumLockByItselfTypes() {
        let typed = [UInt16(79), 82, 82, 96].enumerated().flatMap { index, code in
            let start = UInt64(index) * 400
            return Events.press(69, at: start, for: 16) + Events.press(code, at: start + 24)
                + Events.press(69, at: start + 102, for: 8)
        }
        #expect(keys(typed) == [.key(.digit(1)), .key(.digit(0)), .key(.digit(0)), .key(.enter)])
        let nested = Events.event(1, 69, 1, at: 3_000) + Events.press(80, at: 3_008) + Events.event(1, 69, 0, at: 3_090)
        #expect(keys(nested) == [.key(.digit(2))], "held around the key, as long as the finger")
        #expect(
            keys(Events.press(69, at: 0, for: 40) + Events.press(69, at: 500, for: 2_000)) == [
                .key(.cancel), .key(.cancel),
            ]
        )
    }

    /// However long such a keypad holds Num Lock before Enter: no question is answered in the moment that it comes.
    @Test func theEnterThatNumLockComesWithAnswersNothing() {
        let enter = Events.press(69, at: 0, for: 48) + Events.press(96, at: 56)
        #expect(keys(enter) == [.key(.cancel)])
        #expect(keys(enter + Events.press(96, at: 900)) == [.key(.cancel), .key(.enter)])
    }

    /// One key of several going up after events were dropped is nobody's wish to cancel.
    @Test func numLockThatGoesUpAfterDroppedEventsIsNothing() {
        let bytes = Events.event(1, 69, 1, at: 0) + Events.dropped + Events.report + Events.event(1, 69, 0, at: 100)
        #expect(keys(bytes) == [.lost])
    }

    /// A key that is worn presses twice. The second Enter of a sum is one of somebody who has read what it asks.
    @Test func enterTwiceAtOnceIsOnce() {
        func enters(_ starts: UInt64...) -> Int { keys(starts.flatMap { Events.press(96, at: $0, for: 5) }).count }
        #expect(enters(1_000, 1_012, 1_150, 1_340) == 1)
        #expect(enters(1_000, 1_012, 1_218) == 2)
        #expect(enters(1_000, 1_400) == 2)
        #expect(enters(900_000, 1_000) == 2, "a clock that was set back")
        let held = Events.press(96, at: 1_000, for: 300) + Events.press(96, at: 1_305, for: 4)
        #expect(keys(held) == [.key(.enter)], "it bounces as it is let go")
    }

    /// Linux has no code for them: only the usage tells them from each other.
    @Test func doubleAndTripleZeroAreKnownByTheirUsage() {
        #expect(keys(Events.press(240, usage: 0x7_00B0)) == [.key(.zeros(2))])
        #expect(keys(Events.press(240, usage: 0x7_00B1)) == [.key(.zeros(3))])
        #expect(keys(Events.press(240, usage: 0x7_00C0)) == [])
        #expect(keys(Events.event(4, 4, 0x7_00B0) + Events.report + Events.press(240)) == [])
    }

    /// Left, Shift, F1, louder, a mouse: none of them stands for something in an amount.
    @Test(arguments: [UInt16(105), 42, 59, 115, 272])
    func aKeyThatTypesNothingIsNothing(code: UInt16) { #expect(keys(Events.press(code)) == []) }

    @Test func miceAndNonsenseAreNothing() {
        #expect(keys(Events.press(272) + Events.event(2, 0, 5) + Events.event(99, 99, 99)) == [])
        #expect(keys([UInt8](repeating: 0xFF, count: 24 * 50)) == [])
    }

    /// What was dropped is said once, what comes before the next report is not believed, and the keys that are down are asked for.
    @Test func droppedEventsAreSaidAndNotGuessed() {
        var reader = KeyReader()
        let bytes = Events.dropped + Events.event(1, 79, 1) + Events.report
        #expect(reader.take(bytes[...], at: .zero) == [.lost])
        #expect(reader.needsState)
        #expect(reader.take(state: [79]) == [])
        #expect(!reader.needsState)
        #expect(reader.take(Events.press(80)[...], at: .seconds(1)) == [.key(.digit(2))])
    }

    /// A scanner, or a device that wants harm: what it typed is not charged, and it is not listened to until it is quiet.
    @Test func aDeviceThatTypesFasterThanPeopleIsMuted() {
        var reader = KeyReader()
        var outputs: [KeyReader.Output] = []
        for index in 0..<10_000 {
            outputs += reader.take(Events.press(79)[...], at: .microseconds(index * 100))
        }
        #expect(outputs.count { $0 == .key(.digit(1)) } <= 11)
        #expect(outputs.count { $0 == .lost } == 1)
        #expect(outputs.last == .lost)
        #expect(reader.isMuted)
        #expect(reader.take(Events.press(96)[...], at: .milliseconds(2500)) == [])
        #expect(reader.take(Events.press(96, at: 5_000)[...], at: .milliseconds(4600)) == [.key(.enter)])
    }

    @Test func quickFingersAreNotMuted() {
        var reader = KeyReader()
        var outputs: [KeyReader.Output] = []
        // Eight keys a second for a minute, each `00` two presses of `0` at once.
        for index in 0..<480 {
            outputs += reader.take(Events.press(82)[...], at: .milliseconds(index * 125))
            if index.isMultiple(of: 4) {
                outputs += reader.take(Events.press(82)[...], at: .milliseconds(index * 125 + 9))
            }
        }
        #expect(outputs.count == 600)
        #expect(!outputs.contains(.lost))
    }

    @Test func plusAndMinusHeldTogetherAreNeither() {
        var reader = KeyReader()
        #expect(reader.take(Events.down(78)[...], at: .zero) == [.key(.plus)])
        #expect(reader.take(Events.down(74)[...], at: .seconds(1)) == [.chord(isDown: true)])
        #expect(reader.take(Events.up(78)[...], at: .seconds(2)) == [.chord(isDown: false)])
        #expect(reader.take(state: [78, 74]) == [.chord(isDown: true)])
    }

    @Test func aDeviceWithEveryKeyDownIsNotRemembered() {
        var reader = KeyReader()
        for code in UInt16(1)..<700 { _ = reader.take(Events.down(code)[...], at: .zero) }
        #expect(reader.down.count <= 64)
    }

    @Test func onlyKeypadsAndKeyboardsAreTaken() {
        func bits(_ keys: [Int32]) -> [UInt8] {
            var bits = [UInt8](repeating: 0, count: 96)
            for key in keys { bits[Int(key) / 8] |= 1 << UInt8(key % 8) }
            return bits
        }
        let pad: [Int32] = [71, 72, 73, 75, 76, 77, 79, 80, 81, 82]
        #expect(InputDevice.isKeypad(keys: bits(pad + [96])))
        #expect(InputDevice.isKeypad(keys: bits(Array(2...11) + [28])))
        #expect(!InputDevice.isKeypad(keys: bits(pad)), "without Enter")
        #expect(!InputDevice.isKeypad(keys: bits([116])), "a power button")
        #expect(!InputDevice.isKeypad(keys: bits([272, 273])), "a mouse")
        #expect(!InputDevice.isKeypad(keys: []), "no answer")
    }
}
