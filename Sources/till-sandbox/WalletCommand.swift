import ArgumentParser
import Ethereum
import Glibc
import Net
import Payments
import Sandbox
import WalletConnectPay
import StrictJSON

/// `till-sandbox wallet`: what a customer does.
struct WalletCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wallet",
        abstract: "Act as a customer's wallet.",
        subcommands: [WalletPayCommand.self, WalletTapCommand.self, WalletConnectCommand.self]
    )
}

/// `till-sandbox wallet pay`: pays a link and waits for the end.
struct WalletPayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pay",
        abstract: "Pay a payment link with a key of its own, and wait until the payment is final.",
        discussion: """
            Before it signs, it checks that what it signs is what the payment says: amount, token, network, receiver, \
            account and time.
            Exit codes: 0 paid; 1 not paid; 2 not known whether it was paid; 3 declined; 64 wrong usage.
            """
    )

    @Argument(help: "The payment link, or the payment's name (pay_…).")
    var link: String

    @Option(help: "The gateway's API. Without it, the environment variable TILL_SANDBOX_GATEWAY tells.")
    var gateway: String?

    @Option(help: "The wallet's private key: 64 hexadecimal digits, or 'fresh'. For the sandbox only: others see it.")
    var key = "fresh"

    @Option(help: "Pay on this network only: a chain's number, for example 8453.")
    var chain: UInt64?

    @Option(help: "Pay with this token only, for example USDC.")
    var token: String?

    @Option(help: "Pay this merchant only.")
    var merchantName: String?

    @Option(help: "Pay this amount only: a currency and its smallest units, for example EUR:1250.")
    var amount: String?

    @Option(help: "Seconds to wait for the end of the payment.")
    var timeout = 120

    @Flag(help: "Look at the payment and do not pay it.")
    var decline = false

    @Flag(help: "Say everything as JSON: one object at the end.")
    var json = false

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout is 1 to 3600 seconds") }
        _ = try wishes()
        if key != "fresh" { _ = try privateKey() }
    }

    func run() async throws {
        let transport = try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true))
        let code = await pay(over: transport)
        try? await transport.shutdown()  // Nothing is sent any more, whatever it says.
        if code != .success { throw code }
    }

    private func pay(over transport: HTTPClientTransport) async -> ExitCode {
        do throws(WalletRefusal) {
            let wallet = CustomerWallet(
                key: try walletKey(),
                client: try client(transport),
                now: SandboxClock.system.now
            )
            say("Wallet    \(wallet.address.checksummed)\(key == "fresh" ? " (a fresh key)" : "")")
            let bill = try await wallet.look(at: link, try checkedWishes())
            say("Payment   \(bill.paymentID)")
            say("Merchant  \(bill.merchantName)")
            say("Amount    \(CustomerWallet.text(bill.amount))")
            say("To pay    \(CustomerWallet.text(bill.price))")
            if decline {
                say("Declined  nothing was signed and nothing paid")
                report(result: "declined", wallet: wallet, bill: bill, status: nil, transaction: nil)
                return ExitCode(3)
            }
            let signed = try await wallet.sign(bill)
            if signed.isApproved { say("Approved  \(bill.price.display?.assetSymbol ?? "the token") for Permit2") }
            say("Signed    after checking amount, token, network, receiver, account and time")
            let end = try await wallet.confirm(signed, waitingUpTo: .seconds(timeout))
            report(
                result: end.status == .succeeded ? "paid" : "not_paid",
                wallet: wallet,
                bill: bill,
                status: end.status.word,
                transaction: end.result?.transactionID
            )
            guard end.status == .succeeded else {
                say("Not paid  the payment is \(end.status.word)\(end.failureCode.map { " (\($0))" } ?? "")")
                return .failure
            }
            say("Paid      transaction \(end.result?.transactionID ?? "without a name")")
            return .success
        } catch {
            Output.failure(error.description)
            if json { Output.line(#"{"result":"\#(error.mayHavePaid ? "unknown" : "not_paid")"}"#) }
            return error.mayHavePaid ? ExitCode(2) : .failure
        }
    }

    private func say(_ line: String) { if !json { Output.line(line) } }

    private func report(
        result: String,
        wallet: CustomerWallet,
        bill: CustomerWallet.Bill,
        status: String?,
        transaction: String?
    ) {
        guard json else { return }
        let fields = [
            ("result", result), ("status", status), ("paymentId", bill.paymentID.rawValue),
            ("merchant", bill.merchantName), ("amountUnit", bill.amount.unit), ("amountValue", bill.amount.value),
            ("paidUnit", bill.price.unit), ("paidValue", bill.price.value), ("account", bill.account),
            ("transaction", transaction),
        ]
        let members = fields.map { ExactJSON.Member($0.0, $0.1.map(ExactJSON.string) ?? .null) }
        Output.line(ExactJSON.object(members).text)
    }
}

extension WalletPayCommand {
    private func client(_ transport: HTTPClientTransport) throws(WalletRefusal) -> PayClient {
        let address = gateway ?? environment("TILL_SANDBOX_GATEWAY")
        guard let address else {
            throw .gateway(.notSent(reason: "name it with --gateway or in TILL_SANDBOX_GATEWAY"))
        }
        do throws(PayError) {
            return try PayClient(
                baseURL: address,
                appID: "till-sandbox",
                clientID: "till-sandbox-wallet",
                transport: transport
            )
        } catch {
            throw .gateway(.notSent(reason: "'\(address)' is no gateway address"))
        }
    }

    private func walletKey() throws(WalletRefusal) -> PrivateKey {
        if key == "fresh" { return PrivateKey() }
        guard let key = try? privateKey() else { throw .suspicious("the key is not a private key") }
        return key
    }

    private func privateKey() throws -> PrivateKey {
        do throws(PrivateKey.Failure) {
            return try PrivateKey(parsing: key.hasPrefix("0x") ? key : "0x" + key)
        } catch {
            throw ValidationError("--key is 64 hexadecimal digits, or 'fresh'")
        }
    }

    private func checkedWishes() throws(WalletRefusal) -> CustomerWallet.Wishes {
        guard let wishes = try? wishes() else { throw .suspicious("--amount is not CURRENCY:DIGITS") }
        return wishes
    }

    private func wishes() throws -> CustomerWallet.Wishes {
        var wishes = CustomerWallet.Wishes()
        (wishes.chainID, wishes.symbol, wishes.merchantName) = (chain, token, merchantName)
        if let amount {
            let parts = amount.split(separator: ":")
            guard parts.count == 2, let minorUnits = Int64(parts[1]), minorUnits > 0 else {
                throw ValidationError("--amount is a currency and its smallest units, for example EUR:1250")
            }
            wishes.amount = .fiat(code: String(parts[0]), minorUnits: minorUnits)
        }
        return wishes
    }

    private func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
