import Foundation
import Journal
import Logging
import Packing
import Payments
import Receipts
import Testing
import WebServer

@testable import Console
@testable import Terminal

/// Other tests have pictures of their own.
private typealias Pixels = Packing.Picture

/// The merchant's logo: what is taken in, and where it is seen.
@Suite(.timeLimit(.minutes(2)))
struct LogoTests {
    private func claim(_ page: Page) async throws {
        let code = try await page.claimCode()
        #expect(try await page.send("POST", "claim", #"{"code":"\#(code)","password":"correct horse battery"}"#) == 201)
    }

    private func picture(_ width: Int = 40, _ height: Int = 20) throws -> Pixels {
        let pixels = (0..<width * height).map { 0xFF00_0000 | UInt32($0) }
        return try #require(Pixels(width: width, height: height, pixels: pixels))
    }

    private func body(_ bytes: [UInt8], version: Int) -> String {
        #"{"image":"data:image/png;base64,\#(Data(bytes).base64EncodedString())","version":\#(version)}"#
    }

    private func fault(_ page: Page, _ body: String) async throws -> String? {
        let answer = try await page.ask("PUT", "logo", body)
        #expect(answer.status == 422)
        let fields = try Page.said(answer)["fields"] as? [String: [String: String]]
        return fields?["image"]?["code"]
    }

    @Test func itIsWrittenAnewAndShownEverywhereUntilItIsRemoved() async throws {
        try await withConsole { page in
            try await claim(page)
            let picture = try picture()
            #expect(try await page.send("PUT", "logo", body(PNG.encode(picture), version: 0)) == 200)
            #expect(await page.desk.snapshot.logo == picture)
            #expect(await page.console.logo.image == PNG.encode(picture))
            let again = LogoDesk(
                journal: page.journal,
                desk: page.desk,
                clock: page.clock.terminalClock,
                logger: .init(label: "test")
            )
            try await again.load()
            #expect(await again.image == PNG.encode(picture), "after a restart too")
            #expect(try await page.send("PUT", "logo", #"{"image":null,"version":1}"#) == 200)
            #expect(await page.desk.snapshot.logo == nil)
            #expect(try Page.said(try await page.ask("GET", "logo"))["image"] is NSNull)
        }
    }

    @Test func whatIsNoPictureIsRefusedInWords() async throws {
        try await withConsole { page in
            try await claim(page)
            let svg = Data("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8).base64EncodedString()
            for image in [
                "https://example.com/logo.png", "data:image/svg+xml;base64,\(svg)", "data:image/png;base64,!", "",
            ] {
                #expect(try await fault(page, #"{"image":"\#(image)","version":0}"#) == "no_picture")
            }
            #expect(try await fault(page, body(Array("GIF89a".utf8), version: 0)) == "picture_damaged")
            // A bomb: a header of two thousand million pixels, and one whose data never ends.
            var bomb = PNG.encode(try picture())
            bomb.replaceSubrange(16..<24, with: [0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF])
            #expect(["picture_damaged", "picture_size"].contains(try await fault(page, body(bomb, version: 0))))
            #expect(try await fault(page, body(PNG.encode(try picture(513, 8)), version: 0)) == "picture_size")
            let noise = (0..<512 * 512).map { UInt32(truncatingIfNeeded: $0 &* 0x9E37_79B9) | 0xFF00_0000 }
            let large = try #require(Pixels(width: 512, height: 512, pixels: noise))
            let refused = try await page.ask("PUT", "logo", body(PNG.encode(large), version: 0))
            #expect(refused.status == 400 || refused.status == 422)
            #expect(await page.desk.snapshot.logo == nil)
            #expect(try await page.send("PUT", "logo", #"{"image":5,"version":0}"#) == 422)
        }
    }

    @Test func ofTwoWhoChangeItTheLaterOneIsTold() async throws {
        try await withConsole { page in
            try await claim(page)
            let bytes = PNG.encode(try picture())
            #expect(try await page.send("PUT", "logo", body(bytes, version: 0)) == 200)
            #expect(try await page.send("PUT", "logo", body(bytes, version: 0)) == 409)
            #expect(try await page.another().send("GET", "logo", "") == 401)
            #expect(Route.logo.roles == [.owner] && Route.saveLogo.roles == [.owner])
        }
    }

    @Test func aKeptLogoThatCannotBeReadIsNotShownAndStopsNothing() async throws {
        try await withConsole { page in
            _ = try await page.journal.setDocument(
                "logo",
                [1, 2, 3],
                expecting: .any,
                with: nil,
                by: .terminal,
                at: page.clock.wallTime
            )
            try await page.console.logo.load()
            #expect(await page.desk.snapshot.logo == nil)
            #expect(await page.console.logo.address == nil)
            try await claim(page)
            #expect(try await page.send("PUT", "logo", body(PNG.encode(try picture()), version: 1)) == 200)
        }
    }

    @Test func theReceiptsPageShowsIt() async throws {
        let page = ReceiptPage(slip: Slip([]), title: "Receipt", words: .inLanguage("en"), logo: "data:image/png;base64,AAAA")
        #expect(page.document.text.contains(#"<img class="logo" src="data:image/png;base64,AAAA" alt="">"#))
        #expect(!ReceiptPage(slip: Slip([]), title: "Receipt", words: .inLanguage("en")).document.text.contains("<img"))
    }
}
