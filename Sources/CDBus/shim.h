#include <dbus/dbus.h>
#include <sys/eventfd.h> /* Not in Swift's Glibc: what wakes the connection's thread. */
