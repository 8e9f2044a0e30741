import CPostgres
import Glibc

/// libpq, loaded when a database is first asked and kept from then on. It brings TLS, Kerberos and LDAP libraries of 3 MB into
/// memory, which a terminal without such a database does not carry.
@safe struct Library: Sendable {
    typealias Texts = UnsafePointer<UnsafePointer<CChar>?>

    let connectStartParams: @convention(c) (Texts?, Texts?, Int32) -> OpaquePointer?
    let setNoticeProcessor:
        @convention(c) (OpaquePointer, PQnoticeProcessor, UnsafeMutableRawPointer?) -> PQnoticeProcessor?
    let setErrorVerbosity: @convention(c) (OpaquePointer, PGVerbosity) -> PGVerbosity
    let status: @convention(c) (OpaquePointer) -> ConnStatusType
    let connectPoll: @convention(c) (OpaquePointer) -> PostgresPollingStatusType
    let errorMessage: @convention(c) (OpaquePointer) -> UnsafePointer<CChar>?
    let socket: @convention(c) (OpaquePointer) -> Int32
    let sendQueryParams:
        @convention(c) (
            OpaquePointer, UnsafePointer<CChar>, Int32, UnsafePointer<Oid>?, Texts?, UnsafePointer<Int32>?,
            UnsafePointer<Int32>?, Int32
        ) -> Int32
    let flush: @convention(c) (OpaquePointer) -> Int32
    let consumeInput: @convention(c) (OpaquePointer) -> Int32
    let isBusy: @convention(c) (OpaquePointer) -> Int32
    let getResult: @convention(c) (OpaquePointer) -> OpaquePointer?
    let clear: @convention(c) (OpaquePointer) -> Void
    let resultStatus: @convention(c) (OpaquePointer) -> ExecStatusType
    let resultErrorField: @convention(c) (OpaquePointer, Int32) -> UnsafePointer<CChar>?
    let cmdTuples: @convention(c) (OpaquePointer) -> UnsafePointer<CChar>?
    let finish: @convention(c) (OpaquePointer) -> Void

    /// Loads it, or finds it loaded.
    /// - Throws: ``PostgresFault/noLibrary``. It may be there the next time: somebody has installed it.
    init() throws(PostgresFault) {
        guard let file = unsafe dlopen("libpq.so.5", RTLD_NOW) else { throw .noLibrary }
        unsafe connectStartParams = try Self.function("PQconnectStartParams", of: file)
        unsafe setNoticeProcessor = try Self.function("PQsetNoticeProcessor", of: file)
        unsafe setErrorVerbosity = try Self.function("PQsetErrorVerbosity", of: file)
        unsafe status = try Self.function("PQstatus", of: file)
        unsafe connectPoll = try Self.function("PQconnectPoll", of: file)
        unsafe errorMessage = try Self.function("PQerrorMessage", of: file)
        unsafe socket = try Self.function("PQsocket", of: file)
        unsafe sendQueryParams = try Self.function("PQsendQueryParams", of: file)
        unsafe flush = try Self.function("PQflush", of: file)
        unsafe consumeInput = try Self.function("PQconsumeInput", of: file)
        unsafe isBusy = try Self.function("PQisBusy", of: file)
        unsafe getResult = try Self.function("PQgetResult", of: file)
        unsafe clear = try Self.function("PQclear", of: file)
        unsafe resultStatus = try Self.function("PQresultStatus", of: file)
        unsafe resultErrorField = try Self.function("PQresultErrorField", of: file)
        unsafe cmdTuples = try Self.function("PQcmdTuples", of: file)
        unsafe finish = try Self.function("PQfinish", of: file)
    }

    /// The types are the header's. Of one major version of the library no function ever changes.
    private static func function<Function>(
        _ name: String,
        of file: UnsafeMutableRawPointer
    ) throws(PostgresFault) -> Function {
        guard let symbol = unsafe dlsym(file, name) else { throw .noLibrary }
        return unsafe unsafeBitCast(symbol, to: Function.self)
    }
}
