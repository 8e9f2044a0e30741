import Testing

@testable import WiFi

/// What strangers call their networks, and how people see it.
struct WiFiNameTests {
    @Test func aNameHasOneTo32Bytes() {
        #expect(WiFiName("") == nil && WiFiName("a\0b") == nil)
        #expect(WiFiName(String(repeating: "x", count: 32)) != nil)
        #expect(WiFiName(String(repeating: "x", count: 33)) == nil)
        #expect(WiFiName(String(repeating: "é", count: 17)) == nil, "bytes are counted, not letters")
    }

    @Test(arguments: [
        ("Café Zoë", "Café Zoë"), ("مقهى", "مقهى"), ("<img src=x onerror=1>", "<img src=x onerror=1>"),
        ("Sh\u{200B}op", "Sh\u{FFFD}op"), ("\u{202E}pohS", "\u{FFFD}pohS"), ("a\u{7}\nb", "a\u{FFFD}\u{FFFD}b"),
        (" Shop", "\u{2423}Shop"), ("Shop ", "Shop\u{2423}"), ("A  B", "A \u{2423}B"), ("A\u{A0}B", "A\u{2423}B"),
        ("   ", "\u{2423}\u{2423}\u{2423}"), ("x\u{FE0F}", "x\u{FFFD}"), ("\u{3164}", "\u{FFFD}"),
    ])
    func whatCannotBeSeenIsShown(name: String, shown: String) throws {
        #expect(try #require(WiFiName(name)).shown == shown)
    }

    @Test func twoSpellingsAreTwoNames() throws {
        let (one, two) = (try #require(WiFiName("\u{E9}")), try #require(WiFiName("e\u{301}")))
        #expect(one != two && Set([one, two]).count == 2)
    }

    @Test(arguments: ["Shop", "Café", " ", "\u{202E}x", "a-b", "%2F../", String(repeating: "ü", count: 16)])
    func aCodeLeadsBackToItsNetwork(name: String) throws {
        for security in WiFiSecurity.allCases {
            let id = WiFiNetwork.ID(try #require(WiFiName(name)), security)
            #expect(WiFiNetwork.ID(code: id.code) == id)
            #expect(id.code.utf8.allSatisfy { "0123456789abcdefghijklmnopqrstuvwxyz-".utf8.contains($0) })
        }
    }

    @Test(arguments: [
        "", "-open", "53-", "5-open", "5g-open", "53-open-", "53-Open", "C3-open", "c3-open", "00-open", "+5-open",
        String(repeating: "53", count: 33) + "-open",
    ])
    func whatIsNoCodeNamesNothing(code: String) { #expect(WiFiNetwork.ID(code: code) == nil) }

    @Test func aPassphraseHas8To63SignsAndIsNeverWritten() throws {
        #expect(Passphrase("1234567") == nil && Passphrase(String(repeating: "x", count: 64)) == nil)
        #expect(Passphrase("pässword") == nil && Passphrase("12345678\n") == nil)
        let secret = try #require(Passphrase("correct horse"))
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!"\(secret) \(String(reflecting: secret)) \(dumped) \([secret])".contains("horse"))
    }
}
