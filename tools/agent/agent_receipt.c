#include "tools/agent/agent_receipt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool agent_receipt__open(struct agent_receipt *receipt)
{
    snprintf(receipt->path, sizeof(receipt->path), "/tmp/.treadle-run-XXXXXX");
    receipt->fd = mkostemp(receipt->path, O_CLOEXEC);
    if (receipt->fd < 0)
        receipt->path[0] = '\0';
    return receipt->fd >= 0;
}

/* Every word of an agent is a line with a blank at its end. */
static bool has_line(const struct agent_receipt *receipt, const char *word)
{
    FILE *file = fopen(receipt->path, "re");
    size_t room = 0, length = strlen(word);
    char *line = NULL;
    bool found = false;

    while (file && !found && getline(&line, &room, file) > 0)
        found = strncmp(line, word, length) == 0;
    free(line);
    if (file)
        fclose(file);
    return found;
}

bool agent_receipt__is_signed(const struct agent_receipt *receipt)
{
    return has_line(receipt, "profiling ");
}

bool agent_receipt__lacks_snapshot(const struct agent_receipt *receipt)
{
    return has_line(receipt, "unwritten ");
}

void agent_receipt__close(struct agent_receipt *receipt)
{
    if (receipt->fd < 0)
        return;
    (void)unlink(receipt->path);
    close(receipt->fd);
    receipt->fd = -1;
}
