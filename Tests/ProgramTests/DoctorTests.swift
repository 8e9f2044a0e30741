import Foundation
import Subprocess
import SystemPackage
import Testing

@testable import Bluetooth
@testable import till

/// What `till doctor radio` makes of a machine, for whoever sets one up.
struct DoctorTests {
    @Test func aGoodMachineHasNothingToMend() throws {
        let machine = try Machine()
        try machine.write("sys/kernel/debug/bluetooth/hci0/hci_version", "11\n")
        try machine.write("sys/kernel/debug/bluetooth/hci0/hci_revision", "382\n")
        try machine.write("sys/kernel/debug/bluetooth/hci0/conn_min_interval", "6\n")
        try machine.write("sys/kernel/debug/bluetooth/hci0/conn_max_interval", "12\n")
        try machine.write("etc/bluetooth/main.conf", Self.wantedSettings)
        try machine.write("proc/412/cmdline", "/usr/libexec/bluetooth/bluetoothd\0--noplugin=battery,hog\0")
        let report = RadioReport(facts: machine.facts, trial: Self.trial)
        #expect(report.isUsable)
        #expect(report.findings.allSatisfy { $0.weight == .good }, "\(report.findings.map(\.line))")
        let words = report.findings.map(\.line).joined(separator: "\n")
        for fact in ["hci0", "btusb", "Bluetooth 5.2", "revision 382", "7.5 to 15 ms", "0.30 s", "-48 dBm", "0.62 s"] {
            #expect(words.contains(fact), "\(fact) in \(words)")
        }
    }

    @Test(arguments: [
        ("General.ControllerMode", "ControllerMode=le", "ControllerMode=dual", "classic"),
        ("GATT.Channels", "Channels=1", "Channels=3", "reorder"),
        ("GATT.Cache", "Cache=no", "#Cache=no", "last week"),
        ("GATT.ExchangeMTU", "ExchangeMTU=517", "ExchangeMTU=23", "smaller pieces"),
        ("Policy.AutoEnable", "AutoEnable=true", "AutoEnable=false", "stays off"),
    ])
    func aSettingThatHurtsIsNamedWithItsConsequence(key: String, wanted: String, found: String, why: String) throws {
        let machine = try Machine()
        try machine.write("etc/bluetooth/main.conf", Self.wantedSettings.replacing(wanted, with: found))
        try machine.write("proc/412/cmdline", "bluetoothd\0--noplugin=battery\0")
        let notes = RadioReport(facts: machine.facts, trial: Self.trial).findings.filter { $0.weight == .note }
        let note = notes.first { $0.text.contains(key) }
        #expect(note?.text.contains(why) == true, "\(notes.map(\.line))")
        #expect(note?.advice != nil)
    }

    @Test func theBatteryPluginIsNamedBecauseItMakesPhonesAskToPair() throws {
        let machine = try Machine()
        try machine.write("proc/412/cmdline", "bluetoothd\0-n\0")
        let findings = RadioReport(facts: machine.facts, trial: Self.trial).findings
        #expect(findings.contains { $0.text.contains("battery plugin") && $0.weight == .note })
    }

    @Test func wiFiOnTheSameChipIsNamed() throws {
        let machine = try Machine()
        let board = "sys/devices/platform/soc/mmc0"
        try machine.write("\(board)/bt/uevent", "")
        try machine.write("\(board)/wifi/uevent", "")
        try machine.write("sys/class/net/wlan0/wireless/status", "")
        try machine.link("sys/class/net/wlan0/device", to: "\(board)/wifi")
        try machine.link("sys/class/bluetooth/hci0/device", to: "\(board)/bt", replacing: true)
        #expect(machine.facts.wifiOnSameChip == "wlan0")
    }

    @Test(arguments: [
        (RadioState.Reason.noDaemon, "systemctl start bluetooth"), (.noAdapter("hci7"), "hci7"),
        (.blocked, "rfkill unblock"), (.poweredOff, "power on"),
    ])
    func withoutARadioItSaysWhatToDoAndThatCodesGoOn(reason: RadioState.Reason, cure: String) throws {
        let report = RadioReport(facts: try Machine().facts, trial: RadioTrial(state: .unavailable(reason)))
        #expect(!report.isUsable)
        let words = report.findings.map(\.line).joined(separator: "\n")
        #expect(
            words.contains("PROBLEM") && words.contains(cure) && words.contains("QR code are not affected"),
            "\(words)"
        )
    }

    @Test(arguments: ["soft", "hard"])
    func aSwitchThatHoldsTheRadioOffIsNamedWhateverBluetoothdSays(position: String) throws {
        let machine = try Machine()
        try machine.write("sys/class/bluetooth/hci0/rfkill3/soft", position == "soft" ? "1\n" : "0\n")
        try machine.write("sys/class/bluetooth/hci0/rfkill3/hard", position == "hard" ? "1\n" : "0\n")
        let state = RadioState.unavailable(.refused("org.bluez.Error.Failed"))
        let words = RadioReport(facts: machine.facts, trial: RadioTrial(state: state)).findings.map(\.line)
        #expect(words[0].contains("rfkill unblock") && !words[0].contains("docs/bluetooth.md"), "\(words)")
    }

    @Test func noPhoneInSightIsNoFaultOfTheMachine() throws {
        var trial = Self.trial
        (trial.firstSeen, trial.phones, trial.strongest, trial.connect) = (nil, 0, nil, nil)
        let report = RadioReport(facts: try Machine().facts, trial: trial)
        #expect(report.isUsable)
        #expect(report.findings.last?.advice?.contains("Open the payment app") == true)
    }

    /// The command itself on this machine, which has no radio: it says so and ends with an error a script can see.
    @Test(
        .enabled(
            if: !FileManager.default.fileExists(atPath: "/sys/class/bluetooth/hci0"),
            "this machine has a radio of its own"
        )
    )
    func aMachineWithoutARadioIsTold() async throws {
        let result = try await Subprocess.run(
            .path(Programs.directory.appending("till")),
            arguments: ["doctor", "radio", "--seconds", "1"],
            output: .string(limit: 1 << 16),
            error: .string(limit: 1 << 16)
        )
        #expect(result.terminationStatus == .exited(74))
        #expect(result.standardOutput.contains("PROBLEM  Phones cannot be met"), "\(result)")
    }

    private static let wantedSettings = """
        [General]
        ControllerMode=le
        [GATT]
        Cache=no
        Channels=1
        ExchangeMTU=517
        [Policy]
        AutoEnable=true
        """

    private static let trial: RadioTrial = {
        var times = Bluetooth.Link.Times()
        (times.connect, times.resolve) = (.milliseconds(40), .milliseconds(580))
        return RadioTrial(
            state: .ready(RadioState.Radio(name: "hci0", address: nil)),
            scanned: .seconds(5),
            firstSeen: .milliseconds(300),
            phones: 1,
            strongest: -48,
            connect: times
        )
    }()

    /// A folder that stands for the machine's file system.
    private final class Machine {
        let root: String

        init() throws {
            root = NSTemporaryDirectory() + "till-doctor-\(UUID().uuidString)"
            try write("sys/devices/usb1/1-1/uevent", "")
            try write("sys/bus/usb/drivers/btusb/bind", "")
            try link("sys/class/bluetooth/hci0/device", to: "sys/devices/usb1/1-1")
            try link("sys/devices/usb1/1-1/driver", to: "sys/bus/usb/drivers/btusb")
        }

        deinit {
            do { try FileManager.default.removeItem(atPath: root) } catch { Issue.record("left behind: \(root)") }
        }

        var facts: RadioFacts { RadioFacts.gather(adapter: "hci0", root: root) }

        func write(_ path: String, _ text: String) throws {
            let url = URL(filePath: "\(root)/\(path)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: url)
        }

        func link(_ path: String, to target: String, replacing: Bool = false) throws {
            let url = URL(filePath: "\(root)/\(path)")
            if replacing { try FileManager.default.removeItem(at: url) }
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: "\(root)/\(target)")
        }
    }
}
