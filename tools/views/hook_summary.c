#include "tools/views/hook_summary.h"

#include "native/ledger/unhooked_reason.h"
#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"

#include <stdio.h>

bool hook_summary__are_used(const struct ledger_header *header)
{
    return header->event_mode == LEDGER_EVENTS_INSTRUMENT;
}

bool hook_summary__are_of_functions(const struct ledger_header *header)
{
    return hook_summary__are_used(header) && !header->jvm && !header->hooked_classes &&
           !header->default_filter;
}

void hook_summary__count(const struct ledger_header *header, char text[HOOKS_TEXT_BYTES])
{
    bool one = header->hooked_methods == 1;
    bool stopped = ledger_header__is_stopped(header);
    bool silent = stopped && header->silent_until_ns;

    if (hook_summary__are_of_functions(header)) {
        snprintf(text, HOOKS_TEXT_BYTES, "in functions built with -finstrument-functions");
        return;
    }
    snprintf(text, HOOKS_TEXT_BYTES, "%s %s of %s %s %s %shooks",
             quantity__count(header->hooked_methods).text, one ? "method" : "methods",
             quantity__count(header->hooked_classes).text,
             header->hooked_classes == 1 ? "class" : "classes",
             stopped && !silent ? "had"
             : one              ? "has"
                                : "have",
             silent ? "silent " : "");
}

void hook_summary__rule(const struct ledger_header *header, char text[HOOKS_TEXT_BYTES])
{
    size_t used = (size_t)snprintf(
        text, HOOKS_TEXT_BYTES, "%s",
        hook_summary__are_of_functions(header) ? "other functions are seen by samples"
        : header->default_filter
            ? "the JDK's own classes and trivial accessors have no hooks, their "
              "time is their caller's"
            : "not hooked: what include=/exclude= leave out");

    if (header->filtered_methods)
        snprintf(text + used, HOOKS_TEXT_BYTES - used, " (%s so far)",
                 quantity__counted(header->filtered_methods, "method").text);
}

void hook_summary__unhooked_reasons(const struct ledger_header *header, char text[HOOKS_TEXT_BYTES])
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < LEDGER_UNHOOKED_SLOTS && used < HOOKS_TEXT_BYTES; i++) {
        enum unhooked_reason reason = (enum unhooked_reason)i;
        uint64_t count = header->unhooked[i];
        const char *plural = unhooked_reason__counts_classes(reason) ? "classes" : "methods";
        const char *single = unhooked_reason__counts_classes(reason) ? "class" : "method";

        if (count)
            used += (size_t)snprintf(text + used, HOOKS_TEXT_BYTES - used, "%s%s %s (%s)",
                                     used ? ", " : "", quantity__count(count).text,
                                     count == 1 ? single : plural, unhooked_reason__text(reason));
    }
}

/* A reason that this version does not know has no name; it counts all the same. */
static json_t *unhooked_json(const struct ledger_header *header)
{
    json_t *object = json_object();
    uint64_t unknown = 0;

    for (unsigned i = 0; i < LEDGER_UNHOOKED_SLOTS; i++)
        if (i < UNHOOKED_COUNT)
            json_object_set_new(object, unhooked_reason__key((enum unhooked_reason)i),
                                json_row__integer(header->unhooked[i]));
        else
            unknown += header->unhooked[i];
    if (unknown)
        json_object_set_new(object, unhooked_reason__key(UNHOOKED_COUNT),
                            json_row__integer(unknown));
    return object;
}

json_t *hook_summary__json(const struct ledger_header *header)
{
    json_t *object = json_object();

    json_object_set_new(object, "classes", json_row__integer(header->hooked_classes));
    json_object_set_new(object, "methods", json_row__integer(header->hooked_methods));
    json_object_set_new(object, "filtered_methods", json_row__integer(header->filtered_methods));
    json_object_set_new(object, "default_filter", json_boolean(header->default_filter));
    json_object_set_new(object, "left_alone", unhooked_json(header));
    return object;
}
