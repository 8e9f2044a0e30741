import Console
import DBus
import Foundation
import Updates

/// The appliance's own updates: RAUC over the system bus, sticks that the image mounts, and a file that has the machine start
/// anew. The terminal may do none of it itself.
struct SystemUpdates: UpdateService {
    let version: String
    let start: String
    private let state: String
    private let address: String
    private let sticksFolder: String
    private let newestFile: String

    /// Nil on a machine that is no appliance.
    /// - Parameter image: Where the image says which version it is.
    init?(
        state: String,
        image: String = "/usr/lib/till/version",
        sticks: String = "/run/till/sticks",
        newest: String = "/var/lib/till-update/newest",
        address: String = BusConnection.systemAddress
    ) {
        guard let version = Self.line(of: image), !version.isEmpty else { return nil }
        self.version = version
        start = Self.line(of: "/proc/sys/kernel/random/boot_id") ?? ""
        (self.state, self.address, sticksFolder, newestFile) = (state, address, sticks, newest)
    }

    var newest: String? { Self.line(of: newestFile) }

    func sticks() -> [UpdateFile] {
        let files = FileManager.default
        var found: [UpdateFile] = []
        for stick in ((try? files.contentsOfDirectory(atPath: sticksFolder)) ?? []).sorted().prefix(8) {
            let folder = "\(sticksFolder)/\(stick)"
            for name in ((try? files.contentsOfDirectory(atPath: folder)) ?? []).sorted() where name.hasSuffix(".raucb")
            {
                let path = "\(folder)/\(name)"
                guard name.utf8.count <= 255, !name.hasPrefix("."), found.count < 20,
                    let facts = try? files.attributesOfItem(atPath: path),
                    facts[.type] as? FileAttributeType == .typeRegular,
                    let bytes = facts[.size] as? NSNumber
                else { continue }
                found.append(UpdateFile(name: name, path: path, bytes: bytes.int64Value))
            }
        }
        return found
    }

    func look(at path: String) async throws(UpdateFault) -> UpdateBundle {
        try await withInstaller { (installer) async throws(UpdateError) in
            let bundle = try await installer.inspect(path)
            guard bundle.compatible == (try await installer.compatible()) else {
                throw .refused(.otherMachine, detail: bundle.compatible)
            }
            return UpdateBundle(compatible: bundle.compatible, version: bundle.version)
        }
    }

    func install(_ path: String, progress: @escaping @Sendable (Int) async -> Void) async throws(UpdateFault) {
        try await withInstaller { (installer) async throws(UpdateError) in
            try await installer.install(path) { await progress($0.percent) }
        }
    }

    func follow(_ tell: @escaping @Sendable (UpdateNews) async -> Void) async {
        while !Task.isCancelled {
            if let bus = try? await BusConnection.open(address: address) {
                let installer = Installer(bus: bus)
                // Whatever ended it, the bus is asked again: a terminal without it goes on.
                try? await installer.follow { news in
                    switch news {
                    case .begun: await tell(.begun)
                    case .progress(let step): await tell(.written(percent: step.percent))
                    case .done:
                        let other = try? await installer.slots().first { !$0.isRunning && !$0.bootName.isEmpty }
                        await tell(.installed(version: other.flatMap { $0.version.isEmpty ? nil : $0.version }))
                    case .failed(let error): await tell(.failed(UpdateFault(error)))
                    }
                }
                bus.close()
            }
            try? await Task.sleep(for: .seconds(10))  // Cancelled where the terminal stops.
        }
    }

    func running() async -> UpdatePlace? {
        let slots = try? await withInstaller { (installer) async throws(UpdateError) in try await installer.slots() }
        return slots?.first(where: \.isRunning).map { UpdatePlace(name: $0.bootName, isGood: $0.isGood == true) }
    }

    func restart() throws(UpdateFault) {
        // The image's till-restart.path waits for it.
        guard FileManager.default.createFile(atPath: state + "/restart.wanted", contents: Data()) else {
            throw .unclear(detail: "the state folder takes no file")
        }
    }

    /// A connection for each question: the service ends by itself while nobody asks.
    private func withInstaller<Answer: Sendable>(
        _ body: (Installer) async throws(UpdateError) -> Answer
    ) async throws(UpdateFault) -> Answer {
        let bus: BusConnection
        do throws(BusError) { bus = try await BusConnection.open(address: address) } catch { throw .noService }
        defer { bus.close() }
        do throws(UpdateError) { return try await body(Installer(bus: bus)) } catch { throw UpdateFault(error) }
    }

    private static func line(of path: String) -> String? {
        guard let data = FileManager.default.contents(atPath: path), data.count <= 200 else { return nil }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").first.map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }
}

extension UpdateFault {
    init(_ error: UpdateError) {
        self =
            switch error {
            case .noService: .noService
            case .busy: .busy
            case .unclear(let detail): .unclear(detail: detail)
            case .refused(let cause, let detail):
                switch cause {
                case .signature: .signature
                case .notWhole: .notWhole
                case .otherMachine: .otherMachine
                case .nobodyMaySign: .nobodyMaySign
                case .notNewer: .notNewer
                case .other: .refused(detail: detail)
                }
            }
    }
}
