#include "tools/report/report_inside.h"

#include "tools/report/memory.h"
#include "tools/report/quantity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FALSE_ALARM   1e-6      /* of a whole ledger */
#define SLACK         0.01      /* of a thread's CPU: clocks, and code around hooks */
#define EVENT_COST_PS 10000000u /* of an event that is no hook's: nobody measured it */

struct comparison {
    const struct report_model *model;
    struct report_inside *inside;
    uint64_t *cum_ns; /* by method, of one thread; zero in between */
    uint64_t *calls;
    double doubt; /* the logarithm of how unlikely chance must be */
};

/* Exact CPU of a thread, its samples, and those of its methods. */
struct tallied_thread {
    uint32_t thread;
    const struct report_tally *all;
    const struct report_tally *methods;
    uint32_t method_count;
};

static bool is_exact(const struct report_model *model, uint32_t node)
{
    return model->nodes[node].kind == NODE_EXACT && model->nodes[node].method >= METHOD_FIRST_REAL;
}

static void clear(struct comparison *comparison, const struct report_thread *thread)
{
    for (uint32_t i = thread->first_node; i < thread->end_node; i++) {
        comparison->cum_ns[comparison->model->nodes[i].method] = 0;
        comparison->calls[comparison->model->nodes[i].method] = 0;
    }
}

/* A recursive method's CPU counts once. To be cleared again. How many methods there are. */
static uint32_t sum_up(struct comparison *comparison, const struct report_thread *thread)
{
    const struct report_model *model = comparison->model;
    uint32_t methods = 0;

    for (uint32_t i = thread->first_node; i < thread->end_node; i++) {
        const struct report_node *node = &model->nodes[i];

        if (!is_exact(model, i))
            continue;
        methods += comparison->cum_ns[node->method] == 0 && comparison->calls[node->method] == 0;
        comparison->cum_ns[node->method] += node->level ? 0 : model->cum[COLUMN_CPU][i];
        comparison->calls[node->method] += model->base[COLUMN_CALLS][i];
    }
    return methods;
}

/* Kullback-Leibler divergence of two coins, in nats. */
static double divergence(double q, double p)
{
    double sum = 0;

    if (q > 0)
        sum += q * log(q / p);
    if (q < 1)
        sum += (1 - q) * log((1 - q) / (1 - p));
    return sum;
}

/* May so many samples give the share q if the true one is p? */
static bool is_chance(const struct comparison *comparison, double samples, double q, double p)
{
    return samples * divergence(q, p) <= comparison->doubt;
}

uint64_t report_inside__call_ps(const struct ledger_header *header)
{
    return header->event_mode == LEDGER_EVENTS_JVMTI ? EVENT_COST_PS : 2 * header->hook_cost_ps;
}

/* How much time in a method's frames may not be the method's own: the parts of the hooks outside of
 * their reading of the clock. */
static double around_hooks_ns(const struct comparison *comparison, const struct report_tally *all,
                              uint32_t method)
{
    uint64_t call_ps =
        all->call_ps ? all->call_ps : report_inside__call_ps(&comparison->model->header);

    return (double)call_ps / 1000 * (double)comparison->calls[method];
}

bool report_inside__has_all_frames(const struct ledger_header *header)
{
    return header->starts <= 1 && !header->attached && !header->dropped_enters &&
           !header->unfollowed_mounts;
}

static void compare(struct comparison *comparison, const struct tallied_thread *thread,
                    uint32_t method, const struct report_tally *tally)
{
    const struct report_tally none = {0};
    const struct report_tally *found = tally ? tally : &none;
    const struct report_tally *all = thread->all;
    double whole_ns = (double)comparison->model->threads[thread->thread].cpu_ns;
    double seen_ns = (double)all->seen_ns;
    double samples = seen_ns / (double)all->most_ns;
    double cum_ns = (double)comparison->cum_ns[method];
    double unseen_ns = fmax(0, whole_ns - seen_ns), excess_ns = fmax(0, seen_ns - whole_ns);
    double doubtful_ns = (double)found->doubtful_ns + (double)all->doubtful_ns;
    double sampled_least = (double)found->seen_ns / seen_ns;
    double sampled_most = fmin(1, sampled_least + doubtful_ns / seen_ns);
    double exact_least = (cum_ns - unseen_ns) / seen_ns - SLACK;
    double exact_most =
        (cum_ns + excess_ns + around_hooks_ns(comparison, all, method)) / seen_ns + SLACK;
    bool has_all_frames =
        report_inside__has_all_frames(&comparison->model->header) && !all->lacks_frames;
    enum inside_fault fault = INSIDE_FINE;

    if (comparison->model->methods[method].partly_heard)
        return;
    comparison->inside->compared++;
    if (sampled_most < exact_least &&
        !is_chance(comparison, samples, sampled_most, fmin(exact_least, 1 - SLACK)))
        fault = INSIDE_TOO_MUCH;
    else if (has_all_frames && exact_most < 1 && sampled_least > exact_most &&
             !is_chance(comparison, samples, fmin(1, sampled_least), exact_most))
        fault = INSIDE_TOO_LITTLE;
    if (fault == INSIDE_FINE || comparison->inside->fault != INSIDE_FINE)
        return;
    *comparison->inside = (struct report_inside){.fault = fault,
                                                 .thread = thread->thread,
                                                 .method = method,
                                                 .exact = cum_ns / whole_ns,
                                                 .sampled = sampled_least,
                                                 .samples = all->samples,
                                                 .compared = comparison->inside->compared};
}

/* True if a thread has folded contexts, whose callers are not known. */
static bool has_folded(const struct report_model *model, const struct report_thread *thread)
{
    for (uint32_t i = thread->first_node; i < thread->end_node; i++)
        if (model->nodes[i].kind == NODE_FOLDED)
            return true;
    return false;
}

static void compare_thread(struct comparison *comparison, const struct tallied_thread *tallied)
{
    const struct report_model *model = comparison->model;
    const struct report_thread *thread = &model->threads[tallied->thread];

    if (!tallied->all->seen_ns || !tallied->all->most_ns || !thread->cpu_ns ||
        thread->lost_enters || has_folded(model, thread))
        return;
    (void)sum_up(comparison, thread);
    for (uint32_t i = 0; i < tallied->method_count; i++) {
        compare(comparison, tallied, tallied->methods[i].method, &tallied->methods[i]);
        comparison->cum_ns[tallied->methods[i].method] = 0;
    }
    for (uint32_t i = thread->first_node; i < thread->end_node; i++) {
        uint32_t method = model->nodes[i].method;

        if (is_exact(model, i) && comparison->cum_ns[method]) {
            compare(comparison, tallied, method, NULL);
            comparison->cum_ns[method] = 0;
        }
    }
    clear(comparison, thread);
}

/* The next thread's tallies from *at on, which moves behind them. */
static struct tallied_thread next_thread(const struct report_model *model, uint32_t *at)
{
    uint32_t first = *at;
    struct tallied_thread tallied = {.thread = model->tallies[first].thread};

    while (*at < model->tally_count && model->tallies[*at].thread == tallied.thread)
        ++*at;
    if (model->tallies[first].method == METHOD_OF_THREAD)
        tallied.all = &model->tallies[first++];
    tallied.methods = &model->tallies[first];
    tallied.method_count = *at - first;
    return tallied;
}

static void compare_shares(const struct report_model *model, struct report_inside *inside)
{
    struct comparison comparison = {.model = model, .inside = inside};

    comparison.cum_ns = memory__zeroed(model->method_count, sizeof(*comparison.cum_ns));
    comparison.calls = memory__zeroed(model->method_count, sizeof(*comparison.calls));
    double count = 1;
    for (uint32_t at = 0; at < model->tally_count;) {
        struct tallied_thread tallied = next_thread(model, &at);
        const struct report_thread *thread = &model->threads[tallied.thread];

        count += 2.0 * (tallied.method_count + sum_up(&comparison, thread));
        clear(&comparison, thread);
    }
    comparison.doubt = log(count / FALSE_ALARM);
    for (uint32_t at = 0; at < model->tally_count;) {
        struct tallied_thread tallied = next_thread(model, &at);

        if (tallied.all)
            compare_thread(&comparison, &tallied);
    }
    free(comparison.cum_ns);
    free(comparison.calls);
}

static bool has_called(const struct report_model *model, uint32_t node)
{
    for (uint32_t i = node + 1; i < model->nodes[node].end; i = model->nodes[i].end)
        if (is_exact(model, i) && model->base[COLUMN_CALLS][i])
            return true;
    return false;
}

/* Frames that stood when events began have no calls; nor need those where a lost event or a sample
 * put a thread right. */
static bool tells_calls(const struct report_model *model, const struct report_thread *thread)
{
    const struct ledger_header *header = &model->header;

    return !(thread->flags & (THREAD_SEEDED | THREAD_GROUP)) && !header->positions_corrected &&
           !header->dropped_enters && !header->resynchronised && !header->unfollowed_mounts &&
           !model->skipped && !model->missing_bytes && model->life != LEDGER_IS_LIVE;
}

static void check_tree(const struct report_model *model, uint32_t index,
                       struct report_inside *inside)
{
    const struct report_thread *thread = &model->threads[index];
    bool tells = tells_calls(model, thread);

    for (uint32_t i = thread->first_node; i < thread->end_node; i++) {
        uint32_t method = model->nodes[i].method;
        bool called = model->base[COLUMN_CALLS][i] != 0;
        enum inside_fault fault = INSIDE_FINE;

        if (!is_exact(model, i) || model->methods[method].partly_heard)
            continue;
        if (model->methods[method].flags & (METHOD_EXCLUDED | METHOD_SYMBOL))
            fault = INSIDE_NO_HOOK;
        else if (!called && tells)
            fault = has_called(model, i)             ? INSIDE_NO_HOOK
                    : model->base[COLUMN_CPU][i] > 0 ? INSIDE_NO_CALL
                                                     : INSIDE_FINE;
        if (fault == INSIDE_FINE)
            continue;
        *inside = (struct report_inside){.fault = fault,
                                         .thread = index,
                                         .method = method,
                                         .ns = model->cum[COLUMN_CPU][i],
                                         .compared = inside->compared};
        return;
    }
    if (thread->kind == THREAD_PLATFORM && thread->left_cpu_ns &&
        thread->cpu_ns > thread->left_cpu_ns && !(thread->flags & THREAD_GROUP))
        *inside = (struct report_inside){.fault = INSIDE_AFTER_END,
                                         .thread = index,
                                         .ns = thread->cpu_ns - thread->left_cpu_ns,
                                         .compared = inside->compared};
}

struct report_inside report_inside__of(const struct report_model *model)
{
    struct report_inside inside = {.fault = INSIDE_FINE};

    compare_shares(model, &inside);
    for (uint32_t i = 0; i < model->thread_count && inside.fault == INSIDE_FINE; i++)
        if (model->threads[i].kind <= THREAD_CARRIER)
            check_tree(model, i, &inside);
    return inside;
}

void report_inside__text(const struct report_model *model, const struct report_inside *inside,
                         char *text, size_t bytes)
{
    const struct report_method *method = &model->methods[inside->method];
    const char *thread = model->threads[inside->thread].name.bytes;
    const char *dot = method->class_name.length ? "." : "";
    struct quantity cpu = quantity__ns(inside->ns);
    int used = snprintf(text, bytes, "thread '%s': ", thread);
    size_t at = used < 0 ? 0 : (size_t)used < bytes ? (size_t)used : bytes - 1;

    if (inside->fault != INSIDE_AFTER_END) {
        used = snprintf(text + at, bytes - at, "%s%s%s has ", method->class_name.bytes, dot,
                        method->name.bytes);
        at += used < 0 ? 0 : (size_t)used < bytes - at ? (size_t)used : bytes - at - 1;
    }
    switch (inside->fault) {
    case INSIDE_FINE:
        break;
    case INSIDE_TOO_MUCH:
    case INSIDE_TOO_LITTLE:
        (void)snprintf(
            text + at, bytes - at,
            "%.2f %% of its CPU, but was on the stack for %.2f %% of that of its %" PRIu64
            " samples: more than chance",
            100 * inside->exact, 100 * inside->sampled, inside->samples);
        break;
    case INSIDE_NO_CALL:
        (void)snprintf(text + at, bytes - at, "%s of CPU, but no call", cpu.text);
        break;
    case INSIDE_NO_HOOK:
        (void)snprintf(text + at, bytes - at, "calls below it, but no call or no hook of its own");
        break;
    case INSIDE_AFTER_END:
        (void)snprintf(text + at, bytes - at,
                       "%s of CPU more in its tree than its kernel thread charged to it", cpu.text);
        break;
    }
}
