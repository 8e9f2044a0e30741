import Foundation
import Subprocess
import SystemPackage
import Testing

/// A configuration file that is wrong stops the terminal before it starts, and says what to write instead.
struct ConfigurationTests {
    @Test(arguments: [
        ("web: { port: 70000 }", ["web.port", "70000", "0 to 65535"]),
        ("web: { prot: 8443 }", ["web.prot", "no such key"]),
        ("web: { address: everywhere }", ["web.address", "everywhere", "IPv4"]),
        ("web: { securityContact: security@till.test }", ["web.securityContact", "security@till.test", "mailto:"]),
        (#"web: { securityContact: "mailto:a\nExpires: b" }"#, ["web.securityContact", "mailto:"]),
        ("screen: { sink: hologram }", ["screen.sink", "hologram", "framebuffer, drm, png, terminal, none"]),
        ("screen: { rotation: 45 }", ["screen.rotation", "45", "0, 90, 180 or 270"]),
        ("sound: { device: 'file:/etc/till' }", ["sound.device", "file:/etc/till", "none", "plughw:1,0"]),
        ("sound: { device: 'hw:0|sh' }", ["sound.device", "hw:0|sh"]),
        ("sound: { volume: 3 }", ["sound.volume", "no such key"]),
        ("wifi: { managed: maybe }", ["wifi.managed", "maybe", "true or false"]),
        ("screen: { width: wide }", ["screen.width", "wide", "320 to 7680"]),
        ("gateway: { allowLoopbackHTTP: maybe }", ["gateway.allowLoopbackHTTP", "maybe", "true or false"]),
        ("gateway: { linkHosts: pay.test }", ["gateway.linkHosts", "pay.test", "host names"]),
        ("gateway: { hosts: [a b] }", ["gateway.hosts", "host names"]),
        ("gateway: { certificates: own.pem }", ["gateway.certificates", "own.pem", "PEM", "absolute path"]),
        ("gateway: { certificates: /nowhere/own.pem }", ["gateway.certificates", "/nowhere/own.pem", "PEM"]),
        ("gateway: { certificates: '-----BEGIN CERTIFICATE-----' }", ["gateway.certificates", "-----BEGIN", "PEM"]),
        ("relay: { certificates: chain.pem }", ["relay.certificates", "chain.pem", "absolute"]),
        ("shop: { merchantID: m }", ["shop.currency", "EUR or USD."]),
        (
            "shop: { operatorID: o, merchantID: m, merchantName: K, gatewayURL: 'http://pay.test', currency: USD }",
            ["shop.gatewayURL", "http://pay.test", "https://"]
        ), ("shop: { password: secret }", ["shop.password", "no such key"]),
        ("log: { level: loud }", ["log.level", "loud", "debug"]),
        ("state: relative", ["state", "relative", "absolute"]),
        ("web: 8443", ["web", "8443", "keys with values"]), ("{ unclosed", ["the file"]), ("- a list", ["a list"]),
        ("colour: red", ["colour", "no such key"]),
    ])
    func aWrongFileNamesTheKeyTheValueAndWhatIsAllowed(yaml: String, words: [String]) async throws {
        let (status, said) = try await start(Data(yaml.utf8))
        #expect(status == .exited(78))
        for word in words { #expect(said.contains(word), "\(said)") }
    }

    /// What is said of it goes into logs and onto the card.
    @Test(arguments: [
        "shop: { gatewaykey: wcp_live }", "gateway: { gatewayKey: wcp_live }", "shop: wcp_live",
        "shop: { gatewayKey: [wcp_live] }",
        "shop: { operatorID: o, merchantID: m, merchantName: K, gatewayURL: wcp_live, currency: USD }",
        "shop: { merchantName: { wcp_live: 1 } }",
    ])
    func aKeyInTheWrongPlaceIsNotSaid(yaml: String) async throws {
        let (status, said) = try await start(Data(yaml.utf8))
        #expect(status == .exited(78) && !said.contains("wcp_live"), "\(said)")
    }

    @Test func whatIsNoTextIsRefused() async throws {
        let (status, said) = try await start(Data([0xFF, 0xFE, 0x00]))
        #expect(status == .exited(78) && said.contains("UTF-8"))
    }

    @Test func theExampleFileCanBeUsed() async throws {
        let result = try await run(
            .path(Programs.directory.appending("till")),
            arguments: ["check-config", "\(Programs.root)/config/till.yaml"],
            output: .string(limit: 4096),
            error: .string(limit: 4096)
        )
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
    }

    /// Windows' editor saves “UTF-8 with BOM”, with its own line ends, and the card's file may begin with a key.
    @Test(arguments: ["", "# Till\r\n"]) func aFileWithAByteOrderMarkIsReadAsWithoutIt(first: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "till-\(UUID().uuidString).yaml")
        try Data(("\u{FEFF}" + first + "web: { port: 8443 }\r\nscreen: { sink: none }\r\n").utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }  // Of a test: a rest does no harm.
        let result = try await run(
            .path(Programs.directory.appending("till")),
            arguments: ["check-config", file.path()],
            output: .string(limit: 4096),
            error: .string(limit: 4096)
        )
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
    }

    @Test(arguments: [
        ("web: { port: 443 }", "web.port: ‘443’"), ("web: { redirectPort: 8080 }", "web.redirectPort: ‘8080’"),
        ("web: { address: 127.0.0.1 }", "web.address: ‘127.0.0.1’"), ("web: { pages: /srv/page }", "web.pages"),
        ("screen: { sink: terminal }", "screen.sink: ‘terminal’"), ("screen: { sink: drm }", "screen.sink: ‘drm’"),
        ("screen: { path: /dev/fb1 }", "screen.path: ‘/dev/fb1’"), ("state: /srv/till", "state: ‘/srv/till’"),
        ("relay: { certificates: /nowhere/own.pem }", "relay.certificates: ‘/nowhere/own.pem’"),
    ])
    func whatTheApplianceCannotWorkWithIsSaidBeforeItIsUsed(yaml: String, words: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "till-\(UUID().uuidString).yaml")
        try Data(yaml.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }  // Of a test: a rest does no harm.
        func check(_ arguments: [String]) async throws -> (isGood: Bool, said: String) {
            let result = try await run(
                .path(Programs.directory.appending("till")),
                arguments: .init(["check-config", file.path()] + arguments),
                output: .string(limit: 4096),
                error: .string(limit: 4096)
            )
            return (result.terminationStatus.isSuccess, result.standardError)
        }
        #expect(try await check([]).isGood, "elsewhere it can be used")
        let onAppliance = try await check(["--appliance"])
        #expect(!onAppliance.isGood && onAppliance.said.contains(words), "\(onAppliance.said)")
    }

    @Test func checkingAJournalThatIsNotThereSaysSoAndMakesNone() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "till-\(UUID().uuidString)")
        let result = try await run(
            .path(Programs.directory.appending("till")),
            arguments: ["verify-journal", "--state", folder.path()],
            output: .string(limit: 4096),
            error: .string(limit: 4096)
        )
        #expect(result.terminationStatus == .exited(66))
        #expect(result.standardError.contains("no record of payments at \(folder.path())/journal.sqlite"))
        #expect(!FileManager.default.fileExists(atPath: folder.path()))
    }

    private func start(_ bytes: Data) async throws -> (TerminationStatus, String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "till-\(UUID().uuidString).yaml")
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }  // Of a test: a rest does no harm.
        let result = try await run(
            .path(Programs.directory.appending("till")),
            arguments: ["run", "--config", file.path()],
            output: .string(limit: 4096),
            error: .string(limit: 4096)
        )
        return (result.terminationStatus, result.standardError)
    }
}
