import Ethereum
import StrictJSON
import Testing

struct NumberTests {
    @Test func agreesWithPythonsIntegersOnArithmeticAndText() throws {
        let rows = try Vectors.load("uint256").elements()
        #expect(rows.count == 120)
        for row in rows {
            let a = try UInt256(parsing: try row.string("a"))
            let b = try UInt256(parsing: try row.string("b"))
            let k = try #require(UInt64(try row.string("k")))
            #expect(a.decimal == (try row.string("a")))
            #expect(a.hexadecimal == (try row.string("hex")))
            #expect(try UInt256(parsing: a.hexadecimal) == a)
            #expect(try UInt256(bigEndian: a.bigEndianBytes) == a)
            #expect((a < b) == (try row.member("less") == .bool(true)))
            if let sum = try row.optionalString("sum") {
                #expect(try a.adding(b).decimal == sum)
            } else {
                #expect(throws: UInt256.Failure.overflow) { try a.adding(b) }
            }
            if let difference = try row.optionalString("difference") {
                #expect(try a.subtracting(b).decimal == difference)
            } else {
                #expect(throws: UInt256.Failure.underflow) { try a.subtracting(b) }
            }
            if let product = try row.optionalString("product") {
                #expect(try a.multiplied(by: k).hexadecimal == product)
            } else {
                #expect(throws: UInt256.Failure.overflow) { try a.multiplied(by: k) }
            }
            let (quotient, remainder) = try a.quotientAndRemainder(dividingBy: k)
            #expect(quotient.decimal == (try row.string("quotient")))
            #expect(String(remainder) == (try row.string("remainder")))
        }
    }

    @Test(arguments: [
        ("0x0", "0"), ("0x000", "0"), ("0xabc", "2748"), ("0XABC", "2748"), ("007", "7"),
        (String(repeating: "0", count: 500) + "1", "1"),
        ("0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", UInt256.max.decimal),
    ])
    func readsEveryFormGatewaysWrite(text: String, decimal: String) throws {
        #expect(try UInt256(parsing: text).decimal == decimal)
    }

    @Test(arguments: ["", "0x", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0xg", "ff", "١", "0b1", "1_000", "\u{0}"])
    func refusesWhatIsNoWholeNumber(text: String) {
        #expect(throws: UInt256.Failure.notANumber) { try UInt256(parsing: text) }
    }

    @Test(arguments: [
        "115792089237316195423570985008687907853269984665640564039457584007913129639936",
        "0x10000000000000000000000000000000000000000000000000000000000000000",
        "0x20000000000000000000000000000000000000000000000000000000000000000",
    ])
    func refusesWhatDoesNotFitInsteadOfCuttingIt(text: String) {
        #expect(throws: UInt256.Failure.overflow) { try UInt256(parsing: text) }
    }

    @Test func knowsItsSize() throws {
        #expect(UInt256.zero.significantBits == 0)
        #expect(UInt256.max.significantBits == 256)
        #expect((0x1_0000_0000_0000_0000 as UInt256).significantBits == 65)
        #expect(UInt256.max.asUInt64 == nil)
        #expect((0xFFFF_FFFF_FFFF_FFFF as UInt256).asUInt64 == .max)
        #expect((0x1_0000_0000_0000_0000 as UInt256).asUInt64 == nil)
        #expect(throws: UInt256.Failure.divisionByZero) { try UInt256.max.quotientAndRemainder(dividingBy: 0) }
        #expect(throws: UInt256.Failure.overflow) { try UInt256(bigEndian: [UInt8](repeating: 0, count: 33)) }
    }
}

struct KeccakTests {
    @Test func agreesWithEthUtilsAroundEveryBlockBoundary() throws {
        for row in try Vectors.load("eth-account").elements("keccak") {
            let length = try #require(try row.number("length").asUInt64)
            let input = (0..<length).map { UInt8(truncatingIfNeeded: 7 * $0 + length) }
            #expect(keccak256(input).hexadecimal == (try row.string("hash")), "length \(length)")
        }
    }

    /// Source: the hash of nothing, known from every Ethereum document.
    @Test func isKeccakAndNotSHA3() {
        #expect(keccak256("").hexadecimal == "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
    }
}

struct EthereumAddressTests {
    /// Source: EIP-55, test cases.
    @Test(arguments: [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        "0x52908400098527886E0F7030069857D2E4169EE7", "0xde709f2102306220921060314715629080e2fb77",
    ])
    func writesTheChecksumAndReadsItInAnyCase(text: String) throws {
        let address = try EthereumAddress(parsing: text)
        #expect(address.checksummed == text)
        #expect(try EthereumAddress(parsing: text.lowercased()) == address)
        #expect(try EthereumAddress(parsing: "0x" + text.dropFirst(2).uppercased()) == address)
    }

    @Test func noticesEverySingleLetterInTheWrongCase() throws {
        let text = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
        for index in text.indices.dropFirst(2) where text[index].isLetter {
            let letter = text[index]
            let other = letter.isLowercase ? letter.uppercased() : letter.lowercased()
            let wrong = text.replacingCharacters(in: index, with: other)
            #expect(throws: EthereumAddress.Failure.checksum) { try EthereumAddress(parsing: wrong) }
        }
    }

    @Test func refusesOtherLengthsAndLetters() {
        #expect(throws: EthereumAddress.Failure.notHexadecimal) { try EthereumAddress(parsing: "") }
        #expect(throws: EthereumAddress.Failure.notHexadecimal) {
            try EthereumAddress(parsing: "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed")
        }
        #expect(throws: EthereumAddress.Failure.notHexadecimal) {
            try EthereumAddress(parsing: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae")
        }
        #expect(throws: EthereumAddress.Failure.length(bytes: 19)) {
            try EthereumAddress(parsing: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1bea")
        }
        #expect(throws: EthereumAddress.Failure.length(bytes: 21)) {
            try EthereumAddress(Array(repeating: 1, count: 21))
        }
    }
}

extension String {
    fileprivate func replacingCharacters(in index: Index, with text: String) -> String {
        String(self[..<index]) + text + String(self[self.index(after: index)...])
    }
}
