/* libFuzzer: any bytes as a ledger that is reported, listed and annotated. */
#include "tests/fuzz/fuzzed_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const struct fuzzed_command commands[] = {
        {cmd_report, {"treadle report", "--view", "threads"}},
        {cmd_report, {"treadle report", "--view", "threads", "--json"}},
        {cmd_report, {"treadle report", "--view", "tree"}},
        {cmd_report, {"treadle report", "--view", "tree", "--json"}},
        {cmd_report, {"treadle report", "--view", "flat"}},
        {cmd_report, {"treadle report", "--view", "flat", "--json"}},
        {cmd_report, {"treadle report", "--view", "callers"}},
        {cmd_report, {"treadle report", "--view", "callers", "--json"}},
        {cmd_report, {"treadle report", "--view", "spawn"}},
        {cmd_report, {"treadle report", "--view", "spawn", "--json"}},
        {cmd_report, {"treadle report", "--view", "images"}},
        {cmd_report, {"treadle report", "--view", "images", "--json"}},
        {cmd_report, {"treadle report", "--view", "procedures"}},
        {cmd_report, {"treadle report", "--view", "procedures", "--json"}},
        {cmd_report, {"treadle report", "--view", "locks"}},
        {cmd_report, {"treadle report", "--view", "locks", "--json"}},
        {cmd_report, {"treadle report", "--view", "blockers", "--fold"}},
        {cmd_report, {"treadle report", "--view", "blockers", "--json"}},
        {cmd_report, {"treadle report", "--view", "latency"}},
        {cmd_report, {"treadle report", "--view", "latency", "--json"}},
        {cmd_report, {"treadle report", "--view", "flat", "--csv"}},
        {cmd_annotate, {"treadle annotate", "demo.Main.run"}},
        {cmd_list, {"treadle list", "--json"}},
    };

    run_one(commands, sizeof commands / sizeof commands[0], bytes, length);
    return 0;
}
