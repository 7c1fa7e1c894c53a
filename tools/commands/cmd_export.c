/* treadle export: a ledger in the formats of other programs. */
#include "tools/arguments/ledger_selection.h"
#include "tools/arguments/option_values.h"
#include "tools/arguments/shared_options.h"
#include "tools/arguments/thread_filter.h"
#include "tools/command.h"
#include "tools/export/export_format.h"
#include "tools/export/output_file.h"
#include "tools/ledgers/rights.h"
#include "tools/output/output_place.h"
#include "tools/symbols/native_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct export_request {
    const struct export_format *format;
    struct ledger_selection ledger;
    struct shared_options shared;
};

static const struct argp_option options[] = {
    {"format", 'f', "FORMAT", 0, "pprof, collapsed, speedscope, perfetto, jfr, csv or sqlite", 0},
    {"metric", 'm', "METRIC", 0,
     "cpu (the default), wall, calls, or a kernel metric such as run_queue_delay: what is shown; "
     "pprof: what is shown first. csv and sqlite have all metrics",
     0},
    {"thread", 't', "GLOB", 0, "only threads whose name matches, such as 'http-*'", 0},
    {"output", 'o', "FILE", 0,
     "the file to write; it appears, or is replaced, when it is complete. The default, and '-': "
     "standard output",
     0},
    {0},
};

static const struct argp_child children[] = {
    {&ledger_selection, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Write a ledger in the format of another program: pprof, flame graphs (collapsed), speedscope, "
    "Perfetto, Java's Flight Recorder (jfr), a table (csv) or a database (sqlite)."
    "\vWith no FILE or PID: the newest *.ledger in the working folder. "
    "Exit status 0 fine, 1 bad input or an output that cannot be written, 2 bad usage.";

static const struct export_format *parse_format(const char *name, struct argp_state *state)
{
    const char *names[16];

    for (size_t i = 0; i < export_format_count; i++)
        names[i] = export_formats[i].name;
    return &export_formats[option_value__among(state, "format", name, names, export_format_count)];
}

static void check_usage(const struct export_request *request, struct argp_state *state)
{
    const struct export_format *format = request->format;

    if (!format)
        argp_error(state,
                   "which --format? there are pprof, collapsed, speedscope, perfetto, jfr, csv, "
                   "sqlite");
    else if (request->shared.column_given && !format->takes_metric)
        argp_error(state, "%s has all metrics, so there is no --metric for it", format->name);
    else if (format->needs_file &&
             (!request->shared.output || strcmp(request->shared.output, "-") == 0))
        argp_error(state, "%s needs a file: --output FILE", format->name);
}

static error_t parse_export_option(int key, char *argument, struct argp_state *state)
{
    struct export_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->ledger;
        break;
    case 'f':
        request->format = parse_format(argument, state);
        break;
    case ARGP_KEY_END:
        check_usage(request, state);
        break;
    default:
        return shared_option__parse(key, argument, state, &request->shared);
    }
    return 0;
}

static int fail_output(const struct export_request *request, int error)
{
    bool is_standard = !request->shared.output || strcmp(request->shared.output, "-") == 0;

    return rights__refuse_output(is_standard ? "standard output" : request->shared.output, error);
}

static int write_output(const struct export_request *request, const struct export_job *job)
{
    const struct export_format *format = request->format;
    struct output_file file;
    int error = output_file__open(&file, request->shared.output);

    if (error)
        return fail_output(request, error);
    if (format->is_binary && isatty(fileno(file.stream))) {
        output_file__finish(&file, -ENOTTY);
        return command__fail("%s is binary, nothing for a terminal: name a file, such as "
                             "--output treadle%s",
                             format->name, format->extension);
    }
    error = output_file__finish(&file, format->write(job, file.stream, file.partial));
    return error ? fail_output(request, error) : EXIT_FINE;
}

static int export_model(const struct export_request *request, const struct report_model *model,
                        struct report_places *places, const char *path)
{
    bool *selected = report_model__select(model, request->shared.threads);
    struct export_job job = {model, selected, request->shared.column, path, places};
    int status = EXIT_FINE;

    if (thread_filter__selects_any(selected, model->thread_count))
        status = write_output(request, &job);
    else if (request->shared.threads)
        status = thread_filter__refuse(path, request->shared.threads, &model, 1);
    else
        status = command__fail("%s: has no threads to export", path);
    free(selected);
    return status;
}

/* Neither over the ledger nor over the earlier snapshot, nor where the format cannot. */
static bool may_write(const struct export_request *request)
{
    static const char hint[] = "name another one with --output, or '-'";
    const char *output = request->shared.output, *since = request->ledger.since;

    if (!output || strcmp(output, "-") == 0)
        return true;
    if (request->format->needs_file && !output_file__would_be_regular(output)) {
        command__fail("%s: is no regular file, which %s needs", output, request->format->name);
        return false;
    }
    return output_place__is_no_ledger(output, request->ledger.path, hint) &&
           (!since || output_place__is_no_ledger(output, since, hint));
}

static int export_ledger(struct export_request *request)
{
    const char *path = request->ledger.path, *since = request->ledger.since;

    if (!may_write(request))
        return EXIT_BAD_INPUT;
    struct ledger_reader *reader = ledger_selection__read(&request->ledger);

    if (!reader)
        return EXIT_BAD_INPUT;
    bool all = request->format->has_all_metrics;
    uint64_t columns = all ? ~UINT64_C(0) : COLUMN_BIT(request->shared.column);
    struct report_model *model = native_symbols__load_model(reader, columns);
    struct report_places *places = request->format->takes_places
                                       ? report_places__load(model, reader, request->shared.column)
                                       : NULL;
    int status = option_value__check_metric(request->shared.column, &model->header, false, path);
    if (status == EXIT_FINE && since)
        status = since_argument__subtract(model, path, since, columns);
    if (status == EXIT_FINE)
        status = export_model(request, model, places, path);
    if (places)
        report_places__free(places);
    report_model__free(model);
    ledger_reader__close(reader);
    return status;
}

int cmd_export(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_export_option,
                                     .args_doc = "[FILE|PID]",
                                     .doc = doc,
                                     .children = children};
    struct export_request request = {.shared = {.column = COLUMN_CPU}};

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    int status = ledger_selection__resolve(&request.ledger);
    if (status == EXIT_FINE)
        status = export_ledger(&request);
    return ledger_selection__finish(&request.ledger, status);
}
