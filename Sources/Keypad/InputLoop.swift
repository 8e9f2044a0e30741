import CLinuxInput
import Glibc
import Payments

/// Everything about the devices, on the one thread that waits for them.
///
/// A folder is watched for devices that come; each is asked what it is, kept from everybody else, and read until it goes.
@safe struct InputLoop: ~Copyable {
    private final class Device {
        let path: String
        let descriptor: Int32
        var reader = KeyReader()
        /// While the device types faster than people do: until then nobody looks.
        var rest = Duration.zero

        init(_ path: String, _ descriptor: Int32) { (self.path, self.descriptor) = (path, descriptor) }
        deinit { close(descriptor) }
    }

    private let folder: String
    private let questions: InputQuestions
    private let wake: Int32
    private let report: (KeypadEvent) -> Void
    /// Tells about new files in the folder; -1 while it cannot be watched, and it is looked at every few seconds.
    private var watch: Int32 = -1
    private var devices: [Device] = []
    /// Files that are no keypad, by their own number: they are not opened again each time something else comes.
    private var others: [String: UInt] = [:]
    private var chordSince: Duration?
    private var hasToldChord = false
    private let start = ContinuousClock.now

    /// More keypads than a counter has. The kernel numbers devices; whoever plugs in hundreds gets no further.
    private static let mostDevices = 8
    /// What is read of one device before the others have their turn.
    private static let bytesAtOnce = InputEvent.bytes * 32
    /// How often the folder is looked at, also where it can be watched: rights come later than the file.
    private static let lookEvery = Duration.seconds(5)
    static let chordTime = Duration.seconds(8)

    init(folder: String, questions: InputQuestions, wake: Int32, report: @escaping (KeypadEvent) -> Void) {
        (self.folder, self.questions, self.wake, self.report) = (folder, questions, wake, report)
    }

    deinit { if watch >= 0 { close(watch) } }

    private var now: Duration { start.duration(to: .now) }

    /// Works until the file `wake` can be read.
    mutating func run() {
        var lookAt = Duration.zero
        while true {
            if now >= lookAt {
                look()
                lookAt = now + Self.lookEvery
            }
            watchChord()
            guard let ready = waitForSomething(until: lookAt) else { break }
            if ready.isFolder {
                drainWatch()
                lookAt = .zero
            }
            for device in ready.devices { read(device) }
        }
        devices = []
    }

    // MARK: - Waiting

    private typealias Ready = (isFolder: Bool, devices: [Device])

    /// Nil when it is told to end.
    private mutating func waitForSomething(until end: Duration) -> Ready? {
        let now = now
        let listened = devices.filter { $0.rest <= now }
        var polled = [pollfd(fd: wake, events: Int16(POLLIN), revents: 0)]
        polled.append(pollfd(fd: watch, events: Int16(POLLIN), revents: 0))  // -1 is passed over.
        polled += listened.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        let chordEnd = hasToldChord ? nil : chordSince.map { $0 + Self.chordTime }
        let rests = devices.map(\.rest).filter { $0 > now }
        let next = ([end] + rests + [chordEnd].compactMap(\.self)).min() ?? end
        let milliseconds = Int32(min(max((next - now) / .milliseconds(1), 0), 60_000).rounded(.up))
        let answer = unsafe poll(&polled, nfds_t(polled.count), milliseconds)
        guard answer >= 0 || errno == EINTR else { return nil }
        if polled[0].revents != 0 { return nil }
        let ready = zip(listened, polled.dropFirst(2)).filter { $0.1.revents != 0 }.map(\.0)
        return (polled[1].revents != 0, answer > 0 ? ready : [])
    }

    // MARK: - Devices that come

    private mutating func look() {
        if watch < 0 { beginWatching() }
        guard let names = names() else { return }
        others = others.filter { names.contains($0.key) }
        let known = Set(devices.map(\.path))
        for name in names.sorted() where devices.count < Self.mostDevices {
            let path = "\(folder)/\(name)"
            if !known.contains(path) { open(name, path) }
        }
    }

    private mutating func beginWatching() {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard descriptor >= 0 else { return }
        let mask = UInt32(IN_CREATE | IN_ATTRIB | IN_MOVED_TO)
        guard unsafe inotify_add_watch(descriptor, folder, mask) >= 0 else {
            close(descriptor)
            return
        }
        watch = descriptor
    }

    /// What it says is not looked at: the folder itself is.
    private func drainWatch() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while unsafe Glibc.read(watch, &bytes, bytes.count) > 0 {}
    }

    /// `event0` and its like; nil where the folder is not there, which is so on a machine without any input.
    private func names() -> [String]? {
        guard let folder = unsafe opendir(folder) else { return nil }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while names.count < 256, let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix("event"), UInt16(name.dropFirst(5)) != nil { names.append(name) }
        }
        return names
    }

    private mutating func open(_ name: String, _ path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, [S_IFCHR, S_IFIFO].contains(status.st_mode & S_IFMT) else { return }
        guard others[name] != status.st_ino else { return }
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return }  // Its rights come later; the next look tries again.
        guard questions.isKeypad(descriptor) else {
            others[name] = status.st_ino
            close(descriptor)
            return
        }
        guard questions.grab(descriptor) else {
            close(descriptor)  // Somebody else reads it. Keys that two programs see would be typed twice.
            return
        }
        devices.append(Device(path, descriptor))
        report(.connected(name: questions.name(descriptor)))
    }

    // MARK: - Devices that are there

    private mutating func read(_ device: Device) {
        var bytes = [UInt8](repeating: 0, count: Self.bytesAtOnce)
        let count = unsafe Glibc.read(device.descriptor, &bytes, bytes.count)
        if count < 0, [EAGAIN, EINTR].contains(errno) { return }
        guard count > 0 else { return drop(device) }  // ENODEV: it was unplugged.
        for output in device.reader.take(bytes[..<count], at: now) { tell(output) }
        if device.reader.needsState {
            for output in device.reader.take(state: questions.keysDown(device.descriptor)) { tell(output) }
        }
        // What it types meanwhile the kernel drops, and this thread sleeps.
        device.rest = device.reader.isMuted ? now + .milliseconds(250) : .zero
    }

    private mutating func drop(_ device: Device) {
        devices.removeAll { $0 === device }
        followChord()
        // Half an amount of a keypad that fell off the counter is not an amount.
        report(.lost)
        report(.disconnected)
    }

    private mutating func tell(_ output: KeyReader.Output) {
        switch output {
        case .key(let key): report(.pressed(key))
        case .lost: report(.lost)
        case .chord: followChord()
        }
    }

    // MARK: - Keys held for long

    private mutating func followChord() {
        let isHeld = devices.contains { KeyReader.heldTogether.isSubset(of: $0.reader.down) }
        if !isHeld { (chordSince, hasToldChord) = (nil, false) } else if chordSince == nil { chordSince = now }
    }

    private mutating func watchChord() {
        guard let chordSince, !hasToldChord, now - chordSince >= Self.chordTime else { return }
        hasToldChord = true
        report(.heldForErasing)
    }
}
