/* treadle annotate: a method's samples beside its lines, its bytecode, its machine code. */
#include "tools/annotate/annotation_view.h"
#include "tools/arguments/ledger_argument.h"
#include "tools/arguments/option_values.h"
#include "tools/arguments/partial_argument.h"
#include "tools/arguments/shared_options.h"
#include "tools/command.h"
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/nearest.h"
#include "tools/report/quantity.h"
#include "tools/report/report_errors.h"
#include "tools/views/view_losses.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct annotate_request {
    const char *method;
    const char *ledger; /* FILE or PID, or NULL */
    struct annotation_wish wish;
    struct shared_options shared;
    bool partial;
};

enum option_key {
    KEY_CODE = 256,
};

static const struct argp_option options[] = {
    {"source", 's', "DIR|FILE", 0,
     "source lines instead of bytecode, from that file or from the folder that the packages are in",
     0},
    {"metric", 'm', "cpu|wall", 0,
     "which samples count in a ledger with both kinds: of CPU time (the default) or of wall time",
     0},
    {"code", KEY_CODE, NULL, 0,
     "also each piece of machine code that the JVM compiled from the method", 0},
    {"json", KEY_JSON, NULL, 0, "JSON: shares in millionths, times since the epoch in ns", 0},
    {0},
};

static const struct argp_child children[] = {
    {&partial_argument, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Show where in a method its samples are: by bytecode index, by source line, by instruction. "
    "Inlined copies count for the method that they are copies of."
    "\vMETHOD is pkg.Class.method or the name of a native function; * stands for anything, and all "
    "methods that match are shown. With no FILE or PID: the newest *.ledger in the working "
    "folder.";

static enum report_column metric_of(const char *name, struct argp_state *state)
{
    const char *const names[] = {report_column__name(COLUMN_CPU), report_column__name(COLUMN_WALL)};
    enum report_column column = report_column__by_name(name);

    if (column != COLUMN_CPU && column != COLUMN_WALL)
        option_value__refuse(state, "metric", name, names, sizeof(names) / sizeof(names[0]));
    return column;
}

static error_t parse_annotate_option(int key, char *argument, struct argp_state *state)
{
    struct annotate_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->partial;
        break;
    case 's':
        request->wish.source = argument;
        break;
    case KEY_METRIC:
        request->shared.column = metric_of(argument, state);
        request->shared.column_given = true;
        break;
    case KEY_CODE:
        request->wish.code = true;
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            request->method = argument;
        else if (state->arg_num == 1)
            request->ledger = argument;
        else
            argp_error(state, "one METHOD and one FILE or PID, not more");
        break;
    case ARGP_KEY_END:
        if (!request->method)
            argp_error(state, "which METHOD? As in pkg.Class.method");
        if (request->method && !request->ledger &&
            (access(request->method, F_OK) == 0 || ledger_argument__is_pid(request->method)))
            argp_error(state, "which METHOD of %s? As in treadle annotate pkg.Class.method %s",
                       request->method, request->method);
        if (request->method && request->ledger && access(request->method, F_OK) == 0 &&
            access(request->ledger, F_OK) != 0 && !ledger_argument__is_pid(request->ledger))
            argp_error(state, "METHOD comes first: treadle annotate %s %s", request->ledger,
                       request->method);
        break;
    default:
        return shared_option__parse(key, argument, state, &request->shared);
    }
    return 0;
}

/* By its full name, or a native function by its name alone, with its parameters or without. */
static bool matches(const struct report_method *method, const char *glob)
{
    struct text_store store = {0};
    struct report_method plain = *method;

    plain.overloaded = false;
    bool match = fnmatch(glob, report_method__full_name(&store, &plain).bytes, 0) == 0;
    if (!match && report_method__is_native_function(method)) {
        size_t bare = strcspn(method->name.bytes, "(");
        struct text name = text__keep(&store, method->name.bytes, bare);

        match = fnmatch(glob, method->name.bytes, 0) == 0 || fnmatch(glob, name.bytes, 0) == 0;
    }
    text_store__release(&store);
    return match;
}

/* The methods to show: of those that match the ones with samples, heaviest first; or all of them,
 * if none has any. */
struct matching {
    struct match {
        uint32_t method;
        uint64_t samples;
    } * matches;
    size_t count;
};

static int heaviest_first(const void *a, const void *b)
{
    const struct match *x = a;
    const struct match *y = b;

    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    return x->method < y->method ? -1 : x->method > y->method;
}

static struct matching find(const struct report_places *places, const char *glob)
{
    const struct report_model *model = places->model;
    struct matching found = {
        .matches = memory__zeroed(model->method_count, sizeof(*found.matches)),
    };

    for (uint32_t i = METHOD_FIRST_REAL; i < model->method_count; i++)
        if (matches(&model->methods[i], glob))
            found.matches[found.count++] = (struct match){i, annotation__samples(places, i)};
    qsort(found.matches, found.count, sizeof(*found.matches), heaviest_first);
    if (found.count && found.matches[0].samples > 0)
        while (found.matches[found.count - 1].samples == 0)
            found.count--;
    return found;
}

static int no_match(const struct report_model *model, const char *path, const char *glob)
{
    struct text_store store = {0};
    const char **names = memory__zeroed(model->method_count, sizeof(const char *));
    size_t count = 0;

    for (uint32_t i = METHOD_FIRST_REAL; i < model->method_count; i++) {
        struct report_method plain = model->methods[i];

        plain.overloaded = false;
        names[count++] = report_method__full_name(&store, &plain).bytes;
    }
    const char *near = nearest__of(glob, names, count);
    if (near)
        command__fail("%s: has no method '%s'; did you mean '%s'?", path, glob, near);
    else
        command__fail("%s: has no method '%s'; `treadle report --view procedures` lists those "
                      "that samples found",
                      path, glob);
    free((void *)names);
    text_store__release(&store);
    return EXIT_BAD_INPUT;
}

static void list_matches(const struct matching *found, const struct report_model *model,
                         const struct screen *screen)
{
    fprintf(screen->out, "%zu methods match:\n", found->count);
    for (size_t i = 0; i < found->count; i++) {
        struct text_store store = {0};
        char *name = text__printable(
            report_method__full_name(&store, &model->methods[found->matches[i].method]), 0);

        screen__right(screen, quantity__count(found->matches[i].samples).text, 9);
        fprintf(screen->out, "  %s\n", name);
        free(name);
        text_store__release(&store);
    }
    fputc('\n', screen->out);
}

static int show(const struct annotate_request *request, struct report_places *places,
                struct native_symbols *symbols, const struct matching *found)
{
    const struct report_model *model = places->model;
    struct screen screen = screen__stdout();
    char message[512];
    const struct view of_model = {.model = model, .screen = screen};
    bool both = report_columns__has_both_samples(&model->header);
    bool wall = request->shared.column == COLUMN_WALL;

    if (!request->shared.json)
        view_losses__text(&screen, model, "");
    if (!request->shared.json && both)
        fprintf(screen.out, "samples of %s; --metric %s: those of %s\n\n",
                wall ? "wall time" : "CPU time", wall ? "cpu" : "wall",
                wall ? "CPU time" : "wall time");
    if (request->shared.json)
        fputs("{\"methods\":[", screen.out);
    else if (found->count > 1)
        list_matches(found, model, &screen);
    for (size_t i = 0; i < found->count; i++) {
        struct annotation *annotation = annotation__new(places, symbols, found->matches[i].method,
                                                        &request->wish, message, sizeof(message));

        if (!annotation)
            return command__fail("%s", message);
        if (request->shared.json) {
            fputs(i ? ",\n" : "\n", screen.out);
            json_row__write(screen.out, annotation_view__json(annotation, model));
        } else {
            fputs(i ? "\n" : "", screen.out);
            annotation_view__text(annotation, model, &screen);
        }
        annotation__free(annotation);
    }
    if (request->shared.json) {
        fprintf(screen.out, "],\n\"metric\":\"%s\",\n\"skipped_records\":%" PRIu64,
                report_column__name(request->shared.column), model->skipped + places->skipped);
        view_losses__add_json(&of_model);
        fputs("}\n", screen.out);
    } else if (model->skipped + places->skipped) {
        fprintf(screen.out, "\n%s of the ledger unreadable\n",
                quantity__counted(model->skipped + places->skipped, "record").text);
    }
    return EXIT_FINE;
}

static int annotate(struct annotate_request *request, const char *path)
{
    int judged = EXIT_FINE;
    struct ledger_reader *reader = partial_argument__read(path, request->partial, &judged);

    if (!reader)
        return EXIT_BAD_INPUT;
    struct native_symbols *symbols = native_symbols__new();
    const struct ledger_header *header = ledger_reader__header(reader);
    if (!request->shared.column_given || !report_columns__has_both_samples(header))
        request->shared.column = report_errors__column(header);
    struct symbol_names names = native_symbols__names(symbols);
    struct report_model *model = report_model__load_named(reader, 0, &names);
    struct report_places *places = report_places__load(model, reader, request->shared.column);
    struct matching found = find(places, request->method);
    int status = EXIT_FINE;
    if (!report_columns__has_samples(&model->header))
        status = command__fail("%s: has no samples: the agent's sample= did not ask for any", path);
    else if (found.count == 0)
        status = no_match(model, path, request->method);
    else
        status = show(request, places, symbols, &found);
    free(found.matches);
    report_places__free(places);
    report_model__free(model);
    native_symbols__free(symbols);
    ledger_reader__close(reader);
    return partial_argument__status(status, judged);
}

int cmd_annotate(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_annotate_option,
                                     .args_doc = "METHOD [FILE|PID]",
                                     .doc = doc,
                                     .children = children};
    struct annotate_request request = {0};

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    char *path = ledger_argument__path(request.ledger);
    int status = path ? annotate(&request, path) : EXIT_BAD_INPUT;
    free(path);
    return status;
}
