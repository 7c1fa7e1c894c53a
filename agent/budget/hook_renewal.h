/*
 * Puts hooks back into methods that are off (agent/methods/hook_quota.h), once the compilers have
 * little to do and the budget has room. While much of the CPU time is coarse
 * (agent/sampling/frame_tally.h) the class of that method is changed that coarse samples found most
 * on a stack: when the outermost short call is exact, most of the time lies inside exact calls.
 * Where the time is divided well enough, a few classes at a time are changed of the methods that
 * were called least when they were silenced, and at last of methods whose hooks were
 * postponed. A method that is silenced again is tried again later, each time after a longer pause,
 * and only a few times: the number of class changes is bounded by the number of methods, not by the
 * running time. A class whose calls last (agent/threads/lasting_calls.h) is left as it is.
 *
 * A change throws away all compiled code that has something of the class in it. Its cost is
 * measured: the time of the change itself, and the additional CPU time of the compilers in the
 * seconds after it, doubled for the code that runs slowly meanwhile. Both are in the account
 * (native/host/own_cost.h), and the next change waits until the budget has saved as much; only for
 * a heavy method a minute's budget may be overdrawn. The cost of the methods' calls is not known in
 * advance: no more heavy methods get hooks at one time than the budget has room for if each method
 * is as hot as a method may be.
 *
 * The housekeeping thread chooses the methods. A Java thread of the profiler's own changes the
 * classes: a daemon named "treadle class changes", made when it is first needed. It also takes the
 * hooks out that a stop has left in the classes for some time (agent/hooks/class_changes.h).
 */
#ifndef TREADLE_HOOK_RENEWAL_H
#define TREADLE_HOOK_RENEWAL_H

#include "agent/hooks/class_hooks.h"
#include "agent/methods/hook_quota.h"
#include "agent/sampling/sampler.h"
#include "agent/threads/lock_waits.h"

#include <jni.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HOOK_RENEWAL_MOST 512u /* methods at a time */

/* One second of the process's life, in ns of CPU. */
struct budget_second {
    uint64_t now_ns;
    uint64_t cpu_ns;
    uint64_t compilers_ns;
    double left_ns; /* of the budget; negative: the budget was exceeded by this much */
    double room_ns; /* by which the hooks' cost of a second may grow; may be negative */
};

struct hook_renewal {
    /* what methods are hooked again with; set before hook_renewal__init, the rest being zero */
    JavaVM *vm;
    struct class_hooks *hooks;
    struct hook_quotas *quotas;
    struct sampler *sampler;
    const struct ledger *ledger;
    const struct ledger_time *time;
    const _Atomic bool *profiling;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic bool changing;  /* classes are being changed: the list belongs to the changing thread */
    _Atomic bool for_locks; /* … for the holds of locks */
    _Atomic bool for_removal; /* … which lose their silent hooks */
    _Atomic bool is_over;     /* there is no changing thread: no class is changed any more */
    bool has_thread;
    bool owners_wanted;     /* for_locks: those of java.util.concurrent, too, … */
    uint32_t shared_wanted; /* … and of these kinds of shared locks (bits) */
    uint32_t methods[HOOK_RENEWAL_MOST];
    uint32_t count;
    uint32_t class_count;
    _Atomic uint64_t changed_ns; /* when the last change ended */
    _Atomic uint64_t took_ns;    /* CPU time of all changes */
    /* the following fields are for the housekeeping thread only */
    uint64_t locks_ns;      /* when hooks of locks were put in last */
    uint64_t settled_ns;    /* since when the compilers have had little to do; 0: they are busy */
    double saved_ns;        /* of the budget */
    double price_ns;        /* of one class, from the last changes */
    double usual_ns;        /* the compilers' CPU time in a second without changes, in the mean */
    double more_ns;         /* … and how much more they had in all since the last change */
    uint64_t recompiled_ns; /* what the compilers had to do again, and running slow code until they
                               had; part of the account */
    uint64_t recompiled_once; /* … after the last one */
    uint64_t took_before_ns;
    uint64_t samples;        /* of Java code, when methods were weighed last, … */
    uint64_t coarse_samples; /* … and of these the coarse ones (agent/sampling/frame_tally.h) */
    uint64_t total_weight;   /* of all samples of Java code */
    uint64_t coarse_weight;  /* of the coarse ones */
    bool has_changed;        /* classes were changed since then */
    bool has_heavy;         /* … just now, for a heavy method: whether it fits is not known yet */
    uint64_t idle_until_ns; /* no change was worth while: no new attempt before this time */
    bool is_new;            /* the last change has no price yet */
};

void hook_renewal__init(struct hook_renewal *renewal);

/* CPU time in ns of all changes so far, with the compilers' work after them. */
uint64_t hook_renewal__cost_ns(const struct hook_renewal *renewal);

/* True while the compilers recompile what a change invalidated. Any thread. */
bool hook_renewal__goes_on(const struct hook_renewal *renewal, uint64_t now_ns);

/* Puts hooks where holds of locks begin and end, if that is wanted: for a kind of Locks at once, so
 * that there are as many such changes as kinds at most; for monitors not just after another change.
 * For the housekeeping thread, in each of its rounds. */
void hook_renewal__hook_locks(struct hook_renewal *renewal, struct lock_waits *locks);

/* False: no thread that changes classes can be made. Any thread. */
static inline bool hook_renewal__may_change(const struct hook_renewal *renewal)
{
    return !atomic_load(&renewal->is_over);
}

/* Has the hooks taken out that a stop left in the classes, when they have been silent for long
 * enough. For the housekeeping thread. */
void hook_renewal__remove_silent(struct hook_renewal *renewal);

/* To be called once a second by the housekeeping thread. */
void hook_renewal__look(struct hook_renewal *renewal, const struct budget_second *second);

#endif
