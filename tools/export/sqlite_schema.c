#include "tools/export/sqlite_schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char *const process_columns[] = {"pid INTEGER",       "command TEXT",
                                              "jvm TEXT",          "machine TEXT",
                                              "options TEXT",      "ledger TEXT",
                                              "start_ns INTEGER",  "asof_ns INTEGER",
                                              "wall_ns INTEGER",   "unprofiled_ns INTEGER",
                                              "cpu_ns INTEGER",    "user_ns INTEGER",
                                              "system_ns INTEGER", NULL};

static const char *const balance_columns[] = {"kernel_cpu_ns INTEGER",
                                              "charged_cpu_ns INTEGER",
                                              "java_cpu_ns INTEGER",
                                              "vm_cpu_ns INTEGER",
                                              "native_cpu_ns INTEGER",
                                              "last_moments_cpu_ns INTEGER",
                                              "difference_ns INTEGER",
                                              "difference_ppm INTEGER",
                                              "clock TEXT",
                                              "events TEXT",
                                              NULL};

static const char *const losses_columns[] = {"name TEXT PRIMARY KEY", "count INTEGER",
                                             "meaning TEXT", NULL};

static const char *const metrics_columns[] = {"name TEXT PRIMARY KEY", "unit TEXT",
                                              "of_nodes INTEGER", NULL};

static const char *const threads_columns[] = {"id INTEGER PRIMARY KEY",
                                              "name TEXT",
                                              "kind TEXT",
                                              "parent INTEGER",
                                              "group_name TEXT",
                                              "java_id INTEGER",
                                              "daemon INTEGER",
                                              "ended INTEGER",
                                              "members INTEGER",
                                              "start_ns INTEGER",
                                              "end_ns INTEGER",
                                              "waiting_ns INTEGER",
                                              "mounts INTEGER",
                                              "times_pinned INTEGER",
                                              "parked_ns INTEGER",
                                              "lost_calls INTEGER",
                                              "first_node INTEGER",
                                              "last_node INTEGER",
                                              NULL};

static const char *const thread_tids_columns[] = {"thread INTEGER", "tid INTEGER", NULL};

static const char *const renames_columns[] = {"thread INTEGER", "position INTEGER", "name TEXT",
                                              NULL};

static const char *const methods_columns[] = {
    "id INTEGER PRIMARY KEY", "class TEXT",     "name TEXT", "signature TEXT", "source TEXT",
    "native INTEGER",         "full_name TEXT", NULL};

static const char *const nodes_columns[] = {
    "id INTEGER PRIMARY KEY", "parent INTEGER",    "last INTEGER",
    "thread INTEGER",         "method INTEGER",    "kind TEXT",
    "depth INTEGER",          "recursion INTEGER", NULL};

static const char *const kernel_threads_columns[] = {
    "tid INTEGER", "thread INTEGER", "kernel_cpu_ns INTEGER", "charged_cpu_ns INTEGER", NULL};

static const struct schema_table tables[TABLE_COUNT] = {
    [TABLE_PROCESS] = {"process", process_columns},
    [TABLE_BALANCE] = {"balance", balance_columns},
    [TABLE_LOSSES] = {"losses", losses_columns},
    [TABLE_METRICS] = {"metrics", metrics_columns},
    [TABLE_THREADS] = {"threads", threads_columns},
    [TABLE_THREAD_TIDS] = {"thread_tids", thread_tids_columns},
    [TABLE_RENAMES] = {"renames", renames_columns},
    [TABLE_METHODS] = {"methods", methods_columns},
    [TABLE_NODES] = {"nodes", nodes_columns},
    [TABLE_KERNEL_THREADS] = {"kernel_threads", kernel_threads_columns},
};

/* Runs the statement that was built, and releases it. */
static int run(sqlite3 *database, sqlite3_str *statement)
{
    int result = sqlite3_str_errcode(statement);
    char *text = sqlite3_str_finish(statement);
    if (result == SQLITE_OK)
        result = sqlite3_exec(database, text, NULL, NULL, NULL);
    sqlite3_free(text);
    return result;
}

/* `format` once for each of the columns, with the column's name as both of its arguments. */
static void append_each(sqlite3_str *statement, uint64_t columns, const char *format)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
        const char *name = report_column__csv_name(column);
        if (columns & COLUMN_BIT(column))
            sqlite3_str_appendf(statement, format, name, name);
    }
}

static int make_table(sqlite3 *database, enum schema_table_id id, uint64_t columns,
                      const char *format)
{
    sqlite3_str *statement = sqlite3_str_new(database);
    sqlite3_str_appendf(statement, "CREATE TABLE %s (", tables[id].name);
    for (size_t i = 0; tables[id].columns[i]; i++)
        sqlite3_str_appendf(statement, "%s%s", i ? ", " : "", tables[id].columns[i]);
    append_each(statement, columns, format);
    sqlite3_str_appendall(statement, ")");
    return run(database, statement);
}

int sqlite_schema__make_tables(sqlite3 *database, uint64_t thread_columns, uint64_t node_columns)
{
    int result = SQLITE_OK;
    for (enum schema_table_id id = 0; id < TABLE_COUNT && result == SQLITE_OK; id++) {
        if (id == TABLE_THREADS)
            result = make_table(database, id, thread_columns, ", %s INTEGER");
        else if (id == TABLE_NODES)
            result = make_table(database, id, node_columns, ", base_%s INTEGER, cum_%s INTEGER");
        else
            result = make_table(database, id, 0, "");
    }
    return result;
}

int sqlite_schema__prepare_insert(sqlite3 *database, enum schema_table_id table,
                                  sqlite3_stmt **statement)
{
    sqlite3_stmt *columns;
    sqlite3_str *insert = sqlite3_str_new(database);
    sqlite3_str_appendf(insert, "SELECT * FROM %s", tables[table].name);
    char *text = sqlite3_str_finish(insert);
    int result = sqlite3_prepare_v2(database, text, -1, &columns, NULL);
    sqlite3_free(text);
    if (result != SQLITE_OK)
        return result;
    insert = sqlite3_str_new(database);
    sqlite3_str_appendf(insert, "INSERT INTO %s VALUES (?", tables[table].name);
    for (int i = sqlite3_column_count(columns); i > 1; i--)
        sqlite3_str_appendall(insert, ", ?");
    sqlite3_str_appendall(insert, ")");
    sqlite3_finalize(columns);
    text = sqlite3_str_finish(insert);
    result = sqlite3_prepare_v2(database, text, -1, statement, NULL);
    sqlite3_free(text);
    return result;
}

/* Nodes with names, and the path from below their root to them, the outermost frame first; of a
 * path of more than 4000 characters its end. Made from each node upwards, so a question about some
 * nodes does not have to wait for the paths of all. */
static int make_paths(sqlite3 *database)
{
    return sqlite3_exec(
        database,
        "CREATE VIEW paths AS "
        "SELECT t.name AS thread_name, t.kind AS thread_kind, m.full_name AS method_name, "
        "CASE n.depth WHEN 0 THEN '' ELSE ("
        "WITH RECURSIVE up(parent, depth, path) AS ("
        "SELECT n.parent, n.depth, m.full_name UNION ALL "
        "SELECT above.parent, above.depth, frame.full_name || ';' || up.path "
        "FROM up JOIN nodes above ON above.id = up.parent JOIN methods frame ON frame.id = "
        "above.method WHERE up.depth > 1 AND length(up.path) <= 4000) "
        "SELECT CASE depth WHEN 1 THEN path ELSE '…;' || path END FROM up ORDER BY depth LIMIT 1) "
        "END AS path, n.* "
        "FROM nodes n JOIN threads t ON t.id = n.thread JOIN methods m ON m.id = n.method",
        NULL, NULL, NULL);
}

/* Cum counts a recursive method once: where it does not stand above itself. */
#define SUMS     ", sum(n.base_%s) AS base_%s"
#define CUM_SUMS ", sum(CASE n.recursion WHEN 0 THEN n.cum_%s ELSE 0 END) AS cum_%s"

static int make_flat(sqlite3 *database, uint64_t columns)
{
    sqlite3_str *statement = sqlite3_str_new(database);
    sqlite3_str_appendall(statement, "CREATE VIEW flat AS SELECT n.method AS method, m.full_name "
                                     "AS name, count(*) AS nodes");
    append_each(statement, columns, SUMS);
    append_each(statement, columns, CUM_SUMS);
    sqlite3_str_appendall(statement,
                          " FROM nodes n JOIN methods m ON m.id = n.method GROUP BY n.method");
    return run(database, statement);
}

static int make_callers(sqlite3 *database, uint64_t columns)
{
    sqlite3_str *statement = sqlite3_str_new(database);
    sqlite3_str_appendall(statement, "CREATE VIEW callers AS SELECT p.method AS caller, "
                                     "c.full_name AS caller_name, n.method AS callee, m.full_name "
                                     "AS callee_name, count(*) AS nodes");
    append_each(statement, columns, SUMS);
    append_each(statement, columns, CUM_SUMS);
    sqlite3_str_appendall(statement,
                          " FROM nodes n JOIN nodes p ON p.id = n.parent JOIN methods m ON m.id = "
                          "n.method JOIN methods c ON c.id = p.method GROUP BY p.method, n.method");
    return run(database, statement);
}

int sqlite_schema__make_views(sqlite3 *database, uint64_t node_columns)
{
    int result = sqlite3_exec(database,
                              "CREATE INDEX nodes_by_parent ON nodes(parent);"
                              "CREATE INDEX nodes_by_method ON nodes(method);"
                              "CREATE INDEX nodes_by_thread ON nodes(thread)",
                              NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = make_paths(database);
    if (result == SQLITE_OK)
        result = make_flat(database, node_columns);
    if (result == SQLITE_OK)
        result = make_callers(database, node_columns);
    return result;
}
