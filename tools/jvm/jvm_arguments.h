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

/* For `java`: the options before the main class, and those in JDK_JAVA_OPTIONS, which java puts in
 * front. For any other program: every argument that may be an option of a JVM. Files of arguments
 * (@FILE) are not read. 0 or -errno. */
int jvm_arguments__read(struct jvm_arguments *arguments, pid_t pid);
void jvm_arguments__release(struct jvm_arguments *arguments);

#endif
