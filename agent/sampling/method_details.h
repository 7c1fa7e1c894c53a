/* What is needed to show samples inside a method: its line numbers and its bytecodes. */
#ifndef TREADLE_METHOD_DETAILS_H
#define TREADLE_METHOD_DETAILS_H

#include <jvmti.h>

struct agent;

/* Of all methods that samples met on top, into their records, as far as it is not there yet. On a
 * thread that may call JVMTI, in the live phase. */
void method_details__record(struct agent *agent, JNIEnv *jni);

#endif
