import Foundation
import Testing

@testable import Console

/// The file that integrators build on is true: what it describes is what a token may use, and nothing is left out.
struct ContractTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let id = "01941f29-7c00-7000-8000-000000000001"
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

    private func contract() throws -> [String: Any] {
        let data = try Data(contentsOf: Self.root.appending(path: "Public/api/v1/openapi.json"))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// `GET /charges/{id}` and the scope that its tag names.
    private func described() throws -> [String: String] {
        let paths = try #require(try contract()["paths"] as? [String: [String: [String: Any]]])
        var described: [String: String] = [:]
        for (path, item) in paths where path != "/openapi.json" {
            for (method, operation) in item {
                let tags = operation["tags"] as? [String] ?? []
                described["\(method.uppercased()) \(path)"] = tags.joined(separator: " ")
            }
        }
        return described
    }

    /// What the program itself takes, found by asking for every address that its words can make.
    private func taken() throws -> [String: String] {
        let source = try String(
            contentsOf: Self.root.appending(path: "Sources/Console/Route.swift"),
            encoding: .utf8
        )
        let words = Set(source.matches(of: /"([a-z.-]{3,20})"/).map { String($0.1) })
        try #require(words.count > 30)
        var paths = words.map { [$0] }
        for first in words {
            for second in words.union([Self.id]) { paths.append([first, second]) }
            for third in words { paths.append([first, Self.id, third]) }
        }
        for third in words { for fourth in words { paths.append(["charges", Self.id, third, fourth]) } }
        var taken: [String: String] = [:]
        for parts in paths {
            for method in Self.methods {
                let path = "/api/v1/" + parts.joined(separator: "/")
                for query in [[:], ["key": "x"]] {
                    guard let route = try? Route(method, path, query: query), let scope = route.scope else { continue }
                    // A message may have any name.
                    let isName = { (part: String) in part == Self.id || parts[0] == "screen" }
                    let rest = parts.dropFirst().map { isName($0) ? "{id}" : $0 }
                    taken["\(method) /" + ([parts[0]] + rest).joined(separator: "/")] = scope.rawValue
                }
            }
        }
        return taken
    }

    @Test func theFileDescribesEveryAddressThatATokenMayUseAndNoOther() throws {
        let (described, taken) = (try described(), try taken())
        #expect(described == taken)
        #expect(described.count == 17)
    }

    /// What the code refuses with is in the file, so that a till's author meets no unknown word.
    @Test func everyProblemOfTheseAddressesIsInTheFile() throws {
        let text = try String(contentsOf: Self.root.appending(path: "Public/api/v1/openapi.json"), encoding: .utf8)
        var codes: Set<String> = []
        for file in [
            "API/Route+Programs", "API/Console+Events", "API/Console+Programs", "Screen/MessageForm",
            "Screen/MessageDesk", "Form", "Gate",
        ] {
            let source = try String(
                contentsOf: Self.root.appending(path: "Sources/Console/\(file).swift"),
                encoding: .utf8
            )
            codes.formUnion(source.matches(of: /code: "([a-z_]+)"/).map { String($0.1) })
            codes.formUnion(source.matches(of: /Problem\(\s*\d{3},\s*"([a-z_]+)"/).map { String($0.1) })
            codes.formUnion(source.matches(of: /wrong\(\s*"[a-z]+",\s*"([a-z_]+)"/).map { String($0.1) })
        }
        // For people's own pages.
        codes.subtract(["not_allowed", "csrf_token_wrong"])
        #expect(codes.count > 15)
        for code in codes { #expect(text.contains("\"\(code)\""), "\(code)") }
    }
}
