/* Two walks of the same interrupted stack inside a signal handler: ours, with one of our engines,
 * and that of libunwind by its own interface for this process. */
#ifndef TREADLE_TEST_WALK_ORACLE_H
#define TREADLE_TEST_WALK_ORACLE_H

#include "native/unwind/code_images.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define WALK_FRAMES_MAX 400

struct walk {
    int count;
    uint64_t pc[WALK_FRAMES_MAX], sp[WALK_FRAMES_MAX];
    struct code_function function[WALK_FRAMES_MAX];
    enum unwind_result end;
};

/* Both of the last interrupted stack. */
struct walks {
    const struct code_images *images;
    uint64_t stack_end;
    struct walk ours, theirs;
    unsigned compared, differing;
    uint64_t outermost_sp;
    unsigned unclear; /* ours stopped where it may */
    char first_difference[300];
};

static inline uint64_t end_of_own_stack(void)
{
    pthread_attr_t attributes;
    size_t bytes;
    void *low;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    (void)pthread_attr_getstack(&attributes, &low, &bytes);
    (void)pthread_attr_destroy(&attributes);
    return (uint64_t)(uintptr_t)low + bytes;
}

static inline void walk_ours(struct walks *walks, const ucontext_t *context)
{
    struct walk *walk = &walks->ours;
    struct preserved_registers preserved;
    struct frame_registers registers;

    frame_registers__of_context(&registers, &preserved, context);
    registers.interrupted = true;
    walk->count = 0;
    do {
        int at = walk->count++;

        walk->pc[at] = registers.pc;
        walk->sp[at] = registers.sp;
        walk->end = code_images__step(walks->images, &registers, walks->stack_end,
                                      !registers.interrupted, &walk->function[at]);
    } while (walk->end == UNWIND_STEPPED && walk->count < WALK_FRAMES_MAX);
}

static inline void walk_theirs(struct walks *walks, ucontext_t *context)
{
    struct walk *walk = &walks->theirs;
    unw_cursor_t cursor;

    walk->count = 0;
    if (unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME) != 0)
        return;
    do {
        unw_word_t pc = 0, sp = 0;

        (void)unw_get_reg(&cursor, UNW_REG_IP, &pc);
        (void)unw_get_reg(&cursor, UNW_REG_SP, &sp);
        if (pc == 0)
            break;
        walk->pc[walk->count] = pc;
        walk->sp[walk->count++] = sp;
    } while (walk->count < WALK_FRAMES_MAX && unw_step(&cursor) > 0);
}

static inline void note_difference(struct walks *walks, int at)
{
    const struct walk *ours = &walks->ours, *theirs = &walks->theirs;

    if (walks->differing++)
        return;
    snprintf(walks->first_difference, sizeof walks->first_difference,
             "frame %d of %d (%d theirs), ended %d: pc %#lx (%#lx) sp %#lx (%#lx) in %s+%#lx, "
             "called from pc %#lx",
             at, ours->count, theirs->count, (int)ours->end, (unsigned long)ours->pc[at],
             (unsigned long)theirs->pc[at], (unsigned long)ours->sp[at],
             (unsigned long)theirs->sp[at],
             ours->function[at].image ? code_image__path(ours->function[at].image) : "nothing",
             (unsigned long)ours->function[at].start, (unsigned long)ours->pc[at ? at - 1 : 0]);
}

static inline bool is_in(const struct walk *walk, int at, const char *symbol)
{
    Dl_info info;

    return at >= 0 && dladdr((void *)(uintptr_t)walk->pc[at], &info) && info.dli_sname &&
           strcmp(info.dli_sname, symbol) == 0;
}

/* Two places count their frame from registers that no walk knows: the dynamic linker's trampolines,
 * and a function that aligns its frame, in its first and last instructions. In its very last ones
 * libunwind goes wrong a frame later, since the compiler does not say that rbp has its old value
 * back. */
static inline bool is_unclear(const struct walks *walks, int at)
{
    const struct walk *ours = &walks->ours;
    const struct code_image *image = ours->function[ours->count - 1].image;
    bool is_aligned =
        is_in(ours, at - 1, "unwound__aligned") || is_in(ours, at - 2, "unwound__aligned");

    /* Where libunwind goes wrong, so does our engine on it, at the same frame. */
    if (code_images__engine(walks->images) == UNWIND_WITH_LIBUNWIND &&
        ours->end == UNWIND_BAD_FRAME)
        return is_aligned && at == ours->count && at == walks->theirs.count;
    if (ours->end == UNWIND_END)
        return is_aligned && ours->sp[ours->count - 1] == walks->outermost_sp;
    return at == ours->count && ours->end == UNWIND_NO_TABLE && image &&
           (is_aligned || strstr(code_image__path(image), "/ld-linux"));
}

/* Of a signal handler's context. */
static inline void walk_both(struct walks *walks, ucontext_t *context)
{
    const struct walk *ours = &walks->ours, *theirs = &walks->theirs;
    int at = 0;

    walk_ours(walks, context);
    walk_theirs(walks, context);
    walks->compared++;
    while (at < ours->count && at < theirs->count && ours->pc[at] == theirs->pc[at] &&
           ours->sp[at] == theirs->sp[at])
        at++;
    if (at == ours->count && at == theirs->count && ours->end == UNWIND_END)
        walks->outermost_sp = ours->sp[at - 1];
    else if (is_unclear(walks, at))
        walks->unclear++;
    else
        note_difference(walks, at < ours->count ? at : ours->count - 1);
}

#endif
