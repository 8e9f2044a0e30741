import Ethereum
import FoundationEssentials
import Glibc
import Net
import WalletConnectPay

// A whole wallet, as small as it gets: pays a link with a fresh key. For a sandbox gateway, whose faucet fills any account.
//   till-example-wallet <payment link> <gateway> [--accept-terms] [--browser | --answer-forms]
// With --accept-terms the customer has accepted WalletConnect's terms and privacy policy, and what the wallet knows of them may
// be handed over. With --browser somebody drives a browser for the wallet; see `PipedBrowser`. With --answer-forms the wallet reads
// a form's questions from its schema and answers them itself.

/// Keys from this package; a wallet brings its own.
struct SandboxSigner: Signer {
    private let key = PrivateKey()

    var address: String { key.address.checksummed }

    func sign(_ typedData: TypedData) async throws -> String { key.sign(typedData.digest).hexadecimal }
}

/// A browser at the other end of two pipes: it is told what to open in one line of JSON, and says what the bridge said in
/// one line for each message. The script calls a function `tillBridge`, which the browser gives the page.
struct PipedBrowser: WebView {
    private struct Page: Encodable { let open, script: String }

    func open(_ url: String, script: @Sendable (_ function: String) -> String?) -> AsyncStream<String> {
        guard let script = script("tillBridge"), let line = try? JSONEncoder().encode(Page(open: url, script: script))
        else {
            return AsyncStream { nil }
        }
        say(String(decoding: line, as: UTF8.self))
        return AsyncStream { readLine() }  // Nothing else goes on in this program, so reading may block it.
    }
}

/// A line, out at once.
@Sendable func say(_ line: String) {
    print(line)
    _ = fflush(nil)
}

var arguments = Array(CommandLine.arguments.dropFirst())
let options = Set(arguments.filter { $0.hasPrefix("--") })
arguments.removeAll { options.contains($0) }
guard arguments.count == 2, options.isSubset(of: ["--accept-terms", "--browser", "--answer-forms"]) else {
    say("usage: till-example-wallet <payment link> <gateway> [--accept-terms] [--browser | --answer-forms]")
    exit(64)  // EX_USAGE. Source: sysexits.h.
}
let (link, gateway) = (arguments[0], arguments[1])
guard WalletConnectPay.isPaymentLink(link) else {
    say("That does not look like a payment link.")
    exit(64)
}
WalletConnectPay.configure(appId: "till-example-wallet", baseUrl: gateway)
let flow = PaymentFlow(
    signer: SandboxSigner(),
    profile: ["fullName": "Jane Example", "dob": "1990-01-15", "pobCountry": "SE", "pobAddress": "Lund"],
    hasAcceptedTerms: options.contains("--accept-terms"),
    webView: options.contains("--browser") ? PipedBrowser() : nil,
    answersForms: options.contains("--answer-forms"),
    say: say
)
do {
    let result = try await flow.pay(link)
    say("Paid: \(result.info?.txId ?? "without a transaction")")
} catch let error as ConfirmPaymentError where error.mayHavePaid {
    say("It may have been paid; ask the merchant: \(error)")
    exit(2)
} catch PaymentFailure.notKnown(let status) {
    say("It may have been paid; ask the merchant: the gateway's last word is '\(status.word.prefix(64))'")
    exit(2)
} catch {
    say("Not paid: \(error)")
    exit(1)
}
