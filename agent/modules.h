/* What each module of the agent works with: all that the folders below get of the agent. */
#ifndef TREADLE_MODULES_H
#define TREADLE_MODULES_H

struct agent;

/* To be called when the options are read and the JVM's environment is known, before all else. The
 * modules get the addresses of what may still have to be made. */
void modules__connect(struct agent *agent);

#endif
