/// A page with two codes: one for wallets, and one that phones read to find this terminal, or a form for who pays by phone.
/// Which app each is for stands in one panel with it, both cards are equally large, and a camera that is held before one does not see the other whole.
extension Composer {
    /// Nil where both are not large enough to be read: the payment's code then keeps the page.
    func twoCodes(_ charge: Scene.ChargeView, link: String, second: String, _ page: Page) -> [Drawing.Element]? {
        guard page.surface.cell == nil else { return nil }  // A window of cells has no room for two.
        var charge = charge
        // Beside its code the caption says it.
        if charge.opensForm, charge.note == .form { charge.note = nil }
        let bands = bands(charge, page)
        let alone = fit(link, page)?.module ?? QRFitting.wantedModule
        let wanted = (link: min(QRFitting.wantedModule, alone), second: QRFitting.wantedModule - 1)
        var best: Pair?
        for arrangement in [Arrangement.columns, .rows] {
            let side = codeSide(arrangement, in: panels(arrangement, in: bands.codes, page), page)
            guard let one = page.fitting.fit(link, side: side, codes: codes), one.module >= wanted.link,
                let two = page.fitting.fit(second, side: side, codes: codes), two.module >= wanted.second
            else { continue }
            let pair = Pair(arrangement: arrangement, codes: [one, two])
            if pair.smallestModule > best?.smallestModule ?? 0 { best = pair }
        }
        guard let best else { return nil }
        var elements = head(charge, bands, page)
        for (index, caption) in [firstCaption(charge), secondCaption(charge)].enumerated() {
            let panel = panels(best.arrangement, in: bands.codes, page)[index]
            elements += self.panel(panel, caption, best, index, page)
        }
        return elements
    }

    private enum Arrangement { case columns, rows }

    private struct Pair {
        let arrangement: Arrangement
        let codes: [(code: QRCode, module: Int)]

        var smallestModule: Int { codes.map(\.module).min() ?? 0 }
        /// The larger of the two with its quiet zone: both cards are as large.
        var cardSide: Int { codes.map { $0.code.widthWithQuietZone * $0.module }.max() ?? 0 }
    }

    /// Where the parts of the page go.
    private struct Bands {
        var name: PixelRect
        var facts: PixelRect
        var news: PixelRect
        var codes: PixelRect
    }

    private func bands(_ charge: Scene.ChargeView, _ page: Page) -> Bands {
        let content = page.content
        let gap = page.pixels(2.2)
        func share(_ percent: Int, from y: Int) -> PixelRect {
            PixelRect(x: content.x, y: y, width: content.width, height: content.height * percent / 100)
        }
        let news = (charge.note == nil ? 0 : 1) + (charge.shortCodes.isEmpty ? 0 : 1)
        let hasNews = news > 0
        var name = share(page.isLandscape ? 22 : 16, from: content.y)
        var facts = name
        var codes = PixelRect(x: content.x, y: 0, width: content.width, height: 0)
        var band = share(news * (page.isLandscape ? 11 : 7), from: name.bottom + gap)
        codes.y = hasNews ? band.bottom + gap : name.bottom + gap
        if page.isLandscape {
            name.width = content.width * 60 / 100
            facts.x = name.right + gap
            facts.width = content.right - facts.x
            codes.height = content.bottom - codes.y
        } else {
            facts = share(9, from: content.bottom - content.height * 9 / 100)
            codes.height = facts.y - gap - codes.y
        }
        if !hasNews { band.height = 0 }
        return Bands(name: name, facts: facts, news: band, codes: codes)
    }

    private func head(_ charge: Scene.ChargeView, _ bands: Bands, _ page: Page) -> [Drawing.Element] {
        let palette = page.palette
        let alignment: TextSpec.Alignment = page.isLandscape ? .leading : .centre
        let name = Stack(
            items: [
                .text(DisplayText.clean(charge.merchantName, limit: 80), Style(5.4, atLeast: 3.8, palette.quiet)),
                .text(
                    leftToRight(charge.amountText, limit: 32),
                    Style(16, atLeast: 2, palette.text, .bold, lines: 2, oneLineDownTo: 7)
                ),
            ] + tip(charge.tipText, Style(4.2, atLeast: 3, palette.text)),
            alignment: alignment
        )
        let facts = Stack(items: [.space, .facts(self.facts(charge, palette)), .space], alignment: alignment)
        var elements = name.compose(in: bands.name, page: page) + facts.compose(in: bands.facts, page: page)
        var news: [Stack.Item] = []
        if let words = words(of: charge.note) {
            let style = Style(3.6, atLeast: 3, Palette.noteText, .bold, lines: 3)
            news.append(.note(words, style, ground: Palette.noteGround))
        }
        news += digits(charge.shortCodes, page, isBrief: true)
        if !news.isEmpty {
            elements += Stack(items: [.space] + news + [.space], alignment: alignment)
                .compose(in: bands.news, page: page)
        }
        return elements
    }

    // MARK: - Panels

    private func panels(_ arrangement: Arrangement, in frame: PixelRect, _ page: Page) -> [PixelRect] {
        let gap = page.pixels(2.8)
        switch arrangement {
        case .columns:
            let width = (frame.width - gap) / 2
            return [
                PixelRect(x: frame.x, y: frame.y, width: width, height: frame.height),
                PixelRect(x: frame.right - width, y: frame.y, width: width, height: frame.height),
            ]
        case .rows:
            let height = (frame.height - gap) / 2
            return [
                PixelRect(x: frame.x, y: frame.y, width: frame.width, height: height),
                PixelRect(x: frame.x, y: frame.bottom - height, width: frame.width, height: height),
            ]
        }
    }

    private func padding(_ page: Page) -> Int { page.pixels(1.6) }
    private func captionHeight(_ page: Page) -> Int { page.pixels(11) }

    private func codeSide(_ arrangement: Arrangement, in panels: [PixelRect], _ page: Page) -> Int {
        let padding = padding(page)
        let panel = panels.first ?? page.content
        return switch arrangement {
        case .columns: min(panel.width - 2 * padding, panel.height - captionHeight(page) - 3 * padding)
        // Words beside the code want some room too.
        case .rows: min(panel.height - 2 * padding, panel.width * 62 / 100 - 2 * padding)
        }
    }

    private func firstCaption(_ charge: Scene.ChargeView) -> Caption {
        if charge.opensForm { return formCaption(.connect) }
        return charge.opensPage
            ? Caption(mark: Self.mark(of: .scan), name: text.openPage, step: nil)
            : Caption(mark: Self.mark(of: .scan), name: text.appNames(.scan), step: text.appSteps(.scan))
    }

    private func secondCaption(_ charge: Scene.ChargeView) -> Caption {
        charge.form.map { formCaption($0.way) }
            ?? Caption(mark: Self.mark(of: .tap), name: text.appNames(.tap), step: text.appSteps(.tap))
    }

    /// Whose details are asked for stands with the form: who only scans must not take it for the payment.
    private func formCaption(_ way: Scene.WayToPay) -> Caption {
        Caption(mark: Self.mark(of: way), name: text.formTitle, step: text.formSteps(way))
    }

    /// What stands in a panel: its mark, whose code it is, and what to do with it.
    private struct Caption {
        let mark: Mark
        let name: String
        let step: String?
    }

    private func panel(
        _ panel: PixelRect,
        _ caption: Caption,
        _ pair: Pair,
        _ index: Int,
        _ page: Page
    ) -> [Drawing.Element] {
        let padding = padding(page)
        let (code, module) = pair.codes[index]
        let side = pair.cardSide
        let card: PixelRect
        let words: PixelRect
        switch pair.arrangement {
        case .columns:
            let top = panel.y + padding + captionHeight(page)
            let free = panel.bottom - padding - top - side
            card = PixelRect(
                x: panel.x + (panel.width - side) / 2,
                y: top + max(0, free / 2),
                width: side,
                height: side
            )
            words = PixelRect(
                x: panel.x + padding,
                y: panel.y + padding,
                width: panel.width - 2 * padding,
                height: captionHeight(page)
            )
        case .rows:
            let inset = (panel.height - side) / 2
            card = PixelRect(x: panel.x + max(padding, inset), y: panel.y + inset, width: side, height: side)
            let x = card.right + 2 * padding
            words = PixelRect(
                x: x,
                y: panel.y + padding,
                width: panel.right - padding - x,
                height: panel.height - 2 * padding
            )
        }
        let own = code.widthWithQuietZone * module
        let frame = PixelRect(
            x: card.x + (side - own) / 2,
            y: card.y + (side - own) / 2,
            width: own,
            height: own
        )
        return [
            .panel(panel, radius: page.radius(2.4), Palette.chip),
            .panel(card.inset(by: -page.pixels(0.6)), radius: page.radius(1.2), .white),
            .qr(PlacedQR(code: code, frame: frame, module: module)),
        ] + stack(of: caption, pair.arrangement, page).compose(in: words, page: page)
    }

    private func stack(of caption: Caption, _ arrangement: Arrangement, _ page: Page) -> Stack {
        let (ink, quiet) = (page.palette.text, page.palette.quiet)
        switch arrangement {
        case .columns:
            // Longer languages may need a second line on a narrow page.
            let short = Style(4, atLeast: 3, quiet, lines: 2, oneLineDownTo: 3)
            let step = caption.step.map { [Stack.Item.text($0, short)] } ?? []
            let name = Style(5.2, atLeast: 3.4, ink, .bold, lines: 2, oneLineDownTo: caption.step == nil ? nil : 3.4)
            let head = Stack.Item.marked(
                caption.mark,
                markColour: Palette.lightReady,
                caption.name,
                name,
                ground: Palette.chip
            )
            return Stack(items: [head] + step + [.space], alignment: .centre)
        case .rows:
            let step: [Stack.Item] =
                caption.step.map { [.gap(1), .text($0, Style(4.8, atLeast: 3, quiet, lines: 4))] } ?? []
            let name = Style(7, atLeast: 4, ink, .bold, lines: caption.step == nil ? 4 : 2)
            return Stack(
                items: [
                    .space, .mark(caption.mark, side: 9, Palette.lightReady, ground: Palette.chip), .gap(2),
                    .text(caption.name, name),
                ] + step + [.space]
            )
        }
    }
}
