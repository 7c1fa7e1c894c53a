/* libFuzzer: any bytes as the ledger of an earlier run, which the agent reads in the JVM as its
 * plan (plan=LEDGER). */
#include "agent/methods/plan.h"
#include "agent/methods/plan_choice.h"
#include "native/ledger/ledger_reader.h"
#include "tests/fuzz/fuzzed_ledger.h"

#define TWO_PERCENT 20000u
#define PATH_BYTES  32u

static void choose(int fd)
{
    char message[256];
    struct plan_choice choice = {0};
    struct ledger_reader *reader = ledger_reader__open_fd(fd, "fuzzed", message, sizeof message);

    if (reader && plan_choice__make(reader, TWO_PERCENT, &choice) == 0)
        for (size_t i = 0; i < choice.count; i++)
            if (!choice.methods[i].calls)
                abort();
    free(choice.methods);
    ledger_reader__close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct ledger_header header;
    int fd = fuzzed_file(bytes, length, &header);
    char path[PATH_BYTES], message[256];
    struct plan *plan;

    if (fd < 0)
        return 0;
    put_header(fd, &header);
    choose(fd);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (plan__read(&plan, path, TWO_PERCENT, message, sizeof message) == 0)
        plan__delete(plan);
    (void)close(fd);
    return 0;
}
