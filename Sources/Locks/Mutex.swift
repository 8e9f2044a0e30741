// Every file that needs a mutex or an atomic value imports this module and not `Synchronization`, so that one definition of
// `Mutex` holds for the whole package. Re-exported and not wrapped: in a build that ships, `Mutex` is the standard library's.
@_exported public import Synchronization

#if THREAD_SANITIZER
    import Glibc

    /// A mutex over a POSIX lock, which replaces `Synchronization.Mutex` in builds of `scripts/sanitizers thread`.
    ///
    /// ThreadSanitizer knows POSIX locks. It does not see the futex in the standard library's mutex, and reports what that
    /// guards as a race. No build that ships has it.
    ///
    /// `@unchecked`: `value` is read and written between lock and unlock only.
    @safe public final class Mutex<Value>: @unchecked Sendable {
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        private var value: Value

        public init(_ value: Value) {
            self.value = value
            unsafe lock = .allocate(capacity: 1)
            unsafe pthread_mutex_init(lock, nil)
        }

        public func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            unsafe pthread_mutex_lock(lock)
            defer { unsafe pthread_mutex_unlock(lock) }
            return try body(&value)
        }

        deinit {
            unsafe pthread_mutex_destroy(lock)
            unsafe lock.deallocate()
        }
    }
#endif
