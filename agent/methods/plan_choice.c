#include "agent/methods/plan_choice.h"

#include "native/cost/cost_model.h"
#include "native/thread/unprofiled.h"

#include <errno.h>
#include <stdlib.h>

#define SHORT_NS 1000000u /* in the mean: calls that are short enough to tell something */
#define NS_PER_S 1e9
#define CALL_PS  20000u /* the hooks of a call, if the earlier run had none (events=jvmti) */

/* Of the budget; the rest is for samples, the profiler's threads, and what the model leaves out:
 * with 75 % for methods with few calls alone ecj took 1.16 times the CPU [1.08 1.19]. */
#define ROOM_PERCENT 60u

/* What the hooks of a method cost of which the earlier run heard no call: its class is rewritten
 * for it. In groovy 8,300 methods took 40 ms more than the look at their classes. */
#define IDLE_NS 5000u

/* Hooks of a method that the earlier run silenced are to tell so many times what they cost: its
 * calls are an estimate. */
#define TELLING 10u

#define PROGRAM_PART 10u /* real programs took up to 8 times the CPU with every call recorded */

#define ADDED UINT32_MAX

struct method_totals {
    uint64_t calls;
    uint64_t counted;
    uint64_t cum_ns; /* of its frames without another frame of it above; of a silenced method of its
                        samples */
    uint64_t resolved_ns;
    uint32_t rate; /* of a silenced method: calls a second */
    uint32_t code_hash;
    bool is_silenced;
    bool knows_calls; /* though silenced: the others were counted */
};

/* Of a node and its ancestors. */
enum cover {
    COVER_UNKNOWN,
    COVER_ASKED,
    COVER_NONE,
    COVER_SHORT, /* a method with short calls is among them */
};

/* By reference of a node or a method. */
struct call_totals {
    const struct ledger_reader *reader;
    ledger_ref last_node;
    ledger_ref last_method;
    uint64_t *cum_ns;   /* of nodes */
    uint32_t *children; /* of nodes: how many are not added yet, or ADDED */
    uint8_t *cover;     /* of nodes: enum cover */
    struct method_totals *methods;
};

static ledger_ref last_of(const struct ledger_reader *reader, enum ledger_table table)
{
    ledger_ref ref = 0, last = 0;

    while ((ref = ledger_reader__next(reader, table, ref)) != 0)
        last = ref > last ? ref : last;
    return last;
}

static const struct ledger_node *node_at(const struct call_totals *totals, ledger_ref ref)
{
    return ref && ref <= totals->last_node ? ledger_reader__node(totals->reader, ref) : NULL;
}

/* The parent that the node's time is added to; or NULL. The time of an exact node contains that of
 * the samples below it already. */
static const struct ledger_node *summed_parent(const struct call_totals *totals,
                                               const struct ledger_node *node)
{
    const struct ledger_node *parent = node_at(totals, node->parent);

    return parent && ledger_node__is_sampled(parent) == ledger_node__is_sampled(node) ? parent
                                                                                      : NULL;
}

/* Adds a node without children to its parent, and so on upwards. Nodes on a cycle, in a damaged
 * ledger, always have a child that is not added, and are never reached. */
static void add_upwards(struct call_totals *totals, ledger_ref ref)
{
    const struct ledger_node *node;

    while ((node = node_at(totals, ref)) && totals->children[ref] == 0) {
        totals->children[ref] = ADDED;
        if (!summed_parent(totals, node))
            return;
        totals->cum_ns[node->parent] += totals->cum_ns[ref];
        totals->children[node->parent]--;
        ref = node->parent;
    }
}

static void add_up(struct call_totals *totals)
{
    const struct ledger_node *node;
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(totals->reader, LEDGER_NODES, ref)) != 0) {
        if (!(node = node_at(totals, ref)))
            continue;
        totals->cum_ns[ref] += ledger_node__is_sampled(node) ? node->seen_ns : node->cpu_ns;
        if (summed_parent(totals, node))
            totals->children[node->parent]++;
    }
    while ((ref = ledger_reader__next(totals->reader, LEDGER_NODES, ref)) != 0)
        add_upwards(totals, ref);
}

/* The method of an exact node, or the silenced method of a sampled node; or NULL. */
static struct method_totals *method_of(const struct call_totals *totals,
                                       const struct ledger_node *node)
{
    struct method_totals *method =
        node->method && node->method <= totals->last_method ? &totals->methods[node->method] : NULL;

    if (ledger_node__kind(node) == NODE_SAMPLED)
        return method && method->is_silenced && !ledger_node__is_self(node) ? method : NULL;
    return ledger_node__kind(node) == NODE_EXACT && !ledger_key__is_logical(node->key) ? method
                                                                                       : NULL;
}

static bool is_short(const struct method_totals *method)
{
    return method && method->calls && method->cum_ns / method->calls < SHORT_NS;
}

/* Whether the node or an ancestor has short calls. Each node is asked once; those on a cycle have
 * none. */
static enum cover cover_of(struct call_totals *totals, ledger_ref ref)
{
    const struct ledger_node *node;
    enum cover cover = COVER_NONE;
    ledger_ref at = ref;

    while (cover == COVER_NONE && (node = node_at(totals, at)) && !totals->cover[at]) {
        totals->cover[at] = COVER_ASKED;
        if (is_short(method_of(totals, node)))
            cover = COVER_SHORT;
        else
            at = node->parent;
    }
    if (node_at(totals, at) && totals->cover[at] == COVER_SHORT)
        cover = COVER_SHORT;
    for (at = ref; (node = node_at(totals, at)) && totals->cover[at] == COVER_ASKED;
         at = node->parent)
        totals->cover[at] = (uint8_t)cover;
    return cover;
}

/* What short calls from long ones take. */
static void resolve(struct call_totals *totals)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(totals->reader, LEDGER_NODES, ref)) != 0) {
        const struct ledger_node *node = node_at(totals, ref);
        struct method_totals *method = node ? method_of(totals, node) : NULL;

        if (node && is_short(method) && cover_of(totals, node->parent) != COVER_SHORT)
            method->resolved_ns += totals->cum_ns[ref];
    }
}

/* True if its calls were counted when they were not recorded, from its first hooks to the end. */
static bool was_counted(const struct ledger_hooking *hooking, uint64_t asof_ns)
{
    uint64_t known_ns =
        hooking->heard_ns + hooking->counted_ns + unprofiled__less(asof_ns, hooking->since_ns);

    return ledger_hooking__is_counting(hooking) && hooking->from_ns &&
           known_ns >= unprofiled__less(asof_ns, hooking->from_ns);
}

static void find_silenced(struct call_totals *totals)
{
    const struct ledger_header *header = ledger_reader__header(totals->reader);
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(totals->reader, LEDGER_HOOKINGS, ref)) != 0) {
        const struct ledger_hooking *hooking = ledger_reader__hooking(totals->reader, ref);
        struct method_totals *method;

        if (!hooking || !plan_choice__is_silenced(hooking) || hooking->method > totals->last_method)
            continue;
        method = &totals->methods[hooking->method];
        method->knows_calls =
            (!method->is_silenced || method->knows_calls) && was_counted(hooking, header->asof_ns);
        method->counted += ledger_hooking__counted(hooking);
        method->is_silenced = true;
        method->rate = hooking->rate > method->rate ? hooking->rate : method->rate;
        method->code_hash = hooking->code_hash;
    }
}

/* Of silenced methods the ledger has how often they were called before, if their calls were not
 * counted, and how much time the samples saw in their calls. */
static void estimate_silenced(struct call_totals *totals)
{
    const struct ledger_header *header = ledger_reader__header(totals->reader);
    uint64_t ns = unprofiled__less(header->asof_ns, header->unprofiled_wall_ns);
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(totals->reader, LEDGER_TALLIES, ref)) != 0) {
        const struct ledger_tally *tally = ledger_reader__tally(totals->reader, ref);
        struct method_totals *method =
            tally && tally->method && tally->method <= totals->last_method
                ? &totals->methods[tally->method]
                : NULL;

        if (!method || !method->is_silenced)
            continue;
        method->cum_ns += tally->seen_ns;
        if (!method->knows_calls)
            method->calls = (uint64_t)((double)method->rate * (double)ns / NS_PER_S);
    }
}

/* No other frame of the method is above the node's first frame. A node's level itself may be that
 * of deeper frames, which recursion=N adds to the node. */
static bool is_outermost(const struct ledger_header *header, const struct ledger_node *node)
{
    return (header->recursion ? ledger_node__path_level(node) : ledger_node__level(node)) == 0;
}

static void add_methods(struct call_totals *totals)
{
    const struct ledger_header *header = ledger_reader__header(totals->reader);
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(totals->reader, LEDGER_NODES, ref)) != 0) {
        const struct ledger_node *node = node_at(totals, ref);
        struct method_totals *method = node ? method_of(totals, node) : NULL;

        if (!method || (method->is_silenced && !method->knows_calls))
            continue;
        method->calls += node->calls;
        if (!method->is_silenced && is_outermost(header, node))
            method->cum_ns += totals->cum_ns[ref];
    }
    for (ref = 1; ref <= totals->last_method; ref++)
        if (totals->methods[ref].knows_calls)
            totals->methods[ref].calls += totals->methods[ref].counted;
    estimate_silenced(totals);
    resolve(totals);
}

static uint64_t cost_ns(const struct ledger_header *header, uint64_t calls)
{
    struct cost_facts facts = {
        .survey = {.calls = calls,
                   .cold_calls = calls < COST_COLD_CALLS ? calls : COST_COLD_CALLS,
                   .methods = 1,
                   .hot_methods = calls >= COST_HOT_CALLS},
        .call_ps = header->hook_cost_ps ? header->hook_cost_ps : CALL_PS,
        .compilers_ns = UINT64_MAX / 100,
    };
    struct ledger_own_cost cost = cost_model__of(&facts);

    return ledger_own_cost__sum(&cost);
}

/* False: there is no memory. */
static bool list_methods(const struct call_totals *totals, struct plan_choice *choice)
{
    const struct ledger_header *header = ledger_reader__header(totals->reader);
    size_t room = 1;
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(totals->reader, LEDGER_METHODS, ref)) != 0)
        room++;
    choice->methods = calloc(room, sizeof(*choice->methods));
    if (!choice->methods)
        return false;
    while ((ref = ledger_reader__next(totals->reader, LEDGER_METHODS, ref)) != 0) {
        const struct method_totals *method = &totals->methods[ref];
        struct chosen_method candidate = {.method = ref,
                                          .calls = method->calls,
                                          .cost_ns = cost_ns(header, method->calls),
                                          .cum_ns = method->cum_ns,
                                          .resolved_ns = method->resolved_ns,
                                          .code_hash = method->code_hash,
                                          .is_estimate =
                                              method->is_silenced && !method->knows_calls};

        if (method->calls &&
            (!candidate.is_estimate || method->resolved_ns / TELLING > candidate.cost_ns))
            choice->methods[choice->count++] = candidate;
    }
    return true;
}

/* The most CPU time for the price first. */
static int compare_worth(const void *a, const void *b)
{
    const struct chosen_method *left = a, *right = b;
    double difference = (double)right->resolved_ns / (double)(right->cost_ns + 1) -
                        (double)left->resolved_ns / (double)(left->cost_ns + 1);

    return difference > 0 ? 1 : difference < 0 ? -1 : 0;
}

/* Costs that differ by less than a factor of two are about the same. */
static int cost_class(const struct chosen_method *method)
{
    return 64 - __builtin_clzll(method->cost_ns | 1);
}

static int compare_costs(const void *a, const void *b)
{
    const struct chosen_method *left = a, *right = b;
    int difference = cost_class(left) - cost_class(right);

    if (difference)
        return difference;
    return left->cum_ns < right->cum_ns ? 1 : left->cum_ns > right->cum_ns ? -1 : 0;
}

/* Hooks methods in their order as far as the room bears. What room is left. */
static uint64_t hook(struct plan_choice *choice, uint64_t room_ns, bool resolving_only)
{
    for (size_t i = 0; i < choice->count; i++) {
        struct chosen_method *method = &choice->methods[i];

        if (method->is_hooked || method->cost_ns > room_ns ||
            (resolving_only && !method->resolved_ns))
            continue;
        method->is_hooked = true;
        room_ns -= method->cost_ns;
    }
    return room_ns;
}

/* What the program would take without hooks: the account of what hooks cost is not exact, and may
 * be more than all. */
static uint64_t program_ns(const struct ledger_header *header)
{
    uint64_t all_ns = unprofiled__less(header->process_cpu_ns, header->unprofiled_cpu_ns);
    uint64_t program_ns = unprofiled__less(all_ns, ledger_own_cost__sum(&header->own_cost));

    return program_ns > all_ns / PROGRAM_PART ? program_ns : all_ns / PROGRAM_PART;
}

static void choose(const struct ledger_header *header, uint32_t overhead_ppm,
                   struct plan_choice *choice)
{
    uint64_t room_ns = program_ns(header) / 1000000 * overhead_ppm / 100 * ROOM_PERCENT;
    uint64_t idle = unprofiled__less(header->hooked_methods, choice->count);

    qsort(choice->methods, choice->count, sizeof(*choice->methods), compare_worth);
    room_ns = room_ns / 2 + hook(choice, room_ns / 2, true);
    qsort(choice->methods, choice->count, sizeof(*choice->methods), compare_costs);
    room_ns = hook(choice, room_ns, false);
    choice->is_short = room_ns < idle * IDLE_NS + header->postponed_methods * COST_HOOKS_NS;
}

/* 0 or -ENOMEM. */
static int begin_totals(struct call_totals *totals)
{
    size_t nodes = (size_t)totals->last_node + 1;

    totals->cum_ns = calloc(nodes, sizeof(*totals->cum_ns));
    totals->children = calloc(nodes, sizeof(*totals->children));
    totals->cover = calloc(nodes, sizeof(*totals->cover));
    totals->methods = calloc((size_t)totals->last_method + 1, sizeof(*totals->methods));
    return totals->cum_ns && totals->children && totals->cover && totals->methods ? 0 : -ENOMEM;
}

static void end_totals(struct call_totals *totals)
{
    free(totals->cum_ns);
    free(totals->children);
    free(totals->cover);
    free(totals->methods);
}

int plan_choice__make(const struct ledger_reader *reader, uint32_t overhead_ppm,
                      struct plan_choice *choice)
{
    struct call_totals totals = {.reader = reader,
                                 .last_node = last_of(reader, LEDGER_NODES),
                                 .last_method = last_of(reader, LEDGER_METHODS)};
    int error = begin_totals(&totals);

    *choice = (struct plan_choice){0};
    if (!error) {
        add_up(&totals);
        find_silenced(&totals);
        add_methods(&totals);
        error = list_methods(&totals, choice) ? 0 : -ENOMEM;
    }
    if (!error)
        choose(ledger_reader__header(reader), overhead_ppm, choice);
    end_totals(&totals);
    return error;
}
