/*
 * The types of a recording, as its metadata tells them: elements with attributes, all strings in
 * one pool. Names and fields of types are the JDK's own, which its tools go by; the weight of
 * events, and the event of the ledger, are ours.
 */
#include "tools/export/jfr_chunk.h"
#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

enum field_form {
    FIELD_VALUE,
    FIELD_CONSTANT, /* the number of a constant */
    FIELD_ARRAY,
    FIELD_TICKS,
    FIELD_NANOSECONDS,
    FIELD_WEIGHT, /* nanoseconds, if the metric is a time */
};

struct field {
    const char *name;
    enum jfr_type type;
    enum field_form form;
    const char *label; /* or NULL */
};

#define FIELDS_MAX 12u

struct type {
    enum jfr_type id;
    bool is_simple; /* shown as its only field */
    const char *name;
    const char *super; /* or NULL */
    const char *label; /* of events */
    struct field fields[FIELDS_MAX];
};

#define EVENT      "jdk.jfr.Event"
#define ANNOTATION "java.lang.annotation.Annotation"

#define SAMPLE_FIELDS                                                                              \
    {                                                                                              \
        {"startTime", JFR_LONG, FIELD_TICKS, "Start Time"},                                        \
            {"sampledThread", JFR_THREAD, FIELD_CONSTANT, "Thread"},                               \
            {"stackTrace", JFR_STACK_TRACE, FIELD_CONSTANT, "Stack Trace"},                        \
            {"state", JFR_THREAD_STATE, FIELD_CONSTANT, "Thread State"},                           \
            {"weight", JFR_LONG, FIELD_WEIGHT, "What the sample stands for"},                      \
    }

static const struct type types[] = {
    {JFR_BOOLEAN, false, "boolean", NULL, NULL, {{0}}},
    {JFR_INT, false, "int", NULL, NULL, {{0}}},
    {JFR_LONG, false, "long", NULL, NULL, {{0}}},
    {JFR_STRING, false, "java.lang.String", NULL, NULL, {{0}}},
    {JFR_CLASS,
     false,
     "java.lang.Class",
     NULL,
     NULL,

     {{"classLoader", JFR_CLASS_LOADER, FIELD_CONSTANT, NULL},
      {"name", JFR_SYMBOL, FIELD_CONSTANT, NULL},
      {"package", JFR_PACKAGE, FIELD_CONSTANT, NULL},
      {"modifiers", JFR_INT, FIELD_VALUE, NULL},
      {"hidden", JFR_BOOLEAN, FIELD_VALUE, NULL}}},
    {JFR_THREAD,
     false,
     "java.lang.Thread",
     NULL,
     NULL,

     {{"osName", JFR_STRING, FIELD_VALUE, NULL},
      {"osThreadId", JFR_LONG, FIELD_VALUE, NULL},
      {"javaName", JFR_STRING, FIELD_VALUE, NULL},
      {"javaThreadId", JFR_LONG, FIELD_VALUE, NULL},
      {"virtual", JFR_BOOLEAN, FIELD_VALUE, NULL}}},
    {JFR_CLASS_LOADER,
     false,
     "jdk.types.ClassLoader",
     NULL,
     NULL,

     {{"type", JFR_CLASS, FIELD_CONSTANT, NULL}, {"name", JFR_SYMBOL, FIELD_CONSTANT, NULL}}},
    {JFR_PACKAGE,
     false,
     "jdk.types.Package",
     NULL,
     NULL,

     {{"name", JFR_SYMBOL, FIELD_CONSTANT, NULL}}},
    {JFR_FRAME_TYPE,
     true,
     "jdk.types.FrameType",
     NULL,
     NULL,

     {{"description", JFR_STRING, FIELD_VALUE, NULL}}},
    {JFR_THREAD_STATE,
     true,
     "jdk.types.ThreadState",
     NULL,
     NULL,

     {{"name", JFR_STRING, FIELD_VALUE, NULL}}},
    {JFR_STACK_TRACE,
     false,
     "jdk.types.StackTrace",
     NULL,
     NULL,

     {{"truncated", JFR_BOOLEAN, FIELD_VALUE, NULL},
      {"frames", JFR_STACK_FRAME, FIELD_ARRAY, NULL}}},
    {JFR_STACK_FRAME,
     false,
     "jdk.types.StackFrame",
     NULL,
     NULL,

     {{"method", JFR_METHOD, FIELD_CONSTANT, NULL},
      {"lineNumber", JFR_INT, FIELD_VALUE, NULL},
      {"bytecodeIndex", JFR_INT, FIELD_VALUE, NULL},
      {"type", JFR_FRAME_TYPE, FIELD_CONSTANT, NULL}}},
    {JFR_METHOD,
     false,
     "jdk.types.Method",
     NULL,
     NULL,

     {{"type", JFR_CLASS, FIELD_CONSTANT, NULL},
      {"name", JFR_SYMBOL, FIELD_CONSTANT, NULL},
      {"descriptor", JFR_SYMBOL, FIELD_CONSTANT, NULL},
      {"modifiers", JFR_INT, FIELD_VALUE, NULL},
      {"hidden", JFR_BOOLEAN, FIELD_VALUE, NULL}}},
    {JFR_SYMBOL, true, "jdk.types.Symbol", NULL, NULL, {{"string", JFR_STRING, FIELD_VALUE, NULL}}},
    {JFR_LABEL,
     false,
     "jdk.jfr.Label",
     ANNOTATION,
     NULL,

     {{"value", JFR_STRING, FIELD_VALUE, NULL}}},
    {JFR_CATEGORY,
     false,
     "jdk.jfr.Category",
     ANNOTATION,
     NULL,

     {{"value", JFR_STRING, FIELD_ARRAY, NULL}}},
    {JFR_TIMESTAMP,
     false,
     "jdk.jfr.Timestamp",
     ANNOTATION,
     NULL,

     {{"value", JFR_STRING, FIELD_VALUE, NULL}}},
    {JFR_TIMESPAN,
     false,
     "jdk.jfr.Timespan",
     ANNOTATION,
     NULL,

     {{"value", JFR_STRING, FIELD_VALUE, NULL}}},
    {JFR_EXECUTION_SAMPLE, false, "jdk.ExecutionSample", EVENT, "Method Profiling Sample",
     SAMPLE_FIELDS},
    {JFR_NATIVE_METHOD_SAMPLE, false, "jdk.NativeMethodSample", EVENT,
     "Method Profiling Sample Native", SAMPLE_FIELDS},
    {JFR_LEDGER,
     false,
     "treadle.Ledger",
     EVENT,
     "Ledger",

     {{"startTime", JFR_LONG, FIELD_TICKS, "Start Time"},
      {"command", JFR_STRING, FIELD_VALUE, "Command"},
      {"jvm", JFR_STRING, FIELD_VALUE, "JVM"},
      {"machine", JFR_STRING, FIELD_VALUE, "Machine"},
      {"pid", JFR_LONG, FIELD_VALUE, "Process"},
      {"metric", JFR_STRING, FIELD_VALUE, "Metric of the Samples"},
      {"sampleWeight", JFR_LONG, FIELD_WEIGHT, "What a Sample Stands for"},
      {"samples", JFR_LONG, FIELD_VALUE, "Samples Written"},
      {"total", JFR_LONG, FIELD_WEIGHT, "Total of the Metric"},
      {"processCpu", JFR_LONG, FIELD_NANOSECONDS, "Kernel CPU of the Process"}}},
};
#define TYPES (sizeof(types) / sizeof(types[0]))

struct strings {
    const char **items;
    size_t room;
    size_t count;
};

static void put_string(struct jfr_bytes *bytes, struct strings *strings, const char *string)
{
    size_t i = 0;

    while (i < strings->count && strcmp(strings->items[i], string) != 0)
        i++;
    if (i == strings->count) {
        strings->items =
            memory__grown(strings->items, &strings->room, i + 1, sizeof(*strings->items));
        strings->items[strings->count++] = string;
    }
    jfr_bytes__number(bytes, i);
}

/* In decimal, as the format has it; all ids that there are. */
static const char *number_of(enum jfr_type type)
{
    static char numbers[JFR_LEDGER + 1][4];

    snprintf(numbers[type], sizeof(numbers[type]), "%u", (unsigned)type & 0xffu);
    return numbers[type];
}

static void put_attribute(struct jfr_bytes *bytes, struct strings *strings, const char *key,
                          const char *value)
{
    put_string(bytes, strings, key);
    put_string(bytes, strings, value);
}

static void put_annotation(struct jfr_bytes *bytes, struct strings *strings, enum jfr_type type,
                           const char *key, const char *value)
{
    put_string(bytes, strings, "annotation");
    jfr_bytes__number(bytes, 2);
    put_attribute(bytes, strings, "class", number_of(type));
    put_attribute(bytes, strings, key, value);
    jfr_bytes__number(bytes, 0);
}

static void put_field(struct jfr_bytes *bytes, struct strings *strings, const struct field *field,
                      bool weight_is_time)
{
    bool is_time =
        field->form == FIELD_NANOSECONDS || (field->form == FIELD_WEIGHT && weight_is_time);
    bool is_more = field->form == FIELD_CONSTANT || field->form == FIELD_ARRAY;
    bool is_ticks = field->form == FIELD_TICKS;

    put_string(bytes, strings, "field");
    jfr_bytes__number(bytes, is_more ? 3 : 2);
    put_attribute(bytes, strings, "name", field->name);
    put_attribute(bytes, strings, "class", number_of(field->type));
    if (field->form == FIELD_CONSTANT)
        put_attribute(bytes, strings, "constantPool", "true");
    if (field->form == FIELD_ARRAY)
        put_attribute(bytes, strings, "dimension", "1");
    jfr_bytes__number(bytes, (uint64_t)(field->label != NULL) + is_time + is_ticks);
    if (field->label)
        put_annotation(bytes, strings, JFR_LABEL, "value", field->label);
    if (is_time)
        put_annotation(bytes, strings, JFR_TIMESPAN, "value", "NANOSECONDS");
    if (is_ticks)
        put_annotation(bytes, strings, JFR_TIMESTAMP, "value", "TICKS");
}

static void put_type(struct jfr_bytes *bytes, struct strings *strings, const struct type *type,
                     bool weight_is_time)
{
    size_t fields = 0;

    while (fields < FIELDS_MAX && type->fields[fields].name)
        fields++;
    put_string(bytes, strings, "class");
    jfr_bytes__number(bytes, 2u + (type->super != NULL) + type->is_simple);
    put_attribute(bytes, strings, "id", number_of(type->id));
    put_attribute(bytes, strings, "name", type->name);
    if (type->super)
        put_attribute(bytes, strings, "superType", type->super);
    if (type->is_simple)
        put_attribute(bytes, strings, "simpleType", "true");
    jfr_bytes__number(bytes, fields + (type->label ? 2u : 0u));
    if (type->label) {
        put_annotation(bytes, strings, JFR_LABEL, "value", type->label);
        put_annotation(bytes, strings, JFR_CATEGORY, "value-0", "Treadle");
    }
    for (size_t i = 0; i < fields; i++)
        put_field(bytes, strings, &type->fields[i], weight_is_time);
}

static void put_tree(struct jfr_bytes *bytes, struct strings *strings, bool weight_is_time)
{
    put_string(bytes, strings, "root");
    jfr_bytes__number(bytes, 0);
    jfr_bytes__number(bytes, 2);
    put_string(bytes, strings, "metadata");
    jfr_bytes__number(bytes, 0);
    jfr_bytes__number(bytes, TYPES);
    for (size_t i = 0; i < TYPES; i++)
        put_type(bytes, strings, &types[i], weight_is_time);
    put_string(bytes, strings, "region");
    jfr_bytes__number(bytes, 2);
    put_attribute(bytes, strings, "locale", "en_US");
    put_attribute(bytes, strings, "gmtOffset", "0");
    jfr_bytes__number(bytes, 0);
}

void jfr_metadata__write(struct jfr_bytes *bytes, bool weight_is_time)
{
    struct strings strings = {0};
    struct jfr_bytes tree = {0};

    put_tree(&tree, &strings, weight_is_time);
    size_t begin = jfr_bytes__begin(bytes, JFR_METADATA, 0);
    jfr_bytes__number(bytes, 0); /* its duration */
    jfr_bytes__number(bytes, 1); /* its id */
    jfr_bytes__number(bytes, strings.count);
    for (size_t i = 0; i < strings.count; i++)
        jfr_bytes__text(bytes, (struct text){strings.items[i], strlen(strings.items[i])});
    jfr_bytes__append(bytes, &tree);
    jfr_bytes__end(bytes, begin);
    free(tree.bytes);
    free(strings.items);
}
