#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/// What `MHD_start_daemon` is told. The pointers must stay valid until `MHD_stop_daemon` returned.
struct till_web_settings {
    unsigned int flags;
    int listen_socket;
    unsigned int connection_limit;
    unsigned int idle_seconds;
    size_t connection_memory_bytes;
    /// Three C strings, or NULL without TLS.
    const char *tls_certificate;
    const char *tls_key;
    const char *tls_priorities;
    /// First argument of every callback.
    void *context;
    MHD_LogCallback log;
    void *(*request_line)(void *, const char *, struct MHD_Connection *);
    MHD_AccessHandlerCallback handler;
    MHD_RequestCompletedCallback request_ended;
    MHD_NotifyConnectionCallback connection_changed;
};

/// `MHD_start_daemon` is variadic, which Swift cannot call.
static inline struct MHD_Daemon *till_start_web_daemon(const struct till_web_settings *s)
{
    struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)s->tls_certificate },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)s->tls_key },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)s->tls_priorities },
        { MHD_OPTION_END, 0, NULL },
    };
    struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
    return MHD_start_daemon(
        s->flags, 0, NULL, NULL, s->handler, s->context,
        MHD_OPTION_EXTERNAL_LOGGER, s->log, s->context,
        MHD_OPTION_LISTEN_SOCKET, s->listen_socket,
        MHD_OPTION_CONNECTION_LIMIT, s->connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, s->idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, s->connection_memory_bytes,
        MHD_OPTION_STRICT_FOR_CLIENT, 0,
        MHD_OPTION_URI_LOG_CALLBACK, s->request_line, s->context,
        MHD_OPTION_NOTIFY_COMPLETED, s->request_ended, s->context,
        MHD_OPTION_NOTIFY_CONNECTION, s->connection_changed, s->context,
        MHD_OPTION_ARRAY, s->tls_certificate ? tls : none,
        MHD_OPTION_END);
}

/// The three facts about a connection that Till asks for; `MHD_get_connection_info` is variadic.
static inline void *till_connection_context(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static inline const struct sockaddr *till_connection_peer(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

static inline int till_connection_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static inline size_t till_request_head_bytes(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

/// Has `receive` read the bytes of a TLS connection for GnuTLS, with `context` as its first argument, which must stay valid until the
/// connection is closed. It returns as recv(2) does. GnuTLS goes on sending by itself. Without TLS nothing happens.
///
/// Source: gnutls.h 3.7, `gnutls_transport_set_pull_function`; microhttpd.h, `MHD_CONNECTION_INFO_GNUTLS_SESSION`.
static inline void till_receive_tls(
    struct MHD_Connection *connection, ssize_t (*receive)(void *, void *, size_t), void *context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (!info || !info->tls_session)
        return;
    gnutls_session_t session = (gnutls_session_t)info->tls_session;
    gnutls_transport_ptr_t from, to;
    gnutls_transport_get_ptr2(session, &from, &to);
    gnutls_transport_set_ptr2(session, context, to);
    gnutls_transport_set_pull_function(session, receive);
}
