import Testing
import WalletConnect

struct TopicTests {
    @Test func aTopicIsSixtyFourHexadecimalDigitsAndNothingElse() throws {
        let digits = String(repeating: "aB", count: 32)
        #expect(Topic(digits)?.text == digits.lowercased())
        for text in [
            "", "ab", digits + "00", String(digits.dropLast()), "0x" + digits.dropLast(2), " " + digits.dropLast(),
        ] {
            #expect(Topic(text) == nil)
        }
    }

    @Test func aLogShowsOnlyTheBeginningOfATopic() throws {
        let topic = try #require(Topic("0123456789abcdef" + String(repeating: "77", count: 24)))
        var dumped = ""
        dump(topic, to: &dumped)
        for text in ["\(topic)", String(reflecting: topic), dumped, "\([topic: 1])"] { #expect(!text.contains("7777")) }
        #expect("\(topic)" == "01234567…")
    }
}
