import Testing

@testable import WebServer

struct RequestTargetTests {
    private func path(_ target: String) throws -> String { try RequestTarget(Array(target.utf8)).path }

    private func refusal(_ bytes: [UInt8]) -> RequestTarget.Refusal? {
        do throws(RequestTarget.Refusal) {
            _ = try RequestTarget(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("/", "/"), ("/api/v1/charges", "/api/v1/charges"), ("/a/", "/a/"), ("/caf%C3%A9", "/café"), ("/a%20b", "/a b"),
        ("/a+b", "/a+b"), ("/%2e%2e%2e", "/..."), ("/.well-known/x", "/.well-known/x"), ("/a%25", "/a%"),
        ("/a%252e", "/a%2e"),
    ])
    func decodesOnce(target: String, expected: String) throws { #expect(try path(target) == expected) }

    @Test(arguments: [
        ("", RequestTarget.Refusal.malformed), ("*", .malformed), ("http://till.local/", .malformed), ("a", .malformed),
        ("/a b", .malformed), ("/a#b", .malformed), ("/é", .malformed), ("/<", .malformed),
        ("/%", .badEscape), ("/%4", .badEscape), ("/%zz", .badEscape), ("/?a=%", .badEscape),
        ("/api/status%00zzz", .controlCharacter), ("/\u{1}", .controlCharacter), ("/%0d%0aX", .controlCharacter),
        ("/%7f", .controlCharacter), ("/?a=%00", .controlCharacter),
        ("/%ff", .notUTF8), ("/%c0%ae", .notUTF8), ("/%ed%a0%80", .notUTF8), ("/?a=%ff", .notUTF8),
        ("/a%2fb", .hiddenSlash), ("/a%2Fb", .hiddenSlash), ("/a%5cb", .hiddenSlash), ("/a\\b", .hiddenSlash),
        ("/..", .dotSegment), ("/a/../b", .dotSegment), ("/a/%2e%2e/b", .dotSegment), ("/.", .dotSegment),
        ("/./a", .dotSegment), ("/a/.%2E", .dotSegment), ("//evil.example/", .dotSegment), ("/a//b", .dotSegment),
        ("/?a=1&a=2", .ambiguousQuery), ("/?a&%61", .ambiguousQuery),
    ])
    func refusesWhatTwoProgramsMayReadDifferently(target: String, expected: RequestTarget.Refusal) {
        #expect(refusal(Array(target.utf8)) == expected)
    }

    @Test func decodesTheQuery() throws {
        let query = try RequestTarget(Array("/x?limit=10&q=a+b%26c&empty=&flag&b\\=1&=z".utf8)).query
        #expect(query == ["limit": "10", "q": "a b&c", "empty": "", "flag": "", "b\\": "1", "": "z"])
        #expect(try RequestTarget(Array("/x?a=/..?b".utf8)).query == ["a": "/..?b"])
    }

    @Test(arguments: ["/a%2Fb", "/a//b", "/a/../b", "/?a=1&a=2", "/%ff", "/?a=%"])
    func anAddressThatTheHandlerReadsIsHandedOnAsWritten(target: String) throws {
        let read = try RequestTarget(Array(target.utf8), reading: .asWritten)
        #expect(read.raw == target)
        #expect(read.path == String(target.prefix { $0 != "?" }))
        #expect(read.query.isEmpty)
    }

    @Test(arguments: ["", "http://till.local/", "/a b", "/a#b", "/\u{1}", "/é"])
    func whatNoAddressMayHoldIsRefusedThereToo(target: String) {
        #expect(throws: RequestTarget.Refusal.self) { _ = try RequestTarget(Array(target.utf8), reading: .asWritten) }
    }

    @Test func boundsTheNumberOfQueryItems() throws {
        let items = (0..<RequestTarget.maximumQueryItems).map { "a\($0)=" }
        #expect(try RequestTarget(Array("/?\(items.joined(separator: "&"))".utf8)).query.count == items.count)
        #expect(refusal(Array("/?\(items.joined(separator: "&"))&b=".utf8)) == .ambiguousQuery)
    }

    /// Whatever the bytes: an accepted path holds no control character, no dot segment and no empty segment.
    @Test func anAcceptedPathIsPlain() throws {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("/./%2e%2f%00%5c\\ab?&=é".utf8)
        var accepted = 0
        for _ in 0..<20_000 {
            let length = Int.random(in: 0..<12, using: &random)
            let bytes = [UInt8(ascii: "/")] + (0..<length).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            guard let target = try? RequestTarget(bytes) else { continue }
            accepted += 1
            let segments = target.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
            #expect(!segments.contains("..") && !segments.contains(".") && !segments.dropLast().contains(""))
            #expect(target.path.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0 != "\\" })
        }
        #expect(accepted > 100)
    }
}
