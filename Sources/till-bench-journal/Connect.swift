import Glibc
import Journal
import Payments

/// Changes what is kept for WalletConnect for ever, and says on the standard output what is safe: `safe N` when three values
/// say N and the value of N - 1 is gone, all in one batch; `taken N` when the relay's message N is remembered. Where the
/// journal fails, says why and goes on, ten times.
/// - Parameter arguments: The folder; the first N; then, to play a storage that runs full at any byte, how long a file can get.
func connect(_ arguments: ArraySlice<String>) async -> Int32 {
    let arguments = Array(arguments)
    guard arguments.count >= 2, var number = Int(arguments[1]) else { return EX_USAGE }
    do throws(JournalError) {
        let key = try DeviceKey.loadOrCreate(at: arguments[0] + "/device.key")
        let journal = try Journal.open(directory: arguments[0], deviceKey: key)
        if arguments.count > 2, let bytes = UInt(arguments[2]) { limitFiles(to: bytes) }
        say("ready")
        var failures = 0
        while failures < 10 {
            do throws(JournalError) {
                try await journal.change(connect: Batch.changes(number), at: now())
                say("safe \(number)")
                let (topic, hash) = Batch.message(number)
                try await journal.rememberRelayMessage(topic: topic, hash: hash, until: .max, limit: 1000, at: now())
                say("taken \(number)")
                number += 1
            } catch {
                failures += 1
                say("failed \(error)")
            }
        }
    } catch { say("stopped \(error)") }
    return EXIT_FAILURE
}

/// The batch of a number, for whoever writes it and whoever looks what is there.
enum Batch {
    static func changes(_ number: Int) -> [ConnectChange] {
        let value = Array("canary-\(number)-".utf8) + [UInt8](repeating: 7, count: number % 4000)
        return [
            ConnectChange(name: "wc2/one", bytes: value), ConnectChange(name: "wc2/two", bytes: value),
            ConnectChange(name: "wc2/only/\(number - 1)", bytes: nil),
            ConnectChange(name: "wc2/only/\(number)", bytes: value),
        ]
    }

    static func message(_ number: Int) -> (topic: String, hash: String) { ("topic", "hash \(number)") }
}
