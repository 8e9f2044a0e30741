import Foundation
import Packing
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

    @Test func aSheetThatNamesOthersIsServedWithThem() async throws {
        let sheet =
            "/* all */\n@import \"a.css\";\n@import \"b.css\";\n@import \"../etc.css\";\n@import \"gone.css\";\n"
        let written = [
            "style/page.css": sheet, "style/a.css": "a {}\n", "style/b.css": "@import \"a.css\";\nb {}",
            "etc.css": "etc {}",
        ]
        try await withFolder(written) { folder in
            let files = try StaticFiles(folder: folder)
            let expected = """
                /* all */
                a {}

                @import "a.css";
                b {}
                @import "../etc.css";
                @import "gone.css";

                """
            for (path, text) in [("/style/page.css", expected), ("/style/a.css", "a {}\n")] {
                guard case .bytes(let body)? = try answer(files, path)?.body else { throw CancellationError() }
                #expect(String(decoding: body, as: UTF8.self) == text)
            }
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

    // MARK: - Smaller files

    /// Text that packs well, as the page's own files do.
    private static let long = String(repeating: "export const word = 'word';\n", count: 200)

    @Test func aBrowserThatCanUnpackGetsLessToLoad() async throws {
        try await withFolder(["app.js": Self.long, "short.js": "1", "a.png": Self.long]) { folder in
            let files = try StaticFiles(folder: folder)
            let plain = try #require(try answer(files, "/app.js"))
            let packed = try #require(try answer(files, "/app.js", headers: ["Accept-Encoding": "br, gzip;q=0.8"]))
            guard case .bytes(let bytes) = plain.body, case .bytes(let fewer) = packed.body else {
                Issue.record("no bytes")
                return
            }
            #expect(bytes == Array(Self.long.utf8) && fewer.count < bytes.count / 5)
            #expect(packed.headers["Content-Encoding"] == "gzip" && plain.headers["Content-Encoding"] == nil)
            #expect(try await gunzip(fewer) == bytes)
            #expect(packed.headers["Vary"] == "Accept-Encoding" && plain.headers["Vary"] == "Accept-Encoding")
            #expect(packed.headers["Content-Type"] == plain.headers["Content-Type"])
            // A picture is packed already, and what is short gets longer.
            for path in ["/short.js", "/a.png"] {
                let other = try #require(try answer(files, path, headers: ["Accept-Encoding": "gzip"]))
                #expect(other.headers["Content-Encoding"] == nil && other.headers["Vary"] == nil)
            }
        }
    }

    @Test(arguments: [
        (["gzip"], true), (["br, deflate, gzip"], true), (["GZIP ; q=0.5"], true), (["*"], true), (["x-gzip"], true),
        ([], false), (["br"], false), (["gzip;q=0"], false), (["gzip; q=0.000, *"], false), (["*;q=0"], false),
        (["identity", "gzip"], true), (["gzipped"], false), ([";,;="], false),
    ])
    func nobodyGetsPackedWhoCannotUnpack(values: [String], isAccepted: Bool) {
        #expect(Gzip.isAccepted(values) == isAccepted)
    }

    @Test func eachFormOfAFileHasItsOwnVersion() async throws {
        try await withFolder(["app.js": Self.long]) { folder in
            let files = try StaticFiles(folder: folder)
            let plain = try #require(try answer(files, "/app.js")?.headers["ETag"])
            let packed = try #require(
                try answer(files, "/app.js", headers: ["Accept-Encoding": "gzip"])?.headers["ETag"]
            )
            #expect(plain != packed)
            func status(_ tag: String, _ encoding: String) throws -> Int? {
                try answer(files, "/app.js", headers: ["If-None-Match": tag, "Accept-Encoding": encoding])?.status
            }
            #expect(
                try status(plain, "br") == 304 && status(packed, "gzip") == 304 && status("W/" + packed, "gzip") == 304
            )
            #expect(try status(plain, "gzip") == 200 && status(packed, "br") == 200)
        }
    }

    /// As a program that is not ours unpacks it.
    private func gunzip(_ bytes: [UInt8]) async throws -> [UInt8] {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString).gz")
        defer { try? FileManager.default.removeItem(at: place) }
        try Data(bytes).write(to: place)
        let result = try await Subprocess.run(
            .name("gzip"),
            arguments: ["-dc", place.path],
            output: .bytes(limit: 1 << 20),
            error: .discarded
        )
        #expect(result.terminationStatus.isSuccess)
        return result.standardOutput
    }
}
