/*
 * Names of frames and threads in exports: names in full, whatever a terminal can show.
 */
#ifndef TREADLE_FRAME_NAMES_H
#define TREADLE_FRAME_NAMES_H

#include "tools/report/report_model.h"

/* Names by method index. A method that no node of the selected threads has gets none, and its
 * bytes are NULL; no other name is empty. */
struct frame_names {
    struct text *items;
    struct text_store store;
};

void frame_names__make(struct frame_names *names, const struct report_model *model,
                       const bool *selected);

/* Escapes all names so that each can stand in a call path: ';' is escaped as well. */
void frame_names__escape(struct frame_names *names, const struct report_model *model);
void frame_names__release(struct frame_names *names);

/* Returns the thread's name; for a thread without a name, the name that it is folded under, or
 * "(no name)". */
struct text thread_name__of(const struct report_thread *thread);

/* The source file of a Java method, the path of a native function's image, or none. */
struct text frame_file__of(const struct report_method *method);

/* The tids that the ledger knows: the first of tid_count. */
uint32_t thread_tids__known(const struct report_thread *thread);

/* The same text with every character that would break a line, or that nobody sees, written as an
 * escape such as \x0a or \u202e: control characters, line and paragraph separators, bidi controls
 * and others that take no room; and `separator`, if that is not 0. Kept in
 * `store`, or as it is if nothing had to be escaped. */
struct text frame_text__escaped(struct text_store *store, struct text text, char separator);

#endif
