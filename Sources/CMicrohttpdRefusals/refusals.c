#define _GNU_SOURCE
#include "refusals.h"

#include <dlfcn.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <sys/socket.h>

typedef enum MHD_Result (*queue_function)(struct MHD_Connection *, unsigned int, struct MHD_Response *);

static _Atomic(till_refusal_writer) current_writer;

void till_write_refusals_with(till_refusal_writer writer)
{
    atomic_store(&current_writer, writer);
}

/// libmicrohttpd's own function, which this program's hides.
static queue_function library_queue(void)
{
    static _Atomic(queue_function) known;
    queue_function found = atomic_load(&known);
    if (!found) {
        found = (queue_function)dlsym(RTLD_NEXT, "MHD_queue_response");
        atomic_store(&known, found);
    }
    return found;
}

int till_queue_response(struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response)
{
    queue_function queue = library_queue();
    return queue ? queue(connection, status, response) : MHD_NO;
}

/// Called by libmicrohttpd for an answer of its own.
__attribute__((visibility("default"))) enum MHD_Result
MHD_queue_response(struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response)
{
    till_refusal_writer writer = atomic_load(&current_writer);
    // MHD_NO: libmicrohttpd gives its answer up and closes the connection.
    if (writer && connection && writer(connection, status))
        return MHD_NO;
    return (enum MHD_Result)till_queue_response(connection, status, response);
}

void till_send_now(struct MHD_Connection *connection, const void *bytes, size_t count)
{
    const union MHD_ConnectionInfo *tls = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (tls && tls->tls_session) {
        (void)gnutls_record_send((gnutls_session_t)tls->tls_session, bytes, count);
        return;
    }
    const union MHD_ConnectionInfo *socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (socket)
        (void)send(socket->connect_fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}
