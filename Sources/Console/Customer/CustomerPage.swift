import Crypto
import Payments
import Terminal
import WalletConnect
import WebServer

/// The page that a customer's own phone opens: one charge, and the wallets to pay it with.
///
/// Whole without a script: every link is finished before the page leaves, so that a tap follows it and nothing else has to
/// happen first; on iOS a universal link opens the app only then. Source: WalletKit for iOS, "Mobile Linking".
struct CustomerPage: Sendable {
    static let path = "/pay/"

    let view: CustomerView
    /// What the page says beside the screen's own words.
    private var words: CustomerWords { .inLanguage(view.words.language) }
    let wallets: [CustomerWallet]
    let now: WallTime
    /// The merchant's, as a `data:` address that the terminal wrote itself.
    var logo: String?

    /// The page; where `tags` name what it says now, only that it still does.
    /// - Parameter tags: An `If-None-Match`. The time left is no part of it: a phone counts that by itself.
    func response(unless tags: String? = nil) -> WebResponse {
        let (body, tag) = (body, tag(of: body))
        guard tags != "\"\(tag)\"" else {
            return WebResponse(status: 304, headers: ["ETag": "\"\(tag)\"", "Cache-Control": "no-store"])
        }
        let pace = view.isOver ? Self.slowly : Self.soon
        var response = Self.document(200, title: title, main: main(body, tag, pace), words, again: pace)
        response.headers["ETag"] = "\"\(tag)\""
        return response
    }

    /// Seconds until a phone asks again while the payment goes on.
    static let soon = 2
    /// The same once it has ended: a payment can come late, and money can go back.
    static let slowly = 15

    /// The pairing where it is whole and can still be used: what a wallet could not pair with is not offered.
    private var pairing: WalletConnectURI? {
        guard let text = view.pairing, let uri = try? WalletConnectURI(parsing: text),
            !uri.isExpired(atSeconds: now.secondsSince1970)
        else { return nil }
        return uri
    }

    private var title: String { "\(view.amountText) · \(view.merchantName)" }

    private var heading: String { view.kind == .waiting ? words.payWithWallet : view.title }

    private var body: Markup {
        """
        <header>\(picture)<p class="merchant"><bdi>\(view.merchantName)</bdi></p><p class="amount"><bdi>\(view.amountText)</bdi></p></header>
        <section class="state">\(mark)<div><h1>\(heading)</h1>\(details)</div></section>
        \(offer)<p class="code">\(view.words.code) <b dir="ltr">\(view.code)</b></p>
        \(view.kind == .waiting ? comparison : "")
        """
    }

    private var picture: Markup { logo.map { "<img class=\"logo\" src=\"\($0)\" alt=\"\">" } ?? "" }

    private func tag(of body: Markup) -> String {
        let whole = "\(view.kind.rawValue) \(view.isOver) \(view.secondsLeft == nil) \(body.text)"
        return SHA256.hash(data: Array(whole.utf8)).prefix(8).map { String($0, radix: 16) }.joined(separator: "-")
    }

    private func main(_ body: Markup, _ tag: String, _ pace: Int) -> Markup {
        """
        <main id="pay" data-kind="\(view.kind.rawValue)" data-version="\(tag)" data-again="\(pace)"\
        \(view.isOver ? " data-over" : "" as Markup)>
        \(body)\(time)</main>
        """
    }

    private var comparison: Markup { "<p class=\"quiet\">\(words.compare)</p>" }

    /// Outside of what has a version: it changes with every second.
    private var time: Markup {
        guard let seconds = view.secondsLeft else { return "" }
        let text = "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
        return """
            <p class="time">\(view.words.timeLeft) <b id="left" dir="ltr" data-seconds="\(seconds)">\(text)</b></p>
            """
    }

    private var details: Markup { .joined(view.details.map { "<p>\($0)</p>" }) }

    private var offer: Markup {
        guard view.kind == .waiting else { return "" }
        if let form = view.form {
            let button: Markup = """
                <p class="other"><a class="button" href="\(form)" target="_blank" rel="noopener noreferrer">\
                \(words.fillInForm)</a></p><p class="quiet">\(words.goesOn)</p>
                """
            return .joined([button, view.scannable.flatMap(CodePicture.init).map(code) ?? ""])
        }
        let pairing = pairing
        let buttons: [Markup] = wallets.compactMap { wallet in
            wallet.anchor(pairing: pairing, paymentLink: view.paymentLink).map { button(wallet, $0) }
        }
        var parts: [Markup] = []
        if !buttons.isEmpty {
            parts.append("<ul class=\"wallets\" aria-label=\"\(words.wallets)\">\(.joined(buttons))</ul>")
        }
        if let link = view.paymentLink {
            parts.append(
                """
                <p class="other"><a class="button" href="\(link)" target="_blank" rel="noopener noreferrer">\
                \(buttons.isEmpty ? words.openPayment : words.anotherWallet)</a></p>
                """
            )
        }
        // A code that is a pairing has to be whole, as the buttons' is.
        let isPairing = view.scannable?.hasPrefix("wc:") == true
        let text = isPairing && pairing == nil ? view.paymentLink : view.scannable
        if let picture = text.flatMap(CodePicture.init) { parts.append(code(picture)) }
        return .joined(parts)
    }

    private func button(_ wallet: CustomerWallet, _ anchor: DappLink.Anchor) -> Markup {
        let picture: Markup =
            wallet.icon.map { "<img src=\"\($0)\" alt=\"\" width=\"40\" height=\"40\">" }
            ?? "<span class=\"letter\" aria-hidden=\"true\">\(String(wallet.name.prefix(1)))</span>"
        return """
            <li><a class="wallet" href="\(anchor.href)" target="\(anchor.target)" rel="\(anchor.rel)">\(picture)\
            <span>\(words.open.before)<bdi>\(wallet.name)</bdi>\(words.open.after)</span></a></li>
            """
    }

    private func code(_ picture: CodePicture) -> Markup {
        """
        <details id="second"><summary>\(words.otherDevice)</summary>\
        <svg class="qr" viewBox="0 0 \(picture.side) \(picture.side)" role="img" aria-label="\(words.codeOfPayment)" \
        shape-rendering="crispEdges"><rect width="\(picture.side)" height="\(picture.side)" fill="#fff"/>\
        <path d="\(picture.path)" fill="#000"/></svg><p>\(words.scanThere)</p></details>
        """
    }

    /// Shapes beside the colours, as on the screen.
    private var mark: Markup {
        let path: Markup =
            switch view.kind {
            case .paid: "<path d=\"M5 13l5 5 9-11\"/>"
            case .givenBack: "<path d=\"M20 12H5M11 6l-6 6 6 6\"/>"
            case .notPaid: "<path d=\"M6 6l12 12M18 6L6 18\"/>"
            case .unknown: "<path d=\"M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2M12 18v.1\"/>"
            case .processing, .opening: "<path d=\"M6 12v.1M12 12v.1M18 12v.1\"/>"
            case .promised: "<path d=\"M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 1 0 0-18\"/>"
            case .waiting: ""
            }
        guard view.kind != .waiting else { return "" }
        return "<svg class=\"mark\" viewBox=\"0 0 24 24\" aria-hidden=\"true\">\(path)</svg>"
    }
}

extension CustomerWallet {
    /// What a tap on it opens: finished before the tap, with the pairing where there is one, else with the payment link
    /// where the wallet takes such links. Nil where it could do nothing with what there is.
    func anchor(pairing: WalletConnectURI?, paymentLink: String?) -> DappLink.Anchor? {
        if let pairing { return DappLink.anchor(pairing, native: native, universal: universal) }
        guard takesPaymentLinks, let paymentLink else { return nil }
        return DappLink.anchor(paymentLink: paymentLink, native: native, universal: universal)
    }
}

// MARK: - The frame around it

extension CustomerPage {
    /// Stricter than the staff's pages: no form, no other origin, pictures only within the page.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"

    static func document(
        _ status: Int,
        title: String,
        main: Markup,
        _ words: CustomerWords,
        again pace: Int? = nil
    ) -> WebResponse {
        let live = pace.map { seconds -> Markup in
            """
            <script type="module" src="/app/pay.js"></script>
            <noscript><meta http-equiv="refresh" content="\(max(5, seconds))"></noscript>

            """
        }
        let page: Markup = """
            <!doctype html>
            <html lang="\(words.language)" dir="\(words.readsRightToLeft ? "rtl" : "ltr")">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
            <meta name="robots" content="noindex">
            <meta name="format-detection" content="telephone=no">
            <meta name="color-scheme" content="light dark">
            <title>\(title)</title>
            <link rel="stylesheet" href="/style/tokens.css">
            <link rel="stylesheet" href="/style/pay.css">
            <link rel="icon" href="data:,">
            \(live ?? "")</head>
            <body>
            \(main)
            <p id="heard" class="heard" role="status"></p>
            <p id="lost" class="lost" role="alert" hidden>\(words.lost)</p>
            <p id="ended" class="ended" role="status" hidden>\(words.ended)</p>
            </body>
            </html>

            """
        var response = WebResponse.file(Array(page.text.utf8), contentType: "text/html; charset=utf-8", status: status)
        response.headers["Content-Security-Policy"] = policy
        response.headers["Cache-Control"] = "no-store"
        response.headers["Vary"] = "Accept-Language"
        response.headers["X-Robots-Tag"] = "noindex, nofollow"
        return response
    }

    private static func notice(
        _ status: Int,
        _ said: CustomerWords.Notice,
        _ words: CustomerWords,
        isOver: Bool
    ) -> WebResponse {
        let main: Markup = """
            <main id="pay" data-kind="gone" data-version="\(String(status))"\(isOver ? " data-over" : "" as Markup)>\
            <section class="state"><div><h1>\(said.title)</h1><p>\(said.detail)</p></div></section></main>
            """
        return document(status, title: said.title, main: main, words)
    }

    /// The same for every address that shows nothing: never was, is over, is switched off.
    static func gone(_ words: CustomerWords) -> WebResponse { notice(404, words.gone, words, isOver: true) }

    static func unavailable(_ words: CustomerWords) -> WebResponse {
        notice(503, words.unavailable, words, isOver: false)
    }

    static func readOnly(_ words: CustomerWords) -> WebResponse {
        var response = notice(405, words.readOnly, words, isOver: true)
        response.headers["Allow"] = "GET, HEAD"
        return response
    }

    static func busy(retryAfter wait: Duration, _ words: CustomerWords) -> WebResponse {
        var response = notice(429, words.busy, words, isOver: false)
        response.headers["Retry-After"] = String(max(1, wait.components.seconds + 1))
        return response
    }
}
