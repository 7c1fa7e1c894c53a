/* treadle html: a ledger as one HTML file to look at in a browser. */
#include "tools/arguments/ledger_argument.h"
#include "tools/arguments/partial_argument.h"
#include "tools/arguments/shared_options.h"
#include "tools/arguments/since_argument.h"
#include "tools/arguments/thread_filter.h"
#include "tools/command.h"
#include "tools/ledgers/rights.h"
#include "tools/page/html_ledger.h"
#include "tools/page/html_output.h"
#include "tools/report/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct html_request {
    char **sources; /* FILEs or PIDs; none: the newest */
    uint32_t count;
    struct shared_options shared;
    struct since_options moments;
    bool partial;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "the file to write; '-' is standard output (default: the ledger's name with .html, here)", 0},
    {"thread", 't', "GLOB", 0, "only threads whose name matches, such as 'http-*'", 0},
    {0},
};

static const struct argp_child children[] = {
    {&partial_argument, 0, NULL, 0},
    {&since_argument, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Write a ledger as one HTML file: its threads, call trees and methods, to look at, zoom and "
    "search in a browser. The file needs no network and no other file. Snapshots of one process at "
    "several moments give a heat map, too: what its threads and methods used between them."
    "\vWith no FILE or PID: the newest *.ledger in the working folder. Prints the path. "
    "Exit status 0 fine, 1 bad input, 2 bad usage.";

static error_t parse_html_option(int key, char *argument, struct argp_state *state)
{
    struct html_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->partial;
        state->child_inputs[1] = &request->moments;
        break;
    case ARGP_KEY_ARG:
        request->sources[request->count++] = argument;
        break;
    case ARGP_KEY_END:
        if (request->count > 1 && (request->moments.since || request->moments.until))
            argp_error(state, "--since and --until are of one ledger; several are shown with all "
                              "their moments");
        break;
    default:
        return shared_option__parse(key, argument, state, &request->shared);
    }
    return 0;
}

/* "app.ledger" gives "app.html", a process "treadle-PID.html"; both in the working folder. */
static char *default_output(const struct html_request *request, const char *path)
{
    static const char suffix[] = ".ledger";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    char *output = NULL;
    int printed;

    if (length >= sizeof(suffix) && strcmp(name + length - (sizeof(suffix) - 1), suffix) == 0)
        length -= sizeof(suffix) - 1;
    if (request->count == 1 && ledger_argument__is_pid(request->sources[0]))
        printed = asprintf(&output, "treadle-%s.html", request->sources[0]);
    else
        printed = asprintf(&output, "%.*s.html", (int)length, name);
    return printed < 0 ? NULL : output;
}

static int refuse_filter(const struct html_ledger *html)
{
    const struct html_moment *last = html_moments__last(html->moments);
    struct report_model *model = report_model__load(last->reader, 0);
    const struct report_model *const models[] = {model};
    int status = thread_filter__refuse(last->path, html->threads, models, 1);

    report_model__free(model);
    return status;
}

static int complain(const struct html_ledger *html, const char *output, int error)
{
    if (error == -ESRCH)
        return refuse_filter(html);
    return rights__refuse_output(output, error);
}

static int write_page(const void *html, FILE *out)
{
    return html_ledger__write(html, out);
}

static int write_output(const struct html_ledger *html, const char *output)
{
    if (strcmp(output, "-") == 0) {
        int error = html_ledger__write(html, stdout);

        return error ? complain(html, "standard output", error) : EXIT_FINE;
    }
    for (uint32_t i = 0; i < html->moments->count; i++)
        if (!html_output__check(output, html->moments->moments[i].path,
                                "name another one with --output, or '-'"))
            return EXIT_BAD_INPUT;
    int error = html_output__write(output, write_page, html);
    if (error)
        return complain(html, output, error);
    printf("%s\n", output);
    return EXIT_FINE;
}

static int judge(const struct html_moments *moments, bool partial)
{
    int judged = EXIT_FINE;

    for (uint32_t i = 0; i < moments->count; i++)
        if (partial_argument__judge(moments->moments[i].reader, moments->moments[i].path, partial))
            judged = EXIT_BAD_INPUT;
    return judged;
}

static int html(const struct html_request *request, char *const *sources, uint32_t count,
                const char *since, const struct html_page *page)
{
    struct html_moments *moments = html_moments__open(sources, count);

    if (!moments)
        return EXIT_BAD_INPUT;
    int judged = judge(moments, request->partial);
    const char *path = html_moments__last(moments)->path;
    struct html_ledger ledger = {
        .moments = moments, .page = page, .threads = request->shared.threads, .since = since};
    char *chosen = request->shared.output ? NULL : default_output(request, path);
    const char *output = request->shared.output ? request->shared.output : chosen;
    int status =
        output ? write_output(&ledger, output) : command__fail("%s: %s", path, strerror(ENOMEM));
    free(chosen);
    html_moments__close(moments);
    return partial_argument__status(status, judged);
}

/* Of one ledger, what is of an interval of it. */
static int html_of_one(const struct html_request *request, const struct html_page *page)
{
    char *path = ledger_argument__path(request->count ? request->sources[0] : NULL);
    char *since = NULL;
    int judged = EXIT_FINE;
    int status = EXIT_BAD_INPUT;

    if (path)
        status =
            since_argument__resolve(&request->moments, &path, &since, request->partial, &judged);
    if (status == EXIT_FINE && since)
        status = since_argument__check(path, since);
    if (status == EXIT_FINE)
        status = partial_argument__status(html(request, &path, 1, since, page), judged);
    free(since);
    free(path);
    return status;
}

int cmd_html(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_html_option,
                                     .args_doc = "[FILE|PID]...",
                                     .doc = doc,
                                     .children = children};
    struct html_request request = {.sources = memory__zeroed((size_t)argc, sizeof(char *))};
    struct html_page page;
    const char *missing;
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        status = EXIT_BAD_USAGE;
    else if (!html_page__get(&page, &missing))
        status =
            command__fail("this treadle was built without the page of `treadle html`: %s", missing);
    else if (request.count > 1)
        status = html(&request, request.sources, request.count, NULL, &page);
    else
        status = html_of_one(&request, &page);
    free(request.sources);
    return status;
}
