/* The one argument PID of a command: a child for its argp. The input is a `pid_t *`, 0 before. The
 * pid of a `treadle run` becomes that of its JVM. */
#ifndef TREADLE_PID_ARGUMENT_H
#define TREADLE_PID_ARGUMENT_H

#include <argp.h>

extern const struct argp pid_argument;

#endif
