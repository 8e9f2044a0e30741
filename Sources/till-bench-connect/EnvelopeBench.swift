import WalletConnect

/// Sealing and opening what a relay carries, on one core.
enum EnvelopeBench {
    /// As large as a request to sign.
    static let bytes = 2048

    static func run(_ count: Int) {
        let random = SystemRandomSource()
        guard let key = SymmetricSecret(hexadecimal: String(repeating: "5a", count: 32)) else { return }
        let message = "{\"" + String(repeating: "x", count: bytes - 4) + "\"}"
        var texts: [String] = []
        texts.reserveCapacity(count)
        let clock = ContinuousClock()
        let sealing = clock.measure { for _ in 0..<count { texts.append(key.envelope(of: message, random: random)) } }
        var opened = 0
        let opening = clock.measure {
            for text in texts where key.message(inEnvelope: text)?.utf8.count == bytes { opened += 1 }
        }
        precondition(opened == count, "an envelope did not open")
        print("envelopes of \(bytes) bytes: sealed \(rate(count, sealing))/s, opened \(rate(count, opening))/s")
    }

    private static func rate(_ count: Int, _ time: Duration) -> Int { Int(Double(count) / (time / .seconds(1))) }
}
