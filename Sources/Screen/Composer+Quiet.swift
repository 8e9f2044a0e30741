/// Pages without a payment: a screen that rests, and one that says why nothing can be recorded.
extension Composer {
    /// The name alone, or nothing.
    func resting(_ idle: Scene.Idle, _ rest: Scene.Idle.Rest, _ page: Page) -> [Drawing.Element] {
        guard rest == .dim else { return [] }
        let name = DisplayText.clean(idle.merchantName, limit: 80)
        let style = Style(9, atLeast: 5, page.palette.text, lines: 3)
        return Stack(items: [.space, .text(name.isEmpty ? text.welcome : name, style), .space], alignment: .centre)
            .compose(in: page.content, page: page)
    }

    /// The gateway wants to be left alone until a time of day.
    func pause(_ until: String, of merchant: String, _ page: Page) -> [Drawing.Element] {
        outcome(
            .noSignal,
            [
                .text(text.pausedTitle, Style(10, atLeast: 5.5, page.palette.text, .bold, lines: 3)), .gap(2),
                .text(
                    text.pausedDetail(leftToRight(until, limit: 20)),
                    Style(6, atLeast: 3.6, page.palette.text, lines: 6)
                ), .gap(1.5),
                .text(text.pausedWhatToDo, Style(5, atLeast: 3.4, page.palette.quiet, lines: 4)), .gap(3),
                .text(DisplayText.clean(merchant, limit: 80), Style(4.6, atLeast: 3.6, page.palette.quiet)),
            ],
            page
        )
    }

    func storage(
        _ storage: Scene.Offline.Storage,
        of merchant: String,
        _ page: Page
    ) -> [Drawing.Element] {
        outcome(
            .slash,
            [
                .text(text.storageTitle, Style(10, atLeast: 5.5, page.palette.text, .bold, lines: 3)), .gap(2),
                .text(text.storageDetails(storage), Style(6, atLeast: 4, page.palette.text, lines: 3)), .gap(1.5),
                .text(text.storageWhatToDo(storage), Style(5, atLeast: 3.4, page.palette.quiet, lines: 6)), .gap(3),
                .text(DisplayText.clean(merchant, limit: 80), Style(4.6, atLeast: 3.6, page.palette.quiet)),
            ],
            page
        )
    }
}
