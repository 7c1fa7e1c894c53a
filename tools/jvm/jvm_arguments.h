/* The options that a running JVM was given on its command line. */
#ifndef TREADLE_JVM_ARGUMENTS_H
#define TREADLE_JVM_ARGUMENTS_H

#include <stddef.h>
#include <sys/types.h>

struct jvm_arguments {
    char **items; /* the JVM's own options: not the program's, and without the -J of a JDK's tool */
    size_t count;
    char *texts[2]; /* what the items point into */
};

/* Of `java`: what stands before the main class, and in JDK_JAVA_OPTIONS, which java puts in front.
 * Of any other program: all that may be options of a JVM. Files of arguments (@FILE) stay closed.
 * 0 or -errno. */
int jvm_arguments__read(struct jvm_arguments *arguments, pid_t pid);
void jvm_arguments__release(struct jvm_arguments *arguments);

#endif
