import Foundation
import Locks
import Logging
import Payments
import TerminalTestSupport
import Testing
import TestSupport

@testable import Console

/// The terminal's own certificate, as it lies on the storage and as OpenSSL reads it.
struct CertificateTests {
    private let folder: TemporaryFolder
    /// A whole second: certificates know no smaller time.
    private let made = Date(timeIntervalSince1970: 1_790_000_000)
    private let names = ["till.local", "192.168.1.7"]
    private static let day: TimeInterval = 86_400

    init() throws { folder = try TemporaryFolder() }

    private var certificatePath: String { folder.path + "/tls.crt" }
    private var keyPath: String { folder.path + "/tls.key" }

    private func load(
        _ names: [String]? = nil,
        at date: Date? = nil,
        isTimeKnown: Bool = true
    ) throws -> PageCertificate {
        try DeviceCertificate.loadOrCreate(
            in: folder.path,
            names: names ?? self.names,
            at: date ?? made,
            isTimeKnown: isTimeKnown
        )
    }

    private func isSame(_ one: PageCertificate, _ other: PageCertificate) -> Bool {
        one.certificatePEM == other.certificatePEM && one.keyPEM == other.keyPEM && one.fingerprint == other.fingerprint
    }

    /// Whether certificate and key belong together, in the files and in the value.
    private func isWhole(_ certificate: PageCertificate) async throws -> Bool {
        let inCertificate = try await openssl("x509", "-in", certificatePath, "-noout", "-pubkey")
        let inKey = try await openssl("pkey", "-in", keyPath, "-pubout")
        let certificatePEM = try String(contentsOfFile: certificatePath, encoding: .utf8)
        let keyPEM = try String(contentsOfFile: keyPath, encoding: .utf8)
        return !inKey.isEmpty && inCertificate == inKey && certificatePEM == certificate.certificatePEM
            && keyPEM == certificate.keyPEM
    }

    @Test func itIsMadeOnceAndKept() async throws {
        let first = try load()
        let files = folder.bytes
        #expect(isSame(try load(at: made.addingTimeInterval(Self.day)), first))
        #expect(isSame(try load(names.reversed()), first), "the order of its names is nothing")
        #expect(folder.bytes == files)
        #expect(try await isWhole(first))
        let other = try TemporaryFolder()
        let elsewhere = try DeviceCertificate.loadOrCreate(in: other.path, names: names, at: made)
        #expect(elsewhere.keyPEM != first.keyPEM, "each terminal has a key of its own")
    }

    @Test func itsKeyIsReadableByItsUserAlone() throws {
        _ = try load()
        for date in [made, made.addingTimeInterval(400 * Self.day)] {
            _ = try load(at: date)
            let attributes = try FileManager.default.attributesOfItem(atPath: keyPath)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["tls.crt", "tls.key"]
            )
        }
    }

    /// Made a day in the past for clocks that are behind, it ends 396 days after it was made.
    @Test(arguments: [(365, true), (366, false), (395, false), (397, false), (4000, false)])
    func itIsRenewedThirtyDaysBeforeItsEnd(days: Int, isKept: Bool) async throws {
        let first = try load()
        let later = made.addingTimeInterval(Double(days) * Self.day)
        let second = try load(at: later)
        #expect(isSame(first, second) == isKept)
        #expect(first.keyPEM == second.keyPEM, "who pinned the key goes on")
        #expect(try await isWhole(second))
        #expect(isSame(try load(at: later), second), "the new one is kept in turn")
    }

    @Test func theLastSecondBeforeTheThirtyDaysKeepsIt() throws {
        let first = try load()
        #expect(isSame(try load(at: made.addingTimeInterval(366 * Self.day - 1)), first))
        #expect(!isSame(try load(at: made.addingTimeInterval(366 * Self.day)), first))
    }

    @Test func aClockBeforeItsBeginningMakesItAnew() throws {
        let first = try load()
        #expect(isSame(try load(at: made.addingTimeInterval(-Self.day)), first))
        #expect(!isSame(try load(at: made.addingTimeInterval(-Self.day - 1)), first))
    }

    // MARK: - Clocks

    /// 1970 and 2100, by a clock that nobody has set. What was compared and pinned stays.
    @Test(arguments: [86_400.0, 4_102_444_800])
    func aClockThatNobodyHasSetRenewsNothing(clock: TimeInterval) throws {
        let first = try load()
        let files = folder.bytes
        let wrong = Date(timeIntervalSince1970: clock)
        #expect(isSame(try load(at: wrong, isTimeKnown: false), first))
        #expect(folder.bytes == files)
        #expect(!isSame(try load(["kiosk.local"], at: wrong, isTimeKnown: false), first), "names count all the same")
    }

    /// A terminal without a battery knows the time some minutes after its start.
    @Test func theTimeThatBecomesKnownRenewsItForTheNextStart() async throws {
        let clock = ManualClock()
        let isSet = Mutex(false)
        let date = made.addingTimeInterval(380 * Self.day)
        var keeper = CertificateKeeper(
            folder: folder.path,
            names: names,
            localNames: [],
            clockIsSet: { isSet.withLock { $0 } }
        )
        keeper.now = { date }
        let built = WallTime(millisecondsSince1970: Int64(made.timeIntervalSince1970 * 1000))
        let served = try keeper.load(builtAt: built).page
        #expect(served.endsAt > built.advanced(by: .seconds(390 * 86_400)), "it does not begin by the wrong clock")
        #expect(isSame(try keeper.load(builtAt: nil).page, served))
        let kept = keeper
        await withDiscardingTaskGroup { group in
            group.addTask {
                await kept.run(
                    clock.terminalClock,
                    Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                    serving: served
                )
            }
            for isKnown in [false, true] {
                isSet.withLock { $0 = isKnown }
                while !clock.hasSleeper(for: .seconds(3600)) { await Task.yield() }
                clock.advance(by: .seconds(3600))
            }
            while !clock.hasSleeper(for: .seconds(3600)) { await Task.yield() }
            group.cancelAll()
        }
        let next = try load(at: date)
        #expect(next.fingerprint != served.fingerprint && next.keyPEM == served.keyPEM)
        #expect(DeviceCertificate.existing(in: folder.path)?.fingerprint == next.fingerprint)
    }

    @Test(arguments: [
        ["till.local"], ["till.local", "192.168.1.8"], ["till.local", "192.168.1.7", "kiosk.local"], ["192.168.1.7"],
    ])
    func otherNamesMakeItAnew(names: [String]) async throws {
        let first = try load()
        let second = try load(names)
        #expect(!isSame(first, second) && first.keyPEM == second.keyPEM)
        #expect(isSame(try load(names), second))
        let text = try await openssl("x509", "-in", certificatePath, "-noout", "-ext", "subjectAltName")
        for name in names {
            #expect(text.contains(name.first?.isNumber == true ? "IP Address:\(name)" : "DNS:\(name)"), "\(text)")
        }
    }

    @Test(arguments: ["", "nonsense"])
    func damagedFilesAreReplaced(text: String) async throws {
        for path in [certificatePath, keyPath] {
            _ = try load()
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            #expect(try await isWhole(try load()))
        }
    }

    /// A power cut between the two files of a renewal leaves the new key beside the old certificate.
    @Test func aKeyOfAnotherCertificateIsReplaced() async throws {
        let first = try load()
        let other = try TemporaryFolder()
        let foreign = try DeviceCertificate.loadOrCreate(in: other.path, names: names, at: made)
        try Data(foreign.keyPEM.utf8).write(to: URL(fileURLWithPath: keyPath))
        let second = try load()
        #expect(try await isWhole(second) && second.fingerprint != first.fingerprint)
    }

    @Test func itsFingerprintIsWhatOpenSSLSays() async throws {
        let certificate = try load()
        let compact = certificate.compactFingerprint
        let coded = compact.replacing("-", with: "+").replacing("_", with: "/") + "="
        let bytes = try #require(Data(base64Encoded: coded))
        let digits = bytes.map { String(UInt16($0) + 256, radix: 16, uppercase: true).dropFirst() }
        #expect(compact.utf8.count == 43 && digits.joined(separator: ":") == certificate.fingerprint)
        #expect(compact.utf8.allSatisfy { $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") })
        let said = try await openssl("x509", "-in", certificatePath, "-noout", "-fingerprint", "-sha256")
        #expect(
            said.contains("=\(certificate.fingerprint)\n") && certificate.fingerprint.count == 32 * 3 - 1,
            "\(said)"
        )
    }

    @Test func itIsForServersAloneAndSignsNoOther() async throws {
        _ = try load()
        let text = try await openssl("x509", "-in", certificatePath, "-noout", "-text")
        #expect(text.contains("CA:FALSE") && !text.contains("CA:TRUE"))
        #expect(text.contains("TLS Web Server Authentication") && !text.contains("Client Authentication"))
        #expect(text.contains("prime256v1") && text.contains("ecdsa-with-SHA256"))
    }
}
