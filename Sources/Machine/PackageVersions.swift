/// Which version of a Debian package is installed.
public enum PackageVersions {
    /// Versions by name, of those that are installed. A few milliseconds: read once.
    /// - Parameter root: Stands before the path, for tests.
    /// Source: Debian Policy, chapter 5; dpkg-query(1).
    public static func of(_ names: Set<String>, root: String = "") -> [String: String] {
        let files = KernelFiles(root: root)
        guard let text = files.text("/var/lib/dpkg/status", limit: 32 << 20) else { return [:] }
        var versions: [String: String] = [:]
        var (name, isInstalled): (Substring, Bool) = ("", false)
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).lazy.map(
            Substring.init
        ) {
            if line.hasPrefix("Package: ") {
                (name, isInstalled) = (line.dropFirst(9), false)
            } else if line.hasPrefix("Status: ") {
                isInstalled = line.hasSuffix(" installed")
            } else if line.hasPrefix("Version: "), isInstalled, names.contains(String(name)) {
                versions[String(name)] = String(line.dropFirst(9))
            }
        }
        return versions
    }
}
