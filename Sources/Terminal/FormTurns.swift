import Screen

/// A form and the payment's code take turns on a screen that has no room for both. The form begins: somebody waits for it. The
/// payment's code comes back each time, since any phone and any wallet can have a form asked for.
struct FormTurns: Sendable, Equatable {
    /// Long enough to lift a phone and scan.
    static let length = Duration.seconds(12)

    let form: String
    /// When it was first shown, on the clock that no one sets.
    let since: Duration

    func turn(at now: Duration) -> Scene.ChargeView.Turn { number(at: now).isMultiple(of: 2) ? .form : .payment }

    /// When the other one's turn begins.
    func next(after now: Duration) -> Duration { since + Self.length * (number(at: now) + 1) }

    private func number(at now: Duration) -> Int { max(0, Int((now - since) / Self.length)) }
}
