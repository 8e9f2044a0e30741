import Crypto
import CryptoExtras
import Foundation
import Glibc
import Payments
import SwiftASN1
import X509

/// A certificate that the owner put in, so that browsers do not warn: checked when it comes and at each start.
///
/// The files `own.crt` and `own.key` lie beside the terminal's own. An ACME client on the same machine may put them there too.
/// Decided in docs/decisions/0037-a-certificate-of-ones-own.md.
struct OwnersCertificate: Sendable {
    let page: PageCertificate

    /// Why a pair cannot be used.
    enum Objection: String, Error, CaseIterable {
        case chainNotReadable, keyNotReadable, keyDoesNotFit, kindOfKey, notForServers, noName, notInOrder, notYet,
            ended
    }

    static let mostCertificates = 8
    static let mostBytes = 32_768

    /// Checks a pair.
    /// - Parameters:
    ///   - chain: The certificate and its issuers, in any order but for the first, as PEM.
    ///   - key: Its private key as PEM, without a passphrase.
    ///   - now: Nil where the time is not known.
    init(chain: String, key: String, at now: Date?) throws(Objection) {
        guard chain.utf8.count <= Self.mostBytes, let certificates = Self.certificates(chain),
            let leaf = certificates.first
        else { throw .chainNotReadable }
        guard key.utf8.count <= Self.mostBytes, let privateKey = Self.privateKey(key) else { throw .keyNotReadable }
        guard privateKey.publicKey == leaf.publicKey else { throw .keyDoesNotFit }
        guard Self.isKnownEverywhere(leaf.publicKey) else { throw .kindOfKey }
        let (usage, constraints) = (try? leaf.extensions.extendedKeyUsage, try? leaf.extensions.basicConstraints)
        guard usage.map({ $0.contains(.serverAuth) || $0.contains(.any) }) ?? true else { throw .notForServers }
        if case .isCertificateAuthority? = constraints { throw .notForServers }
        for (one, next) in zip(certificates, certificates.dropFirst()) where one.issuer != next.subject {
            throw .notInOrder
        }
        if let now {
            guard leaf.notValidBefore <= now else { throw .notYet }
            guard leaf.notValidAfter > now else { throw .ended }
        }
        guard let pem = try? certificates.map({ try $0.serializeAsPEM().pemString }).joined(separator: "\n"),
            let keyPEM = try? privateKey.serializeAsPEM().pemString,
            let page = try? PageCertificate(pem + "\n", keyPEM + "\n", of: leaf, isOwners: true)
        else { throw .chainNotReadable }
        guard !page.names.isEmpty else { throw .noName }
        self.page = page
    }

    // MARK: - On the storage

    private static func paths(_ folder: String) -> (chain: String, key: String) {
        (folder + "/own.crt", folder + "/own.key")
    }

    /// The pair of a folder; nil where there is none.
    /// - Throws: ``Objection`` where there is one that cannot be used.
    static func stored(in folder: String, at now: Date?) throws(Objection) -> OwnersCertificate? {
        let (chain, key) = paths(folder)
        guard let chain = FileManager.default.contents(atPath: chain),
            let key = FileManager.default.contents(atPath: key)
        else { return nil }
        return try OwnersCertificate(
            chain: String(decoding: chain, as: UTF8.self),
            key: String(decoding: key, as: UTF8.self),
            at: now
        )
    }

    /// Keeps it for the next start. A power cut between the two files leaves a pair that does not fit, and the terminal's own
    /// certificate is served then.
    /// - Throws: What the file system says.
    func store(in folder: String) throws {
        let (chain, key) = Self.paths(folder)
        try PageCertificate.write(page.keyPEM, to: key)
        try PageCertificate.write(page.certificatePEM, to: chain)
    }

    /// Takes it out, from the next start on.
    /// - Throws: What the file system says.
    static func remove(from folder: String) throws {
        let (chain, key) = paths(folder)
        for path in [chain, key] where unsafe unlink(path) != 0 && errno != ENOENT {
            throw CocoaError(.fileWriteNoPermission)
        }
    }

    // MARK: - PEM

    private static func certificates(_ text: String) -> [Certificate]? {
        guard let documents = try? PEMDocument.parseMultiple(pemString: text), documents.count <= mostCertificates
        else { return nil }
        let certificates = documents.filter { $0.discriminator == "CERTIFICATE" }
        guard !certificates.isEmpty, certificates.count == documents.count else { return nil }
        return try? certificates.map { try Certificate(pemDocument: $0) }
    }

    /// The one private key of a text. OpenSSL writes the curve's parameters before it.
    private static func privateKey(_ text: String) -> Certificate.PrivateKey? {
        let documents = (try? PEMDocument.parseMultiple(pemString: text)) ?? []
        let keys = documents.filter { $0.discriminator.hasSuffix("PRIVATE KEY") }
        guard keys.count == 1, let key = keys.first else { return nil }
        return try? Certificate.PrivateKey(pemDocument: key)
    }

    /// Kinds of keys that every browser takes. Source: CA/Browser Forum Baseline Requirements, 6.1.1.3.
    private static func isKnownEverywhere(_ key: Certificate.PublicKey) -> Bool {
        if P256.Signing.PublicKey(key) != nil || P384.Signing.PublicKey(key) != nil { return true }
        return _RSA.Signing.PublicKey(key).map { (2048...4096).contains($0.keySizeInBits) } ?? false
    }
}
