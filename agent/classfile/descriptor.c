#include "agent/classfile/descriptor.h"

#include <string.h>

bool descriptor__begin(struct descriptor_arguments *arguments, struct class_text text)
{
    arguments->text = text;
    arguments->at = 1;
    return text.length > 0 && text.bytes[0] == '(';
}

/* Where the type that begins at `at` ends, or 0. */
static uint32_t type_end(struct class_text text, uint32_t at)
{
    while (at < text.length && text.bytes[at] == '[')
        at++;
    if (at >= text.length || !strchr("BCDFIJSZVL", text.bytes[at]) || !text.bytes[at])
        return 0;
    if (text.bytes[at] == 'L') {
        while (at < text.length && text.bytes[at] != ';')
            at++;
        if (at == text.length)
            return 0;
    }
    return at + 1;
}

bool descriptor__next(struct descriptor_arguments *arguments, struct class_text *type)
{
    struct class_text text = arguments->text;
    uint32_t end;

    type->bytes = text.bytes + arguments->at;
    type->length = 0;
    if (arguments->at < text.length && text.bytes[arguments->at] == ')')
        return true;
    end = type_end(text, arguments->at);
    type->length = end - arguments->at;
    arguments->at = end;
    return end != 0;
}

uint32_t descriptor__slots(struct class_text type)
{
    switch (type.length ? type.bytes[0] : 'V') {
    case 'V':
        return 0;
    case 'J':
    case 'D':
        return 2;
    default:
        return 1;
    }
}

bool descriptor__method_slots(struct class_text text, uint32_t *arguments, uint32_t *result)
{
    struct descriptor_arguments each;
    struct class_text type;

    *arguments = *result = 0;
    if (!descriptor__begin(&each, text))
        return false;
    do {
        if (!descriptor__next(&each, &type))
            return false;
        *arguments += descriptor__slots(type);
    } while (type.length > 0);
    type.bytes = text.bytes + each.at + 1;
    type.length = text.length - each.at - 1;
    *result = descriptor__slots(type);
    return type.length > 0;
}
