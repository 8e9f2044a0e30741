import StrictJSON
import TapProtocol
import Testing
import WalletConnectPay

@testable import Acquirer
@testable import Sandbox

struct LoginTests {
    /// An integrator's back end: it knows who is logged in at its own shop, and asks the acquirer for a token.
    private func backEnd(_ bench: AcquirerBench, _ user: String, _ jwk: String) async throws -> String {
        var client = bench.shop
        client.session = nil
        return try await client.delegatedToken(for: user, jwk: jwk, partnerKey: Secret("partner"))
    }

    @Test func aMerchantLogsInAndItsSessionEndsWithTheLogout() async throws {
        let bench = try await AcquirerBench()
        var client = bench.shop
        client.session = nil
        let session = try await client.logIn(identifier: "shop@example.com", password: Secret("shop-password"))
        #expect(session.role == .merchant)
        #expect(session.accountID == "merchant-demo")
        #expect(session.operatorIDs == ["operator-1"])
        client.session = session.token
        _ = try await client.payments()
        try await client.logOut()
        await #expect(throws: AcquirerError.signedOut) { try await client.payments() }
        _ = try await bench.shop.payments()  // The other session goes on.
    }

    @Test func aWrongPasswordOpensNothing() async throws {
        let bench = try await AcquirerBench()
        await #expect(throws: AcquirerError.refused(.init(code: .loginRefused))) {
            try await bench.shop.logIn(identifier: "shop@example.com", password: Secret("guess"))
        }
    }

    @Test func aSessionEndsByItselfAndACustomersOpensNothingOfAMerchants() async throws {
        let bench = try await AcquirerBench()
        let phone = try await bench.phone()
        await #expect(throws: AcquirerError.signedOut) { try await phone.client.void(try bench.terminal.paymentID()) }
        await #expect(throws: AcquirerError.signedOut) { try await bench.shop.instruments() }
        bench.clock.advance(by: .seconds(30 * 86_400))
        await #expect(throws: AcquirerError.signedOut) { try await bench.shop.payments() }
    }

    @Test func aMadeUpSessionOpensNothing() async throws {
        let bench = try await AcquirerBench()
        var client = bench.shop
        let parts = try #require(client.session).reveal().split(separator: ".")
        for token in ["x", "\(parts[0]).AAAA", "\(parts[0])", ".", "\(parts[0])A.\(parts[1])"] {
            client.session = Secret(token)
            await #expect(throws: AcquirerError.signedOut) { try await client.payments() }
        }
    }

    // MARK: - Delegated

    @Test func whoIsLoggedInElsewhereIsLoggedInByATokenForAFreshKey() async throws {
        let bench = try await AcquirerBench()
        for (user, role) in [("shop@example.com", AcquirerSession.Role.merchant), ("ben@example.com", .customer)] {
            let session = try await bench.shop.establishAuthentication { jwk in try await backEnd(bench, user, jwk) }
            #expect(session.role == role)
            var client = bench.shop
            client.session = session.token
            _ = try await client.payments()
        }
    }

    @Test func aTokenOfADelegatedLoginIsRedeemedOnceAndWithinFiveMinutes() async throws {
        let bench = try await AcquirerBench()
        let key = DelegatedKey()
        let token = try key.open(try await backEnd(bench, "ben@example.com", key.jwk))
        _ = try await bench.shop.logIn(initToken: token)
        await #expect(throws: AcquirerError.refused(.init(code: .loginRefused))) {
            try await bench.shop.logIn(initToken: token)
        }
        let late = try key.open(try await backEnd(bench, "ben@example.com", key.jwk))
        bench.clock.advance(by: .seconds(300))
        await #expect(throws: AcquirerError.refused(.init(code: .loginRefused))) {
            try await bench.shop.logIn(initToken: late)
        }
        // A session is no such token, and such a token no session.
        await #expect(throws: AcquirerError.refused(.init(code: .loginRefused))) {
            try await bench.shop.logIn(initToken: try #require(bench.shop.session))
        }
    }

    @Test func onlyAPartnerIsGivenTokensAndOnlyForAccountsThatExist() async throws {
        let bench = try await AcquirerBench()
        let jwk = DelegatedKey().jwk
        await #expect(throws: AcquirerError.signedOut) {
            try await bench.shop.delegatedToken(for: "ben@example.com", jwk: jwk, partnerKey: Secret("guess"))
        }
        await #expect(throws: AcquirerError.refused(.init(code: .loginRefused))) {
            try await bench.shop.delegatedToken(for: "nobody@example.com", jwk: jwk, partnerKey: Secret("partner"))
        }
        await #expect(throws: AcquirerError.invalid(field: "jwk", message: "not a public key of P-256")) {
            try await bench.shop.delegatedToken(for: "ben@example.com", jwk: "{}", partnerKey: Secret("partner"))
        }
    }

    @Test func aTokenOpensWithItsOwnKeyAndUnchangedOnly() throws {
        let key = DelegatedKey()
        let token = try #require(DelegatedToken.seal(Secret("the token"), to: key.jwk))
        #expect(try key.open(token).reveal() == "the token")
        #expect(throws: DelegatedLoginError.notForThisKey) { try DelegatedKey().open(token) }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for place in [2, 3, 4] {
            var changed = parts
            changed[place] = (changed[place].hasPrefix("A") ? "B" : "A") + changed[place].dropFirst()
            #expect(throws: DelegatedLoginError.notForThisKey) { try key.open(changed.joined(separator: ".")) }
        }
        for text in ["", "a.b", "....", token + ".", parts[0] + ".AA." + parts[2...].joined(separator: ".")] {
            #expect(throws: DelegatedLoginError.notAToken) { try key.open(text) }
        }
    }

    @Test(arguments: [
        (#""alg":"ECDH-ES+A256KW""#, #""alg":"ECDH-ES""#), (#""enc":"A128GCM""#, #""enc":"A256GCM""#),
        (#""zip":"DEF","alg":"ECDH-ES""#, #""alg":"ECDH-ES""#),
        (#""crit":["exp"],"alg":"ECDH-ES""#, #""alg":"ECDH-ES""#),
        (#""crv":"P-384""#, #""crv":"P-256""#),
    ])
    func anotherWayToEncryptIsNotTaken(_ new: String, _ old: String) throws {
        let key = DelegatedKey()
        let token = try #require(DelegatedToken.seal(Secret("the token"), to: key.jwk))
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let header = String(decoding: try #require(Base64URL.decode(parts[0])), as: UTF8.self)
        #expect(header.contains(old))
        let changed = Base64URL.encode(Array(header.replacing(old, with: new).utf8))
        #expect(throws: DelegatedLoginError.otherAlgorithm) {
            try key.open(([changed] + parts.dropFirst()).joined(separator: "."))
        }
    }

    /// Source: RFC 7518, appendix C.
    @Test func bothSidesComeToTheKeyOfThePublishedExample() throws {
        let scalar = try #require(Base64URL.decode("VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw"))
        let bob = try #require(DelegatedKey(scalar: scalar))
        let jwk = try ExactJSON(parsing: bob.jwk)
        #expect(jwk.value(named: "x") == .string("weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ"))
        #expect(jwk.value(named: "y") == .string("e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck"))
        let alice = ExactJSON.object([
            .init("kty", .string("EC")), .init("crv", .string("P-256")),
            .init("x", .string("gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0")),
            .init("y", .string("SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps")),
        ])
        let info = JWEKey.PartyInfo(apu: Array("Alice".utf8), apv: Array("Bob".utf8))
        let derived = try #require(bob.derived(from: alice, info, algorithm: "A128GCM", bits: 128))
        #expect(Base64URL.encode(derived) == "VqqN6vgjbSBcIijNcacQGg")
    }
}
