import ArgumentParser
import Bluetooth

/// Looks at the machine and says in plain words what would keep it from taking payments.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks the machine and says what to mend.",
        subcommands: [Radio.self]
    )

    struct Radio: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "radio",
            abstract: "Checks Bluetooth: adapter, firmware, settings, and how fast a phone is found."
        )

        @Option(help: "The adapter.") var adapter = "hci0"
        @Option(help: "How many seconds to look for phones, 1 to 60.") var seconds = 5
        @Option(help: "The payment service that phones advertise.")
        var service = "7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9"
        @Flag(help: "Also connect to the first phone, as for a payment.") var connect = false

        func validate() throws {
            guard (1...60).contains(seconds) else { throw ValidationError("--seconds takes 1 to 60.") }
            guard BluetoothUUID(service) != nil else { throw ValidationError("--service takes a UUID.") }
        }

        func run() async throws {
            guard let service = BluetoothUUID(service) else { throw ExitCode(Exit.configuration) }
            let trial = await Self.attempt(adapter, service, .seconds(seconds), connects: connect)
            let report = RadioReport(facts: RadioFacts.gather(adapter: adapter), trial: trial)
            for finding in report.findings { print(finding.line) }
            if !report.isUsable { throw ExitCode(Exit.inputOutput) }
        }

        /// Scans with the terminal's own code, and connects as it would.
        private static func attempt(
            _ adapter: String,
            _ service: BluetoothUUID,
            _ time: Duration,
            connects: Bool
        ) async -> RadioTrial {
            // The terminal may run beside it, and a phone be paying there.
            let central = BluetoothCentral(adapter: adapter, sweeps: false)
            return await withTaskGroup(of: Void.self) { group in
                group.addTask { await central.run() }
                defer { group.cancelAll() }
                let state = await settled(central)
                guard state.isReady else { return RadioTrial(state: state) }
                return await scan(central, state, service, time, connects: connects)
            }
        }

        /// The radio's first word that is more than "starting", for three seconds at most.
        private static func settled(_ central: BluetoothCentral) async -> RadioState {
            await withTaskGroup(of: RadioState?.self) { group in
                group.addTask {
                    var last: RadioState?
                    for await state in central.states {
                        last = state
                        if state.isReady { return state }
                    }
                    return last
                }
                group.addTask {
                    try? await Task.sleep(for: .seconds(3))  // Cancelled where the radio was ready before.
                    return nil
                }
                defer { group.cancelAll() }
                if let state = await group.next() ?? nil { return state }
                group.cancelAll()
                return await group.next().flatMap(\.self) ?? .unavailable(.starting)
            }
        }

        private static func scan(
            _ central: BluetoothCentral,
            _ state: RadioState,
            _ service: BluetoothUUID,
            _ time: Duration,
            connects: Bool
        ) async -> RadioTrial {
            let clock = ContinuousClock()
            let start = clock.now
            let seen = await withTaskGroup(of: [Sighting].self) { group in
                group.addTask {
                    var seen: [Sighting] = []
                    do {
                        for try await sighting in central.sightings(of: [service]) { seen.append(sighting) }
                    } catch {
                        // The radio went; what was seen before still counts.
                    }
                    return seen
                }
                group.addTask {
                    try? await clock.sleep(for: time)  // Cancelled where the radio went before.
                    return []
                }
                var seen = await group.next() ?? []
                group.cancelAll()
                for await more in group { seen += more }
                return seen
            }
            var trial = RadioTrial(state: state, scanned: clock.now - start)
            trial.phones = Set(seen.map(\.address)).count
            trial.firstSeen = seen.first.map { $0.at - start }
            trial.strongest = seen.compactMap(\.rssiDBm).max()
            guard connects, let phone = seen.last?.address else { return trial }
            do throws(BluetoothError) {
                let link = try await central.connect(to: phone, LinkProfile(service: service))
                trial.connect = link.times
                await link.close()
            } catch {
                trial.failure = "\(error)"
            }
            return trial
        }
    }
}
