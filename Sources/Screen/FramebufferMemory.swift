import Glibc

/// A framebuffer's pixels, mapped; a real device's or those of a plain file.
///
/// Owns the file descriptor and the mapping. For use from one thread at a time.
@safe struct FramebufferMemory: ~Copyable {
    let descriptor: Int32
    let layout: FramebufferLayout
    private let base: UnsafeMutableRawPointer
    private let mappedBytes: Int
    private let packing: PixelPacking
    private let walk: Walk
    private let isCanvasFormat: Bool

    /// Steps through memory for a picture turned by `rotation`: the address of pixel (x, y) is
    /// `start + x × right + y × down`.
    private struct Walk {
        var start: Int
        var right: Int
        var down: Int

        init(_ layout: FramebufferLayout, _ rotation: Rotation) {
            let pixel = layout.bytesPerPixel
            let lastInRow = (layout.size.width - 1) * pixel
            let lastRow = (layout.size.height - 1) * layout.strideBytes
            switch rotation {
            case .none: (start, right, down) = (0, pixel, layout.strideBytes)
            case .clockwise90: (start, right, down) = (lastInRow, layout.strideBytes, -pixel)
            case .clockwise180: (start, right, down) = (lastRow + lastInRow, -pixel, -layout.strideBytes)
            case .clockwise270: (start, right, down) = (lastRow, -layout.strideBytes, pixel)
            }
            start += layout.startBytes
        }
    }

    /// Takes over `descriptor` and closes it, whether this succeeds or not.
    /// - Parameters:
    ///   - reportedBytes: the device's memory; the mapping never goes beyond.
    ///   - offsetBytes: Where in the file it begins; a multiple of the page's size.
    init(
        descriptor: Int32,
        path: String,
        layout: FramebufferLayout,
        rotation: Rotation,
        reportedBytes: Int,
        offsetBytes: Int = 0
    ) throws(ScreenError) {
        var reason = layout.objection
        if reason == nil, layout.lengthBytes > reportedBytes {
            reason = "its memory of \(reportedBytes) bytes is smaller than its picture"
        }
        if let reason {
            close(descriptor)
            throw .cannotOpen(path: path, reason: reason)
        }
        let mapped = unsafe mmap(nil, layout.lengthBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, offsetBytes)
        guard let base = unsafe mapped, unsafe base != MAP_FAILED else {
            let reason = systemReason()
            close(descriptor)
            throw .cannotOpen(path: path, reason: "cannot map its memory: \(reason)")
        }
        self.descriptor = descriptor
        self.layout = layout
        unsafe self.base = base
        mappedBytes = layout.lengthBytes
        packing = PixelPacking(layout)
        walk = Walk(layout, rotation)
        isCanvasFormat = layout.isCanvasFormat
    }

    deinit {
        unsafe munmap(base, mappedBytes)
        close(descriptor)
    }

    /// - Precondition: `part` is inside the picture and `pixels` holds all of it.
    func write(_ pixels: Span<UInt32>, to part: PixelRect) {
        precondition(pixels.count == part.area)
        unsafe pixels.withUnsafeBufferPointer { source in
            let start = walk.start + part.x * walk.right + part.y * walk.down
            if isCanvasFormat, walk.right == 4 {
                for row in 0..<part.height {
                    let line = UnsafeRawBufferPointer(source.extracting(row * part.width..<(row + 1) * part.width))
                    let target = unsafe UnsafeMutableRawBufferPointer(
                        start: base + start + row * walk.down,
                        count: line.count
                    )
                    unsafe target.copyMemory(from: line)
                }
                return
            }
            // Memory is written in its own order, also when the picture is turned.
            if abs(walk.right) <= abs(walk.down) {
                for y in 0..<part.height {
                    unsafe store(
                        source,
                        from: y * part.width,
                        step: 1,
                        count: part.width,
                        at: start + y * walk.down,
                        walk.right
                    )
                }
            } else {
                for x in 0..<part.width {
                    unsafe store(
                        source,
                        from: x,
                        step: part.width,
                        count: part.height,
                        at: start + x * walk.right,
                        walk.down
                    )
                }
            }
        }
    }

    private func store(
        _ source: UnsafeBufferPointer<UInt32>,
        from first: Int,
        step: Int,
        count: Int,
        at start: Int,
        _ stride: Int
    ) {
        var address = unsafe base + start
        var index = first
        for _ in 0..<count {
            let value = packing.stored(unsafe source[index])
            switch layout.bitsPerPixel {
            case 16: unsafe address.storeBytes(of: UInt16(truncatingIfNeeded: value), as: UInt16.self)
            case 24:
                unsafe address.storeBytes(of: UInt8(truncatingIfNeeded: value), as: UInt8.self)
                unsafe address.storeBytes(of: UInt8(truncatingIfNeeded: value >> 8), toByteOffset: 1, as: UInt8.self)
                unsafe address.storeBytes(of: UInt8(truncatingIfNeeded: value >> 16), toByteOffset: 2, as: UInt8.self)
            default: unsafe address.storeBytes(of: value, as: UInt32.self)
            }
            index += step
            unsafe address += stride
        }
    }

    private func load(_ address: UnsafeMutableRawPointer) -> UInt32 {
        switch layout.bitsPerPixel {
        case 16: return UInt32(unsafe address.loadUnaligned(as: UInt16.self))
        case 24:
            let low = UInt32(unsafe address.load(as: UInt8.self))
            let middle = UInt32(unsafe address.load(fromByteOffset: 1, as: UInt8.self))
            let high = UInt32(unsafe address.load(fromByteOffset: 2, as: UInt8.self))
            return low | middle << 8 | high << 16
        default: return unsafe address.loadUnaligned(as: UInt32.self)
        }
    }

    /// The mean grey of each square of `factor` × `factor` pixels.
    func readBack(_ part: PixelRect, reducedBy factor: Int) -> GreyImage {
        let size = PixelSize(width: part.width / factor, height: part.height / factor)
        var pixels: [UInt8] = []
        pixels.reserveCapacity(size.width * size.height)
        var sums = [UInt32](repeating: 0, count: size.width)
        let divisor = UInt32(256 * factor * factor)
        let start = walk.start + part.x * walk.right + part.y * walk.down
        for row in 0..<size.height {
            for column in 0..<size.width { sums[column] = 0 }
            for line in 0..<factor {
                var address = unsafe base + start + (row * factor + line) * walk.down
                for column in 0..<size.width {
                    sums[column] += unsafe greySum(&address, count: factor)
                }
            }
            for sum in sums { pixels.append(UInt8(min(255, sum / divisor))) }
        }
        return GreyImage(size: size, pixels: pixels)
    }

    /// The summed grey of `count` pixels from `address`, which moves past them.
    private func greySum(_ address: inout UnsafeMutableRawPointer, count: Int) -> UInt32 {
        guard isCanvasFormat else {
            var sum: UInt32 = 0
            for _ in 0..<count {
                sum += packing.grey(unsafe load(address))
                unsafe address += walk.right
            }
            return sum
        }
        // The common format without tables: each colour is summed in its own 21 bits.
        var sum: UInt64 = 0
        for _ in 0..<count {
            let pixel = UInt64(unsafe address.loadUnaligned(as: UInt32.self))
            sum += (pixel & 0xFF) | (pixel & 0xFF00) << 13 | (pixel & 0xFF_0000) << 26
            unsafe address += walk.right
        }
        let (blue, green, red) = (sum & 0x1F_FFFF, sum >> 21 & 0x1F_FFFF, sum >> 42)
        return UInt32(red * 77 + green * 150 + blue * 29)
    }

    /// The visible bytes of one row of the panel, without rotation.
    func row(_ y: Int) -> [UInt8] {
        let start = unsafe base + layout.startBytes + y * layout.strideBytes
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: layout.rowBytes))
    }

    /// - Precondition: `bytes` came from `row(_:)`.
    func restore(_ bytes: [UInt8], row y: Int) {
        precondition(bytes.count == layout.rowBytes)
        let start = unsafe base + layout.startBytes + y * layout.strideBytes
        unsafe bytes.withUnsafeBytes { source in
            unsafe UnsafeMutableRawBufferPointer(start: start, count: source.count).copyMemory(from: source)
        }
    }
}

/// The system's words for the error that just happened.
func systemReason() -> String { unsafe String(cString: strerror(errno)) }
