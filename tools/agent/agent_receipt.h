/*
 * Whether any JVM of a run was profiled: a file of ours that the agent in each of them writes a
 * line to (its option answer=).
 */
#ifndef TREADLE_AGENT_RECEIPT_H
#define TREADLE_AGENT_RECEIPT_H

#include <stdbool.h>

struct agent_receipt {
    char path[64]; /* "": there is none */
    int fd;
};

/* False if there is no folder for it. */
bool agent_receipt__open(struct agent_receipt *receipt);

/* Did a JVM begin to be profiled? */
bool agent_receipt__is_signed(const struct agent_receipt *receipt);
void agent_receipt__close(struct agent_receipt *receipt);

#endif
