/// A still picture as plain pixels: nothing in it can be read in two ways.
public struct Picture: Sendable, Hashable {
    public let width: Int
    public let height: Int
    /// Row by row, `0xAARRGGBB`; the colours are not multiplied by alpha.
    public let pixels: [UInt32]

    /// Nil unless there is one pixel for each place, and at least one place.
    public init?(width: Int, height: Int, pixels: [UInt32]) {
        guard width > 0, height > 0, pixels.count == width * height else { return nil }
        (self.width, self.height, self.pixels) = (width, height, pixels)
    }
}
