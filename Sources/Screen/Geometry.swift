/// Width and height of a picture in device pixels. Both are at least 1 for every picture that is drawn.
public struct PixelSize: Sendable, Hashable {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
}

/// A part of a picture in device pixels, counted from the upper left corner.
public struct PixelRect: Sendable, Hashable {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// The whole of a picture of this size.
    public init(_ size: PixelSize) { self.init(x: 0, y: 0, width: size.width, height: size.height) }

    public var isEmpty: Bool { width <= 0 || height <= 0 }

    var right: Int { x + width }
    var bottom: Int { y + height }
    var centreX: Int { x + width / 2 }
    var centreY: Int { y + height / 2 }
    var area: Int { isEmpty ? 0 : width * height }

    func intersection(_ other: PixelRect) -> PixelRect {
        let left = max(x, other.x)
        let top = max(y, other.y)
        return PixelRect(
            x: left,
            y: top,
            width: max(0, min(right, other.right) - left),
            height: max(0, min(bottom, other.bottom) - top)
        )
    }

    func intersects(_ other: PixelRect) -> Bool { !intersection(other).isEmpty }

    func contains(_ other: PixelRect) -> Bool { intersection(other) == other }

    func union(_ other: PixelRect) -> PixelRect {
        if isEmpty { return other }
        if other.isEmpty { return self }
        let left = min(x, other.x)
        let top = min(y, other.y)
        return PixelRect(
            x: left,
            y: top,
            width: max(right, other.right) - left,
            height: max(bottom, other.bottom) - top
        )
    }

    func inset(by pixels: Int) -> PixelRect {
        PixelRect(x: x + pixels, y: y + pixels, width: width - 2 * pixels, height: height - 2 * pixels)
    }

    /// The same place seen in a mirror: for languages that read from right to left.
    func mirrored(inWidth total: Int) -> PixelRect {
        PixelRect(x: total - right, y: y, width: width, height: height)
    }
}

/// How far the picture is turned, clockwise, before it reaches the panel: a panel mounted upright that the kernel
/// reports as lying wants `clockwise90` or `clockwise270`.
public enum Rotation: Int, Sendable, CaseIterable {
    case none = 0
    case clockwise90 = 90
    case clockwise180 = 180
    case clockwise270 = 270

    var swapsSides: Bool { self == .clockwise90 || self == .clockwise270 }
}
