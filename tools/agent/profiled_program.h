/*
 * A program that is started with the agent in its JVM: `java` gets it as -agentpath, the JDK's
 * tools as -J-agentpath, any other program through JAVA_TOOL_OPTIONS. What profiles programs
 * without a JVM is preloaded, and passed on to the programs that it starts.
 */
#ifndef TREADLE_PROFILED_PROGRAM_H
#define TREADLE_PROFILED_PROGRAM_H

#include <stdbool.h>

/* Makes this process become the program (argv, NULL-terminated); text: the agent's options.
 * library: the agent; preload: libtreadle-native.so; NULL: none. Returns only if that fails: the
 * exit status, after a line. */
int profiled_program__become(char **program, const char *library, const char *preload,
                             const char *text);

/* True of `java` and of the JDK's tools. */
bool profiled_program__is_of_jdk(const char *program);

/* True if an exit status says that the program could not be started. */
bool profiled_program__has_failed(int status);

#endif
