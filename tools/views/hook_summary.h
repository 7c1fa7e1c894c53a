/* What a ledger's header says about hooks in classes, in words and as JSON. */
#ifndef TREADLE_HOOK_SUMMARY_H
#define TREADLE_HOOK_SUMMARY_H

#include "native/ledger/ledger_format.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define HOOKS_TEXT_BYTES 1024u

/* True if the profiler works by hooks. */
bool hook_summary__are_used(const struct ledger_header *header);

/* True of a program without a JVM: functions call hooks that the compiler put in. */
bool hook_summary__are_of_functions(const struct ledger_header *header);

/* "5 231 methods of 402 classes have hooks", or had, if profiling was stopped. */
void hook_summary__count(const struct ledger_header *header, char text[HOOKS_TEXT_BYTES]);

/* Says why the other methods have none: the default rule, or include= and exclude=. */
void hook_summary__rule(const struct ledger_header *header, char text[HOOKS_TEXT_BYTES]);

/* "3 methods (the code would be too large), 1 class (malformed class file)", or "". */
void hook_summary__unhooked_reasons(const struct ledger_header *header,
                                    char text[HOOKS_TEXT_BYTES]);

/* {"classes","methods","filtered_methods","default_filter","left_alone":{key:count}} */
json_t *hook_summary__json(const struct ledger_header *header);

#endif
