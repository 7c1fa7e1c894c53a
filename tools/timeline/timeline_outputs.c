#include "tools/timeline/timeline_outputs.h"

#include "tools/command.h"
#include "tools/export/output_file.h"
#include "tools/ledgers/rights.h"
#include "tools/page/html_output.h"
#include "tools/timeline/timeline_html.h"
#include "tools/timeline/timeline_perfetto.h"
#include "tools/timeline/timeline_text.h"

#include <string.h>

#define USUAL_BYTES 64u

static int write_trace(const struct timeline_model *model, const char *path)
{
    struct output_file file;
    int error = output_file__open(&file, path);

    if (!error)
        error = output_file__finish(&file, timeline_perfetto__write(model, file.stream));
    return error ? rights__refuse_output(path, error) : EXIT_FINE;
}

struct page_request {
    const struct timeline_model *model;
    const struct html_page *page;
};

static int write_page(const void *what, FILE *out)
{
    const struct page_request *request = what;

    return timeline_html__write(request->model, request->page, out);
}

static int write_html(const struct timeline_model *model, const struct timeline_outputs *outputs)
{
    const struct page_request wanted = {model, &outputs->page};
    int error = html_output__write(outputs->html, write_page, &wanted);

    return error ? rights__refuse_output(outputs->html, error) : EXIT_FINE;
}

/* Is there a page, and a place for it? */
static bool can_write_html(struct timeline_outputs *outputs, const char *file)
{
    static const char hint[] = "name another one with --html";
    const char *missing;

    if (!html_page__get_timeline(&outputs->page, &missing)) {
        command__fail("this treadle was built without the page of `treadle timeline --html`: %s",
                      missing);
        return false;
    }
    return html_output__check(outputs->html, file ? file : "", hint);
}

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* NULL: no trace is wanted. */
static const char *trace_path(const struct timeline_outputs *outputs, pid_t pid,
                              char usual[USUAL_BYTES])
{
    snprintf(usual, USUAL_BYTES, "timeline-%d.perfetto-trace", (int)pid);
    return outputs->trace ? outputs->trace : outputs->html ? NULL : usual;
}

bool timeline_outputs__are_one(const struct timeline_outputs *outputs)
{
    return outputs->html && outputs->trace && strcmp(outputs->html, outputs->trace) == 0;
}

bool timeline_outputs__check(struct timeline_outputs *outputs, pid_t pid, const char *file)
{
    char usual[USUAL_BYTES];
    const char *failed = trace_path(outputs, pid, usual);
    int error;

    if (outputs->html && !can_write_html(outputs, file))
        return false;
    error = output_file__check(failed);
    if (!error && outputs->html) {
        failed = outputs->html;
        error = output_file__check(failed);
    }
    if (error)
        (void)rights__refuse_output(failed, error);
    return !error;
}

int timeline_outputs__write(const struct timeline_outputs *outputs,
                            struct timeline_recorder *recorder, FILE *out)
{
    struct ledger_reader *ledger = timeline_recorder__ledger(recorder);
    struct timeline_model model;
    char usual[USUAL_BYTES];
    const char *path = trace_path(outputs, recorder->store.pid, usual);
    int status = EXIT_FINE;

    timeline_model__make(&model, &recorder->store, ledger);
    if (ledger)
        ledger_reader__close(ledger);
    if (is_standard(path))
        out = stderr;
    if (path)
        status = write_trace(&model, path);
    if (!status && outputs->html)
        status = write_html(&model, outputs);
    if (!status) {
        timeline_text__write(&model, out);
        if (path && !is_standard(path))
            fprintf(out, "%s\n", path);
        if (outputs->html)
            fprintf(out, "%s\n", outputs->html);
    }
    timeline_model__release(&model);
    return status;
}
