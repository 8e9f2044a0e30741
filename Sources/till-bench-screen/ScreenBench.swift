import Glibc
import Screen
import Subprocess

/// How long a charge takes to its pixels on a 1920 × 1080 framebuffer, and how long the plainest way takes that a
/// script would: the `qrencode` program and a copy of its modules into the same memory. Rounds alternate.
enum ScreenBench {
    private static let layout = FramebufferLayout.xrgb8888(PixelSize(width: 1920, height: 1080))

    static func run(rounds: Int) async throws {
        // Memory behind the file, as with a device: no disk takes part.
        let path = "/dev/shm/till-bench-screen-\(getpid())"
        defer { unsafe unlink(path) }
        let started = ContinuousClock.now
        let display = Display(sinks: [try FramebufferSink(path: path, layout: layout)])
        try await display.show(.starting(checkingPayments: 1))
        report("process's first page", [ContinuousClock.now - started])
        let warming = ContinuousClock.now
        await display.warmUp()
        report("warm-up", [ContinuousClock.now - warming])

        var figures = Figures()
        for round in 0..<rounds { try await measure(round, display, path, &figures) }
        report("charge to verified pixels", figures.charge)
        report("  layout, encoding, drawing", figures.render)
        report("  into the framebuffer", figures.push)
        report("  read back and decoded", figures.verify)
        report("one second less", figures.tick)
        report("paid", figures.paid)
        report("qrencode program + copy, not checked", figures.baseline)
        print("resident memory: \(residentMegabytes()) MB")
        await display.close()
    }

    private struct Figures {
        var charge: [Duration] = []
        var render: [Duration] = []
        var push: [Duration] = []
        var verify: [Duration] = []
        var tick: [Duration] = []
        var paid: [Duration] = []
        var baseline: [Duration] = []
    }

    private static func measure(
        _ round: Int,
        _ display: Display,
        _ path: String,
        _ figures: inout Figures
    ) async throws {
        let link = "https://pay.walletconnect.com/?pid=pay_01KAB3D9QJ6Y5ZT8W2N4M\(1000 + round)"
        let amount = "€\(round % 90 + 10).\(round % 90 + 10)"
        var charge = Scene.ChargeView(
            merchantName: "Café Morgenrot",
            amountText: amount,
            link: link,
            waysToPay: [.scan, .tap],
            secondsLeft: 300,
            chargeCode: "K7QM"
        )
        let clock = ContinuousClock()
        try await display.show(.idle(.init(merchantName: "Café Morgenrot", lights: [.init(.scan, .ready)])))
        let asked = clock.now
        let shown = try await display.show(.charge(charge))
        figures.charge.append(clock.now - asked)
        guard shown.qrVerified else { throw BenchError.notVerified }
        figures.render.append(shown.timings.render)
        figures.push.append(shown.timings.push)
        figures.verify.append(shown.timings.verify)

        charge.secondsLeft = 299
        let ticked = clock.now
        try await display.show(.charge(charge))
        figures.tick.append(clock.now - ticked)

        let settled = clock.now
        try await display.show(.paid(.init(merchantName: "Café Morgenrot", amountText: amount, chargeCode: "K7QM")))
        figures.paid.append(clock.now - settled)

        let plain = clock.now
        try await drawPlainly(link, path: path)
        figures.baseline.append(clock.now - plain)
    }

    private enum BenchError: Error { case notVerified, noQrencode }

    /// What a shell script with a small helper does: no layout, no text, no check.
    private static func drawPlainly(_ link: String, path: String) async throws {
        let result = try await Subprocess.run(
            .name("qrencode"),
            arguments: ["-t", "ASCII", "-l", "M", "-m", "4", "-o", "-", link],
            output: .string(limit: 1 << 17)
        )
        // Two characters a module.
        let rows = result.standardOutput.split(separator: "\n").map { Array($0.utf8) }
        guard result.terminationStatus.isSuccess, !rows.isEmpty else { throw BenchError.noQrencode }
        let descriptor = unsafe open(path, O_RDWR)
        defer { close(descriptor) }
        let module = layout.size.height / rows.count
        var line = [UInt32](repeating: 0xFFFFFF, count: module * rows.count)
        for (y, row) in rows.enumerated() {
            for x in line.indices {
                let character = x / module * 2
                line[x] = character < row.count && row[character] == UInt8(ascii: "#") ? 0 : 0xFFFFFF
            }
            for step in 0..<module {
                let offset = (y * module + step) * layout.strideBytes
                unsafe line.withUnsafeBytes { bytes in
                    _ = unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, offset)
                }
            }
        }
    }

    private static func report(_ name: String, _ durations: [Duration]) {
        let sorted = durations.sorted()
        guard let last = sorted.last else { return }
        func milliseconds(_ duration: Duration) -> String {
            let hundredths = Int((duration / .microseconds(10)).rounded())
            return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
        }
        let median = sorted[sorted.count / 2]
        let slow = sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
        print(
            "\(name): p50 \(milliseconds(median)) ms, p99 \(milliseconds(slow)) ms, max \(milliseconds(last)) ms, n \(sorted.count)"
        )
    }

    private static func residentMegabytes() -> Int {
        let descriptor = unsafe open("/proc/self/statm", O_RDONLY)
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 128)
        let count = unsafe text.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        let fields = String(decoding: text.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return 0 }
        return (pages * sysconf(Int32(_SC_PAGESIZE))) >> 20
    }
}
