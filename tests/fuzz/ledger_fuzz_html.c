/* libFuzzer: any bytes as a ledger that is shown as a page. */
#include "tests/fuzz/fuzzed_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const struct fuzzed_command commands[] = {
        {cmd_html, {"treadle html", "--output", "-"}},
    };

    run_one(commands, sizeof commands / sizeof commands[0], bytes, length);
    return 0;
}
