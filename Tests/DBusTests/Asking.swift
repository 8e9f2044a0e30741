import DBus

let testPath = ObjectPath("/org/till/test") ?? .root

extension BusConnection {
    /// Calls the test object of another connection.
    func ask(
        _ other: BusConnection,
        _ member: String,
        _ arguments: [BusValue] = [],
        timeout: Duration = .seconds(20)
    ) async throws(BusError) -> [BusValue] {
        try await call(
            BusCall(to: other.uniqueName, at: testPath, "org.till.Test", member, arguments),
            timeout: timeout
        )
    }
}
