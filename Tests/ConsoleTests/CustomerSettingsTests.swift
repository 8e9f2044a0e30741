import Foundation
import Journal
import Locks
import Logging
import Payments
import Testing
import WebServer

@testable import Console
@testable import Terminal

/// What the owner may set about customers' own pages, over the page's API.
@Suite(.timeLimit(.minutes(2)))
struct CustomerSettingsTests {
    private static let supplied = [CustomerWallet(name: "Supplied", native: "supplied://")]

    private func fields(_ response: WebResponse) throws -> Set<String> {
        Set((try Page.said(response)["fields"] as? [String: Any] ?? [:]).keys)
    }

    @Test func theSettingsAreTheOwners() async throws {
        let read = try Route("GET", "/api/v1/customers", query: [:])
        let save = try Route("PUT", "/api/v1/customers", query: [:])
        #expect(read.roles == [.owner] && save.roles == [.owner] && !read.isOpen && !save.isOpen)
        #expect(!read.changesState && save.changesState)
        #expect(throws: Problem.self) { try Route("DELETE", "/api/v1/customers", query: [:]) }
        try await withConsole { page in
            _ = try await CustomerShop(page)
            let stranger = page.another()
            #expect(try await stranger.send("GET", "customers", "") == 401)
            #expect(try await stranger.send("PUT", "customers", #"{"enabled":false}"#) == 401)
            #expect(try await page.send("PUT", "customers", #"{"enabled":false}"#, csrf: "0") == 403)
            #expect(try Page.said(try await page.ask("GET", "customers"))["enabled"] as? Bool == true)
        }
    }

    @Test func whatIsSavedIsSaidAndTheSuppliedWalletsComeBack() async throws {
        try await withConsole(wallets: Self.supplied) { page in
            let shop = try await CustomerShop(page)
            var said = try Page.said(try await page.ask("GET", "customers"))
            #expect(said["suppliedWallets"] as? Bool == true && said["ownAddress"] as? String == page.console.address)
            #expect((said["wallets"] as? [[String: Any]])?.map { $0["name"] as? String } == ["Supplied"])
            let wallets = #"[{"name":"Mine","native":"mine://","universal":"","paymentLinks":true,"icon":""}]"#
            said = try Page.said(
                try await shop.save(#"{"wallets":\#(wallets),"address":"https://till.local:8443/"}"#)
            )
            #expect(
                said["suppliedWallets"] as? Bool == false && said["address"] as? String == "https://till.local:8443"
            )
            let mine = try #require((said["wallets"] as? [[String: Any]])?.first)
            #expect(mine["name"] as? String == "Mine" && mine["paymentLinks"] as? Bool == true)
            #expect(said["enabled"] as? Bool == true && said["onScreen"] as? Bool == true)
            said = try Page.said(try await shop.save(#"{"suppliedWallets":true,"address":""}"#))
            #expect((said["wallets"] as? [[String: Any]])?.count == 1 && said["address"] as? String == "")
            let rows = try await page.rows().filter { $0.what == "customers" }
            #expect(rows.map(\.result) == ["ok", "ok", "ok"] && rows.allSatisfy { $0.who == Entrance.ownerActor })
            #expect(rows.map(\.detail) == ["onScreen", "address, wallets", "address, wallets"])
        }
    }

    /// Who sits down at a signed-in browser must not be able to send customers to another wallet, page or machine.
    @Test(arguments: [
        #""onScreen":false"#, #""address":"https://till.local:9""#, #""wallets":[]"#,
        #""wallets":[{"name":"Mine","native":"mine://"}]"#, #""enabled":false,"address":"https://till.local:9""#,
    ]) func whereCustomersAreLedChangesOnlyWithTheOwnersPassword(change: String) async throws {
        try await withConsole(wallets: Self.supplied) { page in
            let shop = try await CustomerShop(page)
            for proof in ["", #","password":"""#, #","password":"wrong horse battery""#] {
                let refused = try await page.ask("PUT", "customers", "{\(change)\(proof)}")
                #expect(try refused.status == 422 && fields(refused) == ["password"])
            }
            #expect(try Page.said(try await page.ask("GET", "customers"))["version"] as? Int == 1)
            let rows = try await page.rows().filter { $0.what == "customers" }.dropFirst()
            #expect(rows.map(\.result) == ["refused", "refused", "refused"])
            #expect(rows.first?.detail == "password_needed")
            #expect(try await shop.save("{\(change)}").status == 200)
            #expect(try await page.rows().last?.detail.isEmpty == false)
        }
    }

    @Test func switchingThePagesOffNeedsNoPasswordAndOnAgainToTheScreenDoes() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            #expect(try await page.send("PUT", "customers", #"{"enabled":false}"#) == 200)
            #expect(try await page.send("PUT", "customers", #"{"enabled":true}"#) == 422)
            #expect(try await shop.save(#"{"enabled":true}"#).status == 200)
            #expect(try await shop.save(#"{"onScreen":false}"#).status == 200)
            #expect(try await page.send("PUT", "customers", #"{"enabled":false}"#) == 200)
            #expect(try await page.send("PUT", "customers", #"{"enabled":true}"#) == 200)
        }
    }

    @Test func aFormThatCannotBeUsedIsRefusedFieldByField() async throws {
        try await withConsole { page in
            _ = try await CustomerShop(page)
            let wallets = """
                [{"name":"","native":"javascript:alert(1)","universal":"http://x.example"},
                 {"name":"None"},{"name":"Fine","native":"fine://wc"},
                 {"name":"Icon","native":"icon://","icon":"https://elsewhere.example/x.png"},
                 {"name":"Odd","native":"odd://","colour":"red"}]
                """
            let refused = try await page.ask("PUT", "customers", #"{"wallets":\#(wallets)}"#)
            #expect(refused.status == 422)
            #expect(try fields(refused) == ["wallets.4.colour"])
            let wrong = try await page.ask(
                "PUT",
                "customers",
                #"{"address":"https://elsewhere.example","wallets":\#(wallets.replacing(#","colour":"red""#, with: ""))}"#
            )
            #expect(wrong.status == 422)
            #expect(
                try fields(wrong) == [
                    "address", "wallets.0.name", "wallets.0.native", "wallets.0.universal", "wallets.1.native",
                    "wallets.3.icon",
                ]
            )
            for body in [
                #"{"wallets":{}}"#, #"{"wallets":[1]}"#, #"{"wallets":"x"}"#, #"{"enabled":1}"#, #"{"more":1}"#,
            ] {
                #expect(try await page.send("PUT", "customers", body) == 422, "\(body)")
            }
            let many = (0...CustomerForm.mostWallets).map { #"{"name":"\#($0)","native":"a://"}"# }.joined(
                separator: ","
            )
            #expect(try await page.send("PUT", "customers", #"{"wallets":[\#(many)]}"#) == 422)
            let now = try Page.said(try await page.ask("GET", "customers"))
            #expect(now["version"] as? Int == 1 && now["suppliedWallets"] as? Bool == true)
        }
    }

    @Test(arguments: [
        "javascript://x", "data://x", "https://x", "wc://", "intent://x", "file://etc", "a b://", "1a://", "://", "a:",
        "a",
        "a://?uri=x", "a://x#y", "é://",
    ]) func aSchemeThatABrowserReadsByItselfOpensNoWallet(native: String) {
        #expect(CustomerWallet(name: "W", native: native).faults.keys.contains("native"))
    }

    @Test(arguments: [
        "http://w.example", "https://", "https://w", "https://u@w.example", "https://w.example?x=1",
        "https://w.example/#x",
        "https://w.example/../x", "https://w.example:0", "https://w.example:x", "HTTPS://w.example", "https://.example",
    ]) func aUniversalLinkHidesNothing(universal: String) {
        #expect(CustomerWallet(name: "W", universal: universal).faults.keys.contains("universal"))
    }

    @Test(arguments: [
        "http://till.local", "https://till.local/path", "https://other.local", "till.local", "https://10.0.0.1",
    ])
    func theAddressOnTheScreenIsOneTheTerminalAnswersUnder(address: String) async throws {
        // Under 0.0.0.0 it answers under any number, but customers go to no machine that only somebody's form names.
        try await withConsole(address: "0.0.0.0") { page in
            _ = try await CustomerShop(page)
            let refused = try await page.ask("PUT", "customers", #"{"address":"\#(address)"}"#)
            #expect(try refused.status == 422 && fields(refused) == ["address"])
        }
    }

    @Test func twoWhoSaveAtOnceDoNotUndoEachOther() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            #expect(try await shop.save(#"{"version":1,"onScreen":false}"#).status == 200)
            let second = try await page.ask("PUT", "customers", #"{"version":1,"enabled":false}"#)
            #expect(try second.status == 409 && Page.said(second)["code"] as? String == "settings_changed")
            #expect(try Page.said(try await page.ask("GET", "customers"))["enabled"] as? Bool == true)
        }
    }

    @Test func whatCannotBeStoredIsNotInForce() async throws {
        let storage = Mutex<FailingStorage?>(nil)
        func keep(_ journal: Journal) -> any Keeping {
            let failing = FailingStorage(journal)
            storage.withLock { $0 = failing }
            return failing
        }
        try await withConsole(keepingIn: keep) { page in
            let shop = try await CustomerShop(page, #"{"enabled":true}"#)
            let id = try await shop.offered()
            let path = try await shop.path(id)
            storage.withLock { $0 }?.fail("customers")
            #expect(try await page.send("PUT", "customers", #"{"enabled":false}"#) == 503)
            #expect(try await shop.look(path).status == 200)
            let row = try #require(try await page.rows().last { $0.what == "customers" })
            #expect(row.result == "refused")
        }
    }

    @Test func settingsThatCannotBeReadLeaveThePagesOffAndTheTerminalStarts() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let stored = try #require(try await page.journal.document("customers"))
            _ = try await page.journal.setDocument(
                "customers",
                Array("{".utf8),
                expecting: .version(stored.version),
                by: .terminal,
                at: page.clock.wallTime
            )
            let again = CustomerDesk(
                journal: page.journal,
                desk: page.desk,
                supplied: [],
                ownAddress: "https://till.local",
                isOurs: { _ in true },
                clock: page.clock.terminalClock,
                logger: Logger(label: "test")
            )
            try await again.load()
            #expect(await !again.settings.isEnabled)
            #expect(try await page.desk.charge(id).page == nil)
        }
    }

    // MARK: - Pictures

    @Test func aPictureIsAStillPictureOfABoundedSize() {
        let fits = [Picture.png(), Picture.png(bytes: 8 * 1024), Picture.png(side: 512), Picture.webp()]
        for icon in fits { #expect(CustomerWallet(name: "W", native: "w://", icon: icon).faults.isEmpty) }
        let svg =
            "data:image/svg+xml;base64," + Data("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8).base64EncodedString()
        for (icon, word) in [
            (svg, "no PNG or WebP"), ("https://elsewhere.example/x.png", "no PNG or WebP"),
            ("data:text/html;base64,PGI+", "no PNG or WebP"), (Picture.png() + "%", "no PNG or WebP"),
            (Picture.png(bytes: 8 * 1024 + 1), "more than 8 KB"), (Picture.png(side: 513), "pixels"),
            (Picture.png(side: 0), "pixels"),
            (Picture.png().replacing("image/png", with: "image/webp"), "not the kind"),
            ("data:image/png;base64,AAAA", "not the kind"),
        ] {
            let said = CustomerWallet(name: "Zoë", native: "w://", icon: icon).faults["icon"]?.message ?? ""
            #expect(said.contains("“Zoë”") && said.contains(word), "\(icon.prefix(60)): \(said)")
        }
    }

    /// All pictures travel with every page that a customer looks at.
    @Test func theFirstPictureThatIsOneTooManyIsNamed() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            func list(_ count: Int) -> String {
                let wallets = (1...count).map { number in
                    #"{"name":"Wallet \#(number)","native":"wallet\#(number)://","paymentLinks":true,"icon":"\#(Picture.png(bytes: 8192))"}"#
                }
                return #"{"wallets":[\#(wallets.joined(separator: ","))]}"#
            }
            let refused = try await shop.save(list(10))
            #expect(try refused.status == 422 && fields(refused) == ["wallets.8.icon"])
            let reason = try (Page.said(refused)["fields"] as? [String: [String: String]])?["wallets.8.icon"]
            #expect(reason?["message"]?.contains("“Wallet 9”") == true)
            #expect(try await shop.save(list(8)).status == 200)
            let id = try await shop.offered()
            let html = try await shop.look(try await shop.path(id)).html
            #expect(html.contains("src=\"data:image/png;base64,") && html.utf8.count < 128 * 1024)
        }
    }

    @Test func aPictureOfAnOlderVersionThatIsNotTakenAnyMoreIsNotShown() async throws {
        try await withConsole { page in
            var stored = CustomerSettings()
            stored.wallets = [CustomerWallet(name: "Old", native: "old://", icon: "data:image/svg+xml;base64,PHN2Zy8+")]
            _ = try await page.journal.setDocument(
                "customers",
                Array(try JSONEncoder().encode(stored)),
                expecting: .version(nil),
                by: .terminal,
                at: page.clock.wallTime
            )
            try await page.console.customers.load()
            #expect(await page.console.customers.settings.wallets == [CustomerWallet(name: "Old", native: "old://")])
        }
    }

    // MARK: - Where the terminal is

    @Test func withoutANameCustomersAreLedToTheNumberThatTheMachineHas() async throws {
        let numbers = Mutex(["192.168.1.50"])
        try await withConsole(address: "0.0.0.0", names: [], numbers: { numbers.withLock { $0 } }) { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            func address() async throws -> String? { try await page.desk.charge(id).page?.address }
            #expect(try await address()?.hasPrefix("https://192.168.1.50:") == true)
            let own = try Page.said(try await page.ask("GET", "customers"))["ownAddress"] as? String
            #expect(own?.hasPrefix("https://192.168.1.50:") == true && own == page.console.address)
            numbers.withLock { $0 = ["fd00::7"] }
            #expect(try await address()?.hasPrefix("https://[fd00::7]:") == true)
            // Without a network no phone could follow a link: the screen keeps the payment's own.
            numbers.withLock { $0 = [] }
            #expect(try await address() == nil)
            #expect(try Page.said(try await page.ask("GET", "customers"))["ownAddress"] as? String == "")
        }
    }

    @Test func numbersThatNoPhoneInTheShopCouldUseAreLeftOut() {
        let found: [MachineAddresses.Found] = [
            .init("lo", "127.0.0.1"), .init("lo", "::1"), .init("docker0", "172.17.0.1"), .init("eth1", "169.254.3.4"),
            .init("wlan0", "fe80::1%wlan0"), .init("eth0", "2001:db8::5"), .init("eth0", "203.0.113.9"),
            .init("wlan0", "192.168.1.50"), .init("veth12", "10.1.1.1"),
        ]
        #expect(MachineAddresses.ranked(found) == ["192.168.1.50", "203.0.113.9", "2001:db8::5"])
        #expect(!MachineAddresses.now().contains { $0.hasPrefix("127.") || $0.contains("%") })
    }

    @Test func aNameThatWasConfiguredGoesBeforeEveryNumber() {
        func own(_ names: [String], _ isEverywhere: Bool, _ numbers: [String]) -> OwnAddress {
            OwnAddress(names: names, port: 8443, isEverywhere: isEverywhere) { numbers }
        }
        #expect(own(["localhost", "till.local"], true, ["10.0.0.5"]).reachable == "https://till.local:8443")
        #expect(own(["localhost"], true, ["10.0.0.5"]).reachable == "https://10.0.0.5:8443")
        #expect(own([], true, []).reachable == nil && own([], true, []).text == "https://localhost:8443")
        #expect(own(["127.0.0.1"], false, ["10.0.0.5"]).reachable == "https://127.0.0.1:8443")
        #expect(own(["::1"], false, []).text == "https://[::1]:8443")
    }

    @Test func theSuppliedListIsOneTheTerminalWouldTake() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        struct File: Decodable {
            var source: String
            var wallets: [CustomerWallet]
        }
        let file = try JSONDecoder().decode(
            File.self,
            from: Data(contentsOf: root.appending(path: "config/wallets.json"))
        )
        #expect(!file.source.isEmpty && (3...CustomerForm.mostWallets).contains(file.wallets.count))
        for wallet in file.wallets { #expect(wallet.faults.isEmpty, "\(wallet.name)") }
        #expect(Set(file.wallets.map(\.name)).count == file.wallets.count)
    }
}

/// Pictures as a request carries them.
enum Picture {
    /// Begins as a PNG of this many pixels per side does, and has so many bytes.
    static func png(side: Int = 120, bytes count: Int = 900) -> String {
        var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        for _ in 0..<2 { bytes += [0, 0, UInt8(side >> 8), UInt8(side & 0xFF)] }
        bytes += [UInt8](repeating: 7, count: count - bytes.count)
        return "data:image/png;base64," + Data(bytes).base64EncodedString()
    }

    /// Begins as an extended WebP of 120 pixels per side does.
    static func webp() -> String {
        let head = Array("RIFF".utf8) + [200, 0, 0, 0] + Array("WEBPVP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0]
        return "data:image/webp;base64,"
            + Data(head + [119, 0, 0, 119, 0, 0] + [UInt8](repeating: 7, count: 180))
            .base64EncodedString()
    }
}
