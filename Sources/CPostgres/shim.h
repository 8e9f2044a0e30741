/* For its types and constants. The library itself is loaded when it is needed. */
#include <postgresql/libpq-fe.h>

/* glibc declares it, and its flag, to C only where _GNU_SOURCE is defined before the first header. Source: memfd_create(2). */
int memfd_create(const char *name, unsigned int flags);

static inline int till_memory_file(void) { return memfd_create("authorities", 1u /* MFD_CLOEXEC */); }
