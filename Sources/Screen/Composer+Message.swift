/// The page of what the shop's till has to say.
extension Composer {
    /// Above everything it says that it is no payment; with a code beside it the words stand where a charge has its amount.
    func message(
        _ message: Scene.Message,
        _ page: Page,
        withholding: Bool
    ) -> ([Drawing.Element], QRShown) {
        let band = Stack.Item.note(
            text.messageIsNoPayment,
            Style(4.2, atLeast: 3.2, Palette.bandText, .bold, lines: 3),
            ground: Palette.bandGround
        )
        let words = words(of: message, page)
        guard let code = message.code else {
            return (centred([band, .gap(5)] + words, page), .none)
        }
        return withCode(code, page, withholding: withholding) { room, _ in
            switch room {
            case .beside(let frame):
                return Stack(items: [band, .space] + words + [.space]).compose(in: frame, page: page)
            case .around(let above, let below):
                return Stack(items: [band, .space], alignment: .centre).compose(in: above, page: page)
                    + Stack(items: words + [.space], alignment: .centre).compose(in: below, page: page)
            }
        }
    }

    private func words(of message: Scene.Message, _ page: Page) -> [Stack.Item] {
        var items: [Stack.Item] = []
        let title = DisplayText.clean(message.title, limit: 60)
        if !title.isEmpty { items.append(.text(title, Style(10, atLeast: 4.6, page.palette.text, .bold, lines: 3))) }
        let detail = DisplayText.clean(message.text, limit: 200)
        if !detail.isEmpty {
            items += [.gap(2), .text(detail, Style(6, atLeast: 3.4, page.palette.text, lines: 6))]
        }
        guard !message.options.isEmpty else { return items }
        items.append(.gap(2))
        for (index, option) in message.options.prefix(6).enumerated() {
            // Isolated, so that an answer that reads the other way does not take its number along.
            let words = "\(index + 1)  \u{2068}\(DisplayText.clean(option, limit: 40))\u{2069}"
            items += [.gap(1), .text(words, Style(6, atLeast: 3.4, page.palette.text, .bold, lines: 2))]
        }
        return items + [.gap(2.5), .text(text.messageAnswer, Style(4.6, atLeast: 3.2, page.palette.quiet, lines: 2))]
    }
}
