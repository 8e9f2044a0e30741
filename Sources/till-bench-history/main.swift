// `[FOLDER [FEW MANY]]`: how fast lists, searches, sums and files are at few and at many charges.
let arguments = Array(CommandLine.arguments.dropFirst())
let counts = arguments.dropFirst().compactMap { Int($0) }
try await history(in: arguments.first, counts: counts.count == 2 ? counts : [10_000, 1_000_000])
