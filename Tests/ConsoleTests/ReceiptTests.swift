import Foundation
import Journal
import Locks
import Packing
import Paper
import Payments
import Subprocess
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// Receipts over the page's own API, with a printer on a real socket.
@Suite(.timeLimit(.minutes(2)))
struct ReceiptTests {
    private func text(_ response: WebResponse) -> String { CustomerShop.html(response) }

    private func code(_ response: WebResponse) throws -> String? { try Page.said(response)["code"] as? String }

    private func set(_ page: Page, _ fake: FakePrinter, _ more: String = "") async throws {
        #expect(try await page.send("PUT", "receipts", #"{"printer":"127.0.0.1:\#(fake.port)"\#(more)}"#) == 200)
    }

    private func paidCharge(_ shop: CustomerShop) async throws -> ChargeID {
        let id = try await shop.offered()
        try await shop.pay(id)
        return id
    }

    /// The state that the API says of a charge.
    private func state(_ page: Page, _ id: ChargeID) async throws -> String? {
        try Page.said(try await page.ask("GET", "charges/\(id)"))["state"] as? String
    }

    private func contains(_ job: [UInt8], _ word: String) -> Bool { Data(job).range(of: Data(word.utf8)) != nil }

    @Test func aReceiptIsReadInEveryForm() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await shop.offered()
            let open = text(try await page.ask("GET", "charges/\(id)/receipt?format=text"))
            #expect(open.contains("NOT PAID YET") && open.contains("This is not a"))
            try await shop.pay(id)
            let plain = try await page.ask("GET", "charges/\(id)/receipt")
            #expect(plain.headers["Content-Type"] == "text/plain; charset=utf-8")
            #expect(plain.headers["Cache-Control"] == "no-store")
            let words = text(plain)
            for fact in [
                "PAID", "€12.50", "Café <b>Zoë</b> & Co", "reference-canary", CustomerShop.payment(id), "0xcanary",
            ] {
                #expect(words.contains(fact), "\(fact)")
            }
            let web = try await page.ask("GET", "charges/\(id)/receipt?format=html")
            #expect(web.headers["Content-Type"] == "text/html; charset=utf-8")
            #expect(text(web).contains("Café &lt;b&gt;Zoë&lt;/b&gt; &amp; Co") && !text(web).contains("<b>"))
            #expect(text(web).contains("href=\"/style/receipt.css\"") && !text(web).contains("<script"))
            let roll = try await page.ask("GET", "charges/\(id)/receipt?format=escpos")
            guard case .bytes(let bytes) = roll.body else { return }
            #expect(
                bytes.prefix(2) == [0x1B, 0x40] && roll.headers["Content-Disposition"]?.hasPrefix("attachment") == true
            )
        }
    }

    @Test(arguments: [
        (nil, ReceiptFormat.text), ("*/*", .text), ("application/json", .text), ("text/html", .html),
        ("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", .html), ("text/plain, text/html", .text),
        ("application/vnd.escpos", .escpos), ("application/pdf", .pdf), ("TEXT/HTML;q=1", .html),
    ])
    func aBrowserGetsAPageAndAProgramPlainText(accept: String?, expected: ReceiptFormat) {
        #expect(ReceiptFormat(accept: accept) == expected)
    }

    /// Poppler's programs stand for any viewer: Debian package `poppler-utils`.
    @Test func anyViewerReadsTheDocumentsWordsAndFindsItsFontsInIt() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await paidCharge(shop)
            let answer = try await page.ask("GET", "charges/\(id)/receipt?format=pdf")
            #expect(answer.headers["Content-Type"] == "application/pdf")
            guard case .bytes(let bytes) = answer.body else { return }
            let folder = try TemporaryFolder()
            let file = folder.path + "/receipt.pdf"
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            let words = try await said("pdftotext", ["-layout", file, "-"])
            for fact in ["Café <b>Zoë</b> & Co", "PAID", "€12.50", "reference-canary", "0xcanary", id.rawValue] {
                #expect(words.contains(fact), "\(fact) in \(words)")
            }
            let fonts = try await said("pdffonts", [file]).split(separator: "\n").dropFirst(2)
            // Embedded, only the letters that are needed, and with their meanings.
            #expect(!fonts.isEmpty && fonts.allSatisfy { $0.contains(" yes yes yes ") }, "\(fonts)")
        }
    }

    /// As Poppler draws the document: one point, one pixel.
    @Test func theLogoStandsInTheDocumentInItsColours() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await paidCharge(shop)
            let (red, blue): (UInt32, UInt32) = (0xFFC0_1010, 0xFF10_10C0)
            let twoColours = try logo(100, 50) { $0 % 100 < 50 ? red : blue }
            func document() async throws -> Raster {
                let answer = try await page.ask("GET", "charges/\(id)/receipt?format=pdf")
                guard case .bytes(let bytes) = answer.body else { throw CancellationError() }
                let folder = try TemporaryFolder()
                try Data(bytes).write(to: URL(fileURLWithPath: folder.path + "/receipt.pdf"))
                _ = try await said("pdftoppm", ["-r", "72", folder.path + "/receipt.pdf", folder.path + "/page"])
                return try Raster(Data(contentsOf: URL(fileURLWithPath: folder.path + "/page-1.ppm")))
            }
            let without = try await document()
            await page.desk.setLogo(twoColours)
            let with = try await document()
            // 75 points wide and 37.5 high, in the middle of 227, below a margin of 11.
            #expect(with.colour(90, 30) == 0xC01010 && with.colour(136, 30) == 0x1010C0)
            #expect(with.colour(77, 13) == 0xC01010 && with.colour(149, 47) == 0x1010C0)
            #expect(with.colour(72, 30) == 0xFFFFFF && with.colour(154, 30) == 0xFFFFFF)
            #expect(with.height - without.height == 43 || with.height - without.height == 44, "the text stands below")
        }
    }

    @Test func theLogoIsPrintedWhereThePrinterTakesPictures() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await paidCharge(shop)
            await page.desk.setLogo(try logo(32, 16) { _ in 0xFF00_0000 })
            func bytes() async throws -> [UInt8] {
                let answer = try await page.ask("GET", "charges/\(id)/receipt?format=escpos")
                guard case .bytes(let bytes) = answer.body else { return [] }
                return bytes
            }
            let picture: [UInt8] = [0x1D, 0x76, 0x30, 0, 4, 0, 16, 0] + [UInt8](repeating: 0xFF, count: 64)
            let with = Data(try await bytes())
            #expect(with.range(of: Data(picture)) != nil)
            let saved = try await page.ask("PUT", "receipts", #"{"logo":false,"version":0}"#)
            #expect(try Page.said(saved)["logo"] as? Bool == false)
            let without = Data(try await bytes())
            #expect(without.range(of: Data(picture.prefix(3))) == nil)
        }
    }

    private func logo(_ width: Int, _ height: Int, _ pixel: (Int) -> UInt32) throws -> Packing.Picture {
        let picture = Packing.Picture(width: width, height: height, pixels: (0..<width * height).map(pixel))
        return try #require(picture)
    }

    /// A picture in Netpbm's form `P6`. Source: ppm(5).
    private struct Raster {
        let width: Int
        let height: Int
        private let bytes: Data

        init(_ file: Data) throws {
            let parts = file.prefix(60).split(maxSplits: 4, whereSeparator: { [0x0A, 0x20].contains($0) })
            let numbers = parts.dropFirst().prefix(3).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
            try #require(numbers.count == 3 && numbers[2] == 255)
            (width, height) = (numbers[0], numbers[1])
            bytes = Data(file.suffix(width * height * 3))
        }

        func colour(_ x: Int, _ y: Int) -> UInt32 {
            (0..<3).reduce(0) { $0 << 8 | UInt32(bytes[bytes.startIndex + (y * width + x) * 3 + $1]) }
        }
    }

    private func said(_ program: String, _ arguments: [String]) async throws -> String {
        let result = try await run(
            .name(program),
            arguments: .init(arguments),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 16)
        )
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
        return result.standardOutput
    }

    @Test func receiptsAreForWhoIsSignedIn() async throws {
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await paidCharge(shop)
            let stranger = page.another()
            #expect(try await stranger.ask("GET", "charges/\(id)/receipt").status == 401)
            #expect(try await stranger.send("POST", "charges/\(id)/receipt/print", "{}") == 401)
            #expect(try await stranger.send("GET", "receipts", "") == 401)
            #expect(try await page.send("POST", "charges/\(id)/receipt/print", "{}", csrf: "0") == 403)
            let other = "01937f2e-8c00-7abc-8def-0123456789ab"
            #expect(try await page.ask("GET", "charges/\(other)/receipt").status == 404)
            #expect(try await page.ask("POST", "charges/\(other)/receipt/print").status == 404)
            for query in ["format=docx", "format=text&x=1", "x=1", "format="] {
                #expect(try await page.ask("GET", "charges/\(id)/receipt?\(query)").status == 422, "\(query)")
            }
            for route in [Route.receipts, .saveReceipts, .testReceipt] { #expect(route.roles == [.owner]) }
            #expect(Route.receipt(id, nil).roles == [.owner, .manager, .cashier])
        }
    }

    @Test func everyReceiptAfterTheFirstIsACopy() async throws {
        let fake = try FakePrinter(.answering(0))
        defer { fake.close() }
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await paidCharge(shop)
            #expect(try code(try await page.ask("POST", "charges/\(id)/receipt/print")) == "no_printer")
            try await set(page, fake)
            #expect(!text(try await page.ask("GET", "charges/\(id)/receipt")).contains("COPY"))
            for _ in 0..<2 {
                let answer = try await page.ask("POST", "charges/\(id)/receipt/print")
                #expect(answer.status == 200)
                #expect(try Page.said(answer)["outcome"] as? String == "confirmed")
            }
            while fake.jobs.count < 2 { await Task.yield() }
            #expect(fake.jobs.map { contains($0, "COPY") } == [false, true])
            #expect(fake.jobs.allSatisfy { contains($0, "PAID") && contains($0, "0xcanary") })
            #expect(text(try await page.ask("GET", "charges/\(id)/receipt")).contains("COPY"))
            let rows = try await page.rows().filter { $0.what == "receipt.print" }
            #expect(rows.map(\.result) == ["refused", "ok", "ok"])
            // Also for whoever starts after a power cut.
            let stored = try #require(try await page.journal.document("receipts-printed"))
            #expect(try JSONDecoder().decode(PrintedReceipts.self, from: Data(stored.bytes)).contains(id))
        }
    }

    @Test func aPrinterInTroubleTouchesNoPaymentAndClaimsNoPaper() async throws {
        let (gone, broken, fine) = (
            try FakePrinter(.mute), try FakePrinter(.hangingUp(after: 5)), try FakePrinter(.answering(0))
        )
        gone.close()
        defer {
            broken.close()
            fine.close()
        }
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await paidCharge(shop)
            func tryPrinting(on fake: FakePrinter) async throws -> WebResponse {
                try await set(page, fake)
                return try await page.ask("POST", "charges/\(id)/receipt/print")
            }
            let refused = try await tryPrinting(on: gone)
            #expect(try refused.status == 409 && code(refused) == "printer_not_reached")
            #expect(try await state(page, id) == "succeeded")
            let last = try Page.said(try await page.ask("GET", "receipts"))["last"] as? [String: Any]
            #expect((last?["trouble"] as? [String: Any])?["code"] as? String == "printer_not_reached")
            // Nothing was printed then, so the next one is the first.
            #expect(!text(try await page.ask("GET", "charges/\(id)/receipt")).contains("COPY"))
            let cut = try await tryPrinting(on: broken)
            #expect(try cut.status == 503 && code(cut) == "print_unknown")
            #expect(try await state(page, id) == "succeeded")
            // Something may be on paper, so the next one is a copy.
            #expect(try await tryPrinting(on: fine).status == 200)
            while fine.jobs.isEmpty { await Task.yield() }
            #expect(contains(fine.jobs[0], "COPY"))
        }
    }

    @Test func aPrinterThatIsBusyGetsNothingMore() async throws {
        let fake = try FakePrinter(.clinging)
        defer { fake.close() }
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            let id = try await paidCharge(shop)
            try await set(page, fake)
            let receipts = page.console.receipts
            async let first = receipts.print(id)
            while fake.mostAtOnce == 0 { await Task.yield() }
            for path in ["charges/\(id)/receipt/print", "receipts/test"] {
                let answer = try await page.ask("POST", path)
                #expect(try answer.status == 409 && code(answer) == "printer_busy", "\(path)")
            }
            #expect(try await first == .delivered)
            #expect(fake.mostAtOnce == 1)
        }
    }

    @Test func whatCannotBeWrittenDownIsNotPrinted() async throws {
        let fake = try FakePrinter(.answering(0))
        defer { fake.close() }
        let storage = Mutex<FailingStorage?>(nil)
        try await withConsole(keepingIn: { journal in
            let failing = FailingStorage(journal)
            storage.withLock { $0 = failing }
            return failing
        }) { page in
            let shop = try await CustomerShop(page)
            let id = try await paidCharge(shop)
            try await set(page, fake)
            storage.withLock { $0 }?.fail("receipts-printed", "receipts")
            let answer = try await page.ask("POST", "charges/\(id)/receipt/print")
            #expect(try answer.status == 503 && code(answer) == "print_not_recorded")
            #expect(fake.jobs.isEmpty)
            #expect(try await page.send("PUT", "receipts", #"{"columns":32}"#) == 503)
            #expect(try Page.said(try await page.ask("GET", "receipts"))["columns"] as? Int == 48)
            storage.withLock { $0 }?.fail()
            #expect(try await page.ask("POST", "charges/\(id)/receipt/print").status == 200)
            while fake.jobs.isEmpty { await Task.yield() }
            #expect(!contains(fake.jobs[0], "COPY"))
        }
    }

    @Test func whoWantsItHasAReceiptPrintedWhenACustomerHasPaid() async throws {
        let fake = try FakePrinter(.answering(0))
        defer { fake.close() }
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            try await set(page, fake, #","automatic":true"#)
            let id = try await shop.offered()
            #expect(fake.jobs.isEmpty)
            try await shop.pay(id)
            while fake.jobs.isEmpty { await Task.yield() }
            #expect(contains(fake.jobs[0], "PAID") && !contains(fake.jobs[0], "COPY"))
            #expect(!contains(fake.jobs[0], "NOT PAID"), "nothing before it was paid")
            // By hand it is a copy then, and nothing else came in between.
            while try await page.ask("POST", "charges/\(id)/receipt/print").status != 200 { await Task.yield() }
            while fake.jobs.count < 2 { await Task.yield() }
            #expect(fake.jobs.count == 2 && contains(fake.jobs[1], "COPY"))
        }
    }

    /// The printer is off, and nobody looks at the log: the charge says that its receipt is missing, until one is printed.
    @Test func aReceiptThatDidNotComeByItselfIsSeenAtItsCharge() async throws {
        let gone = try FakePrinter(.mute)
        gone.close()
        let fake = try FakePrinter(.answering(0))
        defer { fake.close() }
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            try await set(page, gone, #","automatic":true"#)
            let id = try await paidCharge(shop)
            func trouble() async throws -> String? {
                let said = try Page.said(try await page.ask("GET", "charges/\(id)"))
                return (said["receiptTrouble"] as? [String: Any])?["code"] as? String
            }
            while try await trouble() == nil { await Task.yield() }
            #expect(try await trouble() == "printer_not_reached")
            let other = try await shop.open(500)
            let said = try Page.said(try await page.ask("GET", "charges/\(other)"))
            #expect(said["receiptTrouble"] is NSNull)
            try await set(page, fake)
            #expect(try await page.ask("POST", "charges/\(id)/receipt/print").status == 200)
            #expect(try await trouble() == nil)
        }
    }

    @Test func withoutThatNothingIsPrintedByItself() async throws {
        let fake = try FakePrinter(.answering(0))
        defer { fake.close() }
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            try await set(page, fake)
            let id = try await paidCharge(shop)
            #expect(try await page.ask("POST", "charges/\(id)/receipt/print").status == 200)
            while fake.jobs.isEmpty { await Task.yield() }
            #expect(fake.jobs.count == 1 && !contains(fake.jobs[0], "COPY"))
        }
    }

    @Test func theOwnerSetsReceiptsAndTriesThePrinter() async throws {
        let fake = try FakePrinter(.answering(0))
        defer { fake.close() }
        try await withConsole { page in
            let shop = try await CustomerShop(page)
            #expect(try code(try await page.ask("POST", "receipts/test")) == "no_printer")
            let body = """
                {"printer":"127.0.0.1:\(fake.port)","columns":32,"codePage":"pc437","cut":false,"drawer":true,"code":true,
                 "terminal":"Bar","header":["Marktplatz 5",""],"footer":["Danke!"],"version":0}
                """
            let saved = try Page.said(try await page.ask("PUT", "receipts", body))
            #expect(saved["columns"] as? Int == 32 && saved["codePage"] as? String == "pc437")
            #expect(saved["header"] as? [String] == ["Marktplatz 5"] && saved["footer"] as? [String] == ["Danke!"])
            #expect(try await page.ask("PUT", "receipts", #"{"columns":48,"version":0}"#).status == 409)
            let answer = try await page.ask("POST", "receipts/test")
            #expect(answer.status == 200)
            while fake.jobs.isEmpty { await Task.yield() }
            #expect(contains(fake.jobs[0], "TEST") && !contains(fake.jobs[0], "PAID"))
            let receipt = text(try await page.ask("GET", "charges/\(try await paidCharge(shop))/receipt"))
            #expect(receipt.contains("Marktplatz 5") && receipt.contains("Danke!") && receipt.contains("Bar"))
            #expect(receipt.split(separator: "\n").allSatisfy { $0.count <= 32 })
            #expect(try await page.rows().contains { $0.what == "receipts" && $0.result == "ok" })
        }
    }

    @Test(arguments: [
        (#"{"printer":"/etc/passwd"}"#, "printer"), (#"{"printer":"printer:22"}"#, "printer"),
        (#"{"printer":"http://printer"}"#, "printer"), (#"{"columns":40}"#, "columns"),
        (#"{"codePage":"utf8"}"#, "codePage"), (#"{"automatic":true}"#, "printer"),
        (#"{"header":["a","b","c","d","e","f","g"]}"#, "header"), (#"{"header":[1]}"#, "header"),
        (#"{"header":["\#(String(repeating: "x", count: 81))"]}"#, "header"), (#"{"footer":["a\u0007"]}"#, "footer"),
        (#"{"footer":"text"}"#, "footer"), (#"{"strange":1}"#, "strange"),
    ])
    func settingsThatCannotBeUsedChangeNothing(body: String, field: String) async throws {
        try await withConsole { page in
            _ = try await CustomerShop(page)
            let answer = try await page.ask("PUT", "receipts", body)
            #expect(answer.status == 422)
            #expect((try Page.said(answer)["fields"] as? [String: Any])?[field] != nil, "\(body)")
            #expect(try Page.said(try await page.ask("GET", "receipts"))["version"] as? Int == 0)
        }
    }

    @Test func whatIsForgottenCountsAsPrinted() {
        var generator = SystemRandomNumberGenerator()
        func id(_ number: Int) -> ChargeID {
            ChargeID(at: WallTime(millisecondsSince1970: 1_000_000 + Int64(number)), using: &generator)
        }
        let ids = (0..<700).map(id)
        var memory = PrintedReceipts()
        for id in ids.shuffled() where !memory.contains(id) { memory.insert(id) }
        #expect(memory.printed.count <= PrintedReceipts.most)
        #expect(ids.allSatisfy { memory.contains($0) } && !memory.contains(id(800)))
        memory.remove(ids[699])
        #expect(!memory.contains(ids[699]) && memory.contains(ids[0]))
    }
}
