/* libFuzzer: any bytes as a ledger, merged with itself; what comes of that can be read, and has
 * nothing to skip. */
#include "native/ledger/ledger_reader.h"
#include "tests/fuzz/fuzzed_ledger.h"
#include "tools/merge/ledger_merge.h"
#include "tools/report/report_model.h"

static void read_merged(const struct ledger_merge *merge)
{
    size_t length;
    const char *bytes = ledger_merge__bytes(merge, &length);
    int fd = memfd_create("merged", MFD_CLOEXEC);
    char message[256];
    struct ledger_reader *reader;

    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
        abort();
    reader = ledger_reader__open_fd(fd, "merged", message, sizeof message);
    if (!reader)
        abort();
    report_model__free(report_model__load(reader, ~UINT64_C(0)));
    ledger_reader__close(reader);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct ledger_header header;
    struct ledger_reader *readers[2] = {NULL, NULL};
    struct ledger_merge *merge;
    char message[256];
    int fd = fuzzed_file(bytes, length, &header);

    if (fd < 0)
        return 0;
    put_header(fd, &header);
    for (int i = 0; i < 2; i++)
        readers[i] = ledger_reader__open_fd(fd, "fuzzed", message, sizeof message);
    if (readers[0] && readers[1] && ledger_merge__new(&merge, readers, 2) == 0) {
        read_merged(merge);
        ledger_merge__free(merge);
    }
    ledger_reader__close(readers[0]);
    ledger_reader__close(readers[1]);
    (void)close(fd);
    return 0;
}
