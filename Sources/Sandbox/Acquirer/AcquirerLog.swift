import Payments
import StrictJSON
import TapProtocol

/// What was asked of the acquirer, in order, for whoever tests against it. Holds no password, no token and no signature.
struct AcquirerLog: Sendable {
    private struct Entry: Sendable {
        let number: Int
        let at: WallTime
        let endpoint: AcquirerEndpoint
        let payment: String?
        let faults: [String]
        var status: Int?
        var code: String?
        /// What a receipt said.
        var outcome: String?
        var isDropped = false
    }

    /// Older calls are forgotten.
    private static let capacity = 20_000
    private var entries: [Entry] = []
    private var count = 0

    mutating func add(
        _ request: GatewayRequest,
        _ route: AcquirerRoute,
        _ payment: String?,
        _ faults: [AcquirerFault],
        at now: WallTime
    ) -> Int {
        count += 1
        if entries.count == Self.capacity { entries.removeFirst(Self.capacity / 2) }
        entries.append(
            Entry(
                number: count,
                at: now,
                endpoint: route.endpoint,
                payment: payment,
                faults: faults.map(\.effect.name)
            )
        )
        return count
    }

    /// Notes what became of a call. `reply` is nil for one whose answer was dropped.
    mutating func finish(_ number: Int, _ reply: AcquirerReply?) {
        let index = entries.count - 1 - (count - number)
        guard entries.indices.contains(index) else { return }
        guard let reply else {
            entries[index].isDropped = true
            return
        }
        entries[index].status = reply.status
        switch reply.content {
        case .json(let json): entries[index].code = json["code"]?.stringValue
        case .receipt(let receipt): entries[index].outcome = "\(receipt.payload.status)"
        }
    }

    var json: ExactJSON {
        .array(
            entries.map { entry in
                .members([
                    "number": .integer(entry.number), "at": .integer(entry.at.millisecondsSince1970),
                    "endpoint": .string(entry.endpoint.rawValue), "paymentId": .text(entry.payment),
                    "status": entry.status.map { .integer($0) } ?? .null, "code": .text(entry.code),
                    "outcome": .text(entry.outcome), "dropped": .bool(entry.isDropped),
                    "faults": .array(entry.faults.map(ExactJSON.string)),
                ])
            }
        )
    }
}
