/*
 * A database for SQLite: see sqlite_schema.h. Written in one transaction without a journal, for the
 * file is thrown away if anything fails.
 */
#include "native/metrics/kernel_metrics.h"
#include "tools/export/export_format.h"
#include "tools/export/frame_names.h"
#include "tools/export/sqlite_schema.h"
#include "tools/export/subtree_sums.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_callers.h"
#include "tools/report/report_errors.h"
#include "tools/report/report_flat.h"
#include "tools/report/report_losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sqlite_writer {
    const struct export_job *job;
    sqlite3 *database;
    sqlite3_stmt *row; /* of the table that is being filled */
    int place;         /* of its value bound last */
    int result;        /* SQLITE_OK, or what came first */
};

static void note(struct sqlite_writer *writer, int result)
{
    if (writer->result == SQLITE_OK && result != SQLITE_DONE)
        writer->result = result;
}

static void begin_table(struct sqlite_writer *writer, enum schema_table_id table)
{
    sqlite3_finalize(writer->row);
    writer->row = NULL;
    writer->place = 0;
    if (writer->result == SQLITE_OK)
        note(writer, sqlite_schema__prepare_insert(writer->database, table, &writer->row));
}

static void put_signed(struct sqlite_writer *writer, int64_t value)
{
    if (writer->result == SQLITE_OK)
        note(writer, sqlite3_bind_int64(writer->row, ++writer->place, value));
}

/* SQLite's integers have 63 bits; what is beyond is cut to the largest. */
static void put(struct sqlite_writer *writer, uint64_t value)
{
    put_signed(writer, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void put_null(struct sqlite_writer *writer)
{
    if (writer->result == SQLITE_OK)
        note(writer, sqlite3_bind_null(writer->row, ++writer->place));
}

static void put_index(struct sqlite_writer *writer, uint32_t index)
{
    if (index == REPORT_NONE)
        put_null(writer);
    else
        put(writer, index);
}

/* SQL's functions end at a NUL: each becomes U+2400, its symbol. */
static void put_text(struct sqlite_writer *writer, struct text text)
{
    char *shown = NULL;
    size_t length = 0;

    if (writer->result != SQLITE_OK)
        return;
    if (!text.bytes)
        text = (struct text){"", 0};
    if (!memchr(text.bytes, '\0', text.length)) {
        note(writer, sqlite3_bind_text64(writer->row, ++writer->place, text.bytes, text.length,
                                         SQLITE_STATIC, SQLITE_UTF8));
        return;
    }
    FILE *out = open_memstream(&shown, &length);
    for (size_t i = 0; out && i < text.length; i++)
        if (text.bytes[i])
            fputc(text.bytes[i], out);
        else
            fputs("\xe2\x90\x80", out);
    bool whole = out && fclose(out) == 0;
    note(writer, whole ? sqlite3_bind_text64(writer->row, ++writer->place, shown, length,
                                             SQLITE_TRANSIENT, SQLITE_UTF8)
                       : SQLITE_NOMEM);
    free(shown);
}

static void put_word(struct sqlite_writer *writer, const char *word)
{
    put_text(writer, (struct text){word, strlen(word)});
}

static void end_row(struct sqlite_writer *writer)
{
    writer->place = 0;
    if (writer->result != SQLITE_OK)
        return;
    note(writer, sqlite3_step(writer->row));
    note(writer, sqlite3_reset(writer->row));
}

static void fill_process(struct sqlite_writer *writer)
{
    static const char *const lives[] = {
        [LEDGER_IS_CLOSED] = "closed", [LEDGER_IS_LIVE] = "live", [LEDGER_IS_ORPHAN] = "orphan"};
    const struct report_model *model = writer->job->model;
    const struct ledger_header *header = &model->header;

    begin_table(writer, TABLE_PROCESS);
    put_signed(writer, header->pid);
    put_text(writer, model->command);
    put_text(writer, model->jvm);
    put_text(writer, model->machine);
    put_text(writer, model->options);
    put_word(writer, lives[model->life]);
    put(writer, report_process__start_ns(header));
    put(writer, report_model__epoch_ns(model, report_model__asof_ns(model)));
    put(writer, report_process__wall_ns(model));
    put(writer, header->unprofiled_wall_ns);
    put(writer, header->process_cpu_ns);
    put(writer, header->process_user_ns);
    put(writer, header->process_system_ns);
    end_row(writer);
}

static void fill_balance(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;
    const struct ledger_header *header = &model->header;
    struct report_balance balance = report_balance__of(model);

    begin_table(writer, TABLE_BALANCE);
    put(writer, balance.kernel_ns);
    put(writer, balance.charged_ns);
    put(writer, balance.java_ns);
    put(writer, balance.vm_ns);
    put(writer, balance.native_ns);
    put(writer, balance.last_moments_ns);
    put_signed(writer, balance.difference_ns);
    put_signed(writer, balance.difference_ppm);
    put_word(writer, report_clock__name(header->clock_kind));
    put_word(writer, report_events__name(header->event_mode));
    end_row(writer);
    begin_table(writer, TABLE_LOSSES);
    for (unsigned i = 0; i < REPORT_LOSSES; i++) {
        struct report_loss loss = report_loss__of(header, i);

        put_word(writer, loss.key);
        put(writer, loss.count);
        put_word(writer, loss.meaning);
        end_row(writer);
    }
    char partial[PARTIAL_TEXT_BYTES];
    report_losses__partial(model->present_bytes, model->missing_bytes, header, partial);
    put_word(writer, "missing_bytes");
    put(writer, model->missing_bytes);
    put_word(writer, partial[0] ? partial : "bytes of the ledger's file are missing");
    end_row(writer);
}

static void fill_metrics(struct sqlite_writer *writer)
{
    static const char *const units[] = {
        [UNIT_NS] = "ns", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes"};
    const struct ledger_header *header = &writer->job->model->header;

    begin_table(writer, TABLE_METRICS);
    for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
        if (!(report_columns__of_threads(header) & COLUMN_BIT(column)))
            continue;
        put_word(writer, report_column__csv_name(column));
        put_word(writer, units[report_column__unit(column)]);
        put(writer, writer->job->model->base[column] != NULL);
        end_row(writer);
    }
}

static void put_moment(struct sqlite_writer *writer, uint64_t ledger_ns, bool known)
{
    if (known)
        put(writer, report_model__epoch_ns(writer->job->model, ledger_ns));
    else
        put_null(writer);
}

static void put_thread(struct sqlite_writer *writer, uint32_t index)
{
    const struct report_model *model = writer->job->model;
    const struct report_thread *thread = &model->threads[index];
    uint64_t columns = report_columns__of_threads(&model->header);
    bool has_nodes = thread->first_node < thread->end_node;

    put(writer, index);
    put_text(writer, thread->name);
    put_word(writer, report_thread_kind__name(thread->kind));
    put_index(writer, thread->parent);
    put_text(writer, thread->group_name);
    put(writer, thread->java_id);
    put(writer, (thread->flags & THREAD_DAEMON) != 0);
    put(writer, (thread->flags & THREAD_TERMINATED) != 0);
    put(writer, thread->members);
    put_moment(writer, thread->start_ns, true);
    put_moment(writer, thread->end_ns, thread->end_ns != 0);
    put(writer, report_thread__waiting_ns(model, thread));
    put(writer, thread->mounts);
    put(writer, thread->pinned);
    put(writer, thread->parked_ns);
    put(writer, thread->lost_enters);
    put_index(writer, has_nodes ? thread->first_node : REPORT_NONE);
    put_index(writer, has_nodes ? thread->end_node - 1 : REPORT_NONE);
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column))
            put(writer, report_thread__value(thread, column));
    end_row(writer);
}

static void fill_threads(struct sqlite_writer *writer)
{
    begin_table(writer, TABLE_THREADS);
    for (uint32_t i = 0; i < writer->job->model->thread_count; i++)
        if (writer->job->selected[i])
            put_thread(writer, i);
}

static void fill_thread_names(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;

    begin_table(writer, TABLE_THREAD_TIDS);
    for (uint32_t i = 0; i < model->thread_count; i++) {
        uint32_t tids = writer->job->selected[i] ? thread_tids__known(&model->threads[i]) : 0;

        for (uint32_t tid = 0; tid < tids; tid++) {
            put(writer, i);
            put_signed(writer, model->threads[i].tids[tid]);
            end_row(writer);
        }
    }
    begin_table(writer, TABLE_RENAMES);
    for (uint32_t i = 0; i < model->thread_count; i++) {
        size_t renames = writer->job->selected[i] ? model->threads[i].rename_count : 0;

        for (size_t rename = 0; rename < renames; rename++) {
            put(writer, i);
            put(writer, rename + 1);
            put_text(writer, model->threads[i].renames[rename]);
            end_row(writer);
        }
    }
}

static void fill_methods(struct sqlite_writer *writer, const struct frame_names *names,
                         const struct subtree_sums *sums)
{
    const struct report_model *model = writer->job->model;

    begin_table(writer, TABLE_METHODS);
    for (uint32_t i = 0; i < model->method_count; i++) {
        const struct report_method *method = &model->methods[i];

        if (!names->items[i].bytes)
            continue;
        put(writer, i);
        put_text(writer, method->class_name);
        put_text(writer, method->name);
        put_text(writer, method->signature);
        put_text(writer, frame_file__of(method));
        put(writer, (method->flags & (METHOD_NATIVE | METHOD_SYMBOL)) != 0);
        put_text(writer, names->items[i]);
        put(writer, subtree_sums__is_wide(sums, i));
        end_row(writer);
    }
}

static void fill_sums_below(struct sqlite_writer *writer, struct subtree_sums *sums)
{
    const struct report_model *model = writer->job->model;

    begin_table(writer, TABLE_SUMS_BELOW);
    for (uint32_t top = 0; top < model->method_count; top++) {
        uint32_t count = 0;

        if (!subtree_sums__is_wide(sums, top))
            continue;
        const uint32_t *methods = subtree_sums__methods(sums, top, &count);
        for (uint32_t i = 0; i < count && writer->result == SQLITE_OK; i++) {
            put(writer, top);
            put(writer, methods[i]);
            for (enum report_column column = 0; column < COLUMN_COUNT; column++)
                if (model->base[column])
                    put(writer, subtree_sums__base(sums, methods[i], column));
            for (size_t column = 0; column < REPORT_ERROR_COLUMNS; column++)
                if (report_errors__are_known(model, report_error_columns[column]))
                    put(writer, subtree_sums__error(sums, methods[i], column));
            end_row(writer);
        }
    }
}

/* Of a row of nodes or methods. */
static void put_errors(struct sqlite_writer *writer,
                       struct report_errors *const errors[REPORT_ERROR_COLUMNS], uint32_t index)
{
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++) {
        if (!errors[i])
            continue;
        put(writer, errors[i]->base[index]);
        put(writer, errors[i]->cum[index]);
    }
}

static void fill_flat(struct sqlite_writer *writer, const struct frame_names *names)
{
    const struct report_model *model = writer->job->model;
    struct report_flat *flat = report_flat__new(model, writer->job->selected);
    struct report_errors *errors[REPORT_ERROR_COLUMNS];

    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        errors[i] =
            report_errors__of_methods(model, writer->job->selected, report_error_columns[i]);
    begin_table(writer, TABLE_FLAT);
    for (uint32_t i = 0; i < flat->row_count; i++) {
        const struct flat_row *row = &flat->rows[i];

        put(writer, row->method);
        put_text(writer, names->items[row->method]);
        put(writer, row->nodes);
        put(writer, row->deepest);
        for (size_t column = 0; column < COLUMN_COUNT; column++) {
            if (!model->base[column])
                continue;
            put(writer, row->base[column]);
            put(writer, row->cum[column]);
        }
        put_errors(writer, errors, row->method);
        end_row(writer);
    }
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        report_errors__free(errors[i]);
    report_flat__free(flat);
}

static void put_call(struct sqlite_writer *writer,
                     struct report_callers *const callers[REPORT_ERROR_COLUMNS], uint32_t index)
{
    const struct caller_edge *edge = &callers[0]->by_callee[index];

    put(writer, edge->caller);
    put(writer, edge->callee);
    for (size_t column = 0; column < callers[0]->column_count; column++) {
        put(writer, edge->base[column]);
        put(writer, edge->parent_cum[column]);
    }
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++) {
        if (!callers[i] || !report_errors__are_known(writer->job->model, report_error_columns[i]))
            continue;
        put(writer, callers[i]->by_callee[index].base_error);
        put(writer, callers[i]->by_callee[index].parent_error);
    }
    end_row(writer);
}

/* The same callers once for each metric that has errors: their order is the same, too. */
static void fill_calls(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;
    struct report_callers *callers[REPORT_ERROR_COLUMNS] = {NULL};

    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++) {
        struct report_errors *errors = report_errors__of_nodes(model, report_error_columns[i]);

        if (i == 0 || errors)
            callers[i] = report_callers__new(model, writer->job->selected, errors);
        report_errors__free(errors);
    }
    begin_table(writer, TABLE_CALLS);
    for (uint32_t i = 0; i < callers[0]->edge_count; i++)
        put_call(writer, callers, i);
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        if (callers[i])
            report_callers__free(callers[i]);
}

static void fill_tables_of_methods(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;
    struct subtree_sums *sums = subtree_sums__new(model, writer->job->selected);
    struct frame_names names;

    frame_names__make(&names, model, writer->job->selected);
    fill_methods(writer, &names, sums);
    fill_sums_below(writer, sums);
    fill_flat(writer, &names);
    fill_calls(writer);
    sqlite3_finalize(writer->row); /* which may have a text of `names` */
    writer->row = NULL;
    subtree_sums__free(sums);
    frame_names__release(&names);
}

static void fill_nodes(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;
    struct report_errors *errors[REPORT_ERROR_COLUMNS];

    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        errors[i] = report_errors__of_nodes(model, report_error_columns[i]);
    begin_table(writer, TABLE_NODES);
    for (uint32_t i = 0; i < model->node_count && writer->result == SQLITE_OK; i++) {
        const struct report_node *node = &model->nodes[i];

        if (!writer->job->selected[node->thread])
            continue;
        put(writer, i);
        put_index(writer, node->parent);
        put(writer, node->end - 1);
        put(writer, node->thread);
        put(writer, node->method);
        put_word(writer, report_node_kind__name(node->kind));
        put(writer, node->depth);
        put(writer, node->level);
        put(writer, node->level_max);
        for (size_t column = 0; column < COLUMN_COUNT; column++) {
            if (!model->base[column])
                continue;
            put(writer, model->base[column][i]);
            put(writer, model->cum[column][i]);
        }
        put_errors(writer, errors, i);
        end_row(writer);
    }
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        report_errors__free(errors[i]);
}

static void fill_kernel_threads(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;

    begin_table(writer, TABLE_KERNEL_THREADS);
    for (uint32_t i = 0; i < model->kernel_thread_count; i++) {
        const struct report_kernel_thread *row = &model->kernel_threads[i];

        put_signed(writer, row->tid);
        put_index(writer, row->thread);
        put(writer, row->kernel_cpu_ns);
        put(writer, row->charged_cpu_ns);
        end_row(writer);
    }
}

static void run(struct sqlite_writer *writer, const char *statements)
{
    if (writer->result == SQLITE_OK)
        note(writer, sqlite3_exec(writer->database, statements, NULL, NULL, NULL));
}

static uint64_t error_columns(const struct report_model *model)
{
    uint64_t columns = 0;

    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        if (report_errors__are_known(model, report_error_columns[i]))
            columns |= COLUMN_BIT(report_error_columns[i]);
    return columns;
}

static void fill(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;

    run(writer, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = "
                "EXCLUSIVE; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; BEGIN");
    if (writer->result == SQLITE_OK)
        note(writer, sqlite_schema__make_tables(writer->database,
                                                report_columns__of_threads(&model->header),
                                                model->columns, error_columns(model)));
    fill_process(writer);
    fill_balance(writer);
    fill_metrics(writer);
    fill_threads(writer);
    fill_thread_names(writer);
    fill_tables_of_methods(writer);
    fill_nodes(writer);
    fill_kernel_threads(writer);
    if (writer->result == SQLITE_OK)
        note(writer,
             sqlite_schema__make_views(writer->database, model->columns, error_columns(model)));
    run(writer, "COMMIT");
}

static int errno_of(const struct sqlite_writer *writer)
{
    int error = writer->database ? sqlite3_system_errno(writer->database) : 0;

    switch (writer->result & 0xff) {
    case SQLITE_OK:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_TOOBIG:
        return -EFBIG;
    default:
        return error ? -error : -EIO;
    }
}

int format_sqlite__write(const struct export_job *job, FILE *out, const char *path)
{
    (void)out;
    struct sqlite_writer writer = {.job = job};
    note(&writer, sqlite3_open_v2(path, &writer.database, SQLITE_OPEN_READWRITE, NULL));
    if (writer.result == SQLITE_OK)
        fill(&writer);
    int error = errno_of(&writer);
    sqlite3_finalize(writer.row);
    sqlite3_close(writer.database);
    return error;
}
