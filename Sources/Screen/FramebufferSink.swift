import CLinuxFramebuffer
import Glibc

/// A Linux framebuffer. Writes only what changed; what was there before comes back on `close()` or with the last
/// reference.
///
/// Opening blocks for some milliseconds.
/// Source: linux/fb.h, `FBIOGET_VSCREENINFO`, `FBIOGET_FSCREENINFO`; linux/kd.h, `KDSETMODE`.
public final class FramebufferSink: PixelSink {
    public let name: String
    /// Of a device it follows what the kernel says: a mode that was set anew, or a panel that was plugged in again.
    public var surface: Surface {
        followDevice()
        return current
    }

    private var current: Surface
    private var memory: FramebufferMemory?
    private var console: ConsoleGraphics?
    private let saved: SavedPicture
    private let rotation: Rotation
    /// Asks the device at `name` anew; nil for plain files, which stay as they are.
    private let ask: (@Sendable (Int32) throws(ScreenError) -> (FramebufferLayout, Int))?
    private var isClosed = false
    private var isOff = false

    /// Opens a framebuffer device and asks the kernel how it stores its pixels.
    ///
    /// - Parameter consolePath: A virtual terminal such as `/dev/tty0` to keep from drawing its cursor and messages
    ///   over the picture; needs root or `CAP_SYS_TTY_CONFIG`. Nil leaves it alone.
    /// - Throws: `cannotOpen` with what to check.
    public convenience init(
        path: String = "/dev/fb0",
        rotation: Rotation = .none,
        consolePath: String? = nil
    ) throws(ScreenError) {
        let ask: @Sendable (Int32) throws(ScreenError) -> (FramebufferLayout, Int) = {
            (descriptor) throws(ScreenError) in try Self.reportedLayout(descriptor, path: path)
        }
        try self.init(path: path, rotation: rotation, consolePath: consolePath, asking: ask)
    }

    /// - Parameter ask: What the kernel says of an open device: its layout and the bytes of its memory.
    convenience init(
        path: String,
        rotation: Rotation,
        consolePath: String? = nil,
        asking ask: @escaping @Sendable (Int32) throws(ScreenError) -> (FramebufferLayout, Int)
    ) throws(ScreenError) {
        let memory = try Self.map(path, rotation, ask)
        try self.init(path: path, rotation: rotation, memory: memory, consolePath: consolePath, asking: ask)
    }

    private static func map(
        _ path: String,
        _ rotation: Rotation,
        _ ask: (Int32) throws(ScreenError) -> (FramebufferLayout, Int)
    ) throws(ScreenError) -> FramebufferMemory {
        let descriptor = try open(path, flags: O_RDWR | O_CLOEXEC)
        let (layout, length): (FramebufferLayout, Int)
        do throws(ScreenError) { (layout, length) = try ask(descriptor) } catch {
            Glibc.close(descriptor)
            throw error
        }
        return try FramebufferMemory(
            descriptor: descriptor,
            path: path,
            layout: layout,
            rotation: rotation,
            reportedBytes: length
        )
    }

    /// Where the device is another than before, or is gone: opens it anew. Where that fails the surface stays as it was, and
    /// what is drawn is refused, until it is back.
    private func followDevice() {
        guard let ask, !isClosed else { return }
        if let layout = memory?.layout, let descriptor = memory?.descriptor,
            let (now, _) = try? ask(descriptor), now == layout
        {
            return
        }
        memory = nil
        guard let mapped = try? Self.map(name, rotation, ask) else { return }
        let edition = current.edition + 1
        current = Self.surface(mapped.layout, rotation)
        current.edition = edition
        memory = consume mapped
    }

    private static func surface(_ layout: FramebufferLayout, _ rotation: Rotation) -> Surface {
        let panel = layout.size
        return Surface(size: rotation.swapsSides ? PixelSize(width: panel.height, height: panel.width) : panel)
    }

    /// Draws into a plain file laid out like a framebuffer, made or made longer as needed: to look at pages, to measure,
    /// and to test without a device.
    public convenience init(path: String, layout: FramebufferLayout, rotation: Rotation = .none) throws(ScreenError) {
        let descriptor = try Self.open(path, flags: O_RDWR | O_CREAT | O_CLOEXEC)
        var status = stat()
        if layout.objection == nil, unsafe fstat(descriptor, &status) == 0, status.st_size < layout.lengthBytes,
            ftruncate(descriptor, layout.lengthBytes) != 0
        {
            let reason = systemReason()
            Glibc.close(descriptor)
            throw .cannotOpen(path: path, reason: reason)
        }
        let memory = try FramebufferMemory(
            descriptor: descriptor,
            path: path,
            layout: layout,
            rotation: rotation,
            reportedBytes: Int.max
        )
        try self.init(path: path, rotation: rotation, memory: memory, consolePath: nil, asking: nil)
    }

    private init(
        path: String,
        rotation: Rotation,
        memory: consuming FramebufferMemory,
        consolePath: String?,
        asking ask: (@Sendable (Int32) throws(ScreenError) -> (FramebufferLayout, Int))?
    ) throws(ScreenError) {
        name = path
        (self.rotation, self.ask) = (rotation, ask)
        current = Self.surface(memory.layout, rotation)
        // Before the first pixel is written, and before the console is told to stop drawing.
        saved = SavedPicture(memory)
        console = if let consolePath { try ConsoleGraphics(path: consolePath) } else { nil }
        self.memory = consume memory
    }

    deinit { close() }

    public func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) {
        guard PixelRect(current.size).contains(part) else {
            throw .cannotDraw(sink: name, reason: "the part to draw is not inside the screen")
        }
        guard memory != nil else { throw isClosed ? .closed : .cannotDraw(sink: name, reason: Self.gone) }
        memory?.write(pixels, to: part)
    }

    public func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
        guard PixelRect(current.size).contains(part), factor > 0 else {
            throw .cannotDraw(sink: name, reason: "the part to read is not inside the screen")
        }
        guard let image = memory?.readBack(part, reducedBy: factor) else {
            throw isClosed ? .closed : .cannotDraw(sink: name, reason: Self.gone)
        }
        return image
    }

    /// Source: linux/fb.h, `FBIOBLANK`.
    public func light(_ isOn: Bool) throws(ScreenError) {
        guard ask != nil, isOn == isOff, let descriptor = memory?.descriptor else { return }
        let level = isOn ? FB_BLANK_UNBLANK : FB_BLANK_POWERDOWN
        if ioctl(descriptor, UInt(FBIOBLANK), CInt(level)) == 0 {
            isOff = !isOn
        } else if isOn {
            throw .cannotDraw(sink: name, reason: "its light does not come on: \(systemReason())")
        }
    }

    private static let gone = "it is not there any more"

    public func close() {
        guard !isClosed else { return }
        try? light(true)  // Whoever draws next switches it on, or does not; there is nothing more to do here.
        isClosed = true
        if let memory = memory.take() { saved.restore(to: memory) }
        console = nil  // Back to text mode last: the console then repaints over our picture, not the reverse.
    }

    private static func open(_ path: String, flags: Int32) throws(ScreenError) -> Int32 {
        let descriptor = unsafe Glibc.open(path, flags, 0o600)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: systemReason()) }
        return descriptor
    }

    /// What the kernel says about the device: the layout and the length of its memory.
    private static func reportedLayout(
        _ descriptor: Int32,
        path: String
    ) throws(ScreenError) -> (FramebufferLayout, Int) {
        var variable = fb_var_screeninfo()
        var fixed = fb_fix_screeninfo()
        guard unsafe ioctl(descriptor, UInt(FBIOGET_VSCREENINFO), &variable) == 0,
            unsafe ioctl(descriptor, UInt(FBIOGET_FSCREENINFO), &fixed) == 0
        else { throw .cannotOpen(path: path, reason: "not a framebuffer: \(systemReason())") }
        guard fixed.type == UInt32(FB_TYPE_PACKED_PIXELS),
            [UInt32(FB_VISUAL_TRUECOLOR), UInt32(FB_VISUAL_DIRECTCOLOR)].contains(fixed.visual)
        else { throw .cannotOpen(path: path, reason: "it does not store true colours pixel by pixel") }
        // A device whose memory does not begin on a page is mapped from the page's beginning.
        let page = sysconf(Int32(_SC_PAGESIZE))
        let inPage = Int(fixed.smem_start % UInt(page))
        let pixelBytes = Int(variable.bits_per_pixel / 8)
        let stride = Int(fixed.line_length)
        let panned = Int(variable.yoffset) * stride + Int(variable.xoffset) * pixelBytes
        func channel(_ field: fb_bitfield) -> FramebufferLayout.Channel {
            FramebufferLayout.Channel(offset: Int(field.offset), length: Int(field.length))
        }
        let layout = FramebufferLayout(
            size: PixelSize(width: Int(variable.xres), height: Int(variable.yres)),
            strideBytes: stride,
            bitsPerPixel: Int(variable.bits_per_pixel),
            red: channel(variable.red),
            green: channel(variable.green),
            blue: channel(variable.blue),
            startBytes: inPage + panned
        )
        return (layout, inPage + (Int(fixed.smem_len)))
    }
}

/// What a framebuffer showed before: rows equal to the one above are kept once, so an empty console costs little.
private struct SavedPicture {
    private var rows: [[UInt8]] = []
    private let layout: FramebufferLayout

    init(_ memory: borrowing FramebufferMemory) {
        layout = memory.layout
        for y in 0..<memory.layout.size.height {
            let row = memory.row(y)
            // Assigning the equal row above shares its bytes.
            if let above = rows.last, above == row { rows.append(above) } else { rows.append(row) }
        }
    }

    /// Does nothing where the mode is another by now: the console paints anew then.
    func restore(to memory: borrowing FramebufferMemory) {
        guard memory.layout == layout else { return }
        for (y, row) in rows.enumerated() { memory.restore(row, row: y) }
    }
}
