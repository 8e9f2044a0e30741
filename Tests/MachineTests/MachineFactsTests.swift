import Foundation
import Machine
import Testing

/// What the machine says of itself, from files that look like the kernel's.
struct MachineFactsTests {
    let root = NSTemporaryDirectory() + "till-machine-\(UUID().uuidString)"

    private func write(_ files: [String: String]) throws {
        for (path, text) in files {
            let file = URL(fileURLWithPath: root + path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: file)
        }
    }

    private func gather(_ files: [String: String]) throws -> MachineFacts {
        defer { try? FileManager.default.removeItem(atPath: root) }  // Of a test: a rest does no harm.
        try write(files)
        return MachineFacts.gather(root: root, folder: NSTemporaryDirectory())
    }

    @Test func aBoardTellsItsModelMemoryHeatAndWear() throws {
        let facts = try gather([
            "/proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.5\0",
            "/proc/sys/kernel/osrelease": "6.1.0-rpi7-rpi-v8\n",
            "/proc/uptime": "93784.21 350000.00\n",
            "/proc/meminfo": "MemTotal:         931000 kB\nMemFree:  1 kB\nMemAvailable:     500000 kB\n",
            "/sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
            "/sys/class/thermal/thermal_zone0/temp": "61337\n",
            "/sys/block/mmcblk0/device/life_time": "0x02 0x01\n",
            "/sys/block/mmcblk0/device/pre_eol_info": "0x01\n",
            "/sys/block/mmcblk0boot0/device/life_time": "0x0b 0x0b\n",
            "/sys/devices/platform/soc/soc:firmware/get_throttled": "50005\n",
            "/sys/class/bluetooth/hci0/rfkill1/soft": "1\n",
            "/sys/class/bluetooth/hci0/rfkill1/hard": "0\n",
            "/sys/class/bluetooth/hci0:11/type": "x",
        ])
        #expect(facts.model == "Raspberry Pi 4 Model B Rev 1.5" && facts.kernel == "6.1.0-rpi7-rpi-v8")
        #expect(facts.uptimeSeconds == 93784)
        #expect(facts.memory == .init(totalBytes: 931_000 * 1024, availableBytes: 500_000 * 1024))
        #expect(facts.temperatures == [.init(place: "cpu-thermal", milliCelsius: 61337)])
        #expect(facts.wear == [.init(device: "mmcblk0", usedPercent: 20, isNearItsEnd: false)])
        #expect(facts.slowdown == .init(isNow: true, wasEver: true, isUnderVoltage: true))
        #expect(facts.radios == [.init(name: "hci0", driver: nil, isBlocked: true)])
        #expect((facts.storage?.totalBytes ?? 0) > (facts.storage?.freeBytes ?? 0))
    }

    @Test func aMachineThatSaysNothingIsNotSaidToBeWell() throws {
        let facts = try gather([:])
        #expect(facts.memory == nil && facts.uptimeSeconds == nil && facts.model == nil)
        #expect(facts.wear.isEmpty && facts.temperatures.isEmpty && facts.radios.isEmpty)
        #expect(facts.slowdown == .init())
        #expect(MachineFacts.gather(root: root, folder: root + "/none").storage == nil)
    }

    @Test(arguments: [
        ["/proc/meminfo": "MemTotal: -5 kB\nMemAvailable: 9223372036854775807 kB\n"],
        ["/proc/meminfo": "MemTotal: 10 kB\nMemAvailable: 20 kB\n"],
        ["/proc/meminfo": String(repeating: "x", count: 70_000)],
        ["/sys/class/thermal/thermal_zone0/temp": "999999999\n"],
        ["/sys/class/thermal/thermal_zone0/temp": "hot\n"],
        ["/sys/block/mmcblk0/device/life_time": "0xff\n", "/sys/block/mmcblk0/device/pre_eol_info": "0x00\n"],
        ["/proc/uptime": "inf 1\n"], ["/proc/uptime": "\n"],
    ]) func nonsenseIsNotTakenForAFact(files: [String: String]) throws {
        let facts = try gather(files)
        #expect(facts.memory == nil && facts.temperatures.isEmpty && facts.wear.isEmpty && facts.uptimeSeconds == nil)
    }

    @Test func aProcessorThatIsHeldBackIsSeen() throws {
        var facts = try gather([
            "/sys/class/thermal/cooling_device0/type": "cpufreq-cpu0\n",
            "/sys/class/thermal/cooling_device0/cur_state": "0\n",
            "/sys/class/thermal/cooling_device1/type": "pwm-fan\n",
            "/sys/class/thermal/cooling_device1/cur_state": "3\n",
        ])
        #expect(facts.slowdown.isNow == false)
        facts = try gather([
            "/sys/class/thermal/cooling_device0/type": "cpufreq-cpu0\n",
            "/sys/class/thermal/cooling_device0/cur_state": "2\n",
            "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "7\n",
        ])
        #expect(facts.slowdown.isNow == true && facts.slowdown.wasEver == true)
    }

    @Test func versionsAreThoseOfInstalledPackages() throws {
        defer { try? FileManager.default.removeItem(atPath: root) }  // Of a test: a rest does no harm.
        try write([
            "/var/lib/dpkg/status": """
            Package: bluez
            Status: install ok installed
            Version: 5.66-1+deb12u2
            Description: one
             Version: 9.9

            Package: avahi-daemon
            Status: deinstall ok config-files
            Version: 0.8-10

            Package: other
            Status: install ok installed
            Version: 1
            """
        ])
        #expect(PackageVersions.of(["bluez", "avahi-daemon", "none"], root: root) == ["bluez": "5.66-1+deb12u2"])
        #expect(PackageVersions.of(["bluez"], root: root + "/none") == [:])
    }
}
