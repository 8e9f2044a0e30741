import StrictJSON
import Testing
import TestSupport

struct ExactJSONTests {
    @Test func keepsEveryDigitOfANumber() throws {
        let largest = "115792089237316195423570985008687907853269984665640564039457584007913129639935"
        let text = "[\(largest),-0,1.50,9007199254740993,1E+2]"
        #expect(try ExactJSON(parsing: text).text == text)
        guard case .array(let elements) = try ExactJSON(parsing: text) else {
            Issue.record("an array was read as something else")
            return
        }
        #expect(elements[0] == .number(largest))
    }

    @Test func writesWhatItReadWithoutWhiteSpaceAndInTheSameOrder() throws {
        let compact = #"{"z":[1,{"a":null}],"a":"x\"\\/\n\u0001é😀","b":[true,false,{}],"c":[]}"#
        let spaced =
            "\r\n\t { \"z\" : [ 1 , {\"a\" :null} ] ,\"a\":\"x\\\"\\\\\\/\\n\\u0001\\u00e9\\uD83D\\uDE00\", \"b\":[true, false,{ }],\"c\":[ ]} "
        #expect(try ExactJSON(parsing: spaced).text == compact)
        #expect(try ExactJSON(parsing: compact).text == compact)
    }

    @Test(arguments: [
        "", " ", "{", "[", "[1", "[1,", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "nul",
        "True",
        "01", "-", "+1", ".5", "1.", "1e", "0x10", "NaN", "Infinity", "1 2", "[] []", "\"", "\"\\\"", "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"\n\"", "\"\u{0}\"",
        "\u{FEFF}1",
        "{\"a\":1 \"b\":2}", "[1 2]", "//1", "tru", "-a", "1e+", "]", "}", ",", ":",
    ])
    func refusesWhatTheGrammarDoesNotAllow(text: String) {
        #expect(throws: ExactJSON.Failure.self) { try ExactJSON(parsing: text) }
    }

    @Test func refusesTwoValuesUnderOneName() {
        #expect(throws: ExactJSON.Failure.duplicateName(offset: 9)) { try ExactJSON(parsing: #"{"to":1, "to":2}"#) }
        #expect(throws: ExactJSON.Failure.duplicateName(offset: 8)) { try ExactJSON(parsing: #"{"to":1,"t\u006f":2}"#) }
    }

    /// U+212A looks like K and equals it for Swift's strings, not for a hash.
    @Test func tellsNamesApartByTheirBytes() throws {
        let document = try ExactJSON(parsing: "{\"\u{212A}\":1,\"K\":2}")
        #expect(document.value(named: "K") == .number("2"))
        #expect(document.value(named: "k") == nil)
    }

    @Test func refusesBytesThatAreNoUTF8() {
        for bytes: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] {
            #expect(throws: ExactJSON.Failure.notUTF8) { try ExactJSON(parsing: [0x22] + bytes + [0x22]) }
        }
    }

    @Test func refusesDepthAndSizeBeyondTheLimits() throws {
        let limits = ExactJSON.Limits(bytes: 100, depth: 4)
        #expect(throws: Never.self) { try ExactJSON(parsing: "[[[[1]]]]", limits: limits) }
        #expect(throws: ExactJSON.Failure.tooDeep(limit: 4)) { try ExactJSON(parsing: "[[[[[1]]]]]", limits: limits) }
        #expect(throws: ExactJSON.Failure.tooLarge(limitBytes: 100)) {
            try ExactJSON(parsing: "\"" + String(repeating: "a", count: 99) + "\"", limits: limits)
        }
        let bomb = String(repeating: "[", count: 100_000)
        #expect(throws: ExactJSON.Failure.tooDeep(limit: 32)) { try ExactJSON(parsing: bomb) }
        let objects = String(repeating: "{\"a\":", count: 20_000)
        #expect(throws: ExactJSON.Failure.tooDeep(limit: 32)) { try ExactJSON(parsing: objects) }
    }

    /// Random bytes, and a good document with random bytes in it: an error or a value, and a value reads back the same.
    @Test(arguments: 0..<20)
    func survivesAnyBytes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let good = Array(#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,null],"b":{"c":"é"}}"#.utf8)
        for _ in 0..<500 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            if Bool.random(using: &generator) {
                bytes = Array(bytes.prefix(.random(in: 0...bytes.count, using: &generator)))
            }
            if let value = try? ExactJSON(parsing: bytes) { #expect(try ExactJSON(parsing: value.text) == value) }
        }
    }
}
