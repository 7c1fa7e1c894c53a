#include "tools/views/view_explain.h"

#include "native/ledger/unhooked_reason.h"
#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"
#include "tools/views/view_losses.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REASON_BYTES  512u
#define WHY_BYTES     256u
#define LABEL_COLUMNS 10u

static struct quantity moment_of(const struct report_model *model, uint64_t ns)
{
    return quantity__moment(report_model__epoch_ns(model, ns));
}

static const struct report_hooking *hooking_of(const struct report_model *model,
                                               const struct explanation *one)
{
    return one->method == REPORT_NONE ? NULL : report_hooking__of(model, one->method);
}

/* "after about 64 calls, at 51 234 calls a second where the budget of 2.0 % allowed 2 000" */
static void silence_text(const struct report_model *model, const struct report_hooking *hooking,
                         char text[WHY_BYTES])
{
    size_t used = 0;

    text[0] = '\0';
    if (hooking->calls)
        used = (size_t)snprintf(text, WHY_BYTES, "after about %s, ",
                                quantity__counted(hooking->calls, "call").text);
    used += (size_t)snprintf(text + used, WHY_BYTES - used, "at %s a second",
                             quantity__counted(hooking->rate, "call").text);
    if (hooking->rate_max)
        used +=
            (size_t)snprintf(text + used, WHY_BYTES - used, " where the budget of %s allowed %s",
                             quantity__share(model->header.overhead_ppm, 1000000).text,
                             quantity__count(hooking->rate_max).text);
    if (hooking->mutes > 1)
        snprintf(text + used, WHY_BYTES - used, "; it fell silent %" PRIu32 " times",
                 hooking->mutes);
}

static void hooking_reason(const struct report_model *model, const struct explanation *one,
                           char text[REASON_BYTES])
{
    static const char *const what[EXPLAINED_COUNT] = {
        [EXPLAINED_AGAIN] = "recorded again since",
        [EXPLAINED_MUTED] = "silent for now, to be tried again: since",
        [EXPLAINED_COUNTED] = "counted, but not recorded, until its class is changed again: since",
        [EXPLAINED_OFF] = "off, until its class is changed again:",
    };
    const struct report_hooking *hooking = hooking_of(model, one);
    char why[WHY_BYTES];

    if (one->hook == EXPLAINED_AGAIN && !hooking->mutes && !hooking->calls) {
        snprintf(text, REASON_BYTES, "hooked since %s; it had no hooks before",
                 moment_of(model, hooking->since_ns).text);
        return;
    }
    if (one->hook == EXPLAINED_COUNTED && !hooking->mutes) {
        snprintf(text, REASON_BYTES,
                 "counted, but not recorded, from its first call on: %s; the program has more "
                 "methods than the budget bears hooks for, and this one is not large",
                 moment_of(model, hooking->since_ns).text);
        return;
    }
    silence_text(model, hooking, why);
    snprintf(text, REASON_BYTES, "%s %s%s%s", what[one->hook],
             moment_of(model, hooking->since_ns).text,
             one->hook == EXPLAINED_AGAIN ? "; it had fallen silent " : ", ", why);
}

static void not_looked_at_reason(const struct report_model *model, char text[REASON_BYTES])
{
    const struct ledger_header *header = &model->header;
    size_t used = (size_t)snprintf(
        text, REASON_BYTES, "not hooked: the agent did not look at its class, %s",
        header->default_filter
            ? "which is one of the JDK's own (of the boot or platform class loader), or hidden"
            : "which is hidden, or of which include= names no method");

    if (header->unlisted_classes)
        snprintf(text + used, REASON_BYTES - used,
                 "; or it is one of the %s classes that found no room to be listed",
                 quantity__count(header->unlisted_classes).text);
}

static void planned_reason(const struct report_model *model, const struct explanation *one,
                           char text[REASON_BYTES])
{
    const struct report_hooking *hooking = hooking_of(model, one);
    size_t used =
        (size_t)snprintf(text, REASON_BYTES, "not hooked from the beginning: plan= leaves it out");

    if (hooking && hooking->rate)
        snprintf(text + used, REASON_BYTES - used, ", with %s a second in that run",
                 quantity__counted(hooking->rate, "call").text);
}

static void taken_in_reason(const struct report_model *model, const struct explanation *one,
                            char text[REASON_BYTES])
{
    const struct report_hooking *hooking = hooking_of(model, one);

    snprintf(text, REASON_BYTES,
             "hooked since %s: before, include= and exclude= left it out for %s",
             moment_of(model, hooking->since_ns).text, quantity__ns(hooking->left_ns).text);
}

static void reason_text(const struct report_model *model, const struct explanation *one,
                        char text[REASON_BYTES])
{
    static const char *const reasons[EXPLAINED_COUNT] = {
        [EXPLAINED_NO_EVENTS] = "not hooked: events=none records no calls",
        [EXPLAINED_JVMTI] = ("no hook is needed: events=jvmti tells of the calls of all methods "
                             "that include= and exclude= admit"),
        [EXPLAINED_ALWAYS] = "hooked since its class was first looked at, all of the time",
        [EXPLAINED_NEVER_CALLED] = "hooked since its class was first looked at; never called",
        [EXPLAINED_NOT_INCLUDED] = "not hooked: include= does not name it",
        [EXPLAINED_EXCLUDED] = "not hooked: exclude= names it",
        [EXPLAINED_JDK] = "not hooked: one of the JDK's own, which only include= gives hooks",
        [EXPLAINED_TRIVIAL] = "not hooked: a trivial accessor, which only include= gives hooks",
        [EXPLAINED_NATIVE] = "not hooked: a native method has no code that hooks could be put into",
        [EXPLAINED_ABSTRACT] = "not hooked: an abstract method has no code",
        [EXPLAINED_POSTPONED] = ("not hooked yet: the program has more methods than the budget "
                                 "bears hooks for, and this one is small, or dear to the JVM's "
                                 "verifier, or comes late in the order that plan= gives"),
        [EXPLAINED_LEFT_SINCE] = ("not hooked any more: since include= and exclude= were set "
                                  "anew they leave it out; its calls are those from before"),
    };

    if (reasons[one->hook])
        snprintf(text, REASON_BYTES, "%s", reasons[one->hook]);
    else if (one->hook == EXPLAINED_PLANNED)
        planned_reason(model, one, text);
    else if (one->hook == EXPLAINED_TAKEN_IN)
        taken_in_reason(model, one, text);
    else if (one->hook == EXPLAINED_UNHOOKED)
        snprintf(text, REASON_BYTES, "not hooked: %s%s",
                 unhooked_reason__counts_classes(one->unhooked) ? "its class could not be changed: "
                                                                : "",
                 unhooked_reason__text(one->unhooked));
    else if (one->hook == EXPLAINED_NOT_LOOKED_AT)
        not_looked_at_reason(model, text);
    else
        hooking_reason(model, one, text);
    if (one->is_named) {
        size_t used = strlen(text);

        snprintf(text + used, REASON_BYTES - used, "; include= names it");
    }
}

static void line(const struct view *view, const char *label, const char *text)
{
    fputs("  ", view->screen.out);
    screen__left(&view->screen, label, LABEL_COLUMNS);
    fprintf(view->screen.out, "%s\n", text);
}

static void calls_line(const struct view *view, const struct explanation *one)
{
    const struct report_hooking *hooking = hooking_of(view->model, one);
    char calls[CALLS_BYTES];
    char text[REASON_BYTES];

    if (!one->calls && one->hook >= EXPLAINED_PLANNED)
        return;
    view_row__calls(one->calls, hooking && !report_hooking__knows_calls(hooking), calls);
    size_t used = (size_t)snprintf(text, sizeof(text), "%s", calls);
    if (hooking && hooking->from_ns)
        snprintf(text + used, sizeof(text) - used, ", recorded %s of the time since %s",
                 quantity__share(report_hooking__share_ppm(hooking), 1000000).text,
                 moment_of(view->model, hooking->from_ns).text);
    if (hooking && hooking->counted)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "; %s of them only counted",
                 quantity__count(hooking->counted).text);
    line(view, "calls", text);
}

static void cpu_line(const struct view *view, const struct explanation *one)
{
    uint64_t sum_ns = one->exact_ns + one->sampled_ns;
    char text[REASON_BYTES];
    char error[QUANTITY_BYTES + 8] = "";

    if (one->error_ns)
        snprintf(error, sizeof(error), " %s %s", view_row__plus_minus(),
                 quantity__ns(one->error_ns).text);
    snprintf(text, sizeof(text), "%s with all that it called: %s exact, %s%s by samples",
             quantity__ns(sum_ns).text, quantity__ns(one->exact_ns).text,
             quantity__ns(one->sampled_ns).text, error);
    line(view, "CPU", text);
}

void view_explain__text(const struct view *view, const struct explanations *explanations)
{
    FILE *out = view->screen.out;

    view_losses__text(&view->screen, view->model, "");
    if (explanations->count > 1)
        fprintf(out, "%zu methods match:\n\n", explanations->count);
    for (size_t i = 0; i < explanations->count; i++) {
        const struct explanation *one = &explanations->all[i];
        struct text_store store = {0};
        char reason[REASON_BYTES];
        char *name = text__printable(report_method__full_name(&store, &one->names), 0);

        reason_text(view->model, one, reason);
        fprintf(out, "%s%s%s%s\n", i ? "\n" : "", screen__bold(&view->screen), name,
                screen__plain(&view->screen));
        line(view, "hook", reason);
        if (one->method != REPORT_NONE) {
            calls_line(view, one);
            cpu_line(view, one);
        }
        free(name);
        text_store__release(&store);
    }
}

static json_t *silenced_json(const struct report_model *model, const struct report_hooking *hooking)
{
    json_t *object = json_object();
    uint64_t at_ns = hooking->until_ns ? report_model__epoch_ns(model, hooking->until_ns) : 0;

    json_object_set_new(object, "at_ns", json_row__integer(at_ns));
    json_object_set_new(object, "calls", json_row__integer(hooking->calls));
    json_object_set_new(object, "calls_a_second", json_row__integer(hooking->rate));
    json_object_set_new(object, "allowed_a_second",
                        hooking->rate_max ? json_row__integer(hooking->rate_max) : json_null());
    json_object_set_new(object, "times", json_row__integer(hooking->mutes));
    return object;
}

static json_t *explanation_json(const struct report_model *model, const struct explanation *one)
{
    const struct report_hooking *hooking = hooking_of(model, one);
    json_t *object = json_object();
    char reason[REASON_BYTES];

    reason_text(model, one, reason);
    json_object_set_new(object, "class", json_row__text(one->names.class_name));
    json_object_set_new(object, "method", json_row__text(one->names.name));
    json_object_set_new(object, "signature", json_row__text(one->names.signature));
    json_object_set_new(object, "hook", json_string(explained_hook__key(one->hook)));
    json_object_set_new(object, "reason", json_string(reason));
    json_object_set_new(object, "named", json_boolean(one->is_named));
    if (one->hook == EXPLAINED_UNHOOKED)
        json_object_set_new(object, "left_alone", json_string(unhooked_reason__key(one->unhooked)));
    json_object_set_new(object, "calls", json_row__integer(one->calls));
    if (hooking) {
        if (!report_hooking__knows_calls(hooking))
            view_row__add_hooked(object, model, one->method);
        view_row__add_counted(object, model, one->method);
        json_object_set_new(object, "silenced", silenced_json(model, hooking));
    }
    json_object_set_new(object, "exact_cpu_ns", json_row__integer(one->exact_ns));
    json_object_set_new(object, "sampled_cpu_ns", json_row__integer(one->sampled_ns));
    json_object_set_new(object, "sampled_error_ns", json_row__integer(one->error_ns));
    return object;
}

void view_explain__json(const struct view *view, const struct explanations *explanations)
{
    FILE *out = view->screen.out;

    fputs("{\"methods\":[", out);
    for (size_t i = 0; i < explanations->count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, explanation_json(view->model, &explanations->all[i]));
    }
    fputs("]", out);
    view_samples__end_json(view);
}
