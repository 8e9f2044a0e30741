import Dispatch
import Executors

/// The terminal's screen: shows one scene at a time on every sink it has, and checks that a QR code on it can be read.
///
/// Drawing blocks, so the actor runs on a queue of its own. Nothing happens between two calls: no timer, no thread.
public actor Display {
    private let executor = QueueExecutor(label: "screen", qos: .userInteractive)
    private var outputs: [Output]
    private var text: ScreenText
    private var pixelTypesetter: Typesetter?
    private var cellTypesetter: Typesetter?
    private let codes = QRCodeCache()
    private var reader: QRReader?
    private var isClosed = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private struct Output {
        let sink: any PixelSink
        /// What the sink shows now; nil when that is not certain.
        var shown: Drawing?
        var surface: Surface?
        var isVerified = false
        /// Whether its light was switched off.
        var isOff = false
    }

    /// Nothing is drawn before the first `show`.
    public init(sinks: sending [any PixelSink], text: ScreenText = .english) {
        outputs = sinks.map { Output(sink: $0) }
        self.text = text
    }

    /// Prepares fonts, glyphs and the decoder, so that the first charge appears as fast as the later ones. Takes some
    /// 20 ms; draws nothing.
    public func warmUp() {
        var timings = Shown.Timings()
        let samples: [Scene] = [
            .charge(
                .init(
                    merchantName: "Warm up",
                    amountText: "€0123.45",
                    link: Self.sampleLink,
                    secondsLeft: 67,
                    chargeCode: "89AB"
                )
            ),
            .processing(.init(merchantName: "Warm up", amountText: "€0123.45", chargeCode: "89AB")),
            .paid(.init(merchantName: "Warm up", amountText: "€0123.45", chargeCode: "89AB")),
        ]
        for output in outputs {
            let surface = output.sink.surface
            for scene in samples {
                let drawing = composer(for: surface).compose(scene, on: surface).drawing
                for band in Canvas.bands(of: PixelRect(drawing.size)) {
                    let canvas = rasterise(drawing, band, surface, &timings)
                    canvas.withPixels { _ in }
                }
            }
        }
        _ = qrReader()?.texts(
            in: GreyImage(size: PixelSize(width: 64, height: 64), pixels: Array(repeating: 255, count: 4_096))
        )
        forgetUnused()
    }

    private static let sampleLink = "https://pay.walletconnect.com/warm-up"

    /// Shows `scene` on all sinks. Only what changed since the last scene is drawn: a second less is a few digits.
    ///
    /// When the scene has a QR code, its pixels are read back from each sink and decoded before this returns.
    /// - Throws: The first failure of any sink; the other sinks show the scene all the same.
    ///   After `qrNotReadable` and `qrTooLong` the scene is on the screen without its code.
    @discardableResult
    public func show(_ scene: Scene) throws(ScreenError) -> Shown {
        guard !isClosed else { throw .closed }
        var shown = Shown()
        var failure: ScreenError?
        var isReadable = scene.qrText != nil && !outputs.isEmpty
        for index in outputs.indices {
            do throws(ScreenError) {
                let qr = try show(scene, on: index, &shown.timings)
                if qr == .asText { shown.linkIsText = true }
                if qr != .drawn { isReadable = false }
            } catch {
                isReadable = false
                failure = failure ?? error
            }
        }
        forgetUnused()
        if let failure { throw failure }
        shown.qrVerified = isReadable
        shown.hasScreen = !outputs.isEmpty
        return shown
    }

    /// Speaks `text`'s language from the next scene on. Does nothing where it does so already.
    public func speak(_ text: ScreenText) {
        guard text.languageTag != self.text.languageTag else { return }
        self.text = text
        // They shape text for one language and one direction.
        (pixelTypesetter, cellTypesetter) = (nil, nil)
    }

    /// Gives every sink back as it was. Later calls of `show` throw `closed`.
    public func close() {
        isClosed = true
        for output in outputs { output.sink.close() }
        outputs = []
        pixelTypesetter = nil
        cellTypesetter = nil
        reader = nil
    }

    // MARK: - One sink

    private func show(
        _ scene: Scene,
        on index: Int,
        _ timings: inout Shown.Timings
    ) throws(ScreenError) -> Composer.QRShown {
        let sink = outputs[index].sink
        let surface = sink.surface
        if outputs[index].surface != surface { (outputs[index].shown, outputs[index].isVerified) = (nil, false) }
        outputs[index].surface = surface
        var unlit: ScreenError?
        if outputs[index].isOff, !scene.isDark {
            do throws(ScreenError) {
                try sink.light(true)
                outputs[index].isOff = false
            } catch { unlit = error }
        }
        let started = ContinuousClock.now
        let composed = composer(for: surface).compose(scene, on: surface)
        timings.render += ContinuousClock.now - started
        try draw(composed.drawing, on: index, surface, &timings)
        if let unlit { throw unlit }  // Drawn all the same: a panel may be lit that says that it is not.
        if scene.isDark, !outputs[index].isOff {
            outputs[index].isOff = true
            try sink.light(false)
        }
        if composed.qr == .tooLong {
            throw .qrTooLong(bytes: scene.qrText?.utf8.count ?? 0)
        }
        let codes = composed.drawing.codes
        if codes.isEmpty { return composed.qr }
        if try areReadable(codes, on: index, &timings) { return .drawn }
        // Something else may have written over it, such as a kernel message: draw all of it once more.
        outputs[index].shown = nil
        try draw(composed.drawing, on: index, surface, &timings)
        if try areReadable(codes, on: index, &timings) { return .drawn }
        outputs[index].shown = nil
        let without = composer(for: surface).compose(scene, on: surface, withholdingQR: true)
        try draw(without.drawing, on: index, surface, &timings)
        throw .qrNotReadable(sink: sink.name)
    }

    private func draw(
        _ drawing: Drawing,
        on index: Int,
        _ surface: Surface,
        _ timings: inout Shown.Timings
    ) throws(ScreenError) {
        let sink = outputs[index].sink
        let damage = drawing.damage(since: outputs[index].shown, cell: surface.cell)
        if drawing.codes.contains(where: { code in damage.contains { $0.intersects(code.frame) } }) {
            outputs[index].isVerified = false
        }
        outputs[index].shown = nil  // Until all of it is written, nobody knows what the device shows.
        for part in damage {
            for band in Canvas.bands(of: part, rowStep: surface.cell?.height ?? 1) {
                let canvas = rasterise(drawing, band, surface, &timings)
                let started = ContinuousClock.now
                try canvas.withPixels { pixels throws(ScreenError) in try sink.write(pixels, to: band) }
                timings.push += ContinuousClock.now - started
            }
        }
        let started = ContinuousClock.now
        if let cell = surface.cell, !damage.isEmpty {
            try sink.place(cellTexts(of: drawing, cell: cell))
        }
        try sink.finish()
        timings.push += ContinuousClock.now - started
        outputs[index].shown = drawing
    }

    private func rasterise(
        _ drawing: Drawing,
        _ band: PixelRect,
        _ surface: Surface,
        _ timings: inout Shown.Timings
    ) -> Canvas {
        let started = ContinuousClock.now
        let typesetter = composer(for: surface).typesetter
        let canvas = Canvas(frame: band, ground: drawing.ground)
        for element in drawing.elements {
            if case .text = element, surface.cell != nil { continue }  // Placed as characters instead.
            canvas.draw(element, typesetter: typesetter)
        }
        timings.render += ContinuousClock.now - started
        return canvas
    }

    private func areReadable(
        _ codes: [PlacedQR],
        on index: Int,
        _ timings: inout Shown.Timings
    ) throws(ScreenError) -> Bool {
        if outputs[index].isVerified { return true }
        let started = ContinuousClock.now
        defer { timings.verify += ContinuousClock.now - started }
        for code in codes { guard try isReadable(code, on: index) else { return false } }
        outputs[index].isVerified = true
        return true
    }

    private func isReadable(_ qr: PlacedQR, on index: Int) throws(ScreenError) -> Bool {
        let factor = Self.reduction(ofModule: qr.module)
        let image = try outputs[index].sink.readBack(qr.frame, reducedBy: factor)
        // Phones want contrast, too: colours stored in the wrong bits can decode and still be hard to scan.
        let isBlackOnWhite = image.pixels.max() ?? 0 >= 240 && image.pixels.min() ?? 255 <= 16
        let texts = qrReader()?.texts(in: image, samplesPerModule: qr.module / factor)
        return isBlackOnWhite && texts == [qr.code.text]
    }

    /// A decoder needs some four samples a module; more only cost time.
    static func reduction(ofModule module: Int) -> Int { max(1, module / 4) }

    private func cellTexts(of drawing: Drawing, cell: PixelSize) -> [CellText] {
        var texts: [CellText] = []
        for case .text(let set, let x, let y, let colour, _) in drawing.elements {
            for (index, line) in (cellTypesetter?.lines(of: set) ?? []).enumerated() {
                texts.append(
                    CellText(
                        column: x / cell.width,
                        row: y / cell.height + index,
                        columns: set.spec.width / cell.width,
                        alignment: alignment(set.spec.alignment),
                        text: line,
                        rgb: colour.rgb,
                        isBold: set.spec.weight == .bold
                    )
                )
            }
        }
        return texts
    }

    private func alignment(_ alignment: TextSpec.Alignment) -> CellText.Alignment {
        switch alignment {
        case .centre: .centre
        case .leading: text.readsRightToLeft ? .right : .left
        case .trailing: text.readsRightToLeft ? .left : .right
        }
    }

    // MARK: - What is kept between scenes

    private func composer(for surface: Surface) -> Composer {
        let kept = surface.cell == nil ? pixelTypesetter : cellTypesetter
        let typesetter =
            kept
            ?? Typesetter(
                languageTag: text.languageTag,
                readsRightToLeft: text.readsRightToLeft,
                cell: surface.cell
            )
        if surface.cell == nil { pixelTypesetter = typesetter } else { cellTypesetter = typesetter }
        return Composer(text: text, typesetter: typesetter, codes: codes)
    }

    private func qrReader() -> QRReader? {
        if reader == nil { reader = QRReader() }
        return reader
    }

    private func forgetUnused() {
        pixelTypesetter?.forgetUnused()
        cellTypesetter?.forgetUnused()
        codes.forgetUnused()
    }
}

/// What became of a scene that was shown.
public struct Shown: Sendable, Equatable {
    /// True when the scene has a QR code and every sink's own pixels were decoded to exactly its text.
    public var qrVerified = false
    /// False where the terminal has no screen at all: then no code can be unreadable.
    public var hasScreen = false
    /// True when a terminal window was too small for the QR code and shows the link as text.
    public var linkIsText = false
    public var timings = Timings()

    public init() {}

    /// Where the time went, all sinks together.
    public struct Timings: Sendable, Equatable {
        /// Layout, QR encoding and drawing.
        public var render = Duration.zero
        /// Handing pixels to the sinks.
        public var push = Duration.zero
        /// Reading back and decoding.
        public var verify = Duration.zero

        public init() {}

        public var total: Duration { render + push + verify }
    }
}
