#include "tools/export/frame_names.h"

#include "tools/report/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE_BYTES 11u /* "\U000e0001" and its NUL */

static const struct text no_name = {"(no name)", 9};

static struct text name_of(struct text_store *store, const struct report_method *method)
{
    struct text name = report_method__full_name(store, method);

    return name.length ? name : no_name;
}

void frame_names__make(struct frame_names *names, const struct report_model *model,
                       const bool *selected)
{
    *names = (struct frame_names){
        .items = memory__zeroed(model->method_count, sizeof(*names->items)),
    };
    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_node *node = &model->nodes[i];

        if (selected[node->thread] && !names->items[node->method].bytes)
            names->items[node->method] = name_of(&names->store, &model->methods[node->method]);
    }
}

void frame_names__release(struct frame_names *names)
{
    free(names->items);
    text_store__release(&names->store);
}

struct text thread_name__of(const struct report_thread *thread)
{
    if (thread->name.length)
        return thread->name;
    return thread->group_name.length ? thread->group_name : no_name;
}

struct text frame_file__of(const struct report_method *method)
{
    struct text file = report_method__is_native_function(method) ? method->image : method->source;

    return file.bytes ? file : (struct text){"", 0};
}

uint32_t thread_tids__known(const struct report_thread *thread)
{
    return thread->tid_count < LEDGER_THREAD_TIDS ? thread->tid_count : LEDGER_THREAD_TIDS;
}

/* Breaks a line, or is not seen: line and paragraph separators are in the latter. */
static bool is_unsafe(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
           text__is_invisible(code_point);
}

static bool is_harmless(struct text text, char separator)
{
    if (separator && memchr(text.bytes, separator, text.length))
        return false;
    for (size_t at = 0; at < text.length;)
        if (is_unsafe(text__next(text, &at)))
            return false;
    return true;
}

struct text frame_text__escaped(struct text_store *store, struct text text, char separator)
{
    if (is_harmless(text, separator))
        return text;
    /* One byte becomes four at most. */
    char *escaped = memory__zeroed(text.length * 4 + ESCAPE_BYTES, 1);
    size_t length = 0;
    for (size_t at = 0; at < text.length;) {
        uint32_t code_point = text__next(text, &at);

        if (is_unsafe(code_point) || (separator && code_point == (unsigned char)separator))
            length += (size_t)snprintf(escaped + length, ESCAPE_BYTES,
                                       code_point < 0x100     ? "\\x%02x"
                                       : code_point < 0x10000 ? "\\u%04x"
                                                              : "\\U%08x",
                                       code_point);
        else
            length += text__encode(code_point, escaped + length);
    }
    struct text kept = text__keep(store, escaped, length);
    free(escaped);
    return kept;
}

void frame_names__escape(struct frame_names *names, const struct report_model *model)
{
    for (uint32_t i = 0; i < model->method_count; i++)
        if (names->items[i].bytes)
            names->items[i] = frame_text__escaped(&names->store, names->items[i], ';');
}
