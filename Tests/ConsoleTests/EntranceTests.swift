import Payments
import Testing
import WebServer

@testable import Console

/// The way in: what guessing costs, what a password has to be, and what a request must carry.
struct EntranceTests {
    @Test func theCodeOnTheScreenIsTakenHoweverItIsTyped() {
        var claim = Claim(at: .zero)
        let code = claim.code
        #expect(claim.guess(" \(code.prefix(4).lowercased())-\(code.suffix(4)) ", at: .seconds(1)) == true)
        #expect(code.count == 8 && !code.contains { "IO01".contains($0) })
    }

    @Test func anOldCodeIsNoCode() {
        var claim = Claim(at: .zero)
        let code = claim.code
        #expect(claim.guess(code, at: Claim.lifetime) == false)
    }

    @Test(arguments: [
        ("", "password_too_short"), ("1234567", "password_too_short"), ("password", "password_too_common"),
        ("Password123", "password_too_common"), ("12345678", "password_too_common"),
        ("aaaaaaaaaa", "password_too_common"),
        ("qwertyuiop", "password_too_common"), ("Terminal1", "password_too_common"),
        (String(repeating: "ab c", count: 33), "password_too_long"),
    ])
    func aWeakPasswordIsRefusedWithTheReason(password: String, code: String) {
        #expect(PasswordRule.objection(to: password)?.reason.code == code)
    }

    /// Source: OWASP ASVS 5.0, 6.2.4: the top 3000 at least.
    @Test func noneOfTheThreeThousandMostCommonPasswordsIsTaken() {
        #expect(CommonPasswords.all.count >= 2990, "a few differ in capitals only")
        for password in CommonPasswords.all {
            for typed in [password, password.uppercased(), password.prefix(1).uppercased() + password.dropFirst()] {
                #expect(PasswordRule.objection(to: typed)?.reason.code == "password_too_common", "\(typed)")
            }
        }
        #expect(CommonPasswords.all.isSuperset(of: ["password", "usmc0311", "greyhoun", "qwertyuiop"]))
    }

    @Test(arguments: [
        "correct horse battery", "пароль для кассы", "12 elefanten!", String(repeating: "ab c", count: 32),
    ])
    func lengthIsEnough(password: String) { #expect(PasswordRule.objection(to: password) == nil) }

    @Test func aPasswordIsKeptAsItsHashAndKnownInEitherForm() throws {
        let hash = try PasswordHash("Zoë's café")
        #expect(try hash.matches("Zoe\u{308}'s cafe\u{301}"))
        #expect(try !hash.matches("Zoe's cafe"))
        #expect(try PasswordHash("Zoë's café") != hash, "each has a salt of its own")
    }
}

/// What a request's body may be.
struct FormTests {
    @Test(arguments: ["", "[]", "null", "1", #""text""#, "{", #"{"a":1.5}"#, "{\"a\":\"\u{1}"])
    func whatIsNoObjectOfWholeNumbersIsRefused(body: String) throws {
        #expect {
            var form = try Form(Array(body.utf8))
            _ = form.integer("a")
            try form.finish()
        } throws: { ($0 as? Problem).map { (400..<500).contains($0.status) } == true }
    }

    @Test(arguments: [
        (#"{"name":1}"#, "wrong_type"), (#"{"name":null,"other":1}"#, "unknown_field"),
        (#"{"name":"a\u0000b"}"#, "invalid_characters"),
        (#"{"name":"12345678901"}"#, "too_long"), (#"{"name":["a"]}"#, "wrong_type"),
    ])
    func aWrongFieldIsNamed(body: String, code: String) throws {
        #expect {
            var form = try Form(Array(body.utf8))
            _ = form.text("name", limit: 10)
            try form.finish()
        } throws: { ($0 as? Problem)?.reason.code == code }
    }

    @Test func whatComesFromOutsideCannotBreakOutOfTheJSON() {
        let hostile = "\"\\\n</script>\u{2028}\u{0}"
        #expect(JSON.string(hostile).text == #""\"\\\u000a\u003c/script>\u2028\u0000""#)
    }
}

/// Which requests get as far as being looked at.
struct RouteTests {
    @Test(arguments: [
        ("GET", "/api/v1/nothing", 404), ("GET", "/api/v1/claim", 405), ("POST", "/api/v1/session", 405),
        ("DELETE", "/api/v1/settings", 405), ("GET", "/api/v1/charges/not-an-id", 404),
        ("GET", "/api/v1/charges/a/b/c", 404),
        ("POST", "/api/v1/charges/current", 405),
    ])
    func whatIsNotThereIsSaidSo(method: String, path: String, status: Int) {
        #expect { try Route(method, path, query: [:]) } throws: { ($0 as? Problem)?.status == status }
    }

    @Test(arguments: [
        ["limit": "0"], ["limit": "101"], ["limit": "x"], ["state": "paid"], ["before": "1"], ["order": "up"],
    ])
    func aQueryThatMeansNothingIsRefused(query: [String: String]) {
        #expect { try Route("GET", "/api/v1/charges", query: query) } throws: { ($0 as? Problem)?.status == 422 }
    }

    @Test func neitherCashiersNorProgramsReachTheSettings() throws {
        for (method, path) in [("GET", "settings"), ("PUT", "settings"), ("POST", "settings/test-connection")] {
            #expect(try !Route(method, "/api/v1/\(path)", query: [:]).roles.contains(.cashier))
        }
        for role in [Role.till, .metrics] {
            #expect(try !Route("POST", "/api/v1/charges", query: [:]).roles.contains(role))
        }
    }

    @Test(arguments: [
        ("evil.test", false), ("till.local", true), ("192.168.1.7", true), ("192.168.1.7.evil.test", false),
        ("localhost", false),
        ("", false), ("999.1.1.1", false),
    ])
    func aForeignNameForTheTerminalIsRefused(host: String, isAllowed: Bool) {
        #expect(Console.isAllowed(host, names: ["till.local"], isEverywhere: true) == isAllowed)
    }

    @Test func plainHTTPPointsPagesToHTTPSAndRefusesPrograms() throws {
        let page = try #require(WebRequest(target: "/", headers: ["Host": "till.local:8080"], isSecure: false))
        let answer = Console.redirect(page, to: 8443)
        #expect(answer.status == 308 && answer.headers["Location"] == "https://till.local:8443/")
        for target in ["/api/v1/session", "/metrics"] {
            let call = try #require(WebRequest(target: target, headers: ["Host": "till.local"], isSecure: false))
            let refusal = Console.redirect(call, to: 8443)
            #expect(refusal.status == 403 && refusal.headers["Location"] == nil)
        }
    }
}
