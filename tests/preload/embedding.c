/*
 * A program with treadle.h that makes a JVM: `embedding LIBJVM OPTION…`. Before that its frames are
 * the preloaded library's, afterwards the agent's:
 *
 *     [before]            1: ended by its mark when the JVM is there
 *     [request]           5: of the thread that made the JVM
 *       [inner]           5
 *     [marked]            3: a scope
 *     [last]              1
 */
#include "native/activity/treadle.h"

#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>

#define OPTIONS_MAX 16

typedef jint (*create)(JavaVM **vm, void **jni, void *arguments);

static void push_all(void)
{
    for (int i = 0; i < 5; i++) {
        treadle_push("request");
        treadle_push("inner");
        treadle_pop();
        treadle_pop();
    }
    for (int i = 0; i < 3; i++) {
        treadle_scope("marked");
    }
    treadle_push("last");
    treadle_pop();
}

int main(int argc, char **argv)
{
    JavaVMOption options[OPTIONS_MAX] = {0};
    JavaVMInitArgs arguments = {.version = JNI_VERSION_1_8, .options = options};
    treadle_mark before;
    void *library;
    JavaVM *vm;
    JNIEnv *jni;

    if (argc < 2 || argc > OPTIONS_MAX)
        return 2;
    for (int i = 2; i < argc; i++)
        options[arguments.nOptions++].optionString = argv[i];
    before = treadle_push("before");
    library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library || ((create)dlsym(library, "JNI_CreateJavaVM"))(&vm, (void **)&jni, &arguments))
        return 1;
    treadle_pop_to(before);
    push_all();
    (*vm)->DestroyJavaVM(vm);
    return 0;
}
