import ArgumentParser
import Bluetooth
import Foundation
import Journal
import Machine
import Net
import Payments
import Screen
import Terminal
import WalletConnectPay

/// Tries what a payment needs, beside the running terminal. A new version is kept only where this succeeds.
struct SelfTest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "self-test",
        abstract: "Tries what a payment needs: writing down, screen, page, Bluetooth.",
        discussion:
            "Ends with 0 where all of it works, and with 74 where something does not. The terminal runs on meanwhile."
    )

    @Option(help: "The configuration file. Without one the defaults hold.") var config: String?

    func run() async throws {
        let configuration = try ConfigurationFile.load(config)
        let trial = Trial(configuration)
        var isGood = true
        for part in [trial.journal, trial.screen, trial.page, trial.radio] {
            let finding = await part()
            print(finding.line)
            isGood = isGood && finding.weight != .bad
        }
        guard isGood else { throw ExitCode(Exit.inputOutput) }
    }
}

/// The parts of the self-test, each of which says what it found.
struct Trial {
    private let configuration: Configuration
    /// Where the kernel shows its devices.
    private let kernel: String
    /// Made for the test and removed after it, on the disk that holds the record of payments.
    private let folder: String

    init(_ configuration: Configuration, kernel: String = "/sys/class") {
        (self.configuration, self.kernel) = (configuration, kernel)
        folder = configuration.state + "/self-test"
    }

    /// Writes into a journal of its own, closes it, and finds there what it wrote.
    func journal() async -> Finding {
        let files = FileManager.default
        do {
            if files.fileExists(atPath: folder) { try files.removeItem(atPath: folder) }
            try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
            defer { try? files.removeItem(atPath: folder) }  // What stays is removed by the next test.
            let key = try DeviceKey.loadOrCreate(at: folder + "/device.key")
            let written = Array("what was written down".utf8)
            let first = try Journal.open(directory: folder, deviceKey: key)
            _ = try await first.setDocument("self-test", written, expecting: nil, by: .terminal, at: .now)
            try first.close()
            let second = try Journal.open(directory: folder, deviceKey: key)
            let read = try await second.document("self-test")?.bytes
            try second.close()
            guard read == written else {
                return Finding(
                    weight: .bad,
                    text: "What was written down is not there afterwards.",
                    advice: "Take no payments; look at the disk."
                )
            }
            return Finding(weight: .good, text: "What is written down stays.")
        } catch {
            return Finding(
                weight: .bad,
                text: "Nothing can be written down: \(error).",
                advice: "No payment can be taken. Look at the disk's space and health."
            )
        }
    }

    /// Draws a code at the screen's size and reads it back, and asks whether the screen itself can be drawn on. A machine
    /// without any takes payments all the same: that is no fault of the version that runs.
    func screen() async -> Finding {
        var isMissing = false
        if configuration.hasOwnScreen {
            let path =
                switch configuration.ownScreen() {
                case .framebuffer(let path), .card(let path): path
                }
            isMissing = !FileManager.default.fileExists(atPath: path) && !kernelHasScreen
            guard isMissing || FileManager.default.isWritableFile(atPath: path) else {
                return Finding(
                    weight: .bad,
                    text: "The screen \(path) cannot be drawn on.",
                    advice: "Is it named rightly in the configuration, and is this user in the group video?"
                )
            }
        }
        let file = configuration.state + "/self-test.png"
        defer { try? FileManager.default.removeItem(atPath: file) }  // Replaced by the next test.
        do {
            let display = Display(sinks: [try PNGSink(path: file, size: size)])
            let address = "https://till.local:8443/#claim=AAAA-AAAA&cert=" + String(repeating: "A", count: 43)
            let shown = try await display.show(
                .setup(
                    .init(
                        claimAddress: address,
                        addressText: "https://till.local:8443",
                        claimCode: "AAAA-AAAA",
                        fingerprintText: "AA:AA"
                    )
                )
            )
            await display.close()
            guard shown.qrVerified else {
                return Finding(
                    weight: .bad,
                    text: "A code on the screen cannot be read.",
                    advice: "Use a larger screen."
                )
            }
            let text = "A code is drawn at \(size.width) × \(size.height) and can be read."
            return isMissing
                ? Finding(
                    weight: .note,
                    text: "This machine has no screen. \(text)",
                    advice: "Plug one in, or go on without: the page works."
                ) : Finding(weight: .good, text: text)
        } catch {
            return Finding(weight: .bad, text: "The screen cannot be drawn: \(error).")
        }
    }

    /// Whether the kernel has a framebuffer or a graphics card, whoever may draw on it.
    private var kernelHasScreen: Bool {
        [("graphics", "fb"), ("drm", "card")].contains { folder, prefix in
            let found = (try? FileManager.default.contentsOfDirectory(atPath: "\(kernel)/\(folder)")) ?? []
            return found.contains { $0.hasPrefix(prefix) && $0.dropFirst(prefix.count).first?.isNumber == true }
        }
    }

    /// Whether one is plugged in that could show something.
    private var hasPanel: Bool {
        let folder = "\(kernel)/drm/"
        let outputs = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return FileManager.default.fileExists(atPath: "\(kernel)/graphics/fb0")
            || outputs.contains { Self.line("\(folder)\($0)/status") == "connected" }
    }

    private var size: PixelSize {
        let sides = sizeText.split(whereSeparator: { $0 == "," || $0 == "x" }).compactMap { Int($0) }
        guard sides.count == 2, sides.allSatisfy({ (320...7680).contains($0) }) else {
            return PixelSize(width: configuration.screenWidth, height: configuration.screenHeight)
        }
        return PixelSize(width: sides[0], height: sides[1])
    }

    /// As the kernel says it: `1280,800`, or the first mode of the panel that is plugged in, `1280x800`.
    private var sizeText: String {
        guard configuration.hasOwnScreen else { return "" }
        switch configuration.ownScreen() {
        case .framebuffer: return Self.line("\(kernel)/graphics/fb0/virtual_size") ?? ""
        case .card(let path):
            let (folder, card) = ("\(kernel)/drm/", path.split(separator: "/").last.map { $0 + "-" } ?? "")
            let panels = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
            let panel = panels.first { $0.hasPrefix(card) && Self.line(folder + $0 + "/status") == "connected" }
            return panel.flatMap { Self.line(folder + $0 + "/modes") } ?? ""
        }
    }

    private static func line(_ path: String) -> String? {
        FileManager.default.contents(atPath: path)
            .map { String(decoding: $0, as: UTF8.self) }?.split(separator: "\n").first.map(String.init)
    }

    /// Asks the terminal for its page, as a browser would.
    func page() async -> Finding {
        let here = ["0.0.0.0": "127.0.0.1", "::": "127.0.0.1"][configuration.webAddress] ?? configuration.webAddress
        // Without a name browsers reach it by its number. The names may have numbers among them, too.
        let name = configuration.webNames.first { !$0.contains(":") } ?? (here.contains(":") ? "[\(here)]" : here)
        let address = "https://\(name):\(configuration.webPort)/"
        do {
            let transport = HTTPClientTransport(itself: name, at: here)
            let answers: Result<(page: HTTPResponse, health: HTTPResponse), TransportError>
            do throws(TransportError) {
                let page = try await transport.send(HTTPRequest(method: .get, url: address))
                let health = try await transport.send(HTTPRequest(method: .get, url: address + "healthz"))
                answers = .success((page, health))
            } catch { answers = .failure(error) }
            try await transport.shutdown()
            let (page, health) = try answers.get()
            guard page.status == 200 else {
                return Finding(weight: .bad, text: "The page \(address) answers with \(page.status) instead of itself.")
            }
            return finding(health)
        } catch {
            return Finding(
                weight: .bad,
                text: "The page \(address) does not answer: \(error).",
                advice: "See whether till.service runs."
            )
        }
    }

    /// What the terminal says of itself, which is more than that it answers.
    func finding(_ health: HTTPResponse) -> Finding {
        guard health.status == 200 else {
            return Finding(
                weight: .bad,
                text: "The terminal says that it can record no payment.",
                advice: "Look at its log, and at the disk."
            )
        }
        let isDark = String(decoding: health.body, as: UTF8.self).contains(#""screen":"dark""#)
        guard !isDark || !configuration.hasOwnScreen || !hasPanel else {
            return Finding(
                weight: .bad,
                text: "The page answers, and the terminal's screen does not show what it should.",
                advice: "Is it plugged in, and named rightly in the configuration?"
            )
        }
        return Finding(weight: .good, text: "The page answers.")
    }

    /// Asks the message bus and bluetoothd. A machine without an adapter takes payments by code alone, and that is no fault; nor is
    /// one whose adapter never worked here, for lack of its firmware.
    func radio() async -> Finding {
        let radios = MachineFacts.radios()
        // A phone that BlueZ knows may be paying at the terminal just now.
        let central = BluetoothCentral(adapter: configuration.bluetoothAdapter, sweeps: false)
        let state = await withTaskGroup(of: RadioState?.self) { group in
            group.addTask {
                await central.run()
                return nil
            }
            group.addTask {
                for await state in central.states where state != .unavailable(.starting) { return state }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(10))  // Cancelled where an answer came before.
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        return finding(state, radios)
    }

    /// - Parameters:
    ///   - state: What bluetoothd says; nil where it says nothing.
    ///   - radios: The adapters that the kernel shows, those that do not work, too.
    func finding(_ state: RadioState?, _ radios: [MachineFacts.Radio]) -> Finding {
        // The one that worked last, by its place.
        let mark = configuration.state + "/radio.worked"
        let worked = Self.line(mark)
        switch state {
        case .ready(let radio):
            let place = radios.first { $0.name == radio.name }?.place
            // Where it cannot be kept an adapter that fails later is a note instead of a fault.
            if let place, place != worked {
                _ = FileManager.default.createFile(atPath: mark, contents: Data(place.utf8))
            }
            return Finding(weight: .good, text: "Bluetooth answers: \(radio.name).")
        case .unavailable(.noDaemon) where radios.isEmpty, .unavailable(.noAdapter) where radios.isEmpty:
            return Finding(weight: .note, text: "There is no Bluetooth adapter: phones cannot pay, codes can.")
        case .unavailable(.noAdapter) where !radios.contains { $0.place != nil && $0.place == worked }:
            return Finding(
                weight: .note,
                text: "The Bluetooth adapter does not work, and never did here: phones cannot pay, codes can.",
                advice: "It may need firmware that is not there. Another adapter helps."
            )
        case .unavailable(.poweredOff), .unavailable(.blocked):
            return Finding(weight: .note, text: "Bluetooth answers, and is off.")
        case .unavailable(let reason):
            return Finding(weight: .bad, text: "Phones cannot be met: \(reason).", advice: "Run till doctor radio.")
        case nil:
            return Finding(weight: .bad, text: "Bluetooth does not answer.", advice: "Run till doctor radio.")
        }
    }
}
