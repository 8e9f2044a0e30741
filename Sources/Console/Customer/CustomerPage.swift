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
    let wallets: [CustomerWallet]
    let now: WallTime

    /// The page; where `tags` name what it says now, only that it still does.
    /// - Parameter tags: An `If-None-Match`. The time left is no part of it: a phone counts that by itself.
    func response(unless tags: String? = nil) -> WebResponse {
        let (body, tag) = (body, tag(of: body))
        guard tags != "\"\(tag)\"" else {
            return WebResponse(status: 304, headers: ["ETag": "\"\(tag)\"", "Cache-Control": "no-store"])
        }
        let pace = view.isOver ? Self.slowly : Self.soon
        var response = Self.document(200, title: title, main: main(body, tag, pace), view.words, again: pace)
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

    private var heading: String { view.kind == .waiting ? "Pay with your wallet" : view.title }

    private var body: Markup {
        """
        <header><p class="merchant"><bdi>\(view.merchantName)</bdi></p><p class="amount">\(view.amountText)</p></header>
        <section class="state">\(mark)<div><h1>\(heading)</h1>\(details)</div></section>
        \(offer)<p class="code">\(view.words.code) <b>\(view.code)</b></p>
        \(view.kind == .waiting ? Self.comparison : "")
        """
    }

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

    private static let comparison: Markup = """
        <p class="quiet">The terminal’s screen shows the same name, amount and code. If not, do not pay: ask staff.</p>
        """

    /// Outside of what has a version: it changes with every second.
    private var time: Markup {
        guard let seconds = view.secondsLeft else { return "" }
        let text = "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
        return """
            <p class="time">\(view.words.timeLeft) <b id="left" data-seconds="\(seconds)">\(text)</b></p>
            """
    }

    private var details: Markup { .joined(view.details.map { "<p>\($0)</p>" }) }

    private var offer: Markup {
        guard view.kind == .waiting else { return "" }
        if let form = view.form {
            let button: Markup = """
                <p class="other"><a class="button" href="\(form)" target="_blank" rel="noopener noreferrer">\
                Fill in the form</a></p><p class="quiet">The payment then goes on by itself.</p>
                """
            return .joined([button, view.scannable.flatMap(CodePicture.init).map(Self.code) ?? ""])
        }
        let pairing = pairing
        let buttons: [Markup] = wallets.compactMap { wallet in
            wallet.anchor(pairing: pairing, paymentLink: view.paymentLink).map { Self.button(wallet, $0) }
        }
        var parts: [Markup] = []
        if !buttons.isEmpty { parts.append("<ul class=\"wallets\" aria-label=\"Wallets\">\(.joined(buttons))</ul>") }
        if let link = view.paymentLink {
            parts.append(
                """
                <p class="other"><a class="button" href="\(link)" target="_blank" rel="noopener noreferrer">\
                \(buttons.isEmpty ? "Open the payment" : "Another wallet")</a></p>
                """
            )
        }
        // A code that is a pairing has to be whole, as the buttons' is.
        let isPairing = view.scannable?.hasPrefix("wc:") == true
        let text = isPairing && pairing == nil ? view.paymentLink : view.scannable
        if let picture = text.flatMap(CodePicture.init) { parts.append(Self.code(picture)) }
        return .joined(parts)
    }

    private static func button(_ wallet: CustomerWallet, _ anchor: DappLink.Anchor) -> Markup {
        let picture: Markup =
            wallet.icon.map { "<img src=\"\($0)\" alt=\"\" width=\"40\" height=\"40\">" }
            ?? "<span class=\"letter\" aria-hidden=\"true\">\(String(wallet.name.prefix(1)))</span>"
        return """
            <li><a class="wallet" href="\(anchor.href)" target="\(anchor.target)" rel="\(anchor.rel)">\(picture)\
            <span>Open <bdi>\(wallet.name)</bdi></span></a></li>
            """
    }

    private static func code(_ picture: CodePicture) -> Markup {
        """
        <details id="second"><summary>Pay with another device</summary>\
        <svg class="qr" viewBox="0 0 \(picture.side) \(picture.side)" role="img" aria-label="QR code of this payment" \
        shape-rendering="crispEdges"><rect width="\(picture.side)" height="\(picture.side)" fill="#fff"/>\
        <path d="\(picture.path)" fill="#000"/></svg><p>Scan it with the wallet on your other device.</p></details>
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
        _ words: CustomerView.Words? = nil,
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
            <html lang="\(words?.language ?? "en")" dir="\(words?.readsRightToLeft == true ? "rtl" : "ltr")">
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
            <p id="lost" class="lost" role="alert" hidden>No connection to the terminal. What stands above may be old: \
            look at the terminal’s screen.</p>
            <p id="ended" class="ended" role="status" hidden>This page has ended. What stands above is the last it was told: \
            staff know what came after.</p>
            </body>
            </html>

            """
        var response = WebResponse.file(Array(page.text.utf8), contentType: "text/html; charset=utf-8", status: status)
        response.headers["Content-Security-Policy"] = policy
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Robots-Tag"] = "noindex, nofollow"
        return response
    }

    private static func notice(_ status: Int, _ title: String, _ detail: String, isOver: Bool) -> WebResponse {
        let main: Markup = """
            <main id="pay" data-kind="gone" data-version="\(String(status))"\(isOver ? " data-over" : "" as Markup)>\
            <section class="state"><div><h1>\(title)</h1><p>\(detail)</p></div></section></main>
            """
        return document(status, title: title, main: main)
    }

    /// The same for every address that shows nothing: never was, is over, is switched off.
    static let gone = notice(
        404,
        "This page is over",
        "It belongs to one payment and ends with it. Look at the terminal’s screen, or ask staff.",
        isOver: true
    )

    static let unavailable = notice(
        503,
        "One moment",
        "The terminal cannot show this page now. Look at its screen, or ask staff.",
        isOver: false
    )

    static let readOnly: WebResponse = {
        var response = notice(405, "This page can only be read", "Open it in a browser.", isOver: true)
        response.headers["Allow"] = "GET, HEAD"
        return response
    }()

    static func busy(retryAfter wait: Duration) -> WebResponse {
        var response = notice(429, "Too many requests", "Wait a moment, then open the page again.", isOver: false)
        response.headers["Retry-After"] = String(max(1, wait.components.seconds + 1))
        return response
    }
}
