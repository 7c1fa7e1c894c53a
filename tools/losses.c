#include "tools/losses.h"

#include "tools/report/quantity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void set_full(struct loss *loss, const struct ledger_header *header)
{
    int error = header->full_error;
    loss->word = "full";
    if (error == ENOMEM)
        snprintf(loss->text, sizeof(loss->text),
                 "the ledger reached max-mem (%s): raise it, or include fewer methods",
                 quantity__bytes(header->max_bytes).text);
    else if (error == ENOSPC)
        snprintf(loss->text, sizeof(loss->text),
                 "the ledger filled its file system: a container's /dev/shm is often 64 MiB");
    else
        snprintf(loss->text, sizeof(loss->text), "the ledger could not grow: %s", strerror(error));
}

static void set_lost(struct loss *loss, uint64_t count, const char *meaning)
{
    loss->word = "lost";
    snprintf(loss->text, sizeof(loss->text), "%s %s", quantity__count(count).text, meaning);
}

unsigned losses__of(const struct report_model *model, struct loss losses[LOSSES_MAX])
{
    const struct ledger_header *header = &model->header;
    unsigned count = 0;
    for (unsigned i = 0; i < REPORT_LOSSES; i++) {
        struct report_loss loss = report_loss__of(header, i);
        if (loss.count)
            set_lost(&losses[count++], loss.count, loss.meaning);
    }
    if (model->skipped) {
        char meaning[256];
        snprintf(meaning, sizeof(meaning), "records unreadable, the first at %s",
                 model->skipped_where);
        set_lost(&losses[count++], model->skipped, meaning);
    }
    if (header->full_error)
        set_full(&losses[count++], header);
    return count;
}
