/* What a report needs to show samples inside a method: its line numbers and its bytecodes. */
#ifndef TREADLE_METHOD_DETAILS_H
#define TREADLE_METHOD_DETAILS_H

#include "agent/sampling/java_methods.h"
#include "native/ledger/ledger.h"

#include <jvmti.h>

/* Writes the details of all methods that were the top frame of a sample into their records, where
 * they are missing. On a thread that may call JVMTI, in the live phase. */
void method_details__record(struct java_methods *methods, struct ledger *ledger, jvmtiEnv *jvmti,
                            JNIEnv *jni);

#endif
