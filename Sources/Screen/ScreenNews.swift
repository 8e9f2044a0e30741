import CDRM
import Glibc

/// What the kernel says of panels that are plugged in, out or changed, kept by the kernel until somebody asks.
///
/// Needs no right. Where nothing is said, as in a container, changes are found by asking the devices.
/// Source: kernel, lib/kobject_uevent.c; netlink(7), `NETLINK_KOBJECT_UEVENT`.
struct ScreenNews: ~Copyable {
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 8192)

    /// Nil where the kernel does not tell this program.
    init?() {
        let kind = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_NETLINK, kind, Int32(NETLINK_KOBJECT_UEVENT))
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = 1  // What the kernel itself says.
        let isBound = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_nl>.size)) == 0
            }
        }
        guard isBound else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Whether anything was said of panels since the last call, or may have been.
    mutating func take() -> Bool {
        var isNews = false
        for _ in 0..<10_000 {  // Who says more than that says it at the next call.
            let count = unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count >= 0 {
                isNews = isNews || Self.isOfPanels(buffer[..<count])
            } else if errno == ENOBUFS {
                isNews = true  // More was said than the kernel keeps.
            } else if errno != EINTR {
                break
            }
        }
        return isNews
    }

    /// Whether a message is one of a graphics device. Who forges one has the panel asked, and nothing more.
    static func isOfPanels(_ message: some Collection<UInt8>) -> Bool {
        message.split(separator: 0).contains { $0.elementsEqual("SUBSYSTEM=drm".utf8) }
    }
}
