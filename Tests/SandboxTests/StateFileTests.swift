import Foundation
import Testing
import TestSupport

@testable import Sandbox

struct StateFileTests {
    /// A path that is gone with the scope.
    private func withPath(_ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body($0 + "/state") }
    }

    private func open(_ path: String, adding lines: [String] = []) async throws -> StateFile.Content {
        let (file, content) = try StateFile.open(path)
        if !lines.isEmpty { try await file.append(lines) }
        return content
    }

    @Test func linesComeBackInTheirOrder() async throws {
        try await withPath { path in
            var seen: [[String]] = []
            for added in [["one", "two"], ["three"], []] { seen.append(try await open(path, adding: added).lines) }
            #expect(seen == [[], ["one", "two"], ["one", "two", "three"]])
        }
    }

    @Test func aLastLineThatWasNeverFinishedIsCutOff() async throws {
        try await withPath { path in
            _ = try await open(path, adding: ["one"])
            let torn = try #require(FileHandle(forWritingAtPath: path))
            try torn.seekToEnd()
            try torn.write(contentsOf: Data("tw".utf8))
            try torn.close()
            let content = try await open(path, adding: ["three"])
            #expect(content.lines == ["one"])
            #expect(content.tornBytes == 2)
            let last = try await open(path)
            #expect(last.lines == ["one", "three"])
        }
    }

    @Test func twoGatewaysDoNotShareAFile() async throws {
        try await withPath { path in
            let (file, _) = try StateFile.open(path)
            do throws(StateFileError) {
                _ = try StateFile.open(path)
                Issue.record("opened")
            } catch {
                #expect(error.description == "\(path) is in use by another gateway")
            }
            try await file.append(["one"])
        }
    }

    @Test func aFolderIsNoStateFile() {
        #expect(throws: StateFileError.self) { _ = try StateFile.open(NSTemporaryDirectory()) }
    }
}
