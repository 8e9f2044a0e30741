import Bluetooth
import Locks

/// The terminal's part with several phones: all links are up before the first value is sent on any.
struct TogetherRun {
    private enum Failure: Error {
        case tooFewPhones(Int), wrongHello(Int), wrongEcho(BluetoothAddress, Int), ended(Int)
    }

    private let options: RadioCheck.Options
    private let phones: Int
    private let central: BluetoothCentral
    private let success = SuccessFlag()

    private final class SuccessFlag: Sendable { let isSure = Atomic(false) }

    init(_ options: RadioCheck.Options, phones: Int) {
        (self.options, self.phones) = (options, phones)
        central = BluetoothCentral(adapter: options.adapter, busAddress: options.busAddress)
    }

    func run() async -> Int32 {
        let run = self
        await RadioCheck.limited(options.seconds ?? 60) {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await run.central.run() }
                group.addTask {
                    do {
                        try await run.exchangeWithAll()
                        run.success.isSure.store(true, ordering: .releasing)
                    } catch { RadioCheck.say("failed: \(error)") }
                }
                await group.next()
                group.cancelAll()
            }
        }
        guard success.isSure.load(ordering: .acquiring) else { return 1 }
        RadioCheck.say("ok phones \(phones) values \(options.count) of \(options.size) bytes each")
        return 0
    }

    private func exchangeWithAll() async throws {
        for await state in central.states where state.isReady { break }
        var links: [Link] = []
        do {
            for address in try await find() { links.append(try await central.connect(to: address, options.profile)) }
            RadioCheck.say("linked to \(links.count) at once")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, link) in links.enumerated() {
                    group.addTask { try await exchange(link, mark: UInt8(number)) }
                }
                try await group.waitForAll()
            }
        } catch {
            for link in links { await link.close() }
            throw error
        }
        for link in links { await link.close() }
        RadioCheck.say("known \(await central.knownPhones())")
    }

    private func find() async throws -> [BluetoothAddress] {
        var found: [BluetoothAddress] = []
        for try await sighting in central.sightings(of: [options.profile.service])
        where !found.contains(sighting.address) {
            found.append(sighting.address)
            if found.count == phones { return found }
        }
        throw Failure.tooFewPhones(found.count)
    }

    /// Each phone gets values of its own: one that arrives at the other is a wrong echo.
    private func exchange(_ link: Link, mark: UInt8) async throws {
        let hello = try await link.read()
        guard hello.count == 45 else { throw Failure.wrongHello(hello.count) }
        var fragments = link.fragments.makeAsyncIterator()
        let size = min(options.size, link.maximumValueLength)
        for number in 0..<options.count {
            let value = [mark, UInt8(truncatingIfNeeded: number)] + [UInt8](repeating: mark, count: size - 2)
            try await link.send(value)
            guard let back = try await fragments.next() else { throw Failure.ended(number) }
            guard back == value else { throw Failure.wrongEcho(link.address, number) }
        }
    }
}
