import CDBus

/// Owns one reference to a message of libdbus. Lives on the thread of its connection.
@safe struct MessageHandle: ~Copyable {
    let raw: OpaquePointer

    init(owning raw: OpaquePointer) { unsafe self.raw = raw }

    deinit { unsafe dbus_message_unref(raw) }

    /// The names were checked with ``Syntax``.
    static func call(_ call: BusCall) throws(BusError) -> MessageHandle {
        guard
            let raw = unsafe dbus_message_new_method_call(
                call.destination,
                call.path.text,
                call.interface,
                call.member
            )
        else { throw .notSent(reason: "out of memory") }
        let message = unsafe MessageHandle(owning: raw)
        unsafe dbus_message_set_auto_start(raw, 0)  // An absent service is an answer, and not a wait of 25 s.
        try message.append(call.arguments)
        return message
    }

    static func signal(
        path: ObjectPath,
        interface: String,
        member: String,
        arguments: [BusValue]
    ) throws(BusError) -> MessageHandle {
        guard let raw = unsafe dbus_message_new_signal(path.text, interface, member) else {
            throw .notSent(reason: "out of memory")
        }
        let message = unsafe MessageHandle(owning: raw)
        try message.append(arguments)
        return message
    }

    static func answer(to serial: UInt32, of sender: String, _ arguments: [BusValue]) throws(BusError) -> MessageHandle
    {
        guard let raw = unsafe dbus_message_new(DBUS_MESSAGE_TYPE_METHOD_RETURN) else {
            throw .notSent(reason: "out of memory")
        }
        let message = unsafe MessageHandle(owning: raw)
        try message.address(to: serial, of: sender)
        try message.append(arguments)
        return message
    }

    static func refusal(of serial: UInt32, of sender: String, name: String, text: String) throws(BusError)
        -> MessageHandle
    {
        guard let raw = unsafe dbus_message_new(DBUS_MESSAGE_TYPE_ERROR) else {
            throw .notSent(reason: "out of memory")
        }
        let message = unsafe MessageHandle(owning: raw)
        guard unsafe dbus_message_set_error_name(raw, name) != 0 else { throw .notSent(reason: "out of memory") }
        try message.address(to: serial, of: sender)
        try message.append([.string(text)])
        return message
    }

    private func address(to serial: UInt32, of sender: String) throws(BusError) {
        unsafe dbus_message_set_no_reply(raw, 1)
        guard unsafe dbus_message_set_reply_serial(raw, serial) != 0,
            unsafe sender.isEmpty || dbus_message_set_destination(raw, sender) != 0
        else { throw .notSent(reason: "out of memory") }
    }

    // MARK: Reading

    enum Kind { case call, answer, refusal, signal, other }

    var kind: Kind {
        switch unsafe dbus_message_get_type(raw) {
        case DBUS_MESSAGE_TYPE_METHOD_CALL: .call
        case DBUS_MESSAGE_TYPE_METHOD_RETURN: .answer
        case DBUS_MESSAGE_TYPE_ERROR: .refusal
        case DBUS_MESSAGE_TYPE_SIGNAL: .signal
        default: .other
        }
    }

    var serial: UInt32 { unsafe dbus_message_get_serial(raw) }
    var replySerial: UInt32 { unsafe dbus_message_get_reply_serial(raw) }
    var wantsReply: Bool { unsafe dbus_message_get_no_reply(raw) == 0 }
    var sender: String? { unsafe dbus_message_get_sender(raw).map { unsafe String(cString: $0) } }
    var interface: String? { unsafe dbus_message_get_interface(raw).map { unsafe String(cString: $0) } }
    var member: String? { unsafe dbus_message_get_member(raw).map { unsafe String(cString: $0) } }
    var errorName: String? { unsafe dbus_message_get_error_name(raw).map { unsafe String(cString: $0) } }
    var path: ObjectPath? { unsafe dbus_message_get_path(raw).flatMap { unsafe ObjectPath(String(cString: $0)) } }
    var signature: String { unsafe dbus_message_get_signature(raw).map { unsafe String(cString: $0) } ?? "" }

    /// The arguments, copied out.
    func arguments() throws(BusError) -> [BusValue] {
        var iterator = unsafe DBusMessageIter()
        guard unsafe dbus_message_iter_init(raw, &iterator) != 0 else { return [] }
        var reader = ValueReader()
        return try unsafe reader.values(&iterator, depth: 0)
    }

    private func append(_ arguments: [BusValue]) throws(BusError) {
        var iterator = unsafe DBusMessageIter()
        unsafe dbus_message_iter_init_append(raw, &iterator)
        for argument in arguments { try unsafe ValueWriter.append(argument, to: &iterator) }
    }
}

/// Copies values out of a message that libdbus has found well formed, within the limits of a message.
private struct ValueReader {
    private var count = 0

    @unsafe mutating func values(_ iterator: inout DBusMessageIter, depth: Int) throws(BusError) -> [BusValue] {
        guard depth <= BusLimits.depth else { throw .unreadable(reason: "deeper than \(BusLimits.depth) levels") }
        var result: [BusValue] = []
        while true {
            let code = unsafe dbus_message_iter_get_arg_type(&iterator)
            guard code != 0 else { return result }
            count += 1
            guard count <= BusLimits.values else { throw .unreadable(reason: "more than \(BusLimits.values) values") }
            result.append(try unsafe value(&iterator, code: code, depth: depth))
            unsafe dbus_message_iter_next(&iterator)
        }
    }

    private func basic<T: BitwiseCopyable>(_ iterator: inout DBusMessageIter, _ empty: T) -> T {
        var value = empty
        unsafe dbus_message_iter_get_basic(&iterator, &value)
        return value
    }

    private func text(_ iterator: inout DBusMessageIter) -> String {
        var pointer: UnsafePointer<CChar>?
        unsafe dbus_message_iter_get_basic(&iterator, &pointer)
        return unsafe pointer.map { unsafe String(cString: $0) } ?? ""
    }

    private mutating func value(
        _ iterator: inout DBusMessageIter,
        code: Int32,
        depth: Int
    ) throws(BusError) -> BusValue {
        switch UInt8(truncatingIfNeeded: code) {
        case UInt8(ascii: "y"): return unsafe .byte(basic(&iterator, 0))
        case UInt8(ascii: "b"): return unsafe .boolean(basic(&iterator, UInt32(0)) != 0)
        case UInt8(ascii: "n"): return unsafe .int16(basic(&iterator, 0))
        case UInt8(ascii: "q"): return unsafe .uint16(basic(&iterator, 0))
        case UInt8(ascii: "i"): return unsafe .int32(basic(&iterator, 0))
        case UInt8(ascii: "u"): return unsafe .uint32(basic(&iterator, 0))
        case UInt8(ascii: "x"): return unsafe .int64(basic(&iterator, 0))
        case UInt8(ascii: "t"): return unsafe .uint64(basic(&iterator, 0))
        case UInt8(ascii: "d"): return unsafe .double(basic(&iterator, 0))
        case UInt8(ascii: "s"): return unsafe .string(text(&iterator))
        case UInt8(ascii: "o"):
            guard let path = unsafe ObjectPath(text(&iterator)) else { throw .unreadable(reason: "an object path") }
            return .objectPath(path)
        case UInt8(ascii: "g"):
            guard let types = unsafe BusType.parse(text(&iterator)) else { throw .unreadable(reason: "a signature") }
            return .signature(types)
        case UInt8(ascii: "h"):
            let number = unsafe basic(&iterator, Int32(-1))  // A duplicate, which is ours.
            guard number >= 0 else { throw .unreadable(reason: "a file descriptor that did not come") }
            return .fileDescriptor(BusDescriptor(owning: number))
        default: return try unsafe container(&iterator, code: code, depth: depth)
        }
    }

    private mutating func container(
        _ iterator: inout DBusMessageIter,
        code: Int32,
        depth: Int
    ) throws(BusError) -> BusValue {
        var inner = unsafe DBusMessageIter()
        switch UInt8(truncatingIfNeeded: code) {
        case UInt8(ascii: "a"):
            guard let text = unsafe dbus_message_iter_get_signature(&iterator) else {
                throw .unreadable(reason: "out of memory")
            }
            defer { unsafe dbus_free(text) }
            let type = unsafe BusType.parse(String(cString: text))?.first
            unsafe dbus_message_iter_recurse(&iterator, &inner)
            switch type {
            case .array(.byte): return unsafe .bytes(bytes(&inner))
            case .array(let element): return .array(of: element, try unsafe values(&inner, depth: depth + 1))
            case .dictionary(let key, let value):
                return .dictionary(key: key, value: value, try unsafe entries(&inner, depth: depth + 1))
            default: throw .unreadable(reason: "an array deeper than \(BusLimits.depth) levels")
            }
        case UInt8(ascii: "r"):
            unsafe dbus_message_iter_recurse(&iterator, &inner)
            return .structure(try unsafe values(&inner, depth: depth + 1))
        case UInt8(ascii: "v"):
            unsafe dbus_message_iter_recurse(&iterator, &inner)
            guard let value = try unsafe values(&inner, depth: depth + 1).first else {
                throw .unreadable(reason: "an empty variant")
            }
            return .variant(value)
        default: throw .unreadable(reason: "a type of code \(code)")
        }
    }

    private func bytes(_ iterator: inout DBusMessageIter) -> [UInt8] {
        var pointer: UnsafePointer<UInt8>?
        var length: Int32 = 0
        unsafe dbus_message_iter_get_fixed_array(&iterator, &pointer, &length)
        guard let pointer = unsafe pointer, length > 0 else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: pointer, count: Int(length)))
    }

    private mutating func entries(
        _ iterator: inout DBusMessageIter,
        depth: Int
    ) throws(BusError) -> [BusValue.Entry] {
        var result: [BusValue.Entry] = []
        while unsafe dbus_message_iter_get_arg_type(&iterator) != 0 {
            var entry = unsafe DBusMessageIter()
            unsafe dbus_message_iter_recurse(&iterator, &entry)
            let pair = try unsafe values(&entry, depth: depth)
            guard pair.count == 2 else { throw .unreadable(reason: "an entry without a value") }
            result.append(BusValue.Entry(pair[0], pair[1]))
            unsafe dbus_message_iter_next(&iterator)
        }
        return result
    }
}

/// Puts values that passed `BusValue.check` into a message.
private enum ValueWriter {
    @unsafe static func append(_ value: BusValue, to iterator: inout DBusMessageIter) throws(BusError) {
        switch value {
        case .byte(let number): try unsafe basic(number, "y", &iterator)
        case .boolean(let truth): try unsafe basic(truth ? UInt32(1) : 0, "b", &iterator)
        case .int16(let number): try unsafe basic(number, "n", &iterator)
        case .uint16(let number): try unsafe basic(number, "q", &iterator)
        case .int32(let number): try unsafe basic(number, "i", &iterator)
        case .uint32(let number): try unsafe basic(number, "u", &iterator)
        case .int64(let number): try unsafe basic(number, "x", &iterator)
        case .uint64(let number): try unsafe basic(number, "t", &iterator)
        case .double(let number): try unsafe basic(number, "d", &iterator)
        case .string(let text): try unsafe string(text, "s", &iterator)
        case .objectPath(let path): try unsafe string(path.text, "o", &iterator)
        case .signature(let types): try unsafe string(types.map(\.code).joined(), "g", &iterator)
        case .fileDescriptor(let descriptor):
            let number = descriptor.borrowed  // libdbus makes its own duplicate before it returns.
            guard number >= 0 else { throw .notSent(reason: "a file descriptor that somebody took") }
            try unsafe basic(number, "h", &iterator)
        case .bytes(let bytes): try unsafe array(bytes, &iterator)
        case .array(let element, let values):
            try unsafe container("a", element.code, &iterator) { inner throws(BusError) in
                for value in values { try unsafe append(value, to: &inner) }
            }
        case .dictionary(let key, let value, let entries):
            try unsafe container("a", "{" + key.code + value.code + "}", &iterator) { inner throws(BusError) in
                for entry in entries {
                    try unsafe container("e", nil, &inner) { pair throws(BusError) in
                        try unsafe append(entry.key, to: &pair)
                        try unsafe append(entry.value, to: &pair)
                    }
                }
            }
        case .structure(let members):
            try unsafe container("r", nil, &iterator) { inner throws(BusError) in
                for member in members { try unsafe append(member, to: &inner) }
            }
        case .variant(let inside):
            try unsafe container("v", inside.type.code, &iterator) { inner throws(BusError) in
                try unsafe append(inside, to: &inner)
            }
        }
    }

    private static func basic<T: BitwiseCopyable>(
        _ value: T,
        _ code: Unicode.Scalar,
        _ iterator: inout DBusMessageIter
    ) throws(BusError) {
        var value = value
        guard unsafe dbus_message_iter_append_basic(&iterator, Int32(code.value), &value) != 0 else { throw full }
    }

    private static func string(
        _ text: String,
        _ code: Unicode.Scalar,
        _ iterator: inout DBusMessageIter
    ) throws(BusError) {
        let done = unsafe text.withCString { pointer in
            var pointer: UnsafePointer<CChar>? = unsafe pointer
            return unsafe dbus_message_iter_append_basic(&iterator, Int32(code.value), &pointer) != 0
        }
        guard done else { throw full }
    }

    private static func array(_ bytes: [UInt8], _ iterator: inout DBusMessageIter) throws(BusError) {
        try unsafe container("a", "y", &iterator) { inner throws(BusError) in
            let done = unsafe bytes.withUnsafeBufferPointer { buffer in
                guard var start = buffer.baseAddress else { return true }
                return unsafe dbus_message_iter_append_fixed_array(
                    &inner,
                    Int32(UInt8(ascii: "y")),
                    &start,
                    Int32(buffer.count)
                ) != 0
            }
            guard done else { throw full }
        }
    }

    private static func container(
        _ code: Unicode.Scalar,
        _ contained: String?,
        _ iterator: inout DBusMessageIter,
        _ fill: (inout DBusMessageIter) throws(BusError) -> Void
    ) throws(BusError) {
        var inner = unsafe DBusMessageIter()
        guard unsafe dbus_message_iter_open_container(&iterator, Int32(code.value), contained, &inner) != 0 else {
            throw full
        }
        do throws(BusError) {
            try unsafe fill(&inner)
        } catch {
            unsafe dbus_message_iter_abandon_container(&iterator, &inner)
            throw error
        }
        guard unsafe dbus_message_iter_close_container(&iterator, &inner) != 0 else { throw full }
    }

    private static let full = BusError.notSent(reason: "a message larger than memory allows")
}
