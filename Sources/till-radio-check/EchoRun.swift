import Bluetooth
import Locks

/// The terminal's part: as many links as asked for, one after another.
struct EchoRun {
    private let options: RadioCheck.Options
    private let central: BluetoothCentral

    init(_ options: RadioCheck.Options) {
        self.options = options
        central = BluetoothCentral(
            adapter: options.adapter,
            busAddress: options.busAddress,
            valueLimit: options.valueLimit
        )
    }

    private final class Success: Sendable { let isSure = Atomic(false) }

    private enum Failure: Error { case noPhone, wrongHello(Int), wrongEcho(Int), linkEnded(Int), outOfTime(Int) }

    func run() async -> Int32 {
        let success = Success()
        let (options, central) = (options, central)
        await RadioCheck.limited(options.seconds ?? 30) {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await central.run() }
                group.addTask {
                    for await state in central.states { RadioCheck.say("state \(RadioCheck.words(state))") }
                }
                group.addTask {
                    do {
                        for number in 1...options.links { try await link(number) }
                        success.isSure.store(true, ordering: .releasing)
                    } catch { RadioCheck.say("failed: \(error)") }
                }
                // The links' end, in success and in failure; the others only end when cancelled.
                await group.next()
                group.cancelAll()
            }
        }
        guard success.isSure.load(ordering: .acquiring) else {
            RadioCheck.say("failed")
            return 1
        }
        RadioCheck.say("ok links \(options.links) values \(options.count) of \(options.size) bytes")
        return 0
    }

    private func link(_ number: Int) async throws {
        for await state in central.states where state.isReady { break }
        let clock = ContinuousClock()
        let start = clock.now
        let address = try await find()
        let found = clock.now
        let link = try await central.connect(to: address, options.profile)
        do {
            let connected = clock.now
            let hello = try await link.read()
            guard hello.count == 45 else { throw Failure.wrongHello(hello.count) }
            let read = clock.now
            let size = min(options.size, link.maximumValueLength)
            let slowest = try await exchange(link, size)
            let exchanged = clock.now
            await link.close()
            let closed = clock.now
            RadioCheck.say(
                """
                link \(number) \(address) value \(link.maximumValueLength) found \(ms(found - start)) \
                stop-scan \(ms(link.times.stopScanning)) connect \(ms(link.times.connect)) \
                resolve \(ms(link.times.resolve)) open \(ms(link.times.open)) all \(ms(connected - found)) \
                read \(ms(read - connected)) echo \(ms(exchanged - read)) slowest \(ms(slowest)) \
                close \(ms(closed - exchanged)) known \(await central.knownPhones()) (ms)
                """
            )
        } catch {
            await link.close()
            throw error
        }
    }

    private func find() async throws -> BluetoothAddress {
        for try await sighting in central.sightings(of: [options.profile.service]) { return sighting.address }
        throw Failure.noPhone
    }

    private func exchange(_ link: Link, _ size: Int) async throws -> Duration {
        var fragments = link.fragments.makeAsyncIterator()
        var slowest = Duration.zero
        let clock = ContinuousClock()
        for number in 0..<options.count {
            let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: UInt32(number) >> UInt32($0)) }
            let value = head + (4..<size).map { UInt8(truncatingIfNeeded: $0) }
            let sent = clock.now
            try await link.send(value)
            guard let back = try await fragments.next() else {
                throw Task.isCancelled ? Failure.outOfTime(number) : Failure.linkEnded(number)
            }
            guard back == value else { throw Failure.wrongEcho(number) }
            slowest = max(slowest, clock.now - sent)
        }
        return slowest
    }

    private func ms(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
}
