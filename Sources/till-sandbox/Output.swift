import Glibc

/// Lines for people and scripts, out at once: a script that waits for the ready line must not wait for a buffer.
enum Output {
    static func line(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }

    /// On standard error, with the program's name.
    static func failure(_ text: String) { write("till-sandbox: " + text + "\n", to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }  // Nobody reads any more; there is no one left to tell.
            rest = rest.dropFirst(count)
        }
    }
}
