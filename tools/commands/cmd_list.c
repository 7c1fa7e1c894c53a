/* treadle list: which ledgers there are. */
#include "native/ledger/orphan_ledgers.h"
#include "tools/arguments/partial_argument.h"
#include "tools/command.h"
#include "tools/ledgers/ledger_summary.h"
#include "tools/ledgers/live_folders.h"
#include "tools/output/json_rows.h"
#include "tools/output/text_table.h"
#include "tools/report/quantity.h"
#include "tools/sample/segment_files.h"
#include "tools/views/view_losses.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum option_key {
    KEY_JSON = 256,
    KEY_REMOVE,
};

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "JSON: sizes in bytes, times in ns since the epoch", 0},
    {"remove", KEY_REMOVE, NULL, 0,
     "remove what your processes that are gone have left behind (orphans, timelines, logical "
     "stacks), and nothing else, and print their paths instead of a list",
     0},
    {0},
};

static const char doc[] =
    "List the ledgers of running JVMs (live, or stopped by treadle stop), the ledgers whose "
    "process "
    "has ended without closing them (orphans), and the snapshots in the working folder and in the "
    "working folders of running JVMs."
    "\vLive ledgers are looked for in /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR and /tmp. Those of other "
    "users are listed, but opened only if FILE names them; with FILE nothing else is listed.";

struct list_request {
    bool json;
    bool remove;
    bool partial;
    struct found_ledgers given;
    bool is_wrong; /* one that was given is not there */
};

static const struct argp_child children[] = {
    {&partial_argument, 0, NULL, 0},
    {0},
};

static error_t parse_list_option(int key, char *argument, struct argp_state *state)
{
    struct list_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->partial;
        break;
    case KEY_JSON:
        request->json = true;
        break;
    case KEY_REMOVE:
        request->remove = true;
        break;
    case ARGP_KEY_ARG:
        if (!found_ledgers__add(&request->given, argument)) {
            command__fail("%s: cannot be opened: %s", argument, strerror(errno));
            request->is_wrong = true;
        }
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* One ledger of the list. */
struct entry {
    const struct found_ledger *found;
    const char *state; /* as ledger_summary__state, or "unreadable" */
    int32_t pid;
    uint64_t start_ns; /* since the epoch, 0 if unknown */
    uint32_t threads;
    uint64_t present_bytes; /* as ledger_summary has them */
    uint64_t missing_bytes;
    struct text command;
    struct text error; /* what is wrong with it if it is unreadable */
};

#define LISTS 3u

struct listing {
    struct found_ledgers live;
    struct found_ledgers snapshots;
    struct found_ledgers left; /* files of other kinds whose processes are gone */
    struct text_store texts;
    bool allows_partial;
    bool is_partial;    /* one of them, and nobody allowed it */
    bool is_unreadable; /* a file that was named */
};

/* Others' files may be made to hurt whoever opens them. */
static void name_owner(struct entry *entry, struct text_store *texts)
{
    const struct passwd *owner = getpwuid(entry->found->owner);
    char text[64];

    if (owner)
        snprintf(text, sizeof(text), "(of %s, not opened)", owner->pw_name);
    else
        snprintf(text, sizeof(text), "(of user %u, not opened)", (unsigned)entry->found->owner);
    entry->state = "foreign";
    entry->command = text__from_java(texts, text, strlen(text));
}

static struct entry look_at(const struct found_ledger *found, struct listing *listing)
{
    struct text_store *texts = &listing->texts;
    struct entry entry = {
        .found = found, .state = "unreadable", .pid = (int32_t)found->pid, .command = {"", 0}};
    char message[512];
    struct ledger_summary summary;

    if (found->left) {
        entry.state = found->left;
        return entry;
    }
    if (!found->is_given && found_ledger__is_foreign(found)) {
        name_owner(&entry, texts);
        return entry;
    }
    if (ledger_summary__read(&summary, texts, found->path, message, sizeof(message)) != 0) {
        /* The message begins with the path, which has a column of its own. */
        const char *what = message + strlen(found->path);

        what += strncmp(what, ": ", 2) == 0 ? 2 : 0;
        listing->is_unreadable |= found->is_given;
        entry.error = text__from_java(texts, what, strlen(what));
        return entry;
    }
    entry.state = ledger_summary__state(&summary);
    entry.pid = summary.header.pid;
    entry.start_ns = summary.header.process_start_epoch_ns;
    entry.threads = summary.threads;
    entry.command = summary.command;
    entry.present_bytes = summary.present_bytes;
    entry.missing_bytes = summary.missing_bytes;
    if (partial_argument__judge_bytes(&summary.header, summary.present_bytes, summary.missing_bytes,
                                      found->path, listing->allows_partial))
        listing->is_partial = true;
    return entry;
}

static const struct table_column columns[] = {
    {"COMMAND", false, 0}, {"PID", true, 0},     {"STATE", false, 0}, {"STARTED", false, 2},
    {"SIZE", true, 3},     {"THREADS", true, 4}, {"PATH", false, 1},
};

static void add_line(struct text_table *table, const struct entry *entry,
                     const struct screen *screen)
{
    size_t line = text_table__add_row(table);
    bool readable = !entry->found->left && strcmp(entry->state, "unreadable") != 0 &&
                    strcmp(entry->state, "foreign") != 0;
    char pid[16] = "";
    char threads[16] = "";
    struct text path = {entry->found->path, strlen(entry->found->path)};
    struct text_store texts = {0};
    char *printable = text__printable(text__from_java(&texts, path.bytes, path.length), 0);

    if (entry->pid)
        snprintf(pid, sizeof(pid), "%" PRId32, entry->pid);
    else if (readable)
        snprintf(pid, sizeof(pid), "merged");
    if (readable)
        snprintf(threads, sizeof(threads), "%" PRIu32, entry->threads);
    text_table__set_name(table, line, entry->command);
    text_table__set(table, line, 1, pid);
    text_table__set(table, line, 2, entry->state);
    if (entry->start_ns)
        text_table__set(table, line, 3, quantity__moment(entry->start_ns).text);
    text_table__set(table, line, 4, quantity__bytes(entry->found->bytes).text);
    text_table__set(table, line, 5, threads);
    text_table__set(table, line, 6, printable);
    if (strcmp(entry->state, "live") != 0 && strcmp(entry->state, "stopped") != 0)
        text_table__set_colour(table, line,
                               entry->error.length ? screen__warn(screen) : screen__dim(screen));
    free(printable);
    text_store__release(&texts);
}

static void write_entry(const struct entry *entry)
{
    struct text_store texts = {0};
    json_t *object = json_object();

    json_object_set_new(object, "pid", json_integer(entry->pid));
    json_object_set_new(object, "state", json_string(entry->state));
    json_object_set_new(object, "start_ns", json_row__integer(entry->start_ns));
    json_object_set_new(object, "uid", json_integer((json_int_t)entry->found->owner));
    json_object_set_new(object, "bytes", json_row__integer(entry->found->bytes));
    json_object_set_new(object, "threads", json_integer(entry->threads));
    json_object_set_new(object, "command", json_row__text(entry->command));
    if (entry->missing_bytes)
        json_object_set_new(object, "partial",
                            view_losses__partial_json(entry->present_bytes, entry->missing_bytes));
    if (entry->error.length)
        json_object_set_new(object, "error", json_row__text(entry->error));
    json_object_set_new(
        object, "path",
        json_row__text(text__from_java(&texts, entry->found->path, strlen(entry->found->path))));
    json_row__write(stdout, object);
    text_store__release(&texts);
}

static int list_json(struct listing *listing)
{
    const struct found_ledgers *lists[] = {&listing->live, &listing->left, &listing->snapshots};
    const char *before = "\n";

    fputs("{\"ledgers\":[", stdout);
    for (size_t list = 0; list < LISTS; list++)
        for (size_t i = 0; i < lists[list]->count; i++) {
            struct entry entry = look_at(&lists[list]->items[i], listing);

            fputs(before, stdout);
            before = ",\n";
            write_entry(&entry);
        }
    fputs("]}\n", stdout);
    return EXIT_FINE;
}

static int list_text(struct listing *listing)
{
    const struct found_ledgers *lists[] = {&listing->live, &listing->left, &listing->snapshots};
    struct screen screen = screen__stdout();
    struct text_table *table = text_table__new(columns, sizeof(columns) / sizeof(columns[0]));

    for (size_t list = 0; list < LISTS; list++)
        for (size_t i = 0; i < lists[list]->count; i++) {
            struct entry entry = look_at(&lists[list]->items[i], listing);

            add_line(table, &entry, &screen);
            if (entry.error.length)
                command__note("%s: %s", entry.found->path, entry.error.bytes);
        }
    int error = 0;
    if (listing->live.count + listing->left.count + listing->snapshots.count == 0)
        puts("no ledgers in /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR, /tmp or the working folder");
    else
        error = text_table__print(table, &screen);
    text_table__free(table);
    return error ? command__fail("the list cannot be shown: %s", strerror(-error)) : EXIT_FINE;
}

static void remove_all(struct found_ledgers *found)
{
    for (size_t i = 0; i < found->count; i++) {
        struct found_ledger *ledger = &found->items[i];

        ledger->is_removed =
            orphan_ledger__remove(ledger->path) || segment_files__remove(ledger->path);
    }
}

/* Whatever it is that is no orphan, or another user's, stays. */
static int show_removed(const struct found_ledgers *found)
{
    int status = EXIT_FINE;

    for (size_t i = 0; i < found->count; i++) {
        const struct found_ledger *ledger = &found->items[i];

        if (ledger->is_removed)
            puts(ledger->path);
        else if (ledger->is_given)
            status = command__fail("%s: not removed: it is no orphan of yours", ledger->path);
    }
    return status;
}

/* All are removed before the first is shown: the reader may wait, or go away. */
static int remove_orphans(struct found_ledgers *found, struct found_ledgers *left)
{
    remove_all(found);
    remove_all(left);
    return show_removed(found) | show_removed(left);
}

static void add_left(struct found_ledgers *left, const char *path, pid_t pid, const char *what)
{
    struct found_ledger *added;

    if (!found_ledgers__add(left, path))
        return;
    added = &left->items[left->count - 1];
    added->is_given = false;
    added->pid = pid;
    added->left = what;
}

/* /dev/shm/treadle-PID-RANDOM.activity; 0: something else. */
static pid_t pid_of_segment(const char *path)
{
    static const char before[] = "/treadle-";
    const char *slash = strrchr(path, '/');
    char *end;
    long pid;

    if (!slash || strncmp(slash, before, strlen(before)) != 0)
        return 0;
    pid = strtol(slash + strlen(before), &end, 10);
    return *end == '-' && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* What else processes leave behind: timelines whose ledgers are gone, and logical stacks. */
static void find_left(struct found_ledgers *left)
{
    struct found_ledgers timelines = {0};
    struct segment_files segments = {0};

    live_folders__find_timelines(&timelines);
    for (size_t i = 0; i < timelines.count; i++)
        if (orphan_ledger__is(timelines.items[i].path))
            add_left(left, timelines.items[i].path, timelines.items[i].pid, "timeline");
    found_ledgers__release(&timelines);
    segment_files__find(&segments, 0, false);
    for (size_t i = 0; i < segments.count; i++)
        if (segment_files__is_left(segments.paths[i]))
            add_left(left, segments.paths[i], pid_of_segment(segments.paths[i]), "stacks");
    segment_files__release(&segments);
}

static void find_all(struct listing *listing)
{
    live_folders__find(&listing->live, 0);
    find_left(&listing->left);
}

int cmd_list(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_list_option,
                                     .args_doc = "[FILE]...",
                                     .doc = doc,
                                     .children = children};
    struct listing listing = {0};
    struct list_request request = {0};

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    listing.allows_partial = request.partial;
    listing.snapshots = request.given;
    if (!request.given.count && !request.is_wrong)
        find_all(&listing);
    if (!request.given.count && !request.is_wrong && !request.remove) {
        live_folders__find_snapshots(&listing.snapshots);
        live_folders__find_snapshots_beside(&listing.snapshots, &listing.live);
    }
    int status = EXIT_BAD_INPUT;
    if (request.remove && !request.is_wrong)
        status =
            remove_orphans(request.given.count ? &request.given : &listing.live, &listing.left);
    else if (!request.is_wrong)
        status = request.json ? list_json(&listing) : list_text(&listing);
    found_ledgers__release(&listing.live);
    found_ledgers__release(&listing.left);
    found_ledgers__release(&listing.snapshots);
    text_store__release(&listing.texts);
    bool is_bad = listing.is_partial || listing.is_unreadable;
    return partial_argument__status(status, is_bad ? EXIT_BAD_INPUT : EXIT_FINE);
}
