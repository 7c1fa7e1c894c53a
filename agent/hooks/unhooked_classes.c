#include "agent/hooks/unhooked_classes.h"

#include "agent/hooks/class_hooks.h"
#include "agent/hooks/class_listing.h"
#include "agent/host/log.h"

#include <string.h>

#define ACC_ABSTRACT 0x0400

static struct class_text text_of(const char *text)
{
    return (struct class_text){(const uint8_t *)text, (uint32_t)strlen(text)};
}

/* Once, as the mark tells. */
static void write_note(struct class_hooks *hooks, const char *name, enum unhooked_reason reason,
                       enum class_mark mark, const struct class_listing *listing)
{
    struct numbered_class *class = method_numbers__class(&hooks->methods, text_of(name));

    if (!class || !numbered_class__mark(class, mark))
        return;
    ledger__count(&hooks->ledger->header->unhooked[reason], 1);
    class_listing__write(listing, hooks->ledger, class, 1 + (uint32_t)reason);
}

/* If hooks could be in it. */
static void list_method(jvmtiEnv *jvmti, jmethodID method, enum unhooked_reason reason,
                        struct class_listing *listing)
{
    jint modifiers = ACC_ABSTRACT;
    char *name = NULL, *descriptor = NULL;

    if ((*jvmti)->GetMethodModifiers(jvmti, method, &modifiers) != JVMTI_ERROR_NONE ||
        modifiers & ACC_ABSTRACT ||
        (*jvmti)->GetMethodName(jvmti, method, &name, &descriptor, NULL) != JVMTI_ERROR_NONE)
        return;
    if (strcmp(name, "<clinit>") != 0)
        class_listing__add(listing, (uint8_t)(CHOICE_UNHOOKED + reason), text_of(name),
                           text_of(descriptor));
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
}

/* The ledger says so if there is anything that hooks could be in. */
void unhooked_classes__note(struct class_hooks *hooks, jclass class, const char *name,
                            enum unhooked_reason reason, enum class_mark mark)
{
    jvmtiEnv *jvmti = hooks->jvmti;
    struct class_listing listing = {0};
    jmethodID *methods;
    jint count;

    if ((*jvmti)->GetClassMethods(jvmti, class, &count, &methods) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++)
        list_method(jvmti, methods[i], reason, &listing);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
    if (listing.length)
        write_note(hooks, name, reason, mark, &listing);
    class_listing__release(&listing);
}

void unhooked_classes__note_refused(struct class_hooks *hooks, const char *name, jvmtiError error)
{
    const struct class_listing nothing = {0};

    write_note(hooks, name, UNHOOKED_REFUSED, CLASS_REFUSED, &nothing);
    log__line(LOG_INFO, "the JVM does not transform %s (JVMTI error %d)", name, (int)error);
}
