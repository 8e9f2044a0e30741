/// An amount for people.
extension PayAmount {
    /// `12.50 EUR`, or `12.50 USDC on Base`: with the decimals that matter, two at least where the unit has as many, and a
    /// decimal point whatever the language. The digits and the unit as they travel, `1250 of iso4217/EUR`, where the gateway did
    /// not say how to write them.
    ///
    /// Exact: no digit passes through a floating-point number. The names come from outside; they are shortened and cleaned here.
    public var text: String {
        let isNumber = !value.isEmpty && value.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard let display, let decimals = display.decimals, (0...77).contains(decimals), isNumber,
            !Self.clean(display.assetSymbol).isEmpty
        else { return Self.clean("\(value) of \(unit)", limit: 300) }
        let digits = String(repeating: "0", count: max(0, decimals + 1 - value.utf8.count)) + value
        var whole = digits.dropLast(decimals)
        while whole.utf8.count > 1, whole.first == "0" { whole.removeFirst() }
        var fraction = digits.suffix(decimals)
        while fraction.utf8.count > 2, fraction.last == "0" { fraction.removeLast() }
        let network = display.networkName.map(Self.clean(_:)).flatMap { $0.isEmpty ? nil : " on \($0)" } ?? ""
        return "\(whole)\(fraction.isEmpty ? "" : ".")\(fraction) \(Self.clean(display.assetSymbol))\(network)"
    }

    private static func clean(_ text: String) -> String { clean(text, limit: 32) }

    /// Without what could write elsewhere on the line: controls, line breaks, marks that turn the direction.
    private static func clean(_ text: String, limit: Int) -> String {
        var clean = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: continue
            default: clean.append(scalar)
            }
        }
        return String(clean)
    }
}
