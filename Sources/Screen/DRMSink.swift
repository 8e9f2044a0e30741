import CDRM
import Glibc

/// A screen by the kernel's mode setting, for machines without a framebuffer device: a plain buffer that the processor draws
/// into, shown on the first panel that is plugged in, in the panel's own mode.
///
/// Follows panels that are plugged in, out or changed. Needs the group `video`, and nobody else who shows anything.
/// Opening blocks for some milliseconds, with slow panels for some hundred.
/// Source: libdrm 2.4.114, xf86drmMode.h; kernel, Documentation/gpu/drm-kms.rst, "Dumb Buffer Objects".
public final class DRMSink: PixelSink {
    public let name: String
    private let rotation: Rotation
    private var current: Surface
    private var output: DRMOutput?
    private var console: ConsoleGraphics?
    private var news: ScreenNews?
    private var isClosed = false
    private var isLit = true

    /// - Parameter consolePath: As of ``FramebufferSink``.
    /// - Throws: `cannotOpen` with what to check.
    public init(
        path: String = "/dev/dri/card0",
        rotation: Rotation = .none,
        consolePath: String? = nil
    ) throws(ScreenError) {
        let output = try DRMOutput(path: path, rotation: rotation)
        (name, self.rotation) = (path, rotation)
        current = output.surface
        self.output = output
        news = ScreenNews()
        console = if let consolePath { try ConsoleGraphics(path: consolePath) } else { nil }
    }

    deinit { close() }

    public var surface: Surface {
        guard !isClosed else { return current }
        // A panel is asked what it wants only where something happened: that can take half a second.
        let hasNews = news?.take() ?? false
        if output?.isStillSo(asking: hasNews) == true {
            // It may have been away for a moment, and some panels stay dark then.
            if hasNews, isLit { output?.setMode() }
        } else {
            output = nil  // First: only one may set modes.
            output = try? DRMOutput(path: name, rotation: rotation)
            if let output {
                let edition = current.edition + 1
                current = output.surface
                current.edition = edition
            }
        }
        return current
    }

    public func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) {
        guard PixelRect(current.size).contains(part) else {
            throw .cannotDraw(sink: name, reason: "the part to draw is not inside the screen")
        }
        try there().memory.write(pixels, to: part)
    }

    public func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
        guard PixelRect(current.size).contains(part), factor > 0 else {
            throw .cannotDraw(sink: name, reason: "the part to read is not inside the screen")
        }
        return try there().memory.readBack(part, reducedBy: factor)
    }

    public func finish() throws(ScreenError) { try there().flush() }

    public func light(_ isOn: Bool) throws(ScreenError) {
        isLit = isOn
        guard let output else { return }
        if !output.light(isOn), isOn {
            throw .cannotDraw(sink: name, reason: "its light does not come on: \(systemReason())")
        }
    }

    public func close() {
        isClosed = true
        news = nil
        output = nil
        console = nil  // Last: the console then repaints over our picture, not the reverse.
    }

    private func there() throws(ScreenError) -> DRMOutput {
        guard !isClosed else { throw .closed }
        guard let output else { throw .cannotDraw(sink: name, reason: "no panel is plugged in") }
        return output
    }
}

/// One panel in one mode, with its buffer. Everything is given back with it.
private final class DRMOutput {
    let memory: FramebufferMemory
    let surface: Surface
    private let card: DRMCard
    private let connector: UInt32
    private let mode: ModeKey
    private let wholeMode: drmModeModeInfo
    private let controller: UInt32
    private let buffer: DRMBuffer

    /// What makes a panel's mode another one.
    private struct ModeKey: Equatable {
        var width: UInt16
        var height: UInt16
        var clock: UInt32

        init(_ mode: drmModeModeInfo) { (width, height, clock) = (mode.hdisplay, mode.vdisplay, mode.clock) }
    }

    init(path: String, rotation: Rotation) throws(ScreenError) {
        card = try DRMCard(path: path)
        guard let found = card.firstPanel() else {
            throw .cannotOpen(path: path, reason: "no panel is plugged in")
        }
        (connector, controller, mode) = (found.connector, found.controller, ModeKey(found.mode))
        let size = PixelSize(width: Int(found.mode.hdisplay), height: Int(found.mode.vdisplay))
        buffer = try DRMBuffer(card, size)
        memory = try buffer.map(rotation: rotation, path: path)
        surface = Surface(
            size: rotation.swapsSides ? PixelSize(width: size.height, height: size.width) : size
        )
        wholeMode = found.mode
        guard setMode() else {
            throw .cannotOpen(path: path, reason: "the mode cannot be set: \(systemReason())")
        }
    }

    /// Shows the buffer on the panel. False where the kernel refuses it.
    @discardableResult
    func setMode() -> Bool {
        var (connectors, mode) = ([connector], wholeMode)
        return unsafe drmModeSetCrtc(card.descriptor, controller, buffer.id, 0, 0, &connectors, 1, &mode) == 0
    }

    /// Whether the same panel is there and wants the same mode.
    /// - Parameter asking: Asks the panel itself; else the kernel says what it knows, which takes no time.
    func isStillSo(asking: Bool) -> Bool {
        let panel =
            unsafe asking
            ? drmModeGetConnector(card.descriptor, connector) : drmModeGetConnectorCurrent(card.descriptor, connector)
        guard let panel = unsafe panel else { return false }
        defer { unsafe drmModeFreeConnector(panel) }
        return unsafe DRMCard.mode(of: panel.pointee).map(ModeKey.init) == mode
    }

    /// False where the panel refuses, or cannot be switched. Source: drm-kms.rst, "Standard Connector Properties", DPMS.
    func light(_ isOn: Bool) -> Bool {
        let kind = UInt32(DRM_MODE_OBJECT_CONNECTOR)
        guard let all = unsafe drmModeObjectGetProperties(card.descriptor, connector, kind) else { return false }
        defer { unsafe drmModeFreeObjectProperties(all) }
        let count = unsafe Int(all.pointee.count_props)
        for id in unsafe Array(UnsafeBufferPointer(start: all.pointee.props, count: count)) {
            guard let property = unsafe drmModeGetProperty(card.descriptor, id) else { continue }
            defer { unsafe drmModeFreeProperty(property) }
            let isLight = unsafe withUnsafeBytes(of: property.pointee.name) { name in
                unsafe name.prefix { $0 != 0 }.elementsEqual("DPMS".utf8)
            }
            guard isLight else { continue }
            let level = UInt64(isOn ? DRM_MODE_DPMS_ON : DRM_MODE_DPMS_OFF)
            return drmModeConnectorSetProperty(card.descriptor, connector, id, level) == 0
        }
        return isOn
    }

    /// Some devices show what was drawn only when they are told. The others refuse it, and need nothing.
    func flush() { _ = drmModeDirtyFB(card.descriptor, buffer.id, nil, 0) }
}

/// An open device.
private final class DRMCard {
    let descriptor: Int32

    init(path: String) throws(ScreenError) {
        descriptor = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: systemReason()) }
        var hasBuffers: UInt64 = 0
        guard unsafe drmGetCap(descriptor, UInt64(DRM_CAP_DUMB_BUFFER), &hasBuffers) == 0, hasBuffers == 1 else {
            throw .cannotOpen(path: path, reason: "it has no plain buffers to draw into")
        }
    }

    deinit { Glibc.close(descriptor) }

    struct Panel {
        var connector: UInt32
        var controller: UInt32
        var mode: drmModeModeInfo
    }

    /// The first panel that is plugged in and can be driven, in its own mode.
    func firstPanel() -> Panel? {
        guard let resources = unsafe drmModeGetResources(descriptor) else { return nil }
        defer { unsafe drmModeFreeResources(resources) }
        let all = unsafe resources.pointee
        let controllers = unsafe Array(UnsafeBufferPointer(start: all.crtcs, count: Int(all.count_crtcs)))
        for id in unsafe Array(UnsafeBufferPointer(start: all.connectors, count: Int(all.count_connectors))) {
            guard let connector = unsafe drmModeGetConnector(descriptor, id) else { continue }
            defer { unsafe drmModeFreeConnector(connector) }
            guard let mode = unsafe Self.mode(of: connector.pointee),
                let controller = unsafe controller(for: connector.pointee, controllers)
            else { continue }
            return Panel(connector: id, controller: controller, mode: mode)
        }
        return nil
    }

    /// The mode that the panel prefers; nil where none is plugged in.
    static func mode(of connector: drmModeConnector) -> drmModeModeInfo? {
        guard unsafe connector.connection == DRM_MODE_CONNECTED else { return nil }
        let modes = unsafe UnsafeBufferPointer(start: connector.modes, count: Int(max(0, connector.count_modes)))
        return unsafe modes.first { $0.type & UInt32(DRM_MODE_TYPE_PREFERRED) != 0 } ?? modes.first
    }

    /// The one that drives it now, else the first that can.
    private func controller(for connector: drmModeConnector, _ controllers: [UInt32]) -> UInt32? {
        let ids = unsafe UnsafeBufferPointer(start: connector.encoders, count: Int(max(0, connector.count_encoders)))
        var possible: UInt32?
        for id in unsafe [connector.encoder_id] + ids where id != 0 {
            guard let encoder = unsafe drmModeGetEncoder(descriptor, id) else { continue }
            defer { unsafe drmModeFreeEncoder(encoder) }
            let (now, mask) = unsafe (encoder.pointee.crtc_id, encoder.pointee.possible_crtcs)
            if now != 0 { return now }
            let first = controllers.indices.first { $0 < 32 && mask >> UInt32($0) & 1 == 1 }
            possible = possible ?? first.map { controllers[$0] }
        }
        return possible
    }
}

/// A plain buffer of the device's, as a picture that can be shown.
private final class DRMBuffer {
    let id: UInt32
    private let card: DRMCard
    private let handle: UInt32
    private let layout: FramebufferLayout
    private let bytes: Int

    init(_ card: DRMCard, _ size: PixelSize) throws(ScreenError) {
        var (handle, stride, bytes, id): (UInt32, UInt32, UInt64, UInt32) = (0, 0, 0, 0)
        let (width, height) = (UInt32(size.width), UInt32(size.height))
        guard unsafe drmModeCreateDumbBuffer(card.descriptor, width, height, 32, 0, &handle, &stride, &bytes) == 0
        else {
            throw .cannotOpen(path: "the screen's buffer", reason: systemReason())
        }
        guard unsafe drmModeAddFB(card.descriptor, width, height, 24, 32, stride, handle, &id) == 0 else {
            let reason = systemReason()
            drmModeDestroyDumbBuffer(card.descriptor, handle)
            throw .cannotOpen(path: "the screen's buffer", reason: reason)
        }
        (self.card, self.handle, self.id, self.bytes) = (card, handle, id, Int(clamping: bytes))
        layout = .xrgb8888(size, strideBytes: Int(stride))
    }

    func map(rotation: Rotation, path: String) throws(ScreenError) -> FramebufferMemory {
        var offset: UInt64 = 0
        guard unsafe drmModeMapDumbBuffer(card.descriptor, handle, &offset) == 0 else {
            throw .cannotOpen(path: path, reason: "cannot map the screen's buffer: \(systemReason())")
        }
        let descriptor = fcntl(card.descriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: systemReason()) }
        return try FramebufferMemory(
            descriptor: descriptor,
            path: path,
            layout: layout,
            rotation: rotation,
            reportedBytes: bytes,
            offsetBytes: Int(clamping: offset)
        )
    }

    deinit {
        drmModeRmFB(card.descriptor, id)  // What is shown is switched off with it; a console comes back by itself.
        drmModeDestroyDumbBuffer(card.descriptor, handle)
    }
}
