/// The page on which a customer says who they are, as wallets open it in a web view, an iframe or a window.
///
/// It loads nothing from elsewhere and puts nothing from outside into the page but as text.
/// Source: WalletConnect Pay documentation, data collection: `prefill`, `theme`, `IC_COMPLETE`, `IC_ERROR` and the
/// names of the bridges.
enum FormPage {
    /// What the page begins with.
    enum Start: String {
        case open
        /// There is nothing to ask (any more).
        case done
        /// No such payment, or it is over.
        case gone
    }

    /// Any page may frame it: the wallet's, whichever that is.
    static func headers(nonce: String) -> [String: String] {
        [
            "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "Content-Security-Policy":
                "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'",
        ]
    }

    /// - Parameter postsObjects: Tells iOS's bridge in objects. The bridges of other platforms take texts alone.
    static func html(_ start: Start, nonce: String, postsObjects: Bool) -> String {
        """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Your details · sandbox</title>
        <style nonce="\(nonce)">\(style)</style>
        <main data-start="\(start.rawValue)" data-messages="\(postsObjects ? "objects" : "texts")">
        <h1>Your details</h1>
        <p class="note">This is a sandbox: do not enter real details. Nothing is sent to anyone.</p>
        \(form)
        <p id="outcome" role="status"></p>
        </main>
        <script nonce="\(nonce)">\(script)</script>
        </html>

        """
    }

    private static let style = """
        :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
        :root[data-theme=light] { color-scheme: light; } :root[data-theme=dark] { color-scheme: dark; }
        body { margin: 0; background: Canvas; color: CanvasText; }
        main { max-width: 28rem; margin: auto; padding: 1rem; }
        label, legend { display: block; font-weight: 600; }
        input, button, select { font: inherit; padding: .6rem; box-sizing: border-box; width: 100%; }
        input[type=checkbox] { width: auto; }
        fieldset { border: 1px solid; margin: 1rem 0; } .field { margin: 1rem 0; }
        .error { font-weight: 600; } .error:not(:empty)::before { content: "⚠ "; }
        """

    private static let form = """
        <form id="form" novalidate>
        <div class="field"><label for="fullName">Full name</label>
        <input id="fullName" autocomplete="name" maxlength="200" required aria-describedby="fullName-error">
        <p class="error" id="fullName-error"></p></div>
        <div class="field"><label for="dob">Date of birth</label>
        <input id="dob" type="date" autocomplete="bday" required aria-describedby="dob-error">
        <p class="error" id="dob-error"></p></div>
        <fieldset><legend>Place of birth or residence</legend>
        <div class="field"><label for="place">Which</label>
        <select id="place"><option value="por">Residence</option><option value="pob">Birth</option></select></div>
        <div class="field"><label for="country">Country, two letters</label>
        <input id="country" maxlength="2" required aria-describedby="country-error">
        <p class="error" id="country-error"></p></div>
        <div class="field"><label for="address">Address</label>
        <input id="address" maxlength="200" required aria-describedby="address-error">
        <p class="error" id="address-error"></p></div></fieldset>
        <div class="field"><label><input id="tosConfirmed" type="checkbox" aria-describedby="tosConfirmed-error">
        I accept the terms of this sandbox</label>
        <p class="error" id="tosConfirmed-error"></p></div>
        <button>Continue</button>
        </form>
        """

    private static let script = """
        "use strict";
        const query = new URLSearchParams(location.search);
        const field = (id) => document.getElementById(id);
        const form = field("form"), outcome = field("outcome");
        const theme = query.get("theme");
        if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

        // Whoever opened the page listens on one of these. The message tells nothing about the customer.
        function tell(message) {
            const text = JSON.stringify(message);
            const ios = document.querySelector("main").dataset.messages === "objects" ? message : text;
            window.webkit?.messageHandlers?.payDataCollectionComplete?.postMessage(ios);
            window.AndroidWallet?.onDataCollectionComplete?.(text);
            window.ReactNativeWebView?.postMessage(text);
            if (window.parent !== window) window.parent.postMessage(text, "*");
            window.opener?.postMessage(text, "*");
        }
        function complete() {
            form.hidden = true;
            outcome.textContent = "Thank you. Go back to your wallet.";
            tell({ type: "IC_COMPLETE", success: true });
        }
        function fail(error) {
            outcome.textContent = error;
            tell({ type: "IC_ERROR", error });
        }
        function place(prefix) {
            return { [prefix + "Country"]: field("country").value.trim().toUpperCase(),
                     [prefix + "Address"]: field("address").value.trim() };
        }
        function prefill() {
            const given = query.get("prefill");
            if (!given) return;
            let data;
            try {
                // A plus sign that was not escaped comes out of a query as a blank.
                const bytes = Uint8Array.from(atob(given.replaceAll(" ", "+")), (c) => c.charCodeAt(0));
                data = JSON.parse(new TextDecoder().decode(bytes));
            } catch { return; }
            const text = (name) => (typeof data?.[name] === "string" ? data[name] : "");
            field("fullName").value = text("fullName");
            field("dob").value = text("dob");
            if (text("pobCountry") || text("pobAddress")) field("place").value = "pob";
            const prefix = field("place").value;
            field("country").value = text(prefix + "Country");
            field("address").value = text(prefix + "Address");
        }
        function explain(issues) {
            let first = null;
            for (const { field: name, message } of issues) {
                const id = name.replace(/^po[br]/, "").replace(/^./, (c) => c.toLowerCase());
                const input = field(field(name) ? name : id);
                if (!input) continue;
                field(input.id + "-error").textContent = message;
                input.setAttribute("aria-invalid", "true");
                first ??= input;
            }
            first?.focus();
            return first !== null;
        }
        form.addEventListener("submit", async (event) => {
            event.preventDefault();
            outcome.textContent = "";
            for (const error of form.querySelectorAll(".error")) error.textContent = "";
            for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
            const data = { fullName: field("fullName").value.trim(), dob: field("dob").value,
                           tosConfirmed: field("tosConfirmed").checked, ...place(field("place").value) };
            try {
                const answer = await fetch("?pid=" + encodeURIComponent(query.get("pid") ?? ""), {
                    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(data) });
                if (answer.ok) return complete();
                const refusal = await answer.json();
                if (!explain(refusal.issues ?? [])) fail(refusal.message);
            } catch {
                fail("The details could not be sent. Try again.");
            }
        });
        switch (document.querySelector("main").dataset.start) {
        case "done": complete(); break;
        case "gone": form.hidden = true; fail("This payment cannot be paid any more."); break;
        default: prefill();
        }
        """
}
