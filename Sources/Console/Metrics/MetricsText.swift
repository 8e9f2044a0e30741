/// Metrics as Prometheus reads them.
///
/// Names and labels are written here and by nobody else, and every label comes from a fixed set: a stranger cannot make more of
/// them. Source: Prometheus documentation, "Exposition formats", text format 0.0.4.
struct MetricsText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    enum Kind: String { case counter, gauge, histogram }

    private(set) var text = ""

    /// One metric with all its samples: label values by their names.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [([(String, String)], Double)]) {
        head(name, kind, help)
        for (labels, value) in samples { sample(name, labels, value) }
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        add(name, kind, help, [([], value)])
    }

    /// - Parameter counts: Of each bucket by itself, one more than `bounds`.
    mutating func addHistograms(
        _ name: String,
        _ help: String,
        bounds: [Double],
        _ histograms: [(labels: [(String, String)], counts: [UInt64], sum: Double)]
    ) {
        head(name, .histogram, help)
        for histogram in histograms {
            var total: UInt64 = 0
            for (bound, count) in zip(bounds.map { Optional($0) } + [nil], histogram.counts) {
                total += count
                let edge = bound.map(Self.number) ?? "+Inf"
                sample(name + "_bucket", histogram.labels + [("le", edge)], Double(total))
            }
            sample(name + "_sum", histogram.labels, histogram.sum)
            sample(name + "_count", histogram.labels, Double(total))
        }
    }

    private mutating func head(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n"))\n"
        text += "# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Double) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",") + "}"
        }
        text += " \(Self.number(value))\n"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    /// Whole numbers without a point; others as Swift writes them, which is the shortest that reads back the same.
    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }
}
