import Journal
import Payments

extension Journal {
    /// Tells what this terminal sends from what another does: twelve letters and digits of the journal's own name.
    func senderName() async throws(JournalError) -> String {
        String(try await name().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(12)).lowercased()
    }
}
