import FoundationEssentials
import Payments
import WalletConnect

/// How far a wallet's payment has come, as the store keeps it. Written before what follows from it leaves the terminal.
struct ConnectStory: Sendable, Equatable, Codable {
    enum Stage: Sendable, Equatable, Codable {
        /// No code yet, after a wallet that has not answered.
        case uninvited
        /// A proposal lies in the mailbox. `uri` is a key.
        case invited(pairing: Topic, uri: String)
        /// What the wallet has to sign, and what of it is there. `request` is with the wallet.
        case asking(ConnectOrder, results: [String], request: String?)
        /// All of it is there. Nothing leaves before the charge's claim.
        case signed(ConnectOrder, results: [String])
    }

    let charge: ChargeID
    let attempt: Attempt.ID
    var stage: Stage
    /// Of an earlier wallet: its answer may still come.
    var open: ConnectOpenRequest?
    /// The relay that it goes over; nil in what older versions wrote.
    var relay: String?

    static let prefix = "connect/"

    static func name(_ charge: ChargeID, _ attempt: Attempt.ID) -> String { "\(prefix)\(charge.rawValue)-\(attempt)" }

    var name: String { Self.name(charge, attempt) }

    /// The sessions and the pairing that it goes on with.
    var topics: [Topic] {
        let open = open.map { [$0.order.session] } ?? []
        switch stage {
        case .uninvited: return open
        case .invited(let pairing, _): return open + [pairing]
        case .asking(let order, _, _), .signed(let order, _): return open + [order.session]
        }
    }

    init(
        charge: ChargeID,
        attempt: Attempt.ID,
        stage: Stage,
        open: ConnectOpenRequest? = nil,
        relay: String? = nil
    ) {
        (self.charge, self.attempt, self.stage) = (charge, attempt, stage)
        (self.open, self.relay) = (open, relay)
    }

    /// Nil for what no version of this program has written.
    init?(_ value: StoredValue) {
        guard let story = try? JSONDecoder().decode(Self.self, from: Data(value.bytes)) else { return nil }
        self = story
    }

    func stored() throws(StorageFailure) -> StoredValue {
        do { return StoredValue(Array(try JSONEncoder().encode(self))) } catch {
            throw StorageFailure(reason: "a wallet's payment cannot be written: \(error)")
        }
    }
}

/// A request that ended without an answer.
struct ConnectOpenRequest: Sendable, Equatable, Codable {
    let order: ConnectOrder
    /// What was there before it.
    let results: [String]
    let request: String

    func isAnswered(by response: SessionResponse) -> Bool {
        response.topic == order.session && response.id.text == request
    }
}

/// What one wallet was asked for: an option of the gateway, and the calls it needs, each checked before it is here.
struct ConnectOrder: Sendable, Equatable, Codable {
    struct Call: Sendable, Equatable, Codable {
        let chain: Blockchain
        let method: String
        /// The gateway's JSON, unchanged.
        let params: String
    }

    let session: Topic
    let wallet: String
    let account: Account
    /// The gateway's name for the payment, and for the option.
    let payment: String
    let option: String
    let calls: [Call]
}
