import ArgumentParser

/// The far ends of a payment, for trials and tests: a gateway and an acquirer with their own money, a customer's wallet, and
/// the relay that carries envelopes between a terminal and a wallet.
@main
struct TillSandbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "till-sandbox",
        abstract:
            "A payment gateway, an acquirer and a customer's wallet that move no real money, and a WalletConnect relay.",
        discussion: """
            The gateway speaks the WalletConnect Pay API and keeps its own ledger of tokens; the wallet pays \
            payment links at such a gateway with real signatures. The acquirer executes what terminals and phones \
            agree on by Bluetooth, and keeps its own books. None of them talks to any blockchain or bank.
            """,
        subcommands: [GatewayCommand.self, AcquirerCommand.self, WalletCommand.self, RelayCommand.self]
    )
}
