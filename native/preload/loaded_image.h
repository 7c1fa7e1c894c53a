/*
 * Whether code still belongs to the image that it belonged to: after dlclose another image may lie
 * at the same addresses, or the same one again.
 */
#ifndef TREADLE_LOADED_IMAGE_H
#define TREADLE_LOADED_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The C library's _dl_find_object (glibc 2.35 on), or NULL. Takes locks: not for hooks. */
void *loaded_image__find_object(void);

/* True if any image is loaded at the address. Async-signal-safe. */
bool loaded_image__is_any(void *find_object, uint64_t address);

/* An image as it was when it was loaded. Texts need no NUL. */
struct image_facts {
    const char *path;
    uint32_t path_bytes;
    const char *build_id; /* in hexadecimal */
    uint32_t build_id_bytes;
    uint64_t bias; /* address in memory less bias = address in the file's headers */
};

/* True if that image is loaded at the address: one with the same build id, or where it had none one
 * with the same bias and a file name that begins like it, or the program itself. find_object: not
 * NULL. Async-signal-safe; the caller sees to it that the image is not unloaded meanwhile. */
bool loaded_image__is(void *find_object, uint64_t address, const struct image_facts *facts);

#endif
