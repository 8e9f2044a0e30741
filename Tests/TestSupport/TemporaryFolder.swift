import Foundation
import Glibc

/// A folder that is removed with the value that names it. A test that names it by its path only keeps the value until its end.
public final class TemporaryFolder: Sendable {
    /// Without symbolic links.
    public let path: String

    public init() throws {
        var template = Array("\(NSTemporaryDirectory())/till-test-XXXXXX".utf8CString)
        guard let made = unsafe mkdtemp(&template), let path = unsafe realpath(made, nil) else {
            throw CocoaError(.fileWriteUnknown)
        }
        defer { unsafe free(path) }
        self.path = unsafe String(cString: path)
    }

    /// The path of a file in it.
    public func file(_ name: String) -> String { path + "/" + name }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // Of a test: a rest does no harm.
}

/// Runs `body` with the path of a folder that is removed when it returns.
public func withTemporaryFolder<Value>(_ body: (_ path: String) async throws -> Value) async throws -> Value {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    return try await body(folder.path)
}
