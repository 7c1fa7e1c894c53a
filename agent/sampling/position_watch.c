#include "agent/sampling/position_watch.h"

#include "native/hash_table.h"

#include <stdlib.h>

#define WATCHES_MAX     4096u /* then all are forgotten */
#define SAMPLES_TO_MEND 3u

struct position_watch {
    ledger_ref thread;
    ledger_ref node;     /* the thread's position by its path */
    ledger_ref stands;   /* its position by its stack */
    uint64_t charged_ns; /* another value tells that an event has come */
    uint64_t
        agreed_ns; /* CPU since the last event, up to the last sample in which they agreed, … */
    uint64_t left_ns; /* … and up to the first of those that did not */
    unsigned samples; /* that did not, one after the other */
    UT_hash_handle hh;
};

static void forget_all(struct position_watches *watches)
{
    struct position_watch *watch, *next;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): what is freed has been taken out of the table */
    HASH_ITER (hh, watches->watches, watch, next) {
        HASH_DEL(watches->watches, watch);
        free(watch);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}

static struct position_watch *watch_of(struct position_watches *watches, ledger_ref thread)
{
    struct position_watch *watch;

    HASH_FIND_INT(watches->watches, &thread, watch);
    if (watch)
        return watch;
    if (HASH_COUNT(watches->watches) >= WATCHES_MAX)
        forget_all(watches);
    watch = calloc(1, sizeof(*watch));
    if (!watch)
        return NULL;
    watch->thread = thread;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the table has let go of what was freed */
    HASH_ADD_INT(watches->watches, thread, watch);
    if (watch->hh.tbl)
        return watch;
    free(watch);
    return NULL;
}

struct asking {
    const struct position_watch *watch;
    bool of_absent;
};

/* It went somewhere between two samples. */
static uint64_t middle(uint64_t from, uint64_t to)
{
    return to > from ? from + (to - from) / 2 : from;
}

static void ask(struct kernel_thread *kernel_thread, void *context)
{
    const struct asking *asking = context;
    const struct position_watch *watch = asking->watch;
    const struct position_mend mend = {.from = watch->node,
                                       .to = watch->stands,
                                       .charged_ns = watch->charged_ns,
                                       .agreed_ns = middle(watch->agreed_ns, watch->left_ns)};

    if (__atomic_load_n(&kernel_thread->record->thread, __ATOMIC_ACQUIRE) != watch->thread)
        return;
    if (asking->of_absent)
        kernel_thread__mend_silent(kernel_thread, &mend);
    else
        kernel_thread__ask_to_mend(kernel_thread, &mend);
}

bool position_watch__note(struct position_watches *watches, const struct sample *sample,
                          ledger_ref stands)
{
    struct position_watch *watch = watch_of(watches, sample->thread);
    struct asking asking = {watch, sample->flags & SAMPLE_OF_ABSENT};

    if (!watch)
        return false;
    if (watch->node != sample->node || watch->charged_ns != sample->charged_ns) {
        watch->node = sample->node;
        watch->charged_ns = sample->charged_ns;
        watch->agreed_ns = 0;
        watch->samples = 0;
    }
    if (stands == sample->node) {
        watch->agreed_ns = sample->event_ns;
        watch->samples = 0;
        return false;
    }
    watch->samples = watch->stands == stands ? watch->samples + 1 : 1;
    watch->stands = stands;
    if (watch->samples == 1)
        watch->left_ns = sample->event_ns;
    if (watch->samples < SAMPLES_TO_MEND)
        return false;
    if (watch->samples == SAMPLES_TO_MEND)
        ledger__count(&watches->ledger->header->positions_corrected, 1);
    if (watches->threads)
        kernel_thread_table__visit(watches->threads, sample->tid, ask, &asking);
    return true;
}
