import CDBus
import Glibc

/// Owns one private connection of libdbus, and its closing. Used by one thread, which never waits inside libdbus.
///
/// Nothing here is called back: messages are taken off the queue, so libdbus holds no pointer into this process.
///
/// Source: dbus-connection.h 1.14, `dbus_connection_open_private`, `dbus_connection_pop_message`.
@safe struct ConnectionHandle: ~Copyable {
    private let raw: OpaquePointer

    /// Connects to the socket of `address`, such as `unix:path=/run/dbus/system_bus_socket`. Nothing is sent yet.
    init(address: String) throws(BusError) {
        guard !address.utf8.contains(0) else { throw .notSent(reason: "an address with a zero byte") }
        var error = unsafe DBusError()
        unsafe dbus_error_init(&error)
        defer { unsafe dbus_error_free(&error) }
        guard let raw = unsafe dbus_connection_open_private(address, &error) else {
            guard unsafe dbus_error_is_set(&error) != 0 else { throw .disconnected(reason: "out of memory") }
            throw .disconnected(reason: unsafe String(cString: error.message))
        }
        unsafe dbus_connection_set_exit_on_disconnect(raw, 0)  // libdbus would end the process with the bus.
        unsafe dbus_connection_set_max_message_size(raw, BusLimits.messageBytes)
        unsafe dbus_connection_set_max_received_size(raw, 4 * BusLimits.messageBytes)
        unsafe dbus_connection_set_max_message_unix_fds(raw, 16)
        unsafe dbus_connection_set_max_received_unix_fds(raw, 64)
        unsafe self.raw = raw
    }

    deinit {
        unsafe dbus_connection_close(raw)
        unsafe dbus_connection_unref(raw)
    }

    var isConnected: Bool { unsafe dbus_connection_get_is_connected(raw) != 0 }
    var isAuthenticated: Bool { unsafe dbus_connection_get_is_authenticated(raw) != 0 }
    var hasOutgoing: Bool { unsafe dbus_connection_has_messages_to_send(raw) != 0 }
    var canPassDescriptors: Bool { unsafe dbus_connection_can_send_type(raw, Int32(UInt8(ascii: "h"))) != 0 }
    var outgoingBytes: Int { unsafe dbus_connection_get_outgoing_size(raw) }

    /// The socket, to wait on and for nothing else. Negative once it is gone.
    var socket: Int32 {
        var number: Int32 = -1
        return unsafe dbus_connection_get_unix_fd(raw, &number) != 0 ? number : -1
    }

    /// Reads and writes what the socket takes now.
    func moveBytes(waitingMilliseconds: Int32 = 0) {
        _ = unsafe dbus_connection_read_write(raw, waitingMilliseconds)
    }

    func nextMessage() -> MessageHandle? {
        guard let message = unsafe dbus_connection_pop_message(raw) else { return nil }
        return unsafe MessageHandle(owning: message)
    }

    /// Puts a message in the queue.
    ///
    /// - Returns: Its serial, by which an answer names it.
    func send(_ message: borrowing MessageHandle) throws(BusError) -> UInt32 {
        guard outgoingBytes < BusLimits.outgoingBytes else { throw .notSent(reason: "the bus has stopped reading") }
        var serial: UInt32 = 0
        guard unsafe dbus_connection_send(raw, message.raw, &serial) != 0 else {
            throw .notSent(reason: "libdbus did not take the message")
        }
        return serial
    }

    func setUniqueName(_ name: String) {
        _ = unsafe dbus_bus_set_unique_name(raw, name)
    }
}

/// What libdbus holds for a well-formed name. It ends the process over others, so each name is asked about first.
enum Syntax {
    static func isBusName(_ text: String) -> Bool { unsafe !hasZero(text) && dbus_validate_bus_name(text, nil) != 0 }
    static func isInterface(_ text: String) -> Bool { unsafe !hasZero(text) && dbus_validate_interface(text, nil) != 0 }
    static func isMember(_ text: String) -> Bool { unsafe !hasZero(text) && dbus_validate_member(text, nil) != 0 }
    static func isErrorName(_ text: String) -> Bool {
        unsafe !hasZero(text) && dbus_validate_error_name(text, nil) != 0
    }

    private static func hasZero(_ text: String) -> Bool { text.utf8.contains(0) }
}

extension BusConnection {
    /// Where the machine's own bus listens.
    ///
    /// Source: D-Bus specification 0.42, "System message bus": the variable first, then the well-known place.
    public static var systemAddress: String {
        unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS").map { unsafe String(cString: $0) }
            ?? "unix:path=/var/run/dbus/system_bus_socket"
    }
}
