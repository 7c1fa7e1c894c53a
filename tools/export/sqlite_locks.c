#include "tools/export/sqlite_locks.h"

#include "tools/export/export_format.h"
#include "tools/views/view_blocks.h"

#include <stdlib.h>

/* NULL if it is not known. */
static void put_path(struct sqlite_writer *writer, const struct report_path *path, bool known)
{
    struct lock_path shown = {.path = *path, .is_known = known};
    struct text text = view_blocks__path(writer->job->model, &shown);

    if (writer->result == SQLITE_OK)
        sqlite_writer__note(writer,
                            known ? sqlite3_bind_text64(writer->row, ++writer->place, text.bytes,
                                                        text.length, SQLITE_TRANSIENT, SQLITE_UTF8)
                                  : sqlite3_bind_null(writer->row, ++writer->place));
    free((char *)(uintptr_t)text.bytes);
}

static void put_lock(struct sqlite_writer *writer, const struct report_block *block)
{
    sqlite_writer__put_text(writer, block->class_name);
    if (block->identity)
        sqlite_writer__put(writer, block->identity);
    else
        sqlite_writer__put_null(writer);
    sqlite_writer__put_word(writer, lock_kind__name(block->kind));
    sqlite_writer__put_text(writer, block->waiter);
}

static void put_known(struct sqlite_writer *writer, bool is_known, uint64_t value)
{
    if (is_known)
        sqlite_writer__put(writer, value);
    else
        sqlite_writer__put_null(writer);
}

static void put_block(struct sqlite_writer *writer, const struct report_block *block)
{
    put_lock(writer, block);
    if (block->holder_known)
        sqlite_writer__put_text(writer, block->holder);
    else
        sqlite_writer__put_null(writer);
    put_path(writer, &block->waiter_path, true);
    put_path(writer, &block->holder_path, block->holder_known);
    sqlite_writer__put(writer, block->count);
    sqlite_writer__put(writer, block->wait_ns);
    sqlite_writer__put(writer, block->wait_max_ns);
    sqlite_writer__put(writer, block->hold_ns);
    sqlite_writer__put(writer, block->hold_max_ns);
    put_known(writer, block->acquisitions != 0, block->acquisitions);
    put_known(writer, block->depth_max != 0, block->depth_max - 1u);
    sqlite_writer__end_row(writer);
}

static void fill_lock_waits(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;

    sqlite_writer__begin_table(writer, TABLE_LOCK_WAITS);
    for (uint32_t i = 0; i < model->block_count; i++)
        if (model->blocks[i].count)
            put_block(writer, &model->blocks[i]);
}

static void fill_lock_holds(struct sqlite_writer *writer)
{
    const struct report_model *model = writer->job->model;

    sqlite_writer__begin_table(writer, TABLE_LOCK_HOLDS);
    for (uint32_t i = 0; i < model->hold_count; i++) {
        const struct report_block *hold = &model->holds[i];

        if (!hold->count)
            continue;
        put_lock(writer, hold);
        put_path(writer, &hold->waiter_path, true);
        sqlite_writer__put(writer, hold->count);
        sqlite_writer__put(writer, hold->wait_ns);
        sqlite_writer__put(writer, hold->wait_max_ns);
        sqlite_writer__end_row(writer);
    }
}

void sqlite_locks__fill(struct sqlite_writer *writer)
{
    fill_lock_waits(writer);
    fill_lock_holds(writer);
}
