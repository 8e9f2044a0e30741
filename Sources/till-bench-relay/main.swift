try await RelayBench.run(
    clients: CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5000,
    messages: CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 4000
)
