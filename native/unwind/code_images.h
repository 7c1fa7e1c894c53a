/*
 * The images of native code (the executable, libraries, the vdso) that are mapped into this
 * process, each with what is needed to walk through its frames inside a signal handler.
 */
#ifndef TREADLE_CODE_IMAGES_H
#define TREADLE_CODE_IMAGES_H

#include "native/unwind/unwind_rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_images;
struct code_image;

/*
 * Two engines take the steps. Both are async-signal-safe and go from one frame to the next with the
 * same registers, so that a walk may pass through code that is in no image, such as code of the
 * JVM.
 */
enum unwind_engine {
    UNWIND_WITH_NOTHING,   /* every step ends with UNWIND_NO_TABLE */
    UNWIND_WITH_TABLES,    /* native/unwind/unwind_table.h: on x86-64; takes no lock */
    UNWIND_WITH_LIBUNWIND, /* native/unwind/libunwind_walker.h: on x86-64 and arm64; one thread at a
                              time: a step waits some microseconds for one of another thread */
    UNWIND_ENGINES,
};

/* The engine to use if none is asked for: tables, or libunwind on processors without tables. */
enum unwind_engine unwind_engine__default(void);

/* The engine is tables, or nothing on processors without tables, until code_images__use. NULL: no
 * memory. */
struct code_images *code_images__new(void);

/* Sets the engine, before the first refresh. 0; -ENOMEM; -ENOTSUP: this processor's frames have no
 * tables here; -ELIBACC: libunwind is not installed. After an error the engine is the one before.
 */
int code_images__use(struct code_images *images, enum unwind_engine engine);
enum unwind_engine code_images__engine(const struct code_images *images);

/* For tests only: no signal handler may be walking. All images found so far become invalid. */
void code_images__delete(struct code_images *images);

/* Finds out which images are mapped now and prepares new ones. Costs next to nothing if no image
 * was mapped or unmapped since the last refresh. Not in a signal handler; one caller at a time.
 * Other threads may walk meanwhile: unmapped images are kept until delete. 0 or -errno; after an
 * error the images are those of the last refresh. */
int code_images__refresh(struct code_images *images);

struct code_function {
    const struct code_image *image; /* NULL: none */
    uint64_t start; /* as the image's own headers count; the address itself where size is 0 */
    uint32_t size;  /* 0: the image does not say what function that is */
};

/* One step towards the caller. is_return_address: a call pushed pc, so the code before pc counts;
 * after a step this is !registers->interrupted. function receives the function of the frame that is
 * left; may be NULL. The registers change only with UNWIND_STEPPED. Async-signal-safe: takes no
 * lock, allocates nothing, reads the stack in [sp, stack_end) only. To be called in a fault guard
 * if the end of the stack is not known. */
enum unwind_result code_images__step(const struct code_images *images,
                                     struct frame_registers *registers, uint64_t stack_end,
                                     bool is_return_address, struct code_function *function);

/* The calling thread left a step with siglongjmp, after a fault. Does nothing if it did not.
 * Async-signal-safe. */
void code_images__abandon_step(const struct code_images *images);

/* Finds the image and function that contain an address; function may be NULL. False: no image does.
 * Async-signal-safe. */
bool code_images__find(const struct code_images *images, uint64_t address,
                       struct code_function *function);

/* Of an image; valid until code_images__delete. */
const char *code_image__path(const struct code_image *image);     /* "[vdso]" for the vDSO */
const char *code_image__build_id(const struct code_image *image); /* hexadecimal, or "" */
uint64_t code_image__start(const struct code_image *image);       /* first byte mapped */
uint64_t code_image__end(const struct code_image *image);         /* one after the last */

/* An address less this is the address in the image's own headers. */
uint64_t code_image__bias(const struct code_image *image);

struct code_images_count {
    size_t mapped;  /* images, as of the last refresh */
    size_t gone;    /* kept although no more mapped */
    size_t dropped; /* without a table, for want of memory or of room under the bounds */
    size_t bytes;   /* of all tables */
};

/* For the thread that refreshes. */
struct code_images_count code_images__count(const struct code_images *images);

#endif
