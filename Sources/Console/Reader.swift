import Payments
import Terminal

/// Who reads an answer about a charge.
enum Reader: Sendable {
    /// People who are signed in here.
    case staff
    /// A program with a token. It gets what the contract in `Public/api/v1/openapi.json` says, and none of staff's own words: no
    /// note, and no reason of a refund.
    case program
}

extension Gate.Pass {
    var reader: Reader { program == nil ? .staff : .program }
}

extension TimelineEntry {
    /// The entry without what staff wrote for themselves.
    func said(to reader: Reader) -> TimelineEntry {
        guard reader == .program, let reason = values["reason"] else { return self }
        let said = text.hasSuffix(": " + reason) ? String(text.dropLast(reason.count + 2)) + "." : ""
        return TimelineEntry(
            at: at,
            kind: kind,
            who: who,
            rail: rail,
            text: said,
            values: values.filter { $0.key != "reason" }
        )
    }
}
