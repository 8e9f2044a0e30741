import Glibc
import Payments
import Testing
import TestSupport

@testable import Paper

/// What is said of a job is no more than the printer let the terminal know.
@Suite(.timeLimit(.minutes(2)))
struct PrinterTests {
    /// Where the printer does what it should there is time, also on a busy machine; what it never does is waited for briefly.
    private static func printer(
        connect: Duration = .seconds(30),
        send: Duration = .seconds(30),
        answer: Duration = .seconds(30),
        closing: Duration = .seconds(30)
    ) -> ReceiptPrinter {
        ReceiptPrinter(limits: .init(connect: connect, send: send, answer: answer, closing: closing)) { _ in true }
    }

    private let printer = Self.printer()
    private let brief = Self.printer(
        connect: .milliseconds(600),
        send: .milliseconds(600),
        answer: .milliseconds(300),
        closing: .milliseconds(300)
    )
    private let forMute = Self.printer(answer: .milliseconds(300))
    private let job = Array("a receipt of some lines\n".utf8)

    private func print(
        _ job: [UInt8],
        on fake: FakePrinter,
        by printer: ReceiptPrinter? = nil
    ) async -> Result<PrintOutcome, PrintFailure> {
        let printer = printer ?? self.printer
        let address = PrinterAddress.network(host: "127.0.0.1", port: fake.port)
        do throws(PrintFailure) { return .success(try await printer.print(job, at: address)) } catch {
            return .failure(error)
        }
    }

    private func isUnclear(_ result: Result<PrintOutcome, PrintFailure>) -> Bool {
        if case .failure(.unclear) = result { true } else { false }
    }

    @Test func aPrinterThatAnswersConfirmsTheJob() async throws {
        let fake = try FakePrinter(.answering(0x00))
        defer { fake.close() }
        #expect(await print(job, on: fake) == .success(.confirmed))
        let ending = try FakePrinter(.answering(0x03))  // The roll comes to its end.
        defer { ending.close() }
        #expect(await print(job, on: ending) == .success(.confirmed))
    }

    @Test func aPrinterThatSaysNothingTookTheJobAndNoMoreIsClaimed() async throws {
        for manner in [FakePrinter.Manner.mute, .chattering(0xFF)] {
            let fake = try FakePrinter(manner)
            defer { fake.close() }
            #expect(await print(job, on: fake, by: forMute) == .success(.delivered), "\(manner)")
        }
        let clinging = try FakePrinter(.clinging)
        defer { clinging.close() }
        #expect(isUnclear(await print(job, on: clinging, by: brief)))
        let fake = try FakePrinter(.mute)
        _ = await print(job, on: fake, by: forMute)
        while fake.jobs.isEmpty { await Task.yield() }
        #expect(fake.jobs == [job + [0x1D, 0x72, 1]])
        fake.close()
    }

    /// However it is written, the address that is connected to decides.
    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "0", "2130706433"])
    func nothingIsSentWhereNoPrinterMayBe(host: String) async throws {
        let fake = try FakePrinter(.answering(0x00))
        defer { fake.close() }
        let printer = ReceiptPrinter { !$0.hasPrefix("127.") && $0 != "0.0.0.0" && $0 != "::1" }
        await #expect(throws: PrintFailure.self) {
            try await printer.print(job, at: .network(host: host, port: fake.port))
        }
        #expect(fake.jobs.isEmpty)
    }

    @Test func aPrinterWithoutPaperPrintedNothingForSure() async throws {
        let fake = try FakePrinter(.answering(0x0C))
        defer { fake.close() }
        #expect(
            await print(job, on: fake) == .failure(.unclear(sentBytes: job.count, of: job.count, "it has no paper"))
        )
    }

    /// Epson's automatic status has four bytes, the fourth with all the bits of an answer.
    private static let ready: [UInt8] = [0x14, 0x00, 0x00, 0x0F]
    private static let noPaper: [UInt8] = [0x18, 0x00, 0x0C, 0x0F]
    private static let coverOpen: [UInt8] = [0x3C, 0x00, 0x00, 0x0F]
    /// Star's has nine, most of them zero.
    private static let star: [UInt8] = [0x23, 0x86, 0, 0, 0, 0, 0, 0, 0]

    /// Status that a printer sends by itself is no answer, whatever zeros it has in it.
    @Test(
        arguments: [
            (noPaper, [], "it has no paper"), (coverOpen, [], "its cover is open"), ([], noPaper, "it has no paper"),
            ([], [0x1C, 0x00, 0x00, 0x00], "it is offline"), ([0x1C, 0x20, 0, 0], [], "it reports a fault"),
            (ready, [0x0C], "it has no paper"), (noPaper, [0x0F], "it has no paper"), (star, [0x0C], "it has no paper"),
        ] as [([UInt8], [UInt8], String)]
    )
    func aPrinterThatCannotPrintConfirmsNothing(status: [UInt8], answer: [UInt8], why: String) async throws {
        let fake = try FakePrinter(.telling(status, then: answer))
        defer { fake.close() }
        let result = await print(job, on: fake, by: forMute)
        #expect(result == .failure(.unclear(sentBytes: job.count, of: job.count, why)), "\(status) \(answer)")
    }

    @Test(
        arguments: [
            (ready, [], PrintOutcome.delivered), (star, [], .delivered), ([], ready, .delivered),
            ([], star, .delivered),
            (ready, [0x00], .confirmed), (noPaper, [0x00], .confirmed),
            (star, [0x03], .confirmed),
            ([], ready + [0x00], .confirmed), ([], [0x11, 0x12, 0x00], .confirmed), ([], [0xFF, 0x00], .delivered),
        ] as [([UInt8], [UInt8], PrintOutcome)]
    )
    func onlyAnAnswerToTheQuestionConfirms(status: [UInt8], answer: [UInt8], outcome: PrintOutcome) async throws {
        let fake = try FakePrinter(.telling(status, then: answer))
        defer { fake.close() }
        #expect(await print(job, on: fake, by: forMute) == .success(outcome), "\(status) \(answer)")
    }

    /// A byte that looks like an answer and comes before the question confirms nothing.
    @Test func whatAPrinterSaysBeforeItIsAskedIsNoAnswer() async throws {
        let fake = try FakePrinter(.telling([0x00], then: []))
        defer { fake.close() }
        var limits = ReceiptPrinter.Limits(connect: .seconds(30), send: .seconds(30), answer: .milliseconds(300))
        (limits.settling, limits.closing) = (.seconds(2), .seconds(30))
        let result = await print(job, on: fake, by: ReceiptPrinter(limits: limits) { _ in true })
        #expect(result == .success(.delivered))
    }

    /// However the network cuts what the printer sends.
    @Test func statusIsUnderstoodInPiecesOfAnyLength() {
        let said = Self.noPaper + Self.star + Self.ready + [0x13, 0x03]
        for length in 1...said.count {
            var talk = PrinterTalk()
            var answers: [UInt8] = []
            for start in stride(from: 0, to: said.count, by: length) {
                if let answer = talk.take(said[start..<min(start + length, said.count)]) { answers.append(answer) }
            }
            #expect(answers == [0x03] && talk.trouble == nil, "\(length)")
        }
    }

    @Test(arguments: [1, 10, 2000])
    func aPrinterThatHangsUpMidwayLeavesItUnknown(after bytes: Int) async throws {
        let fake = try FakePrinter(.hangingUp(after: bytes))
        defer { fake.close() }
        let long = [UInt8](repeating: 0x61, count: 60_000)
        let result = await print(long, on: fake)
        #expect(isUnclear(result), "\(result)")
        if case .failure(let failure) = result {
            #expect(failure.mayHavePrinted && failure.reason.code == "print_unknown")
            #expect(failure.reason.message.contains("The payment is as it was."))
        }
    }

    @Test func aPrinterThatReadsNothingIsGivenUpInTimeAndLeavesItUnknown() async throws {
        let fake = try FakePrinter(.deaf)
        defer { fake.close() }
        let result = await print([UInt8](repeating: 0x61, count: 64_000), on: fake, by: brief)
        #expect(isUnclear(result), "\(result)")
    }

    @Test func wherePrintersAreNotNothingWasPrinted() async throws {
        let gone = try FakePrinter(.mute)
        gone.close()
        let refused = await print(job, on: gone)
        #expect(refused == .failure(.notReached("nobody answers at its address")))
        if case .failure(let failure) = refused { #expect(!failure.mayHavePrinted) }
        for host in ["printer.invalid", "256.256.256.256"] {
            await #expect(throws: PrintFailure.notReached("its name is not known in this network")) {
                try await printer.print(job, at: .network(host: host, port: 9100))
            }
        }
        await #expect(throws: PrintFailure.tooLong(bytes: 65_537)) {
            try await printer.print(
                [UInt8](repeating: 0, count: 65_537),
                at: .network(host: "127.0.0.1", port: gone.port)
            )
        }
    }

    @Test func aPrinterThatTakesNoConnectionIsGivenUpInTime() async throws {
        let full = try FakePrinter(.deaf, accepts: false)
        defer { full.close() }
        var last: Result<PrintOutcome, PrintFailure>?
        for _ in 0..<5 {
            last = await print(job, on: full, by: brief)
            if case .failure(.notReached) = last { break }
        }
        #expect(last == .failure(.notReached("it does not answer")))
    }

    @Test func jobsReachThePrinterOneAfterTheOther() async throws {
        let fake = try FakePrinter(.mute)
        defer { fake.close() }
        await withTaskGroup { group in
            for number in UInt8(0)..<6 { group.addTask { _ = await print([number, number], on: fake, by: forMute) } }
        }
        while fake.jobs.count < 6 { await Task.yield() }
        #expect(Set(fake.jobs.map(\.first)).count == 6)
        #expect(fake.jobs.allSatisfy { $0.count == 5 && $0[0] == $0[1] })
    }
}

/// Printers that the kernel has a driver for.
@Suite(.timeLimit(.minutes(2)))
struct DeviceTests {
    private let printer = ReceiptPrinter(
        limits: .init(connect: .milliseconds(300), send: .milliseconds(500), answer: .milliseconds(200))
    ) { _ in true }
    private let job = Array("a receipt\n".utf8)

    /// A character device whose other end is the test: a terminal line in raw mode.
    private func line() throws -> (master: Int32, path: String) {
        let master = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (number, lock): (Int32, Int32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN of asm-generic/ioctls.h, which Swift does not import.
        let isOpen = unsafe ioctl(master, 0x4004_5431, &lock) == 0 && ioctl(master, 0x8004_5430, &number) == 0
        try #require(master >= 0 && isOpen)
        let path = "/dev/pts/\(number)"
        let slave = unsafe open(path, O_RDWR | O_NOCTTY)
        var mode = termios()
        _ = unsafe tcgetattr(slave, &mode)
        unsafe cfmakeraw(&mode)
        _ = unsafe tcsetattr(slave, TCSANOW, &mode)
        close(slave)
        return (master, path)
    }

    @Test func aDeviceGetsTheJobAsItIs() async throws {
        let (master, path) = try line()
        defer { close(master) }
        #expect(try await printer.printTo(device: path, job) == .delivered)
        var buffer = [UInt8](repeating: 0, count: 100)
        let count = unsafe read(master, &buffer, buffer.count)
        #expect(Array(buffer.prefix(count)) == job)
    }

    @Test func aDeviceThatStopsTakingLeavesItUnknown() async throws {
        let (master, path) = try line()
        defer { close(master) }
        do {
            _ = try await printer.printTo(device: path, [UInt8](repeating: 0x61, count: 60_000))
            Issue.record("a job that was cut off counted as printed")
        } catch PrintFailure.unclear(let sent, let whole, _) {
            #expect(sent > 0 && sent < whole)
        }
    }

    @Test func onlyPrintersDevicesAreOpened() async throws {
        for path in ["/dev/null", "/dev/usb/../null", "/etc/passwd", "/dev/usb/lp0/x", "/dev/lp", "/dev/usb/lp123"] {
            #expect(PrinterAddress(path) == nil, "\(path)")
            await #expect(throws: PrintFailure.notReached("this is no printer’s address")) {
                try await printer.print(job, at: .device(path: path))
            }
        }
        await #expect(throws: PrintFailure.notReached("no printer is plugged in there")) {
            try await printer.print(job, at: .device(path: "/dev/usb/lp97"))
        }
        await #expect(throws: PrintFailure.notReached("there is no printer at this path")) {
            try await printer.printTo(device: "/tmp", job)
        }
    }

    @Test func onlyAddressesOfPrintersAreTaken() {
        #expect(PrinterAddress("192.168.1.50") == .network(host: "192.168.1.50", port: 9100))
        #expect(PrinterAddress("kasse-2.local:9101")?.text == "kasse-2.local:9101")
        #expect(PrinterAddress("[fe80::1]:9100")?.text == "[fe80::1]:9100")
        #expect(PrinterAddress("/dev/usb/lp0") == .device(path: "/dev/usb/lp0"))
        #expect(PrinterAddress("/dev/lp1")?.text == "/dev/lp1")
        let wrong = [
            "", " ", "printer:22", "printer:80", "printer:0", "printer:65536", "printer:+9100", "printer:", ":9100",
            "-x", "x-.y", "a..b", "http://printer", "printer/x", "user@printer", "[::1", "[printer]:9100", "[::1]x",
            "pr inter", "drücker", "printer\u{0}", String(repeating: "a", count: 64), "::1",
        ]
        for text in wrong { #expect(PrinterAddress(text) == nil, "\(text)") }
    }
}
