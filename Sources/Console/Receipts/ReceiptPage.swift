import Receipts
import WebServer

/// A receipt as a page of its own, for the browser's own printing: its style sheet fits rolls and sheets.
struct ReceiptPage: Sendable {
    let slip: Slip
    let title: String
    let words: ReceiptWords
    /// The merchant's, as a `data:` address that the terminal wrote itself.
    var logo: String?

    var response: WebResponse { .file(Array(document.text.utf8), contentType: "text/html; charset=utf-8") }

    var document: Markup {
        """
        <!doctype html>
        <html lang="\(words.language)" dir="\(words.readsRightToLeft ? "rtl" : "ltr")"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(title)</title><link rel="stylesheet" href="/style/receipt.css"></head>
        <body>\(fragment)</body></html>

        """
    }

    /// The receipt alone.
    var fragment: Markup {
        let parts: [Markup] = slip.blocks.map { block in
            switch block {
            case .title(let text): "<h1><bdi>\(text)</bdi></h1>\n"
            case .stamp(let text): "<p class=\"stamp\">\(text)</p>\n"
            case .centred(let text): "<p class=\"centred\"><bdi>\(text)</bdi></p>\n"
            case .words(let text): "<p><bdi>\(text)</bdi></p>\n"
            case .rule: "<hr>\n"
            case .pair(let name, let value, let isStrong):
                """
                <dl class="\(isStrong ? "strong" : "plain")"><dt>\(name)</dt><dd><bdi>\(value)</bdi></dd></dl>

                """
            case .code: ""
            }
        }
        let picture: Markup = logo.map { "<img class=\"logo\" src=\"\($0)\" alt=\"\">\n" } ?? ""
        return "<main class=\"receipt\">\n\(picture)\(.joined(parts))</main>"
    }
}
