/* The hazards view: deadlocks, locks that were taken in both orders, priority inversions, convoys.
 */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"
#include "tools/report/report_hazards.h"
#include "tools/views/view_blocks.h"
#include "tools/views/view_samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 16u

/* "app.Queue@1b6d3586"; without the identity where it is not known. The caller frees it. */
static char *lock_text(const struct hazard_lock *lock)
{
    char *name = view_blocks__lock(lock->class_name), *text = NULL;
    char identity[NUMBER_BYTES] = "";

    if (lock->identity)
        snprintf(identity, sizeof(identity), "@%" PRIx32, lock->identity);
    if (asprintf(&text, "%s%s", name, identity) < 0)
        abort();
    free(name);
    return text;
}

static void put_lock(FILE *out, const struct hazard_lock *lock)
{
    char *text = lock_text(lock);

    fputs(text, out);
    free(text);
}

static void put_text(FILE *out, struct text text)
{
    char *printable = text__printable(text, 0);

    fputs(printable, out);
    free(printable);
}

/* The innermost first. */
static void put_path(FILE *out, const struct hazard_path *path, uint32_t from)
{
    for (uint32_t i = from; i < path->count; i++) {
        fputs(i > from ? " < " : "", out);
        put_text(out, path->frames[i]);
    }
    fputs(from < path->count ? "\n" : "(no method)\n", out);
}

static uint64_t since(const struct view *view, uint64_t since_ns)
{
    uint64_t asof_ns = report_model__profiled_to_ns(view->model);

    return since_ns && asof_ns > since_ns ? asof_ns - since_ns : 0;
}

/* ---- text ---- */

/* part waits for the next one. */
static void put_owner(FILE *out, const struct report_stuck *part, const struct report_stuck *next)
{
    fputs(part->is_behind ? ", in the queue behind " : ", held by ", out);
    if (next == part)
        fputs("itself", out);
    else
        put_text(out, next->thread);
}

static void put_part(const struct view *view, const struct hazard_deadlock *deadlock, uint32_t i)
{
    const struct report_stuck *part = &deadlock->parts[i];
    const struct report_stuck *next = &deadlock->parts[(i + 1) % deadlock->count];
    FILE *out = view->screen.out;

    fputs("  ", out);
    put_text(out, part->thread);
    fputs(part->is_virtual ? " (virtual)" : "", out);
    if (part->since_ns)
        fprintf(out, ", for %s", quantity__ns(since(view, part->since_ns)).text);
    fputs(part->is_timed ? ", for some time only" : "", out);
    fputs(", waits for ", out);
    put_lock(out, &part->lock);
    put_owner(out, part, next);
    fputs("\n    in ", out);
    put_path(out, &part->path, 0);
}

static void put_deadlocks(const struct view *view, const struct report_hazards *hazards)
{
    FILE *out = view->screen.out;

    for (uint32_t i = 0; i < hazards->deadlock_count; i++) {
        const struct hazard_deadlock *deadlock = &hazards->deadlocks[i];

        fprintf(out, "%sDeadlock of %" PRIu32 " thread%s%s", screen__bold(&view->screen),
                deadlock->parts[0].threads, deadlock->parts[0].threads == 1 ? "" : "s",
                screen__plain(&view->screen));
        if (deadlock->since_ns)
            fprintf(out, ", for %s", quantity__ns(since(view, deadlock->since_ns)).text);
        fputs(deadlock->is_timed ? ", which will end by itself\n" : "\n", out);
        for (uint32_t part = 0; part < deadlock->count; part++)
            put_part(view, deadlock, part);
        fputc('\n', out);
    }
}

static void put_order(const struct view *view, const struct report_order *order)
{
    FILE *out = view->screen.out;

    fputs("  ", out);
    put_text(out, order->thread);
    fputs(" took ", out);
    put_lock(out, &order->locks[1]);
    fputs(" while it held ", out);
    put_lock(out, &order->locks[0]);
    fputs("\n    in ", out);
    put_path(out, &order->path, 0);
    if (order->held_frame < order->path.count) {
        fputs("    held since ", out);
        put_text(out, order->path.frames[order->held_frame]);
        fputc('\n', out);
    }
}

static void put_pairs(const struct view *view, const struct report_hazards *hazards)
{
    for (uint32_t i = 0; i < hazards->pair_count; i++) {
        fprintf(view->screen.out, "%sTwo locks were taken in both orders%s\n",
                screen__bold(&view->screen), screen__plain(&view->screen));
        put_order(view, hazards->pairs[i].orders[0]);
        put_order(view, hazards->pairs[i].orders[1]);
        if (!hazards->pairs[i].is_sure)
            fputs("  or a Lock guards both: it is not known which Locks the threads held\n",
                  view->screen.out);
        fputc('\n', view->screen.out);
    }
}

static struct hazard_lock lock_of(const struct report_block *block)
{
    return (struct hazard_lock){block->class_name, block->identity, block->kind};
}

static void put_block_path(const struct view *view, const char *what,
                           const struct report_path *path)
{
    const struct lock_path lock_path = {.path = *path, .is_known = true};
    struct text joined = view_blocks__path(view->model, &lock_path);

    fprintf(view->screen.out, "    %s ", what);
    put_text(view->screen.out, joined);
    fputc('\n', view->screen.out);
    free((void *)(uintptr_t)joined.bytes);
}

static void put_inversions(const struct view *view, const struct report_hazards *hazards)
{
    FILE *out = view->screen.out;

    for (uint32_t i = 0; i < hazards->inversion_count; i++) {
        const struct report_block *block = hazards->inversions[i].block;
        struct hazard_lock lock = lock_of(block);

        fprintf(out, "%sPriority inversion%s\n  ", screen__bold(&view->screen),
                screen__plain(&view->screen));
        put_text(out, block->waiter);
        fprintf(out, " (priority %" PRIu32 ") waited for ", block->waiter_priority);
        put_lock(out, &lock);
        fputs(", held by ", out);
        put_text(out, block->holder);
        fprintf(out, " (priority %" PRIu32 "), %s times, %s", block->holder_priority,
                quantity__count(block->count).text, quantity__ns(block->wait_ns).text);
        fprintf(out, ", %s at most\n", quantity__ns(block->wait_max_ns).text);
        put_block_path(view, "in", &block->waiter_path);
        put_block_path(view, "held in", &block->holder_path);
        fputc('\n', out);
    }
}

static void put_convoys(const struct view *view, const struct report_hazards *hazards)
{
    FILE *out = view->screen.out;

    for (uint32_t i = 0; i < hazards->convoy_count; i++) {
        const struct hazard_convoy *convoy = &hazards->convoys[i];

        fprintf(out, "%sConvoy%s\n  ", screen__bold(&view->screen), screen__plain(&view->screen));
        put_lock(out, &convoy->lock);
        fprintf(out, ": %s waits", quantity__count(convoy->waits).text);
        fprintf(out, ", %s in all", quantity__ns(convoy->wait_ns).text);
        fprintf(out, "; somebody waited for %s", quantity__ns(convoy->hold_ns).text);
        fprintf(out, ", a turn took %s\n", quantity__ns(convoy->hold_ns / convoy->waits).text);
        put_block_path(view, "waits in", &convoy->waiter.path);
        if (convoy->holder.is_known)
            put_block_path(view, "held in", &convoy->holder.path);
        fputc('\n', out);
    }
}

/* What was looked at, so that "none" can be judged. */
static void put_none(const struct view *view, const struct report_hazards *hazards)
{
    const struct report_model *model = view->model;
    FILE *out = view->screen.out;

    if (!report_blocks__are_known(&model->header)) {
        fprintf(out, "(not looked for: hazards need %s)\n", view_blocks__need(&model->header));
        return;
    }
    if (!hazards->deadlock_count)
        fputs("No deadlock", out);
    if (hazards->deadlock_count == 0 && hazards->ended)
        fprintf(out, " (%" PRIu32 " that ended)", hazards->ended);
    if (!hazards->deadlock_count)
        fputs(": no threads that wait for locks wait for each other.\n", out);
    if (!hazards->pair_count)
        fprintf(
            out,
            "No locks in both orders: %s of two locks seen, in threads that waited for anything "
            "while they held both.\n",
            quantity__counted(model->order_count, "order").text);
    if (!hazards->inversion_count && !hazards->convoy_count)
        fprintf(out, "No priority inversion, no convoy: in %s waits.\n",
                quantity__count(model->header.heard_waits).text);
}

int view_hazards__text(const struct view *view)
{
    struct report_hazards *hazards = report_hazards__new(view->model);

    fprintf(view->screen.out, "%sWhat is wrong with locks%s\n\n", screen__bold(&view->screen),
            screen__plain(&view->screen));
    put_deadlocks(view, hazards);
    put_pairs(view, hazards);
    put_inversions(view, hazards);
    put_convoys(view, hazards);
    put_none(view, hazards);
    view_blocks__unheard(view);
    view_samples__text(view);
    report_hazards__free(hazards);
    return 0;
}

/* ---- JSON ---- */

static json_t *lock_json(const struct hazard_lock *lock)
{
    char *text = lock_text(lock);
    json_t *json = json_row__text((struct text){text, strlen(text)});

    free(text);
    return json;
}

/* As everywhere in JSON the outermost first. */
static json_t *path_json(const struct hazard_path *path)
{
    json_t *array = json_array();

    for (uint32_t i = path->count; i-- > 0;)
        json_array_append_new(array, json_row__text(path->frames[i]));
    return array;
}

/* The methods of a wait's record. */
static json_t *block_path_json(const struct view *view, const struct report_path *path)
{
    json_t *array = json_array();
    struct text_store texts = {0};

    for (uint32_t i = 0; i < path->frames; i++)
        json_array_append_new(array, json_row__text(report_method__full_name(
                                         &texts, &view->model->methods[path->methods[i]])));
    text_store__release(&texts);
    return array;
}

/* Of the side that waits, and of the one that holds the lock. */
static json_t *sides_json(const struct view *view, const struct report_path *waiter,
                          const struct report_path *holder)
{
    json_t *array = json_array();

    json_array_append_new(array, block_path_json(view, waiter));
    json_array_append_new(array, block_path_json(view, holder));
    return array;
}

static uint64_t epoch(const struct view *view, uint64_t at_ns)
{
    return view->model->header.epoch_ns + at_ns;
}

static json_t *deadlock_json(const struct view *view, const struct hazard_deadlock *deadlock)
{
    json_t *object = json_object(), *threads = json_array(), *locks = json_array();
    json_t *paths = json_array(), *ids = json_array(), *waiting = json_array();
    json_t *behind = json_array();

    for (uint32_t i = 0; i < deadlock->count; i++) {
        const struct report_stuck *part = &deadlock->parts[i];

        json_array_append_new(threads, json_row__text(part->thread));
        json_array_append_new(locks, lock_json(&part->lock));
        json_array_append_new(paths, path_json(&part->path));
        json_array_append_new(behind, json_boolean(part->is_behind));
        json_array_append_new(ids, json_row__integer(part->java_id));
        json_array_append_new(
            waiting, part->since_ns ? json_row__integer(since(view, part->since_ns)) : json_null());
    }
    json_object_set_new(object, "threads", threads);
    json_object_set_new(object, "locks", locks);
    json_object_set_new(object, "paths", paths);
    json_object_set_new(object, "behind", behind);
    json_object_set_new(object, "thread_ids", ids);
    json_object_set_new(object, "waiting_ns", waiting);
    json_object_set_new(object, "since_ns",
                        deadlock->since_ns ? json_row__integer(epoch(view, deadlock->since_ns))
                                           : json_null());
    json_object_set_new(object, "found_ns",
                        json_row__integer(epoch(view, deadlock->parts[0].found_ns)));
    json_object_set_new(object, "ends_by_itself", json_boolean(deadlock->is_timed));
    return object;
}

/* locks: as the first thread took them; paths: of the first thread, and of the other. */
static json_t *pair_json(const struct hazard_pair *pair)
{
    json_t *object = json_object(), *locks = json_array(), *paths = json_array();
    json_t *threads = json_array(), *counts = json_array();

    for (unsigned i = 0; i < 2; i++) {
        json_array_append_new(locks, lock_json(&pair->orders[0]->locks[i]));
        json_array_append_new(paths, path_json(&pair->orders[i]->path));
        json_array_append_new(threads, json_row__text(pair->orders[i]->thread));
        json_array_append_new(counts, json_row__integer(pair->orders[i]->count));
    }
    json_object_set_new(object, "locks", locks);
    json_object_set_new(object, "paths", paths);
    json_object_set_new(object, "threads", threads);
    json_object_set_new(object, "counts", counts);
    json_object_set_new(object, "locks_known", json_boolean(pair->is_sure));
    return object;
}

static json_t *inversion_json(const struct view *view, const struct report_block *block)
{
    struct hazard_lock lock = lock_of(block);
    json_t *object = json_object();

    json_object_set_new(object, "lock", lock_json(&lock));
    json_object_set_new(object, "waiter", json_row__text(block->waiter));
    json_object_set_new(object, "waiter_priority", json_row__integer(block->waiter_priority));
    json_object_set_new(object, "holder", json_row__text(block->holder));
    json_object_set_new(object, "holder_priority", json_row__integer(block->holder_priority));
    json_object_set_new(object, "count", json_row__integer(block->count));
    json_object_set_new(object, "wait_ns", json_row__integer(block->wait_ns));
    json_object_set_new(object, "wait_max_ns", json_row__integer(block->wait_max_ns));
    json_object_set_new(object, "paths",
                        sides_json(view, &block->waiter_path, &block->holder_path));
    return object;
}

static json_t *convoy_json(const struct view *view, const struct hazard_convoy *convoy)
{
    json_t *object = json_object();

    json_object_set_new(object, "lock", lock_json(&convoy->lock));
    json_object_set_new(object, "count", json_row__integer(convoy->waits));
    json_object_set_new(object, "wait_ns", json_row__integer(convoy->wait_ns));
    json_object_set_new(object, "hold_ns", json_row__integer(convoy->hold_ns));
    json_object_set_new(object, "paths",
                        sides_json(view, &convoy->waiter.path, &convoy->holder.path));
    return object;
}

int view_hazards__json(const struct view *view)
{
    struct report_hazards *hazards = report_hazards__new(view->model);
    FILE *out = view->screen.out;

    fputs("{\"deadlocks\":[", out);
    for (uint32_t i = 0; i < hazards->deadlock_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, deadlock_json(view, &hazards->deadlocks[i]));
    }
    fputs("],\n\"lock_order\":[", out);
    for (uint32_t i = 0; i < hazards->pair_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, pair_json(&hazards->pairs[i]));
    }
    fputs("],\n\"inversions\":[", out);
    for (uint32_t i = 0; i < hazards->inversion_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, inversion_json(view, hazards->inversions[i].block));
    }
    fputs("],\n\"convoys\":[", out);
    for (uint32_t i = 0; i < hazards->convoy_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, convoy_json(view, &hazards->convoys[i]));
    }
    fprintf(out,
            "],\n\"looked_at\":{\"waits\":%" PRIu64 ",\"orders\":%" PRIu32
            ",\"ended_deadlocks\":%" PRIu32 "}",
            view->model->header.heard_waits, view->model->order_count, hazards->ended);
    view_samples__end_json(view);
    report_hazards__free(hazards);
    return 0;
}

/* ---- CSV: a record for each thread of a hazard ---- */

static void put_record(struct csv *csv, const char *hazard, uint32_t number, struct text thread,
                       const struct hazard_lock *waits_for, const struct hazard_lock *holds,
                       uint64_t ns)
{
    char *texts[2] = {lock_text(waits_for), holds ? lock_text(holds) : NULL};

    csv__word(csv, hazard);
    csv__integer(csv, number);
    csv__text(csv, thread);
    csv__text(csv, (struct text){texts[0], strlen(texts[0])});
    csv__text(csv, (struct text){texts[1] ? texts[1] : "", texts[1] ? strlen(texts[1]) : 0});
    csv__integer(csv, ns);
    csv__end_record(csv);
    free(texts[0]);
    free(texts[1]);
}

static void put_deadlock_records(struct csv *csv, const struct view *view,
                                 const struct hazard_deadlock *deadlock, uint32_t number)
{
    for (uint32_t i = 0; i < deadlock->count; i++) {
        const struct report_stuck *part = &deadlock->parts[i];
        const struct report_stuck *before =
            &deadlock->parts[(i + deadlock->count - 1) % deadlock->count];

        put_record(csv, "deadlock", number, part->thread, &part->lock,
                   before->is_behind ? NULL : &before->lock, since(view, part->since_ns));
    }
}

int view_hazards__csv(const struct view *view)
{
    static const char *const heads[] = {"hazard", "number", "thread", "lock", "held", "wait_ns"};
    struct report_hazards *hazards = report_hazards__new(view->model);
    struct csv csv = {.out = view->screen.out};

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < hazards->deadlock_count; i++)
        put_deadlock_records(&csv, view, &hazards->deadlocks[i], i + 1);
    for (uint32_t i = 0; i < hazards->pair_count; i++)
        for (unsigned side = 0; side < 2; side++) {
            const struct report_order *order = hazards->pairs[i].orders[side];

            put_record(&csv, "lock_order", i + 1, order->thread, &order->locks[1], &order->locks[0],
                       0);
        }
    for (uint32_t i = 0; i < hazards->inversion_count; i++) {
        const struct report_block *block = hazards->inversions[i].block;
        struct hazard_lock lock = lock_of(block);

        put_record(&csv, "inversion", i + 1, block->waiter, &lock, NULL, block->wait_ns);
    }
    for (uint32_t i = 0; i < hazards->convoy_count; i++)
        put_record(&csv, "convoy", i + 1, (struct text){"", 0}, &hazards->convoys[i].lock, NULL,
                   hazards->convoys[i].wait_ns);
    report_hazards__free(hazards);
    return 0;
}
