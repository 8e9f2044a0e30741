#include <linux/input.h>
// glibc leaves both out of the module Glibc.
#include <sys/eventfd.h>
#include <sys/inotify.h>
