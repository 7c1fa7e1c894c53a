/*
 * A database for SQLite: see sqlite_schema.h. Written in one transaction without a journal, for the
 * file is thrown away if anything fails.
 */
#include "native/metrics/kernel_metrics.h"
#include "tools/export/export_format.h"
#include "tools/export/frame_names.h"
#include "tools/export/sqlite_locks.h"
#include "tools/export/sqlite_writer.h"
#include "tools/export/subtree_sums.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_callers.h"
#include "tools/report/report_errors.h"
#include "tools/report/report_flat.h"
#include "tools/report/report_losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void fill_process(struct sqlite_writer *writer)
{
    static const char *const lives[] = {
        [LEDGER_IS_CLOSED] = "closed", [LEDGER_IS_LIVE] = "live", [LEDGER_IS_ORPHAN] = "orphan"};
    const struct report_model *model = writer->job->model;
    const struct ledger_header *header = &model->header;

    sqlite_writer__begin_table(writer, TABLE_PROCESS);
    sqlite_writer__put_signed(writer, header->pid);
    sqlite_writer__put_text(writer, model->command);
    sqlite_writer__put_text(writer, model->jvm);
    sqlite_writer__put_text(writer, model->machine);
    sqlite_writer__put_text(writer, model->options);
    sqlite_writer__put_word(writer, lives[model->life]);
    sqlite_writer__put(writer, report_process__start_ns(header));
    sqlite_writer__put(writer, report_model__epoch_ns(model, report_model__asof_ns(model)));
    sqlite_writer__put(writer, report_process__wall_ns(model));
    sqlite_writer__put(writer, header->unprofiled_wall_ns);
    sqlite_writer__put(writer, header->process_cpu_ns);
    sqlite_writer__put(writer, header->process_user_ns);
    sqlite_writer__put(writer, header->process_system_ns);
    sqlite_writer__end_row(writer);
}

static void fill_balance(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;
    const struct ledger_header *header = &model->header;
    struct report_balance balance = report_balance__of(model);

    sqlite_writer__begin_table(writer, TABLE_BALANCE);
    sqlite_writer__put(writer, balance.kernel_ns);
    sqlite_writer__put(writer, balance.charged_ns);
    sqlite_writer__put(writer, balance.java_ns);
    sqlite_writer__put(writer, balance.vm_ns);
    sqlite_writer__put(writer, balance.native_ns);
    sqlite_writer__put(writer, balance.last_moments_ns);
    sqlite_writer__put_signed(writer, balance.difference_ns);
    sqlite_writer__put_signed(writer, balance.difference_ppm);
    sqlite_writer__put_word(writer, report_clock__name(header->clock_kind));
    sqlite_writer__put_word(writer, report_events__name(header->event_mode));
    sqlite_writer__end_row(writer);
    sqlite_writer__begin_table(writer, TABLE_LOSSES);
    for (unsigned i = 0; i < REPORT_LOSSES; i++) {
        struct report_loss loss = report_loss__of(header, i);

        sqlite_writer__put_word(writer, loss.key);
        sqlite_writer__put(writer, loss.count);
        sqlite_writer__put_word(writer, loss.meaning);
        sqlite_writer__end_row(writer);
    }
    char partial[PARTIAL_TEXT_BYTES];
    report_losses__partial(model->present_bytes, model->missing_bytes, header, partial);
    sqlite_writer__put_word(writer, "missing_bytes");
    sqlite_writer__put(writer, model->missing_bytes);
    sqlite_writer__put_word(writer,
                            partial[0] ? partial : "bytes of the ledger's file are missing");
    sqlite_writer__end_row(writer);
}

static void fill_metrics(struct sqlite_writer *writer)
{
    static const char *const units[] = {
        [UNIT_NS] = "ns", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes"};
    const struct ledger_header *header = &writer->job->model->header;

    sqlite_writer__begin_table(writer, TABLE_METRICS);
    for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
        if (!(report_columns__of_threads(header) & COLUMN_BIT(column)))
            continue;
        sqlite_writer__put_word(writer, report_column__csv_name(column));
        sqlite_writer__put_word(writer, units[report_column__unit(column)]);
        sqlite_writer__put(writer, writer->job->model->base[column] != NULL);
        sqlite_writer__end_row(writer);
    }
}

static void put_moment(struct sqlite_writer *writer, uint64_t ledger_ns, bool known)
{
    if (known)
        sqlite_writer__put(writer, report_model__epoch_ns(writer->job->model, ledger_ns));
    else
        sqlite_writer__put_null(writer);
}

static void put_thread(struct sqlite_writer *writer, uint32_t index)
{
    const struct report_model *model = writer->job->model;
    const struct report_thread *thread = &model->threads[index];
    uint64_t columns = report_columns__of_threads(&model->header);
    bool has_nodes = thread->first_node < thread->end_node;

    sqlite_writer__put(writer, index);
    sqlite_writer__put_text(writer, thread->name);
    sqlite_writer__put_word(writer, report_thread_kind__name(thread->kind));
    sqlite_writer__put_index(writer, thread->parent);
    sqlite_writer__put_text(writer, thread->group_name);
    sqlite_writer__put(writer, thread->java_id);
    sqlite_writer__put(writer, (thread->flags & THREAD_DAEMON) != 0);
    sqlite_writer__put(writer, (thread->flags & THREAD_TERMINATED) != 0);
    sqlite_writer__put(writer, thread->members);
    put_moment(writer, thread->start_ns, true);
    put_moment(writer, thread->end_ns, thread->end_ns != 0);
    sqlite_writer__put(writer, report_thread__waiting_ns(model, thread));
    sqlite_writer__put(writer, thread->mounts);
    sqlite_writer__put(writer, thread->pinned);
    sqlite_writer__put(writer, thread->parked_ns);
    sqlite_writer__put(writer, thread->lost_enters);
    sqlite_writer__put_index(writer, has_nodes ? thread->first_node : REPORT_NONE);
    sqlite_writer__put_index(writer, has_nodes ? thread->end_node - 1 : REPORT_NONE);
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column))
            sqlite_writer__put(writer, report_thread__value(thread, column));
    sqlite_writer__end_row(writer);
}

static void fill_threads(struct sqlite_writer *writer)
{
    sqlite_writer__begin_table(writer, TABLE_THREADS);
    for (uint32_t i = 0; i < writer->job->model->thread_count; i++)
        if (writer->job->selected[i])
            put_thread(writer, i);
}

static void fill_thread_names(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;

    sqlite_writer__begin_table(writer, TABLE_THREAD_TIDS);
    for (uint32_t i = 0; i < model->thread_count; i++) {
        uint32_t tids = writer->job->selected[i] ? thread_tids__known(&model->threads[i]) : 0;

        for (uint32_t tid = 0; tid < tids; tid++) {
            sqlite_writer__put(writer, i);
            sqlite_writer__put_signed(writer, model->threads[i].tids[tid]);
            sqlite_writer__end_row(writer);
        }
    }
    sqlite_writer__begin_table(writer, TABLE_RENAMES);
    for (uint32_t i = 0; i < model->thread_count; i++) {
        size_t renames = writer->job->selected[i] ? model->threads[i].rename_count : 0;

        for (size_t rename = 0; rename < renames; rename++) {
            sqlite_writer__put(writer, i);
            sqlite_writer__put(writer, rename + 1);
            sqlite_writer__put_text(writer, model->threads[i].renames[rename]);
            sqlite_writer__end_row(writer);
        }
    }
}

static void fill_methods(struct sqlite_writer *writer, const struct frame_names *names,
                         const struct subtree_sums *sums)
{
    const struct report_model *model = writer->job->model;

    sqlite_writer__begin_table(writer, TABLE_METHODS);
    for (uint32_t i = 0; i < model->method_count; i++) {
        const struct report_method *method = &model->methods[i];

        if (!names->items[i].bytes)
            continue;
        sqlite_writer__put(writer, i);
        sqlite_writer__put_text(writer, method->class_name);
        sqlite_writer__put_text(writer, method->name);
        sqlite_writer__put_text(writer, method->signature);
        sqlite_writer__put_text(writer, frame_file__of(method));
        sqlite_writer__put(writer, (method->flags & (METHOD_NATIVE | METHOD_SYMBOL)) != 0);
        sqlite_writer__put_text(writer, names->items[i]);
        sqlite_writer__put(writer, subtree_sums__is_wide(sums, i));
        sqlite_writer__end_row(writer);
    }
}

static void fill_sums_below(struct sqlite_writer *writer, struct subtree_sums *sums)
{
    const struct report_model *model = writer->job->model;

    sqlite_writer__begin_table(writer, TABLE_SUMS_BELOW);
    for (uint32_t top = 0; top < model->method_count; top++) {
        uint32_t count = 0;

        if (!subtree_sums__is_wide(sums, top))
            continue;
        const uint32_t *methods = subtree_sums__methods(sums, top, &count);
        for (uint32_t i = 0; i < count && writer->result == SQLITE_OK; i++) {
            sqlite_writer__put(writer, top);
            sqlite_writer__put(writer, methods[i]);
            for (enum report_column column = 0; column < COLUMN_COUNT; column++)
                if (model->base[column])
                    sqlite_writer__put(writer, subtree_sums__base(sums, methods[i], column));
            for (size_t column = 0; column < REPORT_ERROR_COLUMNS; column++)
                if (report_errors__are_known(model, report_error_columns[column]))
                    sqlite_writer__put(writer, subtree_sums__error(sums, methods[i], column));
            sqlite_writer__end_row(writer);
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
        sqlite_writer__put(writer, errors[i]->base[index]);
        sqlite_writer__put(writer, errors[i]->cum[index]);
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
    sqlite_writer__begin_table(writer, TABLE_FLAT);
    for (uint32_t i = 0; i < flat->row_count; i++) {
        const struct flat_row *row = &flat->rows[i];

        sqlite_writer__put(writer, row->method);
        sqlite_writer__put_text(writer, names->items[row->method]);
        sqlite_writer__put(writer, row->nodes);
        sqlite_writer__put(writer, row->deepest);
        for (size_t column = 0; column < COLUMN_COUNT; column++) {
            if (!model->base[column])
                continue;
            sqlite_writer__put(writer, row->base[column]);
            sqlite_writer__put(writer, row->cum[column]);
        }
        put_errors(writer, errors, row->method);
        sqlite_writer__end_row(writer);
    }
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        report_errors__free(errors[i]);
    report_flat__free(flat);
}

static void put_call(struct sqlite_writer *writer,
                     struct report_callers *const callers[REPORT_ERROR_COLUMNS], uint32_t index)
{
    const struct caller_edge *edge = &callers[0]->by_callee[index];

    sqlite_writer__put(writer, edge->caller);
    sqlite_writer__put(writer, edge->callee);
    for (size_t column = 0; column < callers[0]->column_count; column++) {
        sqlite_writer__put(writer, edge->base[column]);
        sqlite_writer__put(writer, edge->parent_cum[column]);
    }
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++) {
        if (!callers[i] || !report_errors__are_known(writer->job->model, report_error_columns[i]))
            continue;
        sqlite_writer__put(writer, callers[i]->by_callee[index].base_error);
        sqlite_writer__put(writer, callers[i]->by_callee[index].parent_error);
    }
    sqlite_writer__end_row(writer);
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
    sqlite_writer__begin_table(writer, TABLE_CALLS);
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
    sqlite_writer__begin_table(writer, TABLE_NODES);
    for (uint32_t i = 0; i < model->node_count && writer->result == SQLITE_OK; i++) {
        const struct report_node *node = &model->nodes[i];

        if (!writer->job->selected[node->thread])
            continue;
        sqlite_writer__put(writer, i);
        sqlite_writer__put_index(writer, node->parent);
        sqlite_writer__put(writer, node->end - 1);
        sqlite_writer__put(writer, node->thread);
        sqlite_writer__put(writer, node->method);
        sqlite_writer__put_word(writer, report_node_kind__name(node->kind));
        sqlite_writer__put(writer, node->depth);
        sqlite_writer__put(writer, node->level);
        sqlite_writer__put(writer, node->level_max);
        for (size_t column = 0; column < COLUMN_COUNT; column++) {
            if (!model->base[column])
                continue;
            sqlite_writer__put(writer, model->base[column][i]);
            sqlite_writer__put(writer, model->cum[column][i]);
        }
        put_errors(writer, errors, i);
        sqlite_writer__end_row(writer);
    }
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        report_errors__free(errors[i]);
}

static void fill_kernel_threads(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;

    sqlite_writer__begin_table(writer, TABLE_KERNEL_THREADS);
    for (uint32_t i = 0; i < model->kernel_thread_count; i++) {
        const struct report_kernel_thread *row = &model->kernel_threads[i];

        sqlite_writer__put_signed(writer, row->tid);
        sqlite_writer__put_index(writer, row->thread);
        sqlite_writer__put(writer, row->kernel_cpu_ns);
        sqlite_writer__put(writer, row->charged_cpu_ns);
        sqlite_writer__end_row(writer);
    }
}

static void run(struct sqlite_writer *writer, const char *statements)
{
    if (writer->result == SQLITE_OK)
        sqlite_writer__note(writer, sqlite3_exec(writer->database, statements, NULL, NULL, NULL));
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
        sqlite_writer__note(writer,
                            sqlite_schema__make_tables(writer->database,
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
    sqlite_locks__fill(writer);
    if (writer->result == SQLITE_OK)
        sqlite_writer__note(writer, sqlite_schema__make_views(writer->database, model->columns,
                                                              error_columns(model)));
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
    sqlite_writer__note(&writer,
                        sqlite3_open_v2(path, &writer.database, SQLITE_OPEN_READWRITE, NULL));
    if (writer.result == SQLITE_OK)
        fill(&writer);
    int error = errno_of(&writer);
    sqlite3_finalize(writer.row);
    sqlite3_close(writer.database);
    return error;
}
