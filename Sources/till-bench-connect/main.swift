// `payments N`: pairing to signature at a relay of its own, with our wallet.
// `foreign N PYTHON SCRIPT CERTIFICATE KEY`: the same exchange with a wallet of others.
// `envelopes N`: sealing and opening.
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
switch (arguments.first, arguments.dropFirst().first.flatMap { Int($0) }) {
case ("payments", let count?): try await ExchangeBench.run(payments: count)
case ("foreign", let count?) where arguments.count == 6:
    try await ExchangeBench.run(foreign: count, ForeignWallet(Array(arguments[2...])))
case ("envelopes", let count?): EnvelopeBench.run(count)
default:
    print("payments N | foreign N PYTHON SCRIPT CERTIFICATE KEY | envelopes N")
    exit(64)  // EX_USAGE. Source: sysexits.h.
}
