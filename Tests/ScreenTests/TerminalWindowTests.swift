import Foundation
import Glibc
import Screen
import Testing
import TestSupport

/// The window as a terminal would show it: the sink's output, run through the few sequences it uses.
struct TerminalWindowTests {
    private static let size = TerminalWindowSink.Size(columns: 100, rows: 34)

    @Test(.enabled(ForeignDecoder.missing) { await ForeignDecoder.isAvailable })
    func aForeignDecoderReadsTheCodeFromTheWindow() async throws {
        let folder = try TemporaryFolder()
        let (screen, shown) = try await show([Sample.charge()], Self.size)
        #expect(shown.qrVerified)
        // Each half cell becomes a square of four pixels.
        let (width, height) = (Self.size.columns * 4, Self.size.rows * 8)
        var bytes: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                let rgb = screen.halfCell(column: x / 4, row: y / 4)
                bytes += [UInt8(rgb & 0xFF), UInt8(rgb >> 8 & 0xFF), UInt8(rgb >> 16 & 0xFF), 0]
            }
        }
        try folder.write(bytes, to: "window")
        let layout = FramebufferLayout.xrgb8888(PixelSize(width: width, height: height))
        let picture = ForeignDecoder.Picture(path: folder.file("window"), layout: layout)
        #expect(try await ForeignDecoder.texts(in: [picture]) == [[Sample.usualLink]])
    }

    @Test func wordsAreCharacters() async throws {
        let (screen, _) = try await show([Sample.charge(name: "Café 北京")], Self.size)
        let text = screen.text
        for words in ["Café 北京", "€12.50", "Scan with your wallet", "4:32", "K7QM"] {
            #expect(text.contains(words), "\(words)")
        }
    }

    @Test func aWindowTooSmallForTheCodePrintsTheLink() async throws {
        let (screen, shown) = try await show([Sample.charge()], .init(columns: 60, rows: 20))
        #expect(!shown.qrVerified)
        #expect(shown.linkIsText)
        let letters = screen.text.filter { !$0.isWhitespace }
        #expect(letters.contains(Sample.usualLink))
        #expect(!screen.text.contains("Scan with your wallet"))
    }

    @Test func theLongestLinkIsPrintedWhole() async throws {
        let (screen, shown) = try await show([Sample.charge(Sample.longestLink)], .init(columns: 80, rows: 24))
        #expect(shown.linkIsText)
        #expect(screen.text.filter { !$0.isWhitespace }.contains(Sample.longestLink))
    }

    @Test func onlyChangedCellsAreWritten() async throws {
        let (_, _, lengths) = try await showCounting(
            [Sample.charge(seconds: 272), Sample.charge(seconds: 271)],
            Self.size
        )
        #expect(lengths[1] > 0)
        #expect(lengths[1] < 100, "\(lengths)")
        #expect(lengths[0] > 5_000)
    }

    /// Whatever came before, the window ends up as if it were new.
    @Test func everyPageLooksTheSameWhateverCameBefore() async throws {
        let scenes = Sample.scenes(name: "새벽 커피")
        for scene in scenes {
            let fresh = try await show([scene], Self.size).0
            let after = try await show([scenes[0], scenes[6], scene], Self.size).0
            #expect(after.cells == fresh.cells, "\(scene)")
        }
    }

    @Test func closingGivesTheWindowBack() async throws {
        let folder = try TemporaryFolder()
        let descriptor = unsafe open(folder.file("out"), O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        let display = Display(sinks: [try TerminalWindowSink(fileDescriptor: descriptor, size: Self.size)])
        try await display.show(.starting(checkingPayments: 0))
        await display.close()
        let output = String(decoding: try folder.bytes("out"), as: UTF8.self)
        #expect(output.hasPrefix("\u{1B}[?1049h\u{1B}[?25l"))
        #expect(output.hasSuffix("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"))
    }

    @Test(arguments: [(34, true), (24, false)])
    func linesForTheOneWhoRunsItStandUnderTheScreenWhereThereIsRoom(rows: Int, isShown: Bool) async throws {
        let folder = try TemporaryFolder()
        let descriptor = unsafe open(folder.file("out"), O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        let size = TerminalWindowSink.Size(columns: 60, rows: rows)
        let long = "gateway " + String(repeating: "x", count: 80)
        let sink = try TerminalWindowSink(fileDescriptor: descriptor, size: size, caption: [long, "pay with this"])
        #expect(sink.surface.size.height == (isShown ? rows - 2 : rows) * 16)
        let display = Display(sinks: [sink])
        try await display.show(.starting(checkingPayments: 0))
        await display.close()
        let output = String(decoding: try folder.bytes("out"), as: UTF8.self)
        #expect(output.contains("\u{1B}[\(rows);1H\u{1B}[0m\u{1B}[2Kpay with this") == isShown)
        #expect(output.contains("gateway xxx") == isShown)
        #expect(!output.contains(long), "a line that is cut does not wrap into the screen")
    }

    @Test func aFileIsNoWindow() throws {
        let folder = try TemporaryFolder()
        let descriptor = unsafe open(folder.file("out"), O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        #expect(throws: ScreenError.self) { _ = try TerminalWindowSink(fileDescriptor: descriptor) }
    }

    /// A real pseudo-terminal: its size is asked for, and followed when it changes.
    @Test func theWindowsSizeIsFollowed() async throws {
        let main = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
        try #require(main >= 0)
        defer { close(main) }
        // Source: asm-generic/ioctls.h, TIOCSPTLCK and TIOCGPTN: function-like macros that Swift does not import.
        var (lock, number): (Int32, Int32) = (0, 0)
        try #require(unsafe ioctl(main, 0x4004_5431, &lock) == 0)
        try #require(unsafe ioctl(main, 0x8004_5430, &number) == 0)
        let window = unsafe open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        try #require(window >= 0)
        defer { close(window) }
        var size = winsize(ws_row: 30, ws_col: 90, ws_xpixel: 0, ws_ypixel: 0)
        try #require(unsafe ioctl(main, UInt(TIOCSWINSZ), &size) == 0)
        let reader = Thread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while unsafe read(main, &buffer, buffer.count) > 0 {}
        }
        reader.start()
        let sink = try TerminalWindowSink(fileDescriptor: window)
        #expect(sink.surface.size == PixelSize(width: 720, height: 480))
        size.ws_col = 120
        try #require(unsafe ioctl(main, UInt(TIOCSWINSZ), &size) == 0)
        #expect(sink.surface.size == PixelSize(width: 960, height: 480))
        let display = Display(sinks: [sink])
        #expect(try await display.show(Sample.charge(Sample.shortestLink)).qrVerified)
        await display.close()
    }

    // MARK: - A terminal

    private func show(_ scenes: [Scene], _ size: TerminalWindowSink.Size) async throws -> (Window, Shown) {
        let (window, shown, _) = try await showCounting(scenes, size)
        return (window, shown)
    }

    private func showCounting(
        _ scenes: [Scene],
        _ size: TerminalWindowSink.Size
    ) async throws -> (Window, Shown, [Int]) {
        let folder = try TemporaryFolder()
        let descriptor = unsafe open(folder.file("out"), O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        let display = Display(sinks: [try TerminalWindowSink(fileDescriptor: descriptor, size: size)])
        var lengths = [try folder.bytes("out").count]
        var shown = Shown()
        for scene in scenes {
            shown = try await display.show(scene)
            lengths.append(try folder.bytes("out").count)
        }
        var window = Window(size)
        window.take(String(decoding: try folder.bytes("out"), as: UTF8.self))
        await display.close()
        return (window, shown, zip(lengths.dropFirst(), lengths).map { $0 - $1 })
    }
}

/// A terminal that knows what the sink needs: CUP, SGR with 24-bit colours, printing, clearing.
private struct Window {
    struct Cell: Equatable {
        var character: Character = " "
        var ink: UInt32 = 0
        var ground: UInt32 = 0
    }
    let size: TerminalWindowSink.Size
    var cells: [Cell]
    private var position = 0
    private var style = Cell()

    init(_ size: TerminalWindowSink.Size) {
        self.size = size
        cells = Array(repeating: Cell(), count: size.columns * size.rows)
    }

    func halfCell(column: Int, row: Int) -> UInt32 {
        let cell = cells[row / 2 * size.columns + column]
        return cell.character == "▀" && row % 2 == 0 ? cell.ink : cell.ground
    }

    var text: String {
        (0..<size.rows).map { row in
            String(cells[row * size.columns..<(row + 1) * size.columns].map(\.character).filter { $0 != "\u{0}" })
                .replacing("▀", with: " ")
        }.joined(separator: "\n")
    }

    mutating func take(_ output: String) {
        var rest = Substring(output)
        while let character = rest.popFirst() {
            if character == "\u{1B}" {
                _ = rest.popFirst()
                let parameters = rest.prefix { !$0.isLetter }
                rest = rest.dropFirst(parameters.count)
                let final = rest.popFirst()
                let numbers = parameters.split(separator: ";").compactMap { Int($0) }
                if final == "H" { position = (numbers[0] - 1) * size.columns + numbers[1] - 1 }
                if final == "m" { apply(numbers) }
            } else {
                put(character)
            }
        }
    }

    private mutating func put(_ character: Character) {
        var cell = style
        cell.character = character
        cells[position] = cell
        position += 1
        let isWide =
            character.unicodeScalars.first.map {
                (0x1100...0xFFE6).contains($0.value) && $0.value != 0x2580 && $0.value > 0x2FFF
            } ?? false
        if isWide {
            cells[position] = Cell(character: "\u{0}")
            position += 1
        }
    }

    private mutating func apply(_ numbers: [Int]) {
        var index = 0
        while index < numbers.count {
            switch numbers[index] {
            case 38, 48:
                let rgb = UInt32(numbers[index + 2] << 16 | numbers[index + 3] << 8 | numbers[index + 4])
                if numbers[index] == 38 { style.ink = rgb } else { style.ground = rgb }
                index += 5
            default: index += 1
            }
        }
    }
}
