// A whole payment in one process, again and again: the terminal's own parts, the sandbox gateway and a customer.
try await PaymentBench.run(rounds: CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 100)
