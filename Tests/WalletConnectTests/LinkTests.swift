import Locks
import StrictJSON
import Testing

@testable import WalletConnect

struct LinkTests {
    let vectors: ExactJSON
    init() throws { vectors = try Vectors.load("deeplinks") }

    /// The recorded links hold their parameters in another order than ours: what matters is the link around the URI.
    @Test func everyWalletsLinkIsBuiltAsTheCommonKitBuildsIt() throws {
        for entry in try vectors.list("pairing") {
            let uri = try WalletConnectURI(parsing: entry.text("uri"))
            let place: DappLink.Place = entry.value(named: "special") == nil ? .ordinary : .telegramOnAndroid
            let link = try #require(DappLink.connect(uri, wallet: try entry.text("wallet"), place: place))
            var ours = PercentCoding.encode(uri.absoluteString)
            var theirs = PercentCoding.encode(try entry.text("uri"))
            if place == .telegramOnAndroid {
                (ours, theirs) = (PercentCoding.encode(ours), PercentCoding.encode(theirs))
            }
            #expect(
                try link.replacing(ours, with: theirs) == entry.text("link"),
                "\(entry.value(named: "name")?.string ?? "")"
            )
            #expect(WalletLink(link) == .pair(uri))
            #expect(try WalletConnectURI(deeplinkUri: link) == uri)
        }
    }

    @Test func linksAreReadEncodedOnceTwiceAndNotAtAll() throws {
        for entry in try vectors.list("parse") {
            let expected = try WalletConnectURI(parsing: entry.text("uri"))
            #expect(try WalletLink(entry.text("link")) == .pair(expected))
        }
    }

    @Test func aRequestsLinkNamesTheRequest() throws {
        for entry in try vectors.list("request") {
            let link = DappLink.request(
                id: RPCID(entry.value(named: "requestId")?.integer ?? 0),
                sessionTopic: try entry.text("sessionTopic"),
                wallet: try entry.text("wallet")
            )
            #expect(try link == entry.text("link"))
        }
    }

    @Test func anAnchorHasItsLinkBeforeTheTapAndPrefersTheScheme() throws {
        let uri = try WalletConnectURI(parsing: PairingURITests.good)
        let anchor = try #require(DappLink.anchor(uri, native: "examplewallet://", universal: "https://example.wallet"))
        #expect(anchor.href.hasPrefix("examplewallet://wc?uri=wc%3A"))
        #expect(anchor.target == "_self" && anchor.rel == "noopener noreferrer")
        let web = try #require(DappLink.anchor(uri, native: nil, universal: "https://example.wallet"))
        #expect(web.href.hasPrefix("https://example.wallet/wc?uri=") && web.target == "_blank")
        #expect(DappLink.anchor(uri, native: "", universal: nil) == nil)
    }

    @Test func aPaymentLinkIsHandedOverLikeAPairing() throws {
        let link = "https://pay.walletconnect.com/?pid=pay_0123456789abcdef"
        let encoded = "https%3A%2F%2Fpay.walletconnect.com%2F%3Fpid%3Dpay_0123456789abcdef"
        for (wallet, start) in [
            ("example", "example://"), ("example://", "example://"),
            ("https://w.example/app", "https://w.example/app/"),
        ] {
            #expect(DappLink.connect(paymentLink: link, wallet: wallet) == "\(start)wc?uri=\(encoded)")
        }
        for bad in ["javascript:alert(1)", "http://pay.walletconnect.com/?pid=pay_1", "wc:1@2", ""] {
            #expect(DappLink.connect(paymentLink: bad, wallet: "example://") == nil)
        }
        #expect(DappLink.connect(paymentLink: link, wallet: "") == nil)
        let anchor = try #require(DappLink.anchor(paymentLink: link, native: nil, universal: "https://w.example"))
        #expect(anchor.href == "https://w.example/wc?uri=\(encoded)" && anchor.target == "_blank")
        #expect(anchor.rel == "noopener noreferrer")
        #expect(DappLink.anchor(paymentLink: link, native: "", universal: nil) == nil)
    }

    @Test func linkModeCarriesEnvelopesThereAndBack() throws {
        let topic = try #require(Topic(PairingURITests.topic))
        let key = try #require(SymmetricSecret(hexadecimal: PairingURITests.key))
        let plain = LinkEnvelope(plainText: "{\"id\":1}", topic: topic)
        let link = try #require(plain.link(universal: "https://wallet.example/app"))
        #expect(link == "https://wallet.example/app?wc_ev=AnsiaWQiOjF9&topic=\(topic.text)")
        #expect(WalletLink(link) == .linkMode(plain))
        #expect(LinkEnvelope(link: link)?.plainText == "{\"id\":1}")
        let sealed = LinkEnvelope(sealing: "{\"id\":2}", with: key, topic: topic, random: TestRandom(seed: 1))
        let sealedLink = try #require(sealed.link(universal: "https://wallet.example"))
        let read = try #require(LinkEnvelope(link: sealedLink))
        #expect(read.open(with: key) == "{\"id\":2}")
        #expect(read.plainText == nil)
        let other = try #require(SymmetricSecret(bytes: [UInt8](repeating: 1, count: 32)))
        #expect(read.open(with: other) == nil)
        #expect(plain.link(universal: "wallet://") == nil)
        for bad in ["https://a?wc_ev=%%%&topic=\(topic.text)", "https://a?wc_ev=AnsiaWQiOjF9", "https://a"] {
            #expect(LinkEnvelope(link: bad) == nil)
        }
    }

    @Test func goingBackOpensTheDappOrAsksTheUserTo() async {
        let opened = Opened()
        let router = WalletConnectRouter { link in await opened.note(link) }
        #expect(await router.goBack(uri: "dapp://") == .opened("dapp://"))
        for bad in ["", "dapp", "javascript:alert(1)", "http://dapp.example", "dapp:// x", "tel:1", "1a://", "wc:abc"] {
            #expect(await router.goBack(uri: bad) == .returnByHand)
        }
        let redirect = AppMetadata.Redirect(native: "dapp://", universal: "https://dapp.example", linkMode: false)
        #expect(await router.goBack(to: redirect, by: .link) == .opened("dapp://"))
        #expect(await router.goBack(to: redirect, by: .scan) == .returnByHand)
        #expect(await router.goBack(to: nil, by: .link) == .returnByHand)
        #expect(await opened.links == ["dapp://", "dapp://"])
        let refusing = WalletConnectRouter { !$0.hasPrefix("dapp:") }
        #expect(await refusing.goBack(to: redirect, by: .link) == .opened("https://dapp.example"))
        // A page in a browser has no app to open.
        let appsOnly = WalletConnectRouter { _ in false }
        #expect(await appsOnly.goBack(to: redirect, by: .link) == .returnByHand)
    }

    private actor Opened {
        var links: [String] = []
        func note(_ link: String) -> Bool {
            links.append(link)
            return true
        }
    }

    @Test func metadataIsCutToWhatAScreenCanTakeAndWrittenForEveryWallet() throws {
        let huge = ExactJSON.string(String(repeating: "é", count: 10000))
        let json = ExactJSON.of([
            "name": huge, "description": huge, "url": huge,
            "icons": .array([huge] + [ExactJSON](repeating: .string("i"), count: 20)),
            "redirect": .of(["native": .string("dapp://")]),
        ])
        let metadata = try #require(AppMetadata(json: json))
        #expect(metadata.name.utf8.count == 256 && metadata.icons.count == 8)
        #expect(metadata.json.value(named: "redirect")?.value(named: "linkMode") == .bool(false))
        #expect(AppMetadata.terminal.json.value(named: "redirect") == nil)
        #expect(AppMetadata(json: .of(["url": .string("x")])) == nil)
    }
}
