/* libFuzzer: any bytes as the live ledger of this very process: copied, settled, and what comes of
 * that laid out. */
#include "native/ledger/ledger_reader.h"
#include "native/proc/process_stat.h"
#include "native/snapshot/snapshot.h"
#include "tests/fuzz/fuzzed_ledger.h"
#include "tools/report/report_model.h"

static void claim_to_run(struct ledger_header *header)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    header->state = LEDGER_LIVE;
    header->pid = getpid();
    (void)process_start__read(header->pid, &header->start_ticks);
    memset(header->boot_id, 0, sizeof header->boot_id);
    if (fd < 0 || read(fd, header->boot_id, sizeof header->boot_id - 1) < 0)
        abort();
    header->boot_id[strcspn(header->boot_id, "\n")] = '\0';
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct ledger_header header;
    int fd = fuzzed_file(bytes, length, &header);
    int copy = fd < 0 ? -1 : memfd_create("settled", MFD_CLOEXEC);
    struct ledger_reader *reader = NULL;
    char message[256];

    if (copy < 0)
        return 0;
    claim_to_run(&header);
    put_header(fd, &header);
    if (snapshot__copy(fd, copy) == 0)
        reader = ledger_reader__open_fd(copy, "settled", message, sizeof message);
    if (reader)
        report_model__free(report_model__load(reader, ~UINT64_C(0)));
    ledger_reader__close(reader);
    (void)close(fd);
    (void)close(copy);
    return 0;
}
