#include "native/thread/thread_fold.h"

#include "native/thread/thread_transfer.h"
#include "native/tree/folded_calls.h"

#include <stdlib.h>
#include <string.h>

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

size_t thread_fold__group_name(const struct ledger *ledger, const struct ledger_thread *member,
                               char name[FOLD_NAME_BYTES])
{
    const struct ledger_string *given = ledger__at(ledger, member->group_name);
    size_t length;

    if (!member->group_name)
        return fold_digits(ledger__at(ledger, member->name), name);
    length = given->length < FOLD_NAME_BYTES ? given->length : FOLD_NAME_BYTES;
    memcpy(name, ledger_string__bytes(given), length);
    return length;
}

/* Makes the first thread of a name and kind the group, in place: a thread without its like keeps
 * its row as it was, and threads that it started keep their parent. False: there is no room for the
 * name. */
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

/* Platform, virtual and carrier threads: each kind has one group for all names without a group. */
#define KINDS_OF_OTHERS 3u

/* The group of a thread, which may become the group itself. None: there is no room. */
static ledger_ref find_group(struct thread_folder *folder, struct call_tree *tree, ledger_ref ref)
{
    static const char others[] = "(threads of other names)";
    struct ledger_thread *member = thread_at(tree, ref);
    char name[FOLD_NAME_BYTES];
    size_t length = thread_fold__group_name(tree->ledger, member, name);
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

/* None: samples of the thread are not merged yet, or there is no room. */
static ledger_ref fold(struct thread_folder *folder, struct call_tree *tree, ledger_ref thread)
{
    uint64_t end_ns = thread_at(tree, thread)->end_ns;
    ledger_ref group;

    folded_calls__forget(&tree->pool, thread_at(tree, thread));
    group = awaits_samples(thread_at(tree, thread)) ? 0 : find_group(folder, tree, thread);

    if (!group || (group != thread && !thread_transfer__run(tree, thread, group)))
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

/* Folds the threads of a list. Those that cannot be folded now wait. Returns how many were folded.
 */
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

/* All groups that have a name; *count: how many. NULL: no memory. */
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

/* The first group of each name and kind takes in the others. */
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
            (void)thread_transfer__run(tree, groups[i], groups[first]);
    free(groups);
    free(tree);
}
