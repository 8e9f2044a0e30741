import FoundationEssentials
public import Journal
import Logging
public import Payments

/// The Connect settings in force.
public struct StoredConnectSettings: Sendable, Equatable {
    public let settings: ConnectSettings
    public let version: Int
}

/// Keeps what the merchant set about wallets over the relay, and gives the station what it works with, at once.
public actor ConnectDesk {
    /// The gateway at an address as a wallet's side speaks to it, under the project; nil where it cannot be used.
    public typealias MakeGateway = @Sendable (_ url: String, _ projectID: String) async -> (any ConnectGateway)?

    let journal: Journal
    public nonisolated let station: ConnectStation
    let desk: ChargeDesk
    private let clock: TerminalClock
    private let allowsPlain: Bool
    private let makeGateway: MakeGateway
    private let turn = Turnstile()
    private static let document = "connect"

    /// Nil before ``load()``.
    public private(set) var current: StoredConnectSettings?

    /// - Parameter allowsPlain: Whether a relay on this machine may be reached without TLS.
    public init(
        journal: Journal,
        desk: ChargeDesk,
        station: ConnectStation,
        clock: TerminalClock,
        allowsPlain: Bool,
        gateway: @escaping MakeGateway
    ) {
        (self.journal, self.desk, self.station, self.clock) = (journal, desk, station, clock)
        (self.allowsPlain, makeGateway) = (allowsPlain, gateway)
    }

    /// Reads what was set earlier and puts it into force. Call once, before charges are taken.
    public func load() async throws(JournalError) {
        await station.serve(desk)
        let stored = try await journal.document(Self.document)
        var settings = ConnectSettings()
        if let stored {
            do { settings = try JSONDecoder().decode(ConnectSettings.self, from: Data(stored.bytes)) } catch {
                throw .corrupt(detail: "the Connect settings cannot be read: \(error)")
            }
        }
        current = StoredConnectSettings(settings: settings, version: stored?.version ?? 0)
        await putIntoForce()
    }

    private func putIntoForce() async {
        guard let settings = current?.settings else { return }
        let make = makeGateway
        await station.use(
            ConnectStation.Setup(
                settings: settings,
                merchantName: await station.merchantName ?? "Till",
                pageAddress: await station.pageAddress
            ) { url in await make(url, settings.projectID) }
        )
    }

    /// Shows at the charge desk how wallets stand, until cancelled.
    public func show() async {
        for await status in await station.statuses() { await desk.setConnect(status) }
    }

    /// What is wrong with a form, by field; empty where it could be saved.
    public func validate(_ form: ConnectForm) -> [String: Reason] {
        do throws(FormErrors) {
            _ = try form.checked(over: current?.settings ?? ConnectSettings(), allowsPlain: allowsPlain)
            return [:]
        } catch { return error.fields }
    }

    /// Checks and stores a form, and puts it into force at once.
    /// - Parameter version: Of the settings that the form was made from; 0: there were none.
    /// - Throws: ``SettingsError``: nothing has changed.
    public func save(
        _ form: ConnectForm,
        replacing version: Int,
        by actor: Actor
    ) async throws(SettingsError) -> StoredConnectSettings {
        await turn.enter()
        defer { turn.leave() }
        guard version == current?.version ?? 0 else { throw .conflict }
        let settings: ConnectSettings
        do throws(FormErrors) {
            settings = try form.checked(over: current?.settings ?? ConnectSettings(), allowsPlain: allowsPlain)
        } catch { throw .invalid(error) }
        do throws(JournalError) {
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(settings)) } catch {
                throw JournalError.unavailable(detail: "the Connect settings cannot be written: \(error)")
            }
            let change = try await journal.setDocument(
                Self.document,
                bytes,
                expecting: version == 0 ? nil : version,
                by: actor,
                at: clock.wallTime()
            )
            if case .stored = change {
                try await load()
                if let current { return current }
            }
        } catch { throw .journal(error) }
        throw .conflict
    }
}
