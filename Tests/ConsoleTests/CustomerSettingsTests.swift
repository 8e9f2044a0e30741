import Foundation
import Journal
import Logging
import Payments
import Synchronization
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
            _ = try await CustomerShop(page)
            var said = try Page.said(try await page.ask("GET", "customers"))
            #expect(said["suppliedWallets"] as? Bool == true && said["ownAddress"] as? String == page.console.address)
            #expect((said["wallets"] as? [[String: Any]])?.map { $0["name"] as? String } == ["Supplied"])
            let wallets = #"[{"name":"Mine","native":"mine://","universal":"","paymentLinks":true,"icon":""}]"#
            said = try Page.said(
                try await page.ask("PUT", "customers", #"{"wallets":\#(wallets),"address":"https://till.local:8443/"}"#)
            )
            #expect(
                said["suppliedWallets"] as? Bool == false && said["address"] as? String == "https://till.local:8443"
            )
            let mine = try #require((said["wallets"] as? [[String: Any]])?.first)
            #expect(mine["name"] as? String == "Mine" && mine["paymentLinks"] as? Bool == true)
            #expect(said["enabled"] as? Bool == true && said["onScreen"] as? Bool == true)
            said = try Page.said(try await page.ask("PUT", "customers", #"{"suppliedWallets":true,"address":""}"#))
            #expect((said["wallets"] as? [[String: Any]])?.count == 1 && said["address"] as? String == "")
            let rows = try await page.rows().filter { $0.what == "customers" }
            #expect(rows.map(\.result) == ["ok", "ok", "ok"] && rows.allSatisfy { $0.who == Entrance.ownerActor })
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
            _ = try await CustomerShop(page)
            #expect(try await page.send("PUT", "customers", #"{"version":1,"onScreen":false}"#) == 200)
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
