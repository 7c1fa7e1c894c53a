/* Whether HotSpot runs a method as machine code. Nothing here is for handlers. */
#ifndef TREADLE_METHOD_CODE_H
#define TREADLE_METHOD_CODE_H

#include "agent/hotspot/vm_structs.h"

#include <jvmti.h>
#include <stdbool.h>

/* False if the JVM has no machine code of the method, neither of all of it nor of one of its loops:
 * all its calls are interpreted. True if there is some, or if that cannot be told. The class must
 * not be unloaded meanwhile. The JVM's memory is read by system calls, so that nothing can fault.
 */
bool method_code__may_run(const struct vm_structs *structs, jmethodID method);

#endif
