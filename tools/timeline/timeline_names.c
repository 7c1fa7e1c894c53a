#include "tools/timeline/timeline_names.h"

#include "tools/report/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_BYTES 1024u

void timeline_names__release(struct timeline_names *names)
{
    free(names->keys);
    free(names->threads);
    index_table__release(&names->table);
    index_table__release(&names->thread_table);
}

struct text timeline_names__keep(struct timeline_names *names, const char *bytes, size_t length)
{
    return text__from_java(names->texts, bytes, length);
}

static struct text keep_line(struct timeline_names *names, const char *line)
{
    return timeline_names__keep(names, line, strlen(line));
}

static const char *string_of(const struct timeline_names *names, ledger_ref ref, size_t *length)
{
    const char *bytes =
        names->ledger && ref ? ledger_reader__string(names->ledger, ref, length) : NULL;

    if (!bytes)
        *length = 0;
    return bytes ? bytes : "";
}

/* ---- labels ---- */

static struct text make_label(struct timeline_names *names, const struct timeline_label *key)
{
    char line[LABEL_BYTES];
    const struct ledger_method *method;
    size_t class_length, name_length;
    const char *class_name, *name;

    if (key->word) {
        class_name = string_of(names, key->ref, &class_length);
        snprintf(line, sizeof(line), "%s%s%.*s", key->word, class_length ? " " : "",
                 (int)class_length, class_name);
        return keep_line(names, line);
    }
    method = names->ledger ? ledger_reader__method(names->ledger, key->ref) : NULL;
    if (!method)
        return keep_line(names, "(method not known)");
    class_name = string_of(names, method->class_name, &class_length);
    name = string_of(names, method->name, &name_length);
    snprintf(line, sizeof(line), "%.*s%s%.*s", (int)class_length, class_name,
             class_length ? "." : "", (int)name_length, name);
    return keep_line(names, line);
}

static uint32_t label_of(struct timeline_names *names, const struct timeline_label *key)
{
    uint64_t hash = index_table__hash_number((uint64_t)(uintptr_t)key->word, key->ref);
    size_t probe = 0;
    uint32_t index;

    while ((index = index_table__next(&names->table, hash, &probe)) != INDEX_TABLE_NONE)
        if (names->keys[index].word == key->word && names->keys[index].ref == key->ref)
            return index;
    index = (uint32_t)names->label_count++;
    names->labels = memory__grown(names->labels, &names->label_room, names->label_count,
                                  sizeof(*names->labels));
    names->keys =
        memory__grown(names->keys, &names->key_room, names->label_count, sizeof(*names->keys));
    names->keys[index] = *key;
    names->labels[index] = make_label(names, key);
    index_table__add(&names->table, hash, index);
    return index;
}

uint32_t timeline_names__reason(struct timeline_names *names, const char *word,
                                ledger_ref class_name)
{
    return label_of(names, &(struct timeline_label){.word = word, .ref = class_name});
}

uint32_t timeline_names__method(struct timeline_names *names, ledger_ref method)
{
    return label_of(names, &(struct timeline_label){.ref = method});
}

/* ---- threads ---- */

const struct ledger_thread *timeline_names__thread(const struct ledger_reader *ledger,
                                                   ledger_ref ref)
{
    const struct ledger_thread *thread = ledger_reader__thread(ledger, ref);

    return thread && thread->kind && thread->kind <= THREAD_NATIVE ? thread : NULL;
}

/* The place in `threads`, or INDEX_TABLE_NONE. */
static uint32_t find_thread(const struct timeline_names *names, uint64_t java_id)
{
    uint64_t hash = index_table__hash_number(0, java_id);
    size_t probe = 0;
    uint32_t index;

    while ((index = index_table__next(&names->thread_table, hash, &probe)) != INDEX_TABLE_NONE)
        if (names->threads[index].java_id == java_id)
            break;
    return index;
}

/* Once for all owners: there may be as many threads as there are events. */
static void list_threads(struct timeline_names *names)
{
    ledger_ref ref = 0;

    names->has_threads = true;
    while (names->ledger && (ref = ledger_reader__next(names->ledger, LEDGER_THREADS, ref))) {
        const struct ledger_thread *thread = timeline_names__thread(names->ledger, ref);

        if (!thread || !thread->java_id || thread->flags & THREAD_GROUP ||
            find_thread(names, thread->java_id) != INDEX_TABLE_NONE)
            continue;
        names->threads = memory__grown(names->threads, &names->thread_room, names->thread_count + 1,
                                       sizeof(*names->threads));
        index_table__add(&names->thread_table, index_table__hash_number(0, thread->java_id),
                         (uint32_t)names->thread_count);
        names->threads[names->thread_count++] = (struct timeline_named){thread->java_id, ref};
    }
}

uint32_t timeline_names__owner(struct timeline_names *names, struct timeline_model *model,
                               uint64_t java_id)
{
    const struct ledger_thread *thread;
    uint32_t index;

    if (!names->has_threads)
        list_threads(names);
    index = find_thread(names, java_id);
    if (index == INDEX_TABLE_NONE)
        return TIMELINE_NONE;
    thread = timeline_names__thread(names->ledger, names->threads[index].ref);
    return timeline_model__track(model, java_id, thread->tids[0],
                                 (enum ledger_thread_kind)thread->kind);
}

/* The name when the thread started, or the latest one that it was given. */
static struct text name_of(struct timeline_names *names, const struct ledger_thread *thread)
{
    const struct ledger_rename *rename =
        thread->renames ? ledger_reader__rename(names->ledger, thread->renames) : NULL;
    size_t length;
    const char *bytes = string_of(names, rename ? rename->name : thread->name, &length);

    return timeline_names__keep(names, bytes, length);
}

/* What a thread was told to be called is cut off; and what stands in the ledger may be a later
 * thread's on the same kernel thread, or the same thread's under an earlier name. */
static void take_name(struct timeline_names *names, struct timeline_track *track,
                      const struct ledger_thread *thread)
{
    bool is_same = track->java_id && track->java_id == thread->java_id;
    struct text name;

    if (!is_same && (track->java_id || (track->name.length && thread->end_ns)))
        return;
    name = name_of(names, thread);
    if (!is_same)
        track->kind = (uint8_t)thread->kind;
    if (name.length > track->name.length)
        track->name = name;
}

static void take_names_of_ledger(struct timeline_names *names, struct timeline_model *model)
{
    ledger_ref ref = 0;

    while (names->ledger && (ref = ledger_reader__next(names->ledger, LEDGER_THREADS, ref))) {
        const struct ledger_thread *thread = timeline_names__thread(names->ledger, ref);
        uint32_t track = TIMELINE_NONE;

        if (!thread || thread->flags & (THREAD_GROUP | THREAD_HIDDEN | THREAD_LAST_MOMENTS))
            continue;
        if (thread->java_id)
            track = timeline_model__find(model, thread->java_id, 0);
        if (track == TIMELINE_NONE && thread->kind != THREAD_VIRTUAL && thread->tid_count)
            track = timeline_model__find(model, 0, thread->tids[0]);
        if (track != TIMELINE_NONE)
            take_name(names, &model->tracks[track], thread);
    }
}

static void name_anyhow(struct timeline_names *names, struct timeline_track *track)
{
    char line[64];

    if (track->name.length)
        return;
    if (track->kind == THREAD_VIRTUAL)
        snprintf(line, sizeof(line), "VirtualThread[#%" PRIu64 "]", track->java_id);
    else
        snprintf(line, sizeof(line), "thread %d", (int)track->tid);
    track->name = keep_line(names, line);
}

/* The ledger has the name that such a thread had when the agent looked last. */
static bool is_named_by_kernel(const struct timeline_track *track)
{
    return !track->java_id && (track->kind == THREAD_VM || track->kind == THREAD_NATIVE);
}

void timeline_names__name_tracks(struct timeline_names *names, struct timeline_model *model)
{
    const struct timeline_store *store = model->store;

    take_names_of_ledger(names, model);
    for (size_t i = 0; i < store->task_count; i++) {
        uint32_t track = timeline_model__find(model, 0, store->tasks[i].tid);

        if (track != TIMELINE_NONE &&
            (!model->tracks[track].name.length || is_named_by_kernel(&model->tracks[track])))
            model->tracks[track].name = keep_line(names, store->tasks[i].name);
    }
    for (size_t i = 0; i < model->track_count; i++)
        name_anyhow(names, &model->tracks[i]);
}
