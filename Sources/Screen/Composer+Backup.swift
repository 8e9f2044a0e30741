/// The pages of a backup on a USB stick, and of one that is restored.
extension Composer {
    func backup(_ backup: Scene.Backup, _ page: Page) -> [Drawing.Element] {
        let palette = page.palette
        var items: [Stack.Item] = [
            .text(text.backupTitles(backup.kind), Style(11, atLeast: 5, palette.text, .bold, lines: 3))
        ]
        if let percent = backup.percent {
            items += [
                .gap(3),
                .text(
                    leftToRight("\(min(max(percent, 0), 100)) %", limit: 6),
                    Style(16, atLeast: 6, palette.text, .bold)
                ),
            ]
        }
        items += [.gap(3), .text(text.backupDetails(backup.kind), Style(6, atLeast: 3.6, palette.text, lines: 4))]
        if let file = backup.file.map({ leftToRight($0, limit: 60) }), !file.isEmpty {
            items += [.gap(2), .text(file, Style(4.4, atLeast: 2.6, palette.quiet))]
        }
        return centred(items, page)
    }

    static func palette(of kind: Scene.Backup.Kind) -> Palette {
        switch kind {
        case .writing, .reading, .restoring: .processing
        case .written, .whole, .restored, .notWritten, .notUsable, .notRestored: .calm
        }
    }
}
