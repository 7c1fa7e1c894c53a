/*
 * Puts other functions in place of those that the images of this process import from each other:
 * what the dynamic linker has written into an image's relocated words (its global offset table) is
 * overwritten, one word at a time. Calls inside an image, and those through dlsym, are as before.
 * Words that the linker has made read-only are made writable for the moment; where that is refused,
 * or /proc/self/maps, which tells that they are, cannot be read, the image stays as it is. An image
 * that another thread is loading just now is left until the next look: the linker adds the image's
 * place to words that it has not relocated yet, and writes to those that it will make read-only.
 *
 * The source of what is read: System V ABI, chapter 5 (dynamic linking), and its supplements for
 * x86-64 and AArch64. Not for hooks or signal handlers: the linker's lock is taken.
 */
#ifndef TREADLE_IMAGE_IMPORTS_H
#define TREADLE_IMAGE_IMPORTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_replacement {
    const char *name; /* of the symbol that is imported */
    void *original;   /* its function; words with any other one are left as they are */
    void *function;   /* in its place */
};

/* An image as replacing sees it. */
struct importing_image {
    const char *path;    /* the linker's name of it; "" is the program itself */
    uint64_t start, end; /* mapped */
};

struct image_imports {
    const struct import_replacement *replacements;
    size_t count;
    /* Whether the image is to be changed. Called under the linker's lock: takes no other lock. */
    bool (*admits)(void *context, const struct importing_image *image);
    /* The image was changed, so many words of it for the first time. Called likewise. */
    void (*replaced)(void *context, const struct importing_image *image, unsigned words);
    /* The image could not be changed, and is as it was. Called likewise, at each look again. */
    void (*refused)(void *context, const struct importing_image *image);
    void *context;
    _Atomic unsigned long long adds; /* images mapped in this process's life, when looked at last */
    _Atomic bool is_incomplete;      /* an image was being loaded then */
};

/* Changes the images that were mapped since the last look. One thread at a time. */
void image_imports__look(struct image_imports *imports);

/* True if there are such images. Any thread. */
bool image_imports__are_new(const struct image_imports *imports);

#endif
