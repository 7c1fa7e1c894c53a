/*
 * The tables and views of an export as an SQLite database; README.md beside this file tells what
 * they mean.
 */
#ifndef TREADLE_SQLITE_SCHEMA_H
#define TREADLE_SQLITE_SCHEMA_H

#include "tools/report/report_columns.h"

#include <sqlite3.h>

/* One table: its columns with what SQLite is to know of them, NULL behind the last one. */
struct schema_table {
    const char *name;
    const char *const *columns;
    const char *key; /* what it is sorted by, if that is no number of its own; or NULL */
};

enum schema_table_id {
    TABLE_PROCESS,
    TABLE_BALANCE,
    TABLE_LOSSES,
    TABLE_METRICS,
    TABLE_THREADS, /* and a column a metric of threads behind the others */
    TABLE_THREAD_TIDS,
    TABLE_RENAMES,
    TABLE_METHODS,
    TABLE_NODES,      /* and base_ and cum_ columns: a pair a metric of nodes, then a pair of errors
                         for each of error_columns */
    TABLE_FLAT,       /* as TABLE_NODES */
    TABLE_CALLS,      /* ditto */
    TABLE_SUMS_BELOW, /* and base_ columns, and their errors */
    TABLE_KERNEL_THREADS,
    TABLE_LOCK_WAITS,
    TABLE_LOCK_HOLDS,
    TABLE_COUNT,
};

/* Makes all tables. An SQLite result code, as all below. */
int sqlite_schema__make_tables(sqlite3 *database, uint64_t thread_columns, uint64_t node_columns,
                               uint64_t error_columns);

/* Indexes and views, once the tables are filled, and what SQLite's planner is to know of them. */
int sqlite_schema__make_views(sqlite3 *database, uint64_t node_columns, uint64_t error_columns);

/* A statement that inserts one row into a table: a parameter a column, in their order. */
int sqlite_schema__prepare_insert(sqlite3 *database, enum schema_table_id table,
                                  sqlite3_stmt **statement);

#endif
