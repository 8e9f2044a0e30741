import FoundationEssentials
import Machine

/// What the machine says of its radio without being asked over the bus: files of the kernel and of bluetoothd.
struct RadioFacts: Sendable, Equatable {
    var adapter: String
    /// The kernel's driver, such as `btusb` or `hci_uart`; nil where the kernel knows no such adapter.
    var driver: String?
    /// The Bluetooth version that the controller speaks, such as `5.2`; nil where the kernel does not tell (not root).
    var version: String?
    /// The controller's own revision number and its maker's number, as the maker counts.
    var revision: String?
    var manufacturer: Int?
    /// What the kernel asks new connections for, in units of 1.25 ms.
    var connectionInterval: ClosedRange<Int>?
    /// In units of 10 ms.
    var supervisionTimeout: Int?
    /// A Wi-Fi interface on the same chip: both share one antenna.
    var wifiOnSameChip: String?
    /// A switch of the machine holds the radio off; bluetoothd only tells that it does not come on.
    var isBlocked = false
    /// bluetoothd's own settings, `Section.Key` to value; nil where the file cannot be read.
    var daemonSettings: [String: String]?
    /// bluetoothd's command line; nil where it does not run.
    var daemonArguments: [String]?

    /// - Parameter root: Stands before every path, for tests.
    static func gather(adapter: String, root: String = "") -> RadioFacts {
        var facts = RadioFacts(adapter: adapter)
        let kernel = "\(root)/sys/class/bluetooth/\(adapter)"
        let debug = "\(root)/sys/kernel/debug/bluetooth/\(adapter)"
        let radio = MachineFacts.radios(root: root).first { $0.name == adapter }
        facts.driver = radio?.driver
        facts.isBlocked = radio?.isBlocked == true
        facts.version = number("\(debug)/hci_version").flatMap { versions[$0] }
        facts.revision = line("\(debug)/hci_revision")
        facts.manufacturer = number("\(debug)/manufacturer")
        if let low = number("\(debug)/conn_min_interval"), let high = number("\(debug)/conn_max_interval"), low <= high
        {
            facts.connectionInterval = low...high
        }
        facts.supervisionTimeout = number("\(debug)/supervision_timeout")
        facts.wifiOnSameChip = wifi(besides: "\(kernel)/device", root: root)
        facts.daemonSettings = line("\(root)/etc/bluetooth/main.conf", whole: true).map(settings)
        facts.daemonArguments = processes(root: root).first { $0.first?.hasSuffix("bluetoothd") == true }
        return facts
    }

    /// Source: Bluetooth Assigned Numbers, Core specification versions.
    private static let versions = [
        6: "4.0", 7: "4.1", 8: "4.2", 9: "5.0", 10: "5.1", 11: "5.2", 12: "5.3", 13: "5.4", 14: "6.0",
    ]

    /// `Section.Key` of an INI file; what is commented out does not count.
    static func settings(_ text: String) -> [String: String] {
        var section = ""
        var found: [String: String] = [:]
        for raw in text.split(whereSeparator: \.isNewline) {
            let line = raw.trimmingPrefix { $0 == " " || $0 == "\t" }
            if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
                section = String(line[line.index(after: line.startIndex)..<end])
            } else if !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") {
                let key = line[..<equals].filter { $0 != " " }
                found["\(section).\(key)"] = String(
                    line[line.index(after: equals)...].trimmingPrefix(while: { $0 == " " })
                )
            }
        }
        return found
    }

    /// A Wi-Fi interface whose device hangs on the same bus position as the radio, such as one SDIO or USB combination chip.
    private static func wifi(besides device: String, root: String) -> String? {
        guard let own = resolve(device).map(parent) else { return nil }
        return names("\(root)/sys/class/net").first { name in
            let interface = "\(root)/sys/class/net/\(name)"
            guard exists("\(interface)/wireless") || exists("\(interface)/phy80211") else { return false }
            return resolve("\(interface)/device").map(parent) == own
        }
    }

    // MARK: - Files

    private static func parent(_ path: String) -> String {
        path.split(separator: "/").dropLast().joined(separator: "/")
    }

    private static func resolve(_ path: String) -> String? {
        exists(path) ? URL(filePath: path).resolvingSymlinksInPath().path : nil
    }

    private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private static func names(_ path: String) -> [String] {
        // None where it cannot be listed: then nothing is claimed.
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    /// Nil where it cannot be read: most of these are for root only.
    private static func line(_ path: String, whole: Bool = false) -> String? {
        guard let data = try? Data(contentsOf: URL(filePath: path)), data.count < 1 << 20 else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        return whole ? text : text.split(whereSeparator: \.isNewline).first.map(String.init)
    }

    private static func number(_ path: String) -> Int? { line(path).flatMap { Int($0) } }

    private static func processes(root: String) -> [[String]] {
        names("\(root)/proc").filter { $0.allSatisfy(\.isNumber) }.compactMap { pid in
            let text = line("\(root)/proc/\(pid)/cmdline", whole: true)
            return text?.split(separator: "\0").map(String.init)
        }
    }
}
