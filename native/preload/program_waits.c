/* Knows the one profiler: callers pass nothing of ours. */
#include "native/preload/program_waits.h"

#include "native/preload/preload.h"
#include "native/thread/wait_bracket.h"

#include <errno.h>

#define WINDOW_NS 100000000u
/* Of what the budget allows, waits take a fourth: so many ns a timed one. */
#define PART_OF_BUDGET 4u
#define WAIT_NS        60u
#define EVERY_MOST     1000u

static void count(uint64_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

/* Timed waits of a thread in one window. */
static uint64_t window_room(void)
{
    return (uint64_t)preload_process.options.overhead_ppm * (WINDOW_NS / 1000000u) /
           PART_OF_BUDGET / WAIT_NS;
}

/* After a window, or several in which few waits began. */
static void adapt(struct thread_waits *waits, uint64_t now_ns)
{
    uint64_t windows = (now_ns - waits->window_ns) / WINDOW_NS;
    uint64_t room = window_room() * windows, every;

    if (!windows)
        return;
    every = room ? 1 + waits->in_window / room : 1;
    waits->every = every < EVERY_MOST ? (uint32_t)every : EVERY_MOST;
    waits->in_window = 0;
    waits->window_ns = now_ns;
}

static bool has_room(struct preload_thread *mine)
{
    struct thread_waits *waits = &mine->waits;

    adapt(waits, ledger_time__now_ns(&preload_process.setup.time));
    waits->in_window++;
    if (++waits->skipped < waits->every)
        return false;
    waits->skipped = 0;
    return true;
}

/* A wait that was left lies further in than the frame that is there now. On another stack than the
 * thread's own a handler may be running, which came in the wait. */
static bool was_left(const struct preload_thread *mine, uint64_t frame)
{
    uint64_t low = mine->functions.low, high = mine->functions.high;

    return frame - low <= high - low && mine->waits.frame <= frame;
}

static bool begin(struct preload_thread *mine, enum ledger_metric reason, uint64_t frame)
{
    struct thread_waits *waits = &mine->waits;
    struct hook_times *times = &mine->kernel->times;

    if (waits->frame) {
        if (!was_left(mine, frame))
            return false;
        wait_bracket__end(mine->kernel, waits->reason);
        waits->frame = 0;
    }
    count(&times->unheard_waits);
    count(&times->unheard_wrapped);
    if (!has_room(mine) || !wait_bracket__begin_timed(mine->kernel, reason))
        return false;
    count(&times->timed_waits);
    waits->reason = reason;
    waits->frame = frame;
    return true;
}

struct preload_thread *program_waits__begin(enum ledger_metric reason, uint64_t frame)
{
    struct preload_thread *mine;
    int error = errno;

    if (!preload_process.setup.tells_waits || preload_mine.waits_for_profiler)
        return NULL;
    mine = preload_mine__begin_hook(frame);
    if (!mine)
        return NULL;
    if (!begin(mine, reason, frame))
        mine = NULL;
    preload_mine__end_hook();
    errno = error;
    return mine;
}

/* In the child of a fork that came meanwhile the thread is another one. */
void program_waits__end_timed(struct preload_thread *mine, uint64_t frame)
{
    int error = errno;
    struct preload_thread *now = preload_mine__begin_hook(frame);

    if (!now)
        return;
    if (now == mine) {
        wait_bracket__end(mine->kernel, mine->waits.reason);
        mine->waits.frame = 0;
    }
    preload_mine__end_hook();
    errno = error;
}
