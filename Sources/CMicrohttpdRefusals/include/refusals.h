#pragma once

#include <stdbool.h>
#include <stddef.h>

// libmicrohttpd answers heads that it cannot parse by itself: an HTML page without a field of the server's own, and for some of them
// (a Content-Length that is none) with its head twice. It has no option for either. Seen with 0.9.75.
//
// It queues such an answer by a call to its own `MHD_queue_response`, which the dynamic linker looks up like any other. This module
// defines that function for the program, so that the call comes here. Where it does not come here (a library that was linked to
// bind its own calls), libmicrohttpd answers as before.

struct MHD_Connection;
struct MHD_Response;

/// Writes an answer of libmicrohttpd's own in other words. True: it is written, and the connection shall be closed.
typedef bool (*till_refusal_writer)(struct MHD_Connection *connection, unsigned int status);

/// Names who writes them, for the whole process.
void till_write_refusals_with(till_refusal_writer writer);

/// `MHD_queue_response` for the server's own answers. 1 or 0, as `MHD_YES` and `MHD_NO`.
int till_queue_response(struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response);

/// Sends bytes at once, past libmicrohttpd: through TLS where the connection has it. On the server's thread. What does not fit into the
/// socket's buffer is not sent.
void till_send_now(struct MHD_Connection *connection, const void *bytes, size_t count);
