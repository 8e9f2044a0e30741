/// The page while somebody at the terminal waits for a new owner password.
extension Composer {
    func ownerReset(_ reset: Scene.OwnerReset, _ page: Page) -> [Drawing.Element] {
        let palette = page.palette
        return centred(
            [
                .text(text.ownerResetTitle, Style(10, atLeast: 4.6, palette.text, .bold, lines: 4)),
                .gap(3),
                .text(
                    text.ownerResetMinutes(max(1, reset.minutes)),
                    Style(7, atLeast: 4, palette.text, .bold, lines: 3)
                ),
                .gap(3),
                .text(text.ownerResetDetail, Style(6, atLeast: 3.6, palette.text, lines: 4)),
            ],
            page
        )
    }
}
