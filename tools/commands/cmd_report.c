/* treadle report: shows a ledger. */
#include "tools/arguments/ledger_selection.h"
#include "tools/arguments/option_values.h"
#include "tools/arguments/shared_options.h"
#include "tools/arguments/thread_filter.h"
#include "tools/command.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_errors.h"
#include "tools/report/report_fold.h"
#include "tools/report/report_inside.h"
#include "tools/symbols/native_symbols.h"
#include "tools/views/view_explain.h"
#include "tools/views/view_losses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX  (COLUMN_COUNT + 8u)
#define VIEWS_MAX 16u

struct report_request {
    struct ledger_selection ledger;
    struct shared_options shared; /* without --metric, the column is what the view shows */
    const struct view_kind *view;
    const char *sort;
    const char *explain; /* METHOD, or NULL */
    uint32_t check_ppm;
    bool check;
    bool check_hazards;
    bool view_given;
    bool fold;
    const struct report_model **more; /* of the ledgers behind the first */
    uint32_t more_count;
};

enum option_key {
    KEY_FOLD = 256,
    KEY_CHECK,
    KEY_EXPLAIN,
};

static const struct argp_option options[] = {
    {"view", 'v', "VIEW", 0,
     "threads (the default), waits, locks, blockers, hazards, latency, spawn, tree, flat, callers, "
     "images, procedures, activity or chains, which joins the ledgers of several processes",
     0},
    {"metric", 'm', "METRIC", 0,
     "what Base and Cum show and what is sorted by: cpu (the default, wall where the samples are "
     "of "
     "wall time), wall, calls, or a kernel "
     "metric such as run_queue_delay",
     0},
    {"thread", 't', "GLOB", 0,
     "only threads whose name matches, such as 'http-*'; spawn: and what they started", 0},
    {"top", 'n', "N", 0, "only the N heaviest threads, contexts or methods", 0},
    {"sort", 's', "KEY", 0,
     "threads: a metric, name, waiting, start, mounts, pinned, parked; waits: waiting (the "
     "default), a metric, name, start; locks: wait (the default), hold, blocked, count, max, "
     "class; "
     "blockers: wait (the default), count, waiter, blocker, lock; latency: p99 (the default), p50, "
     "p90, p999, max, mean, jitter, count, cpu, name; images, procedures: samples, "
     "base, name; chains: elapsed (the default), cpu, wait, count, begin; other views: cum, base, "
     "calls, "
     "name",
     0},
    {"fold", KEY_FOLD, NULL, 0,
     "threads, waits, blockers, spawn: one row for threads whose names differ in digits only; "
     "tree, flat: one tree, "
     "one table",
     0},
    {"check", KEY_CHECK, "PPM|hazards", 0,
     "exit status 1 if the process or one of its kernel threads is out by more than PPM millionths "
     "of "
     "the kernel's CPU, which counts what was consumed after a thread's last look as not charged; "
     "or if a thread's tree has what cannot be, or shares of CPU that its samples contradict; "
     "with the word hazards: the view of hazards, and exit status 3 if there is a deadlock that "
     "does not end by itself, or a pair of locks that were taken in both orders",
     0},
    {"explain", KEY_EXPLAIN, "METHOD", 0,
     "instead of a view: why the methods that match ('app.Main.work', 'app.Main.*') have the hooks "
     "they have, and how much of their CPU is exact",
     0},
    {"json", KEY_JSON, NULL, 0, "JSON: durations in ns, sizes in bytes, times since the epoch", 0},
    {"csv", KEY_CSV, NULL, 0, "CSV, one record a line", 0},
    {0},
};

static const struct argp_child children[] = {
    {&ledger_selection, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Show a ledger: a snapshot, the live one of a process, or one whose process was killed."
    "\vWith no FILE or PID: the newest *.ledger in the working folder. "
    "Exit status 0 fine, 1 bad input or a ledger that --check does not accept, 2 bad usage, 3 "
    "hazards that --check hazards found.";

static const struct view_kind *parse_view(const char *name, struct argp_state *state)
{
    const char *names[VIEWS_MAX];

    for (size_t i = 0; i < view_kind_count; i++)
        names[i] = view_kinds[i].name;
    return &view_kinds[option_value__among(state, "view", name, names, view_kind_count)];
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Which keys are valid depends on the view, which may come after --sort. */
static void check_sort(const struct report_request *request, struct argp_state *state)
{
    const char *names[KEYS_MAX];
    size_t count = 0;

    if (!request->sort)
        return;
    if (request->view->sorts_by_column)
        count = option_value__metric_names(names);
    for (const char *const *key = request->view->sort_keys; *key; key++)
        if (!is_among(*key, names, count))
            names[count++] = *key;
    (void)option_value__among(state, "sort key", request->sort, names, count);
}

static void check_more(const struct report_request *request, struct argp_state *state)
{
    if (!request->ledger.more_count)
        return;
    if (!request->view->joins || request->explain)
        argp_error(state, "one FILE or PID, not more: only --view chains joins several");
    if (request->ledger.moments.since || request->ledger.moments.until)
        argp_error(state, "--since and --until are for one FILE or PID");
}

static error_t parse_report_option(int key, char *argument, struct argp_state *state)
{
    struct report_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->ledger;
        break;
    case 'v':
        request->view = parse_view(argument, state);
        request->view_given = true;
        break;
    case 's':
        request->sort = argument;
        break;
    case KEY_FOLD:
        request->fold = true;
        break;
    case KEY_CHECK:
        if (strcmp(argument, "hazards") == 0) {
            request->check_hazards = true;
            break;
        }
        request->check_ppm = option_value__number("--check", argument, 0, state);
        request->check = true;
        break;
    case KEY_EXPLAIN:
        request->explain = argument;
        break;
    case ARGP_KEY_END:
        if (request->explain && request->shared.csv)
            argp_error(state, "--explain has text and --json, not --csv");
        if (request->check_hazards && !request->view_given)
            request->view = parse_view("hazards", state);
        check_more(request, state);
        check_sort(request, state);
        return shared_option__parse(key, argument, state, &request->shared);
    default:
        return shared_option__parse(key, argument, state, &request->shared);
    }
    return 0;
}

static int check_columns(const struct report_request *request, const struct report_model *model,
                         const char *path)
{
    bool threads = request->view->of_threads;
    enum report_column sort = request->sort ? report_column__by_name(request->sort) : COLUMN_COUNT;
    int status = EXIT_FINE;

    if (request->view->of_samples)
        status = option_value__check_metric(COLUMN_SAMPLES, &model->header, threads, path);
    if (status == EXIT_FINE)
        status = option_value__check_metric(request->shared.column, &model->header, threads, path);
    if (status == EXIT_FINE && threads && sort < COLUMN_COUNT)
        status = option_value__check_metric(sort, &model->header, threads, path);
    return status;
}

static int show_selected(const struct report_request *request, struct report_model *model,
                         bool *selected, const char *path)
{
    const struct view_kind *kind = request->view;

    if (request->fold && kind->folds_trees)
        report_fold__pools(model, selected);
    struct view view = {
        .model = model,
        .path = path,
        .selected = selected,
        .glob = request->shared.threads,
        .column = request->shared.column,
        .whole = kind->of_threads ? 0 : view__whole(model, selected, request->shared.column),
        .sort = request->sort,
        .top = request->shared.top,
        .fold = request->fold,
        .more = request->more,
        .more_count = request->more_count,
        .screen = screen__stdout(),
    };
    view_form *form = request->shared.json  ? kind->json
                      : request->shared.csv ? kind->csv
                                            : kind->text;
    if (form == kind->text)
        view_losses__text(&view.screen, model, "");
    int error = form(&view);
    if (form == kind->csv)
        view_losses__csv(view.screen.out, model, path);
    if (error)
        return command__fail("%s: cannot be shown: %s", path, strerror(-error));
    return EXIT_FINE;
}

static int show(const struct report_request *request, struct report_model *model, const char *path)
{
    const struct report_model *const models[] = {model};
    bool *selected = report_model__select(model, request->shared.threads);
    int status =
        request->shared.threads && !thread_filter__selects_any(selected, model->thread_count)
            ? thread_filter__refuse(path, request->shared.threads, models, 1)
            : show_selected(request, model, selected, path);

    free(selected);
    return status;
}

static int explain(const struct report_request *request, const struct report_model *model,
                   const struct ledger_reader *reader, const char *path)
{
    struct explanations *found = explanations__new(model, reader, request->explain);
    struct view view = {.model = model, .path = path, .screen = screen__stdout()};
    int status = EXIT_FINE;

    if (found->count && request->shared.json)
        view_explain__json(&view, found);
    else if (found->count)
        view_explain__text(&view, found);
    else if (found->nearest.length)
        status = command__fail("%s: knows no method '%s': nothing of that name was loaded, or it "
                               "is one of the JDK's own that no sample met; nearest: %s",
                               path, request->explain, found->nearest.bytes);
    else
        status = command__fail("%s: knows no method '%s', nor any other", path, request->explain);
    explanations__free(found);
    return status;
}

static int check_balance(const struct report_request *request, const struct report_model *model,
                         const char *path)
{
    struct report_balance balance = report_balance__of(model);

    if (balance.kernel_ns == 0)
        return command__fail("%s: has no balance to check: the kernel's total of this process was "
                             "not read yet",
                             path);
    uint64_t out_ppm = report_balance__out_ppm(model, &balance);
    if (out_ppm <= request->check_ppm)
        return EXIT_FINE;
    return command__fail("%s: the balance is out by %" PRIu64 " ppm, more than %" PRIu32
                         ": kernel CPU %s, charged %s",
                         path, out_ppm, request->check_ppm, quantity__ns(balance.kernel_ns).text,
                         quantity__ns(report_balance__looked_at_ns(&balance)).text);
}

static int check_hazards(const struct report_model *model, const char *path)
{
    struct report_hazards *hazards = report_hazards__new(model);
    bool are_bad = report_hazards__are_bad(hazards);

    if (are_bad)
        (void)command__fail("%s: has hazards: deadlocks %" PRIu32
                            ", pairs of locks in both orders %" PRIu32,
                            path, hazards->deadlock_count, hazards->pair_count);
    report_hazards__free(hazards);
    return are_bad ? EXIT_HAZARDS : EXIT_FINE;
}

#define PLACE_BYTES 1024u

/* What is wrong inside of threads, or nothing: of the whole ledger as it is, for an interval has no
 * tallies, and folded threads are not those that were sampled. */
static void look_inside(const struct report_request *request, const struct report_model *model,
                        char place[PLACE_BYTES])
{
    struct report_inside inside = {.fault = INSIDE_FINE};

    if (request->check)
        inside = report_inside__of(model);
    place[0] = '\0';
    if (inside.fault != INSIDE_FINE)
        report_inside__text(model, &inside, place, PLACE_BYTES);
}

/* Text shows one metric as a rule, so only that metric is loaded; JSON and CSV get all metrics. */
static uint64_t columns_of(const struct report_request *request)
{
    bool all = request->shared.json || request->shared.csv || request->view->reads_all;

    if (request->view->of_threads && !request->view->reads_all)
        return 0;
    return all ? ~UINT64_C(0) : COLUMN_BIT(request->shared.column);
}

/* Where all samples are of wall time, it is what the views of trees show. */
static void choose_column(struct report_request *request, const struct ledger_header *header)
{
    if (!request->shared.column_given && !request->view->of_threads &&
        report_columns__has_samples(header))
        request->shared.column = report_errors__column(header);
}

static void release_more(struct report_request *request)
{
    for (uint32_t i = 0; i < request->more_count; i++)
        report_model__free((struct report_model *)(uintptr_t)request->more[i]);
    free((void *)request->more);
}

/* Models do not need their readers. */
static int load_more(struct report_request *request)
{
    struct ledger_selection *selection = &request->ledger;

    request->more = memory__zeroed(selection->more_count, sizeof(struct report_model *));
    for (size_t i = 0; i < selection->more_count; i++) {
        char *path = NULL;
        struct ledger_reader *reader = ledger_selection__read_more(selection, i, &path);

        free(path);
        if (!reader)
            return EXIT_BAD_INPUT;
        request->more[request->more_count++] = report_model__load(reader, columns_of(request));
        ledger_reader__close(reader);
    }
    return EXIT_FINE;
}

static int report(struct report_request *request)
{
    const char *path = request->ledger.path, *since = request->ledger.since;
    struct ledger_reader *reader = ledger_selection__read(&request->ledger);

    if (!reader)
        return EXIT_BAD_INPUT;
    choose_column(request, ledger_reader__header(reader));
    struct report_model *model = native_symbols__load_model(reader, columns_of(request));
    int status = EXIT_FINE;
    char place[PLACE_BYTES];
    look_inside(request, model, place);
    if (since)
        status = since_argument__subtract(model, path, since, columns_of(request));
    if (status == EXIT_FINE)
        status = check_columns(request, model, path);
    if (status == EXIT_FINE)
        status = load_more(request);
    if (status == EXIT_FINE)
        status =
            request->explain ? explain(request, model, reader, path) : show(request, model, path);
    ledger_reader__close(reader);
    if (status == EXIT_FINE && (request->check || request->check_hazards))
        status = command__flush_output(status); /* the complaint comes last, and alone */
    if (status == EXIT_FINE && request->check)
        status = check_balance(request, model, path);
    if (status == EXIT_FINE && place[0])
        status = command__fail("%s: %s", path, place);
    if (status == EXIT_FINE && request->check_hazards)
        status = check_hazards(model, path);
    release_more(request);
    report_model__free(model);
    return status;
}

int cmd_report(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_report_option,
                                     .args_doc = "[FILE|PID]...",
                                     .doc = doc,
                                     .children = children};
    struct report_request request = {.view = &view_kinds[0], .ledger.may_have_more = true};

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    int status = ledger_selection__resolve(&request.ledger);
    if (status == EXIT_FINE)
        status = report(&request);
    return ledger_selection__finish(&request.ledger, status);
}
