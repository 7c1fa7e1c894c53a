#include "tools/arguments/since_argument.h"

#include "native/ledger/ledger_file.h"
#include "tools/arguments/partial_argument.h"
#include "tools/command.h"
#include "tools/ledgers/live_folders.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/report/quantity.h"
#include "tools/report/report_since.h"
#include "tools/symbols/native_symbols.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum option_key {
    KEY_SINCE = 0x10100, /* no command has that many */
    KEY_UNTIL,
};

static const struct argp_option options[] = {
    {"since", KEY_SINCE, "SNAPSHOT|TIME", 0,
     "only what happened after that snapshot of the same process: its file, or 12:30, 12:30:05, "
     "-30s, -5m, -2h: the last one taken by then, in the ledger's folder or the working folder",
     0},
    {"until", KEY_UNTIL, "SNAPSHOT|TIME", 0,
     "only what happened up to that snapshot, which is read instead of FILE or PID", 0},
    {0},
};

static error_t parse_moment(int key, char *argument, struct argp_state *state)
{
    struct since_options *given = state->input;

    if (key != KEY_SINCE && key != KEY_UNTIL)
        return ARGP_ERR_UNKNOWN;
    *(key == KEY_SINCE ? &given->since : &given->until) = argument;
    return 0;
}

const struct argp since_argument = {.options = options, .parser = parse_moment};

#define SECOND_NS UINT64_C(1000000000)
#define DAY_S     86400

struct search {
    struct ledger_header of;
    uid_t owner;        /* of the ledger that is searched for */
    uint64_t latest_ns; /* since the epoch */
    uint64_t best_ns;
    uint64_t first_ns; /* the earliest that there is; 0: none */
    char *best;
};

/* Files that nobody named: they are read if they are this user's, or of the ledger's owner, and
 * other users' are not opened. When root reads another user's ledger, it has that user's rights by
 * now. */
static bool is_readable(const struct search *search, uid_t owner)
{
    return owner == geteuid() || (geteuid() != 0 && owner == search->owner);
}

static bool read_header(const struct search *search, const char *path, struct ledger_header *header)
{
    char message[512];
    const struct ledger_complaint nobody = {path, message, sizeof(message)};
    struct stat file;
    int fd = ledger_file__open(path, &nobody);
    bool is_read = fd >= 0 && fstat(fd, &file) == 0 && is_readable(search, file.st_uid) &&
                   ledger_file__read_header(fd, header, &nobody) == 0;

    if (fd >= 0)
        close(fd);
    return is_read;
}

static bool is_same_process(const struct ledger_header *a, const struct ledger_header *b)
{
    return a->pid == b->pid && a->start_ticks == b->start_ticks && a->epoch_ns == b->epoch_ns &&
           memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id)) == 0;
}

static void consider(struct search *search, const struct found_ledger *found)
{
    struct ledger_header header;

    if (!is_readable(search, found->owner) || !read_header(search, found->path, &header) ||
        header.state != LEDGER_CLOSED || !is_same_process(&header, &search->of))
        return;
    uint64_t taken_ns = header.epoch_ns + header.asof_ns;
    if (taken_ns && (!search->first_ns || taken_ns < search->first_ns))
        search->first_ns = taken_ns;
    if (taken_ns > search->best_ns && taken_ns <= search->latest_ns) {
        free(search->best);
        search->best_ns = taken_ns;
        search->best = strdup(found->path);
    }
}

static void search_folder(struct search *search, const char *folder)
{
    struct found_ledgers found = {0};

    live_folders__find_snapshots_in(&found, folder);
    for (size_t i = 0; i < found.count; i++)
        consider(search, &found.items[i]);
    found_ledgers__release(&found);
}

/* "-30s" before `now_ns`; 0: not that. */
static uint64_t moment_before(const char *given, uint64_t now_ns)
{
    char *unit;
    unsigned long long count = strtoull(given + 1, &unit, 10);
    uint64_t seconds = *unit == 's' ? 1 : *unit == 'm' ? 60 : *unit == 'h' ? 3600 : 0;
    bool is_one = given[1] >= '0' && given[1] <= '9' && seconds && !unit[1];

    return is_one && count <= now_ns / SECOND_NS / seconds ? now_ns - count * seconds * SECOND_NS
                                                           : 0;
}

/* The moment that "12:30" or "-30s" is, seen from `now_ns`; 0: it is neither. Of a time of day it
 * is the end of that minute or second. */
static uint64_t moment_of(const char *given, uint64_t now_ns)
{
    if (given[0] == '-')
        return moment_before(given, now_ns);
    time_t now = (time_t)(now_ns / SECOND_NS);
    struct tm day;
    localtime_r(&now, &day);
    day.tm_sec = 0;
    day.tm_isdst = -1;
    const char *end = strptime(given, "%H:%M:%S", &day);
    bool has_seconds = end && !*end;
    if (!has_seconds) {
        day.tm_sec = 0;
        end = strptime(given, "%H:%M", &day);
    }
    if (!end || *end)
        return 0;
    time_t moment = mktime(&day);
    if (moment > now)
        moment -= DAY_S;
    return ((uint64_t)moment + (has_seconds ? 1 : 60)) * SECOND_NS - 1;
}

/* Returns the path of a snapshot, to be freed, or NULL after a line that says why there is none.
 * `given` names a file, or a time: "12:30" or "12:30:05" on the day on which the ledger in `path`
 * was taken or on the day before; "-30s", "-5m" or "-2h" before that ledger. A time means the last
 * snapshot of the same process up to then, in the ledger's folder or in the working folder. */
static char *find_snapshot(const char *option, const char *given, const char *path)
{
    struct search search = {0};
    char message[512];

    if (access(given, F_OK) == 0)
        return strdup(given);
    if (live_ledger__read_header(path, &search.of, &search.owner, message, sizeof(message)) != 0) {
        command__fail("%s", message);
        return NULL;
    }
    uint64_t asof_ns = search.of.state == LEDGER_CLOSED ? search.of.epoch_ns + search.of.asof_ns
                                                        : (uint64_t)time(NULL) * SECOND_NS;
    search.latest_ns = moment_of(given, asof_ns);
    if (!search.latest_ns) {
        command__fail("%s %s: neither a snapshot's file nor a time such as 12:30, 12:30:05 or -30s",
                      option, given);
        return NULL;
    }
    char *folder = strdup(path);
    if (folder)
        search_folder(&search, dirname(folder));
    free(folder);
    search_folder(&search, ".");
    if (!search.best && search.first_ns)
        command__fail("%s %s: no snapshot of process %d was taken by %s; the first one is of %s",
                      option, given, (int)search.of.pid, quantity__moment(search.latest_ns).text,
                      quantity__moment(search.first_ns).text);
    else if (!search.best)
        command__fail("%s %s: no snapshot of process %d lies beside %s or in the working folder; "
                      "`treadle dump` takes one",
                      option, given, (int)search.of.pid, path);
    return search.best;
}

int since_argument__resolve(const struct since_options *given, char **path, char **since,
                            bool partial, int *judged)
{
    if (given->until) {
        char *until = find_snapshot("--until", given->until, *path);
        free(*path);

        *path = until;
        if (!until)
            return EXIT_BAD_INPUT;
    }
    if (!given->since)
        return EXIT_FINE;
    *since = find_snapshot("--since", given->since, *path);
    if (!*since)
        return EXIT_BAD_INPUT;
    struct ledger_reader *reader = partial_argument__read(*since, partial, judged);
    int status = reader ? EXIT_FINE : EXIT_BAD_INPUT;
    ledger_reader__close(reader);
    return status;
}

static int refuse(const char *path, const char *since)
{
    return command__fail("%s: %s is no earlier snapshot of its process; `treadle diff` compares "
                         "any two",
                         path, since);
}

/* The ledger in `path`; NULL after a line. */
static struct report_model *load(const char *path, uint64_t columns)
{
    char message[512];
    struct ledger_reader *reader = live_ledger__read(path, message, sizeof(message));
    struct report_model *model = NULL;

    if (reader)
        model = native_symbols__load_model(reader, columns);
    else
        command__fail("%s", message);
    ledger_reader__close(reader);
    return model;
}

int since_argument__check(const char *path, const char *since)
{
    struct report_model *model = load(path, 0);
    struct report_model *before = model ? load(since, 0) : NULL;
    int status = before ? EXIT_FINE : EXIT_BAD_INPUT;

    if (before && !report_since__can_be(before, model))
        status = refuse(path, since);
    report_model__free(before);
    report_model__free(model);
    return status;
}

int since_argument__subtract(struct report_model *model, const char *path, const char *since,
                             uint64_t columns)
{
    struct report_model *before = load(since, columns);
    int status = before ? EXIT_FINE : EXIT_BAD_INPUT;

    if (before && report_since__can_be(before, model))
        report_since__subtract(model, before);
    else if (before)
        status = refuse(path, since);
    report_model__free(before);
    return status;
}
