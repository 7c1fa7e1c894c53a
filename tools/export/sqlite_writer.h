/*
 * Rows of an SQLite database, table by table. What comes first of all that goes wrong is kept, and
 * everything after that does nothing.
 */
#ifndef TREADLE_SQLITE_WRITER_H
#define TREADLE_SQLITE_WRITER_H

#include "tools/export/export_format.h"
#include "tools/export/sqlite_schema.h"

struct sqlite_writer {
    const struct export_job *job;
    sqlite3 *database;
    sqlite3_stmt *row; /* of the table that is being filled */
    int place;         /* of its value bound last */
    int result;        /* SQLITE_OK, or what came first */
};

/* An SQLite result code: kept, if nothing went wrong before. */
void sqlite_writer__note(struct sqlite_writer *writer, int result);

/* The rows from here on are of that table. */
void sqlite_writer__begin_table(struct sqlite_writer *writer, enum schema_table_id table);

/* The row's next value. Integers have 63 bits: what is beyond is cut to the largest. REPORT_NONE is
 * NULL. A text's bytes must stay until the row ends; SQL's functions end at a NUL, so each becomes
 * U+2400, its symbol. */
void sqlite_writer__put_signed(struct sqlite_writer *writer, int64_t value);
void sqlite_writer__put(struct sqlite_writer *writer, uint64_t value);
void sqlite_writer__put_null(struct sqlite_writer *writer);
void sqlite_writer__put_index(struct sqlite_writer *writer, uint32_t index);
void sqlite_writer__put_text(struct sqlite_writer *writer, struct text text);
void sqlite_writer__put_word(struct sqlite_writer *writer, const char *word);

/* Writes the row. */
void sqlite_writer__end_row(struct sqlite_writer *writer);

#endif
