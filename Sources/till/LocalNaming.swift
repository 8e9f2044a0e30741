import Avahi
import Console
import Foundation
import Journal
import Locks
import Payments
import Terminal

/// The terminal's name in the local network: from the device's identity, remembered, and published while the page is served.
struct LocalNaming: Sendable {
    /// Nil where it is switched off, or nobody else could reach the terminal.
    let publisher: NamePublisher?
    let view: LocalNameView

    private static let document = "local-name"

    private struct Stored: Codable { var number: Int }

    init(_ configuration: Configuration, journal: Journal, clock: TerminalClock) async throws(JournalError) {
        let name = LocalName(identity: journal.deviceIdentity(for: "local name"))
        // Of a terminal that two others hindered nobody has heard: the certificate goes without a third name.
        let hosts = [name.host(1), name.host(2)]
        let (address, isLoopback) = (configuration.webAddress, configuration.webAddress.hasPrefix("127."))
        guard configuration.hasLocalName, !isLoopback, address != "::1" else {
            publisher = nil
            view = LocalNameView(hosts: hosts) { .off }
            return
        }
        let stored = try await journal.document(Self.document)
            .flatMap { try? JSONDecoder().decode(Stored.self, from: Data($0.bytes)) }
        let last = LastNumber(stored?.number ?? 1)
        let publisher = NamePublisher(
            name: name,
            number: last.value,
            addresses: {
                MachineAddresses.answering(on: address).compactMap { interface, text in
                    Int32(exactly: interface).map { LocalAddress(interface: $0, text: text) }
                }
            },
            remember: { number in
                guard last.isNew(number), let bytes = try? JSONEncoder().encode(Stored(number: number)) else { return }
                // What cannot be stored is found out again after the next start.
                _ = try? await journal.setDocument(
                    Self.document,
                    Array(bytes),
                    expecting: .any,
                    by: .terminal,
                    at: clock.wallTime()
                )
            },
            sleep: clock.sleep
        )
        self.publisher = publisher
        view = LocalNameView(hosts: hosts) { LocalNameView.Standing(publisher.standing) }
    }
}

/// Which of the names was stored last.
private final class LastNumber: Sendable {
    private let number: Mutex<Int>

    init(_ number: Int) { self.number = Mutex(number) }

    var value: Int { number.withLock { $0 } }

    func isNew(_ other: Int) -> Bool {
        number.withLock { number in
            defer { number = other }
            return number != other
        }
    }
}

extension LocalNameView.Standing {
    init(_ standing: NameStanding) {
        self =
            switch standing {
            case .asking: .asking
            case .published(let host): .published(host: host)
            case .noNetwork: .noNetwork
            case .noDaemon: .noDaemon
            case .noBus(let text): .noBus(text)
            case .refused(let text): .refused(text)
            case .taken: .taken
            }
    }
}
