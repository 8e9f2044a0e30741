import Foundation
import Payments
import Testing
import WebServer

@testable import Console
@testable import Terminal

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

    // MARK: - Fields

    /// What stands in the file at `#/components/schemas/Charge`, with every `$ref` and `allOf` followed.
    private func resolved(_ schema: [String: Any], in contract: [String: Any]) throws -> [String: Any] {
        if let reference = schema["$ref"] as? String {
            var found: Any? = contract
            for part in reference.split(separator: "/").dropFirst() { found = (found as? [String: Any])?[String(part)] }
            return try resolved(try #require(found as? [String: Any], "\(reference)"), in: contract)
        }
        guard let parts = schema["allOf"] as? [[String: Any]] else { return schema }
        var (properties, required) = ([String: Any](), [String]())
        for part in parts {
            let part = try resolved(part, in: contract)
            properties.merge(part["properties"] as? [String: Any] ?? [:]) { $1 }
            required += part["required"] as? [String] ?? []
        }
        return ["type": "object", "properties": properties, "required": required]
    }

    /// What of an answer is not as the file says: members that it does not have, and required ones that are missing.
    private func differences(
        _ value: Any,
        _ schema: [String: Any],
        _ contract: [String: Any],
        at place: String
    ) throws -> [String] {
        let schema = try resolved(schema, in: contract)
        if value is NSNull {
            let types = schema["type"] as? [String] ?? []
            let kinds = try (schema["anyOf"] as? [[String: Any]] ?? []).map { try resolved($0, in: contract) }
            let isNull = kinds.contains { $0["type"] as? String == "null" }
            return types.contains("null") || isNull ? [] : ["\(place) is null"]
        }
        if let choices = schema["anyOf"] as? [[String: Any]] {
            let found = try choices.map { try differences(value, $0, contract, at: place) }
            return found.min { $0.count < $1.count } ?? []
        }
        if let list = value as? [Any] {
            guard let items = schema["items"] as? [String: Any] else { return ["\(place) is a list"] }
            return try list.flatMap { try differences($0, items, contract, at: place + "[]") }
        }
        guard let members = value as? [String: Any] else { return schema["type"] as? String == "null" ? [place] : [] }
        guard let properties = schema["properties"] as? [String: [String: Any]] else {
            // Any names, such as `values`.
            return schema["additionalProperties"] is [String: Any]
                ? [] : ["\(place) has members: \(members.keys.sorted())"]
        }
        let required = Set(schema["required"] as? [String] ?? [])
        var found = required.subtracting(members.keys).map { "\(place).\($0) is missing" }
        for (name, member) in members {
            guard let property = properties[name] else {
                found.append("\(place).\(name) is not in the file")
                continue
            }
            found += try differences(member, property, contract, at: "\(place).\(name)")
        }
        return found
    }

    private func schema(of method: String, _ path: String, in contract: [String: Any]) throws -> [String: Any] {
        let paths = try #require(contract["paths"] as? [String: [String: [String: Any]]])
        let operation = try #require(paths[path]?[method.lowercased()], "\(method) \(path)")
        let answers = try #require(operation["responses"] as? [String: [String: Any]])
        let answer = try #require(answers["200"] ?? answers["201"])
        let content = try #require(answer["content"] as? [String: [String: Any]])
        return try #require(content["application/json"]?["schema"] as? [String: Any])
    }

    /// Each answer that a token gets, of a charge with everything that a charge can have: what is answered is in the file, and
    /// what the file promises is answered.
    @Test func everyFieldThatIsAnsweredIsInTheFileAndEveryPromisedOneIsAnswered() async throws {
        let contract = try contract()
        try await withConsole { page in
            let shop = try await Program.shop(page)
            let till = try await Program(page)
            let counter = #"{"tipMode":"allowed","tipMaximumPercent":20,"tipPresets":"5"}"#
            #expect(try await page.send("PUT", "counter", counter) == 200)
            let opened = try await till.ask(
                "POST",
                "charges",
                #"{"amount":"12,50","currency":"EUR","reference":"A 4711","note":"secret note","tipMinor":100}"#,
                key: "sale-1"
            )
            #expect(opened.status == 201)
            let id = try #require(try Page.said(opened)["id"] as? String)
            var answers: [(method: String, path: String, schema: String, said: Any)] = [
                ("POST", "charges", "/charges", try Page.said(opened))
            ]
            func ask(_ method: String, _ path: String, _ described: String, _ body: String? = nil) async throws {
                let answer = try await till.ask(method, path, body)
                #expect((200...201).contains(answer.status), "\(path)")
                answers.append((method, path, described, try Page.said(answer)))
            }
            try await ask("GET", "charges/current", "/charges/current")
            try await ask("GET", "charges/lookup?key=sale-1", "/charges/lookup")
            try await ask("GET", "terminal", "/terminal")
            let charge = try #require(ChargeID(id))
            let attempt = try #require(await shop.rail.attempt(of: charge))
            await attempt.record(.sending(attempt: attempt.id))
            await attempt.record(
                .offered(
                    attempt: attempt.id,
                    offer: Offer(paymentID: "pay_1", link: CustomerShop.link(charge), expiresAt: nil)
                )
            )
            try await ask("GET", "charges/\(id)", "/charges/{id}")
            try await shop.pay(charge)
            let refund = try await page.ask(
                "POST",
                "charges/\(id)/refund",
                #"{"amountMinor":250,"reason":"secret reason"}"#
            )
            #expect(refund.status == 200)
            try await ask("GET", "charges/\(id)", "/charges/{id}")
            try await ask("GET", "charges?q=A", "/charges")
            try await ask("GET", "charges", "/charges")
            try await ask("GET", "diagnosis", "/diagnosis")
            try await ask("POST", "screen", "/screen", #"{"kind":"confirm","title":"Receipt?"}"#)
            try await ask("GET", "screen", "/screen")
            for answer in answers {
                let wanted = try schema(of: answer.method, answer.schema, in: contract)
                let wrong = try differences(answer.said, wanted, contract, at: answer.path)
                #expect(wrong == [], "\(answer.method) \(answer.path)")
                let text = String(decoding: try JSONSerialization.data(withJSONObject: answer.said), as: UTF8.self)
                #expect(!text.contains("secret"), "\(answer.path) tells a program what is for staff")
            }
            // By a search neither, and staff have both.
            let found = try await till.said("GET", "charges?q=secret")["charges"] as? [Any]
            #expect(found?.isEmpty == true)
            let staff = try Page.said(try await page.ask("GET", "charges/\(id)"))
            #expect(staff["note"] as? String == "secret note")
            let refunds = staff["refunds"] as? [[String: Any]]
            #expect(refunds?.first?["reason"] as? String == "secret reason")
            let searched = try Page.said(try await page.ask("GET", "charges?q=secret"))["charges"] as? [Any]
            #expect(searched?.count == 1)
        }
    }

    /// Names that the program's own forms read, by its source.
    private func read(_ file: String, _ pattern: Regex<(Substring, Substring)>) throws -> Set<String> {
        let source = try String(contentsOf: Self.root.appending(path: "Sources/Console/\(file).swift"), encoding: .utf8)
        return Set(source.matches(of: pattern).map { String($0.1) })
    }

    @Test func everyFieldThatIsTakenIsInTheFileAndNoOther() throws {
        let contract = try contract()
        let schemas = try #require((contract["components"] as? [String: Any])?["schemas"] as? [String: [String: Any]])
        let charge = try #require(schemas["NewCharge"]?["properties"] as? [String: Any])
        let field = /form\.\w+\("(\w+)"/
        #expect(try read("Console+Charges", field) == Set(charge.keys))
        let kinds = try #require(schemas["NewMessage"]?["oneOf"] as? [[String: Any]])
        let message = kinds.reduce(into: Set<String>()) {
            $0.formUnion(($1["properties"] as? [String: Any] ?? [:]).keys)
        }
        let messageFields = try read("Screen/MessageForm", field)
        #expect(messageFields.subtracting(["answer"]) == message)
        let paths = try #require(contract["paths"] as? [String: [String: [String: Any]]])
        let list = try #require(paths["/charges"]?["get"]?["parameters"] as? [[String: Any]])
        let names = try read("Route+History", /value\("(\w+)"/)
        #expect(Set(list.compactMap { $0["name"] as? String }) == names)
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
