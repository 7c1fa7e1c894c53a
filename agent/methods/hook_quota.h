/*
 * Which methods' calls are recorded. The cost of hooks is proportional to the calls, and a few
 * methods make nearly all of the calls. So each method has a rate of calls that it may make, and
 * may save unused calls for a burst. Calls are counted in steps, and the method is judged each time
 * a quota of calls is used up:
 *
 *     heard   every call is pushed and popped
 *     muted   called too often for now: its calls are only counted, until a later try
 *     counted the method has made so many silent calls that HotSpot's compilers are about to
 *             compile it, at a rate at which they cannot be recorded: they are only counted, and
 *             code compiled from then on contains nothing else of its hooks
 *             (agent/methods/counted_methods.h)
 *     off     the method's calls cannot even be counted, so many are they: code compiled from then
 *             on contains nothing of its hooks (agent/methods/hook_class.h)
 *
 * The calls of a muted or counted method are counted in its record in the ledger
 * (agent/methods/hook_counts.h).
 *
 * A method whose calls are long costs little and divides much of the program's time: it may make
 * HOOK_RATE_MOST calls a second, or more where the budget has room for them
 * (agent/methods/long_calls.h).
 *
 * A hot method is turned off before C2 compiles it, so C2 compiles it once, without hooks. A method
 * that is called often while a program starts is turned off before C1 compiles it. Calls that are
 * open when their method is silenced are popped as usual.
 *
 * Hooks have a price that is paid once for each method, too: its class is rewritten, the hooks run
 * interpreted at first, and the compilers have more to do. A program that loads and calls many
 * methods in little CPU time gets hooks in its largest methods first; the others, which are called
 * more and say less, are counted from their first call on. Postponed, with no hook at all,
 * are the few methods with so much code and so many variables that the verifier takes long for the
 * hooks' handler, and methods that come late in the order that a plan gives.
 *
 * A method that is off or counted can be heard again only by a change of its class
 * (agent/budget/hook_renewal.h): the new hooks pass another slot than the old hooks, which stay
 * off.
 *
 * While profiling is stopped and the hooks are still in the classes, all methods are held
 * (agent/hooks/class_changes.h): they are silent, and their states stay as they are.
 *
 * The times at which a method was heard or counted are recorded in the ledger if it was not heard
 * always (struct ledger_hooking). hook_quotas__step, __silent and __apply are for threads in hooks:
 * they do not block, and allocate in the ledger only. No function holds a lock.
 */
#ifndef TREADLE_HOOK_QUOTA_H
#define TREADLE_HOOK_QUOTA_H

#include "agent/methods/hook_class.h"
#include "agent/methods/thread_counters.h"
#include "native/cost/cost_model.h"
#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#define HOOK_QUOTA_STEP 16u /* calls of one method by one thread; a power of two, at most 128 */
/* A method is judged each time this many calls were heard. With 160 calls that a new method may
 * make at once, instead of 64, a first run of ecj has 35 % of its methods exact instead of 29 %,
 * but C2 compiles a fifth more bytecode (-XX:+CITime) and the run takes 1.137 times the CPU of one
 * without the agent [1.125 1.155], instead of 1.094 [1.035 1.219] (JDK 25, pairs side by side). */
#define HOOK_QUOTA_CALLS 48u
#define HOOK_SILENT_CALLS                                                                          \
    2000u /* silent calls of a muted method until its rate is checked; below INT16_MAX */
/* Calls a second from which on a muted method is turned off when the budget has no room. */
#define HOOK_RATE_HOT 4000u
/* While the compilers are busy, as when a program starts, code is new and interpreted. Muted
 * methods are then turned off before C1 compiles them (after 200 calls), unless they make
 * fewer than HOOK_RATE_NEW calls a second. */
#define HOOK_START_CALLS 128u
#define HOOK_RATE_NEW    20u
/* Calls a second, at most, of a counted method (agent/methods/counted_methods.h). */
#define HOOK_COUNT_RATE 5000u
#define HOOK_RATE_FIRST 20u   /* calls a second of a method before the costs are first evaluated */
#define HOOK_RATE_SPARE 2000u /* while little of the budget is used */
#define HOOK_PRICE_NS   500u  /* of a call, before the first evaluation */
#define HOOK_HOT_PART   2u    /* of its cost in a loop: a call in warm code, in place */
#define HOOK_RATE_MOST  40000u
#define HOOK_BURST_S    8u /* a method may save this many seconds' calls */

/* What hooks are taken to cost once more, beside COST_HOOKS_NS, for a method that is called so
 * often that it falls silent: what it took in first runs of ecj, twice as much as counting a method
 * from its first call on. So much may be spent on both in any case, and beyond it so many times the
 * budget: the price is paid once, the budget is there for as long as the program runs. With a price
 * of 250 us, 300 ms in any case and three times the budget, which postpone next to nothing of
 * tomcat, C1 and C2 took 27 s in its first two minutes under load, and a request of the last 40 s
 * took 102 us of CPU; with 20 ms and once the budget it was 23 s and 90 us (JDK 25, one run each).
 */
#define HOOK_SILENCED_NS  600000u
#define HOOK_ONCE_FREE_NS 20000000u
#define HOOK_ONCE_BUDGET  1u

/* Bytes of code of a small method: HotSpot's compilers inline it wherever it is called (their
 * MaxInlineSize), but not with hooks. */
#define HOOK_SMALL_BYTES 35u
/* Methods with up to so many bytes of code are counted from their first call on where the budget
 * bears no more hooks. Larger ones divide the program's time: with 1,000 bytes, 10 % of fop's Java
 * CPU time was in exact calls of less than 1 ms in the mean, not 60 %, and 58 % of ecj's, not 81 %
 * (single first runs on JDK 25). First runs took 0.98 times the CPU that they took with 35 bytes
 * [0.95 1.01] (ecj, pairs side by side). */
#define HOOK_COUNTED_BYTES 400u
#define HOOK_TRIES_MAX     1024u /* methods waiting to be heard again */

/* So often a method that is off gets hooks by a change of its class, until all hooks were taken out
 * of the classes once. */
#define HOOK_RENEWALS_MOST 4u

/* Rates are sorted into this many classes; each class has twice the rate of the one before. */
#define HOOK_RATE_CLASSES 32u

/* The quota of one method. Fields marked atomic may be written by any thread in a hook. */
struct method_quota {
    uint32_t calls;     /* atomic: heard, in steps */
    uint32_t judged;    /* atomic: of these, when it was judged last */
    uint64_t judged_ns; /* atomic: when; 0: no step yet */
    int64_t saved; /* calls beyond its rate that the method may make; written by the thread that
                      judges */
    uint64_t left_since_ns; /* atomic: since when LEFT has counted silent calls, or a mark that a
                               thread is about to let it count from its beginning */
    uint32_t silent;        /* atomic: silent calls, with those that LEFT counts down still */
    uint32_t silent_seen;   /* silent calls at the last evaluation of the costs; used by the
                               evaluation only */
    uint32_t calls_seen;    /* ditto, of heard calls */
    uint16_t counting;      /* the number from which LEFT last counted down */
    uint64_t from_ns;       /* when hooks were first put in; 0: never */
    uint64_t since_ns;      /* since when the method has been heard, or silent */
    uint64_t heard_ns;      /* total time heard before since_ns */
    uint64_t counted_ns;    /* … in which its calls were only counted */
    uint64_t counts_seen;   /* calls that were counted at the last evaluation of the costs; used by
                               the evaluation only, as is … */
    uint32_t count_rate;    /* … those of a second: half is what it was before */
    uint32_t state;         /* atomic; enum ledger_hooking_state */
    uint32_t rate;      /* calls a second, as judged last or, of a muted one, as looked at last */
    uint32_t limit;     /* … that were allowed then; and when it fell silent it had heard … */
    uint32_t silent_at; /* … so many calls */
    uint32_t mutes;     /* how often the method was silenced */
    uint32_t code_hash;
    uint32_t
        expected;  /* calls that a plan expects of it, which it may make at any time; 0: no plan */
    uint32_t slot; /* atomic: the slot that its hooks pass; 0: its number */
    uint32_t call_ns;   /* atomic: CPU time of one call, a mean of the last ones that were
                           measured; 0: none was yet */
    uint32_t caller;    /* atomic: the method that such a call came from last; 0: none */
    uint32_t renewals;  /* number of slots it has had since */
    uint32_t weight;    /* ppm of the samples that found it on a stack at its last renewal, or when
                           it was silent and heavy last */
    uint64_t lasted_ns; /* its class was left as it was then, since its calls lasted; 0: never */
    uint32_t counter;   /* atomic: the number of its counter; 0: none yet */
    uint32_t steps;     /* atomic: how often a thread counted HOOK_COUNTED_STEP more calls */
    ledger_ref hooking; /* its record in the ledger; none: it was always heard */
    uint8_t measured;   /* atomic: how many calls have been measured, up to a limit */
    bool is_long;       /* atomic: its calls are long */
    bool is_named;      /* include= names it outright */
    bool is_fresh;      /* silenced since the last evaluation of the costs */
    bool is_favoured;   /* atomic: because of its weight it may make favoured_rate calls a second */
    bool is_renewed;    /* atomic: off, and its class is being changed */
    bool is_held;       /* atomic: not to be heard, whatever its state */
    bool is_postponed;  /* atomic: off, since it has had no hooks yet */
    bool is_paid;       /* … and is to get them: the budget has saved up for it, or bears it */
    bool is_priced;     /* counted in `hooked` */
    bool is_told;       /* counted in the header's postponed_methods */
    bool was_counting;  /* its calls were counted until its renewal began */
    uint8_t looks;      /* atomic: evaluations of the costs that found it counted, up to two */
    bool was_counted;   /* its class was counted in the header when its renewal began */
};

struct hook_quotas {
    struct method_quota *methods; /* by number, HOOK_METHODS_MAX; NULL: every call is heard */
    struct ledger *ledger;
    const struct ledger_time *time;
    uint32_t rate_max;       /* atomic: limit for one method, in calls a second; UINT32_MAX: none */
    uint32_t named_rate_max; /* atomic: the same for methods that include= names */
    uint32_t favoured_rate; /* atomic: limit for a method that tells much, HOOK_RATE_MOST or more */
    uint32_t hot_rate;      /* atomic: calls a second from which on a muted method is turned off */
    uint32_t overhead_ppm;  /* of the process's CPU; less than half of it counts as little */
    uint64_t hooked;        /* atomic: methods that got hooks */
    uint64_t began_cpu_ns;  /* the process's CPU time when quotas began */
    uint64_t cpu_ns;        /* atomic: the process's CPU time as last read, or a guess */
    uint64_t cpu_at_ns;     /* atomic: when that was */
    uint32_t price_ns;      /* atomic: of a call */
    uint32_t slow_ns; /* atomic: what a slow hook takes more, as the first one after a switch */
    bool is_settled;  /* atomic: the compilers have little to do */
    uint64_t heard;   /* atomic: calls of all methods, in steps */
    uint64_t long_calls_ns; /* atomic: what the hooks of methods with long calls took, about */
    uint64_t silenced;      /* atomic: methods that were silenced at some time, … */
    uint64_t only_counted; /* … and those that were counted from their first call on, with so many
                              calls that they are compiled */
    uint32_t tries[HOOK_TRIES_MAX]; /* muted methods to be heard, and counted ones to be off */
    uint32_t try_count;             /* atomic: number of waiting tries */
    bool applying;                  /* atomic */
    bool all_held;                  /* atomic: no method is to be heard, whatever its state */
    int16_t *left; /* silent calls until the next check of a muted method, by slot */
    uint32_t
        left_wanted;   /* atomic: how many counts of LEFT are to be read; 0: they have been read */
    uint64_t left_ns;  /* atomic: when they were read last */
    uint32_t *renewed; /* the methods of the slots from HOOK_METHODS_MAX on */
    uint32_t slots;    /* atomic: number of these slots */
    uint32_t reached;  /* atomic: quotas of smaller numbers have their memory */
    struct thread_counters counters;
    const struct hook_class *hook_class; /* set before the beginning */
};

/* Reserves address space; memory is used as methods are called. 0 or -ENOMEM. Once. */
int hook_quotas__begin(struct hook_quotas *quotas, struct ledger *ledger,
                       const struct ledger_time *time);

/* Frees quotas that no thread has used yet. */
void hook_quotas__end(struct hook_quotas *quotas);

/* The method's quota is about to be used for the first time: gives memory to its and the next ones.
 * What needs no call is still right. Not in a hook. */
void hook_quotas__reach(struct hook_quotas *quotas, uint32_t method);

/* The method has hooks from now on. Besides its rate it may make so many calls that a plan expects.
 * The hash is that of its code. Not in a hook. */
void hook_quotas__add(struct hook_quotas *quotas, uint32_t method, bool is_named,
                      uint32_t expected_calls, uint32_t code_hash);

/* The method is known to be hot, with so many calls a second, and gets no hooks at all. Makes its
 * record in the ledger if need be. Not in a hook. */
void hook_quotas__leave_out(struct hook_quotas *quotas, uint32_t method, uint32_t rate,
                            uint32_t code_hash);

/* True if hooks are postponed for a method with so many bytes of code: it is small, and the methods
 * that have hooks already cost more than the process's CPU time bears; or the caller wants it so.
 * The method gets no hooks before its renewal; until then its slot is muted, so that no copy of its
 * class is heard, whatever other copies have. False for a method that has had hooks. In a renewal
 * the first answer holds for all copies of the class, and is false if the renewal is paid for. Not
 * in a hook; one renewal at a time. */
#define HOOK_POSTPONE_ANYWAY 0u /* for code_bytes: whatever is spent */
bool hook_quotas__postpone(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                           uint32_t code_bytes);

/* The calling thread has heard HOOK_QUOTA_STEP more calls of the method. `slow`: the hook of the
 * last one was. */
void hook_quotas__step(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method, bool slow);

/* A muted method has made as many silent calls as were to be counted: turns it off, or continues to
 * count. */
void hook_quotas__silent(struct hook_quotas *quotas, JNIEnv *jni, uint32_t slot);

/* Returns the method whose hooks pass this slot. For hooks. */
static inline uint32_t hook_quotas__method(const struct hook_quotas *quotas, uint32_t slot)
{
    return __builtin_expect(slot < HOOK_METHODS_MAX, 1) ? slot
                                                        : quotas->renewed[slot - HOOK_METHODS_MAX];
}

/* Returns the slot that the method's hooks pass. */
static inline uint32_t hook_quotas__slot(const struct hook_quotas *quotas, uint32_t method)
{
    uint32_t slot =
        quotas->methods ? __atomic_load_n(&quotas->methods[method].slot, __ATOMIC_ACQUIRE) : 0;

    return slot ? slot : method;
}

/* True if the method is to have no hooks, because its calls would not be recorded. */
static inline bool hook_quotas__is_off(const struct hook_quotas *quotas, uint32_t method)
{
    return quotas->methods &&
           __atomic_load_n(&quotas->methods[method].state, __ATOMIC_ACQUIRE) == HOOKING_OFF &&
           !__atomic_load_n(&quotas->methods[method].is_renewed, __ATOMIC_ACQUIRE);
}

static inline bool hook_quotas__is_counted(const struct hook_quotas *quotas, uint32_t method)
{
    return quotas->methods &&
           __atomic_load_n(&quotas->methods[method].state, __ATOMIC_ACQUIRE) == HOOKING_COUNTED;
}

/* True if only a change of its class can make the method heard. */
static inline bool hook_quotas__needs_change(const struct hook_quotas *quotas, uint32_t method)
{
    return hook_quotas__is_off(quotas, method) || hook_quotas__is_counted(quotas, method);
}

/* True if the method is silent, but its hooks would be heard again without a change. */
static inline bool hook_quotas__is_muted(const struct hook_quotas *quotas, uint32_t method)
{
    return __atomic_load_n(&quotas->methods[method].state, __ATOMIC_ACQUIRE) == HOOKING_MUTED;
}

/* Gives a method that is off or counted another slot, which hooks put in from here on pass; a
 * postponed one keeps its own. Must be followed by hook_quotas__end_renewal. False: the method is
 * neither, or there are no slots left. One thread at a time; not in hooks. */
bool hook_quotas__begin_renewal(struct hook_quotas *quotas, uint32_t method);

/* Ends a renewal. If the method has its hooks wherever it is loaded, it is heard from now on;
 * otherwise it stays off. */
void hook_quotas__end_renewal(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                              bool has_hooks);

static inline unsigned hook_quotas__rate_class(uint32_t rate)
{
    return rate ? HOOK_RATE_CLASSES - (unsigned)__builtin_clz(rate) - 1 : 0;
}

/* Sets whether the method, which many samples found on a stack, may make favoured_rate calls a
 * second. Any thread. */
static inline void hook_quotas__favour(struct method_quota *quota, bool favoured)
{
    __atomic_store_n(&quota->is_favoured, favoured, __ATOMIC_RELAXED);
}

/* For the housekeeping thread: requests that a muted method be heard again; the next thread in a
 * hook applies the request. False: there is no room for another request. */
bool hook_quotas__try_again(struct hook_quotas *quotas, uint32_t method);

/* The same for a counted method that is to be off: its calls cost too much. */
bool hook_quotas__stop_counting(struct hook_quotas *quotas, uint32_t method);

/* For the housekeeping thread: requests the silent calls of all methods below that number. The
 * request is done when left_wanted is 0. */
void hook_quotas__want_silent(struct hook_quotas *quotas, uint32_t methods);

/* True if it is known how many silent calls a muted method made since the last look; `more` gets
 * them. LEFT that was read before the method fell silent belongs to another count. Threads that
 * count LEFT down without a lock can set it back: a count that seems to have shrunk has not grown.
 * For the housekeeping thread. */
static inline bool hook_quotas__learn_silent(struct hook_quotas *quotas, uint32_t method,
                                             uint32_t *more)
{
    struct method_quota *quota = &quotas->methods[method];
    int32_t silent = (int32_t)(__atomic_load_n(&quota->silent, __ATOMIC_RELAXED) -
                               (uint32_t)quotas->left[hook_quotas__slot(quotas, method)]);
    int32_t grown;

    if (quota->since_ns >= __atomic_load_n(&quotas->left_ns, __ATOMIC_RELAXED))
        return false;
    if (quota->is_fresh)
        quota->silent_seen = 0;
    grown = (int32_t)((uint32_t)silent - quota->silent_seen);
    *more = grown > 0 ? (uint32_t)grown : 0;
    quota->silent_seen += *more;
    return true;
}

/* Applies the requests. For a thread that may call JNI. */
void hook_quotas__apply(struct hook_quotas *quotas, JNIEnv *jni);

/* Holds a method whose hooks cannot be taken out: it is not heard while it is held, whatever that
 * costs, and afterwards as its state says. The silent calls of held methods say nothing of a rate,
 * and are in no account. Any thread that may call JNI; not in hooks. */
void hook_quotas__hold(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method, bool held);

/* Holds all methods with numbers below that one, and those that get hooks from now on, or ends
 * that. Without quotas nothing is held. Any thread that may call JNI, one at a time; not in hooks.
 */
void hook_quotas__hold_all(struct hook_quotas *quotas, JNIEnv *jni, uint32_t methods, bool held);

/* True if the method is not to be heard, whatever its state. */
static inline bool hook_quotas__is_held(const struct hook_quotas *quotas,
                                        const struct method_quota *quota)
{
    return __atomic_load_n(&quotas->all_held, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&quota->is_held, __ATOMIC_SEQ_CST);
}

/* What was just written, a state or that methods are held, is known to whoever reads it from here
 * on, before what comes is read: of two threads, of which one changes the state and the other one
 * holds or releases the method, at least the later one does what is right for both. */
static inline void hook_quotas__settle_order(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* To be called after hook_quotas__add: the method is silent from its first call if all are held. */
void hook_quotas__hold_added(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method);

/* For so many more methods the process's CPU time bears the price of hooks. */
uint32_t hook_quotas__room(const struct hook_quotas *quotas);

/* True if the calls of a hooked method are recorded, unless it is held. */
static inline bool hook_quotas__hear(const struct hook_quotas *quotas, uint32_t method)
{
    return !quotas->methods ||
           __atomic_load_n(&quotas->methods[method].state, __ATOMIC_ACQUIRE) == HOOKING_HEARD;
}

static inline bool hook_quotas__have_work(const struct hook_quotas *quotas)
{
    return __atomic_load_n(&quotas->try_count, __ATOMIC_ACQUIRE) != 0 ||
           __atomic_load_n(&quotas->left_wanted, __ATOMIC_ACQUIRE) != 0;
}

#endif
