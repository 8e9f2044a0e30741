import Glibc
import Journal
import Payments

/// Appends charges for ever, and says on the standard output after each transaction what is safe by then: the charge and how
/// many entries it has. Where the journal fails, says why and goes on, ten times.
/// - Parameter arguments: The folder; then, to play a storage that runs full at any byte, how long a file can get.
func append(_ arguments: ArraySlice<String>) async -> Int32 {
    guard let folder = arguments.first else { return EX_USAGE }
    do throws(JournalError) {
        let journal = try Journal.open(
            directory: folder,
            deviceKey: try DeviceKey.loadOrCreate(at: folder + "/device.key")
        )
        try await journal.reserveLog()
        if let bytes = arguments.dropFirst().first.flatMap(UInt.init) { limitFiles(to: bytes) }
        say("ready \(journal.startup.entries)")
        var failures = 0
        while failures < 10 {
            do throws(JournalError) {
                try await Story.play(in: journal, at: now()) { id, count in say("safe \(id) \(count)") }
            } catch {
                failures += 1
                say("failed \(error)")
            }
        }
    } catch { say("stopped \(error)") }
    return EXIT_FAILURE
}

func now() -> WallTime {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)  // Cannot fail: `time` is a valid place to write to.
    return WallTime(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
}

func limitFiles(to bytes: UInt) {
    var limit = rlimit(rlim_cur: bytes, rlim_max: bytes)
    // Without a handler the first write past the limit would end the process instead of failing.
    guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return }
    signal(SIGXFSZ, SIG_IGN)
}

func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = unsafe write(STDOUT_FILENO, bytes, bytes.count)  // `print` would keep it in a buffer.
}
