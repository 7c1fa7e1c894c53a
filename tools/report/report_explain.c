#include "tools/report/report_explain.h"

#include "native/nearest_name.h"
#include "tools/report/memory.h"
#include "tools/report/report_errors.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define NEAREST_MOST 3u

/* In place of an enum ledger_choice: the choice is that of an earlier filter. */
#define CHOICE_OLD UINT32_MAX

/* What a class's record says about one method, or what the model has: either may be missing. */
struct fact {
    struct report_method names;
    uint32_t method;
    uint32_t choice;   /* enum ledger_choice, 0: none */
    uint32_t unhooked; /* of its class, as in the record */
};

struct search {
    const struct report_model *model;
    const struct ledger_reader *reader;
    const char *glob;
    struct explanations *found;
    struct fact *facts;
    size_t count;
    size_t room;
    struct near {
        struct text name;
        unsigned distance;
    } near[NEAREST_MOST];
};

const char *explained_hook__key(enum explained_hook hook)
{
    static const char *const keys[EXPLAINED_COUNT] = {
        [EXPLAINED_NO_EVENTS] = "no_events",
        [EXPLAINED_JVMTI] = "jvmti",
        [EXPLAINED_ALWAYS] = "always",
        [EXPLAINED_NEVER_CALLED] = "never_called",
        [EXPLAINED_AGAIN] = "again",
        [EXPLAINED_TAKEN_IN] = "taken_in",
        [EXPLAINED_MUTED] = "muted",
        [EXPLAINED_OFF] = "silenced",
        [EXPLAINED_COUNTED] = "counted",
        [EXPLAINED_PLANNED] = "planned",
        [EXPLAINED_NOT_INCLUDED] = "not_included",
        [EXPLAINED_EXCLUDED] = "excluded",
        [EXPLAINED_JDK] = "jdk",
        [EXPLAINED_TRIVIAL] = "trivial",
        [EXPLAINED_NATIVE] = "native",
        [EXPLAINED_ABSTRACT] = "abstract",
        [EXPLAINED_UNHOOKED] = "left_alone",
        [EXPLAINED_LEFT_SINCE] = "left_since",
        [EXPLAINED_NOT_LOOKED_AT] = "not_looked_at",
        [EXPLAINED_POSTPONED] = "postponed",
    };

    return keys[hook];
}

/* A name that contains the wanted one, or ends like it, is near whatever stands around it. */
static void note_near(struct search *search, const struct report_method *names)
{
    struct text_store store = {0};
    struct text name = report_method__full_name(&store, names);
    const char *dot = strrchr(search->glob, '.');
    const char *last = dot ? dot + 1 : search->glob;
    unsigned distance = name__distance(search->glob, name.bytes);
    size_t at = NEAREST_MOST;

    if (strlen(search->glob) >= 3 && strstr(name.bytes, search->glob))
        distance = 1;
    else if (*last && text__compare(names->name, (struct text){last, strlen(last)}) == 0)
        distance = distance > 2 ? 2 : distance;
    while (at > 0 && (!search->near[at - 1].name.bytes || search->near[at - 1].distance > distance))
        at--;
    for (size_t i = 0; i < NEAREST_MOST && search->near[i].name.bytes; i++)
        if (text__compare(search->near[i].name, name) == 0)
            at = NEAREST_MOST;
    if (at < NEAREST_MOST) {
        memmove(&search->near[at + 1], &search->near[at],
                (NEAREST_MOST - 1 - at) * sizeof(search->near[0]));
        search->near[at] =
            (struct near){text__keep(&search->found->texts, name.bytes, name.length), distance};
    }
    text_store__release(&store);
}

/* "pkg.Class.method(I)V", the name and the JVM's descriptor: brackets in it are no set of
 * characters. */
static bool has_descriptor(struct text plain_name, const struct report_method *names,
                           const char *wanted)
{
    return strncmp(wanted, plain_name.bytes, plain_name.length) == 0 &&
           strcmp(wanted + plain_name.length, names->signature.bytes) == 0 &&
           names->signature.length > 0;
}

static bool matches(const struct report_method *names, const char *glob)
{
    struct text_store store = {0};
    struct report_method plain = *names, full = *names;

    plain.overloaded = false;
    full.overloaded = true;
    struct text name = report_method__full_name(&store, &plain);
    bool match = fnmatch(glob, name.bytes, 0) == 0 ||
                 fnmatch(glob, report_method__full_name(&store, &full).bytes, 0) == 0 ||
                 has_descriptor(name, names, glob);
    text_store__release(&store);
    return match;
}

static void consider(struct search *search, const struct fact *fact)
{
    if (!matches(&fact->names, search->glob)) {
        note_near(search, &fact->names);
        return;
    }
    search->facts =
        memory__grown(search->facts, &search->room, search->count + 1, sizeof(*search->facts));
    search->facts[search->count++] = *fact;
}

static struct text string_of(struct search *search, ledger_ref ref)
{
    size_t length = 0;
    const char *bytes = ledger_reader__string(search->reader, ref, &length);

    return text__from_java(&search->found->texts, bytes ? bytes : "", bytes ? length : 0);
}

/* The text up to the next NUL; false: the list ends before it. */
static bool take_text(struct search *search, const char **at, const char *end, struct text *text)
{
    const char *nul = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;

    if (!nul)
        return false;
    *text = text__from_java(&search->found->texts, *at, (size_t)(nul - *at));
    *at = nul + 1;
    return true;
}

/* A class of an earlier filter was not looked at with the one that holds. */
static void look_at_class(struct search *search, const struct ledger_class *class)
{
    size_t length = 0;
    const char *at = ledger_reader__string(search->reader, class->methods, &length);
    const char *end = at ? at + length : NULL;
    bool is_old = class->filter != search->model->header.filters;
    struct fact fact = {.method = REPORT_NONE, .unhooked = class->unhooked};

    fact.names.class_name = string_of(search, class->name);
    while (at && at < end) {
        uint32_t choice = (unsigned char)*at++;

        fact.choice = is_old ? CHOICE_OLD : choice;
        if (!take_text(search, &at, end, &fact.names.name) ||
            !take_text(search, &at, end, &fact.names.signature))
            return;
        consider(search, &fact);
    }
}

static void collect(struct search *search)
{
    const struct report_model *model = search->model;
    ledger_ref ref = 0;

    for (uint32_t i = METHOD_FIRST_REAL; i < model->method_count; i++)
        if (!report_method__is_native_function(&model->methods[i]))
            consider(search, &(struct fact){.names = model->methods[i], .method = i});
    while ((ref = ledger_reader__next(search->reader, LEDGER_CLASSES, ref)) != 0)
        look_at_class(search, ledger_reader__class(search->reader, ref));
}

static int compare_names(const struct report_method *x, const struct report_method *y)
{
    int order = text__compare(x->class_name, y->class_name);

    if (!order)
        order = text__compare(x->name, y->name);
    return order ? order : text__compare(x->signature, y->signature);
}

static int compare_facts(const void *a, const void *b)
{
    const struct fact *x = a;
    const struct fact *y = b;
    int order = compare_names(&x->names, &y->names);

    if (order)
        return order;
    return x->choice < y->choice ? -1 : x->choice > y->choice;
}

/* Joins two facts about one method; of two classes of the same name the one with hooks counts. */
static void join(struct fact *sum, const struct fact *more)
{
    if (sum->method == REPORT_NONE) {
        sum->method = more->method;
        if (more->method != REPORT_NONE)
            sum->names = more->names;
    }
    /* Of two processes in one ledger the one that had no hooks does not know that there was no
     * call. */
    if (!sum->choice || (more->choice == CHOICE_POSTPONED &&
                         (sum->choice == CHOICE_HOOKED || sum->choice == CHOICE_NAMED)))
        sum->choice = more->choice;
    if (!sum->unhooked)
        sum->unhooked = more->unhooked;
}

static void join_equals(struct search *search)
{
    size_t count = 0;

    if (search->count)
        qsort(search->facts, search->count, sizeof(*search->facts), compare_facts);
    for (size_t i = 0; i < search->count; i++)
        if (count && compare_names(&search->facts[count - 1].names, &search->facts[i].names) == 0)
            join(&search->facts[count - 1], &search->facts[i]);
        else
            search->facts[count++] = search->facts[i];
    search->count = count;
}

static enum explained_hook of_hooked(const struct search *search, const struct explanation *one)
{
    const struct report_hooking *hooking =
        one->method == REPORT_NONE ? NULL : report_hooking__of(search->model, one->method);

    if (!hooking)
        return one->calls ? EXPLAINED_ALWAYS : EXPLAINED_NEVER_CALLED;
    if (!hooking->from_ns)
        return EXPLAINED_PLANNED;
    if (hooking->state == HOOKING_HEARD)
        return hooking->is_left_out ? EXPLAINED_TAKEN_IN : EXPLAINED_AGAIN;
    if (hooking->is_left_out)
        return EXPLAINED_LEFT_SINCE;
    return hooking->state == HOOKING_MUTED     ? EXPLAINED_MUTED
           : hooking->state == HOOKING_COUNTED ? EXPLAINED_COUNTED
                                               : EXPLAINED_OFF;
}

/* Calls of a method that the filter leaves out are those of an earlier filter. */
static bool is_left_out_since(const struct fact *fact, const struct explanation *one)
{
    bool is_filtered = fact->choice >= CHOICE_NOT_INCLUDED && fact->choice <= CHOICE_TRIVIAL;

    return !fact->unhooked && (fact->choice == CHOICE_OLD || (one->calls && is_filtered));
}

static enum explained_hook hook_of(const struct search *search, const struct fact *fact,
                                   struct explanation *one)
{
    static const enum explained_hook hooks[] = {
        [CHOICE_PLANNED] = EXPLAINED_PLANNED,   [CHOICE_NOT_INCLUDED] = EXPLAINED_NOT_INCLUDED,
        [CHOICE_EXCLUDED] = EXPLAINED_EXCLUDED, [CHOICE_JDK] = EXPLAINED_JDK,
        [CHOICE_TRIVIAL] = EXPLAINED_TRIVIAL,   [CHOICE_NATIVE] = EXPLAINED_NATIVE,
        [CHOICE_ABSTRACT] = EXPLAINED_ABSTRACT, [CHOICE_POSTPONED] = EXPLAINED_POSTPONED,
    };
    const struct report_model *model = search->model;
    const struct report_hooking *record =
        one->method == REPORT_NONE ? NULL : report_hooking__of(model, one->method);

    if (model->header.event_mode != LEDGER_EVENTS_INSTRUMENT)
        return model->header.event_mode == LEDGER_EVENTS_JVMTI ? EXPLAINED_JVMTI
                                                               : EXPLAINED_NO_EVENTS;
    one->is_named = fact->choice == CHOICE_NAMED;
    if ((!record || record->is_left_out || record->state == HOOKING_HEARD) &&
        is_left_out_since(fact, one))
        return EXPLAINED_LEFT_SINCE;
    one->unhooked = (enum unhooked_reason)(fact->unhooked ? fact->unhooked - 1
                                                          : fact->choice - CHOICE_UNHOOKED);
    if (one->calls || record)
        return of_hooked(search, one);
    if (fact->unhooked || fact->choice >= CHOICE_UNHOOKED)
        return EXPLAINED_UNHOOKED;
    if (fact->choice == CHOICE_HOOKED || one->is_named)
        return EXPLAINED_NEVER_CALLED;
    return fact->choice && fact->choice < sizeof(hooks) / sizeof(hooks[0])
               ? hooks[fact->choice]
               : EXPLAINED_NOT_LOOKED_AT;
}

/* explained: by method of the model, the number of its explanation and one more, or 0. */
static void add_times(struct search *search, const uint32_t *explained)
{
    const struct report_model *model = search->model;
    struct report_errors *errors = report_errors__of_nodes(model, COLUMN_CPU);
    double *squares = memory__zeroed(search->found->count, sizeof(*squares));

    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_node *node = &model->nodes[i];

        if (!explained[node->method])
            continue;
        struct explanation *one = &search->found->all[explained[node->method] - 1];
        bool is_exact = node->kind == NODE_EXACT;
        if (is_exact)
            one->calls += model->base[COLUMN_CALLS][i];
        if (node->level == 0)
            *(is_exact ? &one->exact_ns : &one->sampled_ns) += model->cum[COLUMN_CPU][i];
        if (errors && node->level == 0)
            squares[explained[node->method] - 1] += (double)errors->cum[i] * (double)errors->cum[i];
    }
    for (uint32_t i = 0; i < model->method_count; i++)
        if (explained[i] && report_hooking__of(model, i))
            search->found->all[explained[i] - 1].calls += report_hooking__of(model, i)->counted;
    for (size_t i = 0; i < search->found->count; i++)
        search->found->all[i].error_ns = report_errors__of_squares(squares[i]);
    free(squares);
    report_errors__free(errors);
}

static void explain(struct search *search)
{
    struct explanations *found = search->found;
    uint32_t *explained = memory__zeroed(search->model->method_count, sizeof(*explained));

    found->count = search->count;
    found->all = memory__zeroed(found->count, sizeof(*found->all));
    for (size_t i = 0; i < found->count; i++) {
        found->all[i].names = search->facts[i].names;
        found->all[i].method = search->facts[i].method;
        if (found->all[i].method != REPORT_NONE)
            explained[found->all[i].method] = (uint32_t)i + 1;
    }
    add_times(search, explained);
    for (size_t i = 0; i < found->count; i++)
        found->all[i].hook = hook_of(search, &search->facts[i], &found->all[i]);
    free(explained);
}

/* As report_methods__find_overloads, among those that are shown; they stand in order. */
static void find_overloads(struct explanations *found)
{
    for (size_t i = 1; i < found->count; i++) {
        struct report_method *before = &found->all[i - 1].names, *names = &found->all[i].names;

        if (text__compare(before->class_name, names->class_name) == 0 &&
            text__compare(before->name, names->name) == 0)
            before->overloaded = names->overloaded = true;
    }
}

static struct text join_near(struct search *search)
{
    char *joined = NULL;
    size_t used = 0, room = 0;

    for (size_t i = 0; i < NEAREST_MOST && search->near[i].name.bytes; i++) {
        struct text name = search->near[i].name;

        joined = memory__grown(joined, &room, used + name.length + 2, 1);
        memcpy(joined + used, ", ", used ? 2 : 0);
        used += used ? 2 : 0;
        memcpy(joined + used, name.bytes, name.length);
        used += name.length;
    }
    struct text kept = text__keep(&search->found->texts, joined ? joined : "", used);
    free(joined);
    return kept;
}

struct explanations *explanations__new(const struct report_model *model,
                                       const struct ledger_reader *reader, const char *glob)
{
    struct explanations *found = memory__zeroed(1, sizeof(*found));
    struct search search = {.model = model, .reader = reader, .glob = glob, .found = found};

    collect(&search);
    join_equals(&search);
    explain(&search);
    find_overloads(found);
    found->nearest = join_near(&search);
    free(search.facts);
    return found;
}

void explanations__free(struct explanations *explanations)
{
    if (!explanations)
        return;
    free(explanations->all);
    text_store__release(&explanations->texts);
    free(explanations);
}
