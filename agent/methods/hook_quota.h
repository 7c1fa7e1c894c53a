/*
 * Which methods' calls are heard. Hooks cost by the call, and a few methods have nearly all of the
 * calls; so each method has a rate of calls that it may make, and saves up what it did not use for
 * a burst. Its calls are counted in steps, and judged at every quota's end:
 *
 *     heard   every call is pushed and popped
 *     muted   called too often for now: its calls are only counted, until a later try
 *     off     as many silent calls came that HotSpot's compilers are about to look at it, at a rate
 *             that no budget would bear: not heard in the classes that are loaded, and nothing is
 *             left of its hooks in what the compilers make from then on
 * (agent/methods/hook_class.h)
 *
 * A hot method is off before C2 looks at it, which so compiles it once, without hooks; what is
 * called often while a program starts is off before C1 does. Calls that are open when their method
 * falls silent are popped as they came.
 *
 * A method that is off is heard again only by changing its class (agent/budget/hook_renewal.h): the
 * hooks that are put in then pass another slot than those before, which stay off.
 *
 * Since when and until when a method was heard is kept, and told in the ledger where that was not
 * always (struct ledger_hooking). hook_quotas__step, __silent and __apply are for threads in hooks:
 * they do not allocate but in the ledger, nor block. No lock is held by anybody.
 */
#ifndef TREADLE_HOOK_QUOTA_H
#define TREADLE_HOOK_QUOTA_H

#include "agent/methods/hook_class.h"
#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#define HOOK_QUOTA_STEP  16u /* calls of one method by one thread; a power of two, at most 128 */
#define HOOK_QUOTA_CALLS 48u /* a method is judged whenever so many were heard */
#define HOOK_SILENT_CALLS                                                                          \
    2000u /* of a muted method, until its rate is looked at; below INT16_MAX */
/* Calls a second of a muted method, from which on it is off: where the budget has no room. */
#define HOOK_RATE_HOT 4000u
/* While the compilers are busy, as when a program starts, code is new, and interpreted: muted
 * methods are off before C1 looks at them (after 200 calls), but for rarer ones than that. */
#define HOOK_START_CALLS 128u
#define HOOK_RATE_NEW    20u
#define HOOK_RATE_FIRST  20u /* calls a second of a method before the first look at the costs */
#define HOOK_RATE_SPARE                                                                            \
    2000u /* while little of the budget is used: calls cost PRICE_NS each at first */
#define HOOK_PRICE_NS  500u
#define HOOK_RATE_MOST 40000u /* of one that many samples found on a stack, too */
#define HOOK_BURST_S   8u     /* so many seconds' calls may be saved up */
#define HOOK_TRIES_MAX 1024u  /* methods that are to be heard again, waiting for a thread */

/* Rates are sorted into so many classes, each twice the one before. */
#define HOOK_RATE_CLASSES 32u

/* One method's. What is said to be atomic may be written by any thread in a hook. */
struct method_quota {
    uint32_t calls;       /* atomic: heard, in steps */
    uint32_t judged;      /* atomic: of these, when it was judged last */
    uint64_t judged_ns;   /* atomic: when; 0: no step yet */
    int64_t saved;        /* calls beyond the rate that it may make; by the thread that judges */
    uint64_t counted_ns;  /* atomic: silent calls are counted since */
    uint32_t silent;      /* atomic: silent calls, with those that LEFT counts down still */
    uint32_t silent_seen; /* all of them, at the last look at the costs; only that look's */
    uint32_t calls_seen;  /* ditto of the heard ones */
    uint16_t counting;    /* silent calls that LEFT counted down from last */
    uint64_t from_ns;     /* when hooks were put in first; 0: it has none */
    uint64_t since_ns;    /* heard since; or silent since */
    uint64_t heard_ns;    /* heard before that */
    uint32_t state;       /* atomic; enum ledger_hooking_state */
    uint32_t rate;        /* calls a second, as judged last or, of a muted one, as looked at last */
    uint32_t limit;       /* … that were allowed then; and when it fell silent it had heard … */
    uint32_t silent_at;   /* … so many calls */
    uint32_t mutes;       /* how often it fell silent */
    uint32_t code_hash;
    uint32_t slot;      /* atomic: what its hooks pass; 0: its number */
    uint32_t renewals;  /* so many slots it had since */
    uint32_t weight;    /* ppm of the samples found it on a stack, when it was renewed last */
    ledger_ref hooking; /* its record; or none: it was always heard */
    bool is_named;      /* include= names it outright */
    bool is_fresh;      /* it fell silent since the last look at the costs */
    bool is_favoured;   /* atomic: for its weight it may make HOOK_RATE_MOST */
    bool is_renewed;    /* atomic: it is off, and its class is being changed */
    bool is_held;       /* atomic: it is not to be heard, whatever its state */
};

struct hook_quotas {
    struct method_quota *methods; /* by number, HOOK_METHODS_MAX; NULL: every call is heard */
    struct ledger *ledger;
    const struct ledger_time *time;
    uint32_t rate_max;       /* atomic: calls a second of one method; UINT32_MAX: any */
    uint32_t named_rate_max; /* atomic: of one that include= names */
    uint32_t hot_rate;       /* atomic: of a muted one, from which on it is off */
    uint32_t overhead_ppm;   /* of the process's CPU: less than half of it used is little */
    uint64_t cpu_ns;         /* atomic: the process's, as looked at last; or a guess */
    uint64_t cpu_at_ns;      /* atomic: when that was */
    uint32_t price_ns;       /* atomic: of a call */
    bool is_settled;         /* atomic: the compilers have little to do */
    uint64_t heard;          /* atomic: calls of all methods, in steps */
    uint64_t silenced;       /* atomic: methods that fell silent at some time */
    uint32_t tries[HOOK_TRIES_MAX];
    uint32_t try_count;   /* atomic: of tries that wait */
    bool applying;        /* atomic */
    int16_t *left;        /* silent calls until the next look at a muted method, by slot */
    uint32_t left_wanted; /* atomic: so many are to be read; 0: they have been */
    uint32_t *renewed;    /* methods by slot, from HOOK_METHODS_MAX on */
    uint32_t slots;       /* atomic: so many of these */
};

/* Takes address space, and memory as methods are called. 0 or -ENOMEM. Once. */
int hook_quotas__begin(struct hook_quotas *quotas, struct ledger *ledger,
                       const struct ledger_time *time);

/* Nobody has used them yet. */
void hook_quotas__end(struct hook_quotas *quotas);

/* The method has hooks from now on; the hash is of its code. Not in a hook. */
void hook_quotas__add(struct hook_quotas *quotas, uint32_t method, bool is_named,
                      uint32_t code_hash);

/* The method is known to be hot, at so many calls a second: it has no hooks at all. Not in a hook;
 * its record in the ledger is made if need be. */
void hook_quotas__leave_out(struct hook_quotas *quotas, uint32_t method, uint32_t rate,
                            uint32_t code_hash);

/* HOOK_QUOTA_STEP calls more were heard by the calling thread. */
void hook_quotas__step(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method);

/* As many silent calls of a muted method were made as were to be counted: turns it off, or counts
 * on. */
void hook_quotas__silent(struct hook_quotas *quotas, JNIEnv *jni, uint32_t slot);

/* The method of the hooks that pass that slot. For hooks. */
static inline uint32_t hook_quotas__method(const struct hook_quotas *quotas, uint32_t slot)
{
    return __builtin_expect(slot < HOOK_METHODS_MAX, 1) ? slot
                                                        : quotas->renewed[slot - HOOK_METHODS_MAX];
}

/* What the method's hooks pass. */
static inline uint32_t hook_quotas__slot(const struct hook_quotas *quotas, uint32_t method)
{
    uint32_t slot =
        quotas->methods ? __atomic_load_n(&quotas->methods[method].slot, __ATOMIC_ACQUIRE) : 0;

    return slot ? slot : method;
}

/* Is the method to have no hooks, since nobody would hear them? */
static inline bool hook_quotas__is_off(const struct hook_quotas *quotas, uint32_t method)
{
    return quotas->methods &&
           __atomic_load_n(&quotas->methods[method].state, __ATOMIC_ACQUIRE) == HOOKING_OFF &&
           !__atomic_load_n(&quotas->methods[method].is_renewed, __ATOMIC_ACQUIRE);
}

/* A method that is off gets another slot: hooks that are put in from here on pass that one. To be
 * followed by hook_quotas__end_renewal. False: it is not off, or there are no slots any more. For
 * one thread at a time; not in hooks. */
bool hook_quotas__begin_renewal(struct hook_quotas *quotas, uint32_t method);

/* Wherever the method is loaded it has hooks: it is heard from now on. Or it is off as before. */
void hook_quotas__end_renewal(struct hook_quotas *quotas, uint32_t method, bool has_hooks);

static inline unsigned hook_quotas__rate_class(uint32_t rate)
{
    return rate ? HOOK_RATE_CLASSES - (unsigned)__builtin_clz(rate) - 1 : 0;
}

/* May the method, which many samples found on a stack, make HOOK_RATE_MOST? Any thread. */
static inline void hook_quotas__favour(struct method_quota *quota, bool favoured)
{
    __atomic_store_n(&quota->is_favoured, favoured, __ATOMIC_RELAXED);
}

/* For the housekeeping thread: asks for muted methods to be heard again, by the next thread that
 * comes by. False: there is no room now. */
bool hook_quotas__try_again(struct hook_quotas *quotas, uint32_t method);

/* For the housekeeping thread: asks for the silent calls of the methods below that number to be
 * read. What was asked for last has been when left_wanted is 0. */
void hook_quotas__want_silent(struct hook_quotas *quotas, uint32_t methods);

/* The silent calls of a muted method so far, as read last. */
static inline uint32_t hook_quotas__silent_calls(const struct hook_quotas *quotas, uint32_t method)
{
    return (uint32_t)((int32_t)__atomic_load_n(&quotas->methods[method].silent, __ATOMIC_RELAXED) -
                      quotas->left[hook_quotas__slot(quotas, method)]);
}

/* Does what was asked for. By a thread that may call JNI. */
void hook_quotas__apply(struct hook_quotas *quotas, JNIEnv *jni);

/* A method whose hooks cannot be taken out is not heard while it is held, whatever it costs; then
 * as its state says. Any thread that may call JNI; not in hooks. */
void hook_quotas__hold(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method, bool held);

/* Are the calls of a hooked method heard just now? */
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
