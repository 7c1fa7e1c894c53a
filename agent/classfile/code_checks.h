/* What must hold of a method's code before it is laid out anew. One thread at a time. */
#ifndef TREADLE_CODE_CHECKS_H
#define TREADLE_CODE_CHECKS_H

#include "agent/classfile/code_layout.h"

/* 0 or -EBADMSG, whose reason is in the reader: branches lead to instructions; and so do exception
 * ranges. The instructions are known. targets sets has_jumps. */
int code_checks__targets(struct code_layout *layout, struct class_reader *reader);
int code_checks__exceptions(const struct code_layout *layout, struct class_reader *reader);

#endif
