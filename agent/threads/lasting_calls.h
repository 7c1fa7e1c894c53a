/*
 * Calls that last in a loop: frames of busy threads that stay on the stack while younger frames
 * come and go, such as a program's main loop.
 *
 * HotSpot (17 and 25) interprets a call whose method's class was changed meanwhile, until the call
 * returns: the compilers compile for later calls only. A loop of such a call, which ran as machine
 * code before, then takes some forty times as long. So the class of such a call is better left as
 * it is.
 *
 * Calls of virtual threads are not found: JVMTI lists platform threads only.
 */
#ifndef TREADLE_LASTING_CALLS_H
#define TREADLE_LASTING_CALLS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lasting_doubt {
    LASTING_PROBABLY, /* a loop that calls a method again and again looks like one call of it */
    LASTING_SURELY,   /* of each thread, the oldest call in a loop alone */
};

struct lasting_calls {
    char **classes; /* internal names, each once */
    size_t count;
};

void lasting_calls__add_capabilities(jvmtiCapabilities *capabilities);

/* Finds the classes with calls that last in a loop and may run as machine code: looks at the stacks
 * of the threads that use CPU, three times within look_ns. Of a stack the 512 oldest frames are
 * looked at. Without memory nothing is found. For a thread that may run Java and wait. */
void lasting_calls__find(struct lasting_calls *calls, jvmtiEnv *jvmti, JNIEnv *jni,
                         enum lasting_doubt doubt, uint64_t look_ns);

/* True if the class with that internal name is one of them. */
bool lasting_calls__has(const struct lasting_calls *calls, const char *class_name);

void lasting_calls__release(struct lasting_calls *calls);

#endif
