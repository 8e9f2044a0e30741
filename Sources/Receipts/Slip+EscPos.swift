extension Slip {
    /// As commands and text for a receipt printer.
    ///
    /// Whatever a text holds, no byte of it is a command: each character becomes one printable byte of the code page, or the
    /// nearest that is.
    /// Source: Epson ESC/POS command reference: `ESC @`, `ESC R`, `ESC t`, `ESC a`, `ESC E`, `GS !`, `GS ( k`, `GS V`,
    /// `GS v 0`, `ESC p`, `FS .`.
    public func escPos(_ options: PrinterOptions) -> [UInt8] {
        let page = options.codePage
        var bytes: [UInt8] = [Self.escape, 0x40]  // As after switching on.
        bytes += [0x1C, 0x2E]  // Printers made for Chinese take two bytes of text for one letter otherwise.
        bytes += [Self.escape, 0x52, 0]  // The letters of ASCII where other countries have their own.
        bytes += [Self.escape, 0x74, page.number]
        if options.showsLogo, let picture, let dots = Dots(picture, in: options) {
            bytes += [Self.escape, 0x61, 1] + dots.commands + [0x0A, Self.escape, 0x61, 0]
        }
        for line in spelled(in: page).rollLines(width: options.columns.rawValue) {
            if line.isCode {
                if options.showsCode { bytes += Self.code(line.text) }
                continue
            }
            if line.isCentred { bytes += [Self.escape, 0x61, 1] }
            if line.emphasis != .none { bytes += [Self.escape, 0x45, 1] }
            if line.emphasis == .large { bytes += [Self.group, 0x21, 0x01] }  // Twice as high, as wide as before.
            bytes += Self.printable(line.text, in: page) + [0x0A]
            if line.emphasis == .large { bytes += [Self.group, 0x21, 0] }
            if line.emphasis != .none { bytes += [Self.escape, 0x45, 0] }
            if line.isCentred { bytes += [Self.escape, 0x61, 0] }
        }
        bytes += options.cuts ? [Self.group, 0x56, 66, 0] : [Self.escape, 0x64, 4]  // Past the blade, or the tear bar.
        if options.opensDrawer { bytes += [Self.escape, 0x70, 0, 25, 250] }  // 50 ms on, 500 ms off.
        return bytes
    }

    private static let escape: UInt8 = 0x1B
    private static let group: UInt8 = 0x1D

    /// The same slip in the letters that a code page has. Before it is set: a replacement can be longer.
    private func spelled(in page: CodePage) -> Slip {
        func spell(_ text: String) -> String { Transliteration.spell(text, in: page) }
        return Slip(
            blocks.map { block in
                switch block {
                case .title(let text): .title(spell(text))
                case .stamp(let text): .stamp(spell(text))
                case .centred(let text): .centred(spell(text))
                case .words(let text): .words(spell(text))
                case .pair(let name, let value, let isStrong): .pair(spell(name), spell(value), isStrong: isStrong)
                case .rule, .code: block
                }
            }
        )
    }

    private static func printable(_ text: String, in page: CodePage) -> [UInt8] {
        text.map { page.byte(of: $0) ?? UInt8(ascii: "?") }
    }

    /// A QR code of model 2 with error correction M and modules of 6 dots. Nothing where the text is none that a charge's
    /// ID could be.
    private static func code(_ text: String) -> [UInt8] {
        let data = Array(text.utf8)
        guard (1...100).contains(data.count), data.allSatisfy({ (0x21...0x7E).contains($0) }) else { return [] }
        func command(_ function: UInt8, _ parameters: [UInt8]) -> [UInt8] {
            [group, 0x28, 0x6B, UInt8(parameters.count + 2), 0, 0x31, function] + parameters
        }
        return [escape, 0x61, 1] + command(65, [50, 0]) + command(67, [6]) + command(69, [49])
            + command(80, [48] + data) + command(81, [48]) + [0x0A, escape, 0x61, 0]
    }
}

extension Dots {
    /// Two thirds of the paper's width and 24 mm high at most, at eight dots to a millimetre.
    init?(_ picture: SlipPicture, in options: PrinterOptions) {
        // Each of the columns that the printer is set to is 12 dots wide, of whichever paper.
        self.init(picture, width: options.columns.rawValue * 12 * 2 / 3 / 8 * 8, height: 192)
    }
}
