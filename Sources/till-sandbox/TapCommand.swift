import Acquirer
import ArgumentParser
import Bluetooth
import Ethereum
import Foundation
import Glibc
import Net
import Sandbox
import TapProtocol
import WalletConnectPay

/// `till-sandbox wallet tap`: this machine's Bluetooth adapter is a customer's phone.
struct WalletTapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tap",
        abstract: "Be a customer's phone that pays terminals nearby, over this machine's Bluetooth adapter.",
        discussion: """
            It prints one line for each thing that happens. What it must not forget it keeps in --state: without it, a \
            phone that stops in the middle of a payment never learns how it ended.
            Exit codes with --once or --timeout: 0 paid; 1 not paid; 2 not known whether it was paid; 3 declined here; \
            4 nobody asked; 5 paid with a voucher that is not settled yet; 64 wrong usage; 66 the state file cannot be \
            used.
            """
    )

    @Option(help: "The adapter, for example hci1. Without it, the first there is.")
    var adapter: String?

    @Option(help: "The address of the message bus that bluetoothd is on. Without it, the machine's own.")
    var bus: String?

    @Option(help: "The acquirer's address. Without it the phone never has a network.")
    var acquirer: String?

    @Option(help: ArgumentHelp("Who the customer is at the acquirer.", valueName: "login:password"))
    var login = "customer@example.com:customer-password"

    @Option(help: "The service that the merchant configured.")
    var service = ServiceUUID.standard.description

    @Option(help: "The characteristic that terminals write to, where the merchant configured it by itself.")
    var writeUuid: String?

    @Option(help: "The characteristic that the phone answers on, likewise.")
    var statusUuid: String?

    @Option(help: "The characteristic that terminals read first, likewise.")
    var readUuid: String?

    @Option(help: "What the phone has read off a terminal: bpp:1?…")
    var tag: String?

    @Option(help: "The name of an instrument; any number of times, best first: after a decline the next one pays.")
    var instrument: [String] = []

    @Option(
        help: ArgumentHelp("Pre-authorise this on the first instrument that can be.", valueName: "minor-units:currency")
    )
    var voucher: String?

    @Flag(help: "Pay with the voucher even where the acquirer can be reached.")
    var spendVoucher = false

    @Option(help: "A file with a wallet's private key: its account signs where the terminal offers that.")
    var walletKey: String?

    @Option(help: "The WalletConnect Pay gateway's API, to ask what became of a payment that the wallet signed.")
    var gateway: String?

    @Flag(help: "The wallet pays the terminal's payment link itself, over --gateway, where the terminal offers one.")
    var payLink = false

    @Flag(help: "No network, once the phone has its keys and passes.")
    var offline = false

    @Option(help: "Seconds until the network is back.")
    var backOnline: Double?

    @Flag(help: "Decline.")
    var decline = false

    @Flag(help: "Look at the request and never answer it.")
    var never = false

    @Option(help: "Seconds until the customer answers.")
    var slow: Double = 0

    @Option(help: "Seconds until the customer closes the pay screen; a payment that was agreed to goes on.")
    var closeAfter: Double?

    @Option(help: "What the customer does when asked again after a failure: accept, decline or never.")
    var again: String?

    @Option(help: "Minor units, or '10%', or 'preset:0' for the first of the terminal's own choices.")
    var tip: String?

    @Option(help: "Keep what must not be forgotten in this file. It is made where it is missing.")
    var state: String?

    @Option(
        help: ArgumentHelp(
            "Lose the power at a message, for example sent:34: before it leaves, after it has left, or when it comes.",
            valueName: "before|sent|heard:CODE"
        )
    )
    var dieAt: String?

    @Option(help: "Passes that the phone keeps in store, 1 to 32: one for each payment without network.")
    var passes = 4

    @Flag(help: "Begin each line with the time, in seconds since 1970.")
    var times = false

    @Flag(help: "Stop after the first payment.")
    var once = false

    @Option(help: "Stop after this many seconds.")
    var timeout: Double?

    @Flag(help: "For real money. Without it, terminals for real money are refused.")
    var live = false

    func validate() throws { _ = try phoneConfiguration() }

    func run() async throws {
        let transport = try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true))
        let code = await pay(over: transport)
        try? await transport.shutdown()  // Nothing is sent any more, whatever it says.
        if code != .success { throw code }
    }

    private func pay(over transport: HTTPClientTransport) async -> ExitCode {
        let phone: TapPhone
        do {
            phone = try TapPhone(
                try phoneConfiguration(),
                acquirer: try phoneAcquirer(transport),
                gateway: try phoneGateway(transport),
                linkWallet: try linkWallet(transport),
                storage: try state.map { path throws(StateFileError) in try PhoneStateFile(path) },
                onDeath: { _ in kill(getpid(), SIGKILL) },
                log: Self.log(timed: times)
            )
        } catch let error as StateFileError {
            Output.failure("The state file cannot be used: \(error)")
            return ExitCode(66)  // EX_NOINPUT. Source: sysexits.h.
        } catch {
            Output.failure("\(error)")
            return ExitCode(64)  // EX_USAGE. Source: sysexits.h.
        }
        return await run(phone)
    }

    private static func log(timed: Bool) -> @Sendable (PhoneEvent) -> Void {
        guard timed else { return { Output.line($0.description) } }
        return { event in
            var now = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &now)
            let millionths = String(now.tv_nsec / 1000)
            let padding = String(repeating: "0", count: 6 - millionths.count)
            Output.line("\(now.tv_sec).\(padding)\(millionths) \(event)")
        }
    }

    /// The phone, its radio, and the clock; whichever ends first ends all.
    private func run(_ phone: TapPhone) async -> ExitCode {
        guard let profile = try? profile() else { return ExitCode(64) }  // Validated before.
        let air = BluetoothPeripheral(
            adapter: adapter,
            busAddress: bus,
            profile: profile,
            service: PhoneOnAir(phone: phone)
        )
        let patience = timeout
        let closing = closeAfter
        let outcome = await withTaskGroup(of: PhoneOutcome??.self) { group in
            group.addTask { .some(await phone.run()) }
            group.addTask {
                await air.run()
                return nil
            }
            group.addTask {
                for await service in phone.advertisement {
                    let uuid = service.flatMap { BluetoothUUID($0.description) }
                    await air.advertise(uuid.map { Advertisement(services: [$0]) })
                }
                return nil
            }
            group.addTask {
                for await state in air.states { Output.line("Radio     \(state)") }
                return nil
            }
            if let closing {
                group.addTask {
                    try? await Task.sleep(for: .seconds(closing))  // Throws only when cancelled.
                    if !Task.isCancelled { await phone.closePayScreen() }
                    return nil
                }
            }
            if let patience {
                group.addTask {
                    try? await Task.sleep(for: .seconds(patience))  // Throws only when cancelled.
                    if !Task.isCancelled { await phone.end() }
                    return nil
                }
            }
            var outcome: PhoneOutcome?
            for await ended in group {
                guard case .some(let last) = ended else { continue }
                outcome = last
                group.cancelAll()
            }
            return outcome
        }
        switch outcome {
        case .paid: return .success
        case .failed, .notPaid: return .failure
        case .unknown: return ExitCode(2)
        case .declined: return ExitCode(3)
        case nil: return ExitCode(4)
        case .acceptedOffline: return ExitCode(5)
        }
    }
}

/// The radio's events for the phone.
private struct PhoneOnAir: PeripheralService {
    let phone: TapPhone

    func read(by central: BluetoothAddress) async -> [UInt8] { await phone.read(by: central.description) }

    func write(_ value: [UInt8], by central: BluetoothAddress) async {
        await phone.write(value, by: central.description)
    }

    func subscribed(_ central: BluetoothAddress, _ channel: NotificationChannel) async {
        await phone.subscribe(
            central: central.description,
            maximumValueLength: channel.maximumValueLength
        ) { fragment in
            // A link that takes nothing any more is about to be unsubscribed.
            try? await channel.notify(fragment)
        }
    }

    func unsubscribed(_ central: BluetoothAddress) async { await phone.unsubscribe(central: central.description) }
}

// MARK: - What the options say

extension WalletTapCommand {
    private func phoneConfiguration() throws -> PhoneConfiguration {
        var configuration = PhoneConfiguration()
        guard let uuid = ServiceUUID(service) else { throw ValidationError("--service is a UUID of 36 characters") }
        configuration.service = uuid
        _ = try profile()
        if let tag {
            guard let read = TerminalTag(uri: tag) else { throw ValidationError("--tag is what a terminal's tag says") }
            configuration.tag = read
        }
        configuration.environment = live ? .live : .test
        configuration.user = try user()
        if let walletKey { configuration.wallet = try Self.privateKey(inFile: walletKey) }
        if let voucher { configuration.voucherWish = try Self.wish(voucher, instrument.first) }
        configuration.isOnline = !offline && acquirer != nil
        configuration.preparesFirst = true
        configuration.backOnlineAfter = try backOnline.map { try Self.seconds($0, "--back-online") }
        if let dieAt {
            guard let point = KillPoint(dieAt) else {
                throw ValidationError("--die-at is before, sent or heard, a colon, and a message's number")
            }
            configuration.diesAt = point
        }
        configuration.isOnce = once
        guard (1...32).contains(passes) else { throw ValidationError("--passes is 1 to 32") }
        configuration.passCount = passes
        if let timeout { _ = try Self.seconds(timeout, "--timeout") }
        if let closeAfter { _ = try Self.seconds(closeAfter, "--close-after") }
        _ = try credentials()
        return configuration
    }

    /// What the phone holds for terminals. A characteristic that no option names follows from the service.
    private func profile() throws -> LinkProfile {
        func uuid(_ text: String, _ option: String) throws -> BluetoothUUID {
            guard ServiceUUID(text) != nil, let uuid = BluetoothUUID(text) else {
                throw ValidationError("\(option) is a UUID of 36 characters")
            }
            return uuid
        }
        let derived = LinkProfile(service: try uuid(service, "--service"))
        let profile = LinkProfile(
            service: derived.service,
            read: try readUuid.map { try uuid($0, "--read-uuid") } ?? derived.read,
            write: try writeUuid.map { try uuid($0, "--write-uuid") } ?? derived.write,
            notify: try statusUuid.map { try uuid($0, "--status-uuid") } ?? derived.notify
        )
        guard Set([profile.service, profile.read, profile.write, profile.notify]).count == 4 else {
            throw ValidationError("the service and its three characteristics have a UUID each")
        }
        return profile
    }

    private func user() throws -> PhoneUser {
        var user = PhoneUser()
        let delay = try Self.seconds(slow, "--slow")
        guard !(decline && never) else { throw ValidationError("--decline and --never are two different answers") }
        user.answer = never ? .never : decline ? .decline(after: delay) : .accept(after: delay)
        switch again {
        case nil: break
        case "accept": user.secondAnswer = .accept(after: delay)
        case "decline": user.secondAnswer = .decline(after: delay)
        case "never": user.secondAnswer = .never
        default: throw ValidationError("--again is accept, decline or never")
        }
        if let tip { user.tip = try Self.tip(tip) }
        user.instruments = instrument
        user.prefersVoucher = spendVoucher
        guard !payLink || walletKey != nil && gateway != nil && acquirer != nil else {
            throw ValidationError("--pay-link needs --wallet-key, --gateway, and --acquirer for the phone's passes")
        }
        user.means = payLink ? .link : walletKey == nil ? .instruments : .wallet
        return user
    }

    private static func tip(_ text: String) throws -> PhoneUser.Tip {
        if text.hasSuffix("%"), let percent = Int(text.dropLast()), 0...100 ~= percent {
            return .basisPoints(percent * 100)
        }
        if text.hasPrefix("preset:"), let place = Int(text.dropFirst(7)), 0...7 ~= place { return .preset(place) }
        if let units = Int(text), 0...1_000_000_000 ~= units { return .minorUnits(units) }
        throw ValidationError("--tip is minor units, a whole percentage such as 10%, or preset:0")
    }

    private static func wish(_ text: String, _ instrument: String?) throws -> VoucherWish {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let limit = Int(parts[0]), limit > 0, (3...8).contains(parts[1].utf8.count) else {
            throw ValidationError("--voucher is minor units, a colon and a currency, for example 10000:USD")
        }
        let exponents = ["JPY": 0, "KRW": 0, "KWD": 3]
        let currency = String(parts[1])
        return VoucherWish(
            instrumentID: instrument,
            currency: currency,
            exponent: exponents[currency] ?? 2,
            limitTotal: limit
        )
    }

    private static func privateKey(inFile path: String) throws -> PrivateKey {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ValidationError("--wallet-key \(path): there is no such file, or it cannot be read")
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        do throws(PrivateKey.Failure) {
            return try PrivateKey(parsing: text.hasPrefix("0x") ? text : "0x" + text)
        } catch {
            throw ValidationError("--wallet-key \(path): not 64 hexadecimal digits")
        }
    }

    private static func seconds(_ seconds: Double, _ name: String) throws -> Duration {
        guard (0...86_400).contains(seconds) else { throw ValidationError("\(name) is 0 to 86400 seconds") }
        return .milliseconds(Int64(seconds * 1000))
    }

    private func credentials() throws -> (login: String, password: Secret) {
        let parts = login.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { throw ValidationError("--login is LOGIN:PASSWORD") }
        return (String(parts[0]), Secret(String(parts[1])))
    }

    private func phoneAcquirer(_ transport: HTTPClientTransport) throws -> (any PhoneAcquirer)? {
        guard let acquirer else { return nil }
        let (login, password) = try credentials()
        do throws(AcquirerError) {
            let client = try AcquirerClient(baseURL: acquirer, transport: transport)
            return AcquirerOfPhone(client, login: login, password: password)
        } catch {
            throw ValidationError("--acquirer: \(error.summary)")
        }
    }

    private func phoneGateway(_ transport: HTTPClientTransport) throws -> (any PhoneGateway)? {
        try payClient(transport).map { GatewayOfPhone($0) }
    }

    private func linkWallet(_ transport: HTTPClientTransport) throws -> LinkWallet? {
        guard payLink, let walletKey, let client = try payClient(transport) else { return nil }
        let clock = SandboxClock.system
        return LinkWallet(key: try Self.privateKey(inFile: walletKey), client: client, now: clock.now)
    }

    private func payClient(_ transport: HTTPClientTransport) throws -> PayClient? {
        guard let gateway else { return nil }
        do throws(PayError) {
            return try PayClient(
                baseURL: gateway,
                appID: "till-sandbox",
                clientID: "till-sandbox-phone",
                transport: transport
            )
        } catch {
            throw ValidationError("--gateway: '\(gateway)' is no gateway address")
        }
    }
}
