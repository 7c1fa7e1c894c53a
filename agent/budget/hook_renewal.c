#include "agent/budget/hook_renewal.h"

#include "agent/hooks/class_changes.h"
#include "agent/host/log.h"
#include "agent/methods/class_name.h"
#include "agent/threads/lasting_calls.h"
#include "native/host/own_thread.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_S        1000000000u
#define SETTLED_NS      (5ull * NS_PER_S) /* the compilers must have been quiet for so long */
#define AFTER_CHANGE_NS (8ull * NS_PER_S) /* so long they work on what a change threw away */
#define SAVED_SECONDS   600.0             /* so much of the budget may be saved up */
#define DEBT_SECONDS    60.0  /* … and overdrawn, where most of the CPU time is coarse; … */
#define DEBT_MOST       300.0 /* … what a change cost beyond is forgotten from here on */
#define PRICE_NS        100000000.0 /* of one class, before the first change */
#define PRICE_LEAST_NS  1000000.0
#define USUAL_SECONDS   16.0 /* of which the compilers' usual work is the mean, about */
#define SLOW_CODE       2    /* times the compilers' work: the program waits for it in slow code */
#define CLASSES_MOST    8u   /* changed at a time: they stop the JVM for a moment */
#define CLASSES_HEAVY   1u   /* … for the sake of a heavy method: one may be enough */
#define WEIGHT_PERCENT  1u   /* of all samples: with fewer a method is like any other */
#define COARSE_PERCENT  30u  /* of all samples: with fewer the CPU time is divided well enough */
#define SAMPLES_LEAST   200u /* fewer say nothing */
#define WEIGH_NS        (5ull * NS_PER_S)
#define PAUSE_NS        (10ull * NS_PER_S) /* before the first try; six times as long each time */
#define PAUSE_FACTOR    6u
#define IDLE_NS         (10ull * NS_PER_S) /* until the next look whether any method is due */
#define LOCKS_PAUSE_NS  (2ull * NS_PER_S)  /* between changes for holds of monitors */
#define LOOK_NS         NS_PER_S           /* for calls that last */
#define LASTED_NS       (60ull * NS_PER_S) /* a class whose calls last is left alone for so long */
#define LOADED_NS       (2ull * NS_PER_S)  /* a class may be on its way into the JVM for so long */
#define STACK_BYTES     (512u * 1024u)
#define NAME_BYTES      1024u

void hook_renewal__init(struct hook_renewal *renewal)
{
    pthread_mutex_init(&renewal->lock, NULL);
    pthread_cond_init(&renewal->wake, NULL);
    renewal->price_ns = PRICE_NS;
}

/* ---- the thread that changes classes ---- */

/* Classes whose calls last are left as they are, for some time. */
static void leave_out_lasting(struct hook_renewal *renewal, JNIEnv *jni)
{
    uint64_t now_ns = ledger_time__now_ns(renewal->time);
    struct lasting_calls calls;
    uint32_t count = 0;

    lasting_calls__find(&calls, renewal->hooks->jvmti, jni, LASTING_PROBABLY, LOOK_NS);
    for (uint32_t i = 0; i < renewal->count; i++) {
        uint32_t id = renewal->methods[i];
        const struct numbered_method *method = method_numbers__get(&renewal->hooks->methods, id);
        struct method_quota *quota = &renewal->quotas->methods[id];

        if (!lasting_calls__has(&calls, numbered_class__name(method->class))) {
            renewal->methods[count++] = id;
            continue;
        }
        quota->lasted_ns = now_ns;
        quota->weight = 0;
        hook_quotas__favour(quota, false);
    }
    log__line(LOG_DEBUG, "%u methods stay off: a loop of their class runs", renewal->count - count);
    renewal->count = count;
    lasting_calls__release(&calls);
}

static void change(struct hook_renewal *renewal, JNIEnv *jni)
{
    uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    if (atomic_exchange(&renewal->for_removal, false)) {
        class_changes__remove_silent(renewal->hooks, jni);
        atomic_store(&renewal->changing, false);
        return;
    }
    if (atomic_exchange(&renewal->for_locks, false)) {
        class_changes__hook_locks(renewal->hooks, jni, renewal->owners_wanted,
                                  renewal->shared_wanted);
        atomic_store(&renewal->changing, false);
        return;
    }
    leave_out_lasting(renewal, jni);
    if (renewal->count) {
        class_changes__renew(renewal->hooks, jni, renewal->methods, renewal->count);
        atomic_store(&renewal->changed_ns, ledger_time__now_ns(renewal->time));
    }
    atomic_fetch_add(&renewal->took_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
    atomic_store(&renewal->changing, false);
}

/* It waits in native code: safepoints do not wait for it. */
static void *run(void *context)
{
    struct hook_renewal *renewal = context;
    JavaVMAttachArgs arguments = {.version = JNI_VERSION_1_8, .name = "treadle class changes"};
    JNIEnv *jni = NULL;

    /* As the JVM will cut the name: it is not to change while others look at the thread. */
    pthread_setname_np(pthread_self(), "treadle class c");
    if ((*renewal->vm)->AttachCurrentThreadAsDaemon(renewal->vm, (void **)&jni, &arguments) !=
        JNI_OK) {
        atomic_store(&renewal->is_over, true);
        atomic_store(&renewal->changing, false);
        return NULL;
    }
    for (;;) {
        pthread_mutex_lock(&renewal->lock);
        while (!atomic_load(&renewal->changing))
            pthread_cond_wait(&renewal->wake, &renewal->lock);
        pthread_mutex_unlock(&renewal->lock);
        change(renewal, jni);
    }
    return NULL;
}

static void wake_thread(struct hook_renewal *renewal)
{
    if (!renewal->has_thread && own_thread__create(run, renewal, STACK_BYTES) != 0) {
        atomic_store(&renewal->is_over, true);
        return;
    }
    renewal->has_thread = true;
    pthread_mutex_lock(&renewal->lock);
    atomic_store(&renewal->changing, !atomic_load(&renewal->is_over));
    pthread_cond_signal(&renewal->wake);
    pthread_mutex_unlock(&renewal->lock);
}

/* Kinds of Locks are few, and each comes once: they need no pause. */
static bool is_locks_change_due(const struct hook_renewal *renewal, const struct lock_waits *locks)
{
    uint64_t now_ns = ledger_time__now_ns(renewal->time);

    if ((atomic_load(&locks->holds.locks_wanted) && !renewal->owners_wanted) ||
        atomic_load(&locks->shared.wanted) != renewal->shared_wanted)
        return true;
    return atomic_load(&locks->holds.classes_wanted) &&
           (!renewal->locks_ns || now_ns - renewal->locks_ns >= LOCKS_PAUSE_NS);
}

static void note_hooked(const struct hook_renewal *renewal, struct lock_holds *holds)
{
    if (renewal->owners_wanted && !atomic_load(&renewal->changing) &&
        !atomic_load(&holds->hooked_ns))
        atomic_store(&holds->hooked_ns, ledger_time__now_ns(renewal->time));
}

void hook_renewal__hook_locks(struct hook_renewal *renewal, struct lock_waits *locks)
{
    if (locks)
        note_hooked(renewal, &locks->holds);
    if (!locks || !atomic_load(renewal->profiling) || atomic_load(&renewal->changing) ||
        !is_locks_change_due(renewal, locks))
        return;
    atomic_store(&locks->holds.classes_wanted, false);
    renewal->locks_ns = ledger_time__now_ns(renewal->time);
    renewal->owners_wanted = atomic_load(&locks->holds.locks_wanted);
    renewal->shared_wanted = atomic_load(&locks->shared.wanted);
    atomic_store(&renewal->for_locks, true);
    wake_thread(renewal);
}

/* Without the thread they stay to the next start, or to the end. */
void hook_renewal__remove_silent(struct hook_renewal *renewal)
{
    if (!renewal->quotas->methods || !class_hooks__silence_is_over(renewal->hooks) ||
        atomic_load(&renewal->changing) || atomic_load(&renewal->is_over))
        return;
    atomic_store(&renewal->for_removal, true);
    wake_thread(renewal);
    if (atomic_load(&renewal->is_over))
        log__line(LOG_WARN, "no thread to take the hooks out: they stay in the classes, silent");
}

/* ---- what is worth it ---- */

struct candidate {
    uint32_t method;
    uint32_t weight;
};

struct candidates {
    struct hook_renewal *renewal;
    uint32_t heavy; /* so many samples found: the first; … */
    uint32_t room;  /* … and so many of these may be hooked */
    uint64_t least; /* weight */
    bool is_new;    /* what was weighed before counts no more: classes have been changed since */
    uint64_t now_ns;
    struct candidate all[HOOK_RENEWAL_MOST];
    uint32_t count;
};

static bool is_due(const struct hook_renewal *renewal, uint32_t method, uint64_t now_ns)
{
    const struct method_quota *quota = &renewal->quotas->methods[method];
    bool by_plan = !quota->from_ns && !quota->is_postponed; /* it has tried the method once */
    uint32_t tries = quota->renewals + by_plan;
    uint64_t pause_ns = PAUSE_NS;

    if (quota->renewals >= HOOK_RENEWALS_MOST ||
        !hook_quotas__needs_change(renewal->quotas, method) ||
        (quota->lasted_ns && now_ns - quota->lasted_ns < LASTED_NS))
        return false;
    for (uint32_t i = 0; i < tries; i++)
        pause_ns *= PAUSE_FACTOR;
    return now_ns - quota->since_ns > pause_ns;
}

/* A class that was rewritten just now may have copies on their way that nobody could change. */
static bool may_change(const struct hook_renewal *renewal, const struct numbered_class *class)
{
    uint64_t now_ns = ledger_time__now_ns(renewal->time);

    return (numbered_class__is(class, CLASS_HOOKED) || numbered_class__is(class, CLASS_SEEN)) &&
           !numbered_class__is(class, CLASS_REFUSED) && !numbered_class__is(class, CLASS_KEPT) &&
           now_ns - numbered_class__rewritten_ns(class) > LOADED_NS;
}

static bool is_candidate(const struct hook_renewal *renewal, uint32_t id, uint64_t now_ns)
{
    const struct numbered_method *method =
        is_due(renewal, id, now_ns) ? method_numbers__get(&renewal->hooks->methods, id) : NULL;

    return method && may_change(renewal, method->class);
}

/* The number of a method that samples found; 0: it never had hooks. */
static uint32_t number_of(struct hook_renewal *renewal, const struct java_method *method)
{
    struct method_numbers *numbers = &renewal->hooks->methods;
    struct class_text name = {(const uint8_t *)method->name, (uint32_t)strlen(method->name)};
    struct class_text type = {(const uint8_t *)method->signature,
                              (uint32_t)strlen(method->signature)};
    size_t length = strlen(method->class_name);
    struct numbered_class *class;
    char slashed[NAME_BYTES];

    if (length >= sizeof(slashed))
        return 0;
    memcpy(slashed, method->class_name, length + 1);
    class_name__to_slashes(slashed, length);
    class = method_numbers__find_class(numbers, slashed);
    return class ? method_numbers__find_id(numbers, class, name, type) : 0;
}

/* Of all samples: weights of different times compare. */
static uint32_t weight_ppm(const struct hook_renewal *renewal, uint32_t weight)
{
    uint64_t all = renewal->total_weight ? renewal->total_weight : 1;

    return (uint32_t)((uint64_t)weight * 1000000 / all);
}

/* A visitor of Java methods: half of a weight is what it was before. A silenced method that is
 * heavy needs no change of its class: with a weight it is tried again where there is room. A method
 * that makes more calls than a favoured one may would fall silent again. */
static void weigh(void *context, struct java_method *method)
{
    struct candidates *candidates = context;
    struct hook_renewal *renewal = candidates->renewal;
    uint32_t number;

    method->weight = (candidates->is_new ? 0 : method->weight / 2) + method->coarse;
    method->coarse = 0;
    if (method->weight < candidates->least || candidates->count == HOOK_RENEWAL_MOST)
        return;
    number = number_of(renewal, method);
    if (!number || number >= HOOK_METHODS_MAX)
        return;
    if (hook_quotas__is_muted(renewal->quotas, number))
        renewal->quotas->methods[number].weight = weight_ppm(renewal, method->weight);
    if (is_candidate(renewal, number, candidates->now_ns) &&
        renewal->quotas->methods[number].rate <= renewal->quotas->favoured_rate)
        candidates->all[candidates->count++] = (struct candidate){number, method->weight};
}

static int heaviest_first(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    return a->weight < b->weight ? 1 : a->weight > b->weight ? -1 : 0;
}

/* A method that is heard has its weight as long as it is favoured. */
static void forget_weights(struct hook_renewal *renewal, uint32_t methods)
{
    for (uint32_t i = 1; i <= methods; i++) {
        struct method_quota *quota = &renewal->quotas->methods[i];

        if (quota->weight && hook_quotas__is_muted(renewal->quotas, i))
            quota->weight = 0;
    }
}

/* Half of a count is what it was before. */
static uint64_t count_more(const struct candidates *candidates, uint64_t count, uint64_t *before,
                           uint64_t now)
{
    uint64_t more = now - *before;

    *before = now;
    return (candidates->is_new ? 0 : count / 2) + more;
}

/* Those that coarse samples found most. */
static void find_heavy(struct hook_renewal *renewal, struct candidates *candidates,
                       uint32_t methods)
{
    const struct frame_tallies *tallies = &renewal->sampler->merge.tallies;

    renewal->total_weight =
        count_more(candidates, renewal->total_weight, &renewal->samples, tallies->java_samples);
    renewal->coarse_weight = count_more(candidates, renewal->coarse_weight,
                                        &renewal->coarse_samples, tallies->coarse_samples);
    candidates->least = renewal->total_weight * WEIGHT_PERCENT / 100 + 1;
    forget_weights(renewal, methods);
    java_methods__each(&renewal->sampler->methods, weigh, candidates);
    if (renewal->total_weight < SAMPLES_LEAST ||
        renewal->coarse_weight < renewal->total_weight * COARSE_PERCENT / 100)
        candidates->count = 0;
    candidates->heavy = candidates->count;
    qsort(candidates->all, candidates->count, sizeof(*candidates->all), heaviest_first);
}

/* Whether a postponed method is called at all is not known. */
static unsigned rate_class(const struct hook_renewal *renewal, uint32_t id)
{
    const struct method_quota *quota = &renewal->quotas->methods[id];

    return quota->is_postponed ? HOOK_RATE_CLASSES - 1 : hook_quotas__rate_class(quota->rate);
}

/* Calls of a counted method are known: a change of its class would tell only where they come from.
 */
static bool is_worth_it(const struct candidates *candidates, uint32_t id)
{
    return !hook_quotas__is_counted(candidates->renewal->quotas, id) &&
           is_candidate(candidates->renewal, id, candidates->now_ns);
}

/* And those that were called least when they fell silent, the rarest first, as many as there is
 * room for. */
static void find_rare(struct hook_renewal *renewal, struct candidates *candidates, uint32_t methods)
{
    uint32_t of_class[HOOK_RATE_CLASSES] = {0};

    for (uint32_t i = 1; i <= methods; i++)
        if (is_worth_it(candidates, i))
            of_class[rate_class(renewal, i)]++;
    for (unsigned class = 0; class < HOOK_RATE_CLASSES; class ++)
        for (uint32_t i = 1; of_class[class] && i <= methods; i++) {
            if (candidates->count == HOOK_RENEWAL_MOST)
                return;
            if (is_worth_it(candidates, i) && rate_class(renewal, i) == class)
                candidates->all[candidates->count++] = (struct candidate){.method = i};
        }
}

/* ---- a batch ---- */

struct batch {
    const struct numbered_class *classes[CLASSES_MOST];
    uint32_t class_count;
};

static bool is_in(const struct batch *batch, const struct numbered_class *class)
{
    for (uint32_t i = 0; i < batch->class_count; i++)
        if (batch->classes[i] == class)
            return true;
    return false;
}

/* True if the method is one of these heavy ones. The first `room` of them may be hooked; the others
 * are beyond what there is room for. */
static bool is_heavy(const struct candidates *candidates, uint32_t method, uint32_t from,
                     uint32_t to)
{
    for (uint32_t i = from; i < candidates->heavy && i < to; i++)
        if (candidates->all[i].method == method)
            return true;
    return false;
}

static bool is_beyond(const struct candidates *candidates, uint32_t method)
{
    return is_heavy(candidates, method, candidates->room, candidates->heavy);
}

static bool is_within(const struct candidates *candidates, uint32_t method)
{
    return is_heavy(candidates, method, 0, candidates->room);
}

/* A class is changed as a whole, and its code thrown away: all its methods that are due come with
 * it, but for counted ones, whose calls are known. */
static void add_class(struct hook_renewal *renewal, const struct candidates *candidates,
                      uint32_t methods, const struct numbered_class *class)
{
    for (uint32_t i = 1; i <= methods && renewal->count < HOOK_RENEWAL_MOST; i++) {
        const struct numbered_method *method = method_numbers__get(&renewal->hooks->methods, i);

        if (method && method->class == class && is_due(renewal, i, candidates->now_ns) &&
            !is_beyond(candidates, i) &&
            (!hook_quotas__is_counted(renewal->quotas, i) || is_within(candidates, i)))
            renewal->methods[renewal->count++] = i;
    }
}

static void choose_batch(struct hook_renewal *renewal, const struct candidates *candidates,
                         uint32_t methods, uint32_t classes_most)
{
    struct batch batch = {.class_count = 0};

    renewal->count = 0;
    for (uint32_t i = 0; i < candidates->count && renewal->count < HOOK_RENEWAL_MOST; i++) {
        const struct candidate *one = &candidates->all[i];
        const struct numbered_method *method =
            method_numbers__get(&renewal->hooks->methods, one->method);

        if (is_beyond(candidates, one->method))
            continue;
        if (!is_in(&batch, method->class)) {
            if (batch.class_count == classes_most)
                break;
            batch.classes[batch.class_count++] = method->class;
            add_class(renewal, candidates, methods, method->class);
        }
        /* The rare come after the heavy, and some of these are among them again. */
        if (one->weight) {
            renewal->quotas->methods[one->method].weight = weight_ppm(renewal, one->weight);
            hook_quotas__favour(&renewal->quotas->methods[one->method], true);
        }
    }
    renewal->class_count = batch.class_count;
}

/* If each is called as often as it may be. */
static uint32_t heavy_room(const struct hook_renewal *renewal, double room_ns)
{
    double one_ns = (double)renewal->ledger->header->hook_cost_ps / 1000 * 2 * HOOK_RATE_MOST / 2;
    double room = one_ns > 0 ? room_ns / one_ns : 0;

    return room < 1 ? 1 : room < HOOK_RENEWAL_MOST ? (uint32_t)room : HOOK_RENEWAL_MOST;
}

static bool is_settled(const struct hook_renewal *renewal, uint64_t now_ns)
{
    return renewal->settled_ns && now_ns - renewal->settled_ns >= SETTLED_NS;
}

/* Of the classes with methods that are heavy, or else of those with rare ones, so many may be
 * changed now. For the sake of rare ones nothing is overdrawn. */
static uint32_t affordable_classes(const struct hook_renewal *renewal, double debt_ns, bool heavy)
{
    double classes = (renewal->saved_ns + (heavy ? debt_ns : 0)) / renewal->price_ns;
    uint32_t most = heavy ? CLASSES_HEAVY : CLASSES_MOST;

    return classes < 1 ? 0 : classes < most ? (uint32_t)classes : most;
}

/* Weights are kept up to date even if nothing is to be changed. */
static void renew(struct hook_renewal *renewal, const struct budget_second *second, double debt_ns)
{
    uint64_t now_ns = second->now_ns;
    uint32_t classes = 0;
    uint32_t methods = __atomic_load_n(&renewal->hooks->methods.count, __ATOMIC_ACQUIRE);
    struct candidates *candidates = calloc(1, sizeof(*candidates));

    if (!candidates)
        return;
    methods = methods < HOOK_METHODS_MAX ? methods : HOOK_METHODS_MAX - 1;
    candidates->renewal = renewal;
    candidates->now_ns = now_ns;
    candidates->is_new = renewal->has_changed;
    renewal->has_changed = false;
    find_heavy(renewal, candidates, methods);
    candidates->room = heavy_room(renewal, second->room_ns);
    /* Other methods make room for a heavy one. */
    if (atomic_load(renewal->profiling) && (candidates->heavy || second->room_ns > 0))
        classes = affordable_classes(renewal, debt_ns, candidates->heavy != 0);
    if (classes && !candidates->heavy)
        find_rare(renewal, candidates, methods);
    renewal->count = 0;
    if (classes)
        choose_batch(renewal, candidates, methods, classes);
    renewal->has_heavy = renewal->count && candidates->heavy;
    free(candidates);
    if (!renewal->count) {
        renewal->idle_until_ns = now_ns + (classes ? IDLE_NS : WEIGH_NS);
        return;
    }
    renewal->is_new = true;
    renewal->has_changed = true;
    renewal->recompiled_once = 0;
    wake_thread(renewal);
}

/* ---- what it costs ---- */

static void learn_price(struct hook_renewal *renewal)
{
    uint64_t took_ns = atomic_load(&renewal->took_ns);
    double price_ns = (double)(took_ns - renewal->took_before_ns + renewal->recompiled_once);

    renewal->took_before_ns = took_ns;
    renewal->is_new = false;
    if (!renewal->count || !renewal->class_count)
        return;
    price_ns /= renewal->class_count;
    price_ns = price_ns > PRICE_LEAST_NS ? price_ns : PRICE_LEAST_NS;
    renewal->price_ns = (renewal->price_ns + price_ns) / 2;
    log__line(LOG_DEBUG, "hooks were put back into %u methods of %u classes, at %.2f ms a class",
              renewal->count, renewal->class_count, price_ns / 1e6);
}

/* What the compilers do more than usual after a change is the change's doing, and so is the time
 * that the program spends meanwhile in the interpreter and in C1's code. That it is as much again
 * is a guess: ecj on one processor took some 5 s more in the passes after eight classes were
 * changed, of which the compilers had 2, but in one run only, and passes vary without a change.
 *
 * The compilers work by fits and starts, and a change begins when they rest. So what is usual is a
 * mean of many seconds, and seconds after the change in which they do less count, too: the sum of
 * all is in the account when the last of these seconds is over. */
static void account(struct hook_renewal *renewal, const struct budget_second *second, bool after)
{
    double compilers_ns = (double)second->compilers_ns;

    if (after) {
        renewal->more_ns += compilers_ns - renewal->usual_ns;
        return;
    }
    if (renewal->more_ns > 0) {
        renewal->recompiled_once = (uint64_t)(renewal->more_ns * SLOW_CODE);
        renewal->recompiled_ns += renewal->recompiled_once;
    }
    renewal->more_ns = 0;
    if (renewal->usual_ns == 0)
        renewal->usual_ns = compilers_ns;
    renewal->usual_ns += (compilers_ns - renewal->usual_ns) / USUAL_SECONDS;
}

static void save(struct hook_renewal *renewal, const struct budget_second *second, double budget_ns)
{
    double most_ns = budget_ns * SAVED_SECONDS, debt_ns = budget_ns * DEBT_MOST;

    renewal->saved_ns += second->left_ns;
    renewal->saved_ns = renewal->saved_ns > most_ns ? most_ns : renewal->saved_ns;
    renewal->saved_ns = renewal->saved_ns < -debt_ns ? -debt_ns : renewal->saved_ns;
}

uint64_t hook_renewal__cost_ns(const struct hook_renewal *renewal)
{
    return atomic_load(&renewal->took_ns) + renewal->recompiled_ns;
}

bool hook_renewal__goes_on(const struct hook_renewal *renewal, uint64_t now_ns)
{
    uint64_t changed_ns = atomic_load(&renewal->changed_ns);

    if (atomic_load(&renewal->is_over))
        return false;
    return atomic_load(&renewal->changing) || (changed_ns && now_ns - changed_ns < AFTER_CHANGE_NS);
}

void hook_renewal__look(struct hook_renewal *renewal, const struct budget_second *second)
{
    uint64_t now_ns = second->now_ns;
    bool after = hook_renewal__goes_on(renewal, now_ns);
    double budget_ns = (double)second->cpu_ns * renewal->quotas->overhead_ppm / 1000000;

    account(renewal, second, after);
    if (!after)
        renewal->has_heavy = false;
    if (atomic_load(&renewal->is_over))
        return;
    if (!renewal->quotas->is_settled)
        renewal->settled_ns = 0;
    else if (!renewal->settled_ns)
        renewal->settled_ns = now_ns;
    if (!is_settled(renewal, now_ns)) {
        renewal->saved_ns = 0;
        return;
    }
    save(renewal, second, budget_ns);
    if (after)
        return;
    if (renewal->is_new)
        learn_price(renewal);
    if (now_ns >= renewal->idle_until_ns)
        renew(renewal, second, budget_ns * DEBT_SECONDS);
}
