/* What the ledger's header says of the machine, the process and the JVM. */
#ifndef TREADLE_HOST_FACTS_H
#define TREADLE_HOST_FACTS_H

struct agent;

/* All but the JVM, when the ledger is made. */
void host_facts__record(struct agent *agent, const char *options);

/* The JVM's name and version, once it can tell. */
void host_facts__record_jvm(struct agent *agent);

#endif
