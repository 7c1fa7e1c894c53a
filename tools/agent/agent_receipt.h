/*
 * Tells whether any JVM of a run was profiled: the agent in each JVM writes a line to a file that
 * this module makes (the agent's option answer=).
 */
#ifndef TREADLE_AGENT_RECEIPT_H
#define TREADLE_AGENT_RECEIPT_H

#include <stdbool.h>

struct agent_receipt {
    char path[64]; /* "": there is none */
    int fd;
};

/* False if there is no folder for the file. */
bool agent_receipt__open(struct agent_receipt *receipt);

/* True if a JVM began to be profiled. */
bool agent_receipt__is_signed(const struct agent_receipt *receipt);

/* True if a JVM could not write its last snapshot. The JVM's agent has said so on stderr. */
bool agent_receipt__lacks_snapshot(const struct agent_receipt *receipt);
void agent_receipt__close(struct agent_receipt *receipt);

#endif
