import Foundation
import Testing

@testable import Console

/// That the password's hash is the scrypt that others compute.
struct PasswordTests {
    private struct Stored: Codable {
        var salt: [UInt8]
        var hash: [UInt8]
        var rounds: Int
        var blockSize: Int
        var parallelism: Int
    }

    /// The first 32 of each 64 bytes; a shorter output of scrypt is the beginning of a longer one.
    /// Source: RFC 7914, section 12.
    @Test(arguments: [
        ("", "", 16, 1, 1, "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"),
        ("password", "NaCl", 1024, 8, 16, "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"),
        (
            "pleaseletmein", "SodiumChloride", 16384, 8, 1,
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        ),
    ])
    func itIsTheScryptOfTheStandard(
        password: String,
        salt: String,
        rounds: Int,
        blockSize: Int,
        parallelism: Int,
        hash: String
    ) throws {
        let stored = Stored(
            salt: Array(salt.utf8),
            hash: Self.bytes(hash),
            rounds: rounds,
            blockSize: blockSize,
            parallelism: parallelism
        )
        let known = try JSONDecoder().decode(PasswordHash.self, from: try JSONEncoder().encode(stored))
        #expect(try known.matches(password))
        #expect(try !known.matches(password + "x"))
    }

    @Test func aNewHashCostsWhatItShouldAndIsWhatOpenSSLComputes() async throws {
        let password = "correct horse battery"
        let encoded = try JSONEncoder().encode(try PasswordHash(password))
        let stored = try JSONDecoder().decode(Stored.self, from: encoded)
        #expect(stored.rounds == 65536 && stored.blockSize == 8 && stored.parallelism == 1)
        #expect(stored.salt.count == 16 && stored.hash.count == 32)
        let salt = stored.salt.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
        let said = try await openssl(
            "kdf",
            "-keylen",
            "32",
            "-kdfopt",
            "pass:\(password)",
            "-kdfopt",
            "hexsalt:\(salt)",
            "-kdfopt",
            "n:65536",
            "-kdfopt",
            "r:8",
            "-kdfopt",
            "p:1",
            "-kdfopt",
            "maxmem_bytes:100000000",
            "SCRYPT"
        )
        #expect(Self.bytes(said.filter(\.isHexDigit).lowercased()) == stored.hash)
        let read = try JSONDecoder().decode(PasswordHash.self, from: encoded)
        #expect(try read.matches(password))
        #expect(try !read.matches("correct horse batterz"))
        #expect(!String(decoding: encoded, as: UTF8.self).contains("horse"))
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        stride(from: 0, to: hexadecimal.count, by: 2).compactMap {
            UInt8(hexadecimal.dropFirst($0).prefix(2), radix: 16)
        }
    }
}
