/*
 * Logical frames with ids (agent/api): parts of chains, see native/thread/open_calls.h. Natives of
 * treadle.Activity that older classes of that name do not have.
 */
#ifndef TREADLE_ACTIVITY_PARTS_H
#define TREADLE_ACTIVITY_PARTS_H

#include "native/ledger/ledger.h"

#include <jni.h>

struct kernel_thread;

/* Binds these natives, if the class has them. named: frames have no tokens, as with events=jvmti.
 */
void activity_parts__bind(JNIEnv *jni, jclass class, jboolean named);

/* Where frames have no tokens: a part has a token that says its frame's node. leave_node: leaves
 * the frame and ends its part. */
uint64_t activity_parts__token_of(const struct kernel_thread *mine, jlong node);
void activity_parts__leave_node(struct kernel_thread *mine, ledger_ref node);

#endif
