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
    "id INTEGER PRIMARY KEY", "class TEXT",   "name TEXT",
    "signature TEXT",         "source TEXT",  "native INTEGER",
    "full_name TEXT",         "wide INTEGER", NULL};

static const char *const nodes_columns[] = {"id INTEGER PRIMARY KEY", "parent INTEGER",
                                            "last INTEGER",           "thread INTEGER",
                                            "method INTEGER",         "kind TEXT",
                                            "depth INTEGER",          "recursion INTEGER",
                                            "recursion_max INTEGER",  NULL};

static const char *const flat_columns[] = {"method INTEGER PRIMARY KEY", "name TEXT",
                                           "nodes INTEGER", "deepest INTEGER", NULL};

static const char *const calls_columns[] = {"caller INTEGER", "callee INTEGER", NULL};

static const char *const sums_below_columns[] = {"top INTEGER", "method INTEGER", NULL};

static const char *const kernel_threads_columns[] = {
    "tid INTEGER", "thread INTEGER", "kernel_cpu_ns INTEGER", "charged_cpu_ns INTEGER", NULL};

static const char *const lock_waits_columns[] = {
    "lock_class TEXT",      "identity INTEGER",      "kind TEXT",
    "waiter TEXT",          "blocker TEXT",          "waiter_path TEXT",
    "blocker_path TEXT",    "count INTEGER",         "wait_ns INTEGER",
    "wait_max_ns INTEGER",  "hold_ns INTEGER",       "hold_max_ns INTEGER",
    "acquisitions INTEGER", "recursion_max INTEGER", NULL};

static const char *const lock_holds_columns[] = {
    "lock_class TEXT", "identity INTEGER", "kind TEXT",           "thread TEXT", "path TEXT",
    "count INTEGER",   "hold_ns INTEGER",  "hold_max_ns INTEGER", NULL};

static const struct schema_table tables[TABLE_COUNT] = {
    [TABLE_PROCESS] = {"process", process_columns, NULL},
    [TABLE_BALANCE] = {"balance", balance_columns, NULL},
    [TABLE_LOSSES] = {"losses", losses_columns, NULL},
    [TABLE_METRICS] = {"metrics", metrics_columns, NULL},
    [TABLE_THREADS] = {"threads", threads_columns, NULL},
    [TABLE_THREAD_TIDS] = {"thread_tids", thread_tids_columns, NULL},
    [TABLE_RENAMES] = {"renames", renames_columns, NULL},
    [TABLE_METHODS] = {"methods", methods_columns, NULL},
    [TABLE_NODES] = {"nodes", nodes_columns, NULL},
    [TABLE_FLAT] = {"flat", flat_columns, NULL},
    [TABLE_CALLS] = {"calls", calls_columns, "callee, caller"},
    [TABLE_SUMS_BELOW] = {"sums_below", sums_below_columns, "top, method"},
    [TABLE_KERNEL_THREADS] = {"kernel_threads", kernel_threads_columns, NULL},
    [TABLE_LOCK_WAITS] = {"lock_waits", lock_waits_columns, NULL},
    [TABLE_LOCK_HOLDS] = {"lock_holds", lock_holds_columns, NULL},
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

/* `format` once for each of the columns that errors are known of, with its name as both of its
 * arguments. */
static void append_errors(sqlite3_str *statement, uint64_t columns, const char *format)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
        const char *name = report_column__name(column);

        if (columns & COLUMN_BIT(column))
            sqlite3_str_appendf(statement, format, name, name);
    }
}

static int make_table(sqlite3 *database, enum schema_table_id id, uint64_t columns,
                      const char *format, uint64_t error_columns, const char *error_format)
{
    sqlite3_str *statement = sqlite3_str_new(database);

    sqlite3_str_appendf(statement, "CREATE TABLE %s (", tables[id].name);
    for (size_t i = 0; tables[id].columns[i]; i++)
        sqlite3_str_appendf(statement, "%s%s", i ? ", " : "", tables[id].columns[i]);
    append_each(statement, columns, format);
    append_errors(statement, error_columns, error_format);
    if (tables[id].key)
        sqlite3_str_appendf(statement, ", PRIMARY KEY (%s)) WITHOUT ROWID", tables[id].key);
    else
        sqlite3_str_appendall(statement, ")");
    return run(database, statement);
}

int sqlite_schema__make_tables(sqlite3 *database, uint64_t thread_columns, uint64_t node_columns,
                               uint64_t error_columns)
{
    static const char *const formats[TABLE_COUNT] = {
        [TABLE_THREADS] = ", %s INTEGER",
        [TABLE_NODES] = ", base_%s INTEGER, cum_%s INTEGER",
        [TABLE_FLAT] = ", base_%s INTEGER, cum_%s INTEGER",
        [TABLE_CALLS] = ", base_%s INTEGER, cum_%s INTEGER",
        [TABLE_SUMS_BELOW] = ", base_%s INTEGER",
    };
    static const char *const error_formats[TABLE_COUNT] = {
        [TABLE_NODES] = ", base_%s_error_ns INTEGER, cum_%s_error_ns INTEGER",
        [TABLE_FLAT] = ", base_%s_error_ns INTEGER, cum_%s_error_ns INTEGER",
        [TABLE_CALLS] = ", base_%s_error_ns INTEGER, cum_%s_error_ns INTEGER",
        [TABLE_SUMS_BELOW] = ", base_%s_error_ns INTEGER",
    };
    int result = SQLITE_OK;

    for (enum schema_table_id id = 0; id < TABLE_COUNT && result == SQLITE_OK; id++) {
        uint64_t columns = id == TABLE_THREADS ? thread_columns : node_columns;

        result = make_table(database, id, formats[id] ? columns : 0, formats[id],
                            error_formats[id] ? error_columns : 0, error_formats[id]);
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
 * nodes does not have to wait for the paths of all. Each node has a thread and a method; the outer
 * joins make the planner begin with the nodes, and so with an index of theirs. */
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
        "FROM nodes n LEFT JOIN threads t ON t.id = n.thread LEFT JOIN methods m ON m.id = "
        "n.method",
        NULL, NULL, NULL);
}

static int make_callers(sqlite3 *database, uint64_t columns, uint64_t error_columns)
{
    sqlite3_str *statement = sqlite3_str_new(database);

    sqlite3_str_appendall(statement,
                          "CREATE VIEW callers AS SELECT k.caller, c.full_name AS caller_name, "
                          "k.callee, m.full_name AS callee_name");
    append_each(statement, columns, ", k.base_%s, k.cum_%s");
    append_errors(statement, error_columns, ", k.base_%s_error_ns, k.cum_%s_error_ns");
    sqlite3_str_appendall(statement, " FROM calls k JOIN methods c ON c.id = k.caller "
                                     "JOIN methods m ON m.id = k.callee");
    return run(database, statement);
}

/* Below a wide method are too many nodes to be added up by whoever asks: their sums stand in
 * sums_below. The joins' order is given: it would be slow the other way round. */
static int make_below(sqlite3 *database, uint64_t columns, uint64_t error_columns)
{
    sqlite3_str *statement = sqlite3_str_new(database);

    sqlite3_str_appendall(statement, "CREATE VIEW below AS SELECT t.id AS top, "
                                     "t.full_name AS top_name, s.method, m.full_name AS name");
    append_each(statement, columns, ", s.base_%s");
    append_errors(statement, error_columns, ", s.base_%s_error_ns");
    sqlite3_str_appendall(statement, " FROM methods t CROSS JOIN sums_below s ON s.top = t.id "
                                     "CROSS JOIN methods m ON m.id = s.method UNION ALL "
                                     "SELECT t.id, t.full_name, b.method, m.full_name");
    append_each(statement, columns, ", b.base_%s");
    append_errors(statement, error_columns, ", b.base_%s_error_ns");
    sqlite3_str_appendall(
        statement, " FROM methods t CROSS JOIN nodes n ON n.method = t.id AND n.recursion = 0 "
                   "CROSS JOIN nodes b ON b.id BETWEEN n.id AND n.last "
                   "CROSS JOIN methods m ON m.id = b.method WHERE NOT t.wide");
    return run(database, statement);
}

/* One for each metric of nodes, for the largest first. Of most kernel metrics few nodes have any,
 * and the index has those only. */
static int make_metric_indexes(sqlite3 *database, uint64_t columns)
{
    sqlite3_str *statement = sqlite3_str_new(database);

    for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
        const char *name = report_column__csv_name(column);

        if (!(columns & COLUMN_BIT(column)))
            continue;
        sqlite3_str_appendf(statement, "CREATE INDEX nodes_by_%s ON nodes(base_%s)", name, name);
        if (column >= COLUMN_KERNEL)
            sqlite3_str_appendf(statement, " WHERE base_%s > 0", name);
        sqlite3_str_appendall(statement, ";");
    }
    return run(database, statement);
}

static int make_indexes(sqlite3 *database, uint64_t node_columns)
{
    int result = sqlite3_exec(database,
                              "CREATE INDEX nodes_by_parent ON nodes(parent);"
                              "CREATE INDEX nodes_by_method ON nodes(method, recursion, last);"
                              "CREATE INDEX nodes_by_thread ON nodes(thread, base_cpu_ns);"
                              "CREATE INDEX calls_by_caller ON calls(caller);"
                              "CREATE INDEX methods_by_name ON methods(full_name);"
                              "CREATE INDEX flat_by_name ON flat(name);"
                              "CREATE INDEX threads_by_name ON threads(name, cpu_ns);"
                              "CREATE INDEX threads_by_kind ON threads(kind, cpu_ns);"
                              "CREATE INDEX threads_by_cpu ON threads(cpu_ns);"
                              "CREATE INDEX thread_tids_by_tid ON thread_tids(tid, thread);"
                              "CREATE INDEX thread_tids_by_thread ON thread_tids(thread)",
                              NULL, NULL, NULL);

    return result == SQLITE_OK ? make_metric_indexes(database, node_columns) : result;
}

int sqlite_schema__make_views(sqlite3 *database, uint64_t node_columns, uint64_t error_columns)
{
    int result = make_indexes(database, node_columns);

    if (result == SQLITE_OK)
        result = make_paths(database);
    if (result == SQLITE_OK)
        result = make_callers(database, node_columns, error_columns);
    if (result == SQLITE_OK)
        result = make_below(database, node_columns, error_columns);
    if (result == SQLITE_OK)
        result = sqlite3_exec(database, "PRAGMA analysis_limit = 1000; ANALYZE", NULL, NULL, NULL);
    return result;
}
