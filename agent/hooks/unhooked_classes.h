/* Classes that were to have hooks, and stay as they are: the ledger says why. For the thread that
 * changes classes. */
#ifndef TREADLE_UNHOOKED_CLASSES_H
#define TREADLE_UNHOOKED_CLASSES_H

#include "agent/methods/method_numbers.h"
#include "native/ledger/ledger_format.h"

#include <jvmti.h>

struct class_hooks;

/* Notes the reason, with the methods of the loaded class that could have hooks, unless the class
 * has the mark already; name is internal. */
void unhooked_classes__note(struct class_hooks *hooks, jclass class, const char *name,
                            enum unhooked_reason reason, enum class_mark mark);

/* The JVM refuses to change the class: notes it, and logs a line. */
void unhooked_classes__note_refused(struct class_hooks *hooks, const char *name, jvmtiError error);

#endif
