/* Pointers as .eh_frame and .eh_frame_hdr write them (LSB core, "DWARF Exception Header Encoding").
 * Async-signal-safe. */
#ifndef TREADLE_ENCODED_POINTER_H
#define TREADLE_ENCODED_POINTER_H

#include "native/unwind/byte_cursor.h"

#define POINTER_OMITTED 0xffu

/* The bases from which pointers are counted. */
struct pointer_bases {
    const uint8_t *bytes; /* a byte ... */
    uint64_t address;     /* ... and its address, for those relative to themselves */
    uint64_t data;        /* for those relative to the header */
};

/* Reads one pointer. An unknown encoding sets the cursor's `failed`. */
uint64_t encoded_pointer__read(struct byte_cursor *cursor, uint8_t encoding,
                               const struct pointer_bases *bases);

/* The size of an encoded pointer in bytes, 0 if it varies. */
size_t encoded_pointer__bytes(uint8_t encoding);

#endif
