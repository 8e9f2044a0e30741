import Testing

@testable import Screen

struct QRPictureTests {
    /// The path drawn as a browser draws it, and read by a decoder that knows nothing of how it was made.
    @Test func thePathOnAPageCanBeScanned() throws {
        let text = "https://pay.walletconnect.com/?pid=pay_0ca2ecc101M7YQ1YVCH0MAJKMRD6CX49MJ"
        let picture = try #require(QRPicture(text))
        let unit = 6
        let side = picture.side * unit
        var pixels = [UInt8](repeating: 255, count: side * side)
        for part in picture.path.split(separator: "M") {
            let numbers = part.split { !$0.isNumber }.compactMap { Int($0) }
            // M column row h length v 1 h -length z
            try #require(numbers.count == 5 && numbers[3] == 1 && numbers[2] == numbers[4])
            for row in numbers[1] * unit..<(numbers[1] + 1) * unit {
                for column in numbers[0] * unit..<(numbers[0] + numbers[2]) * unit { pixels[row * side + column] = 0 }
            }
        }
        let image = GreyImage(size: PixelSize(width: side, height: side), pixels: pixels)
        #expect(try #require(QRReader()).texts(in: image) == [text])
    }

    @Test func whatCannotBeACodeIsNone() {
        #expect(QRPicture("") == nil)
        #expect(QRPicture(String(repeating: "x", count: 3000)) == nil)
    }
}
