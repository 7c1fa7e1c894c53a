/*
 * jfr: a recording of the JDK's Flight Recorder, for `jfr`, JDK Mission Control and programs on
 * jdk.jfr.consumer.
 *
 * A recording has samples and no totals, so what stands in the ledger is told in samples that all
 * weigh the same: going through each tree in order, one whenever so much more was consumed. A
 * method has as many as its share is, give or take one. They are spread evenly over the time that
 * their thread was there, for a ledger does not know when within it they were. Where it knows the
 * bytecode indices that real samples found a method at, the samples of that method on top have
 * them in the same proportions.
 *
 * Java frames on top make jdk.ExecutionSample; native ones, the kernel's, and what is in no method
 * make jdk.NativeMethodSample.
 */
#include "native/metrics/kernel_metrics.h"
#include "tools/export/export_format.h"
#include "tools/export/frame_names.h"
#include "tools/export/jfr_chunk.h"
#include "tools/report/memory.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_losses.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES_MAX   1000000u
#define LEAST_TIME_NS 100000u
#define FRAMES_MAX    2048u /* of a stack; the innermost are kept */
#define POOLS         7u

enum frame_type {
    FRAME_INTERPRETED = 1,
    FRAME_COMPILED,
    FRAME_NATIVE,
    FRAME_TYPES,
};

enum thread_state {
    STATE_RUNNABLE = 1,
    STATE_UNKNOWN,
    THREAD_STATES,
};

/* Where real samples with a method on top were. */
struct method_places {
    uint32_t first; /* of the ledger's places, or REPORT_NONE */
    uint64_t samples;
    uint64_t at; /* the one of them whose place was given out last */
    uint64_t step;
};

struct jfr_writer {
    const struct export_job *job;
    struct jfr_chunk chunk;
    unsigned __int128 weight;
    unsigned __int128 total;
    unsigned __int128 carried; /* consumed since the last sample */
    uint64_t samples;
    bool *is_used; /* by method: it stands in a stack */
    struct jfr_bytes stacks;
    uint64_t stack_count;
    struct method_places *places; /* by method */
    uint32_t *next_place;         /* by place: the same method's next one */
};

/* The largest number of all means "for ever" to readers. */
static uint64_t clipped(unsigned __int128 value)
{
    return value >= INT64_MAX ? INT64_MAX - 1 : (uint64_t)value;
}

/* 1, 2, 5, 10 … of the least, so that there are not too many. */
static void choose_weight(struct jfr_writer *writer)
{
    const struct export_job *job = writer->job;
    const struct report_model *model = job->model;

    for (uint32_t i = 0; i < model->node_count; i++)
        if (job->selected[model->nodes[i].thread])
            writer->total += model->base[job->column][i];
    bool is_time = report_column__unit(job->column) == UNIT_NS;
    unsigned __int128 power = is_time ? LEAST_TIME_NS : 1;
    static const unsigned steps[] = {1, 2, 5};
    for (unsigned i = 0;; i++) {
        writer->weight = power * steps[i % 3];
        if (writer->total / writer->weight <= SAMPLES_MAX)
            break;
        power *= i % 3 == 2 ? 10 : 1;
    }
    writer->carried = writer->weight / 2;
}

/* How many samples a node makes; what is left is carried to the next one. */
static uint64_t samples_of(const struct jfr_writer *writer, uint32_t node,
                           unsigned __int128 *carried)
{
    *carried += writer->job->model->base[writer->job->column][node];
    uint64_t samples = (uint64_t)(*carried / writer->weight);
    *carried %= writer->weight;
    return samples;
}

static void find_places(struct jfr_writer *writer)
{
    const struct report_model *model = writer->job->model;
    const struct report_places *places = writer->job->places;

    writer->places = memory__zeroed(model->method_count, sizeof(*writer->places));
    writer->next_place =
        memory__zeroed(places ? places->place_count : 0, sizeof(*writer->next_place));
    for (uint32_t i = 0; i < model->method_count; i++)
        writer->places[i].first = REPORT_NONE;
    for (uint32_t i = places ? places->place_count : 0; i-- > 0;) {
        const struct report_place *place = &places->places[i];

        if (place->method == REPORT_NONE || place->bci < 0 || !place->samples)
            continue;
        struct method_places *of = &writer->places[place->method];
        uint64_t sum = 0;
        writer->next_place[i] = of->first;
        if (__builtin_add_overflow(of->samples, place->samples, &sum))
            continue;
        of->samples = sum;
        of->first = i;
    }
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* A step of about the golden section of `count`, without a common factor: steps of that size visit
 * each of `count` positions once before they repeat, in a well mixed order. */
static uint64_t step_among(uint64_t count)
{
    uint64_t step = (uint64_t)((unsigned __int128)count * UINT64_C(0x9e3779b97f4a7c15) >> 64);

    while (greatest_common_divisor(count, ++step) != 1)
        continue;
    return step;
}

/* The bytecode index of the next sample with that method on top, or -1: in turn that of each real
 * sample. */
static int32_t next_index(struct jfr_writer *writer, uint32_t method)
{
    struct method_places *of = &writer->places[method];

    if (of->first == REPORT_NONE)
        return -1;
    if (!of->step)
        of->step = step_among(of->samples);
    of->at = (uint64_t)(((unsigned __int128)of->at + of->step) % of->samples);
    uint64_t at = of->at;
    uint32_t place = of->first;
    while (at >= writer->job->places->places[place].samples) {
        at -= writer->job->places->places[place].samples;
        place = writer->next_place[place];
    }
    return writer->job->places->places[place].bci;
}

static bool is_java(const struct report_model *model, uint32_t node)
{
    enum ledger_node_kind kind = model->nodes[node].kind;
    const struct report_method *method = &model->methods[model->nodes[node].method];

    return (kind == NODE_EXACT || kind == NODE_SAMPLED) && !(method->flags & METHOD_NATIVE);
}

static enum frame_type frame_type_of(const struct report_model *model, uint32_t node)
{
    if (!is_java(model, node))
        return FRAME_NATIVE;
    return report_node__mark(model, node)[0] == 'I' ? FRAME_INTERPRETED : FRAME_COMPILED;
}

/* A stack as a constant; its number. The thread's root is a frame only of what is in no method. */
static uint64_t put_stack(struct jfr_writer *writer, uint32_t node, int32_t index)
{
    const struct report_model *model = writer->job->model;
    uint32_t depth = model->nodes[node].depth;
    uint32_t frames = depth ? depth : 1;
    uint32_t method = model->nodes[node].method;
    bool is_cut = frames > FRAMES_MAX;
    int32_t line = -1;

    if (index >= 0) {
        struct report_method_code code = report_places__code_of(writer->job->places, method);
        uint32_t known = report_method_code__line(&code, index);

        line = known ? (int32_t)known : -1;
    }
    jfr_bytes__number(&writer->stacks, ++writer->stack_count);
    jfr_bytes__number(&writer->stacks, is_cut);
    jfr_bytes__number(&writer->stacks, is_cut ? FRAMES_MAX : frames);
    for (uint32_t i = 0; i < frames && i < FRAMES_MAX; i++) {
        writer->is_used[model->nodes[node].method] = true;
        jfr_bytes__number(&writer->stacks, model->nodes[node].method + UINT64_C(1));
        jfr_bytes__int(&writer->stacks, i ? -1 : line);
        jfr_bytes__int(&writer->stacks, i ? -1 : index);
        jfr_bytes__number(&writer->stacks, frame_type_of(model, node));
        node = model->nodes[node].parent;
    }
    return writer->stack_count;
}

struct known_stack {
    int32_t index;
    uint64_t number;
};

/* The node's stack with that index on top, made when it is first asked for. */
static uint64_t stack_of(struct jfr_writer *writer, uint32_t node, int32_t index,
                         struct known_stack **known, size_t *room, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if ((*known)[i].index == index)
            return (*known)[i].number;
    *known = memory__grown(*known, room, *count + 1, sizeof(**known));
    (*known)[*count] = (struct known_stack){index, put_stack(writer, node, index)};
    return (*known)[(*count)++].number;
}

/* Moments of a thread's samples: evenly over its time. */
struct moments {
    uint64_t begin_ns;
    uint64_t length_ns;
    uint64_t count;
    uint64_t next;
};

static uint64_t next_moment(struct moments *moments)
{
    unsigned __int128 half_steps = 2 * (unsigned __int128)moments->next++ + 1;

    return moments->begin_ns + (uint64_t)(moments->length_ns * half_steps / 2 / moments->count);
}

static void put_samples(struct jfr_writer *writer, uint32_t node, uint64_t samples,
                        struct moments *moments)
{
    const struct report_model *model = writer->job->model;
    struct jfr_bytes *events = &writer->chunk.events;
    bool java = is_java(model, node);
    bool on_cpu = writer->job->column == COLUMN_CPU;
    struct known_stack *known = NULL;
    size_t room = 0, count = 0;
    bool has_places =
        java && model->samples && (model->samples[node].cpu || model->samples[node].wall);

    for (; samples; samples--) {
        int32_t index = has_places ? next_index(writer, model->nodes[node].method) : -1;
        uint64_t stack = stack_of(writer, node, index, &known, &room, &count);
        size_t begin = jfr_bytes__begin(
            events, java ? JFR_EXECUTION_SAMPLE : JFR_NATIVE_METHOD_SAMPLE, next_moment(moments));

        jfr_bytes__number(events, model->nodes[node].thread + UINT64_C(1));
        jfr_bytes__number(events, stack);
        jfr_bytes__number(events, on_cpu ? STATE_RUNNABLE : STATE_UNKNOWN);
        jfr_bytes__number(events, clipped(writer->weight));
        jfr_bytes__end(events, begin);
        writer->samples++;
    }
    free(known);
}

static void put_thread_samples(struct jfr_writer *writer, const struct report_thread *thread)
{
    uint64_t end_ns = thread->end_ns ? thread->end_ns : report_model__asof_ns(writer->job->model);
    struct moments moments = {.begin_ns = thread->start_ns};

    moments.length_ns = end_ns > thread->start_ns ? end_ns - thread->start_ns : 0;
    unsigned __int128 carried = writer->carried;
    for (uint32_t node = thread->first_node; node < thread->end_node; node++)
        moments.count += samples_of(writer, node, &carried);
    for (uint32_t node = thread->first_node; node < thread->end_node; node++) {
        uint64_t samples = samples_of(writer, node, &writer->carried);

        if (samples)
            put_samples(writer, node, samples, &moments);
    }
}

static void put_ledger(struct jfr_writer *writer)
{
    const struct report_model *model = writer->job->model;
    struct text_store texts = {0};
    struct jfr_bytes *events = &writer->chunk.events;
    const char *metric = report_column__name(writer->job->column);
    size_t begin = jfr_bytes__begin(events, JFR_LEDGER, 0);

    jfr_bytes__text(events, report_losses__title(&texts, model));
    text_store__release(&texts);
    jfr_bytes__text(events, model->jvm);
    jfr_bytes__text(events, model->machine);
    jfr_bytes__number(events, (uint64_t)model->header.pid);
    jfr_bytes__text(events, (struct text){metric, strlen(metric)});
    jfr_bytes__number(events, clipped(writer->weight));
    jfr_bytes__number(events, writer->samples);
    jfr_bytes__number(events, clipped(writer->total));
    jfr_bytes__number(events, clipped(model->header.process_cpu_ns));
    jfr_bytes__end(events, begin);
}

static void begin_pool(struct jfr_bytes *bytes, enum jfr_type type, uint64_t count)
{
    jfr_bytes__number(bytes, type);
    jfr_bytes__number(bytes, count);
}

static void put_words(struct jfr_bytes *bytes, enum jfr_type type, const char *const *words,
                      size_t end)
{
    begin_pool(bytes, type, end - 1);
    for (size_t i = 1; i < end; i++) {
        jfr_bytes__number(bytes, i);
        jfr_bytes__text(bytes, (struct text){words[i], strlen(words[i])});
    }
}

static void put_threads(struct jfr_writer *writer, struct jfr_bytes *bytes)
{
    const struct report_model *model = writer->job->model;

    begin_pool(bytes, JFR_THREAD, model->thread_count);
    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];
        bool is_of_java = thread->kind < THREAD_VM;
        int32_t tid = thread_tids__known(thread) ? thread->tids[0] : 0;

        jfr_bytes__number(bytes, i + UINT64_C(1));
        jfr_bytes__text(bytes, thread_name__of(thread));
        jfr_bytes__number(bytes, tid > 0 ? (uint64_t)tid : 0);
        jfr_bytes__text(bytes, is_of_java ? thread_name__of(thread) : (struct text){"", 0});
        jfr_bytes__number(bytes, is_of_java ? clipped(thread->java_id) : 0);
        jfr_bytes__number(bytes, thread->kind == THREAD_VIRTUAL);
    }
}

/* Readers take a descriptor for what it should be, so another one would end them. */
static struct text descriptor_of(const struct report_method *method)
{
    const char *at = method->signature.bytes;
    const struct text unknown = {"()V", 3};

    if (!at || *at++ != '(')
        return unknown;
    while (*at != ')') {
        while (*at == '[')
            at++;
        if (*at == 'L')
            at += strcspn(at, ";)");
        else if (!*at || !strchr("BCDFIJSZ", *at))
            return unknown;
        if (*at++ == ')' || !at[-1])
            return unknown;
    }
    return method->signature;
}

/* The class of each method: the number of the first method of the same class, and one. */
static uint32_t *find_classes(const struct jfr_writer *writer, uint64_t *methods, uint64_t *classes)
{
    const struct report_model *model = writer->job->model;
    uint32_t *class_of = memory__zeroed(model->method_count, sizeof(*class_of));
    size_t slots = 1024;

    while (slots < 2 * (size_t)model->method_count)
        slots *= 2;
    uint32_t *first = memory__zeroed(slots, sizeof(*first));
    for (uint32_t i = 0; i < model->method_count; i++) {
        struct text name = model->methods[i].class_name;
        uint64_t hash = 0;

        if (!writer->is_used[i])
            continue;
        for (size_t at = 0; at < name.length; at++)
            hash = (hash ^ (uint8_t)name.bytes[at]) * UINT64_C(0x100000001b3);
        size_t slot = (hash ^ hash >> 29) & (slots - 1);
        while (first[slot] && text__compare(model->methods[first[slot] - 1].class_name, name) != 0)
            slot = (slot + 1) & (slots - 1);
        if (!first[slot]) {
            first[slot] = i + 1;
            ++*classes;
        }
        class_of[i] = first[slot];
        ++*methods;
    }
    free(first);
    return class_of;
}

static void put_symbol(struct jfr_bytes *bytes, uint64_t number, struct text text)
{
    jfr_bytes__number(bytes, number);
    jfr_bytes__text(bytes, text);
}

/* What is in no method has no class either. */
static struct text class_name_of(const struct report_method *method)
{
    return method->class_name.length ? method->class_name : (struct text){"treadle", 7};
}

/* Symbols of a method: 3 m + 1 its class, + 2 its name, + 3 its descriptor. */
static void put_methods(struct jfr_writer *writer, struct jfr_bytes *bytes)
{
    const struct report_model *model = writer->job->model;
    uint64_t methods = 0, classes = 0;
    uint32_t *class_of = find_classes(writer, &methods, &classes);

    begin_pool(bytes, JFR_SYMBOL, methods * 3);
    for (uint32_t i = 0; i < model->method_count; i++) {
        if (!class_of[i])
            continue;
        put_symbol(bytes, UINT64_C(3) * i + 1, class_name_of(&model->methods[i]));
        put_symbol(bytes, UINT64_C(3) * i + 2, model->methods[i].name);
        put_symbol(bytes, UINT64_C(3) * i + 3, descriptor_of(&model->methods[i]));
    }
    begin_pool(bytes, JFR_CLASS, classes);
    for (uint32_t i = 0; i < model->method_count; i++) {
        if (class_of[i] != i + 1)
            continue;
        jfr_bytes__number(bytes, i + UINT64_C(1));
        jfr_bytes__number(bytes, 0); /* no class loader */
        jfr_bytes__number(bytes, UINT64_C(3) * i + 1);
        jfr_bytes__number(bytes, 0); /* nor package */
        jfr_bytes__number(bytes, 0);
        jfr_bytes__number(bytes, 0);
    }
    begin_pool(bytes, JFR_METHOD, methods);
    for (uint32_t i = 0; i < model->method_count; i++) {
        if (!class_of[i])
            continue;
        jfr_bytes__number(bytes, i + UINT64_C(1));
        jfr_bytes__number(bytes, class_of[i]);
        jfr_bytes__number(bytes, UINT64_C(3) * i + 2);
        jfr_bytes__number(bytes, UINT64_C(3) * i + 3);
        jfr_bytes__number(bytes, 0);
        jfr_bytes__number(bytes, 0);
    }
    free(class_of);
}

static void put_constants(struct jfr_writer *writer)
{
    static const char *const frame_types[FRAME_TYPES] = {[FRAME_INTERPRETED] = "Interpreted",
                                                         [FRAME_COMPILED] = "JIT compiled",
                                                         [FRAME_NATIVE] = "Native"};
    static const char *const states[THREAD_STATES] = {
        [STATE_RUNNABLE] = "STATE_RUNNABLE", [STATE_UNKNOWN] = "STATE_UNKNOWN"};
    struct jfr_bytes *bytes = &writer->chunk.constants;
    size_t begin = jfr_bytes__begin(bytes, JFR_CONSTANTS, 0);

    jfr_bytes__number(bytes, 0); /* its duration */
    jfr_bytes__number(bytes, 0); /* no others before it */
    jfr_bytes__number(bytes, 1); /* all that there are */
    jfr_bytes__number(bytes, POOLS);
    put_words(bytes, JFR_FRAME_TYPE, frame_types, FRAME_TYPES);
    put_words(bytes, JFR_THREAD_STATE, states, THREAD_STATES);
    put_threads(writer, bytes);
    put_methods(writer, bytes);
    begin_pool(bytes, JFR_STACK_TRACE, writer->stack_count);
    jfr_bytes__append(bytes, &writer->stacks);
    jfr_bytes__end(bytes, begin);
}

int format_jfr__write(const struct export_job *job, FILE *out, const char *path)
{
    (void)path;
    const struct report_model *model = job->model;
    struct jfr_writer writer = {.job = job};
    writer.is_used = memory__zeroed(model->method_count, sizeof(*writer.is_used));
    choose_weight(&writer);
    find_places(&writer);
    for (uint32_t i = 0; i < model->thread_count; i++)
        if (job->selected[i])
            put_thread_samples(&writer, &model->threads[i]);
    put_ledger(&writer);
    put_constants(&writer);
    jfr_metadata__write(&writer.chunk.metadata, report_column__unit(job->column) == UNIT_NS);
    writer.chunk.start_ns = report_model__epoch_ns(model, 0);
    writer.chunk.duration_ns = report_model__asof_ns(model);
    jfr_chunk__write(&writer.chunk, out);
    free(writer.chunk.events.bytes);
    free(writer.chunk.constants.bytes);
    free(writer.chunk.metadata.bytes);
    free(writer.stacks.bytes);
    free(writer.is_used);
    free(writer.places);
    free(writer.next_place);
    return 0;
}
