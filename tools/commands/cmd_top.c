/* treadle top: which threads burn the machine now, and in which call path. */
#include "native/ledger/ledger_time.h"
#include "tools/arguments/ledger_argument.h"
#include "tools/arguments/option_values.h"
#include "tools/arguments/shared_options.h"
#include "tools/arguments/thread_filter.h"
#include "tools/command.h"
#include "tools/jvm/process_status.h"
#include "tools/ledgers/ledger_summary.h"
#include "tools/ledgers/live_folders.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/output/text_table.h"
#include "tools/report/memory.h"
#include "tools/report/nearest.h"
#include "tools/report/quantity.h"
#include "tools/top/top_json.h"
#include "tools/top/top_screen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL_DEFAULT_NS UINT64_C(1000000000)
#define NS_PER_MS           UINT64_C(1000000)
#define LISTED_MOST         6u

enum option_key {
    KEY_ONCE = 256,
};

static const struct argp_option options[] = {
    {"interval", 'i', "S", 0, "seconds between two readings, 0.1 to 3600 (1)", 0},
    {"once", KEY_ONCE, NULL, 0, "measure one interval, print it and end", 0},
    {"count", 'n', "N", 0, "end after N intervals", 0},
    {"sort", 's', "KEY", 0,
     "cpu (the default), waiting, calls, switches, faults, delay, mounts, pinned, parked, start or "
     "name",
     0},
    {"thread", 't', "GLOB", 0,
     "only threads whose name matches, such as 'http-*', or contains the word, such as http", 0},
    {"json", KEY_JSON, NULL, 0,
     "JSON, one line an interval: durations in ns, times since the epoch", 0},
    {0},
};

static const char doc[] =
    "Show live what the threads of a JVM consume, and the hot path of one of them. The JVM is not "
    "touched: its mapped ledger is read."
    "\vWith no PID or FILE: the live ledger, if there is only one. On a terminal: a full screen, "
    "on "
    "which h shows the keys. Else: lines, one interval after the other. "
    "Exit status 0 fine, 1 bad input, 2 bad usage.";

struct arguments {
    struct top_request request;
    struct shared_options shared;
    const char *source; /* PID or FILE, or NULL */
};

/* S in steps of a millisecond, without a locale's idea of a decimal point. */
static uint64_t parse_interval(const char *text, struct argp_state *state)
{
    static const char digits[] = "0123456789";
    size_t whole = strspn(text, digits);
    size_t part = text[whole] == '.' ? strspn(text + whole + 1, digits) : 0;
    uint64_t ms = 0;

    if (whole && whole <= 4 && (text[whole] ? part && !text[whole + 1 + part] : true)) {
        ms = strtoul(text, NULL, 10) * 1000;
        for (size_t i = 0, weight = 100; i < part; i++, weight /= 10)
            ms += (uint64_t)(text[whole + 1 + i] - '0') * weight;
    }
    if (ms < 100 || ms > 3600000) {
        argp_failure(state, 0, 0, "--interval '%s'; expected seconds, from 0.1 to 3600", text);
        exit(EXIT_BAD_USAGE);
    }
    return ms * NS_PER_MS;
}

static const struct interval_sort *parse_sort(const char *name, struct argp_state *state)
{
    const char *names[16];

    for (size_t i = 0; i < interval_sort_count; i++)
        names[i] = interval_sorts[i].name;
    return &interval_sorts[option_value__among(state, "sort key", name, names,
                                               interval_sort_count)];
}

static error_t parse_top_option(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct top_request *request = &arguments->request;

    switch (key) {
    case 'i':
        request->interval_ns = parse_interval(argument, state);
        break;
    case 'n':
        request->count = option_value__number("--count", argument, 1, state);
        break;
    case 's':
        request->sort = parse_sort(argument, state);
        break;
    case KEY_ONCE:
        request->once = true;
        break;
    case ARGP_KEY_ARG:
        if (arguments->source)
            argp_error(state, "one FILE or PID, not more");
        arguments->source = argument;
        break;
    case ARGP_KEY_END:
        if (request->once && request->count > 1)
            argp_error(state, "--once or --count, not both");
        request->threads = arguments->shared.threads;
        request->json = arguments->shared.json;
        break;
    default:
        return shared_option__parse(key, argument, state, &arguments->shared);
    }
    return 0;
}

/* ---- which ledger ---- */

struct candidates {
    struct found_ledgers found;
    const struct found_ledger **live;
    size_t count;
};

/* Of another user's the name and the owner tell all that is asked here: the file is not opened. */
static bool is_live(const struct found_ledger *found)
{
    struct text_store texts = {0};
    struct ledger_summary summary;
    struct process_status status;
    char message[512];
    bool live;

    if (!found_ledger__is_trusted(found))
        return false;
    if (found_ledger__is_foreign(found))
        return geteuid() == 0 && process_status__read(&status, found->pid) == 0 && !status.ended;
    live = ledger_summary__read(&summary, &texts, found->path, message, sizeof(message)) == 0 &&
           summary.life == LEDGER_IS_LIVE;
    text_store__release(&texts);
    return live;
}

/* What a person knows the process by, to be freed; NULL if nothing is known. */
static char *describe(const struct found_ledger *found)
{
    struct text_store texts = {0};
    struct ledger_summary summary;
    char message[512];
    char *text = NULL;

    if (found_ledger__is_foreign(found)) {
        if (asprintf(&text, "of user %u", (unsigned)found->owner) < 0)
            text = NULL;
    } else if (ledger_summary__read(&summary, &texts, found->path, message, sizeof(message)) == 0) {
        text = text__printable_middle(summary.command, 30);
    }
    text_store__release(&texts);
    return text;
}

/* Of several ledgers of one process the newest, which comes last. */
static void add_candidate(struct candidates *candidates, const struct found_ledger *found)
{
    for (size_t i = 0; i < candidates->count; i++)
        if (candidates->live[i]->pid == found->pid) {
            candidates->live[i] = found;
            return;
        }
    candidates->live[candidates->count++] = found;
}

/* One line of the processes that there are to choose from. */
static void fail_with_list(const struct candidates *candidates)
{
    char *line = NULL;
    size_t bytes;
    FILE *out = open_memstream(&line, &bytes);

    for (size_t i = 0; out && i < candidates->count && i < LISTED_MOST; i++) {
        char *what = describe(candidates->live[i]);

        fprintf(out, "%s%d (%s)", i ? ", " : "", (int)candidates->live[i]->pid, what ? what : "?");
        free(what);
    }
    if (out)
        (void)fclose(out);
    if (candidates->count)
        command__fail("which process? there are %s%s", line ? line : "",
                      candidates->count > LISTED_MOST ? " and more: see `treadle list`" : "");
    else
        command__fail("no JVM with a live ledger in /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR or /tmp; "
                      "name a PID, or see treadle-run(1) and treadle-attach(1)");
    free(line);
}

static char *find_only_one(void)
{
    struct candidates candidates = {0};
    char *path = NULL;

    live_folders__find(&candidates.found, 0);
    candidates.live = memory__zeroed(candidates.found.count, sizeof(const struct found_ledger *));
    for (size_t i = 0; i < candidates.found.count; i++)
        if (is_live(&candidates.found.items[i]))
            add_candidate(&candidates, &candidates.found.items[i]);
    if (candidates.count == 1)
        path = strdup(candidates.live[0]->path);
    else
        fail_with_list(&candidates);
    free((void *)candidates.live);
    found_ledgers__release(&candidates.found);
    return path;
}

/* The path of the ledger, to be freed; NULL after a line that says why not. */
static char *find_source(const char *source)
{
    pid_t pid;
    struct ledger_header header;
    char *path;

    if (!source)
        return find_only_one();
    if (!ledger_argument__is_pid(source))
        return strdup(source);
    if (!ledger_argument__pid(source, &pid))
        return NULL;
    path = live_ledger__of_running(pid, &header);
    if (path && header.pid != pid) {
        command__fail("process %d has a pid namespace of its own: run treadle top inside it",
                      (int)pid);
        free(path);
        return NULL;
    }
    return path ? path : live_ledger__find(pid);
}

/* ---- lines ---- */

static void print_line(char *line)
{
    puts(line);
    free(line);
}

static void print_interval(const struct top_view *view)
{
    struct top_layout layout = top_layout__of(view);

    for (unsigned i = 0; i < TOP_HEAD_LINES; i++)
        print_line(top_line__head(view, i));
    puts("");
    if (!view->count)
        return;
    print_line(top_line__titles(view, &layout));
    for (uint32_t i = 0; i < view->count; i++)
        print_line(top_line__row(view, &layout, &view->interval->row[view->order[i]]));
    puts("");
    const struct interval_row *first = &view->interval->row[view->order[0]];
    struct interval_path path = interval_path__of(view->interval, first);
    print_line(top_line__path_title(view, first, &path, 0));
    for (uint32_t i = 0; i < path.count; i++)
        print_line(top_line__step(view, &path, i));
    free(path.steps);
    puts("");
}

/* Whether any thread was chosen. */
static bool show(const struct top_request *request, const struct interval *interval)
{
    struct top_view view = {.interval = interval, .columns = screen__stdout().columns};
    uint32_t *order = interval_order__of(interval, request->threads, request->sort, &view.count);

    view.order = order;
    if (request->json)
        top_json__write(stdout, &view);
    else
        print_interval(&view);
    free(order);
    return view.count != 0;
}

/* Once, until it matches and then does no more: a thread of that name may begin any time. */
static void complain_of_filter(const struct top_request *request, const struct interval *interval)
{
    const struct report_model *const models[] = {interval->now};

    (void)thread_filter__refuse(request->path, request->threads, models, 1);
}

static void sleep_until(uint64_t due_ns)
{
    struct timespec due = {(time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
        continue;
}

static int print_all(const struct top_request *request, struct top_readings *readings)
{
    uint32_t shown = 0;
    bool was_any = true;           /* thread chosen, in the last interval; … */
    bool ever = !request->threads; /* … in any */

    while (!request->count || shown < request->count) {
        /* A single one is as long as was asked, whatever the reading costs. */
        sleep_until(request->count == 1 ? readings->taken_ns + request->interval_ns
                                        : top_readings__due_ns(readings, request->interval_ns));
        if (top_readings__take(readings) == TOP_FAILED) {
            /* That it ends is no failure, once there was something to see. */
            if (!shown || request->count)
                return command__fail("%s", readings->message);
            command__note("%s", readings->message);
            break;
        }
        if (!readings->interval)
            continue;
        bool any = show(request, readings->interval);
        shown++;
        if (fflush(stdout) != 0)
            break;
        if (request->threads && was_any && !any)
            complain_of_filter(request, readings->interval);
        was_any = any;
        ever |= any;
    }
    return ever ? EXIT_FINE : EXIT_BAD_INPUT;
}

static int top(const struct top_request *request)
{
    struct top_readings readings = {.path = request->path};
    bool full = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !request->json && !request->once;
    int status;

    if (top_readings__take(&readings) == TOP_FAILED)
        return command__fail("%s", readings.message);
    status = full ? top_screen__run(request, &readings) : print_all(request, &readings);
    top_readings__release(&readings);
    return status;
}

int cmd_top(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_top_option, .args_doc = "[PID|FILE]", .doc = doc};
    struct arguments arguments = {
        .request = {.interval_ns = INTERVAL_DEFAULT_NS, .sort = &interval_sorts[0]}};

    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return EXIT_BAD_USAGE;
    if (arguments.request.once)
        arguments.request.count = 1;
    char *path = find_source(arguments.source);
    arguments.request.path = path;
    int status = path ? top(&arguments.request) : EXIT_BAD_INPUT;
    free(path);
    return status;
}
