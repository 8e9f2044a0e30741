/// A printer's set of 256 characters.
///
/// Source: Epson ESC/POS command reference, `ESC t` and its character code tables; the same bytes as Unicode's mappings of
/// the code pages of these numbers.
public enum CodePage: String, Sendable, Hashable, Codable, CaseIterable {
    /// PC437: United States.
    case pc437
    /// PC850: western Europe, without the euro sign.
    case pc850
    /// WPC1252: western Europe.
    case wpc1252
    /// PC866: Cyrillic.
    case pc866
    /// PC852: central Europe.
    case pc852
    /// PC858: western Europe, with the euro sign.
    case pc858

    /// The number that printers know it by.
    var number: UInt8 {
        switch self {
        case .pc437: 0
        case .pc850: 2
        case .wpc1252: 16
        case .pc866: 17
        case .pc852: 18
        case .pc858: 19
        }
    }

    /// Letters that show on paper whether the printer took the code page.
    var sample: String {
        switch self {
        case .pc437, .pc850: "ÄÖÜ äöüß éèê ñ £"
        case .pc858, .wpc1252: "ÄÖÜ äöüß éèê ñ £ €"
        case .pc852: "ÄÖÜ äöüß ąęł čřž őű"
        case .pc866: "Привет, Ёж"
        }
    }

    /// The byte of a character, or nil where the page lacks it. ASCII is the same in all.
    func byte(of character: Character) -> UInt8? {
        if let ascii = character.asciiValue { return (0x20...0x7E).contains(ascii) ? ascii : nil }
        return Self.upperBytes[self]?[character]
    }

    private static let upperBytes: [CodePage: [Character: UInt8]] = Dictionary(
        uniqueKeysWithValues: allCases.map { page in
            var bytes: [Character: UInt8] = [:]
            for (index, scalar) in page.upperHalf.unicodeScalars.enumerated() {
                guard !["\u{A0}", "\u{AD}", "\u{FFFD}"].contains(scalar) else { continue }
                bytes[Character(scalar)] = UInt8(0x80 + index)
            }
            return (page, bytes)
        }
    )

    /// The characters of the bytes 80 to FF in hexadecimal, in order; U+FFFD where there is none.
    private var upperHalf: String {
        switch self {
        case .pc437:
            "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐"
                + "└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}"
        case .pc850:
            "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐"
                + "└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{AD}±‗¾¶§÷¸°¨·¹³²■\u{A0}"
        case .wpc1252:
            "€\u{FFFD}‚ƒ„…†‡ˆ‰Š‹Œ\u{FFFD}Ž\u{FFFD}\u{FFFD}‘’“”•–—˜™š›œ\u{FFFD}žŸ\u{A0}¡¢£¤¥¦§¨©ª«¬\u{AD}®¯°±²³´µ¶·¸¹º»¼½¾¿"
                + "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ"
        case .pc866:
            "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмноп░▒▓│┤╡╢╖╕╣║╗╝╜╛┐"
                + "└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀рстуфхцчшщъыьэюяЁёЄєЇїЎў°∙·√№¤■\u{A0}"
        case .pc852:
            "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐"
                + "└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{AD}˝˛ˇ˘§÷¸°¨˙űŘř■\u{A0}"
        case .pc858:
            "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐"
                + "└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈ€ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{AD}±‗¾¶§÷¸°¨·¹³²■\u{A0}"
        }
    }
}
