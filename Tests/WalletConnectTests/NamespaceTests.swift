import Crypto
import StrictJSON
import Testing

@testable import WalletConnect

struct NamespaceTests {
    /// The order of a map's keys is not kept, so where two rules are broken either may be told.
    private let eitherRule: Set = ["1.7", "1.8"]

    @Test func everyCaseOfTheSpecificationIsDecidedAsItSays() throws {
        for entry in try Vectors.load("namespaces_spec").list("cases") {
            let id = try entry.text("id")
            let proposal = try entry.at("proposal")
            do throws(NamespaceError) {
                let required = try ProposalNamespace.read(proposal.value(named: "requiredNamespaces"))
                _ = try ProposalNamespace.read(proposal.value(named: "optionalNamespaces"))
                if let session = entry.present("session") {
                    try NamespaceRules.check(try SessionNamespace.read(session), gives: required)
                }
                #expect(entry.value(named: "valid")?.bool == true, "\(id) passes")
            } catch {
                #expect(entry.value(named: "valid")?.bool == false, "\(id): \(error)")
                if !eitherRule.contains(id) {
                    #expect(entry.value(named: "code")?.integer == Int64(error.code), "\(id)")
                    #expect(entry.value(named: "message")?.string == error.rule, "\(id)")
                }
                #expect(!error.description.isEmpty && !error.reason.message.isEmpty)
            }
        }
    }

    @Test func sessionsConformWhereTheOfficialSDKSaysSo() throws {
        for entry in try Vectors.load("namespaces_js").list("isConformingNamespaces") {
            let required = try ProposalNamespace.read(try entry.at("required"))
            let conforms =
                (try? NamespaceRules.check(try SessionNamespace.read(try entry.at("approved")), gives: required)) != nil
            #expect(conforms == entry.value(named: "conforms")?.bool, "\(entry.value(named: "name")?.string ?? "")")
        }
    }

    @Test func aWalletApprovesWhatTheOfficialSDKWouldBuild() throws {
        for entry in try Vectors.load("namespaces_js").list("buildApprovedNamespaces") {
            let name = try entry.text("name")
            let built = Result {
                try AutoNamespaces.build(
                    required: ProposalNamespace.read(entry.present("requiredNamespaces")),
                    optional: ProposalNamespace.read(entry.present("optionalNamespaces")),
                    supported: SessionNamespace.read(entry.present("supported"))
                )
            }
            if entry.value(named: "throws")?.bool == true {
                #expect(throws: NamespaceError.self, "\(name)") { try built.get() }
            } else {
                let expected = try SessionNamespace.read(entry.present("expected"))
                let got = try built.get()
                #expect(got.keys.sorted() == expected.keys.sorted(), "\(name)")
                for (key, namespace) in got {
                    #expect(Set(namespace.chains ?? []) == Set(expected[key]?.chains ?? []), "\(name)")
                    #expect(Set(namespace.accounts) == Set(expected[key]?.accounts ?? []), "\(name)")
                    #expect(Set(namespace.methods) == Set(expected[key]?.methods ?? []), "\(name)")
                    #expect(Set(namespace.events) == Set(expected[key]?.events ?? []), "\(name)")
                }
            }
        }
    }

    /// Everything is optional in what most dapps ask for, so that nothing else tells a wallet that it can serve none of it.
    @Test func aWalletThatHasNothingOfWhatIsAskedForLearnsSoAndCanSaySo() throws {
        let supported = try Example.grant(["eip155:100"])
        let error = #expect(throws: NamespaceError.self) {
            try AutoNamespaces.build(required: [:], optional: Example.wish(["eip155:8453"]), supported: supported)
        }
        #expect(error?.reason == JSONRPCError(code: 5100, message: "Session namespaces must not be empty"))
        #expect(throws: NamespaceError.self, "neither where nothing is asked for and nothing there") {
            try AutoNamespaces.build(required: [:], optional: [:], supported: [:])
        }
        #expect(try AutoNamespaces.build(required: [:], optional: [:], supported: supported) == supported)
        #expect(throws: NamespaceError.self) { try NamespaceRules.check([:], gives: [:]) }
    }

    @Test func anOpenSessionIsFoundForAWishAsInTheOfficialSDK() throws {
        for entry in try Vectors.load("namespaces_js").list("isSessionCompatible") {
            guard let requested = try? ProposalNamespace.read(try entry.at("requested")) else {
                #expect(entry.value(named: "compatible")?.bool == false)
                continue
            }
            let record = SessionRecord.example(namespaces: try SessionNamespace.read(try entry.at("sessionNamespaces")))
            #expect(record.value.satisfies(requested) == entry.value(named: "compatible")?.bool, "\(entry.text)")
        }
    }

    @Test func namesOfChainsAndAccountsAreReadStrictly() {
        for text in ["eip155:1", "cosmos:cosmoshub-4", "hedera:testnet", "-ab:_"] {
            #expect(Blockchain(text)?.absoluteString == text)
        }
        for text in ["", "eip155", "eip155:", ":1", "ei:1", "EIP155:1", "eip155:1:2", "eip155:a b", "toolongns9:1"] {
            #expect(Blockchain(text) == nil)
        }
        #expect(Account("eip155:1:0xab")?.blockchain.reference == "1")
        #expect(Account("hedera:testnet:0.0.1-abc")?.address == "0.0.1-abc")
        for text in [
            "eip155:1", "eip155:1:", "eip155:1:a b", "eip155:1:a:b", "x:1:a",
            "eip155:1:" + String(repeating: "a", count: 129),
        ] {
            #expect(Account(text) == nil)
        }
    }

    @Test func aTerminalLearnsInWordsWhatASessionCannotDo() throws {
        let session = SessionRecord.example(namespaces: try Example.grant(["eip155:1"], methods: ["personal_sign"]))
            .value
        try session.check(chain: .example("eip155:1"), method: "personal_sign")
        let chain = #expect(throws: NamespaceError.self) {
            try session.check(chain: .example("eip155:8453"), method: "personal_sign")
        }
        #expect(chain?.code == 5100)
        #expect(chain?.description.contains("eip155:8453") == true)
        let method = #expect(throws: NamespaceError.self) {
            try session.check(chain: .example("eip155:1"), method: "eth_sendTransaction")
        }
        #expect(method?.code == 5101)
        #expect(method?.description.contains("eth_sendTransaction") == true)
    }

    @Test func aFloodOfNamespacesIsRefused() throws {
        let many = (0..<600).map { ExactJSON.string("eip155:\($0)") }
        #expect(throws: NamespaceError.self) {
            try ProposalNamespace.read(
                .of(["eip155": .of(["chains": .array(many), "methods": .array([]), "events": .array([])])])
            )
        }
        let keys = ExactJSON.object(
            (0..<65).map { .init("eip155:\($0)", .of(["methods": .array([]), "events": .array([])])) }
        )
        #expect(throws: NamespaceError.self) { try ProposalNamespace.read(keys) }
    }
}

extension SessionRecord {
    static func example(
        namespaces: [String: SessionNamespace],
        isController: Bool = false,
        key: SymmetricSecret? = nil,
        expiry: Int64 = 1_800_600_000
    ) -> SessionRecord {
        let random = TestRandom(seed: 99)
        let (own, peer) = (AgreementKey(using: random), AgreementKey(using: random))
        let key = key ?? own.sharedSecret(with: peer.publicKey) ?? SymmetricSecret(key: .init(size: .bits256))
        return SessionRecord(
            topic: key.topic,
            key: StoredSecret(key),
            pairingTopic: key.topic,
            selfKey: own.publicKey,
            peerKey: peer.publicKey,
            peer: .wallet,
            isController: isController,
            acknowledged: true,
            namespaces: namespaces,
            required: [:],
            sessionProperties: nil,
            expiry: expiry,
            settleID: RPCID(1)
        )
    }
}
