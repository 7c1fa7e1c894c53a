#include "tools/arguments/partial_argument.h"

#include "tools/command.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/report/report_losses.h"

enum option_key {
    KEY_PARTIAL = 0x10000, /* no command has that many */
};

static const struct argp_option options[] = {
    {"partial", KEY_PARTIAL, NULL, 0,
     "exit status 0 even if the end of a ledger is cut off; what is missing is reported anyway", 0},
    {0},
};

static error_t parse_partial(int key, char *argument, struct argp_state *state)
{
    bool *allowed = state->input;

    (void)argument;
    if (key != KEY_PARTIAL)
        return ARGP_ERR_UNKNOWN;
    *allowed = true;
    return 0;
}

const struct argp partial_argument = {.options = options, .parser = parse_partial};

int partial_argument__judge_bytes(const struct ledger_header *header, uint64_t present_bytes,
                                  uint64_t missing_bytes, const char *path, bool allowed)
{
    char text[PARTIAL_TEXT_BYTES];

    report_losses__partial(present_bytes, missing_bytes, header, text);
    if (!text[0])
        return EXIT_FINE;
    command__note("%s: %s%s", path, text, allowed ? "" : "; --partial takes what is there");
    return allowed ? EXIT_FINE : EXIT_BAD_INPUT;
}

int partial_argument__judge(const struct ledger_reader *reader, const char *path, bool allowed)
{
    return partial_argument__judge_bytes(ledger_reader__header(reader),
                                         ledger_reader__present_bytes(reader),
                                         ledger_reader__missing_bytes(reader), path, allowed);
}

struct ledger_reader *partial_argument__read(const char *path, bool allowed, int *judged)
{
    char message[512];
    struct ledger_reader *reader = live_ledger__read(path, message, sizeof(message));

    if (!reader)
        command__fail("%s", message);
    else if (partial_argument__judge(reader, path, allowed))
        *judged = EXIT_BAD_INPUT;
    return reader;
}
