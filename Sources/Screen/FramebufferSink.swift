import CLinuxFramebuffer
import Glibc

/// A Linux framebuffer. Writes only what changed; what was there before comes back on `close()` or with the last
/// reference.
///
/// Opening blocks for some milliseconds.
/// Source: linux/fb.h, `FBIOGET_VSCREENINFO`, `FBIOGET_FSCREENINFO`; linux/kd.h, `KDSETMODE`.
public final class FramebufferSink: PixelSink {
    public let name: String
    public let surface: Surface
    private var memory: FramebufferMemory?
    private var console: ConsoleGraphics?
    private let saved: SavedPicture

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
        let descriptor = try Self.open(path, flags: O_RDWR | O_CLOEXEC)
        let (layout, length): (FramebufferLayout, Int)
        do throws(ScreenError) {
            (layout, length) = try Self.reportedLayout(descriptor, path: path)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        let memory = try FramebufferMemory(
            descriptor: descriptor,
            path: path,
            layout: layout,
            rotation: rotation,
            reportedBytes: length
        )
        try self.init(path: path, rotation: rotation, memory: memory, consolePath: consolePath)
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
        try self.init(path: path, rotation: rotation, memory: memory, consolePath: nil)
    }

    private init(
        path: String,
        rotation: Rotation,
        memory: consuming FramebufferMemory,
        consolePath: String?
    ) throws(ScreenError) {
        let panel = memory.layout.size
        name = path
        surface = Surface(
            size: rotation.swapsSides ? PixelSize(width: panel.height, height: panel.width) : panel
        )
        // Before the first pixel is written, and before the console is told to stop drawing.
        saved = SavedPicture(memory)
        console = if let consolePath { try ConsoleGraphics(path: consolePath) } else { nil }
        self.memory = consume memory
    }

    deinit { close() }

    public func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) {
        guard PixelRect(surface.size).contains(part) else {
            throw .cannotDraw(sink: name, reason: "the part to draw is not inside the screen")
        }
        guard memory != nil else { throw .closed }
        memory?.write(pixels, to: part)
    }

    public func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
        guard PixelRect(surface.size).contains(part), factor > 0 else {
            throw .cannotDraw(sink: name, reason: "the part to read is not inside the screen")
        }
        guard let image = memory?.readBack(part, reducedBy: factor) else { throw .closed }
        return image
    }

    public func close() {
        guard memory != nil else { return }
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

    init(_ memory: borrowing FramebufferMemory) {
        for y in 0..<memory.layout.size.height {
            let row = memory.row(y)
            // Assigning the equal row above shares its bytes.
            if let above = rows.last, above == row { rows.append(above) } else { rows.append(row) }
        }
    }

    func restore(to memory: borrowing FramebufferMemory) {
        for (y, row) in rows.enumerated() { memory.restore(row, row: y) }
    }
}

/// Keeps a virtual terminal from drawing while this value lives.
private struct ConsoleGraphics: ~Copyable {
    private let descriptor: Int32
    private let before: Int32

    init(path: String) throws(ScreenError) {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: systemReason()) }
        var before: Int32 = 0
        guard unsafe ioctl(descriptor, UInt(KDGETMODE), &before) == 0,
            ioctl(descriptor, UInt(KDSETMODE), KD_GRAPHICS) == 0
        else {
            let reason = systemReason()
            Glibc.close(descriptor)
            throw .cannotOpen(path: path, reason: "cannot switch this console to graphics: \(reason)")
        }
        self.descriptor = descriptor
        self.before = before
    }

    deinit {
        _ = ioctl(descriptor, UInt(KDSETMODE), before)
        close(descriptor)
    }
}
