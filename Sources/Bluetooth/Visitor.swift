import DBus
import Locks

/// What a central did.
enum Arrival: Sendable {
    case read(BluetoothUUID, MethodCall, offset: Int)
    case write(BluetoothUUID, [UInt8])
    case subscribe(BluetoothUUID, NotificationChannel)
    /// The pipe for its notifications was closed.
    case unsubscribe(BluetoothUUID, PacketPipe)
}

/// Sorts what centrals did, by central. Filled on the connection's thread, which does not wait.
final class Arrivals: Sendable {
    /// More centrals at once than any radio holds: beyond them the longest known is let go.
    private static let limit = 16

    private let backlog: Int
    private let state = Mutex<[(central: BluetoothAddress, visitor: Visitor)]>([])
    let visitors: AsyncStream<Visitor>
    private let newVisitor: AsyncStream<Visitor>.Continuation

    /// - Parameter backlog: What is kept of one central for a slow application.
    init(backlog: Int) {
        self.backlog = backlog
        (visitors, newVisitor) = AsyncStream.makeStream(of: Visitor.self)
    }

    func add(_ arrival: Arrival, from central: BluetoothAddress) {
        state.withLock { known in
            if let visitor = known.first(where: { $0.central == central })?.visitor {
                visitor.continuation.yield(arrival)
                return
            }
            if known.count >= Self.limit { known.removeFirst().visitor.continuation.finish() }
            let visitor = Visitor(central, backlog: backlog)
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

    init(_ central: BluetoothAddress, backlog: Int) {
        self.central = central
        // Some values are kept for a slow application; those of a flood are lost, which the framing above finds.
        (arrivals, continuation) = AsyncStream.makeStream(
            of: Arrival.self,
            bufferingPolicy: .bufferingOldest(backlog)
        )
    }

    func serve(with application: any PeripheralApplication) async {
        await withDiscardingTaskGroup { group in
            var values: [BluetoothUUID: [UInt8]] = [:]
            var channels: [BluetoothUUID: NotificationChannel] = [:]
            for await arrival in arrivals {
                switch arrival {
                case .read(let uuid, let call, let offset):
                    if offset == 0 { values[uuid] = await application.read(uuid, by: central) }
                    let value = values[uuid] ?? []
                    if offset <= value.count, value.count <= 512 {
                        call.answer([.bytes(Array(value[offset...]))])
                    } else {
                        call.refuse("org.bluez.Error.InvalidOffset")
                    }
                case .write(let uuid, let value): await application.write(value, to: uuid, by: central)
                case .subscribe(let uuid, let new):
                    if channels[uuid] != nil { await application.unsubscribed(central, from: uuid) }
                    channels[uuid]?.pipe.close()
                    channels[uuid] = new
                    await application.subscribed(central, to: uuid, new)
                    group.addTask { await self.watch(new.pipe, of: uuid) }
                case .unsubscribe(let uuid, let pipe):
                    guard channels[uuid]?.pipe === pipe else { continue }
                    channels[uuid] = nil
                    await application.unsubscribed(central, from: uuid)
                }
            }
            for (uuid, channel) in channels {
                channel.pipe.close()
                await application.unsubscribed(central, from: uuid)
            }
            group.cancelAll()
        }
    }

    private func watch(_ pipe: PacketPipe, of uuid: BluetoothUUID) async {
        do {
            for try await _ in pipe.packets {}  // bluetoothd writes nothing here; only the end is of interest.
        } catch {
            // Flooded, by a bluetoothd that should say nothing: as good as the end.
        }
        pipe.close()
        continuation.yield(.unsubscribe(uuid, pipe))
    }
}
