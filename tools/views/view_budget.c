#include "tools/views/view_budget.h"

#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_resolution.h"
#include "tools/views/own_cost.h"

#include <stdarg.h>
#include <stdio.h>

#define MILLION 1000000u

static uint64_t ppm_of(uint64_t part, uint64_t whole)
{
    return whole ? (uint64_t)((unsigned __int128)part * MILLION / whole) : 0;
}

__attribute__((format(printf, 3, 4))) static void append(char text[HOOKS_TEXT_BYTES], size_t *used,
                                                         const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text + *used, HOOKS_TEXT_BYTES - *used, format, arguments);
    va_end(arguments);
    *used += length > 0 ? (size_t)length : 0;
    if (*used >= HOOKS_TEXT_BYTES)
        *used = HOOKS_TEXT_BYTES - 1;
}

static void append_silent(const struct report_model *model, char text[HOOKS_TEXT_BYTES],
                          size_t *used)
{
    struct report_hookings_count count = report_hookings__count(model);
    uint64_t methods = model->header.hooked_methods;

    if (model->header.overhead_ppm || count.silent)
        append(text, used, "; %s of %s not recorded", quantity__count(count.silent).text,
               quantity__counted(methods > count.silent ? methods : count.silent, "method").text);
    if (count.counted)
        append(text, used, " (%s counted%s", quantity__count(count.counted).text,
               count.muted ? "" : ")");
    if (count.muted)
        append(text, used, "%s%s for now)", count.counted ? ", " : " (",
               quantity__count(count.muted).text);
    if (count.again)
        append(text, used, ", %s %s recorded again", quantity__count(count.again).text,
               count.again == 1 ? "is" : "are");
    if (count.planned)
        append(text, used, ", %s not hooked by the plan", quantity__count(count.planned).text);
    if (model->header.postponed_methods)
        append(text, used, ", %s not hooked yet",
               quantity__count(model->header.postponed_methods).text);
}

void view_budget__text(const struct report_model *model, char text[HOOKS_TEXT_BYTES])
{
    const struct ledger_header *header = &model->header;
    struct report_own_cost cost = report_own_cost__of(model);
    char parts[HOOKS_TEXT_BYTES];
    size_t used = 0;

    text[0] = '\0';
    if (!header->overhead_ppm && !cost.sum_ns)
        return;
    if (header->overhead_ppm)
        append(text, &used, "%s asked", quantity__share(header->overhead_ppm, MILLION).text);
    else
        append(text, &used, "any");
    own_cost__parts(&cost.parts, parts);
    append(text, &used, ", %s used (%s)", quantity__share(cost.sum_ns, header->process_cpu_ns).text,
           parts);
    append_silent(model, text, &used);
}

void view_budget__resolution_text(const struct report_model *model, char text[HOOKS_TEXT_BYTES])
{
    struct report_resolution resolution = report_resolution__of(model);
    uint64_t inside_ns = resolution.cpu_ns[RESOLUTION_STEPS - 1];
    uint64_t short_ns = resolution.cpu_ns[RESOLUTION_STEPS - 2];
    size_t used = 0;

    text[0] = '\0';
    if (!inside_ns)
        return;
    append(text, &used, "Java CPU in exact calls of less than");
    for (unsigned i = 0; i < RESOLUTION_STEPS - 1; i++)
        append(text, &used, "%s %s %s", i ? "," : "", quantity__ns(resolution.below_ns[i]).text,
               quantity__share(resolution.cpu_ns[i], resolution.java_ns).text);
    append(text, &used, "; longer %s, in none %s",
           quantity__share(inside_ns - short_ns, resolution.java_ns).text,
           quantity__share(resolution.java_ns - inside_ns, resolution.java_ns).text);
}

json_t *view_budget__json(const struct report_model *model)
{
    struct report_own_cost cost = report_own_cost__of(model);
    struct report_hookings_count count = report_hookings__count(model);
    json_t *object = own_cost__json(&cost.parts, model->header.process_cpu_ns);

    json_object_set_new(object, "asked_ppm", json_integer(model->header.overhead_ppm));
    json_object_set_new(object, "methods", json_row__integer(model->header.hooked_methods));
    json_object_set_new(object, "silent_methods", json_row__integer(count.silent));
    json_object_set_new(object, "counted_methods", json_row__integer(count.counted));
    json_object_set_new(object, "muted_methods", json_row__integer(count.muted));
    json_object_set_new(object, "heard_again_methods", json_row__integer(count.again));
    json_object_set_new(object, "planned_methods", json_row__integer(count.planned));
    json_object_set_new(object, "postponed_methods",
                        json_row__integer(model->header.postponed_methods));
    json_object_set_new(object, "heard_waits", json_row__integer(model->header.heard_waits));
    json_object_set_new(object, "unheard_waits", json_row__integer(model->header.unheard_waits));
    json_object_set_new(object, "timed_waits", json_row__integer(model->header.timed_waits));
    json_object_set_new(object, "unheard_virtual_waits",
                        json_row__integer(model->header.unheard_virtual));
    return object;
}

json_t *view_budget__resolution_json(const struct report_model *model)
{
    struct report_resolution resolution = report_resolution__of(model);
    json_t *list = json_array();

    for (unsigned i = 0; i < RESOLUTION_STEPS; i++) {
        json_t *step = json_object();

        json_object_set_new(step, "below_ns",
                            resolution.below_ns[i] ? json_row__integer(resolution.below_ns[i])
                                                   : json_null());
        json_object_set_new(step, "cpu_ppm",
                            json_row__integer(ppm_of(resolution.cpu_ns[i], resolution.java_ns)));
        json_array_append_new(list, step);
    }
    return list;
}

/* While profiling is stopped nothing is recent. */
static bool has_recent(const struct ledger_header *header)
{
    return header->recent_cpu_ns && !ledger_header__is_stopped(header);
}

void view_budget__recent_text(const struct ledger_header *header, char text[HOOKS_TEXT_BYTES])
{
    size_t used = 0;

    text[0] = '\0';
    if (has_recent(header))
        append(text, &used, "%s used in the last %s",
               quantity__share(header->recent_own_ns, header->recent_cpu_ns).text,
               quantity__ns(header->recent_wall_ns).text);
    if (header->overhead_ppm && header->rate_max && header->rate_max != UINT32_MAX)
        append(text, &used, "%sa method may be called %s a second just now", used ? "; " : "",
               quantity__counted(header->rate_max, "time").text);
}

void view_budget__add_recent(json_t *budget, const struct ledger_header *header)
{
    bool limited = header->overhead_ppm && header->rate_max && header->rate_max != UINT32_MAX;
    json_t *recent = has_recent(header) ? json_object() : json_null();

    if (has_recent(header)) {
        json_object_set_new(recent, "wall_ns", json_row__integer(header->recent_wall_ns));
        json_object_set_new(recent, "cpu_ns", json_row__integer(header->recent_cpu_ns));
        json_object_set_new(recent, "own_ns", json_row__integer(header->recent_own_ns));
        json_object_set_new(
            recent, "used_ppm",
            json_row__integer(ppm_of(header->recent_own_ns, header->recent_cpu_ns)));
    }
    json_object_set_new(budget, "recent", recent);
    json_object_set_new(budget, "allowed_a_second",
                        limited ? json_row__integer(header->rate_max) : json_null());
}

void view_budget__add_to(json_t *object, const struct report_model *model)
{
    json_object_set_new(object, "budget", view_budget__json(model));
    json_object_set_new(object, "resolution", view_budget__resolution_json(model));
    json_object_set_new(object, "positions_corrected",
                        json_row__integer(model->header.positions_corrected));
}
