import Bluetooth
import Glibc
import Locks

/// Exercises both sides of the radio against a real bluetoothd, and says in lines what happens.
enum RadioCheck {
    static let usage = """
        till-radio-check scan  --adapter hci0 --service UUID [--seconds 10]
        till-radio-check echo  --adapter hci0 --service UUID [--count 10] [--size 100] [--links 1] [--seconds 30]
                               [--value-limit 510]
        till-radio-check together --adapter hci0 --service UUID --links 2 [--count 10] [--size 100] [--seconds 60]
        till-radio-check serve --adapter hci1 --service UUID [--seconds 0]

        scan   prints each phone that it hears.
        echo   scans, connects, reads 45 bytes, sends values and waits for each to come back, disconnects, removes the
               phone; `links` times over. Ends with a line that starts with "ok", and exit code 0.
        together  the same with so many phones, all linked at once.
        serve  is the phone: advertises, answers a read with 45 bytes whose first four count the reads, and notifies
               each value back to who wrote it. 0 seconds: until it is ended.
        """

    static func main(_ arguments: [String]) async -> Int32 {
        guard let options = Options(arguments) else {
            say(usage)
            return 64
        }
        switch options.mode {
        case "scan": return await scan(options)
        case "echo": return await EchoRun(options).run()
        case "together": return await TogetherRun(options, phones: options.links).run()
        case "serve": return await serve(options)
        default:
            say(usage)
            return 64
        }
    }

    /// Past the buffer of the C library: who reads a pipe or a file gets each line when it is said.
    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        unsafe write(STDOUT_FILENO, bytes, bytes.count)
    }

    struct Options {
        var mode: String
        var adapter: String?
        var profile: LinkProfile
        var count = 10
        var size = 100
        var links = 1
        /// A phone played by BlueZ drops longer values.
        var valueLimit = 510
        var seconds: Int?
        var busAddress: String?

        init?(_ arguments: [String]) {
            guard let mode = arguments.first, arguments.count % 2 == 1 else { return nil }
            var values: [String: String] = [:]
            for index in stride(from: 1, to: arguments.count, by: 2) { values[arguments[index]] = arguments[index + 1] }
            guard let service = values["--service"].flatMap(BluetoothUUID.init) else { return nil }
            self.mode = mode
            adapter = values["--adapter"]
            busAddress = values["--bus"]
            profile = LinkProfile(service: service)
            count = values["--count"].flatMap { Int($0) } ?? count
            size = values["--size"].flatMap { Int($0) } ?? size
            links = values["--links"].flatMap { Int($0) } ?? links
            valueLimit = values["--value-limit"].flatMap { Int($0) } ?? valueLimit
            seconds = values["--seconds"].flatMap { Int($0) }
            guard size >= 4, size <= 512, count >= 0, links >= 1 else { return nil }
        }
    }

    // MARK: Scan

    private static func scan(_ options: Options) async -> Int32 {
        let central = BluetoothCentral(adapter: options.adapter, busAddress: options.busAddress)
        let heard = Atomic<Int>(0)
        await limited(options.seconds ?? 10) {
            await withDiscardingTaskGroup { group in
                group.addTask { await central.run() }
                group.addTask { for await state in central.states { say("state \(words(state))") } }
                for await state in central.states {
                    guard state.isReady else { continue }
                    do {
                        for try await sighting in central.sightings(of: [options.profile.service]) {
                            heard.add(1, ordering: .relaxed)
                            say("seen \(sighting.address) rssi \(sighting.rssiDBm.map(String.init) ?? "unknown")")
                        }
                    } catch { say("scan ended: \(error)") }
                }
            }
        }
        let count = heard.load(ordering: .relaxed)
        say("\(count > 0 ? "ok" : "nothing") heard \(count)")
        return count > 0 ? 0 : 1
    }

    // MARK: Serve

    private static func serve(_ options: Options) async -> Int32 {
        let echo = EchoService()
        let peripheral = BluetoothPeripheral(
            adapter: options.adapter,
            busAddress: options.busAddress,
            profile: options.profile,
            service: echo
        )
        await peripheral.advertise(Advertisement(services: [options.profile.service]))
        await limited(options.seconds ?? 0) {
            await withDiscardingTaskGroup { group in
                group.addTask { await peripheral.run() }
                group.addTask { for await state in peripheral.states { say("state \(words(state))") } }
                group.addTask {
                    var was = false
                    while !Task.isCancelled {
                        let now = await peripheral.isRegistered()
                        if now != was { say(now ? "serving" : "not serving") }
                        was = now
                        try? await Task.sleep(for: .milliseconds(100))  // Throws only when cancelled.
                    }
                }
            }
        }
        return 0
    }

    /// Runs `body` for so many seconds, for ever if 0.
    static func limited(_ seconds: Int, _ body: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await body() }
            if seconds > 0 {
                group.addTask { try? await Task.sleep(for: .seconds(seconds)) }  // Throws only when cancelled.
            }
            await group.next()
            group.cancelAll()
        }
    }

    static func words(_ state: RadioState) -> String {
        switch state {
        case .ready(let radio): "ready \(radio.name) \(radio.address?.description ?? "")"
        case .unavailable(let reason): "unavailable: \(reason)"
        }
    }
}

/// A phone that says everything back.
private final class EchoService: PeripheralService {
    private struct State {
        var reads: UInt32 = 0
        var channels: [BluetoothAddress: NotificationChannel] = [:]
    }

    private let state = Mutex(State())

    func read(by central: BluetoothAddress) async -> [UInt8] {
        let count = state.withLock { state in
            state.reads += 1
            return state.reads
        }
        RadioCheck.say("read \(count) by \(central)")
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> UInt32($0)) } + (4..<45).map { UInt8($0) }
    }

    func write(_ value: [UInt8], by central: BluetoothAddress) async {
        guard let channel = state.withLock({ $0.channels[central] }) else {
            return RadioCheck.say("write of \(value.count) by \(central), who is not subscribed")
        }
        do throws(BluetoothError) {
            try await channel.notify(value)
        } catch { RadioCheck.say("notify to \(central) failed: \(error)") }
    }

    func subscribed(_ central: BluetoothAddress, _ channel: NotificationChannel) async {
        state.withLock { $0.channels[central] = channel }
        RadioCheck.say("subscribed \(central) \(channel.maximumValueLength) bytes")
    }

    func unsubscribed(_ central: BluetoothAddress) async {
        state.withLock { $0.channels[central] = nil }
        RadioCheck.say("unsubscribed \(central)")
    }
}
