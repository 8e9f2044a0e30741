import Ethereum
import Glibc
import Net
import WalletConnectPay

// A whole wallet, as small as it gets: pays a link with a fresh key. For a sandbox gateway, whose faucet fills any account.
//   till-example-wallet <payment link> <gateway>

/// Keys from this package; a wallet brings its own.
struct SandboxSigner: Signer {
    private let key = PrivateKey()

    var address: String { key.address.checksummed }

    func signTypedData(_ typedData: String) async throws -> String {
        key.sign(try TypedData(json: typedData).digest).hexadecimal
    }
}

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 2, let link = arguments.first, let gateway = arguments.last else {
    print("usage: till-example-wallet <payment link> <gateway>")
    exit(64)  // EX_USAGE. Source: sysexits.h.
}
guard WalletConnectPay.isPaymentLink(link) else {
    print("That does not look like a payment link.")
    exit(64)
}
WalletConnectPay.configure(appId: "till-example-wallet", baseUrl: gateway)
let flow = PaymentFlow(signer: SandboxSigner(), profile: ["fullName": "Jane Example", "dob": "1990-01-15"])
do {
    let result = try await flow.pay(link)
    print("Paid: \(result.info?.txId ?? "without a transaction")")
} catch let error as ConfirmPaymentError where error.mayHavePaid {
    print("It may have been paid; ask the merchant: \(error)")
    exit(2)
} catch {
    print("Not paid: \(error)")
    exit(1)
}
