import Ethereum
import Payments
import StrictJSON

/// What was asked of the gateway, in order, for whoever tests against it. Holds no key and no signature.
struct CallLog: Sendable {
    struct Entry: Sendable {
        /// Counted from 1.
        let number: Int
        let at: WallTime
        let endpoint: Endpoint
        let method: String
        let payment: String?
        let idempotencyKey: String?
        let faults: [String]
        /// The HTTP status that went back; nil while the call is held, and when its answer was dropped.
        var status: Int?
        var code: String?
        var isDropped = false
        /// The payment that a create made, or made before.
        var made: String?
    }

    /// Older calls are forgotten.
    static let capacity = 20_000
    private(set) var entries: [Entry] = []
    private var count = 0

    mutating func add(_ request: GatewayRequest, _ route: Route, _ faults: [Fault], at now: WallTime) -> Int {
        count += 1
        if entries.count == Self.capacity { entries.removeFirst(Self.capacity / 2) }
        entries.append(
            Entry(
                number: count,
                at: now,
                endpoint: route.endpoint,
                method: request.method,
                payment: route.payment,
                idempotencyKey: request.header("Idempotency-Key"),
                faults: faults.map(\.effect.name)
            )
        )
        return count
    }

    /// Notes what became of a call. `answer` is nil for one whose answer was dropped.
    mutating func finish(_ number: Int, _ answer: GatewayAnswer?) {
        let index = entries.count - 1 - (count - number)
        guard entries.indices.contains(index) else { return }
        guard let answer else {
            entries[index].isDropped = true
            return
        }
        entries[index].status = answer.status
        entries[index].code = answer.json["code"]?.stringValue
        if entries[index].endpoint == .create { entries[index].made = answer.json["paymentId"]?.stringValue }
    }

    var json: ExactJSON {
        .array(
            entries.map { entry in
                .members([
                    "number": .integer(entry.number), "at": .string(timestamp(entry.at)),
                    "endpoint": .string(entry.endpoint.rawValue), "method": .string(entry.method),
                    "paymentId": .text(entry.payment ?? entry.made), "idempotencyKey": .text(entry.idempotencyKey),
                    "status": entry.status.map { .integer($0) } ?? .null, "code": .text(entry.code),
                    "dropped": .bool(entry.isDropped), "faults": .array(entry.faults.map(ExactJSON.string)),
                ])
            }
        )
    }
}
