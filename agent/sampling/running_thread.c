#include "agent/sampling/running_thread.h"

/* The kernel's own encoding of the CPU clock of a thread: CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED.
 */
#define CLOCK_OF_THREAD 6u

/* glibc has no name of its own for the target of SIGEV_THREAD_ID. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Its timer is no longer armed when this returns; what it still owes is lost. */
static uint32_t forget(struct running_thread *thread)
{
    if (!thread->tid)
        return 0;
    timer_delete(thread->timer);
    thread->tid = 0;
    return atomic_exchange(&thread->owed, 0);
}

static bool create(struct running_thread *thread, pid_t tid, int signal)
{
    clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | CLOCK_OF_THREAD);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};

    event.sigev_notify_thread_id = tid;
    event.sigev_value.sival_ptr = thread;
    if (timer_create(clock, &event, &thread->timer) != 0)
        return false;
    thread->tid = tid;
    return true;
}

/* At the next tick that finds it on a processor. */
static bool arm(const struct running_thread *thread)
{
    const struct itimerspec soon = {.it_value = {.tv_nsec = 1}};

    return timer_settime(thread->timer, 0, &soon, NULL) == 0;
}

uint32_t running_threads__ask(struct running_threads *threads, pid_t tid)
{
    struct running_thread *thread = &threads->of[(unsigned)tid % RUNNING_THREADS];
    uint32_t owed = atomic_load(&thread->owed), lost = 0;

    if (thread->tid == tid && owed >= RUNNING_TURNS_MAX)
        return 1;
    if (thread->tid != tid)
        lost = forget(thread);
    if (!thread->tid && !create(thread, tid, threads->signal))
        return lost + 1;
    /* Armed already, if it owes: but if the timer of an ended thread had the same tid this tells.
     */
    if (atomic_fetch_add(&thread->owed, 1) == 0 || owed == RUNNING_TURNS_MAX / 2) {
        if (arm(thread))
            return lost;
        lost += forget(thread);
    }
    return lost;
}

uint32_t running_threads__release(struct running_threads *threads)
{
    uint32_t lost = 0;

    for (uint32_t i = 0; i < RUNNING_THREADS; i++)
        lost += forget(&threads->of[i]);
    return lost;
}

uint32_t running_threads__answer(struct running_threads *threads, const siginfo_t *info)
{
    struct running_thread *thread = info->si_value.sival_ptr;
    uintptr_t offset = (uintptr_t)thread - (uintptr_t)threads->of;

    if (info->si_code != SI_TIMER || offset >= sizeof(threads->of) || offset % sizeof(*thread))
        return 0;
    return atomic_exchange(&thread->owed, 0);
}
