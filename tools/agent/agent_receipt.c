#include "tools/agent/agent_receipt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECEIPT_BYTES 65536u

bool agent_receipt__open(struct agent_receipt *receipt)
{
    snprintf(receipt->path, sizeof(receipt->path), "/tmp/.treadle-run-XXXXXX");
    receipt->fd = mkostemp(receipt->path, O_CLOEXEC);
    if (receipt->fd < 0)
        receipt->path[0] = '\0';
    return receipt->fd >= 0;
}

bool agent_receipt__is_signed(const struct agent_receipt *receipt)
{
    char text[RECEIPT_BYTES];
    ssize_t length = pread(receipt->fd, text, sizeof(text) - 1, 0);

    text[length > 0 ? length : 0] = '\0';
    return strncmp(text, "profiling ", 10) == 0 || strstr(text, "\nprofiling ") != NULL;
}

void agent_receipt__close(struct agent_receipt *receipt)
{
    if (receipt->fd < 0)
        return;
    (void)unlink(receipt->path);
    close(receipt->fd);
    receipt->fd = -1;
}
