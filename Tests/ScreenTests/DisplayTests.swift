import Glibc
import Locks
import Screen
import Testing

struct DisplayTests {
    private static let size = PixelSize(width: 800, height: 480)

    @Test func aSecondLessDrawsLittleAndChecksNothingAgain() async throws {
        let record = RecordingSink.Record()
        let display = Display(sinks: [RecordingSink(Self.size, record: record)])
        try await display.show(Sample.charge(seconds: 272))
        #expect(record.readBacks == 1)
        record.forgetParts()
        let shown = try await display.show(Sample.charge(seconds: 271))
        #expect(shown.qrVerified)
        #expect(record.readBacks == 1)
        #expect(record.drawnPixels > 0)
        #expect(record.drawnPixels * 100 < Self.size.width * Self.size.height * 3)
    }

    @Test func theSameSceneAgainDrawsNothing() async throws {
        let record = RecordingSink.Record()
        let display = Display(sinks: [RecordingSink(Self.size, record: record)])
        for scene in Sample.scenes() {
            try await display.show(scene)
            record.forgetParts()
            try await display.show(scene)
            #expect(record.parts.isEmpty)
        }
    }

    /// However the screen got there, the page is the same: nothing of an older one is left behind.
    @Test func everyPageLooksTheSameWhateverCameBefore() async throws {
        let size = PixelSize(width: 320, height: 240)
        var scenes = Sample.scenes(name: "مقهى الفجر")
        scenes += [
            Sample.charge(seconds: 9, note: .gatewaySilent), Sample.charge(Sample.shortestLink),
            Sample.charge(seconds: nil),
        ]
        scenes += [
            .idle(.init(merchantName: "Café", clockText: "14:05")),
            .idle(.init(merchantName: "Café", clockText: "8:59")),
        ]
        var fresh: [[UInt32]] = []
        for scene in scenes {
            let record = RecordingSink.Record()
            try await Display(sinks: [RecordingSink(size, record: record)]).show(scene)
            fresh.append(record.pixels)
        }
        let record = RecordingSink.Record()
        let display = Display(sinks: [RecordingSink(size, record: record)])
        for _ in 0..<150 {
            let index = Int.random(in: scenes.indices)
            try await display.show(scenes[index])
            let pixels = record.pixels
            // Cairo rounds a shape's edge by where its band begins: a few pixels may differ by a shade, nothing else.
            let different = pixels.indices.filter { pixels[$0] != fresh[index][$0] }
            let wrong = different.filter { !isNear(pixels[$0], fresh[index][$0]) }
            #expect(different.count < 16)
            #expect(wrong.isEmpty, "\(wrong.prefix(5).map { ($0 % size.width, $0 / size.width) }) in \(scenes[index])")
        }
    }

    private func isNear(_ one: UInt32, _ other: UInt32) -> Bool {
        one == other
            || [16, 8, 0].allSatisfy { abs(Int(one >> $0 & 0xFF) - Int(other >> $0 & 0xFF)) <= 64 }
    }

    @Test func aClosedDisplayGivesItsSinksBackAndShowsNothingMore() async throws {
        let record = RecordingSink.Record()
        let display = Display(sinks: [RecordingSink(Self.size, record: record)])
        try await display.show(.starting(checkingPayments: 0))
        await display.close()
        #expect(record.isClosed)
        await #expect(throws: ScreenError.closed) { try await display.show(.starting(checkingPayments: 0)) }
    }

    /// Sinks block. They run where the display says it runs, and that is no thread of the shared pool: all of its
    /// threads waiting in sinks at once still leave it free.
    @Test func slowSinksDoNotHoldUpOtherWork() async throws {
        let gate = Gate()
        let displays = (0..<16).map { _ in
            Display(sinks: [RecordingSink(PixelSize(width: 64, height: 64), record: .init(), onWrite: { gate.wait() })])
        }
        try await withThrowingTaskGroup { group in
            for display in displays {
                group.addTask { _ = try await display.show(.starting(checkingPayments: 0)) }
            }
            // Runs on the shared pool, and could not if sixteen waiting sinks held its threads.
            await Task.detached {}.value
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.threadsThatGaveUp == 0)
    }

    @Test func sinksAreCalledOnTheDisplaysOwnExecutor() async throws {
        let box = DisplayBox()
        let display = Display(sinks: [
            RecordingSink(Self.size, record: .init(), onWrite: { box.display.withLock { $0 }?.assertIsolated() })
        ])
        box.display.withLock { $0 = display }
        try await display.show(.starting(checkingPayments: 0))
        box.display.withLock { $0 = nil }
    }

    @Test func warmingUpDrawsNothing() async throws {
        let record = RecordingSink.Record()
        let display = Display(sinks: [RecordingSink(Self.size, record: record)])
        await display.warmUp()
        #expect(record.parts.isEmpty)
        #expect(try await display.show(Sample.charge()).qrVerified)
    }

    @Test func whereTheTimeWentIsTold() async throws {
        let display = Display(sinks: [RecordingSink(Self.size, record: .init())])
        let clock = ContinuousClock()
        var shown: Shown?
        let all = try await clock.measure { shown = try await display.show(Sample.charge()) }
        let timings = try #require(shown).timings
        #expect(timings.render > .zero)
        #expect(timings.push > .zero)
        #expect(timings.verify > .zero)
        #expect(timings.total <= all)
    }
}

private final class DisplayBox: Sendable {
    let display = Mutex<Display?>(nil)
}

/// Threads wait here until it opens, or until they have waited for too long.
private final class Gate: Sendable {
    private let isOpen = Mutex(false)
    private let gaveUp = Mutex(0)

    var threadsThatGaveUp: Int { gaveUp.withLock { $0 } }

    func open() { isOpen.withLock { $0 = true } }

    func wait() {
        let deadline = ContinuousClock.now + .seconds(600)
        while !isOpen.withLock({ $0 }) {
            guard ContinuousClock.now < deadline else { return gaveUp.withLock { $0 += 1 } }
            usleep(1_000)  // Blocks this thread, as a slow device would.
        }
    }
}
