/// The pages of an update of the whole system.
extension Composer {
    func update(_ update: Scene.Update, _ page: Page) -> [Drawing.Element] {
        let palette = page.palette
        var items: [Stack.Item] = [
            .text(text.updateTitles(update.kind), Style(11, atLeast: 5, palette.text, .bold, lines: 3))
        ]
        if let percent = update.percent {
            items += [
                .gap(3),
                .text(
                    leftToRight("\(min(max(percent, 0), 100)) %", limit: 6),
                    Style(16, atLeast: 6, palette.text, .bold)
                ),
            ]
        }
        items += [.gap(3), .text(text.updateDetails(update.kind), Style(6, atLeast: 3.6, palette.text, lines: 6))]
        if let version = update.version.map({ leftToRight($0, limit: 40) }), !version.isEmpty {
            items += [.gap(2), .text(version, Style(4.4, atLeast: 3.2, palette.quiet))]
        }
        return centred(items, page)
    }
}
