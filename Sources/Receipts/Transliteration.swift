/// What is written where a code page lacks a character: the nearest that a reader recognises.
enum Transliteration {
    /// `text` with nothing in it but what `page` has. What nothing stands for becomes a question mark.
    static func spell(_ text: String, in page: CodePage) -> String {
        var result = ""
        for character in text {
            if page.byte(of: character) != nil {
                result.append(character)
            } else if let near = near(character) {
                // A replacement may need replacing itself.
                for letter in near { result.append(page.byte(of: letter) == nil ? "?" : letter) }
            }
        }
        return result
    }

    /// Nil for what takes no place.
    private static func near(_ character: Character) -> String? {
        if let words = words[character] { return words }
        // A letter with marks that no table has: the letter alone.
        guard let first = character.unicodeScalars.first else { return nil }
        if character.unicodeScalars.count > 1 {
            let letter = Character(first)
            return letter.isASCII && letter != " " ? String(letter) : words[letter] ?? "?"
        }
        switch first.properties.generalCategory {
        case .spaceSeparator: return " "
        case .dashPunctuation: return "-"
        case .initialPunctuation, .finalPunctuation: return "\""
        case .nonspacingMark, .enclosingMark, .format, .control: return nil
        case .decimalNumber: return character.wholeNumberValue.map(String.init) ?? "?"
        default: return "?"
        }
    }

    private static let words: [Character: String] = {
        var words = signs
        for (letter, others) in latin + cyrillic + greek {
            for other in others { words[other] = letter }
        }
        return words
    }()

    private static let signs: [Character: String] = [
        "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₪": "ILS", "₫": "VND", "₴": "UAH", "₺": "TRY",
        "\u{A0}": " ", "\u{202F}": " ", "’": "'", "‘": "'", "‚": "'", "“": "\"", "”": "\"", "„": "\"", "«": "\"",
        "»": "\"", "…": "...", "–": "-", "—": "-", "•": "*", "·": ".", "×": "x", "÷": "/", "©": "(C)", "®": "(R)",
        "™": "(TM)", "№": "No", "°": "o", "½": "1/2", "¼": "1/4", "¾": "3/4", "¿": "?", "¡": "!",
        "ß": "ss", "ẞ": "SS", "Æ": "AE", "æ": "ae", "Œ": "OE", "œ": "oe", "Ø": "O", "ø": "o", "Þ": "Th", "þ": "th",
        "Ð": "D", "ð": "d", "Đ": "D", "đ": "d", "Ł": "L", "ł": "l", "ı": "i", "Ħ": "H", "ħ": "h", "Ŋ": "N", "ŋ": "n",
        "ŉ": "'n", "Ŧ": "T", "ŧ": "t", "ſ": "s", "Ĳ": "IJ", "ĳ": "ij",
    ]

    /// Source: Unicode 15, the letters that decompose to one of ASCII and marks.
    private static let latin: [(String, String)] = [
        ("A", "ÀÁÂÃÄÅĀĂĄǍǞǠǺȀȂȦḀẠẢẤẦẨẪẬẮẰẲẴẶ"),
        ("B", "ḂḄḆ"),
        ("C", "ÇĆĈĊČḈ"),
        ("D", "ĎḊḌḎḐḒ"),
        ("E", "ÈÉÊËĒĔĖĘĚȄȆȨḔḖḘḚḜẸẺẼẾỀỂỄỆ"),
        ("F", "Ḟ"),
        ("G", "ĜĞĠĢǦǴḠ"),
        ("H", "ĤȞḢḤḦḨḪ"),
        ("I", "ÌÍÎÏĨĪĬĮİǏȈȊḬḮỈỊ"),
        ("J", "Ĵ"),
        ("K", "ĶǨḰḲḴ"),
        ("L", "ĹĻĽḶḸḺḼ"),
        ("M", "ḾṀṂ"),
        ("N", "ÑŃŅŇǸṄṆṈṊ"),
        ("O", "ÒÓÔÕÖŌŎŐƠǑǪǬȌȎȪȬȮȰṌṎṐṒỌỎỐỒỔỖỘỚỜỞỠỢ"),
        ("P", "ṔṖ"),
        ("R", "ŔŖŘȐȒṘṚṜṞ"),
        ("S", "ŚŜŞŠȘṠṢṤṦṨ"),
        ("T", "ŢŤȚṪṬṮṰ"),
        ("U", "ÙÚÛÜŨŪŬŮŰŲƯǓǕǗǙǛȔȖṲṴṶṸṺỤỦỨỪỬỮỰ"),
        ("V", "ṼṾ"),
        ("W", "ŴẀẂẄẆẈ"),
        ("X", "ẊẌ"),
        ("Y", "ÝŶŸȲẎỲỴỶỸ"),
        ("Z", "ŹŻŽẐẒẔ"),
        ("a", "ªàáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ"),
        ("b", "ḃḅḇ"),
        ("c", "çćĉċčḉ"),
        ("d", "ďḋḍḏḑḓ"),
        ("e", "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ"),
        ("f", "ḟ"),
        ("g", "ĝğġģǧǵḡ"),
        ("h", "ĥȟḣḥḧḩḫẖ"),
        ("i", "ìíîïĩīĭįǐȉȋḭḯỉị"),
        ("j", "ĵǰ"),
        ("k", "ķǩḱḳḵ"),
        ("l", "ĺļľḷḹḻḽ"),
        ("m", "ḿṁṃ"),
        ("n", "ñńņňǹṅṇṉṋ"),
        ("o", "ºòóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ"),
        ("p", "ṕṗ"),
        ("r", "ŕŗřȑȓṙṛṝṟ"),
        ("s", "śŝşšſșṡṣṥṧṩẛ"),
        ("t", "ţťțṫṭṯṱẗ"),
        ("u", "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự"),
        ("v", "ṽṿ"),
        ("w", "ŵẁẃẅẇẉẘ"),
        ("x", "ẋẍ"),
        ("y", "ýÿŷȳẏẙỳỵỷỹ"),
        ("z", "źżžẑẓẕ"),
    ]

    private static let cyrillic: [(String, String)] = [
        ("A", "А"), ("B", "Б"), ("V", "В"), ("G", "ГҐ"), ("D", "Д"), ("E", "ЕЭЁ"), ("Ye", "Є"), ("Zh", "Ж"), ("Z", "З"),
        ("I", "ИІ"), ("Yi", "Ї"), ("Y", "ЙЫ"), ("K", "К"), ("L", "Л"), ("M", "М"), ("N", "Н"), ("O", "О"), ("P", "П"),
        ("R", "Р"), ("S", "С"), ("T", "Т"), ("U", "УЎ"), ("F", "Ф"), ("Kh", "Х"), ("Ts", "Ц"), ("Ch", "Ч"), ("Sh", "Ш"),
        ("Shch", "Щ"), ("Yu", "Ю"), ("Ya", "Я"), ("", "ЬЪьъ"),
        ("a", "а"), ("b", "б"), ("v", "в"), ("g", "гґ"), ("d", "д"), ("e", "еэё"), ("ye", "є"), ("zh", "ж"), ("z", "з"),
        ("i", "иі"), ("yi", "ї"), ("y", "йы"), ("k", "к"), ("l", "л"), ("m", "м"), ("n", "н"), ("o", "о"), ("p", "п"),
        ("r", "р"), ("s", "с"), ("t", "т"), ("u", "уў"), ("f", "ф"), ("kh", "х"), ("ts", "ц"), ("ch", "ч"), ("sh", "ш"),
        ("shch", "щ"), ("yu", "ю"), ("ya", "я"),
    ]

    private static let greek: [(String, String)] = [
        ("A", "ΑΆ"), ("B", "Β"), ("G", "Γ"), ("D", "Δ"), ("E", "ΕΈ"), ("Z", "Ζ"), ("I", "ΗΉΙΊΪ"), ("Th", "Θ"),
        ("K", "Κ"),
        ("L", "Λ"), ("M", "Μ"), ("N", "Ν"), ("X", "Ξ"), ("O", "ΟΌΩΏ"), ("P", "Π"), ("R", "Ρ"), ("S", "Σ"), ("T", "Τ"),
        ("Y", "ΥΎΫ"), ("F", "Φ"), ("Ch", "Χ"), ("Ps", "Ψ"),
        ("a", "αά"), ("b", "β"), ("g", "γ"), ("d", "δ"), ("e", "εέ"), ("z", "ζ"), ("i", "ηήιίϊΐ"), ("th", "θ"),
        ("k", "κ"),
        ("l", "λ"), ("m", "μ"), ("n", "ν"), ("x", "ξ"), ("o", "οόωώ"), ("p", "π"), ("r", "ρ"), ("s", "σς"), ("t", "τ"),
        ("y", "υύϋΰ"), ("f", "φ"), ("ch", "χ"), ("ps", "ψ"),
    ]
}
