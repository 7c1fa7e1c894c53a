#include "tools/output/output_place.h"

#include "tools/command.h"

#include <sys/stat.h>

bool output_place__is_no_ledger(const char *output, const char *ledger, const char *hint)
{
    struct stat its, other;
    bool is_same = stat(ledger, &its) == 0 && stat(output, &other) == 0 &&
                   its.st_dev == other.st_dev && its.st_ino == other.st_ino;

    if (is_same)
        command__fail("%s: is the ledger itself; %s", output, hint);
    return !is_same;
}
