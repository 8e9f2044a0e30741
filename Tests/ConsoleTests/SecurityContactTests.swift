import Foundation
import Payments
import Testing
import WebServer

@testable import Console

/// What the terminal says of where to report a vulnerability.
struct SecurityContactTests {
    @Test func itIsAsTheStandardSaysAndNeverExpired() throws {
        let contact = SecurityContact(address: "mailto:security@example.com", page: "https://till.local:8443")
        let now = WallTime(millisecondsSince1970: 1_790_000_000_000)
        for days in [0, 1, 400, 4000] {
            let then = now.advanced(by: .seconds(86_400 * days))
            let response = contact.response(at: then)
            guard case .bytes(let bytes) = response.body else { throw Problem.notFound }
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            let pairs = lines.map { line in (line.prefix { $0 != ":" }, line.drop { $0 != ":" }) }
            let fields = Dictionary(uniqueKeysWithValues: pairs)
            #expect(fields["Contact"] == ": mailto:security@example.com")
            #expect(fields["Canonical"] == ": https://till.local:8443/.well-known/security.txt")
            let expires = try Date(String(#require(fields["Expires"]).dropFirst(2)), strategy: .iso8601)
            let left = expires.timeIntervalSince1970 - Double(then.millisecondsSince1970) / 1000
            #expect(left > 88 * 86_400 && left <= 90 * 86_400, "less than a year, and never over")
            #expect(response.headers["Content-Type"] == "text/plain; charset=utf-8")
        }
    }

    @Test func whereNobodyIsNamedNothingIsSaid() async throws {
        try await withConsole { (page: Page) async throws in
            #expect(try await page.fetch("/.well-known/security.txt").status == 404)
        }
        try await withConsole(securityContact: "https://example.com/security") { (page: Page) async throws in
            #expect(try await page.fetch("/.well-known/security.txt").status == 200)
        }
    }
}
