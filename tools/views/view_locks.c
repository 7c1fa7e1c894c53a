/* The locks view: for which locks threads waited, where, and where these were held meanwhile. */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_locks.h"
#include "tools/views/view_blocks.h"
#include "tools/views/view_samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PATHS_SHOWN 3u /* of waiters and of holders, in text */
#define TEXT_BYTES  32u

enum lock_column {
    COLUMN_LOCK,
    COLUMN_KIND,
    COLUMN_COUNT_OF_WAITS,
    COLUMN_WAIT,
    COLUMN_P99,
    COLUMN_MAX,
    COLUMN_BLOCKED,
    COLUMN_HOLDS,
    COLUMN_HOLD,
    COLUMN_HOLD_MAX,
    COLUMN_SHARE,
    COLUMN_ACQUIRED,
    COLUMN_RECURSION,
    COLUMN_UNKNOWN,
    LOCK_COLUMNS,
};

static const struct table_column columns[LOCK_COLUMNS] = {
    {"LOCK", false, 0},      {"KIND", false, 5},
    {"WAITS", true, 1},      {"WAIT", true, 0},
    {"P99", true, 8},        {"MAX", true, 4},
    {"BLOCKED", true, 3},    {"HOLDS", true, 6},
    {"HOLD", true, 2},       {"LONGEST", true, 7},
    {"HELD", true, 9},       {"ACQUIRED", true, 11},
    {"RECURSION", true, 12}, {"OWNER UNKNOWN", true, 10},
};

/* "1b6d3586", as Object.toString has it; "*" of any locks of the class. */
static void identify(const struct report_lock *lock, char identity[TEXT_BYTES])
{
    if (lock->identity)
        snprintf(identity, TEXT_BYTES, "%" PRIx32, lock->identity);
    else
        snprintf(identity, TEXT_BYTES, "*");
}

static struct report_locks *arrange(const struct view *view, uint32_t *count)
{
    struct report_locks *locks = report_locks__new(view->model, view->glob, view->sort);

    *count = view->top && view->top < locks->count ? view->top : locks->count;
    return locks;
}

/* "  waits in app.Queue.put < app.Main.run": the innermost first, since paths are cut at the end.
 */
static void add_path(struct text_table *table, const struct view *view,
                     const struct lock_path *path, const char *what, enum lock_column column)
{
    size_t line = text_table__add_row(table);
    struct text joined = view_blocks__path(view->model, path);
    char *name = text__printable(joined, NAME_COLUMNS_MAX);
    char *shown = NULL;

    if (asprintf(&shown, "  %s %s", what, name) >= 0)
        text_table__set(table, line, COLUMN_LOCK, shown);
    text_table__set(table, line, column, quantity__ns(path->ns).text);
    text_table__set_colour(table, line, screen__dim(&view->screen));
    free(shown);
    free(name);
    free((void *)(uintptr_t)joined.bytes);
}

static void add_paths(struct text_table *table, const struct view *view,
                      const struct lock_paths *paths, const char *what, enum lock_column column)
{
    for (uint32_t i = 0; i < paths->count && i < PATHS_SHOWN; i++)
        if (paths->paths[i].is_known)
            add_path(table, view, &paths->paths[i], what, column);
}

/* Which part of the profiled time the lock was held, by contended holds. */
static uint64_t held_ppm(const struct report_model *model, const struct report_lock *lock)
{
    uint64_t from_ns = model->profiled_since_ns, to_ns = report_model__profiled_to_ns(model);
    double ppm = to_ns > from_ns ? (double)lock->hold_ns / (double)(to_ns - from_ns) * 1e6 : 0;

    /* More is a damaged ledger's, and no integer of JSON. */
    return ppm + 0.5 < (double)INT64_MAX ? (uint64_t)(ppm + 0.5) : INT64_MAX;
}

static void set_holds(struct text_table *table, size_t line, const struct view *view,
                      const struct report_lock *lock)
{
    if (!lock->holds)
        return;
    text_table__set(table, line, COLUMN_HOLDS, quantity__count(lock->holds).text);
    text_table__set(table, line, COLUMN_HOLD, quantity__ns(lock->hold_ns).text);
    text_table__set(table, line, COLUMN_HOLD_MAX, quantity__ns(lock->hold_max_ns).text);
    text_table__set(table, line, COLUMN_SHARE,
                    quantity__share(held_ppm(view->model, lock), 1000000).text);
}

static void set_acquisitions(struct text_table *table, size_t line, const struct report_lock *lock)
{
    text_table__set(table, line, COLUMN_ACQUIRED,
                    lock->acquisitions ? quantity__count(lock->acquisitions).text : "-");
    text_table__set(table, line, COLUMN_RECURSION,
                    lock->depth_max ? quantity__count(lock->depth_max - 1).text : "-");
}

static void add_lock(struct text_table *table, const struct view *view,
                     const struct report_lock *lock)
{
    size_t line = text_table__add_row(table);
    char identity[TEXT_BYTES];
    char *name = view_blocks__lock(lock->class_name);
    char *shown = NULL;

    identify(lock, identity);
    if (asprintf(&shown, "%s@%s", name, identity) >= 0)
        text_table__set(table, line, COLUMN_LOCK, shown);
    text_table__set(table, line, COLUMN_KIND, lock_kind__name(lock->kind));
    text_table__set(table, line, COLUMN_COUNT_OF_WAITS, quantity__count(lock->contentions).text);
    text_table__set(table, line, COLUMN_WAIT, quantity__ns(lock->wait_ns).text);
    text_table__set(table, line, COLUMN_P99, quantity__ns(lock->wait_p99_ns).text);
    text_table__set(table, line, COLUMN_MAX, quantity__ns(lock->wait_max_ns).text);
    text_table__set(table, line, COLUMN_BLOCKED, quantity__ns(lock->blocked_ns).text);
    set_holds(table, line, view, lock);
    set_acquisitions(table, line, lock);
    text_table__set(table, line, COLUMN_UNKNOWN, quantity__count(lock->owner_unknown).text);
    free(shown);
    free(name);
    add_paths(table, view, &lock->waiters, "waits in", COLUMN_WAIT);
    add_paths(table, view, &lock->blockers, "blocked in", COLUMN_BLOCKED);
    add_paths(table, view, &lock->holders, "held until", COLUMN_HOLD);
}

/* No share: these are those that were noticed, and others were not. */
static void write_unseen_holds(const struct view *view)
{
    uint64_t unseen = view->model->header.unseen_holds;

    if (unseen)
        fprintf(view->screen.out,
                "at least %s that somebody had to wait for, not in HOLDS: no hook told of the "
                "begin or of the end; what the budget had no room for is not counted\n",
                quantity__counted(unseen, "hold").text);
}

int view_locks__text(const struct view *view)
{
    uint32_t count;
    struct report_locks *locks = arrange(view, &count);
    struct text_table *table = text_table__new(columns, LOCK_COLUMNS);
    int error = 0;

    fprintf(
        view->screen.out,
        "%sLocks that threads waited for%s\nBLOCKED: somebody waited, blocked in: the owner when "
        "the wait began. HOLDS: whole, of those that somebody had to wait for, since the lock's "
        "class has hooks\n"
        "ACQUIRED: since hooks tell so, nested acquisitions not counted. RECURSION: how deeply the "
        "owner had the lock nested when a wait began, at most. -: not known\n\n",
        screen__bold(&view->screen), screen__plain(&view->screen));
    for (uint32_t i = 0; i < count; i++)
        add_lock(table, view, &locks->locks[i]);
    if (count)
        error = text_table__print(table, &view->screen);
    else
        view_blocks__none(view);
    if (!error && count < locks->count)
        fprintf(view->screen.out, "(%u more, not shown)\n", locks->count - count);
    if (!error) {
        view_blocks__unheard(view);
        write_unseen_holds(view);
    }
    view_samples__text(view);
    text_table__free(table);
    report_locks__free(locks);
    return error;
}

static json_t *paths_array(const struct report_model *model, const struct lock_paths *paths,
                           const char *key)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < paths->count; i++) {
        const struct report_path *path = &paths->paths[i].path;
        json_t *object = json_object(), *frames = json_array();
        struct text_store texts = {0};

        for (uint32_t frame = 0; frame < path->frames; frame++)
            json_array_append_new(frames, json_row__text(report_method__full_name(
                                              &texts, &model->methods[path->methods[frame]])));
        json_object_set_new(object, "path", frames);
        json_object_set_new(object, key, json_row__integer(paths->paths[i].ns));
        json_array_append_new(array, object);
        text_store__release(&texts);
    }
    return array;
}

static json_t *lock_object(const struct view *view, const struct report_lock *lock)
{
    json_t *object = json_object();
    char identity[TEXT_BYTES];

    identify(lock, identity);
    json_object_set_new(object, "class",
                        lock->class_name.length ? json_row__text(lock->class_name) : json_null());
    json_object_set_new(object, "identity", lock->identity ? json_string(identity) : json_null());
    json_object_set_new(object, "kind", json_string(lock_kind__name(lock->kind)));
    json_object_set_new(object, "contentions", json_row__integer(lock->contentions));
    json_object_set_new(object, "wait_ns", json_row__integer(lock->wait_ns));
    json_object_set_new(object, "wait_max_ns", json_row__integer(lock->wait_max_ns));
    json_object_set_new(object, "wait_p99_ns", json_row__integer(lock->wait_p99_ns));
    json_object_set_new(object, "blocked_ns", json_row__integer(lock->blocked_ns));
    json_object_set_new(object, "blocked_max_ns", json_row__integer(lock->blocked_max_ns));
    json_object_set_new(object, "holds", json_row__integer(lock->holds));
    json_object_set_new(object, "hold_ns", json_row__integer(lock->hold_ns));
    json_object_set_new(object, "hold_max_ns", json_row__integer(lock->hold_max_ns));
    json_object_set_new(object, "hold_p99_ns", json_row__integer(lock->hold_p99_ns));
    json_object_set_new(object, "held_ppm", json_row__integer(held_ppm(view->model, lock)));
    json_object_set_new(object, "acquisitions",
                        lock->acquisitions ? json_row__integer(lock->acquisitions) : json_null());
    json_object_set_new(object, "recursion_max",
                        lock->depth_max ? json_row__integer(lock->depth_max - 1) : json_null());
    json_object_set_new(object, "owner_unknown", json_row__integer(lock->owner_unknown));
    json_object_set_new(object, "waiters", paths_array(view->model, &lock->waiters, "wait_ns"));
    json_object_set_new(object, "blockers",
                        paths_array(view->model, &lock->blockers, "blocked_ns"));
    json_object_set_new(object, "holders", paths_array(view->model, &lock->holders, "hold_ns"));
    return object;
}

int view_locks__json(const struct view *view)
{
    uint32_t count;
    struct report_locks *locks = arrange(view, &count);
    FILE *out = view->screen.out;

    fputs("{\"locks\":[", out);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, lock_object(view, &locks->locks[i]));
    }
    fputs("\n],\n", out);
    json_row__write_members(out, json_pack("{so}", "unseen_holds",
                                           json_row__integer(view->model->header.unseen_holds)));
    view_samples__end_json(view);
    report_locks__free(locks);
    return 0;
}

static void put_known(struct csv *csv, bool is_known, uint64_t value)
{
    if (is_known)
        csv__integer(csv, value);
    else
        csv__word(csv, "");
}

int view_locks__csv(const struct view *view)
{
    static const char *const heads[] = {
        "class",        "identity",     "kind",        "contentions",    "wait_ns",
        "wait_max_ns",  "wait_p99_ns",  "blocked_ns",  "blocked_max_ns", "owner_unknown",
        "holds",        "hold_ns",      "hold_max_ns", "hold_p99_ns",    "held_ppm",
        "acquisitions", "recursion_max"};
    struct csv csv = {.out = view->screen.out};
    uint32_t count;
    struct report_locks *locks = arrange(view, &count);

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < count; i++) {
        const struct report_lock *lock = &locks->locks[i];
        const uint64_t values[] = {
            lock->contentions,   lock->wait_ns,     lock->wait_max_ns,
            lock->wait_p99_ns,   lock->blocked_ns,  lock->blocked_max_ns,
            lock->owner_unknown, lock->holds,       lock->hold_ns,
            lock->hold_max_ns,   lock->hold_p99_ns, held_ppm(view->model, lock)};
        char identity[TEXT_BYTES];

        identify(lock, identity);
        csv__text(&csv, lock->class_name);
        csv__word(&csv, lock->identity ? identity : "");
        csv__word(&csv, lock_kind__name(lock->kind));
        for (size_t value = 0; value < sizeof(values) / sizeof(values[0]); value++)
            csv__integer(&csv, values[value]);
        put_known(&csv, lock->acquisitions != 0, lock->acquisitions);
        put_known(&csv, lock->depth_max != 0, lock->depth_max - 1u);
        csv__end_record(&csv);
    }
    report_locks__free(locks);
    return 0;
}
