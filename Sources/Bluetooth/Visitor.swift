import DBus
import Synchronization

/// What a central did.
enum Arrival: Sendable {
    case read(MethodCall, offset: Int)
    case write([UInt8])
    case subscribe(NotificationChannel)
    /// The pipe for its notifications was closed.
    case unsubscribe(PacketPipe)
}

/// Sorts what centrals did, by central. Filled on the connection's thread, which does not wait.
final class Arrivals: Sendable {
    /// More centrals at once than any radio holds: beyond them the longest known is let go.
    private static let limit = 16

    private let state = Mutex<[(central: BluetoothAddress, visitor: Visitor)]>([])
    let visitors: AsyncStream<Visitor>
    private let newVisitor: AsyncStream<Visitor>.Continuation

    init() { (visitors, newVisitor) = AsyncStream.makeStream(of: Visitor.self) }

    func add(_ arrival: Arrival, from central: BluetoothAddress) {
        state.withLock { known in
            if let visitor = known.first(where: { $0.central == central })?.visitor {
                visitor.continuation.yield(arrival)
                return
            }
            if known.count >= Self.limit { known.removeFirst().visitor.continuation.finish() }
            let visitor = Visitor(central)
            known.append((central, visitor))
            visitor.continuation.yield(arrival)
            newVisitor.yield(visitor)
        }
    }
}

/// One central, as long as it is known.
final class Visitor: Sendable {
    private let central: BluetoothAddress
    private let arrivals: AsyncStream<Arrival>
    let continuation: AsyncStream<Arrival>.Continuation

    init(_ central: BluetoothAddress) {
        self.central = central
        // Some values are kept for a slow service; those of a flood are lost, which the framing above finds.
        (arrivals, continuation) = AsyncStream.makeStream(of: Arrival.self, bufferingPolicy: .bufferingOldest(4_096))
    }

    func serve(with service: any PeripheralService, _ all: Arrivals) async {
        await withDiscardingTaskGroup { group in
            var value: [UInt8] = []
            var channel: NotificationChannel?
            for await arrival in arrivals {
                switch arrival {
                case .read(let call, let offset):
                    if offset == 0 { value = await service.read(by: central) }
                    if offset <= value.count, value.count <= 512 {
                        call.answer([.bytes(Array(value[offset...]))])
                    } else {
                        call.refuse("org.bluez.Error.InvalidOffset")
                    }
                case .write(let value): await service.write(value, by: central)
                case .subscribe(let new):
                    if channel != nil { await service.unsubscribed(central) }
                    channel?.pipe.close()
                    channel = new
                    await service.subscribed(central, new)
                    group.addTask { await self.watch(new.pipe) }
                case .unsubscribe(let pipe):
                    guard channel?.pipe === pipe else { continue }
                    channel = nil
                    await service.unsubscribed(central)
                }
            }
            channel?.pipe.close()
            if channel != nil { await service.unsubscribed(central) }
            group.cancelAll()
        }
    }

    private func watch(_ pipe: PacketPipe) async {
        do {
            for try await _ in pipe.packets {}  // bluetoothd writes nothing here; only the end is of interest.
        } catch {
            // Flooded, by a bluetoothd that should say nothing: as good as the end.
        }
        pipe.close()
        continuation.yield(.unsubscribe(pipe))
    }
}
