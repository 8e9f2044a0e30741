import StrictJSON
import Testing
import TestSupport

@testable import WalletConnect

struct PairingURITests {
    static let key = "0653ca620c7b4990392e1c53c4a51c14a2840cd20f0f1524cf435b17b6fe988c"
    static let topic = "c9e6d30fb34afe70a15c14e9337ba8e4d5a35dd695c39b94884b0ee60c69d168"
    static let good = "wc:\(topic)@2?relay-protocol=irn&symKey=\(key)&expiryTimestamp=4102444800"

    @Test(arguments: ["valid", "lenientAccept"])
    func everyFormThatAWalletOrADappUsesIsRead(list: String) throws {
        for entry in try Vectors.load("pairing_uri").list(list) {
            let uri = try WalletConnectURI(parsing: entry.text("uri"))
            let expected = try entry.at("expect")
            #expect(try uri.topic.text == expected.text("topic"))
            #expect(try uri.symKey.reveal() == expected.text("symKey"))
            #expect(uri.expiryTimestamp == expected.value(named: "expiryTimestamp")?.integer)
            #expect(uri.methods == expected.value(named: "methods")?.texts ?? [])
            #expect(uri.relayData == expected.value(named: "relayData")?.string)
            #expect(try WalletConnectURI(parsing: uri.absoluteString) == uri)
            #expect(try WalletConnectURI(parsing: uri.deeplinkUri) == uri)
        }
    }

    @Test func whatIsNoInvitationIsRefusedByItsFault() throws {
        for entry in try Vectors.load("pairing_uri").list("invalid") {
            let name = try entry.text("error")
            do {
                let uri = try WalletConnectURI(parsing: entry.text("uri"))
                #expect(name == "expired" && uri.isExpired(atSeconds: 1_700_000_000))
            } catch let failure as WalletConnectURI.Failure {
                #expect(String(describing: failure).prefix { $0 != "(" } == name)
            }
        }
    }

    @Test func aNudgeIsNoInvitationAndEveryOtherLinkSaysWhatItWants() throws {
        for entry in try Vectors.load("pairing_uri").list("notAPairing") {
            switch (try entry.text("kind"), WalletLink(try entry.text("uri"))) {
            case ("ignore", .ignore), ("open", .open): break
            case ("showRequest", .showRequest(let id, let topic)):
                #expect(id.number.map(Int64.init(clamping:)) == entry.value(named: "requestId")?.integer)
                #expect(try topic?.text == entry.text("sessionTopic"))
            case ("showSession", .showSession(let topic)): #expect(try topic.text == entry.text("sessionTopic"))
            case ("linkMode", .linkMode(let envelope)): #expect(try envelope.topic.text == entry.text("topic"))
            case (let kind, let link): Issue.record("\(kind) was read as \(link)")
            }
        }
    }

    @Test func aShownCodeIsAsShortAsAllReadersAllow() throws {
        let secret = try #require(SymmetricSecret(hexadecimal: Self.key))
        let uri = WalletConnectURI(symKey: secret, expiryTimestamp: 1_800_000_300, methods: ["wc_sessionPropose"])
        #expect(uri.absoluteString.utf8.count == 187)
        #expect(uri.absoluteString.hasSuffix("@2?relay-protocol=irn&symKey=\(Self.key)&expiryTimestamp=1800000300"))
        #expect(uri.topic == secret.topic)
    }

    @Test func aPaymentLinkTravelsAlong() throws {
        let uri = try WalletConnectURI(parsing: Self.good + "&pay=https%3A%2F%2Fpay.example%2F%3Fpid%3Dpay_1%26a%3Db")
        #expect(uri.pay == "https://pay.example/?pid=pay_1&a=b")
        #expect(try WalletConnectURI(parsing: uri.absoluteString) == uri)
        #expect(try WalletConnectURI(parsing: uri.deeplinkUri) == uri)
    }

    @Test func listsOfMethodsAreReadFlatAndInBrackets() throws {
        for text in [
            "[wc_sessionPropose],[wc_authRequest,wc_authBatchRequest]",
            "wc_sessionPropose,wc_authRequest,wc_authBatchRequest",
        ] {
            let uri = try WalletConnectURI(parsing: Self.good + "&methods=\(text)")
            #expect(uri.methods == ["wc_sessionPropose", "wc_authRequest", "wc_authBatchRequest"])
        }
    }

    @Test func nothingShowsTheKeyUnlessItIsAskedFor() throws {
        let uri = try WalletConnectURI(parsing: Self.good)
        var dumped = ""
        dump(uri, to: &dumped)
        dump(uri.symKey, to: &dumped)
        let texts = [
            "\(uri)", String(reflecting: uri), dumped, "\(uri.symKey)", "\([uri])", "\(WalletLink(Self.good))",
        ]
        for text in texts { #expect(!text.contains("0653ca62")) }
        let record = PairingRecord(topic: uri.topic, key: StoredSecret(uri.symKey), isProposer: false, expiry: 0)
        #expect(!"\(record)".contains("0653ca62"))
        #expect(!"\(AgreementKey(using: TestRandom(seed: 1, script: [uri.symKey.bytes])))".contains("0653ca62"))
        #expect("\(StoredValue([1, 2, 3]))" == "redacted")
    }

    @Test func noTextStopsTheReader() {
        var generator = SeededGenerator(seed: 7)
        let good = Array(Self.good.utf8)
        for _ in 0..<3000 {
            var bytes = good
            for _ in 0...Int.random(in: 0...6, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: index)
                default:
                    bytes.insert(contentsOf: Array("%=&@?:wc".utf8).shuffled(using: &generator).prefix(2), at: index)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if let uri = try? WalletConnectURI(parsing: text) { #expect(uri.topic.text.utf8.count == 64) }
            _ = WalletLink(text)
            _ = WalletLink("wallet://wc?uri=\(text)")
        }
    }

    @Test func aUserHearsOfThreeKindsOfTrouble() {
        #expect(PairingError.notConnected.userClass == .noConnection)
        #expect(PairingError.timedOut.userClass == .noConnection)
        #expect(PairingError.expired.userClass == .pairingExpired)
        #expect(PairingError(.missingSymKey) == .malformedURI(reason: "symKey is missing"))
        #expect(PairingError(.unsupportedVersion("1")) == .unsupportedVersion("1"))
        #expect("\(PairingError.expired)".contains("Refresh"))
    }
}
