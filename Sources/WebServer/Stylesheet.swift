/// A sheet that only names others: `@import "name.css";`, each on a line of its own. It is served with those of its own
/// folder in their places, so that a browser asks once for them all; without this server it works as it stands.
enum Stylesheet {
    /// - Parameters:
    ///   - path: Where the sheet is, such as `/style/page.css`.
    ///   - files: Everything that is served, by its path.
    /// - Returns: The sheet with what it imports; lines that name nothing here stay as they are, and those of imported
    ///   sheets too.
    static func joined(_ path: String, in files: [String: [UInt8]]) -> [UInt8]? {
        guard path.hasSuffix(".css"), let bytes = files[path], let name = path.lastIndex(of: "/") else { return nil }
        let folder = path[...name]
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return Array(lines.map { imported($0).flatMap { files[folder + $0] } ?? Array($0) }.joined(separator: [0x0A]))
    }

    /// The name in `@import "name.css";`. Names with a folder in them are none of ours.
    private static func imported(_ line: ArraySlice<UInt8>) -> String? {
        let (start, end) = (Array("@import \"".utf8), Array("\";".utf8))
        guard line.starts(with: start), line.suffix(end.count).elementsEqual(end) else { return nil }
        let name = String(decoding: line.dropFirst(start.count).dropLast(end.count), as: UTF8.self)
        return name.contains("/") ? nil : name
    }
}
