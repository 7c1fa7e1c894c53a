#include "native/thread/thread_fold.h"

#include "native/tree/folded_calls.h"
#include "native/tree/sample_tree.h"

#include <stdlib.h>
#include <string.h>

/* A walk over a tree, and over the nodes of another that its nodes are added to. */
struct walk {
    struct call_tree *tree;
    struct ledger_thread *group;
    ledger_ref root;
    ledger_ref from;
    ledger_ref to;
    ledger_ref folded; /* the node from which on there is no room for counterparts, or none */
    ledger_ref above;  /* the counterpart of its parent */
};

static struct ledger_thread *thread_at(const struct call_tree *tree, ledger_ref ref)
{
    return ledger__at(tree->ledger, ref);
}

static size_t fold_digits(const struct ledger_string *name, char folded[FOLD_NAME_BYTES])
{
    size_t length = 0;

    for (uint32_t i = 0; i < name->length && length < FOLD_NAME_BYTES; i++) {
        bool digit = name->bytes[i] >= '0' && name->bytes[i] <= '9';

        if (!digit)
            folded[length++] = name->bytes[i];
        else if (length == 0 || folded[length - 1] != '#')
            folded[length++] = '#';
    }
    return length;
}

/* FNV-1a [G. Fowler, L. C. Noll, K.-P. Vo]. */
static uint64_t hash_of(const char *bytes, size_t length, uint32_t kind)
{
    uint64_t hash = 14695981039346656037u ^ kind;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

/* What threads like this one are called together. */
static size_t group_name(const struct call_tree *tree, const struct ledger_thread *member,
                         char name[FOLD_NAME_BYTES])
{
    const struct ledger_string *given = ledger__at(tree->ledger, member->group_name);
    size_t length;

    if (!member->group_name)
        return fold_digits(ledger__at(tree->ledger, member->name), name);
    length = given->length < FOLD_NAME_BYTES ? given->length : FOLD_NAME_BYTES;
    memcpy(name, ledger_string__bytes(given), length);
    return length;
}

/* The first of its kind becomes the group, where it is: one that has no like keeps its row as it
 * was, and those that it started keep their parent. */
static bool become_group(struct call_tree *tree, struct ledger_thread *thread, const char *name,
                         size_t length)
{
    ledger_ref own_name = thread->name;
    const struct ledger_string *own = ledger__at(tree->ledger, own_name);
    ledger_ref shared;

    if (own->length != length || memcmp(ledger_string__bytes(own), name, length) != 0) {
        shared = ledger__string(tree->ledger, name, length);
        if (!shared)
            return false;
        __atomic_store_n(&thread->name, shared, __ATOMIC_RELEASE);
        record_pool__give_string(&tree->pool, own_name);
    }
    thread->current = thread->root;
    thread->members = 1;
    thread->left_cpu_ns = 0;
    __atomic_store_n(&thread->flags, thread->flags | THREAD_GROUP, __ATOMIC_RELEASE);
    return true;
}

static const struct fold_group *known_group(const struct thread_folder *folder, uint64_t hash)
{
    for (uint32_t i = 0; i < folder->group_count; i++)
        if (folder->groups[i].hash == hash)
            return &folder->groups[i];
    return NULL;
}

/* Platform, virtual and carrier threads: each has a group for all names that there is no group of.
 */
#define KINDS_OF_OTHERS 3u

/* The group of a thread, which may be the thread itself from here on. */
static ledger_ref find_group(struct thread_folder *folder, struct call_tree *tree, ledger_ref ref)
{
    static const char others[] = "(threads of other names)";
    struct ledger_thread *member = thread_at(tree, ref);
    char name[FOLD_NAME_BYTES];
    size_t length = group_name(tree, member, name);
    uint64_t hash = hash_of(name, length, member->kind);
    const struct fold_group *group = known_group(folder, hash);

    if (!group && folder->group_count >= FOLD_GROUPS - KINDS_OF_OTHERS) {
        length = sizeof(others) - 1;
        memcpy(name, others, length);
        hash = hash_of(name, length, member->kind);
        group = known_group(folder, hash);
    }
    if (group)
        return group->thread;
    if (folder->group_count == FOLD_GROUPS || !become_group(tree, member, name, length))
        return 0;
    folder->groups[folder->group_count++] = (struct fold_group){hash, ref};
    return ref;
}

/* The child of `to` that a node is added to. None: there is no room. */
static ledger_ref counterpart(struct call_tree *tree, struct ledger_thread *group, ledger_ref to,
                              const struct ledger_node *node)
{
    ledger_ref child = call_tree__node(tree, to)->first_child;
    uint32_t kind = ledger_node__kind(node);

    if (node->method)
        return call_tree__child(tree, to, node->method, node->key);
    if (kind == NODE_FOLDED && to == group->root)
        return folded_calls__top(tree, group);
    while (child && ledger_node__kind(call_tree__node(tree, child)) != kind)
        child = call_tree__node(tree, child)->next_sibling;
    if (child)
        return child;
    return call_tree__add_plain_node(tree, to, (enum ledger_node_kind)kind);
}

/* Where there is no room for counterparts a node is added to that of its method below `(folded)`.
 */
static ledger_ref folded_counterpart(const struct walk *walk, const struct ledger_node *node)
{
    return node->method ? folded_calls__node(walk->tree, walk->group, node->method, node->key)
                        : walk->group->root;
}

static void step_up(struct walk *walk)
{
    if (walk->from == walk->folded) {
        walk->to = walk->above;
        walk->folded = 0;
    } else if (!walk->folded) {
        walk->to = call_tree__node(walk->tree, walk->to)->parent;
    }
    walk->from = call_tree__node(walk->tree, walk->from)->parent;
}

static void step_to(struct walk *walk, ledger_ref next)
{
    const struct ledger_node *node = call_tree__node(walk->tree, next);
    ledger_ref to = walk->folded ? 0 : counterpart(walk->tree, walk->group, walk->to, node);

    walk->from = next;
    if (!to && !walk->folded) {
        walk->folded = next;
        walk->above = walk->to;
    }
    walk->to = to ? to : folded_counterpart(walk, node);
}

/* To the next node in the order root, children, siblings. False: at the end, or there is no room
 * for it at all, which walk->from then tells. */
static bool step(struct walk *walk)
{
    ledger_ref next = call_tree__node(walk->tree, walk->from)->first_child;

    while (!next && walk->from != walk->root) {
        next = call_tree__node(walk->tree, walk->from)->next_sibling;
        step_up(walk);
    }
    if (!next) {
        walk->from = 0;
        return false;
    }
    step_to(walk, next);
    return walk->to != 0;
}

static void add(uint64_t *counter, uint64_t more)
{
    __atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

/* False: no room for a side record; nothing of it was added. */
static bool add_side(struct call_tree *tree, struct ledger_node *to, ledger_ref from)
{
    const struct ledger_side *side = ledger__at(tree->ledger, from);
    ledger_ref ref = to->side;
    struct ledger_side *into;

    if (!from)
        return true;
    if (!ref) {
        tree->pool.takes_reserved = RESERVE_ALL;
        ref = record_pool__side(&tree->pool);
        tree->pool.takes_reserved = RESERVE_NONE;
        if (!ref)
            return false;
        into = ledger__at(tree->ledger, ref);
        into->node = ledger__ref(tree->ledger, to);
        __atomic_store_n(&to->side, ref, __ATOMIC_RELEASE);
    }
    into = ledger__at(tree->ledger, ref);
    for (unsigned metric = 0; metric < LEDGER_METRIC_SLOTS; metric++)
        add(&into->value[metric], side->value[metric]);
    return true;
}

static void add_node(struct call_tree *tree, ledger_ref from, ledger_ref to)
{
    const struct ledger_node *node = call_tree__node(tree, from);
    struct ledger_node *into = call_tree__node(tree, to);

    add(&into->calls, node->calls);
    add(&into->cpu_ns, node->cpu_ns);
    add(&into->wait_ns, node->wait_ns);
    if (tree->ledger->header->recursion)
        ledger_node__raise_level(into, ledger_node__level(node));
    sample_tree__add_all(&tree->pool, from, to);
    if (!add_side(tree, into, node->side))
        ledger__count(&tree->ledger->header->dropped_side_values, 1);
    ledger__touch(tree->ledger, into);
}

static bool is_below_folded(const struct call_tree *tree, const struct ledger_node *node)
{
    return node->parent && ledger_node__kind(call_tree__node(tree, node->parent)) == NODE_FOLDED;
}

static void add_contexts(struct ledger_node *folded, uint32_t more)
{
    uint32_t sum = folded->contexts + more;

    __atomic_store_n(&folded->contexts, sum < more ? UINT32_MAX : sum, __ATOMIC_RELAXED);
}

/* How many contexts lose their nodes with this one. */
static void count_contexts(const struct walk *walk)
{
    const struct ledger_node *node = call_tree__node(walk->tree, walk->from);
    struct ledger_node *top = call_tree__node(walk->tree, walk->group->folded);

    if (!walk->group->folded)
        return;
    if (ledger_node__kind(node) == NODE_FOLDED)
        add_contexts(walk->folded ? top : call_tree__node(walk->tree, walk->to), node->contexts);
    else if (walk->folded && !is_below_folded(walk->tree, node))
        add_contexts(top, 1);
    if (walk->folded)
        add(&walk->group->unplaced_calls, node->calls);
}

static struct walk begin_walk(struct call_tree *tree, const struct ledger_thread *member,
                              struct ledger_thread *group)
{
    return (struct walk){.tree = tree,
                         .group = group,
                         .root = member->root,
                         .from = member->root,
                         .to = group->root};
}

static bool has_room(struct call_tree *tree, const struct ledger_thread *member,
                     struct ledger_thread *group)
{
    struct walk walk = begin_walk(tree, member, group);

    while (step(&walk))
        ;
    return walk.from == 0;
}

static void add_tree(struct call_tree *tree, const struct ledger_thread *member,
                     struct ledger_thread *group)
{
    struct walk walk = begin_walk(tree, member, group);

    do {
        add_node(tree, walk.from, walk.to);
        count_contexts(&walk);
    } while (step(&walk));
}

/* Leaves first. */
static void free_tree(struct call_tree *tree, ledger_ref root)
{
    ledger_ref ref = root;

    for (;;) {
        struct ledger_node *node = call_tree__node(tree, ref);
        ledger_ref next = node->next_sibling, parent = node->parent;

        if (node->first_child) {
            ref = node->first_child;
            continue;
        }
        sample_tree__free_all(&tree->pool, ref);
        record_pool__give_side(&tree->pool, node->side);
        record_pool__give_node(&tree->pool, ref);
        if (ref == root)
            return;
        call_tree__node(tree, parent)->first_child = next;
        ref = parent;
    }
}

static void add_facts(struct ledger_thread *group, const struct ledger_thread *member)
{
    add(&group->members, member->flags & THREAD_GROUP ? member->members : 1);
    add(&group->mounts, member->mounts);
    add(&group->pinned, member->pinned);
    add(&group->parked_ns, member->parked_ns);
    add(&group->lost_enters, member->lost_enters);
    add(&group->folded_bound_ns, member->folded_bound_ns);
    add(&group->foldings, member->foldings);
    add(&group->unplaced_calls, member->unplaced_calls);
    add(&group->samples, member->samples);
    add(&group->merged_samples, member->merged_samples);
    add(&group->lost_samples, member->lost_samples);
    add(&group->seen_wall_ns, member->seen_wall_ns);
    add(&group->moded_cpu_ns, member->moded_cpu_ns);
    add(&group->moded_system_ns, member->moded_system_ns);
    for (unsigned metric = 0; metric < LEDGER_METRIC_SLOTS; metric++)
        add(&group->totals[metric], member->totals[metric]);
    if (member->start_ns < group->start_ns)
        group->start_ns = member->start_ns;
    if (member->end_ns > group->end_ns)
        group->end_ns = member->end_ns;
    if (group->parent_id != member->parent_id)
        group->parent = 0;
}

static void free_thread(struct call_tree *tree, ledger_ref ref)
{
    const struct ledger_thread *thread = thread_at(tree, ref);

    free_tree(tree, thread->root);
    if (!(thread->flags & THREAD_GROUP))
        record_pool__give_string(&tree->pool, thread->name);
    record_pool__give_thread(&tree->pool, ref);
}

/* Both must be whole. Copies are made before or after, see ledger__begin_folding. False: there is
 * no room, or one is being made. */
static bool move(struct call_tree *tree, ledger_ref from, ledger_ref to)
{
    struct ledger_thread *member = thread_at(tree, from);
    struct ledger_thread *group = thread_at(tree, to);

    if (!has_room(tree, member, group) || !ledger__begin_folding(tree->ledger))
        return false;
    __atomic_store_n(&member->kind, 0, __ATOMIC_RELEASE);
    add_tree(tree, member, group);
    add_facts(group, member);
    free_thread(tree, from);
    ledger__end_folding(tree->ledger);
    return true;
}

static bool may_be_kept(const struct ledger *ledger)
{
    struct ledger_header *header = ledger->header;

    if (header->fold_none)
        return true;
    if (ledger__uses_part(ledger, KEPT_PART) ||
        __atomic_load_n(&header->kept_threads, __ATOMIC_RELAXED) >= THREADS_KEPT)
        return false;
    return __atomic_fetch_add(&header->kept_threads, 1, __ATOMIC_RELAXED) < THREADS_KEPT;
}

static bool awaits_samples(const struct ledger_thread *thread)
{
    return __atomic_load_n(&thread->merged_samples, __ATOMIC_ACQUIRE) != thread->samples;
}

static void count_folded(struct ledger_header *header, uint64_t end_ns)
{
    uint64_t none = 0;

    if (!__atomic_load_n(&header->folded_since_ns, __ATOMIC_RELAXED))
        (void)__atomic_compare_exchange_n(&header->folded_since_ns, &none, end_ns, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    ledger__count(&header->folded_threads, 1);
}

/* None: samples are on their way still, or there is no room. */
static ledger_ref fold(struct thread_folder *folder, struct call_tree *tree, ledger_ref thread)
{
    uint64_t end_ns = thread_at(tree, thread)->end_ns;
    ledger_ref group;

    folded_calls__forget(&tree->pool, thread_at(tree, thread));
    group = awaits_samples(thread_at(tree, thread)) ? 0 : find_group(folder, tree, thread);

    if (!group || (group != thread && !move(tree, thread, group)))
        return 0;
    count_folded(tree->ledger->header, end_ns);
    return group;
}

static void push_ended(const struct call_tree *tree, _Atomic(ledger_ref) *list, ledger_ref ref)
{
    ledger_ref head = atomic_load(list);

    do
        thread_at(tree, ref)->next_ended = head;
    while (!atomic_compare_exchange_weak(list, &head, ref));
}

static void hand_over_last(struct thread_folder *folder, const struct call_tree *tree)
{
    struct ledger_ended_threads *ended = &tree->ledger->ended;

    if (folder->last)
        push_ended(tree, folder->last_is_kept ? &ended->kept : &ended->waiting, folder->last);
    folder->last = 0;
}

ledger_ref thread_fold__fold(struct thread_folder *folder, struct call_tree *tree,
                             ledger_ref thread)
{
    bool kept = may_be_kept(tree->ledger);
    ledger_ref group = kept ? 0 : fold(folder, tree, thread);

    hand_over_last(folder, tree);
    if (!group) {
        folder->last = thread;
        folder->last_is_kept = kept;
    }
    return group;
}

/* Those that cannot be folded wait. How many were. */
static uint64_t fold_list(struct thread_folder *folder, struct call_tree *tree,
                          _Atomic(ledger_ref) *list)
{
    ledger_ref ref = atomic_exchange(list, 0);
    uint64_t folded = 0;

    while (ref) {
        ledger_ref next = thread_at(tree, ref)->next_ended;

        thread_at(tree, ref)->next_ended = 0;
        if (fold(folder, tree, ref))
            folded++;
        else
            push_ended(tree, &tree->ledger->ended.waiting, ref);
        ref = next;
    }
    return folded;
}

void thread_fold__tidy(struct thread_folder *folder, struct call_tree *tree)
{
    struct ledger *ledger = tree->ledger;

    (void)fold_list(folder, tree, &ledger->ended.waiting);
    if (ledger->header->fold_none || !ledger__uses_part(ledger, GIVEN_UP_PART))
        return;
    ledger__count(&ledger->header->kept_threads, 0 - fold_list(folder, tree, &ledger->ended.kept));
}

/* By kind and name. */
static int compare_groups(const void *a, const void *b, void *context)
{
    const struct ledger *copy = context;
    ledger_ref x = *(const ledger_ref *)a, y = *(const ledger_ref *)b;
    const struct ledger_thread *left = ledger__at(copy, x), *right = ledger__at(copy, y);
    const struct ledger_string *name = ledger__at(copy, left->name);
    const struct ledger_string *other = ledger__at(copy, right->name);
    int order = (left->kind > right->kind) - (left->kind < right->kind);

    if (!order)
        order = (name->length > other->length) - (name->length < other->length);
    if (!order)
        order = memcmp(ledger_string__bytes(name), ledger_string__bytes(other), name->length);
    return order;
}

static bool is_named_group(const struct ledger *copy, ledger_ref ref)
{
    const struct ledger_thread *thread = ledger__at(copy, ref);

    return thread->kind && thread->flags & THREAD_GROUP && thread->name && thread->root;
}

/* All groups that have a name, which may be any number. NULL: no memory. */
static ledger_ref *find_groups(const struct ledger *copy, size_t *count)
{
    ledger_ref *groups, ref = 0;
    size_t room = 1;

    while ((ref = ledger__next(copy, LEDGER_THREADS, ref)))
        room += is_named_group(copy, ref);
    groups = calloc(room, sizeof(*groups));
    *count = 0;
    while (groups && (ref = ledger__next(copy, LEDGER_THREADS, ref)))
        if (is_named_group(copy, ref))
            groups[(*count)++] = ref;
    return groups;
}

static int compare_groups_by_ref(const void *a, const void *b, void *context)
{
    ledger_ref x = *(const ledger_ref *)a, y = *(const ledger_ref *)b;
    int order = compare_groups(a, b, context);

    return order ? order : (x > y) - (x < y);
}

/* The first of each name takes the others in. */
void thread_fold__join_groups(struct ledger *copy)
{
    struct call_tree *tree = calloc(1, sizeof(*tree));
    size_t count = 0, first = 0;
    ledger_ref *groups = tree ? find_groups(copy, &count) : NULL;

    if (groups) {
        call_tree__init(tree, copy, NULL, NULL);
        qsort_r(groups, count, sizeof(*groups), compare_groups_by_ref, copy);
    }
    for (size_t i = 1; groups && i < count; i++)
        if (compare_groups(&groups[first], &groups[i], copy) != 0)
            first = i;
        else
            (void)move(tree, groups[i], groups[first]);
    free(groups);
    free(tree);
}
