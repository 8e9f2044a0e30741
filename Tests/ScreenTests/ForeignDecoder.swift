import Foundation
import Subprocess
import Testing
import TestSupport

/// zxing-cpp in a Python environment of its own: a decoder that shares no line with the one in the product, reading
/// pictures with its own idea of what a framebuffer's bytes mean.
enum ForeignDecoder {
    /// A file to read: a PNG, or raw framebuffer bytes with their layout.
    struct Picture: Codable, Sendable {
        var path: String
        var width = 0
        var height = 0
        var stride = 0
        var bitsPerPixel = 0
        /// Offset and length of red, green and blue.
        var channels: [[Int]] = []
        /// Clockwise degrees by which the picture was turned before it reached the panel.
        var rotation = 0
    }

    static let missing: Comment =
        "zxing-cpp is not there and cannot be installed (python3 -m venv, pip): codes were not read by a foreign decoder."

    /// The Python that has zxing-cpp; nil when there is none to be had. Looked for once.
    private static let python = Task<String?, Never> {
        let folder = packageRoot.appendingPathComponent(".build/zxing-venv").path
        let python = folder + "/bin/python3"
        if await isUsable(python) { return python }
        guard await succeeds("python3", ["-m", "venv", folder]),
            await succeeds(python, ["-m", "pip", "install", "--quiet", "zxing-cpp==3.1.1", "numpy", "pillow"]),
            await isUsable(python)
        else { return nil }
        return python
    }

    static var isAvailable: Bool {
        get async { await python.value != nil }
    }

    private static let packageRoot = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func isUsable(_ python: String) async -> Bool {
        await succeeds(python, ["-c", "import zxingcpp, numpy, PIL"])
    }

    private static func succeeds(_ program: String, _ arguments: [String]) async -> Bool {
        // `env` starts a program by name and by path alike.
        let result = try? await run(.name("env"), arguments: Arguments([program] + arguments), output: .discarded)
        return result?.terminationStatus.isSuccess ?? false
    }

    /// The texts of all QR codes in each picture.
    static func texts(in pictures: [Picture]) async throws -> [[String]] {
        let python = try #require(await python.value)
        let jobs = String(decoding: try JSONEncoder().encode(pictures), as: UTF8.self)
        let result = try await run(
            .name("env"),
            arguments: [python, "-c", script],
            input: .string(jobs),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 16)
        )
        try #require(result.terminationStatus.isSuccess, "\(result.standardError)")
        return try JSONDecoder().decode([[String]].self, from: Data(result.standardOutput.utf8))
    }

    private static let script = """
        import json, sys
        import numpy as np
        import zxingcpp
        from PIL import Image

        def read(job):
            if job["bitsPerPixel"] == 0:
                return np.array(Image.open(job["path"]).convert("RGB"))
            raw = np.fromfile(job["path"], dtype=np.uint8)
            w, h, stride, step = job["width"], job["height"], job["stride"], job["bitsPerPixel"] // 8
            need = stride * (h - 1) + w * step
            raw = np.concatenate([raw, np.zeros(max(0, stride * h - len(raw)), np.uint8)])
            rows = raw[: stride * h].reshape(h, stride)[:, : w * step].reshape(h, w, step).astype(np.uint32)
            value = sum(rows[:, :, i] << (8 * i) for i in range(step))
            planes = []
            for offset, length in job["channels"]:
                top = (1 << length) - 1
                planes.append((((value >> offset) & top) * 255 // top).astype(np.uint8))
            image = np.stack(planes, axis=2)
            return np.ascontiguousarray(np.rot90(image, job["rotation"] // 90))  # Counterclockwise: back again.

        jobs = json.load(sys.stdin)
        formats = zxingcpp.BarcodeFormat.QRCode
        print(json.dumps([[found.text for found in zxingcpp.read_barcodes(read(job), formats=formats)] for job in jobs]))
        """
}

extension TemporaryFolder {
    func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: file(name)))) }
}
