/* Which classes get hooks where they enter and exit monitors, since one of these is contended: that
 * of the method which waits, and those of the innermost methods of the owner. */
#ifndef TREADLE_CONTENDED_CLASSES_H
#define TREADLE_CONTENDED_CLASSES_H

#include "agent/threads/java_threads.h"

#include <jni.h>

/* The calling thread is about to wait for a monitor, whose owner stands at that node; or none. The
 * classes get the mark CLASS_CONTENDED, and lock_holds.classes_wanted is set. */
void contended_classes__want(struct java_threads *threads, JNIEnv *jni, ledger_ref owner_node);

#endif
