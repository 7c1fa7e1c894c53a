/*
 * The tables that belong to a method's code and hold offsets in it: line numbers, local variables
 * and their types, type annotations (JVMS 4.7.12 to 4.7.20). One thread at a time.
 */
#ifndef TREADLE_CODE_ATTRIBUTES_H
#define TREADLE_CODE_ATTRIBUTES_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/code_layout.h"
#include "agent/classfile/constant_pool.h"

/* Copies all attributes except the stack map, with new offsets. StackMap, CharacterRangeTable and
 * CoverageTable, which contain offsets that no JVM reads, are left out; attributes of unknown names
 * are copied as they are. *count: how many were written. The method's reader of attributes records
 * whether all were well-formed. */
void code_attributes__write(const struct code_layout *layout, const struct constant_pool *pool,
                            struct class_writer *writer, uint16_t *count);

/* Finds the content of the StackMapTable; false: there is none. */
bool code_attributes__find_stack_map(const struct method_code *method,
                                     const struct constant_pool *pool,
                                     struct class_reader *stack_map);

#endif
