/*
 * A request to the agent in a running JVM. The agent's library is loaded (again) with options that
 * say what the agent shall do, and the agent's answer comes back in a file.
 */
#ifndef TREADLE_AGENT_REQUEST_H
#define TREADLE_AGENT_REQUEST_H

#include "native/ledger/ledger_format.h"
#include "tools/agent/agent_options.h"
#include "tools/jvm/jvm_process.h"

/* The agent's library by its path in the JVM's eyes, to be freed; NULL after a line. */
char *agent_request__library(const struct jvm_process *process);

/* Makes the agent in a JVM do what the options say; `library` is the path of the agent's library
 * as the JVM sees it. The agent's answer goes to stderr. 0, or EXIT_BAD_INPUT after a line with
 * the reason; -EEXIST without a line if the options are those of an attach, and the agent is there.
 */
int agent_request__send(const struct jvm_process *process, const char *library,
                        const struct agent_options *options);

/* The same to a JVM that has the agent and a ledger. `header` becomes the ledger's header as it
 * stands after the request. */
int agent_request__send_again(pid_t pid, const struct agent_options *options,
                              struct ledger_header *header);

#endif
