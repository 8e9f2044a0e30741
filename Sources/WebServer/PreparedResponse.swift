import CMicrohttpd
import CMicrohttpdRefusals
import Locks

/// An answer that is sent over and over. Each server keeps libmicrohttpd's finished form of it from its first use on.
final class PreparedResponse: Sendable {
    let response: WebResponse

    init(_ response: WebResponse) { self.response = response }
}

/// A finished answer in libmicrohttpd's memory, of which this value is the one owner.
@safe struct ResponseHandle: ~Copyable, @unchecked Sendable {  // libmicrohttpd counts references under a lock.
    private let pointer: OpaquePointer

    /// Copies status, fields and bytes. Nil when libmicrohttpd refuses a field (line ends in it) or memory is short.
    /// - Parameter defaults: Fields that `response` does not have itself.
    init?(_ response: WebResponse, body: [UInt8], defaults: WebHeaders) {
        let created = unsafe body.withUnsafeBytes { bytes in
            unsafe MHD_create_response_from_buffer(
                bytes.count,
                // Copied, never written to.
                UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY
            )
        }
        guard let created = unsafe created else { return nil }
        unsafe self.init(owning: created, fields: response.headers, defaults: defaults)
    }

    /// An answer whose bytes come from `feed` while it is sent. The exchange keeps `feed` alive until it ends.
    init?(_ response: WebResponse, feed: EventFeed, defaults: WebHeaders) {
        let context = unsafe Unmanaged.passUnretained(feed).toOpaque()
        guard let created = unsafe MHD_create_response_from_callback(.max, 4096, readEvents, context, nil) else {
            return nil
        }
        unsafe self.init(owning: created, fields: response.headers, defaults: defaults)
    }

    private init?(owning pointer: OpaquePointer, fields: WebHeaders, defaults: WebHeaders) {
        unsafe self.pointer = pointer
        for field in fields { guard add(field) else { return nil } }
        for field in defaults where fields[field.name] == nil { guard add(field) else { return nil } }
    }

    /// `withCString` lends the string's own bytes; a string passed as a C argument is copied first.
    private func add(_ field: WebHeaders.Field) -> Bool {
        unsafe field.name.withCString { name in
            unsafe field.value.withCString { value in unsafe MHD_add_response_header(pointer, name, value) == .YES }
        }
    }

    deinit { unsafe MHD_destroy_response(pointer) }  // A queued answer holds its own reference.

    /// - Parameter status: 200 to 599.
    func queue(_ status: Int, on connection: Connection) -> MHD_Result {
        unsafe till_queue_response(connection.pointer, UInt32(clamping: status), pointer) == 1 ? .YES : .NO
    }
}

/// The content reader of event streams. Source: microhttpd.h 0.9.75, `MHD_ContentReaderCallback`.
private func readEvents(
    context: UnsafeMutableRawPointer?,
    position: UInt64,
    buffer: UnsafeMutablePointer<CChar>?,
    capacity: Int
) -> Int {
    guard let context = unsafe context, let buffer = unsafe buffer else { return -1 }
    let feed = unsafe Unmanaged<EventFeed>.fromOpaque(context).takeUnretainedValue()
    switch unsafe feed.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity)) {
    case .bytes(let count): return count
    case .nothingYet: return 0
    case .end: return -1  // MHD_CONTENT_READER_END_OF_STREAM
    case .broken: return -2  // MHD_CONTENT_READER_END_WITH_ERROR: cuts the connection.
    }
}
