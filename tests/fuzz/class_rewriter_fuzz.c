/* libFuzzer: any bytes as a class file. What is rewritten can be rewritten again, the same methods
 * chosen: its structure is sound. Unless methods were left alone: those are not looked at to their
 * end, and what they name in vain may exist once the constant pool has grown. */
#include "agent/classfile/class_rewriter.h"
#include "agent/classfile/trivial_method.h"

#include <stdlib.h>
#include <time.h>

/* So much CPU time for any input of the fuzzer's size, with sanitizers, is a finding. Not the wall
 * clock: the machine may be busy with other things. */
#define CPU_SECONDS_MAX 5

#define HOOKS "java/lang/TreadleHooks"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Every method but some; all code is read. */
static bool choose(void *context, const struct class_method *method, struct method_choice *choice)
{
    uint32_t *count = context;
    uint32_t sum = method->access_flags;

    for (uint32_t i = 0; i < method->code_length; i++)
        sum += method->code[i];
    choice->id = sum + class_method__is_trivial(method);
    choice->first = sum % 5 == 0 ? "starting" : NULL;
    choice->monitors = sum % 3 == 0;
    choice->counted = sum % 4 == 1;
    return ++*count % 8 != 0;
}

static bool unhooked(const struct class_rewrite *rewrite)
{
    for (int i = METHOD_CODE_TOO_LARGE; i < METHOD_OUTCOMES; i++)
        if (rewrite->methods[i])
            return true;
    return false;
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void rewrite_twice(const uint8_t *bytes, size_t length)
{
    struct class_rewrite rewrite, again;
    uint32_t count = 0;
    int error = class_rewriter__rewrite(bytes, length, HOOKS, choose, &count, &rewrite);

    if ((error != 0) != (rewrite.error.expected != NULL))
        abort();
    if (rewrite.bytes) {
        count = 0;
        error =
            class_rewriter__rewrite(rewrite.bytes, rewrite.length, HOOKS, choose, &count, &again);
        if (error && !unhooked(&rewrite))
            abort();
        free(again.bytes);
        free(again.hooked);
    }
    free(rewrite.bytes);
    free(rewrite.hooked);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    double began = cpu_seconds();

    rewrite_twice(bytes, length);
    if (cpu_seconds() - began > CPU_SECONDS_MAX)
        abort();
    return 0;
}
