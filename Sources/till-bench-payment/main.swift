// A whole payment in one process, again and again: the terminal's own parts, the sandbox gateway and a customer.
// With “library” before the number of rounds: the merchant's calls alone, beside curl.
let arguments = CommandLine.arguments.dropFirst()
let rounds = arguments.last.flatMap(Int.init) ?? 1000
if arguments.first == "library" {
    try await LibraryBench.run(rounds: rounds)
} else {
    try await PaymentBench.run(rounds: rounds)
}
