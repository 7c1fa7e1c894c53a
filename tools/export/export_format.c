#include "tools/export/export_format.h"

const struct export_format export_formats[] = {
    {"pprof", ".pb.gz", true, false, true, true, false, format_pprof__write},
    {"collapsed", ".collapsed", false, false, false, true, false, format_collapsed__write},
    {"speedscope", ".speedscope.json", false, false, false, true, false, format_speedscope__write},
    {"perfetto", ".pftrace", true, false, false, true, false, format_perfetto__write},
    {"jfr", ".jfr", true, false, false, true, true, format_jfr__write},
    {"csv", ".csv", false, false, true, false, false, format_csv__write},
    {"sqlite", ".sqlite", true, true, true, false, false, format_sqlite__write},
};
const size_t export_format_count = sizeof(export_formats) / sizeof(export_formats[0]);
