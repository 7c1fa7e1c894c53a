/* The one argument PID of a command: a child for its argp. The input is a `pid_t *`, 0 before;
 * of a `treadle run` it becomes the JVM's. */
#ifndef TREADLE_PID_ARGUMENT_H
#define TREADLE_PID_ARGUMENT_H

#include <argp.h>

extern const struct argp pid_argument;

#endif
