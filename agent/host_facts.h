/* What the ledger's header says about the machine, the process and the JVM. */
#ifndef TREADLE_HOST_FACTS_H
#define TREADLE_HOST_FACTS_H

struct agent;

/* Everything except the JVM; called when the ledger is made. */
void host_facts__record(struct agent *agent, const char *options);

/* The options of a start after a stop, if it has any. */
void host_facts__record_start(struct agent *agent, const char *options);

/* The JVM's name and version; called once the JVM can report them. */
void host_facts__record_jvm(struct agent *agent);

#endif
