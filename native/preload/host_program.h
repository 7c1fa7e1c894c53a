/* What kind of program this library was loaded into. */
#ifndef TREADLE_HOST_PROGRAM_H
#define TREADLE_HOST_PROGRAM_H

#include <stdbool.h>

/* True in a process that is a JVM or about to become one: `java` and the JDK's tools have libjli,
 * programs with a JVM in them libjvm. The agent profiles those. */
bool host_program__is_jvm(void);

/* True once libtreadle.so, the agent, is in the process: a JVM that the program loaded came with
 * it. Not under the linker's lock. */
bool host_program__has_agent(void);

#endif
