#include "agent/classfile/code_attributes.h"

#include "agent/classfile/annotations.h"

/* A table that is read from the class file while its copy, in the writer already, is corrected. */
struct table {
    const struct code_layout *layout;
    struct class_reader reader;
    struct class_writer *writer;
    size_t shift; /* from an offset in the class file to the copy's in the writer, modulo 2^64 */
};

/* Values that no code offset has are left as they are: nothing reads them. */
static void set_u2(const struct table *table, size_t offset, uint32_t value)
{
    if (class_reader__ok(&table->reader))
        class_writer__set_u2(table->writer, offset + table->shift, value);
}

static bool is_offset(const struct table *table, uint32_t pc)
{
    return pc <= table->layout->method->length;
}

static void correct_start(struct table *table)
{
    size_t offset = table->reader.at;
    uint32_t pc = class_reader__u2(&table->reader);

    if (is_offset(table, pc))
        set_u2(table, offset, code_layout__start(table->layout, pc));
}

static void correct_instruction(struct table *table)
{
    size_t offset = table->reader.at;
    uint32_t pc = class_reader__u2(&table->reader);

    if (is_offset(table, pc))
        set_u2(table, offset, code_layout__instruction(table->layout, pc));
}

/* A start and a length. */
static void correct_range(struct table *table)
{
    size_t offset = table->reader.at;
    uint32_t pc = class_reader__u2(&table->reader);
    uint32_t end = pc + class_reader__u2(&table->reader);
    uint32_t start;

    if (!is_offset(table, end))
        return;
    start = code_layout__start(table->layout, pc);
    set_u2(table, offset, start);
    set_u2(table, offset + 2, end > pc ? code_layout__range_end(table->layout, end) - start : 0);
}

static void correct_lines(struct table *table)
{
    uint32_t count = class_reader__u2(&table->reader);

    while (count-- > 0 && class_reader__ok(&table->reader)) {
        correct_start(table);
        class_reader__skip(&table->reader, 2);
    }
}

static void correct_variables(struct table *table)
{
    uint32_t count = class_reader__u2(&table->reader);

    while (count-- > 0 && class_reader__ok(&table->reader)) {
        correct_range(table);
        class_reader__skip(&table->reader, 6);
    }
}

static void correct_target(struct table *table)
{
    struct class_reader *reader = &table->reader;
    size_t offset = reader->at;
    uint8_t target = class_reader__u1(reader);
    uint32_t count;

    switch (target) {
    case 0x13: /* a field, a result or a receiver */
    case 0x14:
    case 0x15:
        break;
    case 0x00: /* a type or a formal parameter */
    case 0x01:
    case 0x16:
        class_reader__skip(reader, 1);
        break;
    case 0x10: /* a supertype, a bound, a throws clause; a catch, whose index stays what it was */
    case 0x11:
    case 0x12:
    case 0x17:
    case 0x42:
        class_reader__skip(reader, 2);
        break;
    case 0x40: /* a local variable, a resource */
    case 0x41:
        count = class_reader__u2(reader);
        while (count-- > 0 && class_reader__ok(reader)) {
            correct_range(table);
            class_reader__skip(reader, 2);
        }
        break;
    case 0x43: /* instanceof, new, a method reference */
    case 0x44:
    case 0x45:
    case 0x46:
        correct_instruction(table);
        break;
    case 0x47: /* a type argument of a cast, a call or a method reference */
    case 0x48:
    case 0x49:
    case 0x4a:
    case 0x4b:
        correct_instruction(table);
        class_reader__skip(reader, 1);
        break;
    default:
        class_reader__fail(reader, offset, "a type annotation's target");
    }
}

static void correct_annotations(struct table *table)
{
    uint32_t count = class_reader__u2(&table->reader);

    while (count-- > 0 && class_reader__ok(&table->reader)) {
        correct_target(table);
        class_reader__skip(&table->reader, 2u * class_reader__u1(&table->reader));
        annotation__skip(&table->reader);
    }
}

static void leave_out(struct table *table)
{
    (void)table;
}

static const struct {
    const char *name;
    void (*correct)(struct table *table);
} tables[] = {
    {"LineNumberTable", correct_lines},
    {"LocalVariableTable", correct_variables},
    {"LocalVariableTypeTable", correct_variables},
    {"RuntimeVisibleTypeAnnotations", correct_annotations},
    {"RuntimeInvisibleTypeAnnotations", correct_annotations},
    {"StackMapTable", leave_out}, /* stack_map writes it */
    {"StackMap", leave_out},
    {"CharacterRangeTable", leave_out},
    {"CoverageTable", leave_out},
};

static void write_attribute(struct table *table, size_t start, struct class_text name,
                            uint16_t *count)
{
    const struct class_reader *reader = &table->reader;
    void (*correct)(struct table * table) = NULL;

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        if (class_text__is(name, tables[i].name))
            correct = tables[i].correct;
    if (correct == leave_out)
        return;
    ++*count;
    table->shift = table->writer->length - start;
    class_writer__copy(table->writer, reader->bytes + start, reader->end - start);
    if (correct)
        correct(table);
}

/* The content of the next attribute, its name, and where it begins. */
static struct class_reader next_attribute(struct class_reader *attributes,
                                          const struct constant_pool *pool, size_t *start,
                                          struct class_text *name)
{
    *start = attributes->at;
    *name = (struct class_text){0};
    if (!constant_pool__text(pool, class_reader__u2(attributes), name))
        class_reader__fail(attributes, *start, "an attribute's name");
    return class_reader__part(attributes, class_reader__u4(attributes));
}

void code_attributes__write(const struct code_layout *layout, const struct constant_pool *pool,
                            struct class_writer *writer, uint16_t *count)
{
    struct class_reader attributes = layout->method->attributes;
    uint32_t left = layout->method->attribute_count;

    *count = 0;
    while (left-- > 0 && class_reader__ok(&attributes)) {
        size_t start;
        struct class_text name;
        struct table table = {.layout = layout, .writer = writer};

        table.reader = next_attribute(&attributes, pool, &start, &name);
        if (class_reader__ok(&attributes))
            write_attribute(&table, start, name, count);
    }
    if (attributes.at != attributes.end)
        class_reader__fail(&attributes, attributes.at, "the end of the code's attributes");
}

bool code_attributes__find_stack_map(const struct method_code *method,
                                     const struct constant_pool *pool,
                                     struct class_reader *stack_map)
{
    struct class_reader attributes = method->attributes;
    uint32_t left = method->attribute_count;
    bool found = false;

    while (left-- > 0 && class_reader__ok(&attributes)) {
        size_t start;
        struct class_text name;
        struct class_reader content = next_attribute(&attributes, pool, &start, &name);

        if (!class_reader__ok(&attributes) || !class_text__is(name, "StackMapTable"))
            continue;
        if (found)
            class_reader__fail(&attributes, start, "one StackMapTable");
        *stack_map = content;
        found = true;
    }
    return found;
}
