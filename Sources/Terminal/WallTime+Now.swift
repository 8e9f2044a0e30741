import Glibc
public import Payments

extension WallTime {
    /// The machine's wall clock.
    public static var now: WallTime {
        var time = timespec()
        // Cannot fail: CLOCK_REALTIME exists on every Linux and `time` is a valid place to write to.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
