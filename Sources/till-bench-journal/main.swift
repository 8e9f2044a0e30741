// `[FOLDER [TURNS]]`: how fast the journal commits beside SQLite itself, in that folder.
// `append FOLDER [BYTES]`: appends until it is killed and says what is safe. To kill it, or to pull the plug.
// `connect FOLDER N [BYTES]`: the same with what is kept for WalletConnect.
import Glibc

switch CommandLine.arguments.dropFirst().first {
case "append": exit(await append(CommandLine.arguments.dropFirst(2)))
case "connect": exit(await connect(CommandLine.arguments.dropFirst(2)))
case let folder:
    let turns = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 9
    try await bench(in: folder, turns: max(1, turns))
}
