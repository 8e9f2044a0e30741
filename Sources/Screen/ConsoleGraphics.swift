import CLinuxFramebuffer
import Glibc

/// Keeps a virtual terminal from drawing its cursor and messages while this value lives.
///
/// The kernel takes this from root, from whoever has `CAP_SYS_TTY_CONFIG`, and from the one whose controlling terminal it
/// is: under systemd `TTYPath=` and `StandardInput=tty-force`, and `TTYReset=yes` gives it back after a crash.
/// Source: Linux, drivers/tty/vt/vt_ioctl.c, `vt_ioctl`; linux/kd.h, `KDSETMODE`.
public struct ConsoleGraphics: ~Copyable {
    private let descriptor: Int32

    /// - Throws: ``ScreenError/cannotOpen(path:reason:)``: the console stays as it is.
    public init(path: String) throws(ScreenError) {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: systemReason()) }
        var before: Int32 = 0
        guard unsafe ioctl(descriptor, UInt(KDGETMODE), &before) == 0,
            ioctl(descriptor, UInt(KDSETMODE), KD_GRAPHICS) == 0
        else {
            let reason = systemReason()
            close(descriptor)
            throw .cannotOpen(path: path, reason: "cannot switch this console to graphics: \(reason)")
        }
        self.descriptor = descriptor
    }

    deinit {
        // Also one that was found in graphics, left so by a program that was killed.
        _ = ioctl(descriptor, UInt(KDSETMODE), KD_TEXT)
        close(descriptor)
    }

    /// The first of `paths` that may be taken over; nil: there is none, and the screen is drawn on all the same.
    public static func firstUsable(_ paths: [String]) -> String? {
        paths.first { path in
            let descriptor = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            var now: Int32 = 0
            // Setting what is set already changes nothing, and needs the same right.
            return unsafe ioctl(descriptor, UInt(KDGETMODE), &now) == 0 && ioctl(descriptor, UInt(KDSETMODE), now) == 0
        }
    }
}
