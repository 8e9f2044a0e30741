import Foundation
import Locks
import Payments
import Subprocess
import Testing
import TestSupport

@testable import Console
@testable import Terminal

/// The terminal's name in the local network, wherever it is said.
@Suite(.timeLimit(.minutes(2)))
struct LocalNameTests {
    private static let hosts = ["till-7k3f.local", "till-7k3f-2.local"]

    private final class Network: Sendable {
        let standing = Mutex(LocalNameView.Standing.asking)

        var view: LocalNameView { LocalNameView(hosts: LocalNameTests.hosts) { self.standing.withLock { $0 } } }

        func say(_ standing: LocalNameView.Standing) { self.standing.withLock { $0 = standing } }
    }

    // MARK: - Requests

    /// What the server itself answers to a browser that calls it by this name.
    private func status(of host: String, _ console: Console) async throws -> String {
        let result = try await run(
            .name("curl"),
            arguments: [
                "-sk", "--max-time", "20", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: \(host)",
                "https://127.0.0.1:\(console.port)/",
            ],
            output: .string(limit: 100)
        )
        return result.standardOutput
    }

    @Test func browsersReachThePageByTheNameThatIsPublishedAndByNoOther() async throws {
        let network = Network()
        try await withConsole(address: "0.0.0.0", names: [], localName: network.view) { page in
            let first = try await status(of: Self.hosts[0], page.console)
            #expect(first == "200")
            #expect(try await status(of: "TILL-7K3F.local:\(page.console.port)", page.console) == "200")
            #expect(try await status(of: Self.hosts[1], page.console) != "200", "nobody may lead it elsewhere")
            network.say(.published(host: Self.hosts[1]))
            #expect(try await status(of: Self.hosts[1], page.console) == "200")
            for host in ["till-7k3e.local", "till.local", "evil.test", "till-7k3f.local.evil.test"] {
                #expect(try await status(of: host, page.console) != "200", "\(host)")
            }
            network.say(.off)
            #expect(try await status(of: Self.hosts[0], page.console) != "200")
        }
    }

    // MARK: - What people and codes are told

    @Test func peopleReadTheNameAndCodesLeadToTheNumber() {
        func own(_ names: [String], _ local: String?, _ numbers: [String]) -> OwnAddress {
            OwnAddress(names: names, port: 8443, isEverywhere: true, local: { local }, numbers: { numbers })
        }
        let both = own([], Self.hosts[0], ["192.168.1.7"])
        #expect(both.text == "https://till-7k3f.local:8443" && both.code == "https://192.168.1.7:8443")
        #expect(both.reachable == "https://192.168.1.7:8443" && both.all() == [both.text, both.code])
        let named = own(["kiosk.example.org"], Self.hosts[0], ["192.168.1.7"])
        #expect(
            named.text == "https://kiosk.example.org:8443" && named.code == named.text,
            "what was configured goes first"
        )
        let unpublished = own([], nil, ["192.168.1.7"])
        #expect(unpublished.text == unpublished.code && unpublished.text == "https://192.168.1.7:8443")
        #expect(own([], Self.hosts[0], []).code == "https://till-7k3f.local:8443")
    }

    @Test func theClaimSceneShowsNameAndNumberAndItsCodeLeadsToTheNumber() async throws {
        let network = Network()
        network.say(.published(host: Self.hosts[0]))
        try await withConsole(
            address: "0.0.0.0",
            names: [],
            localName: network.view,
            numbers: { ["192.168.1.7"] }
        ) { page in
            let invitation = try #require(await page.desk.invitation)
            let port = page.console.port
            #expect(invitation.address == "https://till-7k3f.local:\(port) · https://192.168.1.7:\(port)")
            #expect(invitation.url.hasPrefix("https://192.168.1.7:\(port)/#claim="))
            #expect(page.console.address == "https://till-7k3f.local:\(port)")
        }
    }

    @Test func aNameThatComesLaterIsPutOnTheScreen() async throws {
        let network = Network()
        try await withConsole(
            address: "0.0.0.0",
            names: [],
            localName: network.view,
            numbers: { ["192.168.1.7"] }
        ) { page in
            let first = try #require(await page.desk.invitation)
            #expect(first.address.hasPrefix("https://192.168.1.7:"))
            network.say(.published(host: Self.hosts[0]))
            await page.console.entrance.addressChanged()
            let later = try #require(await page.desk.invitation)
            #expect(later.address.hasPrefix("https://till-7k3f.local:") && later.url.hasPrefix("https://192.168.1.7:"))
        }
    }

    @Test func theNameStandsForTheNumbersUnderWhichThePageIsServed() {
        let found: [MachineAddresses.Found] = [
            .init("lo", "127.0.0.1"), .init("eth0", "192.168.1.50"), .init("eth0", "fd00::5"),
            .init("docker0", "172.17.0.1"),
        ]
        func answering(on address: String) -> [String] { MachineAddresses.answering(on: address, found).map(\.text) }
        #expect(answering(on: "0.0.0.0") == ["192.168.1.50"])
        #expect(answering(on: "::") == ["192.168.1.50", "fd00::5"])
        #expect(answering(on: "fd00::5") == ["fd00::5"] && answering(on: "192.168.1.51") == [])
    }

    // MARK: - The certificate

    @Test func aNewCertificateHasTheName() async throws {
        let folder = try TemporaryFolder()
        _ = try DeviceCertificate.loadOrCreate(in: folder.path, names: ["192.168.1.7"], localNames: Self.hosts)
        let text = try await openssl("x509", "-in", folder.path + "/tls.crt", "-noout", "-ext", "subjectAltName")
        for name in ["DNS:till-7k3f.local", "DNS:till-7k3f-2.local", "IP Address:192.168.1.7"] {
            #expect(text.contains(name), "\(text)")
        }
    }

    /// Fingerprints were compared and tills trust the file: a new name alone is no reason for a new one.
    @Test(arguments: [(["till.local"], []), (["192.168.1.7"], ["192.168.1.7"])])
    func aCertificateFromBeforeThereWereNamesStays(before: [String], now: [String]) throws {
        let folder = try TemporaryFolder()
        let made = Date(timeIntervalSince1970: 1_790_000_000)
        let first = try DeviceCertificate.loadOrCreate(in: folder.path, names: before, at: made)
        func load(_ names: [String], _ localNames: [String], days: Double = 0) throws -> String {
            try DeviceCertificate.loadOrCreate(
                in: folder.path,
                names: names,
                localNames: localNames,
                at: made.addingTimeInterval(days * 86_400)
            ).fingerprint
        }
        #expect(try load(now, Self.hosts) == first.fingerprint)
        #expect(try load(now, Self.hosts, days: 365) == first.fingerprint)
        let renewed = try load(now, Self.hosts, days: 366)
        #expect(renewed != first.fingerprint)
        #expect(try load(now, ["till-aaaa.local"], days: 366) != renewed, "another device's name is no good")
    }

    @Test func aNameThatWasConfiguredStillNeedsACertificateThatHasIt() throws {
        let folder = try TemporaryFolder()
        let first = try DeviceCertificate.loadOrCreate(in: folder.path, names: [], localNames: Self.hosts)
        let same = try DeviceCertificate.loadOrCreate(in: folder.path, names: [], localNames: Self.hosts)
        #expect(same.fingerprint == first.fingerprint)
        let other = try DeviceCertificate.loadOrCreate(
            in: folder.path,
            names: ["kiosk.local"],
            localNames: Self.hosts
        )
        #expect(other.fingerprint != first.fingerprint)
    }

    // MARK: - Health

    @Test(arguments: [
        (LocalNameView.Standing.off, HealthCheck.Weight.off, "health_name_off"), (.asking, .off, "health_name_asking"),
        (.published(host: "till-7k3f.local"), .good, "health_name_found"),
        (.noNetwork, .note, "health_name_no_network"), (.noDaemon, .note, "health_name_no_avahi"),
        (.noBus("no such file"), .note, "health_name_no_bus"),
        (.refused("Too many\nobjects"), .note, "health_name_refused"),
        (.taken, .note, "health_name_taken"),
    ])
    func healthSaysHowTheNameStandsAndItIsNeverWorseThanANote(
        standing: LocalNameView.Standing,
        weight: HealthCheck.Weight,
        code: String
    ) async throws {
        try await withConsole(localName: LocalNameView(hosts: Self.hosts) { standing }) { page in
            let check = try #require(await page.console.health.facts().checks.first { $0.part == "name" })
            #expect(check.weight == weight && check.reason.code == code)
            #expect(weight != .note || !check.action.isEmpty, "and what to do")
            #expect(!check.message.contains("\n"))
            if let host = standing.host { #expect(check.message.contains(host)) }
        }
    }
}
