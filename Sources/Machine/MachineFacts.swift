import FoundationEssentials
import Glibc

/// What the machine says of itself, read from the kernel's files. What it does not say is nil, and nothing is claimed of it.
public struct MachineFacts: Sendable, Equatable {
    /// Such as `Raspberry Pi 4 Model B Rev 1.5`.
    public var model: String?
    public var kernel: String?
    public var uptimeSeconds: Int?
    public var memory: Memory?
    public var storage: Storage?
    public var wear: [Wear] = []
    public var temperatures: [Temperature] = []
    public var slowdown = Slowdown()
    public var radios: [Radio] = []

    public struct Memory: Sendable, Equatable {
        public var totalBytes: Int
        /// What programs could still take.
        public var availableBytes: Int

        public init(totalBytes: Int, availableBytes: Int) {
            (self.totalBytes, self.availableBytes) = (totalBytes, availableBytes)
        }
    }

    /// Where the journal lies.
    public struct Storage: Sendable, Equatable {
        public var totalBytes: Int
        /// What this program may still write.
        public var freeBytes: Int
        public var isReadOnly: Bool

        public init(totalBytes: Int, freeBytes: Int, isReadOnly: Bool) {
            (self.totalBytes, self.freeBytes, self.isReadOnly) = (totalBytes, freeBytes, isReadOnly)
        }
    }

    /// How much of its life a soldered flash memory has used. SD cards do not say.
    public struct Wear: Sendable, Equatable {
        /// Such as `mmcblk0`.
        public var device: String
        /// In steps of ten, the worse of its two areas: 20 for “10 to 20”. Above 100: beyond what its maker promised.
        public var usedPercent: Int?
        /// Whether it has begun to use up its reserve.
        public var isNearItsEnd: Bool?

        public init(device: String, usedPercent: Int?, isNearItsEnd: Bool?) {
            (self.device, self.usedPercent, self.isNearItsEnd) = (device, usedPercent, isNearItsEnd)
        }
    }

    public struct Temperature: Sendable, Equatable {
        /// The kernel's name for the place, such as `cpu-thermal`.
        public var place: String
        /// Thousandths of a degree Celsius.
        public var milliCelsius: Int

        public init(place: String, milliCelsius: Int) { (self.place, self.milliCelsius) = (place, milliCelsius) }
    }

    /// Whether the processor runs slower than it could, to save itself.
    public struct Slowdown: Sendable, Equatable {
        /// Now; nil where the machine does not say.
        public var isNow: Bool?
        /// Since the machine started.
        public var wasEver: Bool?
        /// Whether the power supply gives too little.
        public var isUnderVoltage: Bool?

        public init(isNow: Bool? = nil, wasEver: Bool? = nil, isUnderVoltage: Bool? = nil) {
            (self.isNow, self.wasEver, self.isUnderVoltage) = (isNow, wasEver, isUnderVoltage)
        }
    }

    /// A Bluetooth adapter that the kernel knows.
    public struct Radio: Sendable, Equatable {
        /// Such as `hci0`.
        public var name: String
        /// Such as `btusb`.
        public var driver: String?
        /// Whether a switch of the machine, or flight mode, holds it off.
        public var isBlocked: Bool?
        /// Where it is plugged in, as the kernel says it: unlike the name it does not depend on which was met first.
        public var place: String?

        public init(name: String, driver: String?, isBlocked: Bool?, place: String? = nil) {
            (self.name, self.driver, self.isBlocked, self.place) = (name, driver, isBlocked, place)
        }
    }

    public init() {}
}

extension MachineFacts {
    /// Reads everything. Some dozens of small files that the kernel keeps in memory: a millisecond or two.
    /// - Parameters:
    ///   - root: Stands before every path of the kernel's, for tests.
    ///   - folder: Where the journal lies; `root` does not stand before it.
    public static func gather(root: String = "", folder: String) -> MachineFacts {
        let files = KernelFiles(root: root)
        var facts = MachineFacts()
        facts.model = files.line("/proc/device-tree/model") ?? files.line("/sys/class/dmi/id/product_name")
        facts.kernel = files.line("/proc/sys/kernel/osrelease")
        facts.uptimeSeconds = files.line("/proc/uptime").flatMap { Double($0.prefix { $0 != " " }) }.flatMap(whole)
        facts.memory = memory(files)
        facts.storage = Storage(of: folder)
        facts.wear = wear(files)
        facts.temperatures = temperatures(files)
        facts.slowdown = slowdown(files)
        facts.radios = radios(files)
        return facts
    }

    /// Bluetooth adapters alone.
    /// - Parameter root: Stands before every path, for tests.
    public static func radios(root: String = "") -> [Radio] { radios(KernelFiles(root: root)) }

    private static func whole(_ number: Double) -> Int? { number.isFinite && abs(number) < 1e12 ? Int(number) : nil }

    /// Source: proc_meminfo(5).
    private static func memory(_ files: KernelFiles) -> Memory? {
        var kilobytes: [Substring: Int] = [:]
        for line in (files.text("/proc/meminfo") ?? "").split(separator: "\n") {
            let parts = line.split(separator: " ")
            if parts.count >= 2 { kilobytes[parts[0]] = Int(parts[1]) }
        }
        guard let total = kilobytes["MemTotal:"], let available = kilobytes["MemAvailable:"],
            (1...(1 << 40)).contains(total), (0...total).contains(available)
        else { return nil }
        return Memory(totalBytes: total * 1024, availableBytes: available * 1024)
    }

    /// Source: Linux, Documentation/driver-api/mmc/mmc-dev-attrs.rst, `life_time`, `pre_eol_info`; JEDEC JESD84-B51,
    /// sections 7.4.20 to 7.4.22: 0x01 is up to 10 % used, 0x0A up to 100 %, 0x0B beyond; 0x01 normal, 0x02 and 0x03 not.
    private static func wear(_ files: KernelFiles) -> [Wear] {
        files.names("/sys/block").filter { $0.hasPrefix("mmcblk") && !$0.contains("boot") }.compactMap { device in
            let used = (files.line("/sys/block/\(device)/device/life_time") ?? "").split(separator: " ")
                .compactMap { KernelFiles.hexadecimal($0) }.filter { (1...11).contains($0) }.max()
            let end = files.line("/sys/block/\(device)/device/pre_eol_info").flatMap {
                KernelFiles.hexadecimal($0[...])
            }
            .flatMap { (1...3).contains($0) ? $0 > 1 : nil }
            guard used != nil || end != nil else { return nil }
            return Wear(device: device, usedPercent: used.map { $0 * 10 }, isNearItsEnd: end)
        }
    }

    /// Source: Linux, Documentation/driver-api/thermal/sysfs-api.rst.
    private static func temperatures(_ files: KernelFiles) -> [Temperature] {
        files.names("/sys/class/thermal").filter { $0.hasPrefix("thermal_zone") }.compactMap { zone in
            guard let value = files.number("/sys/class/thermal/\(zone)/temp"), (-100_000...250_000).contains(value)
            else {
                return nil
            }
            return Temperature(place: files.line("/sys/class/thermal/\(zone)/type") ?? zone, milliCelsius: value)
        }
    }

    /// Source: Linux, sysfs-api.rst, `cooling_device`; Documentation/ABI/testing/sysfs-devices-system-cpu,
    /// `thermal_throttle`; Raspberry Pi documentation, `get_throttled`.
    private static func slowdown(_ files: KernelFiles) -> Slowdown {
        var slowdown = Slowdown()
        for name in files.names("/sys/class/thermal") where name.hasPrefix("cooling_device") {
            let kind = files.line("/sys/class/thermal/\(name)/type") ?? ""
            guard kind.contains("cpufreq") || kind == "Processor",
                let state = files.number("/sys/class/thermal/\(name)/cur_state")
            else { continue }
            slowdown.isNow = slowdown.isNow == true || state > 0
        }
        for kind in ["core", "package"] {
            let path = "/sys/devices/system/cpu/cpu0/thermal_throttle/\(kind)_throttle_count"
            guard let count = files.number(path) else { continue }
            slowdown.wasEver = slowdown.wasEver == true || count > 0
        }
        if let word = files.line("/sys/devices/platform/soc/soc:firmware/get_throttled"),
            let bits = KernelFiles.hexadecimal(word[...])
        {
            slowdown.isUnderVoltage = bits & 0b1 != 0
            slowdown.isNow = slowdown.isNow == true || bits & 0b1110 != 0
            slowdown.wasEver = slowdown.wasEver == true || bits & 0b1111 << 16 != 0
        }
        return slowdown
    }

    /// Source: Linux, Documentation/ABI/stable/sysfs-class-rfkill.
    private static func radios(_ files: KernelFiles) -> [Radio] {
        files.names("/sys/class/bluetooth").filter { $0.hasPrefix("hci") && !$0.contains(":") }.map { name in
            let path = "/sys/class/bluetooth/\(name)"
            let driver = files.target("\(path)/device/driver").flatMap {
                $0.split(separator: "/").last.map(String.init)
            }
            let switches = files.names(path).filter { $0.hasPrefix("rfkill") }
            let blocked = switches.map { each in
                files.number("\(path)/\(each)/soft") == 1 || files.number("\(path)/\(each)/hard") == 1
            }
            return Radio(
                name: name,
                driver: driver,
                isBlocked: blocked.isEmpty ? nil : blocked.contains(true),
                place: files.target(path).map { $0.split(separator: "/").dropLast().joined(separator: "/") }
            )
        }
    }
}

extension MachineFacts.Storage {
    /// Nil where there is no such folder.
    init?(of folder: String) {
        var status = statvfs()
        guard unsafe statvfs(folder, &status) == 0 else { return nil }
        let unit = Int(status.f_frsize)
        self.init(
            totalBytes: Int(clamping: status.f_blocks).multipliedReportingOverflow(by: unit).partialValue,
            freeBytes: Int(clamping: status.f_bavail).multipliedReportingOverflow(by: unit).partialValue,
            isReadOnly: status.f_flag & UInt(ST_RDONLY) != 0
        )
    }
}
