import Crypto
import Foundation
import Glibc
import Payments
import SwiftASN1
import X509

/// What the page is served with: a certificate, its issuers, and its private key.
struct PageCertificate: Sendable, Equatable {
    /// The certificate first, then its issuers.
    let certificatePEM: String
    let keyPEM: String
    /// SHA-256 of the certificate, in groups as browsers show it.
    let fingerprint: String
    /// The same in Base64 for addresses: 43 characters.
    let compactFingerprint: String
    let endsAt: WallTime
    /// The host names that it is for, with wildcards as `*.shop.example`; no addresses in numbers.
    let names: [String]
    /// Who signed it; nil for the one that the terminal made for itself.
    let issuer: String?

    /// - Throws: What ASN.1 says of a certificate that cannot be written down.
    init(_ certificatePEM: String, _ keyPEM: String, of certificate: Certificate, isOwners: Bool = false) throws {
        (self.certificatePEM, self.keyPEM) = (certificatePEM, keyPEM)
        endsAt = WallTime(millisecondsSince1970: Int64(certificate.notValidAfter.timeIntervalSince1970 * 1000))
        names =
            (try? certificate.extensions.subjectAlternativeNames)?.compactMap { name in
                if case .dnsName(let name) = name { name.lowercased() } else { nil }
            } ?? []
        issuer = isOwners ? "\(certificate.issuer)" : nil
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        let digest = SHA256.hash(data: serializer.serializedBytes)
        // Source: RFC 4648, section 5, without padding.
        compactFingerprint = Data(digest).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        fingerprint =
            digest
            .map { byte in
                let digits = String(byte, radix: 16, uppercase: true)
                return digits.count == 1 ? "0" + digits : digits
            }
            .joined(separator: ":")
    }

    /// Whether the owner's certificate is for a host name, under which the page answers then. Of the terminal's own names only those
    /// count that it has just now. A wildcard stands for one label. Source: RFC 9525, section 6.3.
    func isFor(_ host: String) -> Bool {
        issuer != nil
            && names.contains { name in
                guard name.hasPrefix("*.") else { return name == host }
                guard let dot = host.firstIndex(of: "."), dot > host.startIndex else { return false }
                return host[dot...] == name.dropFirst()
            }
    }

    /// Written beside the place and moved there, readable by this user alone from the first byte on.
    static func write(_ text: String, to path: String) throws {
        let temporary = path + ".new"
        unsafe unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteNoPermission) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(text.utf8))
        try file.synchronize()
        guard unsafe rename(temporary, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
