/* What methods are called in text: the class, the name, and the parameters where only those tell
 * two methods apart. */
#include "tools/report/report_method.h"

#include "tools/report/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    const struct report_method *x = *(const struct report_method *const *)a;
    const struct report_method *y = *(const struct report_method *const *)b;
    int order = text__compare(x->class_name, y->class_name);

    return order ? order : text__compare(x->name, y->name);
}

void report_methods__find_overloads(struct report_method *methods, uint32_t count)
{
    struct report_method **sorted = memory__zeroed(count, sizeof(struct report_method *));

    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &methods[i];
    qsort((void *)sorted, count, sizeof(struct report_method *), compare_names);
    for (uint32_t i = 1; i < count; i++) {
        struct report_method *before = sorted[i - 1];

        if (compare_names(&before, &sorted[i]) == 0)
            before->overloaded = sorted[i]->overloaded = true;
    }
    free((void *)sorted);
}

static const char *primitive_name(char letter)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {
        {'B', "byte"}, {'C', "char"}, {'D', "double"}, {'F', "float"},
        {'I', "int"},  {'J', "long"}, {'S', "short"},  {'Z', "boolean"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].letter == letter)
            return names[i].name;
    return NULL;
}

/* Writes the parameter that a descriptor begins with, classes without their packages; what is
 * behind it, or NULL if it is no descriptor. */
static const char *write_parameter(FILE *out, const char *descriptor)
{
    size_t arrays = strspn(descriptor, "[");
    const char *type = descriptor + arrays;
    const char *end = type + 1;

    if (*type == 'L') {
        const char *simple = type + 1;

        end = strchr(type, ';');
        if (!end)
            return NULL;
        for (const char *at = simple; at < end; at++)
            simple = *at == '/' ? at + 1 : simple;
        fwrite(simple, 1, (size_t)(end - simple), out);
        end++;
    } else if (primitive_name(*type)) {
        fputs(primitive_name(*type), out);
    } else {
        return NULL;
    }
    for (; arrays > 0; arrays--)
        fputs("[]", out);
    return end;
}

static void write_parameters(FILE *out, const char *signature)
{
    const char *at = signature;

    if (*at != '(')
        return;
    fputc(*at++, out);
    for (const char *separator = ""; at && *at && *at != ')'; separator = ", ") {
        fputs(separator, out);
        at = write_parameter(out, at);
    }
    fputc(')', out);
}

static void write_method(FILE *out, const struct report_method *method)
{
    fwrite(method->class_name.bytes, 1, method->class_name.length, out);
    if (method->class_name.length > 0)
        fputc('.', out);
    fwrite(method->name.bytes, 1, method->name.length, out);
    if (method->overloaded)
        write_parameters(out, method->signature.bytes);
}

static void write_function(FILE *out, const struct report_method *method)
{
    bool bracketed = method->class_name.bytes[0] == '[';

    fwrite(method->name.bytes, 1, method->name.length, out);
    if (text__compare(method->name, method->class_name) == 0)
        return; /* the kernel, all of it */
    fputs(bracketed ? " " : " [", out);
    fwrite(method->class_name.bytes, 1, method->class_name.length, out);
    fputs(bracketed ? "" : "]", out);
}

static void write_logical(FILE *out, const struct report_method *method)
{
    bool bracketed = method->signature.bytes[0] == '(';

    fwrite(method->name.bytes, 1, method->name.length, out);
    if (method->signature.length == 0)
        return;
    fputs(bracketed ? " " : " (", out);
    fwrite(method->signature.bytes, 1, method->signature.length, out);
    fputs(bracketed ? "" : ")", out);
}

bool report_method__is_logical(const struct report_method *method)
{
    return method->flags & METHOD_LOGICAL;
}

bool report_method__is_native_function(const struct report_method *method)
{
    return method->flags & METHOD_SYMBOL;
}

struct text report_method__full_name(struct text_store *store, const struct report_method *method)
{
    char *joined = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&joined, &length);

    if (!out)
        return method->name;
    if (report_method__is_native_function(method))
        write_function(out, method);
    else if (report_method__is_logical(method))
        write_logical(out, method);
    else
        write_method(out, method);
    bool whole = fclose(out) == 0;
    struct text name = whole ? text__keep(store, joined, length) : method->name;
    free(joined);
    return name;
}
