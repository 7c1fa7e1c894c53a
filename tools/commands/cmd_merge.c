/* treadle merge: the ledgers of several processes in one. */
#include "tools/arguments/partial_argument.h"
#include "tools/arguments/shared_options.h"
#include "tools/command.h"
#include "tools/ledgers/rights.h"
#include "tools/merge/ledger_merge.h"
#include "tools/output/output_place.h"
#include "tools/output/whole_file.h"
#include "tools/report/memory.h"
#include "tools/report/report_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct merge_request {
    struct shared_options shared;
    char **paths;
    size_t count;
    bool partial;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "the file to write (default treadle-merged.ledger); '-': standard output", 0},
    {0},
};

static const struct argp_child children[] = {
    {&partial_argument, 0, NULL, 0},
    {0},
};

static const char doc[] =
    "Put the ledgers of several processes into one, which every other command reads."
    "\vEach thread's name begins with its process: '[pid 4242 app.Main] main'. Sums and the "
    "balance "
    "are those of the processes together. The file is complete or not there at all, and is none of "
    "the ledgers; prints its path.";

static error_t parse_merge_option(int key, char *argument, struct argp_state *state)
{
    struct merge_request *request = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->partial;
        break;
    case ARGP_KEY_ARGS:
        request->paths = state->argv + state->next;
        request->count = (size_t)(state->argc - state->next);
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no ledgers to merge");
        break;
    default:
        return shared_option__parse(key, argument, state, &request->shared);
    }
    return 0;
}

/* What both have would be counted twice; whoever wants that is told. */
static void note_same_processes(const struct merge_request *request,
                                struct ledger_reader *const *readers)
{
    for (size_t i = 1; i < request->count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct ledger_header *x = ledger_reader__header(readers[j]);
            const struct ledger_header *y = ledger_reader__header(readers[i]);

            if (x->pid && x->start_ticks && x->pid == y->pid && x->start_ticks == y->start_ticks &&
                memcmp(x->boot_id, y->boot_id, sizeof(x->boot_id)) == 0)
                command__note("%s, %s: both of process %" PRId32
                              ": what they have in common counts twice",
                              request->paths[j], request->paths[i], x->pid);
        }
}

/* What some ledgers lack counts as 0 in the sums. */
static void note_partial_metrics(const struct merge_request *request,
                                 struct ledger_reader *const *readers)
{
    uint64_t some = 0;
    uint64_t all = ~UINT64_C(0);
    char names[1024] = "";
    size_t used = 0;

    for (size_t i = 0; i < request->count; i++) {
        uint64_t columns = report_columns__of_threads(ledger_reader__header(readers[i]));

        some |= columns;
        all &= columns;
    }
    for (enum report_column column = 0; column < COLUMN_COUNT && used < sizeof(names); column++)
        if ((some & ~all) & COLUMN_BIT(column))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                                     report_column__name(column));
    if (used)
        command__note("metrics that not all of the ledgers have, 0 for the others: %s", names);
}

static void note_unknown_totals(const struct merge_request *request,
                                struct ledger_reader *const *readers)
{
    for (size_t i = 0; request->count > 1 && i < request->count; i++)
        if (ledger_reader__header(readers[i])->process_cpu_ns == 0)
            command__note("%s: the kernel's total of this process is not known, so the merged "
                          "ledger has none",
                          request->paths[i]);
}

static void note_skipped(const struct merge_request *request, const struct ledger_merge *merge)
{
    for (size_t i = 0; i < request->count; i++)
        if (ledger_merge__skipped(merge, i))
            command__note("%s: %" PRIu64 " record%s unreadable and left out, the first at %s",
                          request->paths[i], ledger_merge__skipped(merge, i),
                          ledger_merge__skipped(merge, i) == 1 ? "" : "s",
                          ledger_merge__skipped_where(merge, i));
}

static bool is_to_standard_output(const struct merge_request *request)
{
    return strcmp(request->shared.output, "-") == 0;
}

/* Over none of the ledgers: what the merged one has counts twice when it is made again. */
static bool may_write(const struct merge_request *request)
{
    if (is_to_standard_output(request) && isatty(STDOUT_FILENO)) {
        command__fail("a ledger is binary, nothing for a terminal: name a file with --output");
        return false;
    }
    for (size_t i = 0; i < request->count && !is_to_standard_output(request); i++)
        if (!output_place__is_no_ledger(request->shared.output, request->paths[i],
                                        "name another one with --output"))
            return false;
    return true;
}

/* 0 or -errno. What standard output does not take shows when it is flushed in the end. */
static int write_merged(const struct merge_request *request, const char *content, size_t bytes)
{
    if (!is_to_standard_output(request))
        return whole_file__write(request->shared.output, content, bytes);
    (void)!fwrite(content, 1, bytes, stdout);
    return 0;
}

static int merge_and_write(const struct merge_request *request,
                           struct ledger_reader *const *readers)
{
    struct ledger_merge *merge;
    size_t bytes;
    int error = ledger_merge__new(&merge, readers, request->count);

    if (error)
        return command__fail("%s: cannot be made: %s; merge fewer ledgers", request->shared.output,
                             strerror(-error));
    const char *content = ledger_merge__bytes(merge, &bytes);
    error = write_merged(request, content, bytes);
    if (!error) {
        note_same_processes(request, readers);
        note_partial_metrics(request, readers);
        note_unknown_totals(request, readers);
        note_skipped(request, merge);
    }
    ledger_merge__free(merge);
    if (error)
        return rights__refuse_output(request->shared.output, error);
    if (!is_to_standard_output(request))
        puts(request->shared.output);
    return EXIT_FINE;
}

int cmd_merge(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_merge_option,
                                     .args_doc = "LEDGER...",
                                     .doc = doc,
                                     .children = children};
    struct merge_request request = {.shared = {.output = "treadle-merged.ledger"}};
    int status = EXIT_FINE;
    int judged = EXIT_FINE;

    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_BAD_USAGE;
    if (!may_write(&request))
        return EXIT_BAD_INPUT;
    struct ledger_reader **readers = memory__zeroed(request.count, sizeof(struct ledger_reader *));
    for (size_t i = 0; i < request.count && status == EXIT_FINE; i++) {
        readers[i] = partial_argument__read(request.paths[i], request.partial, &judged);
        if (!readers[i])
            status = EXIT_BAD_INPUT;
    }
    if (status == EXIT_FINE)
        status = merge_and_write(&request, readers);
    for (size_t i = 0; i < request.count; i++)
        ledger_reader__close(readers[i]);
    free((void *)readers);
    return partial_argument__status(status, judged);
}
