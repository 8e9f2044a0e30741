/// The executor that the current task prefers, for a task of its own that goes on without its caller: unlike a child, it would begin
/// anywhere. Nil where the current task prefers none.
package var preferredTaskExecutor: (any TaskExecutor)? {
    // Safe: what the closure is given does not leave it.
    unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor?.asTaskExecutor() ?? nil }
}
