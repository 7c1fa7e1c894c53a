/* The chains view: what requests cost in every thread and process that took part in them. */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_chains.h"
#include "tools/views/view_samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_CHAINS 10u /* as text, without --top */
#define PPM          1000000u
#define LABEL_BYTES  64u

static struct report_chains *chains_of(const struct view *view)
{
    static const char *const keys[] = {CHAIN_KEYS, NULL};
    const struct report_model **models =
        memory__zeroed(view->more_count + 1, sizeof(struct report_model *));
    struct report_chains *chains;

    models[0] = view->model;
    for (uint32_t i = 0; i < view->more_count; i++)
        models[i + 1] = view->more[i];
    chains = report_chains__new(models, view->more_count + 1, view->glob);
    free((void *)models);
    report_chains__sort(chains, (enum chain_order)view__sort_index(view, keys));
    return chains;
}

/* At most `most`; 0: all. */
static uint32_t shown(uint32_t count, uint32_t most)
{
    return most && most < count ? most : count;
}

static struct text frame_name(struct text_store *store, const struct chain_part *part, uint32_t i)
{
    return report_method__full_name(store, &part->model->methods[part->part->methods[i]]);
}

/* "request / scan ORDERS"; to be freed. */
static char *path_text(const struct chain_part *part)
{
    struct text_store names = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (!out)
        abort();
    if (part->part->depth > part->part->frames)
        fputs("… / ", out);
    for (uint32_t i = 0; i < part->part->frames; i++) {
        struct text name = frame_name(&names, part, i);

        fputs(i ? " / " : "", out);
        fwrite(name.bytes, 1, name.length, out);
    }
    fclose(out);
    text_store__release(&names);
    return text;
}

static const char *thread_of(const struct report_part *part)
{
    if (part->thread.length)
        return part->thread.bytes;
    return part->is_virtual ? "(virtual thread)" : "(no name)";
}

/* "explained" of a wait; 0 of 0 is no share. */
static uint64_t explained_ppm(uint64_t explained_ns, uint64_t wait_ns)
{
    return wait_ns ? (uint64_t)((unsigned __int128)explained_ns * PPM / wait_ns) : 0;
}

/* ---- text ---- */

enum {
    COLUMN_NAME,
    COLUMN_PID,
    COLUMN_THREAD,
    COLUMN_PARTS,
    COLUMN_AT,
    COLUMN_TIME,
    COLUMN_CPU_TIME,
    COLUMN_WAIT_TIME,
    COLUMN_EXPLAINED,
    CHAIN_COLUMNS,
};

static const struct table_column columns[CHAIN_COLUMNS] = {
    {"ACTIVITY", false, 0}, {"PID", true, 2},  {"THREAD", false, 4},
    {"PARTS", true, 3},     {"AT", true, 5},   {"TIME", true, 0},
    {"CPU", true, 0},       {"WAIT", true, 0}, {"EXPLAINED", true, 1},
};

static void set_times(struct text_table *table, size_t line, const struct chain_sum *sum)
{
    text_table__set(table, line, COLUMN_TIME, quantity__ns(sum->elapsed_ns).text);
    text_table__set(table, line, COLUMN_CPU_TIME, quantity__ns(sum->cpu_ns).text);
    text_table__set(table, line, COLUMN_WAIT_TIME, quantity__ns(sum->wait_ns).text);
    if (sum->wait_ns)
        text_table__set(table, line, COLUMN_EXPLAINED,
                        quantity__share(sum->explained_ns, sum->wait_ns).text);
}

static void set_pid(struct text_table *table, size_t line, const struct report_part *part)
{
    char pid[LABEL_BYTES];

    snprintf(pid, sizeof(pid), "%" PRId32, part->pid);
    text_table__set(table, line, COLUMN_PID, pid);
}

static int print_rows(const struct view *view, const struct report_chains *chains)
{
    struct text_table *table = text_table__new(columns, CHAIN_COLUMNS);
    int error;

    for (uint32_t i = 0; i < chains->row_count; i++) {
        const struct chain_sum *row = &chains->rows[i];
        const struct chain_part *part = chains->by_row[row->first];
        size_t line = text_table__add_row(table);
        char *path = path_text(part);

        text_table__set_name(table, line, (struct text){path, strlen(path)});
        set_pid(table, line, part->part);
        text_table__set(table, line, COLUMN_PARTS, quantity__count(row->count).text);
        set_times(table, line, row);
        free(path);
    }
    error = text_table__print(table, &view->screen);
    text_table__free(table);
    return error;
}

static void add_part(struct text_table *table, const struct chain_sum *chain,
                     const struct chain_part *part)
{
    const struct chain_sum alone = {.elapsed_ns = part->end_ns - part->begin_ns,
                                    .cpu_ns = part->part->cpu_ns,
                                    .wait_ns = part->wait_ns,
                                    .explained_ns = part->explained_ns};
    size_t line = text_table__add_row(table);
    char *path = path_text(part), *name = NULL;
    char *thread = text__printable_middle(
        (struct text){thread_of(part->part), strlen(thread_of(part->part))}, 40);

    if (asprintf(&name, "  %s%s", path,
                 part->part->is_open      ? " (under way)"
                 : part->part->is_unended ? " (its end was not seen)"
                                          : "") < 0)
        abort();
    text_table__set_name(table, line, (struct text){name, strlen(name)});
    set_pid(table, line, part->part);
    text_table__set(table, line, COLUMN_THREAD, thread);
    text_table__set(table, line, COLUMN_AT, quantity__ns(part->begin_ns - chain->begin_ns).text);
    if (!part->part->is_unended && !part->part->is_open)
        set_times(table, line, &alone);
    free(thread);
    free(name);
    free(path);
}

static int print_chains(const struct view *view, const struct report_chains *chains)
{
    struct text_table *table = text_table__new(columns, CHAIN_COLUMNS);
    uint32_t count = shown(chains->chain_count, view->top ? view->top : SHOWN_CHAINS);
    char id[CHAIN_ID_BYTES];
    int error;

    for (uint32_t i = 0; i < count; i++) {
        const struct chain_sum *chain = &chains->chains[i];
        size_t line = text_table__add_row(table);

        report_chains__id_text(chains->parts[chain->first].part->id, id);
        text_table__set(table, line, COLUMN_NAME, id);
        text_table__set(table, line, COLUMN_PARTS, quantity__count(chain->count).text);
        text_table__set(table, line, COLUMN_TIME,
                        quantity__ns(chain->end_ns - chain->begin_ns).text);
        text_table__set(table, line, COLUMN_CPU_TIME, quantity__ns(chain->cpu_ns).text);
        for (uint32_t part = 0; part < chain->count; part++)
            add_part(table, chain, &chains->parts[chain->first + part]);
    }
    error = text_table__print(table, &view->screen);
    text_table__free(table);
    if (!error && count < chains->chain_count)
        fprintf(view->screen.out, "(%" PRIu32 " more chains, not shown)\n",
                chains->chain_count - count);
    return error;
}

static void print_losses(const struct view *view, const struct chain_losses *losses)
{
    FILE *out = view->screen.out;

    if (losses->other_parts) {
        fprintf(out, "(other): %s gave way to later ones, with %s of CPU time",
                quantity__counted(losses->other_parts, "part").text,
                quantity__ns(losses->other_cpu_ns).text);
        fprintf(out, " in %s\n", quantity__ns(losses->other_ns).text);
    }
    if (losses->torn_parts)
        fprintf(out, "%s was being written when the ledger was: not shown\n",
                quantity__counted(losses->torn_parts, "part").text);
}

int view_chains__text(const struct view *view)
{
    struct report_chains *chains = chains_of(view);
    FILE *out = view->screen.out;
    int error = 0;

    fprintf(out,
            "%sWhat chains cost%s: activities with one id, in every thread and process; of a wait "
            "what parts that began later explain\n\n",
            screen__bold(&view->screen), screen__plain(&view->screen));
    if (chains->chain_count) {
        error = print_rows(view, chains);
        fprintf(out, "\n%s%s%s\n", screen__bold(&view->screen),
                quantity__counted(chains->chain_count, "chain").text, screen__plain(&view->screen));
        if (!error)
            error = print_chains(view, chains);
    } else {
        fputs("(no chains: activities get ids by treadle_begin and treadle_adopt of treadle.h, by "
              "begin and adopt of Java's Activity)\n",
              out);
    }
    if (!error)
        print_losses(view, &chains->losses);
    report_chains__free(chains);
    return error;
}

/* ---- JSON ---- */

static json_t *process_object(const struct report_part *part)
{
    json_t *object = json_object();

    json_object_set_new(object, "pid", json_integer(part->pid));
    if (part->process)
        json_object_set_new(object, "input", json_integer(part->process));
    return object;
}

static json_t *path_array(const struct chain_part *part)
{
    struct text_store names = {0};
    json_t *array = json_array();

    for (uint32_t i = 0; i < part->part->frames; i++)
        json_array_append_new(array, json_row__text(frame_name(&names, part, i)));
    text_store__release(&names);
    return array;
}

static void set_sums(json_t *object, const struct chain_sum *sum)
{
    json_object_set_new(object, "cpu_ns", json_row__integer(sum->cpu_ns));
    json_object_set_new(object, "wait_ns", json_row__integer(sum->wait_ns));
    json_object_set_new(object, "explained_ns", json_row__integer(sum->explained_ns));
    json_object_set_new(object, "explained_ppm",
                        json_row__integer(explained_ppm(sum->explained_ns, sum->wait_ns)));
}

static json_t *part_object(const struct chain_part *part)
{
    const struct report_part *record = part->part;
    const struct chain_sum alone = {
        .cpu_ns = record->cpu_ns, .wait_ns = part->wait_ns, .explained_ns = part->explained_ns};
    json_t *object = json_object();

    json_object_set_new(object, "process", process_object(record));
    json_object_set_new(object, "thread",
                        record->thread.length ? json_row__text(record->thread) : json_null());
    json_object_set_new(object, "thread_id",
                        record->java_id ? json_row__integer(record->java_id) : json_null());
    json_object_set_new(object, "virtual", json_boolean(record->is_virtual));
    json_object_set_new(object, "tid", json_integer(record->tid));
    json_object_set_new(object, "path", path_array(part));
    json_object_set_new(object, "depth", json_integer(record->depth));
    json_object_set_new(object, "begin_ns", json_row__integer(part->begin_ns));
    json_object_set_new(
        object, "elapsed_ns",
        json_row__integer(record->is_open ? part->end_ns - part->begin_ns : record->elapsed_ns));
    set_sums(object, &alone);
    json_object_set_new(object, "open", json_boolean(record->is_open));
    json_object_set_new(object, "end_seen", json_boolean(!record->is_unended && !record->is_open));
    json_object_set_new(object, "by", json_string("events"));
    json_object_set_new(object, "id_from", json_string(record->is_otel ? "otel" : "program"));
    return object;
}

static void write_chain(const struct view *view, const struct report_chains *chains,
                        const struct chain_sum *chain)
{
    json_t *object = json_object();
    char id[CHAIN_ID_BYTES];

    report_chains__id_text(chains->parts[chain->first].part->id, id);
    json_object_set_new(object, "id", json_string(id));
    json_object_set_new(object, "count", json_integer(chain->count));
    json_object_set_new(object, "begin_ns", json_row__integer(chain->begin_ns));
    json_object_set_new(object, "elapsed_ns", json_row__integer(chain->end_ns - chain->begin_ns));
    set_sums(object, chain);
    fputc('{', view->screen.out);
    json_row__write_members(view->screen.out, object);
    fputs(",\"parts\":[", view->screen.out);
    for (uint32_t i = 0; i < chain->count; i++) {
        fputs(i ? ",\n" : "", view->screen.out);
        json_row__write(view->screen.out, part_object(&chains->parts[chain->first + i]));
    }
    fputs("]}", view->screen.out);
}

static void write_row(const struct view *view, const struct report_chains *chains,
                      const struct chain_sum *row)
{
    const struct chain_part *part = chains->by_row[row->first];
    json_t *object = json_object();

    json_object_set_new(object, "process", process_object(part->part));
    json_object_set_new(object, "path", path_array(part));
    json_object_set_new(object, "count", json_integer(row->count));
    json_object_set_new(object, "elapsed_ns", json_row__integer(row->elapsed_ns));
    set_sums(object, row);
    json_row__write(view->screen.out, object);
}

static json_t *losses_object(const struct chain_losses *losses)
{
    json_t *object = json_object(), *other = json_object();

    json_object_set_new(other, "count", json_row__integer(losses->other_parts));
    json_object_set_new(other, "end_not_seen", json_row__integer(losses->other_unended));
    json_object_set_new(other, "cpu_ns", json_row__integer(losses->other_cpu_ns));
    json_object_set_new(other, "elapsed_ns", json_row__integer(losses->other_ns));
    json_object_set_new(object, "other", other);
    json_object_set_new(object, "lost_parts", json_row__integer(losses->lost_parts));
    json_object_set_new(object, "torn_parts", json_row__integer(losses->torn_parts));
    return object;
}

int view_chains__json(const struct view *view)
{
    struct report_chains *chains = chains_of(view);
    uint32_t count = shown(chains->chain_count, view->top);
    FILE *out = view->screen.out;

    fputs("{\"chains\":[", out);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_chain(view, chains, &chains->chains[i]);
    }
    fputs("],\n\"rows\":[", out);
    for (uint32_t i = 0; i < chains->row_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_row(view, chains, &chains->rows[i]);
    }
    fputs("],\n", out);
    json_row__write_members(out, losses_object(&chains->losses));
    view_samples__end_json(view);
    report_chains__free(chains);
    return 0;
}

/* ---- CSV: a record a part ---- */

static void put_part(struct csv *csv, const struct chain_part *part)
{
    const struct report_part *record = part->part;
    char *path = path_text(part), id[CHAIN_ID_BYTES];

    report_chains__id_text(record->id, id);
    csv__word(csv, id);
    csv__integer(csv, record->pid < 0 ? 0 : (uint64_t)record->pid);
    csv__text(csv, record->thread);
    csv__integer(csv, record->tid < 0 ? 0 : (uint64_t)record->tid);
    csv__text(csv, (struct text){path, strlen(path)});
    csv__integer(csv, part->begin_ns);
    csv__integer(csv, record->is_open ? part->end_ns - part->begin_ns : record->elapsed_ns);
    csv__integer(csv, record->cpu_ns);
    csv__integer(csv, part->wait_ns);
    csv__integer(csv, part->explained_ns);
    csv__word(csv, record->is_open ? "open" : record->is_unended ? "end not seen" : "whole");
    csv__end_record(csv);
    free(path);
}

int view_chains__csv(const struct view *view)
{
    static const char *const heads[] = {"id",      "pid",          "thread",     "tid",
                                        "path",    "begin_ns",     "elapsed_ns", "cpu_ns",
                                        "wait_ns", "explained_ns", "state"};
    struct report_chains *chains = chains_of(view);
    uint32_t count = shown(chains->chain_count, view->top);
    struct csv csv = {.out = view->screen.out};

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t part = 0; part < chains->chains[i].count; part++)
            put_part(&csv, &chains->parts[chains->chains[i].first + part]);
    report_chains__free(chains);
    return 0;
}
