/*
 * Methods of a report, and what they are called in text.
 */
#ifndef TREADLE_REPORT_METHOD_H
#define TREADLE_REPORT_METHOD_H

#include "native/ledger/ledger_format.h"
#include "tools/report/text.h"

#include <stdbool.h>
#include <stdint.h>

/* A Java method or a native function. The class of a native function is the name of its file,
 * without folders, or "[jvm]" or "[kernel]". */
struct report_method {
    struct text class_name;
    struct text name;
    struct text signature;
    struct text source;
    struct text image; /* of a native function: the path of its file, or as its class; else none */
    uint32_t flags;    /* enum ledger_method_flag */
    bool partly_heard; /* its calls were not recorded all of the time: see struct ledger_hooking */
    bool overloaded;   /* another method has the same class and name */
};

/* Sets `overloaded` in all of them. */
void report_methods__find_overloads(struct report_method *methods, uint32_t count);

bool report_method__is_native_function(const struct report_method *method);

/* A frame that the program named itself: its name is the identifier, its signature the parameter.
 */
bool report_method__is_logical(const struct report_method *method);

/* "java.util.HashMap.put", with the parameters if it is overloaded: "….Math.abs(int)". Of a native
 * function "malloc [libc.so.6]". Of a logical frame "scan (ORDERS)". */
struct text report_method__full_name(struct text_store *store, const struct report_method *method);

#endif
