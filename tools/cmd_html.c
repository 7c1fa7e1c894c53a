/* treadle html: a ledger as one HTML file to look at in a browser. */
#include "tools/command.h"
#include "tools/html_ledger.h"
#include "tools/html_output.h"
#include "tools/ledger_argument.h"
#include "tools/live_ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *source; /* FILE or PID, or NULL */
    const char *output; /* or NULL */
    const char *threads;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "where to; '-' is standard output (default: the ledger's name with .html, here)", 0},
    {"thread", 't', "GLOB", 0, "only threads whose name matches, such as 'http-*'", 0},
    {0},
};

static const char doc[] =
    "Write a ledger as one HTML file: its threads, call trees and methods, to look at, zoom and "
    "search in a browser. The file needs no network and no other file."
    "\vWith no FILE or PID: the newest *.ledger in the working folder. Prints the path. "
    "Exit status 0 fine, 1 bad input, 2 bad usage.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case 'o':
        request->output = argument;
        break;
    case 't':
        request->threads = argument;
        break;
    case ARGP_KEY_ARG:
        if (request->source)
            argp_error(state, "one FILE or PID, not more");
        request->source = argument;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* "app.ledger" gives "app.html", a process "treadle-PID.html"; both in the working folder. */
static char *default_output(const struct request *request, const char *path)
{
    static const char suffix[] = ".ledger";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    char *output = NULL;
    int printed;
    if (length >= sizeof(suffix) && strcmp(name + length - (sizeof(suffix) - 1), suffix) == 0)
        length -= sizeof(suffix) - 1;
    if (request->source && ledger_argument__is_pid(request->source))
        printed = asprintf(&output, "treadle-%s.html", request->source);
    else
        printed = asprintf(&output, "%.*s.html", (int)length, name);
    return printed < 0 ? NULL : output;
}

static int complain(const struct html_ledger *html, const char *output, int error)
{
    if (error == -ESRCH)
        return command__fail("%s: no thread matches '%s'; `treadle report` lists them", html->path,
                             html->threads);
    return command__fail("%s: cannot be written: %s", output, strerror(-error));
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
    if (!html_output__check(output, html->path, "name another one with --output, or '-'"))
        return EXIT_BAD_INPUT;
    int error = html_output__write(output, write_page, html);
    if (error)
        return complain(html, output, error);
    printf("%s\n", output);
    return EXIT_FINE;
}

static int html(const struct request *request, const struct html_page *page, const char *path)
{
    char message[512];
    struct ledger_reader *reader = live_ledger__read(path, message, sizeof(message));
    if (!reader)
        return command__fail("%s", message);
    struct html_ledger ledger = {
        .reader = reader, .page = page, .path = path, .threads = request->threads};
    char *chosen = request->output ? NULL : default_output(request, path);
    const char *output = request->output ? request->output : chosen;
    int status =
        output ? write_output(&ledger, output) : command__fail("%s: %s", path, strerror(ENOMEM));
    free(chosen);
    ledger_reader__close(reader);
    return status;
}

int cmd_html(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "[FILE|PID]", .doc = doc};
    struct request request = {0};
    struct html_page page;
    const char *missing;
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    if (!html_page__get(&page, &missing))
        return command__fail("this treadle was built without the page of `treadle html`: %s",
                             missing);
    char *path = ledger_argument__path(request.source);
    int status = path ? html(&request, &page, path) : EXIT_BAD_INPUT;
    free(path);
    return status;
}
