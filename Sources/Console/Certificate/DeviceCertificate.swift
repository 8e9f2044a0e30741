import Crypto
import Foundation
import SwiftASN1
import X509

/// The terminal's own certificate: made on the device, for its own names, renewed before it ends.
///
/// Browsers warn about it; its fingerprint on the screen lets the owner check that the warning is about this terminal.
enum DeviceCertificate {
    /// Longest that browsers accept. Source: CA/Browser Forum Baseline Requirements 6.3.2, as of 2020-09.
    private static let lifetime: TimeInterval = 397 * 86_400
    private static let renewBefore: TimeInterval = 30 * 86_400

    /// What every terminal's certificate named before there were names of one's own, and one without any names now.
    private static let former = "till.local"

    /// Reads the certificate of `folder`, or makes a new one where there is none, it ends soon, names have
    /// changed, or the key is not its key. A key that fits outlives its certificate: some pin it.
    /// - Parameters:
    ///   - names: Those that were configured: a certificate without one of them, or with one more, is no good.
    ///   - localNames: Those that the terminal asks for in its network. A new certificate has them. One that was made before they
    ///     were known stays: its fingerprint has been compared and pinned, and the next one comes within a year.
    ///   - now: What a new one begins at, about.
    ///   - isTimeKnown: Whether the clock can be believed. By one that cannot, none ends: what it says of 1970 or 2100 would
    ///     change the fingerprint for everybody who pinned it.
    /// - Throws: What the file system says; a terminal without a certificate does not serve.
    static func loadOrCreate(
        in folder: String,
        names: [String],
        localNames: [String] = [],
        at now: Date = Date(),
        isTimeKnown: Bool = true
    ) throws -> PageCertificate {
        let names = names.isEmpty && localNames.isEmpty ? [former] : names
        let needed = Set(alternatives(names).map { "\($0)" })
        let allowed = needed.union(
            alternatives(localNames.isEmpty ? [] : localNames + [former]).map { "\($0)" }
        )
        let (certificatePath, keyPath) = (folder + "/tls.crt", folder + "/tls.key")
        var keptKey: P256.Signing.PrivateKey?
        if let certificatePEM = FileManager.default.contents(atPath: certificatePath)
            .map({ String(decoding: $0, as: UTF8.self) }),
            let keyPEM = FileManager.default.contents(atPath: keyPath).map({ String(decoding: $0, as: UTF8.self) }),
            // What cannot be read is made anew below: a pair that nobody has seen yet is as good.
            let certificate = try? Certificate(pemEncoded: certificatePEM),
            // A power cut between the two files leaves a pair that does not fit, and a server that would never start.
            let key = try? P256.Signing.PrivateKey(pemRepresentation: keyPEM),
            certificate.publicKey == Certificate.PublicKey(key.publicKey)
        {
            let ends =
                certificate.notValidAfter.timeIntervalSince(now) <= renewBefore || certificate.notValidBefore > now
            let found = (try? certificate.extensions.subjectAlternativeNames).map { Set($0.map { "\($0)" }) }
            if !ends || !isTimeKnown, let found, found.isSuperset(of: needed), found.isSubset(of: allowed) {
                return try PageCertificate(certificatePEM, keyPEM, of: certificate)
            }
            keptKey = key
        }
        let key = keptKey ?? P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName("Till") }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            // A clock that is a little behind another's must not make it "not yet valid".
            notValidBefore: now.addingTimeInterval(-86_400),
            notValidAfter: now.addingTimeInterval(lifetime - 86_400),
            issuer: subject,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(alternatives(names + localNames.filter { !names.contains($0) }))
            },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        let certificatePEM = try certificate.serializeAsPEM().pemString
        try PageCertificate.write(key.pemRepresentation, to: keyPath)
        try PageCertificate.write(certificatePEM, to: certificatePath)
        return try PageCertificate(certificatePEM, key.pemRepresentation, of: certificate)
    }

    /// The certificate of `folder`, whatever its names; nil where there is none that can be read. Nothing is made or changed.
    static func existing(in folder: String) -> PageCertificate? {
        let texts = ["/tls.crt", "/tls.key"].compactMap { FileManager.default.contents(atPath: folder + $0) }
            .map { String(decoding: $0, as: UTF8.self) }
        guard texts.count == 2, let certificate = try? Certificate(pemEncoded: texts[0]) else { return nil }
        return try? PageCertificate(texts[0], texts[1], of: certificate)
    }

    private static func alternatives(_ names: [String]) -> [GeneralName] {
        names.map { name in
            let parts = name.split(separator: ".").compactMap { UInt8($0) }
            return parts.count == 4 && name.split(separator: ".").count == 4
                ? .ipAddress(ASN1OctetString(contentBytes: parts[...])) : .dnsName(name)
        }
    }
}
