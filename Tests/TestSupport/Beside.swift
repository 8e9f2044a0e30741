/// Runs something beside the test and ends it afterwards.
public func beside<Value: Sendable>(
    _ service: @Sendable @escaping () async throws -> Void,
    _ body: @Sendable @escaping () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask {
            try await service()
            return nil
        }
        group.addTask { try await body() }
        defer { group.cancelAll() }
        while let value = try await group.next() { if let value { return value } }
        throw CancellationError()
    }
}
