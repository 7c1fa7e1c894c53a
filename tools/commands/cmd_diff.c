/* treadle diff: what changed from one ledger to another. */
#include "tools/arguments/option_values.h"
#include "tools/arguments/partial_argument.h"
#include "tools/arguments/shared_options.h"
#include "tools/arguments/since_argument.h"
#include "tools/arguments/thread_filter.h"
#include "tools/command.h"
#include "tools/ledgers/rights.h"
#include "tools/page/html_diff.h"
#include "tools/page/html_output.h"
#include "tools/symbols/native_symbols.h"
#include "tools/views/view_diff.h"
#include "tools/views/view_losses.h"

#include <stdlib.h>
#include <string.h>

struct diff_arguments {
    const struct diff_view_kind *view;
    struct shared_options shared;
    char *paths[DIFF_SIDES];
    char *since[DIFF_SIDES]; /* an earlier snapshot, which is taken off; or NULL */
    struct since_options moments;
    unsigned path_count;
    const char *html; /* where the page goes, or NULL */
    bool normalize;
    bool collapsed;
    bool view_given;
    bool partial;
    int judged; /* EXIT_BAD_INPUT: the end of one of them is cut off, and nobody allowed it */
};

enum option_key {
    KEY_COLLAPSED = 256,
    KEY_NORMALIZE,
    KEY_HTML,
};

static const struct argp_option options[] = {
    {"view", 'v', "VIEW", 0, "threads (the default), tree, flat or latency", 0},
    {"metric", 'm', "METRIC", 0,
     "what is compared: cpu (the default), wall, calls, or a kernel metric such as "
     "run_queue_delay",
     0},
    {"thread", 't', "GLOB", 0, "only threads whose name matches, such as 'http-*'", 0},
    {"top", 'n', "N", 0, "only the N threads, contexts or methods that changed most", 0},
    {"normalize", KEY_NORMALIZE, NULL, 0,
     "scale A's values so that their total is B's, and A's calls likewise", 0},
    {"collapsed", KEY_COLLAPSED, NULL, 0,
     "a line a path, with its base in A and in B, as difffolded.pl writes it", 0},
    {"json", KEY_JSON, NULL, 0, "JSON: durations in ns, sizes in bytes", 0},
    {"csv", KEY_CSV, NULL, 0, "CSV, one record a line", 0},
    {"html", KEY_HTML, "FILE", 0,
     "one HTML file with a differential flame graph, to look at in a browser; it has every view "
     "and "
     "every metric that both ledgers have. '-': standard output",
     0},
    {0},
};

static const struct argp_child children[] = {
    {&partial_argument, 0, NULL, 0},
    {&since_argument, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Show what changed from ledger A to ledger B: B - A, the largest change first."
    "\vThreads are the same if their kinds are the same, and their names but for digits; contexts "
    "are the same if the methods from the root down to them are the same, by class, name and "
    "signature.";

static const struct diff_view_kind *parse_view(const char *name, struct argp_state *state)
{
    const char *names[8];

    for (size_t i = 0; i < diff_view_kind_count; i++)
        names[i] = diff_view_kinds[i].name;
    return &diff_view_kinds[option_value__among(state, "view", name, names, diff_view_kind_count)];
}

static void check_all(const struct diff_arguments *request, struct argp_state *state)
{
    if (request->path_count < DIFF_SIDES)
        argp_error(state, "two ledgers are needed, A and B");
    if (request->shared.json + request->shared.csv + request->collapsed + (request->html != NULL) >
        1)
        argp_error(state, "--json, --csv, --collapsed or --html, not several");
    if (request->html && (request->view_given || request->shared.top))
        argp_error(state, "neither --view nor --top with --html: the page has all of them");
}

static error_t parse_diff_option(int key, char *argument, struct argp_state *state)
{
    struct diff_arguments *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->partial;
        state->child_inputs[1] = &request->moments;
        break;
    case 'v':
        request->view_given = true;
        request->view = parse_view(argument, state);
        break;
    case KEY_NORMALIZE:
        request->normalize = true;
        break;
    case KEY_COLLAPSED:
        request->collapsed = true;
        break;
    case KEY_HTML:
        request->html = argument;
        break;
    case ARGP_KEY_ARG:
        if (request->path_count == DIFF_SIDES)
            argp_error(state, "two ledgers, A and B, not more");
        request->paths[request->path_count++] = strdup(argument);
        break;
    case ARGP_KEY_END:
        check_all(request, state);
        break;
    default:
        return shared_option__parse(key, argument, state, &request->shared);
    }
    return 0;
}

static bool of_threads(const struct diff_arguments *request)
{
    return request->view->of_threads && !request->collapsed;
}

/* NULL after a line that says why. */
static struct report_model *load(struct diff_arguments *request, unsigned side)
{
    const char *path = request->paths[side];
    struct ledger_reader *reader = partial_argument__read(path, request->partial, &request->judged);

    if (!reader)
        return NULL;
    uint64_t columns = of_threads(request) ? 0 : COLUMN_BIT(request->shared.column);
    struct report_model *model = native_symbols__load_model(reader, columns);
    ledger_reader__close(reader);
    int status = option_value__check_metric(request->shared.column, &model->header,
                                            of_threads(request), path);
    if (status == EXIT_FINE && request->since[side])
        status = since_argument__subtract(model, path, request->since[side], columns);
    if (status == EXIT_FINE)
        return model;
    report_model__free(model);
    return NULL;
}

static void show_losses(const struct diff_view *view, bool is_text)
{
    static const char *const of[] = {[DIFF_A] = "A: ", [DIFF_B] = "B: "};

    for (unsigned side = DIFF_A; side < DIFF_SIDES && is_text; side++)
        view_losses__text(&view->screen, view->models[side], of[side]);
}

static int refuse_filter(const struct diff_arguments *request,
                         const struct report_model *const models[DIFF_SIDES])
{
    char *both = NULL;

    if (asprintf(&both, "%s, %s", request->paths[DIFF_A], request->paths[DIFF_B]) < 0)
        both = NULL;
    int status = thread_filter__refuse(both ? both : request->paths[DIFF_B],
                                       request->shared.threads, models, DIFF_SIDES);
    free(both);
    return status;
}

static int refuse_filter_of_page(const struct diff_arguments *request, const struct html_diff *html)
{
    struct report_model *a = report_model__load(html->readers[DIFF_A], 0);
    struct report_model *b = report_model__load(html->readers[DIFF_B], 0);
    const struct report_model *const models[DIFF_SIDES] = {a, b};
    int status = refuse_filter(request, models);

    report_model__free(a);
    report_model__free(b);
    return status;
}

static int show(const struct diff_arguments *request,
                const struct report_model *const models[DIFF_SIDES],
                bool *const selected[DIFF_SIDES])
{
    const struct diff_view_kind *kind = request->view;
    const struct diff_request wanted = {.column = request->shared.column,
                                        .trees = !of_threads(request),
                                        .normalize = request->normalize};
    struct report_diff *diff = report_diff__new(models, (const bool *const *)selected, &wanted);
    struct diff_view view = {
        .diff = diff,
        .models = {models[DIFF_A], models[DIFF_B]},
        .paths = {request->paths[DIFF_A], request->paths[DIFF_B]},
        .top = request->shared.top,
        .normalized = request->normalize,
        .screen = screen__stdout(),
    };
    diff_form *form = request->collapsed     ? view_diff__collapsed
                      : request->shared.json ? kind->json
                      : request->shared.csv  ? kind->csv
                                             : kind->text;

    show_losses(&view, form == kind->text);
    int error = form(&view);
    for (unsigned side = DIFF_A; side < DIFF_SIDES && form == kind->csv; side++)
        view_losses__csv(view.screen.out, models[side], request->paths[side]);
    for (unsigned side = DIFF_A; side < DIFF_SIDES && request->collapsed; side++)
        view_losses__collapsed(view.screen.out, models[side], request->paths[side], "0 0");
    report_diff__free(diff);
    if (error)
        return command__fail("%s: cannot be shown: %s", request->paths[DIFF_B], strerror(-error));
    return EXIT_FINE;
}

static int show_selected(const struct diff_arguments *request,
                         const struct report_model *const models[DIFF_SIDES])
{
    bool *selected[DIFF_SIDES];
    bool any = !request->shared.threads;

    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        selected[side] = report_model__select(models[side], request->shared.threads);
        any |= thread_filter__selects_any(selected[side], models[side]->thread_count);
    }
    int status = any ? show(request, models, selected) : refuse_filter(request, models);
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        free(selected[side]);
    return status;
}

static int write_page(const void *html, FILE *out)
{
    return html_diff__write(html, out);
}

static bool is_to_standard_output(const struct diff_arguments *request)
{
    return strcmp(request->html, "-") == 0;
}

static int write_html(const struct diff_arguments *request, const struct html_diff *html)
{
    static const char hint[] = "name another one with --html, or '-'";
    bool is_standard = is_to_standard_output(request);

    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        const struct ledger_header *header = ledger_reader__header(html->readers[side]);

        if (option_value__check_metric(request->shared.column, header, false, html->paths[side]))
            return EXIT_BAD_INPUT;
        if (!is_standard && !html_output__check(request->html, html->paths[side], hint))
            return EXIT_BAD_INPUT;
    }
    int error = is_standard ? html_diff__write(html, stdout)
                            : html_output__write(request->html, write_page, html);
    if (error == -ESRCH)
        return refuse_filter_of_page(request, html);
    if (error)
        return rights__refuse_output(is_standard ? "standard output" : request->html, error);
    if (!is_standard)
        printf("%s\n", request->html);
    return EXIT_FINE;
}

static int make_page(struct diff_arguments *request)
{
    struct ledger_reader *readers[DIFF_SIDES] = {NULL};
    struct html_page page;
    const char *missing;
    int status = EXIT_FINE;

    if (!html_page__get(&page, &missing))
        return command__fail("this treadle was built without the page of `treadle diff --html`: %s",
                             missing);
    for (unsigned side = DIFF_A; side < DIFF_SIDES && status == EXIT_FINE; side++) {
        readers[side] =
            partial_argument__read(request->paths[side], request->partial, &request->judged);
        if (!readers[side])
            status = EXIT_BAD_INPUT;
        if (status == EXIT_FINE && request->since[side])
            status = since_argument__check(request->paths[side], request->since[side]);
    }
    const struct html_diff html = {
        .readers = {readers[DIFF_A], readers[DIFF_B]},
        .page = &page,
        .paths = {request->paths[DIFF_A], request->paths[DIFF_B]},
        .since = {request->since[DIFF_A], request->since[DIFF_B]},
        .threads = request->shared.threads,
        .column = request->shared.column,
        .normalize = request->normalize,
    };
    if (status == EXIT_FINE)
        status = write_html(request, &html);
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        ledger_reader__close(readers[side]);
    return status;
}

static int show_both(struct diff_arguments *request)
{
    struct report_model *a = load(request, DIFF_A);
    struct report_model *b = a ? load(request, DIFF_B) : NULL;
    const struct report_model *const models[DIFF_SIDES] = {a, b};
    int status = a && b ? show_selected(request, models) : EXIT_BAD_INPUT;

    report_model__free(a);
    report_model__free(b);
    return status;
}

/* A time is seen from each ledger's own end. */
static int resolve_moments(struct diff_arguments *request)
{
    int status = EXIT_FINE;

    for (unsigned side = DIFF_A; side < DIFF_SIDES && status == EXIT_FINE; side++)
        status = since_argument__resolve(&request->moments, &request->paths[side],
                                         &request->since[side], request->partial, &request->judged);
    return status;
}

int cmd_diff(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_diff_option,
                                     .args_doc = "A B",
                                     .doc = doc,
                                     .children = children};
    struct diff_arguments request = {.view = &diff_view_kinds[0]};

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    int status = resolve_moments(&request);
    if (status == EXIT_FINE)
        status = request.html ? make_page(&request) : show_both(&request);
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        free(request.paths[side]);
        free(request.since[side]);
    }
    return partial_argument__status(status, request.judged);
}
