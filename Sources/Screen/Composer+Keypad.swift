/// The pages of the keypad beside the screen: staff type, and the customer reads along.
extension Composer {
    static func palette(of kind: Scene.Keypad.Kind) -> Palette {
        switch kind {
        case .typing, .confirming: .calm
        case .cancel, .notCharged, .notAnAmount: .cancelled
        case .release: .unknown
        case .tooLate: .processing
        case .erase, .cannotErase, .notErased, .erasing: .failed
        }
    }

    func keypad(_ keypad: Scene.Keypad, _ page: Page) -> [Drawing.Element] {
        let palette = page.palette
        let isAmount = [.typing, .notAnAmount, .confirming].contains(keypad.kind)
        var items: [Stack.Item] = [
            .text(
                text.keypadTitles(keypad.kind),
                isAmount
                    ? Style(7.5, atLeast: 4.6, palette.quiet, lines: 2)
                    : Style(10, atLeast: 5, palette.text, .bold, lines: 2)
            )
        ]
        if let amount = keypad.amountText {
            let style =
                isAmount
                ? Style(26, atLeast: 2, palette.text, .bold, lines: 2, oneLineDownTo: 9)
                : Style(14, atLeast: 2, palette.text, .bold, lines: 2, oneLineDownTo: 7)
            items += [.gap(1.5), .text(leftToRight(amount, limit: 32), style)]
        }
        if let sum = keypad.sum {
            let words = "\(text.keypadSum(sum.count)) · \(leftToRight(sum.newestText, limit: 32))"
            items += [.gap(1), .text(words, Style(5.4, atLeast: 3.6, palette.quiet, lines: 2))]
        }
        if keypad.openPayments > 0 {
            let style = Style(6.2, atLeast: 4, palette.text, .bold, lines: 3)
            items += [.gap(2), .text(text.keypadOpenPayments(keypad.openPayments), style)]
        }
        items += details(of: keypad, page)
        if let code = keypad.code { items += erasing(code, keypad.typed, page) }
        if let code = keypad.chargeCode {
            let words = "\(text.chargeCode) \(leftToRight(code, limit: 12))"
            items += [.gap(2), .text(words, Style(4.8, atLeast: 3.6, palette.quiet))]
        }
        let keys = text.keypadKeys(keypad.kind)
        if !keys.isEmpty { items += [.gap(4), .text(keys, Style(5, atLeast: 3.4, palette.text, lines: 3))] }
        return centred(items, page)
    }

    private func details(of keypad: Scene.Keypad, _ page: Page) -> [Stack.Item] {
        let usual = text.keypadDetails(keypad.kind)
        let style = Style(5.6, atLeast: 3.4, page.palette.text, lines: 5)
        let happened = DisplayText.clean(keypad.whatHappened ?? usual, limit: 200)
        var items: [Stack.Item] = happened.isEmpty ? [] : [.gap(2), .text(happened, style)]
        if let toDo = keypad.whatToDo.map({ DisplayText.clean($0, limit: 200) }), !toDo.isEmpty {
            items += [.gap(1), .text(toDo, Style(5.6, atLeast: 3.4, page.palette.text, .bold, lines: 5))]
        }
        return items
    }

    /// The code, and below it a place for each of its digits.
    private func erasing(_ code: String, _ typed: String, _ page: Page) -> [Stack.Item] {
        let places = code.indices.enumerated().map { index, _ in
            index < typed.count ? String(Array(typed)[index]) : "_"
        }
        let big = Style(10, atLeast: 4, page.palette.text, .bold, isMonospaced: true)
        return [
            .gap(1.5), .text(leftToRight(code, limit: 12), big), .gap(1),
            .text(leftToRight(places.joined(), limit: 12), big),
        ]
    }
}
