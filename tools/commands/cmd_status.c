/* treadle status: whether and how a JVM is profiled, from its mapped ledger. The JVM is not asked.
 */
#include "native/cost/cost_model.h"
#include "tools/arguments/partial_argument.h"
#include "tools/arguments/pid_argument.h"
#include "tools/command.h"
#include "tools/ledgers/ledger_summary.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/output/json_rows.h"
#include "tools/output/text_table.h"
#include "tools/report/quantity.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_folded.h"
#include "tools/report/report_losses.h"
#include "tools/views/hook_summary.h"
#include "tools/views/own_cost.h"
#include "tools/views/view_budget.h"
#include "tools/views/view_losses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LABEL_COLUMNS 12u

enum option_key {
    KEY_JSON = 256,
};

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "JSON: durations in ns, sizes in bytes, times since the epoch", 0},
    {0},
};

static const struct argp_child children[] = {
    {&pid_argument, 0, NULL, 0},
    {&partial_argument, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Show whether and how a JVM is profiled: since when, how many methods have hooks, how full "
    "the ledger is, what was lost."
    "\vAll of this is in the ledger, which is read without touching the JVM.";

struct status_request {
    pid_t pid;
    bool json;
    bool partial;
};

struct status {
    struct ledger_summary ledger;
    struct report_model *model; /* of the same ledger, as it stands */
    struct text path;
    struct text_store texts;
    struct screen screen;
};

static error_t parse_status_option(int key, char *argument, struct argp_state *state)
{
    struct status_request *request = state->input;

    (void)argument;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->pid;
        state->child_inputs[1] = &request->partial;
        return 0;
    case KEY_JSON:
        request->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static uint64_t ledger_bytes(const struct ledger_header *header)
{
    return (uint64_t)header->chunks_used * header->chunk_bytes;
}

typedef char *cut_text(struct text text, size_t columns);

static void cut_fact(const struct status *status, const char *name, struct text text, cut_text *cut)
{
    const struct screen *screen = &status->screen;
    size_t columns = screen->columns ? screen->columns : 2 * NAME_COLUMNS_MAX;
    char *printable = cut(text, columns - LABEL_COLUMNS);

    fputs(screen__bold(screen), screen->out);
    screen__left(screen, name, LABEL_COLUMNS);
    fputs(screen__plain(screen), screen->out);
    fprintf(screen->out, "%s\n", printable);
    free(printable);
}

static void fact(const struct status *status, const char *name, struct text text)
{
    cut_fact(status, name, text, text__printable_middle);
}

__attribute__((format(printf, 3, 4))) static void fact_of(const struct status *status,
                                                          const char *name, const char *format, ...)
{
    char text[HOOKS_TEXT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    cut_fact(status, name, (struct text){text, strlen(text)}, text__printable);
}

/* While the agent puts its hooks in, nothing is profiled: that time is nobody's. */
static const char *state_of(const struct ledger_header *header)
{
    if (ledger_header__is_attaching(header))
        return "attaching";
    return ledger_header__is_stopped(header) ? "stopped" : "profiling";
}

static void profiling_fact(const struct status *status)
{
    const struct ledger_header *header = &status->ledger.header;
    uint64_t since_ns = header->epoch_ns + header->since_ns;
    uint64_t now_ns = (uint64_t)time(NULL) * 1000000000u;
    uint64_t after_ns = report_process__attached_after_ns(header);
    char attached[96] = "";

    if (ledger_header__is_attaching(header)) {
        fact_of(status, "state", "%s: nothing is profiled yet", state_of(header));
        return;
    }
    if (after_ns)
        snprintf(attached, sizeof(attached), ", attached %s after the process began",
                 quantity__ns(after_ns).text);
    fact_of(status, "state", "%s since %s (%s)%s", state_of(header),
            quantity__moment(since_ns).text,
            quantity__ns(now_ns > since_ns ? now_ns - since_ns : 0).text, attached);
    if (header->starts > 1)
        fact_of(status, "starts", "%" PRIu32 ", not profiled for %s in between", header->starts,
                quantity__ns(header->unprofiled_wall_ns).text);
}

static void hooks_facts(const struct status *status)
{
    const struct ledger_header *header = &status->ledger.header;
    char text[HOOKS_TEXT_BYTES];

    if (!hook_summary__are_used(header))
        return;
    hook_summary__count(header, text);
    fact_of(status, "hooks", "%s", text);
    if (header->silent_until_ns)
        fact_of(status, "", "silent until %s, then taken out; treadle start hears them again",
                quantity__moment(header->epoch_ns + header->silent_until_ns).text);
    hook_summary__rule(header, text);
    fact_of(status, "", "%s", text);
    hook_summary__unhooked_reasons(header, text);
    if (text[0])
        fact_of(status, "left alone", "%s", text);
}

static struct report_own_cost own_cost(const struct ledger_header *header)
{
    return (struct report_own_cost){.parts = header->own_cost,
                                    .sum_ns = ledger_own_cost__sum(&header->own_cost)};
}

static void own_cost_fact(const struct status *status)
{
    const struct ledger_header *header = &status->ledger.header;
    struct report_own_cost cost = own_cost(header);
    char text[HOOKS_TEXT_BYTES];

    own_cost__text(&cost, text);
    fact_of(status, "own cost", "%s, %s of the process's CPU", quantity__ns(cost.sum_ns).text,
            quantity__share(cost.sum_ns, header->process_cpu_ns).text);
    fact_of(status, "", "%s", text);
}

static void budget_facts(const struct status *status)
{
    char text[HOOKS_TEXT_BYTES];

    view_budget__text(status->model, text);
    if (text[0])
        fact_of(status, "budget", "%s", text);
    view_budget__recent_text(&status->model->header, text);
    if (text[0])
        fact_of(status, "", "%s", text);
    view_budget__resolution_text(status->model, text);
    if (text[0])
        fact_of(status, "resolution", "%s", text);
}

static json_t *budget_json(const struct status *status)
{
    json_t *budget = view_budget__json(status->model);

    view_budget__add_recent(budget, &status->model->header);
    return budget;
}

static void folded_fact(const struct status *status)
{
    const struct ledger_header *header = &status->ledger.header;
    uint64_t times = report_folded__times(status->model);
    uint64_t calls = report_folded__calls(status->model);
    const char *name = "folded";

    if (header->folded_threads) {
        fact_of(status, name, "%s, into rows of their kind, since %s",
                quantity__counted(header->folded_threads, "ended thread").text,
                quantity__moment(header->epoch_ns + header->folded_since_ns).text);
        name = "";
    }
    if (times) {
        fact_of(status, name, "a cold context %s, since %s, to make room for others",
                quantity__counted(times, "time").text,
                quantity__moment(header->epoch_ns + header->pruned_since_ns).text);
        name = "";
    }
    if (calls)
        fact_of(status, name, "%s, into a row a method: their contexts have no room",
                quantity__counted(calls, "call").text);
}

static void losses_facts(const struct status *status)
{
    const struct ledger_header *header = &status->ledger.header;
    const char *name = "lost";
    char corrected[CORRECTED_TEXT_BYTES];
    char partial[PARTIAL_TEXT_BYTES];

    report_losses__partial(status->ledger.present_bytes, status->ledger.missing_bytes, header,
                           partial);
    if (partial[0])
        fact_of(status, "partial", "%s", partial);
    for (unsigned i = 0; i < REPORT_LOSSES; i++) {
        struct report_loss loss = report_loss__of(header, i);
        char text[LOSS_TEXT_BYTES];

        if (!loss.count)
            continue;
        report_loss__text(&loss, text);
        fact_of(status, name, "%s", text);
        name = "";
    }
    if (header->full_error)
        fact_of(status, "full", "the ledger cannot grow: %s",
                header->full_error == ENOMEM ? "max-mem is reached" : strerror(header->full_error));
    else if (name[0])
        fact_of(status, name, "nothing");
    report_losses__corrected(header, corrected);
    if (corrected[0])
        fact_of(status, "positions", "%s", corrected);
}

/* The clock in use, and why none of the faster ones is. */
static void clock_fact(const struct status *status)
{
    const struct ledger_header *header = &status->ledger.header;
    char text[300], why[80];
    int length = snprintf(text, sizeof(text), "%s (%s", report_clock__name(header->clock_kind),
                          header->clock_forced ? "by option" : "by self-test");

    for (uint32_t kind = LEDGER_CLOCK_RSEQ; kind > LEDGER_CLOCK_PLAIN; kind--)
        if (report_clock__is_refused(header, kind, why, sizeof(why)))
            length += snprintf(text + length, sizeof(text) - (size_t)length, "; %s: %s",
                               report_clock__name(kind), why);
    fact_of(status, "clock", "%s)", text);
}

static void show_text(const struct status *status)
{
    const struct ledger_header *header = &status->ledger.header;
    uint32_t threads = status->ledger.threads;
    uint64_t bytes = ledger_bytes(header);

    fact_of(status, "process", "%" PRId32 ", started %s", header->pid,
            quantity__moment(report_process__start_ns(header)).text);
    fact(status, "command", status->ledger.command);
    if (status->ledger.jvm.length)
        fact(status, "JVM", status->ledger.jvm);
    fact(status, "options", status->ledger.options);
    profiling_fact(status);
    fact_of(status, "events", "%s", report_events__name(header->event_mode));
    clock_fact(status);
    hooks_facts(status);
    budget_facts(status);
    own_cost_fact(status);
    fact(status, "ledger", status->path);
    fact_of(status, "size", "%s of %s (%s)", quantity__bytes(bytes).text,
            quantity__bytes(header->max_bytes).text,
            quantity__share(bytes, header->max_bytes).text);
    fact_of(status, "beside", "%s that the agent holds beside the ledger, about",
            quantity__bytes(header->held_bytes).text);
    fact_of(status, "threads", "%s, of which %s ended", quantity__count(threads).text,
            quantity__count(status->ledger.ended).text);
    folded_fact(status);
    losses_facts(status);
    fact_of(status, "snapshots", "%" PRIu32, header->snapshots);
}

static json_t *refused_clocks_json(const struct ledger_header *header)
{
    json_t *object = json_object();
    char why[80];

    for (uint32_t kind = LEDGER_CLOCK_RSEQ; kind > LEDGER_CLOCK_PLAIN; kind--)
        if (report_clock__is_refused(header, kind, why, sizeof(why)))
            json_object_set_new(object, report_clock__name(kind), json_string(why));
    return object;
}

static json_t *losses_json(const struct ledger_header *header)
{
    json_t *object = json_object();

    for (unsigned i = 0; i < REPORT_LOSSES; i++) {
        struct report_loss loss = report_loss__of(header, i);

        json_object_set_new(object, loss.key, json_row__integer(loss.count));
    }
    return object;
}

static void show_json(const struct status *status)
{
    const struct ledger_header *header = &status->ledger.header;
    json_t *object = json_object();

    json_object_set_new(object, "pid", json_integer(header->pid));
    json_object_set_new(object, "command", json_row__text(status->ledger.command));
    json_object_set_new(object, "jvm", json_row__text(status->ledger.jvm));
    json_object_set_new(object, "options", json_row__text(status->ledger.options));
    json_object_set_new(object, "start_ns", json_row__integer(report_process__start_ns(header)));
    json_object_set_new(object, "state", json_string(state_of(header)));
    json_object_set_new(object, "since_ns", json_row__integer(header->epoch_ns + header->since_ns));
    json_object_set_new(object, "starts", json_integer(header->starts));
    json_object_set_new(object, "attached_after_ns",
                        json_row__integer(report_process__attached_after_ns(header)));
    json_object_set_new(object, "unprofiled_ns", json_row__integer(header->unprofiled_wall_ns));
    json_object_set_new(object, "events", json_string(report_events__name(header->event_mode)));
    json_object_set_new(object, "clock", json_string(report_clock__name(header->clock_kind)));
    json_object_set_new(object, "refused_clocks", refused_clocks_json(header));
    if (hook_summary__are_used(header))
        json_object_set_new(object, "hooks", hook_summary__json(header));
    json_object_set_new(object, "silent_until_ns",
                        header->silent_until_ns
                            ? json_row__integer(header->epoch_ns + header->silent_until_ns)
                            : json_null());
    json_object_set_new(object, "budget", budget_json(status));
    json_object_set_new(object, "resolution", view_budget__resolution_json(status->model));
    json_object_set_new(object, "path", json_row__text(status->path));
    json_object_set_new(object, "bytes", json_row__integer(ledger_bytes(header)));
    json_object_set_new(object, "max_bytes", json_row__integer(header->max_bytes));
    json_object_set_new(object, "held_bytes", json_row__integer(header->held_bytes));
    json_object_set_new(object, "identified", json_row__integer(header->identified));
    json_object_set_new(object, "threads", json_integer(status->ledger.threads));
    json_object_set_new(object, "ended_threads", json_integer(status->ledger.ended));
    json_object_set_new(object, "folded_threads", json_row__integer(header->folded_threads));
    json_object_set_new(object, "folded_since_ns",
                        header->folded_threads
                            ? json_row__integer(header->epoch_ns + header->folded_since_ns)
                            : json_null());
    json_object_set_new(object, "folded_calls",
                        json_row__integer(report_folded__calls(status->model)));
    json_object_set_new(object, "foldings", json_row__integer(report_folded__times(status->model)));
    json_object_set_new(object, "pruned_since_ns",
                        header->pruned_since_ns
                            ? json_row__integer(header->epoch_ns + header->pruned_since_ns)
                            : json_null());
    json_object_set_new(object, "losses", losses_json(header));
    json_object_set_new(object, "positions_corrected",
                        json_row__integer(header->positions_corrected));
    if (status->ledger.missing_bytes)
        json_object_set_new(
            object, "partial",
            view_losses__partial_json(status->ledger.present_bytes, status->ledger.missing_bytes));
    json_object_set_new(object, "full_errno", json_integer(header->full_error));
    json_object_set_new(object, "snapshots", json_integer(header->snapshots));
    json_row__write(status->screen.out, object);
    fputc('\n', status->screen.out);
}

static int show(const struct status_request *request, const char *path)
{
    struct status status = {.screen = screen__stdout()};
    struct ledger_reader *reader;
    char message[512];

    reader = live_ledger__read_as_it_is(path, message, sizeof(message));
    if (!reader ||
        ledger_summary__read(&status.ledger, &status.texts, path, message, sizeof(message)) != 0) {
        ledger_reader__close(reader);
        return command__fail("%s", message);
    }
    status.model = report_model__load(reader, 0);
    ledger_reader__close(reader);
    status.path = text__from_java(&status.texts, path, strlen(path));
    if (request->json)
        show_json(&status);
    else
        show_text(&status);
    report_model__free(status.model);
    text_store__release(&status.texts);
    return partial_argument__judge_bytes(&status.ledger.header, status.ledger.present_bytes,
                                         status.ledger.missing_bytes, path, request->partial);
}

int cmd_status(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_status_option, .doc = doc, .children = children};
    struct status_request request = {0};
    struct ledger_header header;
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    char *path = live_ledger__of_running(request.pid, &header);
    status = path ? show(&request, path) : live_ledger__refuse(request.pid);
    free(path);
    return status;
}
