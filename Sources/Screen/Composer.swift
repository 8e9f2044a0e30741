/// Turns a scene into a drawing for one surface. Pure layout: the same scene on the same surface gives the same page.
struct Composer {
    let text: ScreenText
    let typesetter: Typesetter
    let codes: QRCodeCache

    typealias Style = Stack.Style

    /// What a page became.
    struct Composed {
        var drawing: Drawing
        /// Set when the scene's link had no room as a QR code.
        var qr: QRShown
    }

    enum QRShown: Equatable {
        /// The scene carries none.
        case none
        case drawn
        /// Printed as text, for a terminal window too small for it.
        case asText
        case tooLong
        /// Left out on request.
        case withheld
    }

    /// - Parameter withholdingQR: True after the pixels were found unreadable: the page then says so instead.
    func compose(_ scene: Scene, on surface: Surface, withholdingQR: Bool = false) -> Composed {
        let palette = Self.palette(of: scene)
        let page = Page(surface: surface, palette: palette, text: text, typesetter: typesetter)
        var qr = QRShown.none
        var elements: [Drawing.Element]
        switch scene {
        case .starting(let count): elements = starting(count, page)
        case .idle(let idle): elements = idle.rest.map { resting(idle, $0, page) } ?? self.idle(idle, page)
        case .setup(let setup):
            (elements, qr) = withCode(setup.claimAddress, page, withholding: withholdingQR) { room, _ in
                self.setup(setup, page, room)
            }
        case .charge(let charge):
            (elements, qr) = self.charge(charge, page, withholding: withholdingQR)
        case .processing(let processing): elements = self.processing(processing, page)
        case .paid(let paid): elements = self.paid(paid, page)
        case .promised(let promised): elements = self.promised(promised, page)
        case .notPaid(let notPaid): elements = self.notPaid(notPaid, page)
        case .unknown(let unknown): elements = self.unknown(unknown, page)
        case .offline(let offline): elements = self.offline(offline, page)
        case .message(let message): (elements, qr) = self.message(message, page, withholding: withholdingQR)
        case .keypad(let keypad): elements = self.keypad(keypad, page)
        case .update(let update): elements = self.update(update, page)
        case .backup(let backup): elements = self.backup(backup, page)
        case .onboarding(let onboarding): elements = self.onboarding(onboarding, page)
        case .ownerReset(let reset): elements = ownerReset(reset, page)
        }
        if text.readsRightToLeft {
            elements = elements.map { $0.mirrored(inWidth: surface.size.width) }
        }
        return Composed(drawing: Drawing(size: surface.size, ground: palette.ground, elements: elements), qr: qr)
    }

    /// What is read from left to right in every language: amounts, codes, times and addresses. Cleaned, and isolated from
    /// words that read the other way. Source: UAX #9, LRI and PDI.
    func leftToRight(_ words: String, limit: Int) -> String {
        let clean = DisplayText.clean(words, limit: limit)
        return text.readsRightToLeft && !clean.isEmpty ? "\u{2066}\(clean)\u{2069}" : clean
    }

    private static func palette(of scene: Scene) -> Palette {
        switch scene {
        case .idle(let idle) where idle.rest != nil: .night
        case .starting, .idle, .setup, .charge: .calm
        case .processing: .processing
        case .paid: .paid
        case .promised: .promised
        case .notPaid(let notPaid):
            switch notPaid.kind {
            case .failed: .failed
            case .expired: .expired
            case .cancelled: .cancelled
            case .refused: .refused
            }
        case .unknown: .unknown
        case .offline: .offline
        // As staff are to look up: it is no page of every day.
        case .ownerReset: .unknown
        case .message: .message
        case .keypad(let keypad): palette(of: keypad.kind)
        case .update(let update): [.installing, .restarting, .trying].contains(update.kind) ? .processing : .calm
        case .backup(let backup): palette(of: backup.kind)
        case .onboarding(let onboarding): palette(of: onboarding.kind)
        }
    }

    private func charge(
        _ charge: Scene.ChargeView,
        _ page: Page,
        withholding: Bool
    ) -> ([Drawing.Element], QRShown) {
        if !withholding, let link = charge.link, let second = charge.form?.link ?? charge.tag,
            let elements = twoCodes(charge, link: link, second: second, page)
        {
            return (elements, .drawn)
        }
        if let form = charge.form, charge.link == nil || charge.turn == .form {
            return withCode(form.link, page, withholding: withholding) { room, hasCode in
                self.form(charge, page, room, hasCode: hasCode)
            }
        }
        guard let shown = charge.link ?? charge.tag else { return (chargeWithoutCode(charge, page), .none) }
        return withCode(shown, page, withholding: withholding) { room, hasCode in
            self.charge(charge, page, room, hasCode: hasCode)
        }
    }

    // MARK: - Pages with a code

    /// Where the words of a page with a code go: beside it, or above and below it.
    enum Room {
        case beside(PixelRect)
        case around(above: PixelRect, below: PixelRect)
    }

    func withCode(
        _ link: String,
        _ page: Page,
        withholding: Bool,
        words: (Room, _ hasCode: Bool) -> [Drawing.Element]
    ) -> ([Drawing.Element], QRShown) {
        let fitted = withholding ? nil : fit(link, page)
        guard let fitted else {
            if page.surface.cell != nil, !withholding { return (linkAsText(link, page, words: words), .asText) }
            let (place, room) = split(page, side: page.pixels(page.isLandscape ? 62 : 76))
            return (codeNotShown(in: place, page) + words(room, false), withholding ? .withheld : .tooLong)
        }
        let side = fitted.code.widthWithQuietZone * fitted.module
        let (place, room) = split(page, side: side)
        let frame = PixelRect(x: place.x, y: place.y, width: side, height: side)
        var elements: [Drawing.Element] = []
        // A card around the quiet zone, where there is room for one.
        let card = frame.inset(by: -page.pixels(1))
        if page.surface.cell == nil, PixelRect(page.size).contains(card) {
            elements.append(.panel(card, radius: page.radius(2), .white))
        }
        elements.append(.qr(PlacedQR(code: fitted.code, frame: frame, module: fitted.module)))
        return (elements + words(room, true), .drawn)
    }

    /// The code in the share of the page that leaves the words readable, or in more of it if its modules need that.
    func fit(_ link: String, _ page: Page) -> (code: QRCode, module: Int)? {
        let (width, height) = (page.size.width, page.size.height)
        let content = page.content
        let sides: [Int]
        if page.surface.cell != nil {
            sides = [min(height, width - 24 * (page.surface.cell?.width ?? 0))]  // Room for words beside it.
        } else if page.isLandscape {
            sides = [
                min(content.height, width * 56 / 100), min(height, width * 62 / 100), min(height, width * 70 / 100),
            ]
        } else {
            sides = [
                min(content.width, height * 52 / 100), min(width, height * 60 / 100), min(width, height * 66 / 100),
            ]
        }
        var best: (code: QRCode, module: Int)?
        for side in sides {
            guard let fitted = page.fitting.fit(link, side: side, codes: codes) else { continue }
            if fitted.module > best?.module ?? 0 { best = fitted }
            if fitted.module >= QRFitting.wantedModule { break }
        }
        return best
    }

    /// A square of `side` for the code, and the room that leaves.
    private func split(_ page: Page, side: Int) -> (PixelRect, Room) {
        let content = page.content
        if page.isLandscape {
            let margin = max(0, (page.size.height - side) / 2)
            let edge = page.size.width - side - page.snapX(min(margin, content.x))
            let place = PixelRect(x: page.snapX(edge), y: page.snapY(margin), width: side, height: side)
            let words = PixelRect(
                x: content.x,
                y: content.y,
                width: page.snapX(place.x - content.x * 2),
                height: content.height
            )
            return (place, .beside(words))
        }
        // A little above the middle is where the eye expects the middle.
        let free = page.size.height - side
        let top = page.snapY(min(free * 46 / 100, free - content.y))
        let place = PixelRect(x: page.snapX((page.size.width - side) / 2), y: top, width: side, height: side)
        let spacing = page.gap(4)
        let above = PixelRect(
            x: content.x,
            y: content.y,
            width: content.width,
            height: max(1, place.y - spacing - content.y)
        )
        let below = PixelRect(
            x: content.x,
            y: place.bottom + spacing,
            width: content.width,
            height: max(1, content.bottom - place.bottom - spacing)
        )
        return (place, .around(above: above, below: below))
    }

    private func codeNotShown(in place: PixelRect, _ page: Page) -> [Drawing.Element] {
        let panel = Drawing.Element.panel(place, radius: page.radius(2), Palette.noteGround)
        let stack = Stack(
            items: [
                .space, .mark(.brokenCode, side: 14, Palette.noteText, ground: Palette.noteGround), .gap(2),
                .text(text.codeNotShownTitle, Style(5, atLeast: 3, Palette.noteText, .bold, lines: 3)), .gap(1),
                .text(text.codeNotShownWhatToDo, Style(3.6, atLeast: 3, Palette.noteText, lines: 4)), .space,
            ],
            alignment: .centre
        )
        return [panel] + stack.compose(in: place.inset(by: page.pixels(3)), page: page)
    }

    /// Only for terminal windows: the link goes below the words, to be copied.
    private func linkAsText(_ link: String, _ page: Page, words: (Room, _ hasCode: Bool) -> [Drawing.Element])
        -> [Drawing.Element]
    {
        let content = page.content
        let stack = Stack(items: [
            .text(text.openThisLink, Style(4, page.palette.quiet)),
            .text(DisplayText.clean(link, limit: 3_000), Style(4, page.palette.text, lines: 60, breaksAnywhere: true)),
        ])
        let cell = page.surface.cell ?? PixelSize(width: 1, height: 1)
        let linkRows = 1 + (link.utf8.count * cell.width + content.width - 1) / max(1, content.width)
        let linkHeight = min(content.height, linkRows * cell.height)
        var above = content
        above.height = max(0, content.height - linkHeight - cell.height)
        let below = PixelRect(
            x: content.x,
            y: content.bottom - linkHeight,
            width: content.width,
            height: linkHeight
        )
        // Characters do not shrink: words that would run into the link stay away.
        let hasRoom = above.height >= 10 * cell.height
        return (hasRoom ? words(.beside(above), false) : []) + stack.compose(in: below, page: page)
    }
}
