#include "agent/methods/hook_quota.h"

#include "agent/methods/counted_methods.h"
#include "agent/methods/hook_counts.h"
#include "agent/methods/hook_states.h"
#include "agent/methods/long_calls.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NS_PER_S  1000000000u
#define SLOTS_MAX (HOOK_SLOTS_MAX - HOOK_METHODS_MAX)

/* Instead of the time since when silent calls have been counted: LEFT does not count yet. */
#define COUNTING_BEGINS UINT64_MAX

#define MUTE_TRIES 4u

/* Methods whose quotas get their memory together. */
#define QUOTAS_AT_ONCE 400u

#ifndef MADV_POPULATE_WRITE /* Linux 5.14; older kernels refuse it, and nothing is lost */
#define MADV_POPULATE_WRITE 23
#endif

/* Threads count their calls in steps: a few steps that come at once tell nothing of a rate. */
#define JUDGED_LEAST_NS 5000u

_Static_assert(HOOK_QUOTA_CALLS % HOOK_QUOTA_STEP == 0, "a quota is so many steps");

static void *address_space(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return start == MAP_FAILED ? NULL : start;
}

static void give_back(void *start, size_t bytes)
{
    if (start)
        munmap(start, bytes);
}

int hook_quotas__begin(struct hook_quotas *quotas, struct ledger *ledger,
                       const struct ledger_time *time)
{
    void *methods = address_space(HOOK_METHODS_MAX * sizeof(*quotas->methods));
    void *left = address_space(HOOK_SLOTS_MAX * sizeof(*quotas->left));
    void *renewed = address_space(SLOTS_MAX * sizeof(*quotas->renewed));

    if (!methods || !left || !renewed || thread_counters__begin(&quotas->counters) != 0) {
        give_back(methods, HOOK_METHODS_MAX * sizeof(*quotas->methods));
        give_back(left, HOOK_SLOTS_MAX * sizeof(*quotas->left));
        give_back(renewed, SLOTS_MAX * sizeof(*quotas->renewed));
        return -ENOMEM;
    }
    quotas->ledger = ledger;
    quotas->time = time;
    quotas->rate_max = quotas->named_rate_max = UINT32_MAX;
    quotas->hot_rate = HOOK_RATE_HOT;
    quotas->favoured_rate = HOOK_RATE_MOST;
    quotas->price_ns = quotas->slow_ns = HOOK_PRICE_NS;
    quotas->cpu_ns = quotas->began_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    quotas->cpu_at_ns = ledger_time__now_ns(time);
    quotas->left = left;
    quotas->renewed = renewed;
    quotas->methods = methods;
    return 0;
}

void hook_quotas__end(struct hook_quotas *quotas)
{
    if (!quotas->methods)
        return;
    munmap(quotas->methods, HOOK_METHODS_MAX * sizeof(*quotas->methods));
    munmap(quotas->left, HOOK_SLOTS_MAX * sizeof(*quotas->left));
    munmap(quotas->renewed, SLOTS_MAX * sizeof(*quotas->renewed));
    thread_counters__end(&quotas->counters);
    memset(quotas, 0, sizeof(*quotas));
}

/* A page that is read first, as these are, is mapped twice, and the second time the other
 * processors are told: of a program that loads 40,000 methods that took 13 ms. */
void hook_quotas__reach(struct hook_quotas *quotas, uint32_t method)
{
    uint32_t from = __atomic_load_n(&quotas->reached, __ATOMIC_RELAXED);
    uint32_t to =
        method < HOOK_METHODS_MAX - QUOTAS_AT_ONCE ? method + QUOTAS_AT_ONCE : HOOK_METHODS_MAX;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start;

    if (!quotas->methods || method < from ||
        !__atomic_compare_exchange_n(&quotas->reached, &from, to, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    start = (uintptr_t)&quotas->methods[from] / page * page;
    (void)madvise((void *)start, (uintptr_t)&quotas->methods[to] - start, MADV_POPULATE_WRITE);
}

static bool is_postponed(const struct method_quota *quota)
{
    return __atomic_load_n(&quota->is_postponed, __ATOMIC_ACQUIRE);
}

void hook_quotas__add(struct hook_quotas *quotas, uint32_t method, bool is_named,
                      uint32_t expected_calls, uint32_t code_hash)
{
    struct method_quota *quota = quotas->methods ? &quotas->methods[method] : NULL;

    if (!quota || quota->from_ns || quota->slot)
        return;
    quota->is_named = is_named;
    quota->code_hash = code_hash;
    quota->expected = expected_calls;
    quota->saved = expected_calls;
    if (!quota->is_priced)
        __atomic_fetch_add(&quotas->hooked, 1, __ATOMIC_RELAXED);
    quota->is_priced = true;
    /* It was not heard since its class was looked at first. */
    if (is_postponed(quota)) {
        quota->is_paid = true;
        return;
    }
    quota->since_ns = ledger_time__now_ns(quotas->time);
    quota->from_ns = quota->since_ns;
}

void hook_quotas__leave_out(struct hook_quotas *quotas, uint32_t method, uint32_t rate,
                            uint32_t code_hash)
{
    struct method_quota *quota = quotas->methods ? &quotas->methods[method] : NULL;

    if (!quota || !hook_states__change(quota, HOOKING_HEARD, HOOKING_OFF))
        return;
    quota->code_hash = code_hash;
    quota->rate = rate;
    quota->since_ns = ledger_time__now_ns(quotas->time);
    hook_states__tell(quotas, method, HOOKING_OFF);
    ledger__count(&quotas->ledger->header->off_methods, 1);
}

/* The process's CPU by now, if it has kept one processor busy since the last look. */
static uint64_t process_cpu_ns(const struct hook_quotas *quotas, uint64_t now_ns)
{
    uint64_t at_ns = __atomic_load_n(&quotas->cpu_at_ns, __ATOMIC_RELAXED);
    uint64_t since_ns = now_ns > at_ns ? now_ns - at_ns : 0;

    return __atomic_load_n(&quotas->cpu_ns, __ATOMIC_RELAXED) +
           (since_ns < NS_PER_S ? since_ns : NS_PER_S);
}

/* Of what may be spent on hooks once, so much is left; negative: too much was spent. */
static double once_left_ns(const struct hook_quotas *quotas)
{
    uint64_t now_ns = ledger_time__now_ns(quotas->time);
    double cpu_ns = (double)(process_cpu_ns(quotas, now_ns) - quotas->began_cpu_ns);
    uint64_t spent_ns = __atomic_load_n(&quotas->hooked, __ATOMIC_RELAXED) * COST_HOOKS_NS +
                        __atomic_load_n(&quotas->silenced, __ATOMIC_RELAXED) * HOOK_SILENCED_NS;

    return HOOK_ONCE_FREE_NS + cpu_ns / 1000000 * quotas->overhead_ppm * HOOK_ONCE_BUDGET -
           (double)spent_ns;
}

static bool bears_more(const struct hook_quotas *quotas)
{
    return once_left_ns(quotas) > 0;
}

uint32_t hook_quotas__room(const struct hook_quotas *quotas)
{
    double methods = once_left_ns(quotas) / COST_HOOKS_NS;

    return methods < 0 ? 0 : methods < HOOK_METHODS_MAX ? (uint32_t)methods : HOOK_METHODS_MAX;
}

bool hook_quotas__postpone(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                           uint32_t code_bytes)
{
    struct method_quota *quota = quotas->methods ? &quotas->methods[method] : NULL;

    if (!quota || quota->from_ns || quota->is_paid)
        return false;
    if (is_postponed(quota)) {
        if (bears_more(quotas))
            return false;
        /* Other copies of the class are asked about, too: it is off for them. */
        __atomic_store_n(&quota->is_renewed, false, __ATOMIC_RELEASE);
        return true;
    }
    if (code_bytes > HOOK_SMALL_BYTES ||
        (code_bytes != HOOK_POSTPONE_ANYWAY && bears_more(quotas)) ||
        !hook_states__change(quota, HOOKING_HEARD, HOOKING_OFF))
        return false;
    quota->since_ns = ledger_time__now_ns(quotas->time);
    hook_class__mute(quotas->hook_class, jni, hook_quotas__slot(quotas, method), INT16_MAX);
    __atomic_store_n(&quota->is_postponed, true, __ATOMIC_RELEASE);
    return true;
}

static bool is_settled(const struct hook_quotas *quotas)
{
    return __atomic_load_n(&quotas->is_settled, __ATOMIC_RELAXED);
}

/* Its silent calls say nothing: it is to stay silent whatever their rate. */
static bool is_silent_anyway(const struct hook_quotas *quotas, const struct method_quota *quota)
{
    return hook_quotas__is_held(quotas, quota) || is_postponed(quota);
}

/* LEFT is counted down without a lock: a thread that read the old count may write it back. A method
 * that is heard meanwhile is not muted: its last silent call may have come late. */
static void count_silent(struct hook_quotas *quotas, JNIEnv *jni, uint32_t number)
{
    struct method_quota *quota = &quotas->methods[number];
    uint32_t slot = hook_quotas__slot(quotas, number);

    quota->counting = hook_quotas__hear(quotas, number) ? INT16_MAX
                      : is_settled(quotas)              ? HOOK_SILENT_CALLS
                                                        : HOOK_START_CALLS;
    __atomic_fetch_add(&quota->silent, quota->counting, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < MUTE_TRIES; i++) {
        hook_class__mute(quotas->hook_class, jni, slot, quota->counting);
        if (hook_class__silent_left(quotas->hook_class, jni, slot) > 0)
            break;
    }
    hook_quotas__settle_order();
    if (hook_quotas__hear(quotas, number) && !hook_quotas__is_held(quotas, quota))
        hook_class__unmute(quotas->hook_class, jni, slot);
}

/* A class was changed to hear a renewed method: to count its calls costs less than to do that
 * again. */
static bool is_hot(const struct hook_quotas *quotas, const struct method_quota *quota)
{
    uint32_t rate = quota->rate;

    if (quota->renewals)
        return rate > __atomic_load_n(&quotas->favoured_rate, __ATOMIC_RELAXED);
    return rate > (is_settled(quotas) ? __atomic_load_n(&quotas->hot_rate, __ATOMIC_RELAXED)
                                      : HOOK_RATE_NEW);
}

/* The record comes before the method is muted: its first silent call is counted. */
static void silence(struct hook_quotas *quotas, JNIEnv *jni, uint32_t number, uint32_t rate,
                    uint32_t limit)
{
    struct method_quota *quota = &quotas->methods[number];
    uint64_t now_ns;

    if (!hook_states__change(quota, HOOKING_HEARD, HOOKING_MUTED))
        return;
    __atomic_store_n(&quota->left_since_ns, COUNTING_BEGINS, __ATOMIC_RELEASE);
    __atomic_store_n(&quota->silent, 0, __ATOMIC_RELAXED);
    hook_counts__begin(quotas, jni, number, hook_states__record(quotas, number));
    count_silent(quotas, jni, number);
    now_ns = ledger_time__now_ns(quotas->time);
    __atomic_store_n(&quota->left_since_ns, now_ns, __ATOMIC_RELEASE);
    quota->rate = rate;
    quota->is_fresh = true;
    quota->limit = limit;
    quota->silent_at = __atomic_load_n(&quota->calls, __ATOMIC_RELAXED);
    if (!quota->mutes++)
        __atomic_fetch_add(&quotas->silenced, 1, __ATOMIC_RELAXED);
    quota->heard_ns += now_ns - quota->since_ns;
    quota->since_ns = now_ns;
    hook_states__tell(quotas, number, HOOKING_MUTED);
    ledger__count(&quotas->ledger->header->muted_methods, 1);
}

static void end_hearing(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method)
{
    const struct method_quota *quota = &quotas->methods[method];

    if (hook_counts__counts(quotas, quota))
        counted_methods__count_only(quotas, jni, method);
    else
        hook_states__turn_off(quotas, jni, method, HOOKING_MUTED);
}

/* Several threads count to the end at once. The one that changes the time goes on. Until LEFT
 * counts from its beginning again, the others must not take the new time for that of the count that
 * ended: a few nanoseconds for all its calls would make the method look hot, and turn it off for
 * good. */
void hook_quotas__silent(struct hook_quotas *quotas, JNIEnv *jni, uint32_t slot)
{
    uint32_t method = hook_quotas__method(quotas, slot);
    struct method_quota *quota = quotas->methods ? &quotas->methods[method] : NULL;
    uint64_t since_ns = quota ? __atomic_load_n(&quota->left_since_ns, __ATOMIC_ACQUIRE) : 0;
    uint64_t now_ns;

    if (!quota || since_ns == COUNTING_BEGINS || hook_quotas__slot(quotas, method) != slot ||
        hook_class__silent_left(quotas->hook_class, jni, slot) > 0)
        return;
    if (!__atomic_compare_exchange_n(&quota->left_since_ns, &since_ns, COUNTING_BEGINS, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    now_ns = ledger_time__now_ns(quotas->time);
    if (!is_silent_anyway(quotas, quota))
        quota->rate = hook_states__rate(quota->counting, now_ns - since_ns);
    if (!is_silent_anyway(quotas, quota) && is_hot(quotas, quota) && !quota->is_named)
        end_hearing(quotas, jni, method);
    else
        count_silent(quotas, jni, method);
    __atomic_store_n(&quota->left_since_ns, now_ns, __ATOMIC_RELEASE);
    if (hook_quotas__have_work(quotas))
        hook_quotas__apply(quotas, jni);
}

/* A program that makes few calls in all may make them where it likes. */
static uint32_t allowed_rate(const struct hook_quotas *quotas, const struct method_quota *quota,
                             uint64_t now_ns)
{
    uint64_t used_ns = __atomic_load_n(&quotas->heard, __ATOMIC_RELAXED) *
                       __atomic_load_n(&quotas->price_ns, __ATOMIC_RELAXED);
    uint32_t rate = __atomic_load_n(quota->is_named ? &quotas->named_rate_max : &quotas->rate_max,
                                    __ATOMIC_RELAXED);
    uint32_t favoured_rate = __atomic_load_n(&quotas->favoured_rate, __ATOMIC_RELAXED);
    uint64_t budget_ns = process_cpu_ns(quotas, now_ns) / 1000000 * quotas->overhead_ppm;
    bool is_little = used_ns < budget_ns / 2;

    if (rate < favoured_rate && (__atomic_load_n(&quota->is_favoured, __ATOMIC_RELAXED) ||
                                 long_calls__may_be_many(quotas, quota, budget_ns)))
        return favoured_rate;
    return is_little && rate < HOOK_RATE_SPARE ? HOOK_RATE_SPARE : rate;
}

/* Calls that came in that time, against those that the method might make in it and had saved up. */
static bool has_saved(struct method_quota *quota, uint32_t rate, uint32_t calls, uint64_t ns)
{
    double burst = (double)rate * HOOK_BURST_S;
    double most = burst > quota->expected ? burst : quota->expected;
    double saved = (double)quota->saved + (double)rate * (double)ns / NS_PER_S - calls;

    quota->saved = (int64_t)(saved < most ? saved : most);
    return saved >= 0;
}

/* One thread judges, the one that moves the mark. A thread that was held up on its way here may
 * find the mark beyond its own count. */
static void judge(struct hook_quotas *quotas, JNIEnv *jni, uint32_t number, uint32_t calls)
{
    struct method_quota *quota = &quotas->methods[number];
    uint32_t judged = __atomic_load_n(&quota->judged, __ATOMIC_RELAXED);
    uint64_t before_ns = __atomic_load_n(&quota->judged_ns, __ATOMIC_RELAXED);
    uint64_t now_ns = ledger_time__now_ns(quotas->time);
    uint32_t limit = allowed_rate(quotas, quota, now_ns);

    if (before_ns && ((int32_t)(calls - judged) < (int32_t)HOOK_QUOTA_CALLS ||
                      (int64_t)(now_ns - before_ns) < (int64_t)JUDGED_LEAST_NS))
        return;
    if (!__atomic_compare_exchange_n(&quota->judged, &judged, calls, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&quota->judged_ns, now_ns, __ATOMIC_RELAXED);
    if (!before_ns)
        return;
    if (!has_saved(quota, limit, calls - judged, now_ns - before_ns))
        silence(quotas, jni, number, hook_states__rate(calls - judged, now_ns - before_ns), limit);
}

void hook_quotas__step(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method, bool slow)
{
    uint32_t calls =
        __atomic_add_fetch(&quotas->methods[method].calls, HOOK_QUOTA_STEP, __ATOMIC_RELAXED);

    __atomic_fetch_add(&quotas->heard, HOOK_QUOTA_STEP, __ATOMIC_RELAXED);
    long_calls__count(quotas, method, calls, slow);
    judge(quotas, jni, method, calls);
    if (hook_quotas__have_work(quotas))
        hook_quotas__apply(quotas, jni);
}

static bool request(struct hook_quotas *quotas, uint32_t method)
{
    uint32_t count;
    bool fits;

    if (__atomic_exchange_n(&quotas->applying, true, __ATOMIC_ACQUIRE))
        return false;
    count = __atomic_load_n(&quotas->try_count, __ATOMIC_ACQUIRE);
    fits = count < HOOK_TRIES_MAX;
    if (fits) {
        quotas->tries[count] = method;
        __atomic_store_n(&quotas->try_count, count + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&quotas->applying, false, __ATOMIC_RELEASE);
    return fits;
}

bool hook_quotas__try_again(struct hook_quotas *quotas, uint32_t method)
{
    return request(quotas, method);
}

bool hook_quotas__stop_counting(struct hook_quotas *quotas, uint32_t method)
{
    return request(quotas, method);
}

void hook_quotas__want_silent(struct hook_quotas *quotas, uint32_t methods)
{
    __atomic_store_n(&quotas->left_wanted, methods, __ATOMIC_RELEASE);
}

/* It begins with what it may make in two seconds: the try is not to end with the first burst. */
static void hear(struct hook_quotas *quotas, JNIEnv *jni, uint32_t number)
{
    struct method_quota *quota = &quotas->methods[number];

    if (!hook_states__change(quota, HOOKING_MUTED, HOOKING_HEARD))
        return;
    __atomic_store_n(&quota->judged_ns, 0, __ATOMIC_RELAXED);
    hook_states__begin_span(quotas, quota, true);
    quota->saved = 2 * (int64_t)allowed_rate(quotas, quota, quota->since_ns);
    ledger__count(&quotas->ledger->header->muted_methods, (uint64_t)-1);
    hook_states__tell(quotas, number, HOOKING_HEARD);
    if (!hook_quotas__is_held(quotas, quota))
        hook_class__unmute(quotas->hook_class, jni, hook_quotas__slot(quotas, number));
}

bool hook_quotas__begin_renewal(struct hook_quotas *quotas, uint32_t method)
{
    struct method_quota *quota = &quotas->methods[method];
    uint32_t slot = __atomic_load_n(&quotas->slots, __ATOMIC_RELAXED);
    bool is_new = is_postponed(quota);

    if ((!is_new && slot == SLOTS_MAX) || !hook_quotas__needs_change(quotas, method))
        return false;
    if (!is_new) {
        quotas->renewed[slot] = method;
        __atomic_store_n(&quotas->slots, slot + 1, __ATOMIC_RELEASE);
        __atomic_store_n(&quota->slot, HOOK_METHODS_MAX + slot, __ATOMIC_RELEASE);
    }
    /* Calls of old code are counted, those of new code recorded: the count goes on. */
    quota->was_counting = hook_states__change(quota, HOOKING_COUNTED, HOOKING_OFF);
    if (quota->was_counting)
        ledger__count(&quotas->ledger->header->off_methods, 1);
    __atomic_store_n(&quota->is_renewed, true, __ATOMIC_RELEASE);
    return true;
}

/* Hooks that a postponed method gets are its first: they are no further try. */
static void end_postponement(struct hook_quotas *quotas, struct method_quota *quota)
{
    struct ledger_header *header = quotas->ledger->header;

    quota->renewals = 0;
    __atomic_store_n(&quota->is_postponed, false, __ATOMIC_RELEASE);
    if (quota->is_told)
        ledger__count(&header->postponed_methods, (uint64_t)-1);
    quota->is_told = false;
}

void hook_quotas__end_renewal(struct hook_quotas *quotas, JNIEnv *jni, uint32_t method,
                              bool has_hooks)
{
    struct method_quota *quota = &quotas->methods[method];
    struct ledger_header *header = quotas->ledger->header;
    bool was_postponed = is_postponed(quota), was_counting = quota->was_counting;

    quota->renewals++;
    quota->is_paid = false;
    if (was_counting && !has_hooks) {
        hook_states__begin_span(quotas, quota, true);
        hook_states__tell(quotas, method, HOOKING_OFF);
    }
    quota->was_counting = false;
    if (has_hooks) {
        if (!quota->from_ns && quota->was_counted)
            ledger__count(&header->hooked_methods, 1);
        quota->from_ns = quota->from_ns ? quota->from_ns : quota->since_ns;
        hook_states__begin_span(quotas, quota, was_counting);
        /* It was too hot when it was heard last: no burst on credit, but for a favoured one. */
        quota->saved = __atomic_load_n(&quota->is_favoured, __ATOMIC_RELAXED)
                           ? 2 * (int64_t)allowed_rate(quotas, quota, quota->since_ns)
                           : 0;
        __atomic_store_n(&quota->judged_ns, 0, __ATOMIC_RELAXED);
        if (was_postponed)
            end_postponement(quotas, quota);
        else
            ledger__count(&header->off_methods, (uint64_t)-1);
        (void)hook_states__change(quota, HOOKING_OFF, HOOKING_HEARD);
        hook_states__tell(quotas, method, HOOKING_HEARD);
        if (was_postponed && !hook_quotas__is_held(quotas, quota))
            hook_class__unmute(quotas->hook_class, jni, hook_quotas__slot(quotas, method));
    }
    __atomic_store_n(&quota->is_renewed, false, __ATOMIC_RELEASE);
}

static void read_left(struct hook_quotas *quotas, JNIEnv *jni)
{
    uint32_t wanted = __atomic_load_n(&quotas->left_wanted, __ATOMIC_ACQUIRE);

    if (!wanted)
        return;
    __atomic_store_n(&quotas->left_ns, ledger_time__now_ns(quotas->time), __ATOMIC_RELAXED);
    hook_class__read_silent(quotas->hook_class, jni, quotas->left, 0,
                            wanted < HOOK_METHODS_MAX ? wanted : HOOK_METHODS_MAX);
    hook_class__read_silent(quotas->hook_class, jni, quotas->left + HOOK_METHODS_MAX,
                            HOOK_METHODS_MAX, __atomic_load_n(&quotas->slots, __ATOMIC_ACQUIRE));
    __atomic_store_n(&quotas->left_wanted, 0, __ATOMIC_RELEASE);
}

void hook_quotas__apply(struct hook_quotas *quotas, JNIEnv *jni)
{
    uint32_t count;

    if (__atomic_exchange_n(&quotas->applying, true, __ATOMIC_ACQUIRE))
        return;
    read_left(quotas, jni);
    count = __atomic_load_n(&quotas->try_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (hook_quotas__is_counted(quotas, quotas->tries[i]))
            hook_states__turn_off(quotas, jni, quotas->tries[i], HOOKING_COUNTED);
        else
            hear(quotas, jni, quotas->tries[i]);
    __atomic_store_n(&quotas->try_count, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&quotas->applying, false, __ATOMIC_RELEASE);
}
