import TapProtocol
import Testing

/// Messages in a log: readable, short, and without what is secret or somebody's own.
struct DiagnosisTests {
    private func text(_ item: CBOR, limit: Int = 1000) -> String { CBOR.diagnosis(of: item.encoded, limit: limit) }

    /// Source of the notation: RFC 8949, appendix A.
    @Test func numbersAndContainersAreWrittenAsTheStandardSays() {
        #expect(text(.array([.unsigned(1), .integer(-1), .bool(true), .array([])])) == "[1, -1, true, []]")
        #expect(text(.negative(.max)) == "-18446744073709551616")
        #expect(text(.map([1: .unsigned(24), 2: .map([:]), 200: .bool(false)])) == "{1: 24, 2: {}, 200: false}")
    }

    @Test func textsAndBytesAreLeftOutAndTheirLengthStands() {
        #expect(text(.array([.text("anna@example.com"), .text("EUR")])) == #"["" / 16 /, "EUR"]"#)
        #expect(text(.array([.bytes([1, 2, 3])])) == "[h'' / 3 /]")
        let hash = CBOR.bytes([UInt8](repeating: 0xAB, count: 32))
        #expect(text(.array([hash])) == "[h'abababab' / 32 /]")
    }

    @Test func anAcceptShowsItsPaymentAndItsAmountsAndNothingOfTheCustomer() throws {
        let example = try PublishedExample()
        let (accept, pass) = (example.voucherAccept, example.voucherPass)
        let plain = TapMessage(number: 2, body: .accept(accept, pass)).encoded
        let shown = CBOR.diagnosis(of: plain)
        let name = "\(accept.payload.paymentID)".filter { $0 != "-" }
        #expect(shown.contains("1: h'\(name)'"))
        #expect(shown.contains("5: \(accept.payload.total)"))
        #expect(shown.contains("<< / a pass / >>"))
        let spend = try #require(accept.payload.spend)
        for secret in [accept.payload.instrumentID, hex(spend.passID), hex(accept.payload.nonce), "14: "] {
            #expect(!shown.contains(secret))
        }
        #expect(!shown.contains(hex(accept.envelope.signature).prefix(16)))
    }

    @Test func itIsNeverLong() {
        let long = CBOR.array((0..<500).map { .integer($0) })
        let shown = text(long, limit: 100)
        #expect(shown.count <= 108)
        #expect(shown.hasSuffix(" / … /"))
        #expect(CBOR.diagnosis(of: [0xFF, 0x00]) == "/ 2 bytes that are no message /")
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
