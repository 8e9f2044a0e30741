import Locks
public import Logging
import Payments
import Terminal

/// The program's last log lines, kept in memory for the owner's page: bounded, and without what looks like a secret.
///
/// The program writes no secret into its log. What is looked for here is a second net below that.
public final class LogRing: Sendable {
    static let mostLines = 2000
    static let mostBytes = 512 * 1024
    private static let longestLine = 2000

    /// One line.
    struct Line: Sendable, Equatable {
        /// Counts from 1 since the start.
        let number: Int64
        let at: WallTime
        let level: Logger.Level
        let text: String

        var json: JSON {
            .object([
                "number": .integer(number), "at": .time(at), "level": .string(level.rawValue), "text": .string(text),
            ])
        }
    }

    private struct State {
        var lines: [Line] = []
        /// Lines before this index are gone: taken out all at once now and then.
        var first = 0
        var bytes = 0
        var count: Int64 = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// A handler that keeps lines of `level` and above here, to be set beside the one that writes them elsewhere.
    public func handler(level: Logger.Level) -> any LogHandler { Handler(ring: self, logLevel: level) }

    /// - Parameter at: The wall clock's moment.
    func add(_ level: Logger.Level, _ text: String, at: WallTime) {
        let clean = LogRedaction.clean(String(text.prefix(Self.longestLine)))
        state.withLock { state in
            state.count += 1
            state.lines.append(Line(number: state.count, at: at, level: level, text: clean))
            state.bytes += clean.utf8.count
            while state.lines.count - state.first > Self.mostLines || state.bytes > Self.mostBytes {
                state.bytes -= state.lines[state.first].text.utf8.count
                state.first += 1
            }
            guard state.first > Self.mostLines else { return }
            state.lines.removeFirst(state.first)
            state.first = 0
        }
    }

    /// Those that fit, newest first.
    func lines(_ query: LogQuery) -> [Line] {
        let all = state.withLock { Array($0.lines[$0.first...]) }
        let wanted = query.text?.lowercased()
        return all.reversed().lazy
            .filter { $0.level >= query.level && $0.number < query.before }
            .filter { wanted.map($0.text.lowercased().contains) ?? true }
            .prefix(query.limit).map(\.self)
    }

    private struct Handler: LogHandler {
        let ring: LogRing
        var logLevel: Logger.Level
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
            let more = all.sorted { $0.key < $1.key }.map { key, value in
                LogRedaction.isSecret(name: key) ? " \(key)=[hidden]" : " \(key)=\(value)"
            }
            ring.add(event.level, "\(event.message)" + more.joined(), at: .now)
        }
    }
}

/// Which lines are asked for.
struct LogQuery: Sendable, Hashable {
    var level = Logger.Level.trace
    var text: String?
    var before = Int64.max
    /// 1 to 2000.
    var limit = 200

    init() {}

    /// - Throws: ``Problem`` 422 at the name that means nothing.
    init(_ query: [String: String]) throws(Problem) {
        for name in query.keys.sorted() {
            let value = query[name] ?? ""
            switch name {
            case "level":
                guard let named = Logger.Level(rawValue: value) else { throw AuditQuery.wrong(name) }
                level = named
            case "q":
                guard (1...100).contains(value.count), value.utf8.count <= 400 else { throw AuditQuery.wrong(name) }
                text = value
            case "before":
                guard let number = Int64(value), number > 0 else { throw AuditQuery.wrong(name) }
                before = number
            case "limit":
                guard let number = Int(value), (1...LogRing.mostLines).contains(number) else {
                    throw AuditQuery.wrong(name)
                }
                limit = number
            default: throw AuditQuery.wrong(name)
            }
        }
    }
}
