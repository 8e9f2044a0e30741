#include <libpq-fe.h>

/* glibc declares it, and its flag, to C only where _GNU_SOURCE is defined before the first header. Source: memfd_create(2). */
int memfd_create(const char *name, unsigned int flags);

static inline int till_memory_file(void) { return memfd_create("authorities", 1u /* MFD_CLOEXEC */); }

/* What the server says beside its answers is nobody's: without this libpq writes it to the log. */
static inline void till_ignore_notice(void *argument, const char *message) {
    (void)argument;
    (void)message;
}

static inline void till_ignore_notices(PGconn *connection) {
    PQsetNoticeProcessor(connection, till_ignore_notice, NULL);
}
