import CMicrohttpd
import CMicrohttpdRefusals
import Glibc
import Locks

// The functions libmicrohttpd calls, all on its polling thread. Free functions: a closure written inside an actor or in
// main.swift would inherit that isolation and trap on this thread. Source: microhttpd.h 0.9.75.

/// A connection was accepted, or is about to be closed. `MHD_NotifyConnectionCallback`.
func connectionChanged(
    context: UnsafeMutableRawPointer?,
    connection: OpaquePointer?,
    linkSlot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    change: MHD_ConnectionNotificationCode
) {
    guard let context = unsafe context, let connection = unsafe connection, let linkSlot = unsafe linkSlot else {
        return
    }
    let server = unsafe Unmanaged<ServerContext>.fromOpaque(context).takeUnretainedValue()
    switch change {
    case .CONNECTION_NOTIFY_STARTED:
        let socket = unsafe till_connection_socket(connection)
        sendAtOnce(socket)
        let now = monotonicNanoseconds()
        let link = Link(
            context: server,
            socket: socket,
            peerAddress: unsafe numericAddress(till_connection_peer(connection)),
            deadline: now + server.opening
        )
        let retained = unsafe Unmanaged.passRetained(link).toOpaque()
        unsafe linkSlot.pointee = retained
        if server.configuration.tls != nil {
            link.isGreeted = false
            unsafe till_receive_tls(connection, receiveForTLS, retained)
        }
        if let leaver = server.links.add(link, at: now) { server.dismiss(leaver) }
    case .CONNECTION_NOTIFY_CLOSED:
        guard let link = unsafe linkSlot.pointee else { return }
        let gone = unsafe Unmanaged<Link>.fromOpaque(link).takeRetainedValue()
        gone.linger(in: server.lingering)
        server.links.remove(gone)
        unsafe linkSlot.pointee = nil
    @unknown default: break
    }
}

/// Reads what a client of a TLS server has sent, as recv(2) does. GnuTLS calls it; the link lives until the connection is closed.
private func receiveForTLS(
    link: UnsafeMutableRawPointer?,
    buffer: UnsafeMutableRawPointer?,
    count: Int
) -> Int {
    guard let link = unsafe link, let buffer = unsafe buffer else { return 0 }
    let connection = unsafe Unmanaged<Link>.fromOpaque(link).takeUnretainedValue()
    return unsafe connection.receive(into: UnsafeMutableRawBufferPointer(start: buffer, count: count))
}

/// Lets nothing wait for the other side's acknowledgement, which may take 40 ms. libmicrohttpd 0.9.75 asks for this with
/// the first answer only, and a TLS handshake comes before it. Source: tcp(7), `TCP_NODELAY`.
private func sendAtOnce(_ socket: Int32) {
    var isOn: Int32 = 1
    _ = unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
}

/// The request line is there: what this returns is the request's state from now on. `MHD_OPTION_URI_LOG_CALLBACK`.
func requestLine(
    context: UnsafeMutableRawPointer?,
    target: UnsafePointer<CChar>?,
    connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context, let target = unsafe target, let connection = unsafe connection,
        let link = unsafe till_connection_context(connection)
    else { return nil }
    let length = unsafe strlen(target)
    let exchange = unsafe target.withMemoryRebound(to: UInt8.self, capacity: length) { bytes in
        unsafe Exchange(
            context: Unmanaged<ServerContext>.fromOpaque(context).takeUnretainedValue(),
            link: Unmanaged<Link>.fromOpaque(link).takeUnretainedValue(),
            target: UnsafeBufferPointer(start: bytes, count: length)
        )
    }
    return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

/// Called with the head, with each part of the body, with the complete request, and after each resumption.
/// `MHD_AccessHandlerCallback`.
func handleRequest(
    context: UnsafeMutableRawPointer?,
    connection: OpaquePointer?,
    url: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?,
    version: UnsafePointer<CChar>?,
    upload: UnsafePointer<CChar>?,
    uploadBytes: UnsafeMutablePointer<Int>?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context = unsafe context, let pointer = unsafe connection, let method = unsafe method,
        let version = unsafe version, let uploadBytes = unsafe uploadBytes, let state = unsafe state?.pointee
    else { return .NO }
    let connection = unsafe Connection(pointer)
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(state).takeUnretainedValue()
    if exchange.isAtHead {
        let server = unsafe Unmanaged<ServerContext>.fromOpaque(context).takeUnretainedValue()
        let head = unsafe readHead(pointer, exchange, method: method, version: version, server.configuration)
        return exchange.receiveHead(head, on: connection)
    }
    let count = unsafe uploadBytes.pointee
    guard count > 0, let upload = unsafe upload else { return exchange.proceed(on: connection) }
    unsafe uploadBytes.pointee = 0
    return unsafe upload.withMemoryRebound(to: UInt8.self, capacity: count) { bytes in
        unsafe exchange.receiveBody(UnsafeBufferPointer(start: bytes, count: count))
    }
}

private func readHead(
    _ connection: OpaquePointer,
    _ exchange: Exchange,
    method: UnsafePointer<CChar>,
    version: UnsafePointer<CChar>,
    _ configuration: WebServer.Configuration
) -> Result<RequestHead, Refusal> {
    let headBytes = unsafe till_request_head_bytes(connection)
    let layout = unsafe HeadLayout(
        start: UInt(bitPattern: method),
        methodBytes: strlen(method),
        targetBytes: exchange.targetBytes,
        version: UInt(bitPattern: version),
        headBytes: headBytes
    )
    var findings = RequestHead.Findings(layout: layout)
    _ = unsafe withUnsafeMutablePointer(to: &findings) { findings in
        unsafe MHD_get_connection_values_n(connection, .HEADER_KIND, noteField, findings)
    }
    return Result { () throws(Refusal) in
        try RequestHead(
            // Almost every request says these two; comparing costs less than making a string.
            method: unsafe strcmp(method, "GET") == 0 ? "GET" : String(cString: method),
            version: unsafe strcmp(version, "HTTP/1.1") == 0 ? "HTTP/1.1" : String(cString: version),
            headBytes: headBytes,
            findings: findings,
            limits: configuration.limits,
            bodyLimit: exchange.bodyLimit,
            hostIsAllowed: configuration.hostIsAllowed
        )
    }
}

/// `MHD_KeyValueIteratorN`.
private func noteField(
    findings: UnsafeMutableRawPointer?,
    kind: MHD_ValueKind,
    name: UnsafePointer<CChar>?,
    nameBytes: Int,
    value: UnsafePointer<CChar>?,
    valueBytes: Int
) -> MHD_Result {
    guard let findings = unsafe findings?.assumingMemoryBound(to: RequestHead.Findings.self) else { return .NO }
    let (nameStart, valueStart) = (UInt(bitPattern: name), UInt(bitPattern: value))
    unsafe findings.pointee.layout.note(name: nameStart, value: valueStart, valueBytes: valueBytes)
    unsafe findings.pointee.note(
        name: UnsafeRawBufferPointer(start: name, count: nameBytes),
        value: UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueBytes)
    )
    return .YES
}

/// The request is over, however it ended. `MHD_RequestCompletedCallback`.
func requestEnded(
    context: UnsafeMutableRawPointer?,
    connection: OpaquePointer?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    reason: MHD_RequestTerminationCode
) {
    guard let exchange = unsafe state?.pointee else { return }
    unsafe Unmanaged<Exchange>.fromOpaque(exchange).takeRetainedValue().end()
    unsafe state?.pointee = nil
}

/// `MHD_LogCallback`.
func logMessage(context: UnsafeMutableRawPointer?, format: UnsafePointer<CChar>?, arguments: CVaListPointer?) {
    guard let context = unsafe context, let format = unsafe format, let arguments = unsafe arguments else { return }
    let server = unsafe Unmanaged<ServerContext>.fromOpaque(context).takeUnretainedValue()
    let message = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { text in
        guard unsafe vsnprintf(text.baseAddress, text.count, format, arguments) > 0, let start = text.baseAddress
        else { return "" }
        return unsafe String(cString: start)
    }
    server.lastMessage.withLock { $0 = message }
    server.configuration.log?(message)
}

/// libmicrohttpd refuses a request by itself, with this status: it could not parse it, or has no memory for it. Answers in the
/// server's words, after which libmicrohttpd closes the connection. `till_refusal_writer`.
func writeRefusal(connection: OpaquePointer?, status: UInt32) -> Bool {
    guard let connection = unsafe connection, let link = unsafe till_connection_context(connection) else {
        return false
    }
    let context = unsafe Unmanaged<Link>.fromOpaque(link).takeUnretainedValue().context
    let response = context.configuration.refusal(Refusal(librarys: Int(status)).response)
    let bytes = PlainGreeting.written(response, defaults: context.configuration.defaultHeaders)
    unsafe bytes.withUnsafeBytes { unsafe till_send_now(connection, $0.baseAddress, $0.count) }
    return true
}

/// The address in numbers, without port. An IPv4 client of an IPv6 socket is written as IPv4. Source: RFC 4291, 2.5.5.2.
private func numericAddress(_ address: UnsafePointer<sockaddr>?) -> String {
    guard let address = unsafe address else { return "" }
    let family = unsafe Int32(address.pointee.sa_family)
    let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text -> String in
        let start = unsafe UnsafeRawPointer(address)
        let number: UnsafeRawPointer
        switch family {
        case AF_INET: unsafe number = start + MemoryLayout<sockaddr_in>.offset(of: \.sin_addr).unsafelyUnwrapped
        case AF_INET6: unsafe number = start + MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr).unsafelyUnwrapped
        default: return ""
        }
        guard let result = unsafe inet_ntop(family, number, text.baseAddress, socklen_t(text.count)) else { return "" }
        return unsafe String(cString: result)
    }
    return text.hasPrefix("::ffff:") && text.contains(".") ? String(text.dropFirst(7)) : text
}
