public import Bluetooth
public import TapProtocol

/// The machine's Bluetooth as the Tap rail's radio.
public struct BluetoothRadio: TapRadio {
    private let central: BluetoothCentral
    private let clock: TerminalClock

    public init(_ central: BluetoothCentral, clock: TerminalClock) { (self.central, self.clock) = (central, clock) }

    /// Works until cancelled: switches the adapter on, and keeps it.
    public func run() async { await central.run() }

    public func sightings(of services: [ServiceUUID]) -> AsyncThrowingStream<TapSighting, any Error> {
        let wanted = Set(services.compactMap { BluetoothUUID($0.description) })
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: TapSighting.self,
            bufferingPolicy: .bufferingNewest(64)
        )
        let (central, clock) = (central, clock)
        // Ends with its reader: cancelling stops the scan.
        let task = Task {
            do {
                for try await seen in central.sightings(of: wanted) {
                    continuation.yield(
                        TapSighting(
                            address: TapSighting.PhoneAddress(seen.address.description),
                            services: Set(seen.services.compactMap { ServiceUUID($0.description) }),
                            rssi: seen.rssiDBm,
                            txPower: seen.txPowerDBm,
                            at: clock.elapsed()
                        )
                    )
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    public func connect(
        _ phone: TapSighting.PhoneAddress,
        characteristics: TapCharacteristics,
        timers: TapTimers
    ) async throws(TapRadioError) -> any TapConnection {
        guard let address = BluetoothAddress(phone.rawValue),
            let service = BluetoothUUID(characteristics.service.description),
            let read = BluetoothUUID(characteristics.read.description),
            let write = BluetoothUUID(characteristics.write.description),
            let status = BluetoothUUID(characteristics.status.description)
        else { throw .failed("not a Bluetooth address or service") }
        let profile = LinkProfile(service: service, read: read, write: write, notify: status)
        do throws(BluetoothError) {
            let limits = (timers.connect, timers.discover, timers.hello)
            return Connection(link: try await central.connect(to: address, profile, limits: limits))
        } catch { throw TapRadioError(error) }
    }

    public var health: AsyncStream<TapRadioHealth> {
        let states = central.states
        let (stream, continuation) = AsyncStream.makeStream(
            of: TapRadioHealth.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let task = Task {
            for await state in states {
                switch state {
                case .ready: continuation.yield(.ready)
                case .unavailable(.poweredOff): continuation.yield(.off(reason: "the Bluetooth adapter is off"))
                // Staff read it. `till doctor` has the bus's own words.
                case .unavailable(.noBus):
                    continuation.yield(.gone(reason: "the message bus of this machine cannot be reached"))
                case .unavailable(let reason): continuation.yield(.gone(reason: reason.description))
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private struct Connection: TapConnection {
        let link: Link
        var maximumValueLength: Int { link.maximumValueLength }
        var fragments: AsyncThrowingStream<[UInt8], any Error> { link.fragments }

        func readHello() async throws(TapRadioError) -> [UInt8] {
            do throws(BluetoothError) { return try await link.read() } catch { throw TapRadioError(error) }
        }

        func send(_ fragment: [UInt8]) async throws(TapRadioError) {
            do throws(BluetoothError) { try await link.send(fragment) } catch { throw TapRadioError(error) }
        }

        func sendAtOnce(_ fragment: [UInt8]) throws(TapRadioError) -> Bool {
            do throws(BluetoothError) { return try link.sendAtOnce(fragment) } catch { throw TapRadioError(error) }
        }

        func close() async { await link.close() }
    }
}

extension TapRadioError {
    init(_ error: BluetoothError) {
        self =
            switch error {
            case .unavailable(let reason): .unavailable(reason.description)
            case .tooSlow: .timedOut(error.description)
            case .cancelled: .cancelled
            default: .failed(error.description)
            }
    }
}
