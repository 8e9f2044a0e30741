/// The modules of a page's first view, served as one file: a browser then asks once instead of thirty times. What the page
/// names says which they are: its one module script, and the modules that it preloads for it.
///
/// Without this server the files work as they stand. Served, each of them is a function's body in the page's script, in the
/// order in which browsers run modules, and everybody else takes it from there: there is one of each, whoever asks.
/// It understands imports of one line and plain exports. Where anything else is found, the files are served as they stand.
struct PageModules {
    /// What is served in place of files, by path.
    private(set) var files: [String: [UInt8]] = [:]

    /// Nil where the page has no module script, or its modules cannot be joined.
    /// - Parameters:
    ///   - page: The path of an HTML page, such as `/index.html`.
    ///   - served: Everything that is served, by its path.
    init?(of page: String, in served: [String: [UInt8]]) {
        guard page.hasSuffix(".html"), let bytes = served[page] else { return nil }
        let lines = Self.lines(bytes)
        let scripts = lines.compactMap { Self.between("<script type=\"module\" src=\"", "\"></script>", $0) }
        let preloads = lines.compactMap(Self.preload)
        guard scripts.count == 1, let entry = scripts.first, !preloads.isEmpty, !preloads.contains(entry) else {
            return nil
        }
        var modules: [String: Module] = [:]
        for path in preloads + [entry] {
            guard let text = served[path], let module = Module(path, Self.lines(text)) else { return nil }
            modules[path] = module
        }
        guard let order = Self.order(modules, from: entry), order.count == modules.count,
            Set(modules.values.map(\.name)).count == modules.count
        else { return nil }

        files[page] = Self.bytes(lines.filter { Self.preload($0) == nil })
        files[entry] = Self.joined(order.compactMap { modules[$0] }, names: modules.mapValues(\.name))
        for path in preloads { files[path] = modules[path]?.reference(to: entry) }
        for (path, bytes) in served where path.hasSuffix(".js") && modules[path] == nil {
            if let other = Module(path, Self.lines(bytes), isLater: true) {
                files[path] = other.taking(from: entry, modules.mapValues(\.name))
            }
        }
    }

    /// The paths in the order in which modules are run: what one imports comes before it. Nil where they import in a circle
    /// or something else.
    private static func order(_ modules: [String: Module], from entry: String) -> [String]? {
        var order: [String] = []
        var path: Set<String> = []
        func visit(_ name: String) -> Bool {
            if order.contains(name) { return true }
            guard let module = modules[name], path.insert(name).inserted else { return false }
            guard module.imports.allSatisfy(visit) else { return false }
            path.remove(name)
            order.append(name)
            return true
        }
        return visit(entry) ? order : nil
    }

    private static func joined(_ modules: [Module], names: [String: String]) -> [UInt8] {
        var lines: [String] = []
        for module in modules {
            let body = module.body(names)
            let isLast = module.name == modules.last?.name
            lines += ["// \(module.path)", isLast ? "(() => {" : "const \(module.name) = (() => {"] + body
            lines += isLast ? ["})();"] : ["return { \(module.exports.joined(separator: ", ")) };", "})();"]
        }
        lines.append("export { \(modules.dropLast().map(\.name).joined(separator: ", ")) };")
        return bytes(lines)
    }

    // MARK: - Lines

    private static func lines(_ bytes: [UInt8]) -> [String] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    fileprivate static func bytes(_ lines: [String]) -> [UInt8] { Array(lines.joined(separator: "\n").utf8) }

    private static func preload(_ line: String) -> String? {
        between("<link rel=\"modulepreload\" href=\"", "\">", line)
    }

    /// What a line that begins and ends like this has between.
    fileprivate static func between(_ start: String, _ end: String, _ line: String) -> String? {
        let line = line.drop { $0 == " " }
        guard line.hasPrefix(start), line.hasSuffix(end), line.utf8.count >= start.utf8.count + end.utf8.count else {
            return nil
        }
        return String(line.dropFirst(start.count).dropLast(end.count))
    }
}

/// A module, as far as it has to be understood to be joined.
private struct Module {
    private enum Line {
        case plain(String)
        /// Names as they are written between the braces, or one for everything.
        case names([String], from: String)
        case everything(String, from: String)
    }

    let path: String
    /// What stands for it in the joined file.
    let name: String
    private(set) var exports: [String] = []
    private var lines: [Line] = []

    /// Paths, in the order in which they are imported.
    var imports: [String] {
        lines.compactMap {
            switch $0 {
            case .plain: nil
            case .names(_, let path), .everything(_, let path): path
            }
        }
    }

    /// - Parameter isLater: It is no part of the joined file, and what it exports stays as it is.
    init?(_ path: String, _ text: [String], isLater: Bool = false) {
        self.path = path
        name = String(path.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        for line in text {
            if line.hasPrefix("import ") {
                guard let read = Self.imported(line, at: path) else { return nil }
                lines.append(read)
            } else if line.hasPrefix("export "), !isLater {
                guard let (name, rest) = Self.exported(line) else { return nil }
                exports.append(name)
                lines.append(.plain(rest))
            } else {
                lines.append(.plain(line))
            }
        }
    }

    /// Its lines with what it imports taken from the other functions.
    func body(_ names: [String: String]) -> [String] { lines.map { Self.taken($0, names) ?? "" } }

    /// A module with the same exports, which are those of the joined file.
    func reference(to entry: String) -> [UInt8] {
        let list = exports.joined(separator: ", ")
        return PageModules.bytes(["import { \(name) } from \"\(entry)\";", "export const { \(list) } = \(name);", ""])
    }

    /// The same with what it imports taken from the joined file, where that has it.
    func taking(from entry: String, _ names: [String: String]) -> [UInt8] {
        PageModules.bytes(
            lines.map { line in
                switch line {
                case .plain(let text): return text
                case .names(let list, let path):
                    guard let name = names[path], path != entry else {
                        return "import { \(list.joined(separator: ", ")) } from \"\(path)\";"
                    }
                    return "import { \(name) } from \"\(entry)\"; \(Self.taken(line, names) ?? "")"
                case .everything(let own, let path):
                    guard let name = names[path], path != entry else { return "import * as \(own) from \"\(path)\";" }
                    return "import { \(name) as \(own) } from \"\(entry)\";"
                }
            }
        )
    }

    private static func taken(_ line: Line, _ names: [String: String]) -> String? {
        switch line {
        case .plain(let text): return text
        case .everything(let own, let path): return names[path].map { "const \(own) = \($0);" }
        case .names(let list, let path):
            let own = list.map { $0.replacing(" as ", with: ": ") }.joined(separator: ", ")
            return names[path].map { "const { \(own) } = \($0);" }
        }
    }

    /// `import { a, b as c } from "./x.js";` or `import * as x from "./x.js";`
    private static func imported(_ line: String, at path: String) -> Line? {
        let parts = line.split(separator: " from ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let address = PageModules.between("\"", "\";", parts[1]),
            let target = absolute(address, from: path)
        else { return nil }
        if let list = PageModules.between("import { ", " }", parts[0]) {
            return .names(list.split(separator: ", ").map(String.init), from: target)
        }
        guard let own = PageModules.between("import * as ", "", parts[0]) else { return nil }
        return .everything(own, from: target)
    }

    /// The name, and the line without the word. Only what keeps its value: a name that is set anew would stay as it was.
    private static func exported(_ line: String) -> (name: String, rest: String)? {
        let rest = String(line.dropFirst("export ".count))
        for kind in ["const ", "function ", "async function ", "class "] where rest.hasPrefix(kind) {
            let name = rest.dropFirst(kind.count).prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }
            return name.isEmpty ? nil : (String(name), rest)
        }
        return nil
    }

    /// `../x.js` as `/app/x.js`, seen from `/app/views/y.js`.
    private static func absolute(_ address: String, from path: String) -> String? {
        guard address.hasPrefix("./") || address.hasPrefix("../") else { return nil }
        var folders = path.split(separator: "/").dropLast()
        for part in address.split(separator: "/") where part != "." {
            if part == ".." {
                guard folders.popLast() != nil else { return nil }
            } else {
                folders.append(part)
            }
        }
        return "/" + folders.joined(separator: "/")
    }
}
