#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

/// Packs `size` bytes into one gzip member (RFC 1952); zlib's own way in is a macro, which Swift cannot see.
/// Returns its length, or 0 where it does not fit into `room` bytes or there is no memory for it.
static inline size_t till_gzip(const uint8_t *bytes, size_t size, uint8_t *packed, size_t room) {
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    // 15 bits of window, and 16 more for a gzip header. No time and no name in it: the same bytes each time.
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    int result = deflate(&stream, Z_FINISH);
    size_t length = stream.total_out;
    deflateEnd(&stream);
    return result == Z_STREAM_END ? length : 0;
}
