/* Which engine of native/unwind walks through native frames. */
#ifndef TREADLE_NATIVE_ENGINE_H
#define TREADLE_NATIVE_ENGINE_H

#include "native/ledger/ledger_format.h"
#include "native/unwind/code_images.h"

/* Sets the engine that was asked for; UNKNOWN: the processor's. If there is no such engine here, a
 * line says so and images keep the one they have. Returns the engine that images have then. Before
 * the first refresh of images. */
enum ledger_unwind native_engine__set(struct code_images *images, enum ledger_unwind asked);

#endif
