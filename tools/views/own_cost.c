#include "tools/views/own_cost.h"

#include "native/cost/cost_model.h"
#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"

#include <inttypes.h>
#include <stdio.h>

static size_t add_part(char *text, size_t used, const char *name, uint64_t ns)
{
    if (!ns)
        return used;
    return used + (size_t)snprintf(text + used, HOOKS_TEXT_BYTES - used, "%s%s %s",
                                   used ? ", " : "", name, quantity__ns(ns).text);
}

void own_cost__text(const struct report_own_cost *cost, char text[HOOKS_TEXT_BYTES])
{
    const struct ledger_own_cost *parts = &cost->parts;
    size_t used = add_part(text, 0, "hooks about", parts->hooks_ns);

    if (used && cost->calls)
        used += (size_t)snprintf(text + used, HOOKS_TEXT_BYTES - used,
                                 " (%s, %" PRIu64 ".%" PRIu64 " ns each)",
                                 quantity__counted(cost->calls, "call").text, cost->call_ps / 1000,
                                 cost->call_ps % 1000 / 100);
    used = add_part(text, used, "samples", parts->samples_ns);
    used = add_part(text, used, "its threads", parts->threads_ns);
    used = add_part(text, used, "changing classes", parts->classes_ns);
    used = add_part(text, used, "the JVM for it about", parts->jvm_ns);
    used = add_part(text, used, "reasons of waits about", parts->waits_ns);
    if (!used)
        snprintf(text, HOOKS_TEXT_BYTES, "nothing yet");
}

void own_cost__parts(const struct ledger_own_cost *cost, char text[HOOKS_TEXT_BYTES])
{
    int used = snprintf(text, HOOKS_TEXT_BYTES,
                        "hooks %s, samples %s, threads %s, class changes %s, JVM %s",
                        quantity__ns(cost->hooks_ns).text, quantity__ns(cost->samples_ns).text,
                        quantity__ns(cost->threads_ns).text, quantity__ns(cost->classes_ns).text,
                        quantity__ns(cost->jvm_ns).text);

    if (cost->waits_ns)
        snprintf(text + used, HOOKS_TEXT_BYTES - (size_t)used, ", waits %s",
                 quantity__ns(cost->waits_ns).text);
}

json_t *own_cost__json(const struct ledger_own_cost *cost, uint64_t process_cpu_ns)
{
    json_t *object = json_object();
    uint64_t sum_ns = ledger_own_cost__sum(cost);
    uint64_t ppm =
        process_cpu_ns ? (uint64_t)((unsigned __int128)sum_ns * 1000000 / process_cpu_ns) : 0;

    json_object_set_new(object, "used_ppm", json_row__integer(ppm));
    json_object_set_new(object, "hooks_ns", json_row__integer(cost->hooks_ns));
    json_object_set_new(object, "samples_ns", json_row__integer(cost->samples_ns));
    json_object_set_new(object, "threads_ns", json_row__integer(cost->threads_ns));
    json_object_set_new(object, "classes_ns", json_row__integer(cost->classes_ns));
    json_object_set_new(object, "jvm_ns", json_row__integer(cost->jvm_ns));
    json_object_set_new(object, "waits_ns", json_row__integer(cost->waits_ns));
    return object;
}
