try await ScreenBench.run(rounds: CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1000)
