// glibc leaves its own allocator out of the module Glibc.
#include <malloc.h>
