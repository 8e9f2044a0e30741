import Ethereum
import Foundation
import Journal
import Locks
import Logging
import Payments
import StrictJSON
import TerminalTestSupport
import Testing
import WalletConnect

@testable import Terminal
@testable import WalletConnectPay

/// What the merchant sets, and what is checked before anything is believed.
@Suite(.timeLimit(.minutes(5)))
struct SettingsTests {
    /// One relay is one text, however it was typed.
    @Test(arguments: [
        ("wss://relay.example", "wss://relay.example"), ("wss://Relay.Example:443/", "wss://relay.example"),
        ("wss://relay.example:8443/", "wss://relay.example:8443"),
        ("wss://relay.example/path", "wss://relay.example/path"),
    ])
    func addressesOfRelaysAreTaken(typed: String, kept: String) throws {
        var form = ConnectForm()
        form.relayURL = typed
        #expect(try form.checked(over: ConnectSettings(), allowsPlain: false).relayURL == kept)
    }

    @Test(arguments: [
        "ws://relay.example", "https://relay.example", "wss://", "wss://user@relay.example", "wss://relay.example?x=1",
        "ws://127.0.0.1:5000", "relay.example", "wss://relay .example",
    ])
    func whatIsNoAddressOfARelayIsRefusedWithWords(url: String) {
        var form = ConnectForm()
        form.relayURL = url
        let error = #expect(throws: FormErrors.self) {
            try form.checked(over: ConnectSettings(), allowsPlain: false)
        }
        #expect(error?.fields["relayURL"]?.code == "relay_invalid")
    }

    @Test func switchedOnItNeedsAProjectAndANetwork() {
        var form = ConnectForm()
        form.isEnabled = true
        form.chains = "bip122:000000000019d6689c085ae165831e93"
        let error = #expect(throws: FormErrors.self) {
            try form.checked(over: ConnectSettings(), allowsPlain: false)
        }
        #expect(error?.fields["projectID"]?.code == "project_invalid")
        #expect(error?.fields["chains"]?.code == "chain_unknown")
    }

    @Test func anEmptyRelayIsTheUsualOneAndNetworksAreKeptInTheirOrder() throws {
        var form = ConnectForm()
        form.relayURL = ""
        form.chains = "eip155:10, eip155:1,eip155:10"
        let settings = try form.checked(over: ConnectSettings(), allowsPlain: false)
        #expect(settings.relayURL == ConnectSettings.usualRelay)
        #expect(settings.chains == ["eip155:10", "eip155:1"])
    }

    @Test func savedSettingsHoldAtOnceAndAfterARestart() async throws {
        let bed = try ConnectTestBed()
        try await bed.play { relay in
            let key = try DeviceKey.loadOrCreate(at: bed.folder + "/device.key")
            let journal = try Journal.open(directory: bed.folder, deviceKey: key)
            let clock = bed.clock.terminalClock
            let logger = Logger(label: "test")
            let desk = ChargeDesk(archive: journal, clock: clock, logger: logger)
            func make() throws -> ConnectDesk {
                ConnectDesk(
                    journal: journal,
                    desk: desk,
                    station: ConnectStation(
                        store: ConnectStore(journal: journal),
                        memory: ConnectRelayMemory(journal: journal),
                        sockets: try ConnectTestBed.plain.get(),
                        clock: clock,
                        logger: logger
                    ),
                    clock: clock,
                    allowsPlain: true
                ) { _, _ in nil }
            }
            let wallets = try make()
            try await wallets.load()
            #expect(await wallets.station.status.light == .off)
            try await withThrowingTaskGroup { group in
                group.addTask { await wallets.station.run() }
                defer { group.cancelAll() }
                var form = ConnectForm()
                form.isEnabled = true
                form.relayURL = "ws://\(relay.host)"
                form.projectID = "0123456789abcdef0123456789ABCDEF"
                let stored = try await wallets.save(form, replacing: 0, by: .staff(name: "owner"))
                #expect(stored.settings.projectID == "0123456789abcdef0123456789abcdef")
                try await bed.until("there is a connection") { await wallets.station.status.light == .ready }
                await #expect(throws: SettingsError.conflict) {
                    try await wallets.save(form, replacing: 0, by: .staff(name: "owner"))
                }
                form.isEnabled = false
                _ = try await wallets.save(form, replacing: stored.version, by: .staff(name: "owner"))
                #expect(await wallets.station.status.light == .off)
                let later = try make()
                try await later.load()
                #expect(await later.current?.settings.relayURL == "ws://\(relay.host)")
                #expect(await later.current?.settings.isEnabled == false)
            }
            try journal.close()
        }
    }

    private static let (key, stranger) = (PrivateKey(), PrivateKey())

    private static func data() throws -> TypedData {
        try PermitTransfer(chainID: 8453, token: .zero, amount: 1, nonce: 1, deadline: 1).typedData()
    }

    /// Whether a wallet's text is taken as its answer to a call of this method.
    private func takes(_ answer: String, to method: String) throws -> ConnectRefusal? {
        let params = ExactJSON.array([.string(Self.key.address.lowercased), .string(try Self.data().json)]).text
        let call = ConnectOrder.Call(chain: try #require(Blockchain("eip155:8453")), method: method, params: params)
        let account = try #require(Account("eip155:8453:\(Self.key.address.checksummed)"))
        do throws(ConnectRefusal) {
            #expect(try ConnectChecks.result(.response(.string(answer)), of: call, by: account) == answer)
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        ("eth_signTypedData_v4", "0x" + String(repeating: "ab", count: 200), true),
        ("eth_signTypedData_v4", "0x" + String(repeating: "ab", count: 65), false),
        ("eth_signTypedData_v4", "0x" + String(repeating: "00", count: 65), false),
        ("eth_signTypedData_v4", "0x" + String(repeating: "ab", count: 64), false),
        ("eth_signTypedData_v4", String(repeating: "ab", count: 66), false),
        ("eth_signTypedData_v4", "0x" + String(repeating: "ａ", count: 130), false),
        ("eth_sendTransaction", "0x" + String(repeating: "ab", count: 32), true),
        ("eth_sendTransaction", "0x" + String(repeating: "ab", count: 65), false),
    ])
    func onlyWhatHasTheFormOfItCountsAsAnAnswer(method: String, answer: String, isTaken: Bool) throws {
        #expect(try takes(answer, to: method) == (isTaken ? nil : .badAnswer))
    }

    @Test func aKeysSignatureMustBeThePayingAccountsOwn() throws {
        let digest = try Self.data().digest
        let own = Self.key.sign(digest)
        #expect(try takes(own.hexadecimal, to: "eth_signTypedData_v4") == nil)
        let zeroBased = "0x" + own.hexadecimal.dropFirst(2).dropLast(2) + (own.v == 27 ? "00" : "01")
        #expect(try takes(zeroBased, to: "eth_signTypedData_v4") == nil)
        let strangers = Self.stranger.sign(digest).hexadecimal
        #expect(try takes(strangers, to: "eth_signTypedData_v4") == .otherSigner)
        let older = Self.key.sign(keccak256("another order")).hexadecimal
        #expect(try takes(older, to: "eth_signTypedData_v4") != nil)
    }

    @Test func everythingInTheProposalIsOptionalAndOfTheChosenNetworks() throws {
        let proposal = ConnectChecks(chains: ["eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"]).proposal
        #expect(proposal["eip155"]?.chains?.map(\.absoluteString) == ["eip155:8453"])
        #expect(proposal["eip155"]?.methods == ["eth_signTypedData_v4", "eth_sendTransaction"])
        #expect(proposal.count == 1, "nothing is proposed that nobody here could read")
    }

    /// What the gateway says of a payment before a wallet is asked.
    @Test func anAnswerAboutAnotherPaymentThanTheChargesIsRefused() throws {
        var random = SystemRandomNumberGenerator()
        let now = WallTime(millisecondsSince1970: 1_789_587_000_000)
        let terms = ChargeTerms(
            id: ChargeID(at: now, using: &random),
            code: ChargeCode(using: &random),
            amount: Money(minorUnits: 1050, currency: .euro),
            reference: nil,
            merchantID: "m1",
            merchantName: "Coffee Shop",
            operatorID: "op1",
            gatewayURL: "https://gateway.example",
            openedBy: .staff(name: "test"),
            openedAt: now,
            timeLimitSeconds: 300
        )
        func refusal(
            payment: String = "pay_1",
            unit: String = "iso4217/EUR",
            value: String = "1050",
            status: PaymentStatus = .requiresAction
        ) throws -> ConnectRefusal? {
            let found = PaymentOptions(
                paymentID: try #require(PaymentID(payment)),
                info: PaymentInfo(
                    status: status,
                    amount: PayAmount(unit: unit, value: value),
                    expiresAt: terms.deadline.secondsSince1970,
                    merchant: MerchantInfo(name: "Coffee Shop", iconUrl: nil),
                    buyer: nil
                ),
                options: [],
                collectData: nil,
                result: nil
            )
            let offer = Offer(paymentID: "pay_1", link: nil, expiresAt: nil)
            do throws(ConnectRefusal) {
                try ConnectChecks(chains: []).check(found, of: offer, terms)
                return nil
            } catch { return error }
        }
        #expect(try refusal() == nil)
        #expect(try refusal(payment: "pay_2") == .suspicious("another payment"))
        #expect(try refusal(value: "1051")?.reason.code == "connect_suspicious")
        #expect(try refusal(unit: "iso4217/USD")?.reason.code == "connect_suspicious")
        for status: PaymentStatus in [.processing, .succeeded, .failed, .expired, .cancelled, .unrecognised("new")] {
            #expect(try refusal(status: status) == .over)
        }
    }

    @Test func aPairingIsPrintedNowhere() {
        var view = ConnectView()
        view.pairing = "wc:secret@2"
        #expect(!"\(view)".contains("secret"))
        #expect(!String(reflecting: view).contains("secret"))
        var text = ""
        dump(view, to: &text)
        #expect(!text.contains("secret"))
    }
}
