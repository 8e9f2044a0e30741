import Foundation
import Payments
import WebServer

/// The certificate that the page is served with, as the owner sees it and puts in another.
extension Console {
    func certificateResponse() async throws(Problem) -> WebResponse {
        let next: CertificateKeeper.Choice
        do { next = try certificates.next() } catch { throw Self.certificateNotKept }
        return .json(
            JSON.object([
                "served": Self.json(certificate),
                "next": next.page.fingerprint == certificate.fingerprint ? .null : Self.json(next.page),
                "problem": .reason(next.objection?.reason),
            ]).text
        )
    }

    private static func json(_ certificate: PageCertificate) -> JSON {
        .object([
            "isOwn": .bool(certificate.issuer != nil), "issuer": .optional(certificate.issuer),
            "names": .array(certificate.names.map { .string($0) }), "endsAt": .time(certificate.endsAt),
            "fingerprint": .string(certificate.fingerprint),
        ])
    }

    /// Takes a certificate with its issuers and its key. The next start serves it.
    func saveCertificate(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.request.body, bytes: Self.certificateBodyBytes)
        let chain = form.lines("chain", limit: OwnersCertificate.mostBytes)
        let key = form.lines("key", limit: OwnersCertificate.mostBytes)
        let password = form.optionalText("password", limit: 1000)
        try form.finish()
        let own: OwnersCertificate
        do throws(OwnersCertificate.Objection) {
            own = try OwnersCertificate(chain: chain, key: key, at: certificates.knownTime)
        } catch {
            throw .field(error.field, error.reason)
        }
        try await requirePassword(password, because: "Another certificate needs the password again.", of: pass)
        do { try own.store(in: certificates.folder) } catch { throw Self.certificateNotKept }
        let words = "\(own.page.names.prefix(3).joined(separator: " ")) \(own.page.fingerprint.prefix(23))"
        await entrance.audit("certificate", "ok", words, by: pass.who, from: pass.request.peerAddress)
        return try await certificateResponse()
    }

    /// Takes the owner's certificate out. The next start serves the terminal's own.
    func removeCertificate(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var form = try Form(pass.request.body)
        let password = form.optionalText("password", limit: 1000)
        try form.finish()
        try await requirePassword(password, because: "Another certificate needs the password again.", of: pass)
        do { try OwnersCertificate.remove(from: certificates.folder) } catch { throw Self.certificateNotKept }
        await entrance.audit("certificate", "ok", "removed", by: pass.who, from: pass.request.peerAddress)
        return try await certificateResponse()
    }

    /// Both texts, and what JSON writes for the ends of their lines.
    static let certificateBodyBytes = 3 * OwnersCertificate.mostBytes

    private static let certificateNotKept = Problem(
        503,
        "certificate_not_kept",
        "The certificate could not be written down. The page is served as before.",
        "Look at the storage under Health, then do it again."
    )

    /// How long browsers insist on a certificate that they trust, once they have seen one: no longer than it holds.
    /// Source: RFC 6797, section 6.1.1. Browsers do not look at it where they warned, or where the address is a number.
    /// - Returns: The header's value; nil for the terminal's own certificate, which no browser trusts.
    static func transportSecurity(of certificate: PageCertificate, at now: WallTime) -> String? {
        guard certificate.issuer != nil else { return nil }
        let left = now.duration(to: certificate.endsAt).components.seconds
        return "max-age=\(min(30 * 86_400, max(0, left)))"
    }
}

extension OwnersCertificate.Objection {
    /// The field of the form that it is about.
    fileprivate var field: String {
        switch self {
        case .keyNotReadable, .keyDoesNotFit: "key"
        case .chainNotReadable, .kindOfKey, .notForServers, .noName, .notInOrder, .notYet, .ended: "chain"
        }
    }

    /// The reason in words for the owner.
    var reason: Reason {
        switch self {
        case .chainNotReadable:
            Reason(
                code: "certificate_unreadable",
                message:
                    "This is no certificate in PEM form, or there are more than \(OwnersCertificate.mostCertificates).",
                action:
                    "Choose the file that begins with BEGIN CERTIFICATE: the server’s certificate first, then its issuers."
            )
        case .keyNotReadable:
            Reason(
                code: "certificate_key_unreadable",
                message: "This is no private key in PEM form, or a passphrase locks it.",
                action: "Choose the file that begins with BEGIN PRIVATE KEY, without a passphrase."
            )
        case .keyDoesNotFit:
            Reason(
                code: "certificate_key_does_not_fit",
                message: "The private key is not the certificate’s.",
                action: "Choose the key that the certificate was ordered with."
            )
        case .kindOfKey:
            Reason(
                code: "certificate_kind_of_key",
                message: "Not every browser takes this kind of key.",
                action: "Order a certificate for a key of P-256, P-384, or RSA with 2048 to 4096 bits."
            )
        case .notForServers:
            Reason(
                code: "certificate_not_for_servers",
                message: "This certificate is not for a server.",
                action: "Put the server’s certificate first, then its issuers."
            )
        case .noName:
            Reason(
                code: "certificate_without_name",
                message: "The certificate names no host.",
                action: "Order one with the name under which the page is opened, as a subject alternative name."
            )
        case .notInOrder:
            Reason(
                code: "certificate_order",
                message: "One of the certificates was not issued by the one after it.",
                action: "Put the server’s certificate first, then each one’s issuer."
            )
        case .notYet:
            Reason(
                code: "certificate_not_yet",
                message: "The certificate does not hold yet, by the terminal’s clock.",
                action: "Look at the clock under Health, or wait until it holds."
            )
        case .ended:
            Reason(
                code: "certificate_ended",
                message: "The certificate has ended, by the terminal’s clock.",
                action: "Put in one that still holds."
            )
        }
    }
}
