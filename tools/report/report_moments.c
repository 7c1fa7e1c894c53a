#include "tools/report/report_moments.h"

#include "native/thread/thread_fold.h"
#include "tools/report/index_table.h"
#include "tools/report/interval.h"
#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

struct report_moments {
    const struct report_model *last;
    struct index_table methods;
    struct index_table threads; /* by what they are */
    struct index_table kernel_threads;
    struct index_table nodes; /* by parent, method and kind; roots are known by their threads */
};

static uint64_t hash_method(const struct report_method *method)
{
    uint64_t hash = index_table__hash_bytes(0, method->class_name.bytes, method->class_name.length);

    hash = index_table__hash_bytes(hash, method->name.bytes, method->name.length);
    return index_table__hash_bytes(hash, method->signature.bytes, method->signature.length);
}

static bool is_same_method(const struct report_method *a, const struct report_method *b)
{
    return text__compare(a->name, b->name) == 0 &&
           text__compare(a->class_name, b->class_name) == 0 &&
           text__compare(a->signature, b->signature) == 0 &&
           text__compare(a->source, b->source) == 0 && text__compare(a->image, b->image) == 0;
}

static uint64_t hash_name(enum ledger_thread_kind kind, struct text name)
{
    return index_table__hash_bytes(index_table__hash_number(1, kind), name.bytes, name.length);
}

static uint64_t hash_thread(const struct report_thread *thread)
{
    if (thread->flags & THREAD_GROUP)
        return hash_name(thread->kind, thread->name);
    return index_table__hash_number(index_table__hash_number(2, thread->java_id), thread->start_ns);
}

static bool is_same_thread(const struct report_thread *a, const struct report_thread *b)
{
    return (a->flags & THREAD_LAST_MOMENTS) == (b->flags & THREAD_LAST_MOMENTS) &&
           report_thread__is_same(a, b);
}

static uint64_t hash_node(uint32_t parent, uint32_t method, enum ledger_node_kind kind)
{
    uint64_t hash = index_table__hash_number(index_table__hash_number(3, parent), method);

    return index_table__hash_number(hash, kind);
}

static uint64_t hash_tid(int32_t tid)
{
    return index_table__hash_number(4, (uint64_t)tid);
}

struct report_moments *report_moments__new(const struct report_model *last)
{
    struct report_moments *moments = memory__zeroed(1, sizeof(*moments));

    moments->last = last;
    for (uint32_t i = METHOD_FIRST_REAL; i < last->method_count; i++)
        index_table__add(&moments->methods, hash_method(&last->methods[i]), i);
    for (uint32_t i = 0; i < last->thread_count; i++) {
        const struct report_thread *thread = &last->threads[i];

        index_table__add(&moments->threads, hash_thread(thread), i);
        if (thread->java_id && thread->tid_count)
            index_table__add(&moments->kernel_threads, hash_tid(thread->tids[0]), i);
    }
    for (uint32_t i = 0; i < last->node_count; i++) {
        const struct report_node *node = &last->nodes[i];

        if (node->parent != REPORT_NONE)
            index_table__add(&moments->nodes, hash_node(node->parent, node->method, node->kind), i);
    }
    return moments;
}

void report_moments__free(struct report_moments *moments)
{
    index_table__release(&moments->methods);
    index_table__release(&moments->threads);
    index_table__release(&moments->kernel_threads);
    index_table__release(&moments->nodes);
    free(moments);
}

static uint32_t find_method(const struct report_moments *moments,
                            const struct report_method *method)
{
    uint64_t hash = hash_method(method);
    size_t probe = 0;
    uint32_t index;

    do
        index = index_table__next(&moments->methods, hash, &probe);
    while (index != INDEX_TABLE_NONE && !is_same_method(&moments->last->methods[index], method));
    return index;
}

static uint32_t *find_methods(const struct report_moments *moments,
                              const struct report_model *earlier)
{
    uint32_t *method_of = memory__zeroed(earlier->method_count, sizeof(*method_of));

    for (uint32_t i = 0; i < earlier->method_count; i++)
        method_of[i] = i < METHOD_FIRST_REAL ? i : find_method(moments, &earlier->methods[i]);
    return method_of;
}

static uint32_t find_same(const struct report_moments *moments, const struct report_thread *thread)
{
    uint64_t hash = hash_thread(thread);
    size_t probe = 0;
    uint32_t index;

    do
        index = index_table__next(&moments->threads, hash, &probe);
    while (index != INDEX_TABLE_NONE && !is_same_thread(&moments->last->threads[index], thread));
    return index;
}

static bool is_group_of(const struct report_thread *group, enum ledger_thread_kind kind,
                        struct text name)
{
    return group->flags & THREAD_GROUP && group->kind == kind &&
           text__compare(group->name, name) == 0;
}

/* The group that a thread of the earlier reading was folded into. */
static uint32_t find_group(const struct report_moments *moments, const struct report_thread *thread)
{
    struct text_store texts = {0};
    struct text name = report_thread__folded_name(&texts, thread);

    if (name.length > FOLD_NAME_BYTES)
        name.length = FOLD_NAME_BYTES;
    uint64_t hash = hash_name(thread->kind, name);
    size_t probe = 0;
    uint32_t index;
    do
        index = index_table__next(&moments->threads, hash, &probe);
    while (index != INDEX_TABLE_NONE &&
           !is_group_of(&moments->last->threads[index], thread->kind, name));
    text_store__release(&texts);
    return index;
}

/* The Java thread that a kernel thread's row turned out to be. */
static uint32_t find_java(const struct report_moments *moments, const struct report_thread *thread)
{
    size_t probe = 0;
    uint32_t index = INDEX_TABLE_NONE;

    if (thread->java_id || !thread->tid_count)
        return index;
    do
        index = index_table__next(&moments->kernel_threads, hash_tid(thread->tids[0]), &probe);
    while (index != INDEX_TABLE_NONE && moments->last->threads[index].tids[0] != thread->tids[0]);
    return index;
}

static uint32_t find_thread(const struct report_moments *moments,
                            const struct report_thread *thread)
{
    uint32_t index = find_same(moments, thread);

    if (index == INDEX_TABLE_NONE)
        index = find_group(moments, thread);
    return index == INDEX_TABLE_NONE ? find_java(moments, thread) : index;
}

static uint32_t find_node(const struct report_moments *moments, uint32_t parent, uint32_t method,
                          enum ledger_node_kind kind)
{
    uint64_t hash = hash_node(parent, method, kind);
    size_t probe = 0;

    for (;;) {
        uint32_t index = index_table__next(&moments->nodes, hash, &probe);

        if (index == INDEX_TABLE_NONE)
            return index;
        const struct report_node *node = &moments->last->nodes[index];
        if (node->parent == parent && node->method == method && node->kind == kind)
            return index;
    }
}

uint32_t *report_moments__find(const struct report_moments *moments,
                               const struct report_model *earlier, uint64_t *left_out)
{
    uint32_t *method_of = find_methods(moments, earlier);
    uint32_t *node_of = memory__zeroed(earlier->node_count, sizeof(*node_of));

    for (uint32_t t = 0; t < earlier->thread_count; t++) {
        const struct report_thread *thread = &earlier->threads[t];
        uint32_t its = find_thread(moments, thread);
        const struct report_thread *now =
            its == INDEX_TABLE_NONE ? NULL : &moments->last->threads[its];
        bool fits = now && now->first_node < now->end_node;

        *left_out += !fits && thread->first_node < thread->end_node;
        for (uint32_t i = thread->first_node; i < thread->end_node; i++) {
            const struct report_node *node = &earlier->nodes[i];

            if (!fits || node->parent == REPORT_NONE) {
                node_of[i] = fits ? now->first_node : REPORT_NONE;
                continue;
            }
            uint32_t above = node_of[node->parent];
            uint32_t method = method_of[node->method];
            uint32_t found = method == INDEX_TABLE_NONE
                                 ? INDEX_TABLE_NONE
                                 : find_node(moments, above, method, node->kind);
            node_of[i] = found == INDEX_TABLE_NONE ? above : found;
        }
    }
    free(method_of);
    return node_of;
}

void report_moments__add(uint64_t *values, const uint32_t *node_of,
                         const struct report_model *earlier, enum report_column column)
{
    const uint64_t *base = earlier->base[column];

    for (uint32_t i = 0; base && i < earlier->node_count; i++)
        if (node_of[i] != REPORT_NONE)
            values[node_of[i]] += base[i];
}

static int64_t positive(int64_t value)
{
    return value > 0 ? value : 0;
}

/* A node's children share what it grew by, less what it grew by itself, as they grew; if they and
 * it grew by more than that, all of them get less. */
static void share_out(const struct report_model *last, uint32_t index, int64_t whole,
                      const int64_t *own, int64_t *cum)
{
    const struct report_node *node = &last->nodes[index];
    int64_t wanted = positive(own[index]);

    for (uint32_t child = index + 1; child < node->end; child = last->nodes[child].end)
        wanted += positive(cum[child]);
    cum[index] = whole;
    for (uint32_t child = index + 1; child < node->end; child = last->nodes[child].end) {
        int64_t part = positive(cum[child]);

        if (wanted > whole)
            part = (int64_t)((double)part * ((double)whole / (double)wanted));
        cum[child] = part;
    }
}

void report_moments__grow(const struct report_model *last, const uint64_t *before,
                          const uint64_t *after, uint64_t *growth)
{
    int64_t *own = memory__zeroed(last->node_count, sizeof(*own));
    int64_t *cum = memory__zeroed(last->node_count, sizeof(*cum));

    for (uint32_t i = last->node_count; i-- > 0;) {
        own[i] = (int64_t)(after[i] - before[i]);
        cum[i] += own[i];
        if (last->nodes[i].parent != REPORT_NONE)
            cum[last->nodes[i].parent] += cum[i];
    }
    for (uint32_t i = 0; i < last->node_count; i++)
        share_out(last, i, positive(cum[i]), own, cum);
    for (uint32_t i = 0; i < last->node_count; i++) {
        const struct report_node *node = &last->nodes[i];
        int64_t below = 0;

        for (uint32_t child = i + 1; child < node->end; child = last->nodes[child].end)
            below += cum[child];
        growth[i] = (uint64_t)positive(cum[i] - below);
    }
    free(own);
    free(cum);
}
