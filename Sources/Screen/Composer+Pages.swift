/// The words of each scene.
extension Composer {
    // MARK: - Before and between charges

    func starting(_ checkingPayments: Int, _ page: Page) -> [Drawing.Element] {
        let detail = checkingPayments > 0 ? text.checkingPayments(checkingPayments) : text.startingDetail
        return centred(
            [
                .mark(.ring, side: 22, Palette.lightReady, ground: page.palette.ground), .gap(6),
                .text(text.startingTitle, Style(11, atLeast: 6, page.palette.text, .bold)), .gap(2),
                .text(detail, Style(6, atLeast: 4, page.palette.quiet, lines: 3)),
            ],
            page
        )
    }

    func idle(_ idle: Scene.Idle, _ page: Page) -> [Drawing.Element] {
        let palette = page.palette
        let content = page.content
        var elements: [Drawing.Element] = []
        var middle = content
        if let clock = idle.clockText {
            let style = Style(6, atLeast: 4, palette.quiet)
            let set = page.set(
                leftToRight(clock, limit: 24),
                style,
                width: content.width,
                scale: 1,
                alignment: .trailing
            )
            elements.append(page.element(set, x: content.x, y: content.y, style.colour))
            middle.y += set.size.height
            middle.height -= set.size.height
        }
        let foot = footer(idle, page)
        elements += foot.elements
        middle.height -= foot.height
        let name = DisplayText.clean(idle.merchantName, limit: 80)
        let title = name.isEmpty ? text.welcome : name
        var items: [Stack.Item] = [.space]
        if let logo = idle.logo { items += [.picture(logo, width: 60, height: 26), .gap(4)] }
        items.append(.text(title, Style(idle.logo == nil ? 17 : 12, atLeast: 8, palette.text, .bold, lines: 3)))
        if let progress = idle.progress {
            let share = Double(min(progress.step, progress.count)) / Double(max(progress.count, 1))
            items += [
                .gap(2.5), .rule(length: 9 + 51 * share, Palette.lightReady), .gap(2),
                .text(text.setupTitle, Style(7.5, atLeast: 5, palette.text)), .gap(1),
                .text(text.setupProgress(progress), Style(6, atLeast: 4, palette.quiet)),
            ]
        } else if !name.isEmpty {
            items += [
                .gap(2.5), .rule(length: 9, Palette.lightReady), .gap(2),
                .text(text.welcome, Style(7.5, atLeast: 5, palette.quiet)),
            ]
        }
        if let notice = idle.notices.first {
            let style = Style(4.6, atLeast: 3.4, Palette.noteText, .bold, lines: 4)
            items += [
                .gap(4), .note(words(of: notice, more: idle.notices.count - 1), style, ground: Palette.noteGround),
            ]
        }
        return elements + Stack(items: items + [.space], alignment: .centre).compose(in: middle, page: page)
    }

    private func words(of notice: Scene.Notice, more: Int) -> String {
        var words = [
            "\(text.notices(notice.kind)): \(leftToRight(notice.amountText, limit: 32))",
            "\(text.chargeCode)\u{00A0}\(leftToRight(notice.chargeCode, limit: 12))",
        ]
        if more > 0 { words.append(text.moreNotices(more)) }
        return words.joined(separator: " · ")
    }

    /// The lights and the staff page's address, at the bottom of the idle page.
    private func footer(_ idle: Scene.Idle, _ page: Page) -> (elements: [Drawing.Element], height: Int) {
        let palette = page.palette
        let content = page.content
        var elements: [Drawing.Element] = []
        var y = content.bottom
        if let address = idle.webAddressText {
            let style = Style(3.8, atLeast: 3, palette.quiet)
            let words = "\(text.staffPage): \(leftToRight(address, limit: 80))"
            let set = page.set(words, style, width: content.width, scale: 1, alignment: .centre)
            y -= set.size.height
            elements.append(page.element(set, x: content.x, y: y, style.colour))
            y -= page.gap(3)
        }
        guard !idle.lights.isEmpty else { return (elements, content.bottom - y) }
        let gap = page.gap(2.5)
        let columns = page.isLandscape ? idle.lights.count : 1
        let width = page.snapX((content.width - gap * (columns - 1)) / columns)
        let chips = idle.lights.map { chip($0, width: width, page) }
        let height = chips.map(\.height).max() ?? 0
        let rows = (chips.count + columns - 1) / columns
        let top = y - rows * height - (rows - 1) * page.gap(1.6)
        for (index, chip) in chips.enumerated() {
            let x = content.x + index % columns * (width + gap)
            let rowTop = top + index / columns * (height + page.gap(1.6))
            let frame = PixelRect(x: x, y: rowTop, width: width, height: height)
            elements.append(.panel(frame, radius: page.radius(1.8), Palette.chip))
            elements += chip.elements.map { $0.moved(x: x, y: rowTop) }
        }
        return (elements, content.bottom - top + page.gap(2))
    }

    /// One light: its shape, which way to pay it is about, and how that stands.
    private func chip(
        _ light: Scene.Light,
        width: Int,
        _ page: Page
    ) -> (elements: [Drawing.Element], height: Int) {
        let padding = page.surface.cell?.width ?? page.pixels(2.4)
        let side = page.surface.cell?.height ?? page.pixels(5)
        let x = padding * 2 + side
        let words = page.snapX(width - x - padding)
        let nameStyle = Style(4.8, atLeast: 3.4, page.palette.text, .bold)
        let stateStyle = Style(4, atLeast: 3, page.palette.quiet)
        let name = page.set(text.wayNames(light.way), nameStyle, width: words, scale: 1, alignment: .leading)
        let state = page.set(text.readiness(light.readiness), stateStyle, width: words, scale: 1, alignment: .leading)
        let top = page.surface.cell == nil ? padding * 3 / 4 : 0
        let height = name.size.height + state.size.height + 2 * top
        return (
            [
                .mark(
                    Self.mark(of: light.readiness),
                    PixelRect(x: padding, y: (height - side) / 2, width: side, height: side),
                    Self.colour(of: light.readiness),
                    ground: Palette.chip
                ),
                page.element(name, x: x, y: top, nameStyle.colour),
                page.element(state, x: x, y: top + name.size.height, stateStyle.colour),
            ], height
        )
    }

    private static func mark(of readiness: Scene.Light.Readiness) -> Mark {
        switch readiness {
        case .ready: .lightReady
        case .connecting: .lightConnecting
        case .unavailable: .lightUnavailable
        }
    }

    private static func colour(of readiness: Scene.Light.Readiness) -> Colour {
        switch readiness {
        case .ready: Palette.lightReady
        case .connecting: Palette.lightConnecting
        case .unavailable: Palette.lightUnavailable
        }
    }

    // MARK: - With a code

    func setup(_ setup: Scene.Setup, _ page: Page, _ room: Room) -> [Drawing.Element] {
        let palette = page.palette
        let label = Style(4.4, atLeast: 3.4, palette.quiet, lines: 2)
        let title: [Stack.Item] = [
            .text(text.setupTitles(setup.purpose), Style(8.5, atLeast: 5, palette.text, .bold, lines: 2))
        ]
        let address: [Stack.Item] = [
            .text(text.setupScan, label), .gap(0.6),
            .text(
                leftToRight(setup.addressText, limit: 100),
                Style(5.4, atLeast: 3.4, palette.text, .bold, lines: 2)
            ),
        ]
        let code: [Stack.Item] = [
            .text(text.setupCodes(setup.purpose), label), .gap(0.4),
            .text(
                leftToRight(setup.claimCode, limit: 24),
                Style(13, atLeast: 5, Palette.lightReady, .bold, isMonospaced: true)
            ),
        ]
        let fingerprint: [Stack.Item] = [
            .text(text.setupFingerprint, Style(3.6, atLeast: 3, palette.quiet, lines: 3)), .gap(0.4),
            .text(
                leftToRight(setup.fingerprintText, limit: 60),
                Style(4.4, atLeast: 3, palette.text, .bold, lines: 2, isMonospaced: true)
            ),
        ]
        switch room {
        case .beside(let frame):
            return Stack(items: title + [.space] + address + [.space] + code + [.space] + fingerprint)
                .compose(in: frame, page: page)
        case .around(let above, let below):
            return Stack(items: title + [.space] + address, alignment: .centre).compose(in: above, page: page)
                + Stack(items: code + [.space] + fingerprint, alignment: .centre).compose(in: below, page: page)
        }
    }

    func charge(
        _ charge: Scene.ChargeView,
        _ page: Page,
        _ room: Room,
        hasCode: Bool
    ) -> [Drawing.Element] {
        let palette = page.palette
        let name = DisplayText.clean(charge.merchantName, limit: 80)
        let amount = leftToRight(charge.amountText, limit: 32)
        var head: [Stack.Item] = [.text(name, Style(6.6, atLeast: 4.6, palette.quiet, lines: 2))]
        if let logo = charge.logo { head = [.picture(logo, width: 28, height: 10), .gap(1.5)] + head }
        var sum: [Stack.Item] = [.text(amount, Style(26, atLeast: 2, palette.text, .bold, lines: 2, oneLineDownTo: 9))]
        sum += tip(charge.tipText, Style(5.6, atLeast: 3.8, palette.text))
        var ways: [Stack.Item] = []
        // Without its code the page must not ask to scan it.
        if charge.opensPage, hasCode {
            let style = Style(5, atLeast: 3.6, palette.text, lines: 2)
            ways = [.gap(1.2), .marked(.scan, markColour: Palette.lightReady, text.openPage, style)]
        }
        for way in charge.waysToPay
        where way == .tap ? charge.tag == nil || charge.link == nil : hasCode && !charge.opensPage {
            let style = Style(5, atLeast: 3.6, palette.text, lines: charge.tag == nil ? 2 : 3)
            if way == .tap, charge.tag != nil, !hasCode { continue }
            let words = way == .tap && charge.tag != nil ? text.tagInstruction : text.wayInstructions(way)
            ways += [.gap(1.2), .marked(Self.mark(of: way), markColour: Palette.lightReady, words, style)]
        }
        ways += digits(charge.shortCodes, page)
        var notes: [Stack.Item] = []
        if let words = words(of: charge.note) {
            let style = Style(4, atLeast: 3.2, Palette.noteText, .bold, lines: 5)
            notes = [.note(words, style, ground: Palette.noteGround), .gap(3)]
        }
        if charge.form != nil {
            let style = Style(4, atLeast: 3, Palette.noteText, .bold, lines: 4)
            notes = [.note(text.formComesBack, style, ground: Palette.noteGround), .gap(2)] + notes
        }
        let facts = Stack.Item.facts(self.facts(charge, palette))
        switch room {
        case .beside(let frame):
            return Stack(items: head + [.space] + sum + [.gap(1)] + ways + [.space] + notes + [facts])
                .compose(in: frame, page: page)
        case .around(let above, let below):
            return Stack(items: head + [.space] + sum, alignment: .centre).compose(in: above, page: page)
                + Stack(items: ways + [.space] + notes + [facts], alignment: .centre).compose(in: below, page: page)
        }
    }

    /// Nothing to scan: the phone is held near the terminal.
    func chargeWithoutCode(_ charge: Scene.ChargeView, _ page: Page) -> [Drawing.Element] {
        let palette = page.palette
        let style = Style(9, atLeast: 5, palette.text, .bold, lines: 2)
        var items: [Stack.Item] = [
            .text(DisplayText.clean(charge.merchantName, limit: 80), Style(6.6, atLeast: 4.6, palette.quiet, lines: 2)),
            amount(charge.amountText, page),
        ]
        items += tip(charge.tipText, Style(6.5, atLeast: 4, palette.text))
        for way in charge.waysToPay where way != .scan {
            items += [.gap(1.5), .text(text.wayInstructions(way), style)]
        }
        items += digits(charge.shortCodes, page)
        if let words = words(of: charge.note) {
            let style = Style(4, atLeast: 3.2, Palette.noteText, .bold, lines: 5)
            items += [.gap(2), .note(words, style, ground: Palette.noteGround)]
        }
        let mark: Mark = charge.waysToPay.contains(.tap) ? .tap : .connect
        return outcome(mark, items + [.gap(3), .facts(facts(charge, palette))], page)
    }

    /// What the phones that are asked show too.
    func digits(_ shortCodes: [String], _ page: Page, isBrief: Bool = false) -> [Stack.Item] {
        guard !shortCodes.isEmpty else { return [] }
        // Isolated, so that they keep their order among words of a language from right to left.
        let digits = leftToRight(
            shortCodes.prefix(4).map { DisplayText.clean($0, limit: 8) }.joined(separator: "  "),
            limit: 40
        )
        let label = text.compareDigits(shortCodes.count)
        if isBrief {
            let words = "\(label) \u{2068}\(digits)\u{2069}"
            return [.text(words, Style(5.2, atLeast: 3, Palette.lightReady, .bold, lines: 2))]
        }
        return [
            .gap(2), .text(label, Style(4.2, atLeast: 3.2, page.palette.quiet, lines: 2)),
            .text(digits, Style(9, atLeast: 4, Palette.lightReady, .bold, lines: 2, isMonospaced: true)),
        ]
    }

    /// A customer who pays by phone is asked for details first.
    func form(_ charge: Scene.ChargeView, _ page: Page, _ room: Room, hasCode: Bool) -> [Drawing.Element] {
        let palette = page.palette
        var head: [Stack.Item] = [
            .text(DisplayText.clean(charge.merchantName, limit: 80), Style(5.4, atLeast: 4, palette.quiet, lines: 2)),
            .text(
                leftToRight(charge.amountText, limit: 32),
                Style(14, atLeast: 2, palette.text, .bold, lines: 2, oneLineDownTo: 7)
            ),
        ]
        head += tip(charge.tipText, Style(4.4, atLeast: 3.2, palette.text))
        var words: [Stack.Item] = [
            .text(text.formTitle, Style(7.5, atLeast: 4.6, Palette.lightReady, .bold, lines: 2))
        ]
        // Without its code the page must not ask to scan it.
        if hasCode {
            let what = charge.form?.way == .connect ? text.formFirst : text.formWhatToDo
            words += [.gap(1), .text(what, Style(5, atLeast: 3.4, palette.text, lines: 5))]
        }
        if charge.link != nil {
            words += [.gap(1.5), .text(text.codeComesBack, Style(4, atLeast: 3, palette.quiet, lines: 3))]
        }
        words += digits(charge.shortCodes, page)
        let facts = Stack.Item.facts(self.facts(charge, palette))
        switch room {
        case .beside(let frame):
            return Stack(items: head + [.space] + words + [.space, facts]).compose(in: frame, page: page)
        case .around(let above, let below):
            return Stack(items: head + [.space], alignment: .centre).compose(in: above, page: page)
                + Stack(items: words + [.space, facts], alignment: .centre).compose(in: below, page: page)
        }
    }

    /// What of the amount above is a tip; nothing where there is none.
    func tip(_ tipText: String?, _ style: Stack.Style) -> [Stack.Item] {
        tipText.map { [.gap(0.5), .text("\(text.tip) \(leftToRight($0, limit: 32))", style)] } ?? []
    }

    func facts(_ charge: Scene.ChargeView, _ palette: Palette) -> [Stack.Fact] {
        let label = Style(4.2, atLeast: 3.2, palette.quiet)
        var facts: [Stack.Fact] = []
        if let seconds = charge.secondsLeft {
            let style = Style(8.4, atLeast: 4, palette.text, .bold)
            facts.append(
                .init(
                    label: text.timeLeft,
                    value: leftToRight(Self.clock(seconds), limit: 12),
                    labelStyle: label,
                    valueStyle: style
                )
            )
        }
        let style = Style(8.4, atLeast: 4, palette.text, .bold, isMonospaced: true)
        let code = leftToRight(charge.chargeCode, limit: 12)
        facts.append(.init(label: text.chargeCode, value: code, labelStyle: label, valueStyle: style))
        return facts
    }

    func words(of note: Scene.ChargeView.Note?) -> String? {
        switch note {
        case nil: nil
        case .gatewaySilent: text.gatewaySilent
        case .walletAsks(let name): text.walletAsks(DisplayText.clean(name, limit: 40))
        case .form: text.formFirst
        case .wallet(let words): DisplayText.clean(words, limit: 160)
        }
    }

    /// `M:SS`; more than 99 minutes stay minutes.
    static func clock(_ seconds: Int) -> String {
        let seconds = max(0, seconds)
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }

    static func mark(of way: Scene.WayToPay) -> Mark {
        switch way {
        case .scan: .scan
        case .tap: .tap
        case .connect: .connect
        }
    }

    // MARK: - Outcomes

    func processing(_ processing: Scene.Processing, _ page: Page) -> [Drawing.Element] {
        var items: [Stack.Item] = [
            .text(text.processingTitle, Style(10, atLeast: 6, page.palette.text, .bold, lines: 2)),
            amount(processing.amountText, page),
        ]
        items += tip(processing.tipText, Style(6.5, atLeast: 4, page.palette.text))
        items += [.gap(1.5), .text(text.processingDetail, Style(6, atLeast: 4, page.palette.text, lines: 3))]
        if let digits = processing.shortCode {
            let words = "\(text.compareDigits(1)) \u{2068}\(DisplayText.clean(digits, limit: 8))\u{2069}"
            items += [.gap(1.5), .text(words, Style(6, atLeast: 4, page.palette.text, .bold, lines: 2))]
        }
        items += [.gap(3), code(processing.chargeCode, page, merchant: processing.merchantName)]
        return outcome(.dots, items, page)
    }

    func paid(_ paid: Scene.Paid, _ page: Page) -> [Drawing.Element] {
        var items: [Stack.Item] = [
            .text(text.paidTitle, Style(15, atLeast: 8, page.palette.text, .bold)), amount(paid.amountText, page),
        ]
        items += tip(paid.tipText, Style(6.5, atLeast: 4, page.palette.text))
        if paid.arrivedLate {
            let style = Style(5.2, atLeast: 4, Palette.noteText, .bold)
            items += [.gap(3), .note(text.arrivedLate, style, ground: Palette.noteGround)]
        }
        if let authority = paid.confirmedBy {
            items += [.gap(1.5), .text(text.confirmedBy(authority), Style(6, atLeast: 4, page.palette.text))]
        }
        return outcome(.check, items + [.gap(3), code(paid.chargeCode, page, merchant: paid.merchantName)], page)
    }

    func promised(_ promised: Scene.Promised, _ page: Page) -> [Drawing.Element] {
        var items: [Stack.Item] = [
            .text(text.promisedTitle, Style(12, atLeast: 6, page.palette.text, .bold, lines: 2)),
            amount(promised.amountText, page),
        ]
        items += tip(promised.tipText, Style(6.5, atLeast: 4, page.palette.text))
        items += [.gap(1.5), .text(text.promisedDetail, Style(6, atLeast: 4, page.palette.text, lines: 3)), .gap(3)]
        return outcome(
            .clock,
            items + [code(promised.chargeCode, page, merchant: promised.merchantName)],
            page
        )
    }

    func notPaid(_ notPaid: Scene.NotPaid, _ page: Page) -> [Drawing.Element] {
        let mark: Mark =
            switch notPaid.kind {
            case .failed: .cross
            case .expired: .clock
            case .cancelled: .bar
            case .refused: .slash
            }
        var items: [Stack.Item] = [
            .text(text.notPaidTitles(notPaid.kind), Style(14, atLeast: 7, page.palette.text, .bold)), .gap(2),
            .text(
                text.notPaidWhatHappened(notPaid.kind),
                Style(6.2, atLeast: 3.6, page.palette.text, lines: 4)
            ), .gap(1.5),
            .text(text.notPaidWhatToDo(notPaid.kind), Style(6.2, atLeast: 3.6, page.palette.text, .bold, lines: 4)),
        ]
        items += last(amount: notPaid.amountText, code: notPaid.chargeCode, page)
        return outcome(mark, items, page)
    }

    func unknown(_ unknown: Scene.Unknown, _ page: Page) -> [Drawing.Element] {
        var items: [Stack.Item] = [
            .text(text.unknownTitle, Style(12, atLeast: 7, page.palette.text, .bold, lines: 2)), .gap(2),
            .text(text.unknownWarning, Style(9, atLeast: 5, page.palette.text, .bold, lines: 2)), .gap(1),
            .text(text.unknownWhatToDo, Style(7, atLeast: 4, page.palette.text, lines: 2)),
        ]
        items += last(amount: unknown.amountText, code: unknown.chargeCode, page)
        return outcome(.question, items, page)
    }

    func offline(_ offline: Scene.Offline, _ page: Page) -> [Drawing.Element] {
        if let storage = offline.storage { return self.storage(storage, of: offline.merchantName, page) }
        if let until = offline.pausedUntilText, offline.clockText == nil {
            return pause(until, of: offline.merchantName, page)
        }
        let clock = offline.clockText.map { text.clockDetail(leftToRight($0, limit: 20)) }
        let detail = clock ?? DisplayText.clean(offline.detail ?? text.offlineDetail, limit: 200)
        let title =
            clock == nil
            ? Stack.Item.text(text.offlineTitle, Style(14, atLeast: 7, page.palette.text, .bold))
            : .text(text.clockTitle, Style(10, atLeast: 5.5, page.palette.text, .bold, lines: 3))
        return outcome(
            .noSignal,
            [
                title, .gap(2),
                .text(detail, Style(6, atLeast: 3.6, page.palette.text, lines: clock == nil ? 4 : 7)), .gap(1.5),
                .text(
                    clock == nil ? text.offlineWhatToDo : text.clockWhatToDo,
                    Style(5, atLeast: 3.4, page.palette.quiet, lines: clock == nil ? 3 : 5)
                ), .gap(3),
                .text(
                    DisplayText.clean(offline.merchantName, limit: 80),
                    Style(4.6, atLeast: 3.6, page.palette.quiet)
                ),
            ],
            page
        )
    }

    /// A large mark and the words beside it, or below it on an upright page.
    func outcome(_ mark: Mark, _ items: [Stack.Item], _ page: Page) -> [Drawing.Element] {
        let content = page.content
        let (colour, ground) = (page.palette.text, page.palette.ground)
        guard page.isLandscape else {
            return centred([.mark(mark, side: 46, colour, ground: ground), .gap(7)] + items, page)
        }
        let side = page.snapX(min(content.height * 70 / 100, page.size.width * 31 / 100))
        let gap = page.snapX(page.pixels(8))
        let frame = PixelRect(x: content.x, y: content.centreY - side / 2, width: side, height: side)
        let words = PixelRect(
            x: frame.right + gap,
            y: content.y,
            width: content.right - frame.right - gap,
            height: content.height
        )
        return [.mark(mark, frame, colour, ground: ground)]
            + Stack(items: [.space] + items + [.space]).compose(in: words, page: page)
    }

    func centred(_ items: [Stack.Item], _ page: Page) -> [Drawing.Element] {
        Stack(items: [.space] + items + [.space], alignment: .centre).compose(in: page.content, page: page)
    }

    private func amount(_ amountText: String, _ page: Page) -> Stack.Item {
        .text(
            leftToRight(amountText, limit: 32),
            Style(22, atLeast: 2, page.palette.text, .bold, lines: 2, oneLineDownTo: 9)
        )
    }

    private func code(_ chargeCode: String, _ page: Page, merchant: String? = nil) -> Stack.Item {
        var words = "\(text.chargeCode) \(leftToRight(chargeCode, limit: 12))"
        let name = DisplayText.clean(merchant ?? "", limit: 60)
        // Isolated, so that a name that reads the other way does not reorder the code.
        if !name.isEmpty { words += " · \u{2068}\(name)\u{2069}" }
        return .text(words, Style(4.8, atLeast: 3.6, page.palette.quiet))
    }

    private func last(amount: String?, code: String?, _ page: Page) -> [Stack.Item] {
        var words: [String] = []
        if let amount { words.append(leftToRight(amount, limit: 32)) }
        if let code { words.append("\(text.chargeCode) \(leftToRight(code, limit: 12))") }
        guard !words.isEmpty else { return [] }
        return [.gap(3.5), .text(words.joined(separator: " · "), Style(5.2, atLeast: 3.6, page.palette.quiet))]
    }
}
