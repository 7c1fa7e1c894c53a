/* The build id in an ELF object's notes: the same bytes always have the same one.
 * Async-signal-safe. */
#ifndef TREADLE_BUILD_ID_H
#define TREADLE_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_BYTES_MAX 64u

/* in hexadecimal, NUL-terminated */
struct build_id {
    char text[2 * BUILD_ID_BYTES_MAX + 1];
};

/* Finds the build id in a segment or section of notes; align is the alignment of the notes. False:
 * there is none. Trusts no byte. */
bool build_id__of_notes(struct build_id *id, const uint8_t *notes, size_t length, size_t align);

#endif
