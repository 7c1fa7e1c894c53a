/*
 * Puts hooks back into methods that are off (agent/methods/hook_quota.h): once the compilers have
 * little to do and the budget has room, a few classes at a time are changed. First the methods that
 * many samples found on a stack, outer ones above all: with these exact, most of the CPU lies
 * inside exact calls. Then those that were called least when they fell silent. Methods that fall
 * silent again are tried again later, each time after a longer pause, and only a few times: a
 * program pays for as many class changes as it has methods, not for as long as it runs.
 *
 * What a change costs is measured: the time of the change itself, and what the compilers do more in
 * the seconds after it. That is in the account (agent/host/own_cost.h), and the next change waits
 * until the budget has saved up as much. What their calls will cost is not known: no more heavy
 * methods are hooked at once than the budget has room for if each is as hot as a method may be.
 *
 * The housekeeping thread chooses; a Java thread of the profiler's own changes classes. It is made
 * when it is needed first, a daemon, named "treadle class changes".
 */
#ifndef TREADLE_HOOK_RENEWAL_H
#define TREADLE_HOOK_RENEWAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HOOK_RENEWAL_MOST 512u /* methods at a time */

struct agent;

/* One second of the process's life, in ns of CPU. */
struct budget_second {
    uint64_t now_ns;
    uint64_t cpu_ns;
    uint64_t compilers_ns;
    double left_ns; /* of the budget; below 0: so much was used beyond it */
    double room_ns; /* that hooks may take in a second beside what they take; or below 0 */
};

struct hook_renewal {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic bool changing; /* classes are being changed: the list is the thread's */
    _Atomic bool is_over;  /* there is no thread for it: nothing is changed any more */
    bool has_thread;
    uint32_t methods[HOOK_RENEWAL_MOST];
    uint32_t count;
    _Atomic uint64_t changed_ns; /* when the last change was over */
    _Atomic uint64_t took_ns;    /* of CPU, in all changes */
    /* what follows is the housekeeping thread's alone */
    uint64_t settled_ns;      /* the compilers have had little to do since; 0: they are busy */
    double saved_ns;          /* of the budget */
    double price_ns;          /* of one method, as the last changes were */
    double usual_ns;          /* what the compilers take in a second, between changes */
    uint64_t recompiled_ns;   /* what they took beyond that, after changes; the account has it */
    uint64_t recompiled_once; /* … after the last one */
    uint64_t took_before_ns;
    uint64_t samples;       /* when methods were weighed last */
    uint64_t total_weight;  /* of all samples */
    uint64_t idle_until_ns; /* nothing was worth a change: nobody looks before that */
    bool is_new;            /* the last change is not priced yet */
};

void hook_renewal__init(struct hook_renewal *renewal);

/* What all changes took so far, with what the compilers did after them: ns of CPU. */
uint64_t hook_renewal__cost_ns(const struct hook_renewal *renewal);

/* Do the compilers work on what a change threw away? Any thread. */
bool hook_renewal__goes_on(const struct hook_renewal *renewal, uint64_t now_ns);

/* Once a second, for the housekeeping thread. */
void hook_renewal__look(struct agent *agent, const struct budget_second *second);

#endif
