/// Where the build has put the programs that tests run as processes of their own.
public enum BuildFolder {
    /// The folder of the test bundle, which is named by an argument of the process that runs it, or is that process.
    public static let path: String = {
        let arguments = CommandLine.arguments
        var bundle = arguments[0]
        if let flag = arguments.firstIndex(of: "--test-bundle-path"), flag + 1 < arguments.endIndex {
            bundle = arguments[flag + 1]
        }
        return bundle.lastIndex(of: "/").map { String(bundle[..<$0]) } ?? "."
    }()

    /// The path of a program.
    public static func program(_ name: String) -> String { path + "/" + name }
}
