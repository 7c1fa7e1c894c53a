/* libFuzzer: any bytes as a ledger that is exported, in every format but SQLite's, which is slow to
 * fuzz. */
#include "tests/fuzz/fuzzed_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const struct fuzzed_command commands[] = {
        {cmd_export, {"treadle export", "--format", "collapsed", "--output", "-"}},
        {cmd_export, {"treadle export", "--format", "csv", "--output", "-"}},
        {cmd_export, {"treadle export", "--format", "speedscope", "--output", "-"}},
        {cmd_export, {"treadle export", "--format", "pprof", "--output", "-"}},
        {cmd_export, {"treadle export", "--format", "perfetto", "--output", "-"}},
        {cmd_export, {"treadle export", "--format", "jfr", "--output", "-"}},
    };

    run_one(commands, sizeof commands / sizeof commands[0], bytes, length);
    return 0;
}
