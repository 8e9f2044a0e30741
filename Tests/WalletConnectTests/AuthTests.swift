import Ethereum
import StrictJSON
import Testing

@testable import WalletConnect

struct AuthTests {
    let vectors: ExactJSON
    init() throws { vectors = try Vectors.load("cacao_siwe") }

    @Test func theTextToSignIsTheRecordedOne() throws {
        for entry in try vectors.list("messages") {
            let payload = try #require(AuthPayload(json: try entry.at("payload")))
            #expect(
                try payload.message(iss: entry.text("iss")) == entry.text("message"),
                "\(entry.value(named: "name")?.string ?? "")"
            )
        }
    }

    @Test func permissionsAreWrittenMergedAndReadAsRecorded() throws {
        for entry in try vectors.list("recaps") {
            switch try entry.text("name") {
            case "createEncodedRecap":
                let args = try entry.list("args")
                let recap = Recap(
                    resource: args[0].string ?? "",
                    ability: args[1].string ?? "",
                    actions: args[2].texts ?? []
                )
                #expect(try recap.encoded == entry.text("result"))
                #expect(try Recap(encoded: entry.text("result")) == recap)
            case "mergeRecaps":
                let a = try #require(Recap(json: try entry.at("a")))
                let b = try #require(Recap(json: try entry.at("b")))
                #expect(try a.merging(b).json.sorted == entry.at("result").sorted)
            case "getMethodsFromRecap":
                #expect(try Recap(json: entry.at("recap"))?.methods == entry.at("result").texts)
            case "getChainsFromRecap":
                #expect(try Recap(json: entry.at("recap"))?.chains == entry.at("result").texts)
            case let name: Issue.record("\(name) is not looked at")
            }
        }
    }

    @Test func aWalletSignsOnlyForWhatItSupports() throws {
        for entry in try vectors.list("populate") {
            let payload = try #require(AuthPayload(json: try entry.at("authPayload")))
            let limited = try #require(
                payload.limited(toChains: entry.at("chains").texts ?? [], methods: entry.at("methods").texts ?? [])
            )
            #expect(try limited.json.sorted == entry.at("result").sorted)
            let iss = "did:pkh:\(limited.chains[0]):0x3613699A6c5D8BC97a08805876c8005543125F09"
            #expect(try limited.message(iss: iss) == entry.text("message"))
            #expect(payload.limited(toChains: ["eip155:99"], methods: []) == nil)
        }
    }

    private static let asked = AuthPayload(
        chains: ["eip155:1", "eip155:8453"],
        domain: "shop.example",
        aud: "https://shop.example/login",
        nonce: "32891756",
        iat: "2027-01-15T08:00:00Z",
        exp: "2027-01-15T09:00:00Z",
        resources: [Recap(resource: "eip155", ability: "request", actions: ["personal_sign"]).encoded]
    )
    private let now: Int64 = 1_800_000_000  // 2027-01-15T08:00:00Z

    private func signed(
        _ payload: AuthPayload,
        _ key: PrivateKey,
        chain: String = "eip155:1",
        as address: EthereumAddress? = nil
    ) throws -> Cacao {
        let iss = "did:pkh:\(chain):\(address ?? key.address)"
        let message = try #require(payload.message(iss: iss))
        return Cacao(payload: payload, iss: iss, signature: key.sign(Cacao.digest(of: message)).hexadecimal)
    }

    @Test func aProofHoldsForTheAccountAndTheQuestionAlone() throws {
        let (key, other) = (PrivateKey(), PrivateKey())
        var payload = Self.asked
        payload.chains = ["eip155:1"]
        let good = try signed(payload, key)
        try good.verify(for: Self.asked, nowSeconds: now)
        let read = try #require(Cacao(json: good.json))
        try read.verify(for: Self.asked, nowSeconds: now)
        #expect(read.account?.address == key.address.checksummed)

        var bad: [(String, Cacao)] = [("another's key", try signed(payload, other, as: key.address))]
        for (name, change) in [
            ("domain", { $0.domain = "evil.example" }), ("aud", { $0.aud = "https://evil.example" }),
            ("nonce", { $0.nonce = "1" }), ("version", { $0.version = "2" }),
            ("exp", { $0.exp = "2027-01-15T08:00:00Z" }), ("nbf", { $0.nbf = "2027-01-15T08:00:01Z" }),
            ("exp unreadable", { $0.exp = "soon" }),
            (
                "permissions",
                {
                    $0.resources = [
                        Recap(resource: "eip155", ability: "request", actions: ["eth_sendTransaction"]).encoded
                    ]
                }
            ),
        ] as [(String, (inout AuthPayload) -> Void)] {
            var changed = payload
            change(&changed)
            bad.append((name, try signed(changed, key)))
        }
        bad.append(("chain", try signed(payload, key, chain: "eip155:5")))
        bad.append(
            ("contract", Cacao(payload: payload, iss: good.iss, signatureType: "eip1271", signature: good.signature))
        )
        bad.append(("garbage", Cacao(payload: payload, iss: good.iss, signature: "0x00")))
        for (name, cacao) in bad {
            #expect(throws: SignError.self, "\(name)") { try cacao.verify(for: Self.asked, nowSeconds: now) }
        }
    }

    @Test func aDappCannotClaimOtherPermissionsThanItAsksFor() throws {
        var payload = Self.asked
        payload.statement = Recap(resource: "eip155", ability: "request", actions: ["nothing"]).statement(
            after: "Hello."
        )
        #expect(payload.message(iss: "did:pkh:eip155:1:0x3613699A6c5D8BC97a08805876c8005543125F09") == nil)
    }

    @Test func aDappCannotWriteLinesOfItsOwn() throws {
        var json = Self.asked.json.members ?? []
        json.removeAll { $0.name == "statement" }
        json.append(.init("statement", .string("Hi\nURI: https://evil.example")))
        #expect(AuthPayload(json: .object(json)) == nil)
    }

    @Test func timesAreReadWithFractionsAndOffsets() {
        #expect(RFC3339.seconds("2027-01-15T08:00:00Z") == 1_800_000_000)
        #expect(RFC3339.seconds("2027-01-15T09:30:00.123+01:30") == 1_800_000_000)
        #expect(RFC3339.seconds("1970-01-01T00:00:00Z") == 0)
        #expect(RFC3339.seconds("2024-02-29T12:00:00Z") == 1_709_208_000)
        for text in [
            "", "2027-01-15", "2027-13-15T08:00:00Z", "2027-01-15T08:00:00", "2027-01-15T08:00:00.Z",
            "2027-01-15T25:00:00Z",
        ] {
            #expect(RFC3339.seconds(text) == nil)
        }
        for seconds: Int64 in [0, 951_782_400, 1_709_208_000, 1_800_000_000, 4_102_444_799] {
            #expect(RFC3339.seconds(RFC3339.text(seconds)) == seconds)
        }
    }
}
