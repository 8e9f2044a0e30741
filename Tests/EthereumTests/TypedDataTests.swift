import Ethereum
import Testing
import StrictJSON
import TestSupport

struct TypedDataTests {
    @Test func hashesAsEthAccountDoes() throws {
        let cases = try Vectors.load("eth-account").elements("typedData")
        #expect(cases.count == 46)
        for row in cases {
            let name = try row.string("name")
            let data = try TypedData(try row.member("typedData"))
            #expect(data.domainSeparator.hexadecimal == (try row.string("domainSeparator")), "\(name)")
            #expect(data.structHash.hexadecimal == (try row.string("structHash")), "\(name)")
            #expect(data.digest.hexadecimal == (try row.string("digest")), "\(name)")
            #expect(try TypedData(json: data.json).digest == data.digest, "\(name)")
        }
    }

    @Test func hashesAndSignsWhatTheGatewayAsksFor() throws {
        let cases = try Vectors.load("eip712").elements("cases")
        #expect(cases.count == 13)
        for row in cases {
            let name = try row.string("name")
            let data = try TypedData(json: try row.member("typedData").text)
            #expect(try data.encodeType(data.primaryType) == row.string("encodeType"), "\(name)")
            #expect(data.domainSeparator.hexadecimal == (try row.string("domainSeparator")), "\(name)")
            #expect(data.structHash.hexadecimal == (try row.string("structHash")), "\(name)")
            #expect(data.digest.hexadecimal == (try row.string("digest")), "\(name)")
            for signed in try row.elements("signatures") {
                let key = try PrivateKey(parsing: try signed.string("privateKey"))
                #expect(key.address.checksummed == (try signed.string("address")))
                #expect(key.sign(data.digest).hexadecimal == (try signed.string("signature")), "\(name)")
            }
        }
    }

    /// Source: EIP-712, Example.js.
    @Test func agreesWithTheStandardsOwnExample() throws {
        let mail = try Vectors.load("eth-account").elements("typedData")[0]
        let data = try TypedData(try mail.member("typedData"))
        #expect(
            try data.encodeType("Mail")
                == "Mail(Person from,Person to,string contents)Person(string name,address wallet)"
        )
        #expect(
            try data.typeHash("Mail").hexadecimal
                == "0xa0cedeb2dc280ba39b857546d74f5549c3a1d7bdc2dd96bf881f76108e23dac2"
        )
        #expect(data.digest.hexadecimal == "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2")
        #expect(throws: TypedDataError(.unknownType("Letter"))) { try data.encodeType("Letter") }
    }

    @Test func readsTypedDataThatIsAStringOfJSON() throws {
        let mail = try Vectors.load("eth-account").elements("typedData")[0]
        let inner = try mail.member("typedData")
        let asString = ExactJSON.string(inner.text).text
        #expect(try TypedData(json: asString) == TypedData(inner))
    }

    /// Through floating point, 2^256 - 1 and 2^53 + 1 would both become another number, without an error.
    @Test(arguments: [UInt256.max, 9_007_199_254_740_993])
    func aBareNumberIsHashedToItsLastDigit(number: UInt256) throws {
        let bare = try TypedData(json: Self.one("uint256", number.decimal))
        #expect(bare.digest == (try TypedData(json: Self.one("uint256", "\"\(number.hexadecimal)\"")).digest))
        #expect(bare.digest == (try TypedData(json: Self.one("uint256", "\"\(number.decimal)\"")).digest))
        let neighbour = try number.subtracting(1)
        #expect(bare.digest != (try TypedData(json: Self.one("uint256", neighbour.decimal)).digest))
    }

    @Test func theDomainsTypeIsMadeInTheStandardsOrder() throws {
        let data = try TypedData(
            json: """
                {"types":{"A":[]},"primaryType":"A","message":{},"domain":{"salt":"\(Self.zero32)",
                "verifyingContract":"0x0000000000000000000000000000000000000001","chainId":1,"version":"1","name":"n"}}
                """
        )
        #expect(
            try data.encodeType("EIP712Domain")
                == "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract,bytes32 salt)"
        )
        #expect(data.json.contains(#""types":{"EIP712Domain":[{"type":"string","name":"name"}"#))
    }

    private static let zero32 = "0x" + String(repeating: "0", count: 64)

    /// Typed data with the one field `v`.
    static func one(_ type: String, _ value: String, more: String = "") -> String {
        #"{"types":{"A":[{"name":"v","type":"\#(type)"}]\#(more)},"primaryType":"A","domain":{"name":"n"},"message":{"v":\#(value)}}"#
    }

    // MARK: What must not be signed

    @Test(arguments: [
        ("uint8", "256", TypedDataError.Reason.outOfRange(type: "uint8")), ("uint8", "-1", .outOfRange(type: "uint8")),
        ("uint8", "\"0x100\"", .outOfRange(type: "uint8")),
        ("uint248", "\"0x1\(String(repeating: "0", count: 62))\"", .outOfRange(type: "uint248")),
        ("uint256", "\"0x1\(String(repeating: "0", count: 64))\"", .outOfRange(type: "uint256")),
        ("int8", "128", .outOfRange(type: "int8")), ("int8", "-129", .outOfRange(type: "int8")),
        ("int256", "\"0x8\(String(repeating: "0", count: 63))\"", .outOfRange(type: "int256")),
        ("int256", "\"-0x8\(String(repeating: "0", count: 62))1\"", .outOfRange(type: "int256")),
        ("uint256", "1.0", .notA("a whole number")), ("uint256", "1e3", .notA("a whole number")),
        ("uint256", "\"\"", .notA("a whole number")), ("uint256", "\"0x\"", .notA("a whole number")),
        ("uint256", "\"--1\"", .notA("a whole number")), ("uint256", "true", .notA("a whole number")),
        ("uint256", "null", .notA("a whole number")), ("bool", "1", .notA("true or false")),
        ("bool", "\"false\"", .notA("true or false")), ("string", "1", .notA("a text")),
        ("bytes", "\"0x123\"", .notA("0x and an even count of hexadecimal digits")),
        ("bytes", "\"hello\"", .notA("0x and an even count of hexadecimal digits")),
        ("bytes4", "\"0x123456\"", .length(bytes: 3, expected: 4)),
        ("bytes4", "\"0x1234567890\"", .length(bytes: 5, expected: 4)),
        ("address", "\"0x12\"", .address(.length(bytes: 1))), ("address", "1", .notA("an address")),
        ("address", "\"0xcD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826\"", .address(.checksum)),
        ("uint8[]", "1", .notA("a list")), ("uint8[]", "null", .notA("a list")),
        ("uint8[2]", "[1]", .count(1, expected: 2)), ("uint8[2]", "[1,2,3]", .count(3, expected: 2)),
        ("A", "null", .notA("an object")),
    ])
    func refusesValuesThatWalletsHashDifferently(type: String, value: String, reason: TypedDataError.Reason) {
        #expect(throws: TypedDataError(reason, at: "message.v")) { try TypedData(json: Self.one(type, value)) }
    }

    @Test(arguments: ["int8", "int256"])
    func takesTheSmallestNegativeNumber(type: String) throws {
        let bits = type == "int8" ? "-0x80" : "-0x8" + String(repeating: "0", count: 63)
        #expect(throws: Never.self) { try TypedData(json: Self.one(type, "\"\(bits)\"")) }
        #expect(
            try TypedData(json: Self.one(type, "-0")).digest == TypedData(json: Self.one(type, "0")).digest
        )
    }

    @Test(arguments: [
        "uint", "int", "uint7", "uint264", "uint08", "uint0", "bytes0", "bytes33", "bytes032", "Uint256", "function",
        "fixed128x18",
        "uint256 ", " uint256", "uint256[", "uint256]", "uint256[0]", "uint256[-1]", "uint256[01]", "uint256[]x",
        "uint256[1000001]",
        "[]", "", "B", "A,uint256", "uint256[99999999999999999999]", "A[][][][][][][][][]", "uint\u{0662}", "byte",
    ])
    func refusesTypesThatAreNone(type: String) {
        #expect(throws: TypedDataError(.unknownType(type), at: "types.A[0]")) {
            try TypedData(json: Self.one(type, "[]"))
        }
    }

    @Test func saysWhereTheFaultIs() {
        let nested = #","B":[{"name":"list","type":"C[][2]"}],"C":[{"name":"amount","type":"uint8"}]"#
        let value = #"{"list":[[],[{"amount":1},{"amount":300}]]}"#
        #expect(throws: TypedDataError(.outOfRange(type: "uint8"), at: "message.v.list[1][1].amount")) {
            try TypedData(json: Self.one("B", value, more: nested))
        }
        #expect(throws: TypedDataError(.unknownType("D"), at: "types.B[1]")) {
            try TypedData(
                json: Self.one("bool", "true", more: #","B":[{"name":"x","type":"bool"},{"name":"y","type":"D[]"}]"#)
            )
        }
        #expect(throws: TypedDataError(.missing, at: "message.v.list")) {
            try TypedData(json: Self.one("B", "{}", more: nested))
        }
    }

    @Test(arguments: ["types", "primaryType", "domain", "message"])
    func refusesADocumentWithAPartMissing(part: String) throws {
        let document = try ExactJSON(parsing: Self.one("bool", "true"))
        #expect(throws: TypedDataError(.missing, at: part)) { try TypedData(try document.replacing([part], with: nil)) }
        #expect(throws: TypedDataError.self) { try TypedData(try document.replacing([part], with: .number("1"))) }
    }

    /// Names go into the hashed text as they are: with these, two definitions could share one text.
    @Test(arguments: ["a b", "a,uint256 b", "a)B(", "", "1a", "é", "uint256", "address", "\u{212A}"])
    func refusesNamesThatMakeTheHashAmbiguous(name: String) throws {
        let document = try ExactJSON(parsing: Self.one("bool", "true"))
        #expect(throws: TypedDataError(.name(name), at: "types")) {
            try TypedData(try document.replacing(["types", name], with: .array([])))
        }
        if !["uint256", "address"].contains(name) {
            #expect(throws: TypedDataError(.name(name), at: "types.A[0]")) {
                try TypedData(try document.replacing(["types", "A", "0", "name"], with: .string(name)))
            }
        }
    }

    @Test func refusesWhatIsDefinedTwiceOrNotToBeSigned() {
        let field = TypedData.Field("bool", "v")
        #expect(throws: TypedDataError(.duplicateName("v"), at: "types.A[1]")) {
            try TypedData(
                types: [TypedData.Structure("A", [field, field])],
                primaryType: "A",
                domain: .object([]),
                message: .object([ExactJSON.Member("v", .bool(true))])
            )
        }
        #expect(throws: TypedDataError(.duplicateName("A"), at: "types")) {
            try TypedData(
                types: [TypedData.Structure("A", []), TypedData.Structure("A", [])],
                primaryType: "A",
                domain: .object([]),
                message: .object([])
            )
        }
        #expect(throws: TypedDataError(.name("EIP712Domain"), at: "primaryType")) {
            try TypedData(types: [], primaryType: "EIP712Domain", domain: .object([]), message: .object([]))
        }
        #expect(throws: TypedDataError(.unknownDomainField("chainID"), at: "domain")) {
            try TypedData(
                types: [TypedData.Structure("A", [])],
                primaryType: "A",
                domain: .object([ExactJSON.Member("chainID", .number("1"))]),
                message: .object([])
            )
        }
    }

    // MARK: Hostile size

    @Test func aTypeThatContainsItselfEndsWithItsValues() throws {
        #expect(throws: TypedDataError(.missing, at: "message.v.v.v")) {
            try TypedData(json: Self.one("A", #"{"v":{}}"#))
        }
        #expect(throws: Never.self) { try TypedData(json: Self.one("A[]", #"[{"v":[{"v":[]}]},{"v":[]}]"#)) }
        var message = ExactJSON.object([])
        for _ in 0..<500 { message = .object([ExactJSON.Member("v", message)]) }
        let types = [TypedData.Structure("A", [TypedData.Field("A", "v")])]
        let error = #expect(throws: TypedDataError.self) {
            try TypedData(types: types, primaryType: "A", domain: .object([]), message: message)
        }
        #expect(error?.reason == .tooMuch("nesting"))
    }

    @Test func refusesMoreStructsAndFieldsThanItReads() {
        let fields = (0..<65).map { TypedData.Field("bool", "f\($0)") }
        #expect(throws: TypedDataError(.tooMuch("fields"), at: "types.A")) {
            try TypedData(
                types: [TypedData.Structure("A", fields)],
                primaryType: "A",
                domain: .object([]),
                message: .object([])
            )
        }
        let structures = (0..<65).map { TypedData.Structure("S\($0)", []) }
        #expect(throws: TypedDataError(.tooMuch("structs"), at: "types")) {
            try TypedData(types: structures, primaryType: "S0", domain: .object([]), message: .object([]))
        }
    }

    /// Half of it are structs that all use each other, half is a list of one of them: its type's hash is made once.
    /// Without that it takes hours.
    @Test(.timeLimit(.minutes(3))) func theWorstDocumentOfTheLargestSizeIsHashed() throws {
        let names = (0..<40).map { "T\($0)" }
        let types = names.map { name in
            "\"\(name)\":[" + names.map { "{\"name\":\"f\($0)\",\"type\":\"\($0)[]\"}" }.joined(separator: ",") + "]"
        }.joined(separator: ",")
        let leaf = #""L":[{"name":"x","type":"T0[]"}],"A":[{"name":"v","type":"L[]"}]"#
        let list = Array(repeating: #"{"x":[]}"#, count: 8_000).joined(separator: ",")
        let json = #"{"types":{\#(leaf),\#(types)},"primaryType":"A","domain":{},"message":{"v":[\#(list)]}}"#
        #expect((120_000..<ExactJSON.Limits.standard.bytes).contains(json.utf8.count))
        #expect(throws: Never.self) { _ = try TypedData(json: json) }
    }

    /// A good document with single bytes changed: a value whose own text reads back the same, or an error with a place.
    @Test(arguments: 0..<10)
    func survivesAnyChangeOfAGoodDocument(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let good = try Vectors.load("eip712").elements("cases").map { Array(try $0.member("typedData").text.utf8) }
        for _ in 0..<150 {
            var bytes = good.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: bytes.indices, using: &generator)
                bytes[index] =
                    Bool.random(using: &generator)
                    ? .random(in: 32...126, using: &generator) : .random(in: 0...255, using: &generator)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let data: TypedData
            do throws(TypedDataError) {
                data = try TypedData(json: text)
            } catch {
                #expect(!error.description.isEmpty)
                continue
            }
            #expect(try TypedData(json: data.json) == data)
        }
    }
}
