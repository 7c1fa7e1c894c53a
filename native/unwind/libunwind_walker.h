/*
 * Steps from frame to frame with libunwind, in a signal handler.
 *
 * libunwind's interface for its own process (unw_init_local2) is not for signal handlers: it asks
 * the dynamic linker for the images (dl_iterate_phdr), whose lock the interrupted thread may hold,
 * and it may open and map files. So the walker describes this process to libunwind through the
 * interface for other processes (unw_init_remote). Each read and each search of libunwind then is a
 * call of a function here, and those functions read: the registers of the walk, the thread's stack
 * within its bounds, and copies of the images' frame sections. No lock of the loader is taken, no
 * image is read that may have been unmapped, and a damaged image cannot keep libunwind busy, for
 * the reads of a step are limited. Nothing is cached.
 *
 * libunwind keeps the records of a step in a pool with a lock. Each walker lets one thread at a
 * time into libunwind, so that the pool's lock is free. A thread that finds another one there tries
 * again for some microseconds and then gives up: UNWIND_BUSY.
 *
 * The library is loaded when a walker is opened: a process that does not use the walker does not
 * need libunwind.
 */
#ifndef TREADLE_LIBUNWIND_WALKER_H
#define TREADLE_LIBUNWIND_WALKER_H

#include "native/unwind/call_frame_info.h"
#include "native/unwind/image_scan.h"
#include "native/unwind/unwind_rule.h"

struct libunwind_walker;

/* An image's frame sections, copied. They cannot be used if header.count is 0. */
struct image_frames {
    struct frame_copy copy;
    struct frame_header header;
};

/* 0, -ENOMEM, or -ELIBACC: there is no libunwind for this processor here. Not in a signal handler.
 */
int libunwind_walker__open(struct libunwind_walker **walker);

/* No signal handler may be walking any more. */
void libunwind_walker__close(struct libunwind_walker *walker);

/* One step towards the caller; the arguments are those of code_images__step. The registers change
 * only with UNWIND_STEPPED. Async-signal-safe. A fault while the stack is read may leave a step
 * with siglongjmp if libunwind_walker__abandon is called afterwards. */
enum unwind_result libunwind_walker__step(struct libunwind_walker *walker,
                                          const struct image_frames *frames,
                                          struct frame_registers *registers, uint64_t stack_end,
                                          bool is_return_address);

/* The calling thread has left a step with siglongjmp. Does nothing if it has not.
 * Async-signal-safe. */
void libunwind_walker__abandon(struct libunwind_walker *walker);

#endif
