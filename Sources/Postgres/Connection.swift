import CPostgres
import Glibc

/// A connection, ended with the object. Used on its table's queue only.
@safe final class Connection {
    private let handle: OpaquePointer
    private let library: Library

    /// Nothing of the machine's own settings counts, and TLS is never optional.
    private static let fixed = [
        ("sslmode", "verify-full"), ("gssencmode", "disable"), ("sslcert", "/nonexistent"), ("sslkey", "/nonexistent"),
        ("passfile", "/nonexistent"), ("application_name", "till"), ("client_encoding", "UTF8"),
        ("tcp_user_timeout", "15000"), ("keepalives_idle", "60"),
    ]
    private static let systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"
    private static let slice: Int32 = 100

    init(_ place: PostgresPlace, password: String, within patience: Duration) throws(PostgresFault) {
        let library = try Library()
        self.library = library
        // Kept until the connection stands: the library reads it on the way.
        let authorities = try place.authorities.map { text throws(PostgresFault) in try MemoryFile(text) }
        let all =
            Self.fixed + [
                ("host", place.host), ("port", String(place.port)), ("dbname", place.database), ("user", place.user),
                ("password", password), ("sslrootcert", authorities?.path ?? Self.systemAuthorities),
            ]
        let made = unsafe Texts(all.map(\.0)).with { names in
            unsafe Texts(all.map(\.1)).with { values in unsafe library.connectStartParams(names, values, 0) }
        }
        guard let made = unsafe made else { throw .broken }
        unsafe handle = made
        // What the server says beside its answers is nobody's: without this the library writes it to the log.
        _ = unsafe library.setNoticeProcessor(handle, { _, _ in }, nil)
        // In place of words in the server's language.
        _ = unsafe library.setErrorVerbosity(handle, PQERRORS_SQLSTATE)
        try connect(within: patience)
        withExtendedLifetime(authorities) {}
    }

    private func connect(within patience: Duration) throws(PostgresFault) {
        let end = ContinuousClock.now + patience
        var step = PGRES_POLLING_WRITING
        while unsafe library.status(handle) != CONNECTION_BAD {
            if step == PGRES_POLLING_OK { return }
            if step == PGRES_POLLING_FAILED { break }
            try wait(for: step == PGRES_POLLING_WRITING ? POLLOUT : POLLIN, until: end)
            step = unsafe library.connectPoll(handle)
        }
        throw PostgresFault(connecting: message)
    }

    private var message: String {
        guard let text = unsafe library.errorMessage(handle) else { return "" }
        return String(unsafe String(cString: text).prefix(1000))
    }

    /// In slices: whoever is told to stop is not kept for the whole time.
    private func wait(for events: Int32, until end: ContinuousClock.Instant) throws(PostgresFault) {
        while true {
            guard !Task.isCancelled, ContinuousClock.now < end else { throw .silent }
            var place = pollfd(fd: unsafe library.socket(handle), events: Int16(events), revents: 0)
            guard place.fd >= 0 else { throw .broken }
            let count = unsafe poll(&place, 1, Self.slice)
            if count > 0 { return }
            if count < 0, errno != EINTR { throw .broken }
        }
    }

    /// - Returns: How many rows it made.
    func run(_ sql: String, _ values: [String], within patience: Duration) throws(PostgresFault) -> Int {
        let end = ContinuousClock.now + patience
        let isSent = unsafe Texts(values).with { texts in
            unsafe library.sendQueryParams(handle, sql, Int32(values.count), nil, texts, nil, nil, 0)
        }
        guard isSent == 1 else { throw .broken }
        while true {
            let left = unsafe library.flush(handle)
            if left == 0 { break }
            guard left == 1 else { throw .broken }
            try wait(for: POLLIN | POLLOUT, until: end)
            guard unsafe library.consumeInput(handle) == 1 else { throw .broken }
        }
        while unsafe library.isBusy(handle) == 1 {
            try wait(for: POLLIN, until: end)
            guard unsafe library.consumeInput(handle) == 1 else { throw .broken }
        }
        guard let result = unsafe library.getResult(handle) else { throw .broken }
        defer { unsafe library.clear(result) }
        guard unsafe library.resultStatus(result) == PGRES_COMMAND_OK else {
            guard let code = unsafe library.resultErrorField(result, Int32(UInt8(ascii: "C"))) else { throw .broken }
            throw PostgresFault(code: unsafe String(cString: code))
        }
        let count = unsafe library.cmdTuples(result).flatMap { unsafe Int(String(cString: $0)) } ?? 0
        // Only after the null that ends the answers may the next question be asked.
        while true {
            while unsafe library.isBusy(handle) == 1 {
                try wait(for: POLLIN, until: end)
                guard unsafe library.consumeInput(handle) == 1 else { throw .broken }
            }
            guard let more = unsafe library.getResult(handle) else { return count }
            unsafe library.clear(more)
        }
    }

    deinit { unsafe library.finish(handle) }
}

/// A text that the library reads as a file. Nothing of it is on the storage.
private final class MemoryFile {
    private let descriptor: Int32

    init(_ text: String) throws(PostgresFault) {
        descriptor = till_memory_file()
        let bytes = Array(text.utf8)
        guard descriptor >= 0, unsafe write(descriptor, bytes, bytes.count) == bytes.count else { throw .broken }
    }

    var path: String { "/proc/self/fd/\(descriptor)" }

    deinit { if descriptor >= 0 { close(descriptor) } }
}

/// C texts for the time of one call, with a null behind the last.
@safe private struct Texts {
    private let texts: [String]

    init(_ texts: [String]) { self.texts = texts }

    func with<Value>(_ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value) -> Value {
        let copies = unsafe texts.map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        let pointers: [UnsafePointer<CChar>?] = unsafe copies.map { unsafe $0.map { unsafe UnsafePointer($0) } } + [nil]
        return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
}
