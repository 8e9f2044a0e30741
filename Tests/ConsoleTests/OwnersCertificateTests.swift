import Foundation
import Journal
import Payments
import TerminalTestSupport
import Testing
import TestSupport
import WebServer

@testable import Console

/// A certificate that the owner puts in, as OpenSSL makes them.
@Suite(.timeLimit(.minutes(2)))
struct OwnersCertificateTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let password = "correct horse battery"

    /// A certificate of an authority of the test's own.
    private struct Pair {
        var leaf = ""
        var issuer = ""
        var key = ""
        var chain: String { leaf + issuer }
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
    }

    private func make(
        _ name: String = "till",
        kind: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        extensions: String = "subjectAltName=DNS:till.shop.example,DNS:*.tills.example\nextendedKeyUsage=serverAuth\n",
        days: String = "60"
    ) async throws -> Pair {
        let path = "\(folder.path)/\(name)"
        if !FileManager.default.fileExists(atPath: folder.path + "/ca.crt") {
            _ = try await openssl(
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "90",
                "-subj",
                "/CN=Test authority",
                "-keyout",
                folder.path + "/ca.key",
                "-out",
                folder.path + "/ca.crt"
            )
        }
        try Data(extensions.utf8).write(to: URL(filePath: path + ".ext"))
        let request =
            ["req", "-new", "-newkey"] + kind + ["-nodes", "-subj", "/CN=x", "-keyout", path + ".key", "-out"]
        _ = try await openssl(request + [path + ".csr"])
        _ = try await openssl([
            "x509", "-req", "-in", path + ".csr", "-CA", folder.path + "/ca.crt", "-CAkey", folder.path + "/ca.key",
            "-CAcreateserial", "-days", days, "-extfile", path + ".ext", "-out", path + ".crt",
        ])
        return try Pair(leaf: text("\(name).crt"), issuer: text("ca.crt"), key: text("\(name).key"))
    }

    private func objection(_ chain: String, _ key: String, at now: Date? = Date()) -> OwnersCertificate.Objection? {
        do throws(OwnersCertificate.Objection) { _ = try OwnersCertificate(chain: chain, key: key, at: now) } catch {
            return error
        }
        return nil
    }

    @Test func aGoodOneIsTakenAndAWrongOneIsSaidToBe() async throws {
        let good = try await make()
        #expect(objection(good.chain, good.key) == nil)
        #expect(objection(good.leaf, good.key) == nil, "its issuer may be missing")
        let kept = try OwnersCertificate(chain: good.chain, key: good.key, at: Date()).page
        #expect(kept.issuer == "CN=Test authority" && kept.names == ["till.shop.example", "*.tills.example"])
        let other = try await make("other")
        let client = try await make("client", extensions: "subjectAltName=DNS:a.example\nextendedKeyUsage=clientAuth\n")
        let nameless = try await make("nameless", extensions: "subjectAltName=IP:192.168.1.7\n")
        let edwards = try await make("edwards", kind: ["ed25519"])
        let small = try await make("small", kind: ["rsa:1024"])
        let large = try await make("large", kind: ["rsa:2048"])
        #expect(objection(large.chain, large.key) == nil)
        let wrong: [(OwnersCertificate.Objection, String, String)] = [
            (.chainNotReadable, "", good.key), (.chainNotReadable, "nonsense", good.key),
            (.chainNotReadable, good.key, good.key),
            (.chainNotReadable, String(repeating: good.leaf, count: 9), good.key), (.keyNotReadable, good.chain, ""),
            (.keyNotReadable, good.chain, good.chain), (.keyNotReadable, good.chain, good.key + other.key),
            (.keyDoesNotFit, good.chain, other.key), (.notForServers, client.chain, client.key),
            (.noName, nameless.chain, nameless.key), (.kindOfKey, edwards.chain, edwards.key),
            (.chainNotReadable, small.chain, small.key), (.notInOrder, good.leaf + other.leaf, good.key),
            (.keyDoesNotFit, good.issuer + good.leaf, good.key),
            (.notForServers, good.issuer, try text("ca.key")),
        ]
        for (expected, chain, key) in wrong { #expect(objection(chain, key) == expected, "\(expected)") }
        let day = 86_400.0
        #expect(objection(good.chain, good.key, at: Date(timeIntervalSinceNow: 61 * day)) == .ended)
        #expect(objection(good.chain, good.key, at: Date(timeIntervalSinceNow: -2 * day)) == .notYet)
        #expect(objection(good.chain, good.key, at: nil) == nil, "by a clock that nobody has set none ends")
    }

    @Test func aWildcardStandsForOneLabel() async throws {
        let good = try await make()
        let page = try OwnersCertificate(chain: good.chain, key: good.key, at: nil).page
        for host in ["till.shop.example", "a.tills.example"] { #expect(page.isFor(host), "\(host)") }
        let device = try DeviceCertificate.loadOrCreate(in: folder.path, names: ["till.local"])
        #expect(!device.isFor("till.local"), "the terminal's names are asked about elsewhere")
        for host in ["shop.example", "tills.example", ".tills.example", "a.b.tills.example", "evil-tills.example", ""] {
            #expect(!page.isFor(host), "\(host)")
        }
    }

    private func body(_ pair: Pair, password: String? = password) -> String {
        func lines(_ text: String) -> String { text.replacing("\n", with: "\\n") }
        let own = password.map { #","password":"\#($0)""# } ?? ""
        return #"{"chain":"\#(lines(pair.chain))","key":"\#(lines(pair.key))"\#(own)}"#
    }

    private func codes(_ answer: WebResponse) throws -> [String] {
        let fields = try Page.said(answer)["fields"] as? [String: [String: Any]] ?? [:]
        return fields.map { "\($0.key) \($0.value["code"] as? String ?? "")" }.sorted()
    }

    @Test func theOwnerPutsOneInAndTakesItOutWithThePassword() async throws {
        let good = try await make()
        let other = try await make("other")
        try await withConsole { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            var said = try Page.said(try await page.ask("GET", "certificate"))
            #expect((said["served"] as? [String: Any])?["isOwn"] as? Bool == false)
            #expect(said["next"] is NSNull && said["problem"] is NSNull)
            let without = try await page.ask("PUT", "certificate", body(good, password: nil))
            #expect(try codes(without) == ["password password_needed"])
            let wrong = try await page.ask("PUT", "certificate", body(good, password: "x"))
            #expect(try codes(wrong) == ["password password_wrong"])
            var mixed = good
            mixed.key = other.key
            #expect(
                try codes(try await page.ask("PUT", "certificate", body(mixed))) == ["key certificate_key_does_not_fit"]
            )
            #expect(try Page.said(try await page.ask("GET", "certificate"))["next"] is NSNull, "nothing was kept")
            said = try Page.said(try await page.ask("PUT", "certificate", body(good)))
            let next = try #require(said["next"] as? [String: Any])
            #expect(next["isOwn"] as? Bool == true && next["issuer"] as? String == "CN=Test authority")
            #expect(next["names"] as? [String] == ["till.shop.example", "*.tills.example"])
            // The key is not told, and lies where its user alone reads it.
            #expect(!"\(said)".contains("PRIVATE"))
            let key = page.console.certificates.folder + "/own.key"
            let attributes = try FileManager.default.attributesOfItem(atPath: key)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            #expect(try page.console.certificates.load(builtAt: nil).page.issuer == "CN=Test authority")
            #expect(try await page.ask("DELETE", "certificate", "{}").status == 422)
            said = try Page.said(
                try await page.ask("DELETE", "certificate", #"{"password":"\#(Self.password)"}"#)
            )
            #expect(said["next"] is NSNull && !FileManager.default.fileExists(atPath: key))
            let rows = try await page.rows().filter { $0.what == "certificate" }
            #expect(rows.last?.detail == "removed" && rows.first?.detail.hasPrefix("till.shop.example ") == true)
        }
    }

    /// Ended, damaged, or half written: the page is there all the same.
    @Test func whatCannotBeServedLeavesTheTerminalsOwn() async throws {
        let good = try await make()
        let state = try TemporaryFolder()
        var keeper = CertificateKeeper(folder: state.path, names: [], localNames: [], clockIsSet: { true })
        try OwnersCertificate(chain: good.chain, key: good.key, at: nil).store(in: state.path)
        #expect(try keeper.load(builtAt: nil).page.issuer != nil)
        keeper.now = { Date(timeIntervalSinceNow: 61 * 86_400) }
        let ended = try keeper.load(builtAt: nil)
        #expect(ended.page.issuer == nil && ended.objection == .ended)
        keeper.now = { Date() }
        try Data("-----BEGIN".utf8).write(to: URL(filePath: state.path + "/own.key"))
        let damaged = try keeper.load(builtAt: nil)
        #expect(damaged.page.issuer == nil && damaged.objection == .keyNotReadable)
        try FileManager.default.removeItem(atPath: state.path + "/own.key")
        #expect(try keeper.load(builtAt: nil).objection == nil)
    }

    /// Browsers insist on a trusted certificate no longer than this one holds, and never where they warn.
    @Test func onlyATrustedCertificateAsksForTransportSecurity() async throws {
        let good = try await make(days: "5")
        let page = try OwnersCertificate(chain: good.chain, key: good.key, at: nil).page
        let now = WallTime(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        let seconds = try #require(
            Console.transportSecurity(of: page, at: now)?.split(separator: "=").last.flatMap { Int($0) }
        )
        #expect((4 * 86_400...5 * 86_400).contains(seconds))
        let long = try await make("long", days: "300")
        let held = try OwnersCertificate(chain: long.chain, key: long.key, at: nil).page
        #expect(Console.transportSecurity(of: held, at: now) == "max-age=2592000")
        let own = try DeviceCertificate.loadOrCreate(in: folder.path, names: ["till.local"])
        #expect(Console.transportSecurity(of: own, at: now) == nil)
    }
}
