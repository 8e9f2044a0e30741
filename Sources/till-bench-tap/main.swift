// `[PAYMENTS]`: what framing and cryptography of a tap cost the processor, for both sides and for the terminal's alone.
import Glibc

let payments = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1000
var bench = try TapBench()
for _ in 0..<50 { _ = try bench.pay() }  // Until caches and allocator are as they stay.
var meters: [TapBench.Meter] = []
for _ in 0..<max(1, payments) { meters.append(try bench.pay()) }

let spans: [(name: String, milliseconds: [Double])] = [
    ("tap, both sides", meters.map { $0.terminal + $0.phone }),
    ("tap, terminal", meters.map(\.terminal)),
]
for (name, milliseconds) in spans {
    let sorted = milliseconds.sorted()
    func quantile(_ share: Int) -> String {
        let thousandths = Int(sorted[min(sorted.count - 1, sorted.count * share / 100)] * 1000)
        let digits = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }
    print("\(name): p50 \(quantile(50)) ms, p95 \(quantile(95)) ms, \(sorted.count) payments")
}
