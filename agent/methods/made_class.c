#include "agent/methods/made_class.h"

#include "agent/methods/hook_pool.h"

#include <string.h>

#define CLASS_VERSION 49u /* the last one without stack maps */
#define ACC_SUPER     0x0020u
#define ACC_NATIVE    0x0100u
#define ACC_SYNTHETIC 0x1000u

void made_class__add_text(struct class_writer *out, const char *text)
{
    class_writer__u1(out, CONSTANT_UTF8);
    class_writer__u2(out, (uint32_t)strlen(text));
    class_writer__copy(out, (const uint8_t *)text, strlen(text));
}

void made_class__add_pair(struct class_writer *out, enum constant_tag tag, uint32_t first,
                          uint32_t second)
{
    class_writer__u1(out, tag);
    class_writer__u2(out, first);
    class_writer__u2(out, second);
}

void made_class__begin(struct class_writer *out, const char *name, uint32_t pool_count)
{
    class_writer__u4(out, 0xcafebabe);
    class_writer__u4(out, CLASS_VERSION);
    class_writer__u2(out, pool_count);
    made_class__add_text(out, name);
    class_writer__u1(out, CONSTANT_CLASS);
    class_writer__u2(out, POOL_THIS - 1);
    made_class__add_text(out, "java/lang/Object");
    class_writer__u1(out, CONSTANT_CLASS);
    class_writer__u2(out, POOL_OBJECT - 1);
    made_class__add_text(out, "Code");
    made_class__add_text(out, "()V");
}

void made_class__end_pool(struct class_writer *out)
{
    class_writer__u2(out, ACC_PUBLIC | ACC_SUPER | ACC_SYNTHETIC);
    class_writer__u2(out, POOL_THIS);
    class_writer__u2(out, POOL_OBJECT);
    class_writer__u2(out, 0); /* no interfaces */
}

void made_class__add_native(struct class_writer *out, uint32_t name, uint32_t type)
{
    class_writer__u2(out, ACC_PUBLIC | ACC_STATIC | ACC_NATIVE);
    class_writer__u2(out, name);
    class_writer__u2(out, type);
    class_writer__u2(out, 0);
}

void made_class__add_annotation(struct class_writer *out, uint32_t type)
{
    class_writer__u2(out, HOOKS_ANNOTATIONS);
    class_writer__u4(out, 6);
    class_writer__u2(out, 1);
    class_writer__u2(out, type);
    class_writer__u2(out, 0);
}

void made_class__add_method(struct class_writer *out, const struct method_text *method,
                            uint32_t annotation)
{
    class_writer__u2(out, method->access);
    class_writer__u2(out, method->name);
    class_writer__u2(out, method->type);
    class_writer__u2(out, annotation ? 2 : 1);
    class_writer__u2(out, POOL_CODE);
    class_writer__u4(out, 12 + method->code_length);
    class_writer__u2(out, method->max_stack);
    class_writer__u2(out, method->max_locals);
    class_writer__u4(out, method->code_length);
    class_writer__copy(out, method->code, method->code_length);
    class_writer__u4(out, 0); /* no handlers, no attributes */
    if (annotation)
        made_class__add_annotation(out, annotation);
}
