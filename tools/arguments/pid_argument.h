/* The one argument PID of a command: a child for its argp. The input is a `pid_t *`, which is 0
 * at first. The pid of a `treadle run` is replaced by that of its JVM. */
#ifndef TREADLE_PID_ARGUMENT_H
#define TREADLE_PID_ARGUMENT_H

#include <argp.h>

extern const struct argp pid_argument;

#endif
