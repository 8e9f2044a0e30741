import Foundation
import Subprocess
import Testing

@testable import WebServer

struct StaticFilesTests {
    /// A folder that is gone when `body` returns.
    private func withFolder(_ files: [String: String], _ body: (String) async throws -> Void) async throws {
        let manager = FileManager.default
        let folder = manager.temporaryDirectory.appendingPathComponent("till-static-\(UUID().uuidString)").path
        defer { try? manager.removeItem(atPath: folder) }
        for (path, text) in files {
            let place = URL(fileURLWithPath: "\(folder)/\(path)")
            try manager.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: place)
        }
        try await body(folder)
    }

    private func answer(_ files: StaticFiles, _ target: String, method: String = "GET", headers: WebHeaders = [:])
        throws
        -> WebResponse?
    {
        files.response(for: try #require(WebRequest(method: method, target: target, headers: headers)))
    }

    @Test func answersItsFilesAndNothingElse() async throws {
        try await withFolder(["index.html": "<p>", "app/main.js": "1", "setup/index.html": "s", ".secret": "x"]) {
            folder in
            let manager = FileManager.default
            try manager.createSymbolicLink(atPath: "\(folder)/passwd", withDestinationPath: "/etc/passwd")
            try manager.createSymbolicLink(atPath: "\(folder)/etc", withDestinationPath: "/etc")
            let files = try StaticFiles(folder: folder)
            #expect(files.paths == ["/", "/app/main.js", "/index.html", "/setup/", "/setup/index.html"])
            #expect(files.skipped == ["/.secret", "/etc", "/passwd"])
            for target in ["/app/", "/app", "/passwd", "/etc/passwd", "/.secret", "/nope"] {
                #expect(try answer(files, target) == nil)
            }
            #expect(try answer(files, "/", method: "POST")?.status == 405)
        }
    }

    @Test(arguments: [
        ("a.html", "text/html; charset=utf-8"), ("a.js", "text/javascript; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"), ("a.CSS", "text/css; charset=utf-8"),
        ("a.webmanifest", "application/manifest+json"), ("a.svg", "image/svg+xml"), ("a.woff2", "font/woff2"),
        ("a.png", "image/png"), ("a.b.json", "application/json"), ("a", "application/octet-stream"),
        ("a.html/b", "application/octet-stream"),
    ])
    func filesHaveTheirContentType(name: String, type: String) { #expect(StaticFiles.contentType("/\(name)") == type) }

    @Test func anUnchangedFileIsNotSentAgain() async throws {
        try await withFolder(["index.html": "one"]) { folder in
            let files = try StaticFiles(folder: folder, headers: ["X-Own": "1"])
            let handler: WebHandler = { .now(files.response(for: $0) ?? .text("?", status: 404)) }
            try await withServer({ $0.defaultHeaders = ["X-Default": "1"] }, handler: handler) { server in
                let client = try RawClient(server)
                let first = try await client.get("/")
                #expect(first.text == "one")
                #expect(first["Cache-Control"] == "no-cache")
                #expect(first["X-Own"] == "1" && first["X-Default"] == "1")
                let tag = try #require(first["ETag"])
                for value in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                    let second = try await client.get("/", headers: "If-None-Match: \(value)\r\n")
                    #expect(second.status == 304)
                    #expect(second["ETag"] == tag)
                    #expect(second["X-Default"] == "1")
                }
                #expect(try await client.get("/", headers: "If-None-Match: \"other\"\r\n").text == "one")
                #expect(try await client.get("/", method: "HEAD")["Content-Length"] == "3")
            }
        }
    }

    /// Read by the system's own `gzip`.
    @Test(arguments: ["gzip", "br, gzip;q=0.5", "deflate,GZIP"])
    func textsAreSentCompressedToWhomeverTakesThat(accepted: String) async throws {
        let words = (0..<3_000).map { "line \($0 % 97) of a file, with é and \($0 * 7_919 % 1_009)\n" }.joined()
        try await withFolder(["a.js": words, "small.js": "1", "a.png": words]) { folder in
            let files = try StaticFiles(folder: folder)
            let response = try #require(try answer(files, "/a.js", headers: ["Accept-Encoding": accepted]))
            #expect(response.headers["Content-Encoding"] == "gzip" && response.headers["Vary"] == "Accept-Encoding")
            guard case .bytes(let bytes) = response.body else { throw CocoaError(.fileReadUnknown) }
            #expect(bytes.count * 3 < words.utf8.count)
            try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/sent.gz"))
            let unpacked = try await run(
                .name("gzip"),
                arguments: ["-dc", "\(folder)/sent.gz"],
                output: .bytes(limit: 1_000_000),
                error: .discarded
            )
            #expect(unpacked.standardOutput == Array(words.utf8))
            let tag = try #require(response.headers["ETag"])
            let again: WebHeaders = ["Accept-Encoding": accepted, "If-None-Match": tag]
            #expect(try answer(files, "/a.js", headers: again)?.status == 304)
            for (target, taken) in [
                ("/small.js", accepted), ("/a.png", accepted), ("/a.js", "gzip;q=0"), ("/a.js", "br"),
            ] {
                let plain = try answer(files, target, headers: ["Accept-Encoding": taken])
                #expect(plain?.headers["Content-Encoding"] == nil, "\(target) \(taken)")
            }
            #expect(try answer(files, "/a.js")?.headers["Content-Encoding"] == nil)
        }
    }

    @Test(arguments: [0, 1, 2, 3, 258, 259, 32_767, 32_768, 32_769, 70_000])
    func everythingCompressedComesBackWhole(count: Int) async throws {
        var state: UInt64 = 1
        func random() -> UInt8 {
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return UInt8(truncatingIfNeeded: state >> 33)
        }
        let samples = [
            (0..<count).map { _ in random() }, [UInt8](repeating: 7, count: count),
            (0..<count).map { UInt8($0 % 251) }, (0..<count).map { _ in random() % 3 },
        ]
        for sample in samples {
            try await withFolder([:]) { folder in
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try Data(Gzip.compress(sample)).write(to: URL(fileURLWithPath: "\(folder)/sent.gz"))
                let unpacked = try await run(
                    .name("gzip"),
                    arguments: ["-dc", "\(folder)/sent.gz"],
                    output: .bytes(limit: 1_000_000),
                    error: .discarded
                )
                #expect(unpacked.standardOutput == sample)
            }
        }
    }

    @Test func aChangedFileHasAnotherTag() async throws {
        var tags: Set<String> = []
        for text in ["one", "two", "onee"] {
            try await withFolder(["a.txt": text]) { folder in
                let files = try StaticFiles(folder: folder)
                if let tag = try answer(files, "/a.txt")?.headers["ETag"] { tags.insert(tag) }
            }
        }
        #expect(tags.count == 3)
    }

    /// The finished answer is kept, but a handler may still change what it was given.
    @Test func aChangedAnswerIsSentAsChanged() async throws {
        try await withFolder(["a.txt": "file"]) { folder in
            let files = try StaticFiles(folder: folder)
            let handler: WebHandler = { request in
                guard var response = files.response(for: request) else { return .now(.text("?", status: 404)) }
                response.headers["X-Changed"] = "1"
                return .now(response)
            }
            try await withServer(handler: handler) { server in
                let answer = try await RawClient(server).get("/a.txt")
                #expect(answer["X-Changed"] == "1")
            }
        }
    }

    @Test func aWrongFolderIsAnError() async throws {
        #expect(throws: StaticFiles.LoadError.unreadable(path: ".", reason: "No such file or directory")) {
            try StaticFiles(folder: "/nonexistent")
        }
        try await withFolder(["a": "0123456789"]) { folder in
            #expect(throws: StaticFiles.LoadError.tooLarge(limitBytes: 9)) {
                try StaticFiles(folder: folder, limitBytes: 9)
            }
        }
    }
}
