import FoundationEssentials
import Payments
import Sandbox
import Testing

/// Each endpoint of the gateway × each of its faults × the terminal killed at each point, in each story of a charge: the
/// journal and the gateway agree in the end, and no word on the way was wrong.
struct AgreementTests {
    @Test(arguments: Story.allCases)
    func withoutAnyFaultTheyAgreeWhereverTheTerminalDies(story: Story) async throws {
        try await dieEverywhere(in: story, [])
    }

    @Test(arguments: Trouble.endpoints)
    func withAnyFaultTheyAgreeInEveryStory(endpoint: Trouble.Endpoint) async throws {
        for trouble in endpoint.troubles {
            for story in Story.allCases { try await play(story, try trouble.faults()) }
        }
    }

    @Test(arguments: Trouble.endpoints)
    func withAnyFaultTheyAgreeWhereverTheTerminalDies(endpoint: Trouble.Endpoint) async throws {
        for trouble in endpoint.troubles { try await dieEverywhere(in: endpoint.story, try trouble.faults()) }
    }

    private func dieEverywhere(in story: Story, _ faults: [Fault]) async throws {
        // A gateway that is silent for long is asked again and again: the first questions stand for all of them.
        let steps = min(try await play(story, faults).steps, 30)
        #expect(steps > 4)
        for step in 1...steps { try await play(story, faults, diesAt: step) }
    }

    @discardableResult
    private func play(_ story: Story, _ faults: [Fault], diesAt: Int? = nil) async throws -> Counter.Ending {
        let folder = FileManager.default.temporaryDirectory.path() + "/till-agreement-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }  // Of a test: a rest does no harm.
        let what = "\(story.rawValue), \(faults), dies at \(diesAt.map(String.init) ?? "no step")"
        let ending = try await Counter(story, faults: faults, in: folder).play(diesAt: diesAt) { ending in
            if let objection = Self.wrongWord(ending) { Issue.record("\(what): in the middle: \(objection)") }
        }
        let keepsKeys = !faults.contains { $0.effect == .forgetKey }
        if let objection = Self.wrongWord(ending) ?? Self.disagreement(ending, keepsKeys) {
            let payments = ending.payments.map { "\($0.paymentId) \($0.status)" }
            Issue.record("\(what): \(objection); said \(ending.words.map(\.rawValue)), gateway \(payments)")
        }
        return ending
    }

    /// What the journal says although the gateway does not, at any time.
    private static func wrongWord(_ ending: Counter.Ending) -> String? {
        guard let charge = ending.charge else { return nil }
        let words = Set(ending.payments.map(\.status))
        switch charge.state {
        case .succeeded: return words.contains("succeeded") ? nil : "called paid, which it is not"
        case .failed, .expired, .cancelled:
            return words.contains("succeeded") || words.contains("processing") ? "called unpaid, which it is not" : nil
        case .created, .requiresAction, .processing, .unknown: return nil
        }
    }

    /// What they differ in when all is over and the gateway speaks.
    /// - Parameter keepsKeys: Whether the gateway makes one payment of an order that is sent twice under one key.
    private static func disagreement(_ ending: Counter.Ending, _ keepsKeys: Bool) -> String? {
        guard let charge = ending.charge else {
            return ending.payments.isEmpty ? nil : "the gateway has a payment and the journal no charge"
        }
        if keepsKeys, ending.payments.count > 1 { return "made two payments of one charge" }
        let isOver = ending.payments.allSatisfy { ["succeeded", "failed", "expired", "cancelled"].contains($0.status) }
        guard charge.state.isFinal || !isOver else {
            return "still \(charge.state.rawValue) though the gateway answers"
        }
        let said = ending.words.filter(\.isFinal)
        if Set(said).count > 1 { return "said one thing and then another" }
        return nil
    }
}
