import Payments
import Testing
import TestSupport

/// What staff can do on the keypad, key by key.
struct KeypadDialogTests {
    typealias Dialog = KeypadDialog
    private static let id = ChargeID("01920000-0000-7000-8000-000000000001")
    private static let other = ChargeID("01920000-0000-7000-8000-000000000002")

    private static func dialog(_ change: (inout Dialog.Situation) -> Void = { _ in }) -> Dialog {
        var situation = Dialog.Situation(isUnlocked: true, mayErase: true, currency: .euro)
        change(&situation)
        var dialog = Dialog()
        _ = dialog.handle(.situation(situation), at: .zero)
        return dialog
    }

    private static func open(_ id: ChargeID, cancel: Bool = true, release: Bool = false) -> Dialog.OpenCharge {
        .init(id: id, canCancel: cancel, canRelease: release)
    }

    /// Returns what the last key asks for.
    private func type(_ keys: String, on dialog: inout Dialog, at now: Duration = .seconds(1)) -> Dialog.Action? {
        var action: Dialog.Action?
        for key in keys { action = dialog.handle(.key(AmountEntryTests.key(key)), at: now) }
        return action
    }

    private func euros(_ minorUnits: Int64) -> Money { Money(minorUnits: minorUnits, currency: .euro) }

    @Test func anAmountAndEnterIsACharge() {
        var dialog = Self.dialog()
        #expect(type("1250e", on: &dialog) == .open(euros(1250)))
        #expect(dialog.page == .opening(euros(1250)))
        #expect(type("e5e", on: &dialog) == nil, "A second Enter charges nothing a second time")
    }

    /// What stands there is not what was typed: Enter charges nothing until the key too many was taken back.
    @Test(arguments: ["1.234.50", "12.505", "12?50", "12.50+3"]) func whatIsNoAmountIsNotCharged(keys: String) {
        var dialog = Self.dialog()
        #expect(type(keys + "e", on: &dialog) == nil)
        #expect(type("e", on: &dialog) == nil)
        guard case .typing(let entry)? = dialog.page else { return #expect(Bool(false), "the amount is gone") }
        #expect(entry.isDoubtful)
    }

    @Test func anAmountIsChargedOnceTheKeyTooManyWasTakenBack() {
        var dialog = Self.dialog()
        #expect(type("12.505<e", on: &dialog) == .open(euros(1250)))
    }

    @Test func nothingIsNotCharged() {
        var dialog = Self.dialog()
        #expect(type("e", on: &dialog) == nil)
        #expect(type("5<e", on: &dialog) == nil)
        #expect(type("5ce", on: &dialog) == nil)
        #expect(type("5xe", on: &dialog) == nil)
    }

    @Test func aSumIsShownBeforeItIsCharged() {
        var dialog = Self.dialog()
        #expect(type("500+250e", on: &dialog) == nil)
        guard case .confirming(let entry)? = dialog.page else { return #expect(Bool(false), "no question") }
        #expect(entry.total == euros(750))
        #expect(type("e", on: &dialog) == .open(euros(750)))
    }

    @Test func whereTheOwnerWantsItEveryAmountIsAskedAboutOnceMore() {
        var dialog = Self.dialog { $0.asksAgain = true }
        #expect(type("500e", on: &dialog) == nil)
        #expect(type("x", on: &dialog) == nil)
        #expect(type("0e", on: &dialog) == nil, "Changed after the question: it is asked again")
        #expect(type("e", on: &dialog) == .open(euros(5000)))
    }

    /// An amount of which a key may be missing is another amount.
    @Test func anAmountThatLostAKeyIsForgotten() {
        for keys in ["12", "500+250e"] {
            var dialog = Self.dialog()
            _ = type(keys, on: &dialog)
            _ = dialog.handle(.keysLost, at: .seconds(1))
            #expect(dialog.page == nil)
            #expect(type("e", on: &dialog) == nil)
        }
    }

    @Test func anAmountThatNobodyGoesOnWithIsForgotten() {
        var dialog = Self.dialog()
        _ = type("12", on: &dialog)
        #expect(dialog.endsAt == .seconds(61))
        #expect(type("50e", on: &dialog, at: .seconds(61)) == .open(euros(50)))
    }

    @Test func aLockedKeypadDoesNothing() {
        var dialog = Self.dialog { $0.isUnlocked = false }
        #expect(type("1250e", on: &dialog) == nil)
        #expect(dialog.page == nil)
    }

    @Test func anAmountDoesNotOutliveItsTerminalItsCurrencyOrAnotherCharge() throws {
        let id = try #require(Self.id)
        for change: (inout Dialog.Situation) -> Void in [
            { $0.isUnlocked = false }, { $0.currency = .yen }, { $0.charge = Self.open(id) },
        ] {
            var dialog = Self.dialog()
            _ = type("12", on: &dialog)
            var situation = dialog.situation
            change(&situation)
            _ = dialog.handle(.situation(situation), at: .seconds(2))
            #expect(dialog.page == nil)
        }
    }

    @Test func cancellingAsksFirst() throws {
        let id = try #require(Self.id)
        var dialog = Self.dialog { $0.charge = Self.open(id) }
        #expect(type("5e", on: &dialog) == nil)
        #expect(dialog.page == nil, "Digits are for the next charge")
        #expect(type("x", on: &dialog) == nil)
        #expect(dialog.page == .askingToCancel(id))
        #expect(type("x", on: &dialog) == nil && dialog.page == nil)
        #expect(type("xe", on: &dialog) == .cancel(id))
    }

    @Test func anAnswerIsForTheChargeThatWasAskedAbout() throws {
        let (id, other) = (try #require(Self.id), try #require(Self.other))
        var dialog = Self.dialog { $0.charge = Self.open(id) }
        _ = type("x", on: &dialog)
        var situation = dialog.situation
        situation.charge = Self.open(other)
        _ = dialog.handle(.situation(situation), at: .seconds(1))
        #expect(type("e", on: &dialog) == nil)
    }

    @Test func moneyThatMayBeMovingIsNotTakenBack() throws {
        let id = try #require(Self.id)
        var dialog = Self.dialog { $0.charge = Self.open(id, cancel: false) }
        #expect(type("x", on: &dialog) == nil)
        #expect(dialog.page == .cannotCancel(id))
        #expect(type("e", on: &dialog) == nil)
        var unknown = Self.dialog { $0.charge = Self.open(id, cancel: false, release: true) }
        _ = type("x", on: &unknown)
        #expect(unknown.page == .askingToRelease(id))
        #expect(type("e", on: &unknown) == .release(id))
    }

    @Test func aQuestionGoesByItself() throws {
        let id = try #require(Self.id)
        var dialog = Self.dialog { $0.charge = Self.open(id) }
        _ = type("x", on: &dialog)
        _ = dialog.handle(.time, at: .seconds(16))
        #expect(dialog.page == nil)
        #expect(type("e", on: &dialog, at: .seconds(17)) == nil)
    }

    @Test func aRefusalIsShownAndTheNextDigitBeginsAnew() {
        let reason = Reason(code: "limit", message: "Too much.", action: "Less.")
        var dialog = Self.dialog()
        _ = type("99e", on: &dialog)
        _ = dialog.handle(.chargeRefused(reason), at: .seconds(1))
        #expect(dialog.page == .notCharged(reason))
        #expect(type("7e", on: &dialog) == .open(euros(7)))
    }

    // MARK: - Erasing

    @Test func erasingTakesTheCodeOnTheScreen() {
        var dialog = Self.dialog()
        #expect(dialog.handle(.heldForErasing, at: .zero) == .countOpenPayments)
        _ = dialog.handle(.openPayments(0, code: "471102"), at: .zero)
        #expect(type("471102", on: &dialog) == nil)
        #expect(type("e", on: &dialog) == .erase)
        #expect(dialog.page == .begunErasing)
        #expect(type("471102e", on: &dialog) == nil)
    }

    @Test(arguments: ["e", "471103e", "47110e", "x"])
    func nothingElseErases(keys: String) {
        var dialog = Self.dialog()
        _ = dialog.handle(.heldForErasing, at: .zero)
        _ = dialog.handle(.openPayments(0, code: "471102"), at: .zero)
        #expect(type(keys, on: &dialog) == nil)
        #expect(dialog.page == nil)
        #expect(type("471102e", on: &dialog) != .erase, "It has to begin anew")
    }

    @Test(arguments: [1, 3, nil]) func openPaymentsAreInTheWay(count: Int?) {
        var dialog = Self.dialog()
        _ = dialog.handle(.heldForErasing, at: .zero)
        _ = dialog.handle(.openPayments(count, code: "471102"), at: .zero)
        #expect(dialog.page == count.map { .cannotErase(openPayments: $0) } ?? .notErased)
        #expect(type("471102e", on: &dialog) != .erase)
    }

    @Test func aChargeThatBeginsMeanwhileEndsTheErasing() throws {
        let id = try #require(Self.id)
        var dialog = Self.dialog()
        _ = dialog.handle(.heldForErasing, at: .zero)
        _ = dialog.handle(.openPayments(0, code: "471102"), at: .zero)
        var situation = dialog.situation
        situation.charge = Self.open(id)
        _ = dialog.handle(.situation(situation), at: .zero)
        #expect(type("471102e", on: &dialog) == nil)
    }

    @Test func whereTheOwnerForbidsItNothingIsErased() {
        var dialog = Self.dialog { $0.mayErase = false }
        #expect(dialog.handle(.heldForErasing, at: .zero) == nil)
        _ = dialog.handle(.openPayments(0, code: "471102"), at: .zero)
        #expect(type("471102e", on: &dialog) != .erase)
    }

    /// Any events in any order: a charge is only opened by an Enter, for the amount on the screen; a charge under way is only
    /// taken back after its question; nothing is erased without the code.
    @Test(arguments: Tries.seeds(300))
    func anyEventsKeepTheRules(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let ids = [try #require(Self.id), try #require(Self.other)]
        var dialog = Self.dialog()
        var now = Duration.zero
        for _ in 0..<300 {
            now += .milliseconds(Int.random(in: 0...9000, using: &random))
            let event = Self.event(ids, &random)
            var before = dialog
            _ = before.handle(.time, at: now)
            let action = dialog.handle(event, at: now)
            switch action {
            case .open(let money):
                #expect(event == .key(.enter) && dialog.situation.isUnlocked && dialog.situation.charge == nil)
                switch before.page {
                case .typing(let entry):
                    #expect(entry.total == money && entry.earlierCount == 0 && !entry.isDoubtful)
                case .confirming(let entry): #expect(entry.total == money && !entry.isDoubtful)
                default: #expect(Bool(false), "nothing was on the screen")
                }
            case .cancel(let id): #expect(before.page == .askingToCancel(id) && event == .key(.enter))
            case .release(let id): #expect(before.page == .askingToRelease(id) && event == .key(.enter))
            case .erase: #expect(before.page == .erasing(code: "111111", typed: "111111") && event == .key(.enter))
            case .countOpenPayments, nil: break
            }
            if let end = dialog.endsAt { #expect(dialog.page != nil && end > now && end - now <= .seconds(60)) }
        }
    }

    private static func event(_ ids: [ChargeID], _ random: inout SeededGenerator) -> Dialog.Event {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: .keysLost
        case 1: .heldForErasing
        case 2: .openPayments(Int.random(in: 0...2, using: &random), code: "111111")
        case 3: .chargeRefused(Reason(code: "x", message: "x", action: "x"))
        case 4: .time
        case 5, 6:
            .situation(
                .init(
                    isUnlocked: Int.random(in: 0..<4, using: &random) > 0,
                    mayErase: .random(using: &random),
                    asksAgain: .random(using: &random),
                    currency: .random(using: &random) ? .euro : .yen,
                    charge: ids.randomElement(using: &random).flatMap { id in
                        Bool.random(using: &random)
                            ? open(id, cancel: .random(using: &random), release: .random(using: &random)) : nil
                    }
                )
            )
        default: .key(AmountEntryTests.key("0123456789d.+<?ceeex1".randomElement(using: &random) ?? "0"))
        }
    }
}
