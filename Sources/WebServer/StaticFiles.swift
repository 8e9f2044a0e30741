import Glibc
import Packing

/// The files of one folder, read once: what is served later cannot change under the server, and no path from outside
/// ever reaches the file system.
///
/// Left out: names that begin with a dot, symbolic links, and what is neither file nor folder. There is no listing; a
/// folder's address (`/` or `/setup/`) means its index file. Sheets that import others are served whole, and so are the
/// modules of a page's first view.
public struct StaticFiles: Sendable {
    /// Why the folder could not be taken. Paths are relative to it.
    public enum LoadError: Error, Sendable, Equatable {
        /// Missing, not a folder, or not readable. `reason` is the system's.
        case unreadable(path: String, reason: String)
        /// More than `Limits` allow: probably the wrong folder.
        case tooLarge(limitBytes: Int)
        /// A file name that is not UTF-8.
        case badName(folder: String)
    }

    private struct Page {
        let plain: Form
        /// The same for browsers that can unpack it; nil where packing saves nothing.
        let packed: Form?

        /// The file as it travels.
        struct Form {
            let found: PreparedResponse
            let notModified: PreparedResponse
            let tag: String
        }
    }

    /// What was left out, relative to the folder; worth a line in the log.
    public let skipped: [String]
    /// The addresses it answers, sorted.
    public var paths: [String] { pages.keys.sorted() }

    private let pages: [String: Page]

    /// Reads the folder and everything below it.
    /// - Parameters:
    ///   - folder: May itself be a symbolic link.
    ///   - headers: Beside `Content-Type`, `Content-Encoding`, `Vary`, `ETag` and `Cache-Control: no-cache` on each answer.
    ///   - limitBytes: Of all files together.
    public init(
        folder: String,
        index: String = "index.html",
        headers: WebHeaders = [:],
        limitBytes: Int = 32 * 1024 * 1024
    ) throws(LoadError) {
        var loader = FolderLoader(limitBytes: limitBytes)
        try loader.read(folder)
        var pages: [String: Page] = [:]
        let all = Dictionary(loader.files.map { ($0.path, $0.bytes) }) { first, _ in first }
        let modules = all.keys.sorted().lazy.compactMap { PageModules(of: $0, in: all) }.first?.files ?? [:]
        for (path, bytes) in loader.files {
            let whole = modules[path] ?? Stylesheet.joined(path, in: all) ?? bytes
            let page = Self.page(path: path, bytes: whole, headers: headers)
            pages[path] = page
            if path.hasSuffix("/" + index) { pages[String(path.dropLast(index.utf8.count))] = page }
        }
        self.pages = pages
        skipped = loader.skipped.sorted()
    }

    /// The file for a `GET` (or `HEAD`) request: 200 or 304. 405 for other methods on a file's address. Nil when there
    /// is no such file.
    public func response(for request: WebRequest) -> WebResponse? {
        guard let page = pages[request.path] else { return nil }
        guard request.method == "GET" else {
            return .refusal(
                405,
                code: "method_not_allowed",
                message: "This page can only be read.",
                action: "Use the terminal's own page or its documented interface.",
                headers: ["Allow": "GET, HEAD"]
            )
        }
        let takesPacked = page.packed != nil && Gzip.isAccepted(request.headers("Accept-Encoding"))
        let form = takesPacked ? page.packed ?? page.plain : page.plain
        let known = request.headers("If-None-Match").contains { Self.names($0, tag: form.tag) }
        return (known ? form.notModified : form.found).ready
    }

    /// Whether an `If-None-Match` value covers `tag`. Source: RFC 9110, 13.1.2 (weak comparison).
    private static func names(_ value: String, tag: String) -> Bool {
        value.split(separator: ",").contains { item in
            let item = item.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
            return item == "*" || item == tag || item == "W/" + tag
        }
    }

    private static func page(path: String, bytes: [UInt8], headers: WebHeaders) -> Page {
        let type = contentType(path)
        let packed = isText(type) ? Gzip.packed(bytes) : nil
        // Tells versions of the terminal's own files apart: nobody else writes them.
        let version = "\(String(Gzip.checksum(bytes) ?? 0, radix: 16))-\(String(bytes.count, radix: 16))"
        var fields = headers
        fields["Cache-Control"] = "no-cache"  // Keep it, but ask each time: an update of the terminal shows at once.
        // Whoever keeps one form must not give it to those who need the other. Source: RFC 9110, 12.5.5.
        if packed != nil { fields["Vary"] = "Accept-Encoding" }
        return Page(
            plain: form(bytes, type: type, tag: "\"\(version)\"", headers: fields),
            packed: packed.map { packed in
                fields["Content-Encoding"] = "gzip"
                return form(packed, type: type, tag: "\"\(version)-gz\"", headers: fields)
            }
        )
    }

    private static func form(_ bytes: [UInt8], type: String, tag: String, headers: WebHeaders) -> Page.Form {
        var fields = headers
        fields["ETag"] = tag
        var told = fields
        told["Content-Encoding"] = nil
        let notModified = WebResponse(status: 304, headers: told)
        fields["Content-Type"] = type
        return Page.Form(
            found: PreparedResponse(WebResponse(headers: fields, body: .bytes(bytes))),
            notModified: PreparedResponse(notModified),
            tag: tag
        )
    }

    /// What packing makes smaller. Pictures and fonts are packed already.
    private static func isText(_ type: String) -> Bool {
        type.hasPrefix("text/")
            || ["application/json", "application/manifest+json", "image/svg+xml", "application/wasm"].contains(type)
    }

    /// Source: IANA media types; RFC 9239 for JavaScript.
    static func contentType(_ path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return "application/octet-stream" }
        return switch name[name.index(after: dot)...].lowercased() {
        case "html", "htm": "text/html; charset=utf-8"
        case "js", "mjs": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "json", "map": "application/json"
        case "webmanifest": "application/manifest+json"
        case "txt": "text/plain; charset=utf-8"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "jpg", "jpeg": "image/jpeg"
        case "webp": "image/webp"
        case "ico": "image/vnd.microsoft.icon"
        case "woff2": "font/woff2"
        case "wasm": "application/wasm"
        case "pdf": "application/pdf"
        default: "application/octet-stream"
        }
    }
}

extension PreparedResponse {
    /// The response, with the note that the server keeps its finished form.
    fileprivate var ready: WebResponse {
        var response = response
        response.prepared = self
        return response
    }
}

/// Walks a folder without following links: every step opens relative to the folder above it.
private struct FolderLoader {
    var files: [(path: String, bytes: [UInt8])] = []
    var skipped: [String] = []
    private let limitBytes: Int
    private var total = 0

    init(limitBytes: Int) { self.limitBytes = limitBytes }

    mutating func read(_ folder: String) throws(StaticFiles.LoadError) {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unreadable(".") }
        try readFolder(descriptor, path: "/")
    }

    /// Closes `descriptor`. `path` ends with a slash.
    private mutating func readFolder(_ descriptor: Int32, path: String) throws(StaticFiles.LoadError) {
        guard let folder = unsafe fdopendir(descriptor) else {
            let error = Self.unreadable(path)
            close(descriptor)
            throw error
        }
        defer { unsafe closedir(folder) }  // Closes the descriptor, too.
        while let entry = unsafe readdir(folder) {
            guard let name = unsafe Self.name(of: entry) else { throw .badName(folder: path) }
            if name == "." || name == ".." { continue }
            if name.hasPrefix(".") {
                skipped.append(path + name)
            } else {
                try readEntry(name, in: descriptor, path: path)
            }
        }
    }

    private mutating func readEntry(_ name: String, in folder: Int32, path: String) throws(StaticFiles.LoadError) {
        let descriptor = unsafe openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if descriptor < 0, errno == ELOOP || errno == ENXIO {
            skipped.append(path + name)  // A symbolic link or a socket.
            return
        }
        guard descriptor >= 0 else { throw Self.unreadable(path + name) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            let error = Self.unreadable(path + name)
            close(descriptor)
            throw error
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: try readFolder(descriptor, path: path + name + "/")
        case S_IFREG:
            defer { close(descriptor) }
            files.append((path + name, try readFile(descriptor, path: path + name)))
        default:
            close(descriptor)
            skipped.append(path + name)
        }
    }

    private mutating func readFile(_ descriptor: Int32, path: String) throws(StaticFiles.LoadError) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = unsafe part.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.unreadable(path) }
            if count == 0 { return bytes }
            total += count
            guard total <= limitBytes else { throw .tooLarge(limitBytes: limitBytes) }
            bytes += part[..<count]
        }
    }

    private static func name(of entry: UnsafeMutablePointer<dirent>) -> String? {
        unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
            unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(validatingCString: $0) }
        }
    }

    private static func unreadable(_ path: String) -> StaticFiles.LoadError {
        .unreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
}
