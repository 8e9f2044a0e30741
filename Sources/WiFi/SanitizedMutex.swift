#if THREAD_SANITIZER
    import Glibc

    /// Stands in for `Synchronization.Mutex` while the thread sanitizer looks: it knows POSIX locks, and takes what the
    /// other one guards for a race. No part of what is shipped.
    ///
    /// `@unchecked`: `value` is touched between lock and unlock only.
    @safe final class Mutex<Value>: @unchecked Sendable {
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        private var value: Value

        init(_ value: Value) {
            self.value = value
            unsafe lock = .allocate(capacity: 1)
            unsafe pthread_mutex_init(lock, nil)
        }

        func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result
        {
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
