#include <nettle/sha3.h>
