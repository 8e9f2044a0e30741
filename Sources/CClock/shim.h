// glibc leaves the state of the clock out of the module Glibc.
#include <sys/timex.h>
