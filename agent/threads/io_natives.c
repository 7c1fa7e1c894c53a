#include "agent/threads/io_natives.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define SYMBOL_BYTES 128
#define PATH_BYTES   4096
#define BINDER       "registerNatives" /* a static ()V */

static const char *const libraries[] = {"libjava.so", "libnio.so", "libnet.so"};

/* As JNI derives it. No name in the table has a character that JNI would write in another way. */
static void write_symbol(const struct io_native *native, char symbol[SYMBOL_BYTES])
{
    snprintf(symbol, SYMBOL_BYTES, "Java_%s_%s", native->class_name, native->name);
    for (char *at = symbol; *at; at++)
        if (*at == '/')
            *at = '_';
}

/* In a library that the JVM has loaded; or NULL. */
static void *find_in(const char *home, const char *library, const char *symbol)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/lib/%s", home, library);
    void *handle = length < PATH_BYTES ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *address;

    if (!handle)
        return NULL;
    address = dlsym(handle, symbol);
    dlclose(handle);
    return address;
}

/* The function of the JDK itself; NULL: it is in none of the libraries that are loaded. */
static void *find_function(const struct java_threads *threads, const struct io_native *native)
{
    jvmtiEnv *jvmti = threads->jvmti;
    char symbol[SYMBOL_BYTES];
    void *address = NULL;
    char *home = NULL;

    if ((*jvmti)->GetSystemProperty(jvmti, "java.home", &home) != JVMTI_ERROR_NONE)
        return NULL;
    write_symbol(native, symbol);
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && !address; i++)
        address = find_in(home, libraries[i], symbol);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)home);
    return address;
}

static bool is_named(const struct io_native *native, const char *name, const char *descriptor)
{
    return strcmp(native->name, name) == 0 && strcmp(native->descriptor, descriptor) == 0;
}

/* Before what it is kept for can be called. */
static void keep(struct java_threads *threads, unsigned slot, void *address)
{
    atomic_store(&threads->io_addresses[slot], address);
}

void *io_natives__address(const struct java_threads *threads, unsigned slot)
{
    return atomic_load_explicit(&threads->io_addresses[slot], memory_order_acquire);
}

/* True if both functions are in one library. */
static bool are_neighbours(const void *function, const void *other)
{
    Dl_info here, there;

    return dladdr(function, &here) && dladdr(other, &there) && here.dli_fbase == there.dli_fbase;
}

/* The function by which the class of the native binds its natives, or NULL. */
static void *find_binder(const struct java_threads *threads, const struct io_native *native)
{
    const struct io_native binder = {.class_name = native->class_name, .name = BINDER};

    return find_function(threads, &binder);
}

/* The library does not export natives of a class that binds them itself. */
static bool is_at(const struct java_threads *threads, const struct io_native *native,
                  const void *address)
{
    const void *function = find_function(threads, native), *binder;

    if (function)
        return function == address;
    binder = find_binder(threads, native);
    return binder && are_neighbours(binder, address);
}

/* By address, and so whatever the class is, and never a wrapper of another agent, which may call
 * the one that is here. */
static const struct io_native *find_bound(const struct java_threads *threads, const char *name,
                                          const char *descriptor, const void *address)
{
    const struct io_native_table *table = threads->io_natives;

    for (unsigned i = 0; i < table->count; i++)
        if (is_named(&table->rows[i], name, descriptor) && is_at(threads, &table->rows[i], address))
            return &table->rows[i];
    return NULL;
}

/* Earlier than in the live phase the JVM does not tell enough: io_natives__bind comes later. */
bool io_natives__bound(struct java_threads *threads, jmethodID method, void *address,
                       void **new_address)
{
    jvmtiEnv *jvmti = threads->jvmti;
    const struct io_native *native;
    char *name, *descriptor;

    if (!threads->hears_waits ||
        (*jvmti)->GetMethodName(jvmti, method, &name, &descriptor, NULL) != JVMTI_ERROR_NONE)
        return false;
    native = find_bound(threads, name, descriptor, address);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
    if (!native)
        return false;
    keep(threads, native->slot, address);
    *new_address = (void *)threads->io_natives->wrappers[native->slot];
    return true;
}

/* "Ljava/io/FileInputStream;" */
static bool is_signature_of(const char *signature, const struct io_native *native)
{
    size_t length = strlen(native->class_name);

    return signature[0] == 'L' && strncmp(signature + 1, native->class_name, length) == 0 &&
           strcmp(signature + 1 + length, ";") == 0;
}

static bool has_native(const struct java_threads *threads, jmethodID method,
                       const struct io_native *native)
{
    jvmtiEnv *jvmti = threads->jvmti;
    char *name, *descriptor;
    jboolean is_native = JNI_FALSE;
    bool is_it;

    if ((*jvmti)->GetMethodName(jvmti, method, &name, &descriptor, NULL) != JVMTI_ERROR_NONE)
        return false;
    is_it = is_named(native, name, descriptor);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)descriptor);
    return is_it && (*jvmti)->IsMethodNative(jvmti, method, &is_native) == JVMTI_ERROR_NONE &&
           is_native;
}

/* `binds_again`: the JVM will tell where the native is, once that is not the function that is bound
 * (it does not tell of the same function once more): the wrapper takes its place before, and has
 * what stands in for the native until then. */
static void add_method(struct java_threads *threads, struct io_bindings *bindings,
                       const struct io_native *native, const jmethodID *methods, jint count,
                       bool binds_again)
{
    jint at = 0;
    void *address;

    while (at < count && !has_native(threads, methods[at], native))
        at++;
    if (at == count)
        return;
    address = find_function(threads, native);
    if (!address && binds_again)
        address = (void *)threads->io_natives->stand_ins[native->slot];
    if (!address)
        return;
    keep(threads, native->slot, address);
    bindings->methods[bindings->method_count++] =
        (JNINativeMethod){(char *)(uintptr_t)native->name, (char *)(uintptr_t)native->descriptor,
                          (void *)threads->io_natives->wrappers[native->slot]};
}

/* How the class can be made to bind its natives once more; NULL: it does not bind them itself, or
 * is going to for the first time. */
static jmethodID find_bind_again(const struct java_threads *threads, JNIEnv *jni, jclass class,
                                 const struct io_native *native)
{
    jmethodID binder;
    jint status = 0;

    if (find_function(threads, native) || !find_binder(threads, native) ||
        (*threads->jvmti)->GetClassStatus(threads->jvmti, class, &status) != JVMTI_ERROR_NONE ||
        !(status & JVMTI_CLASS_STATUS_INITIALIZED))
        return NULL;
    binder = (*jni)->GetStaticMethodID(jni, class, BINDER, "()V");
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    return binder;
}

/* True if the class has natives to be bound: it is among them then. */
static bool add_class(struct java_threads *threads, JNIEnv *jni, struct io_bindings *bindings,
                      jclass class, const char *signature)
{
    const struct io_native_table *table = threads->io_natives;
    struct bound_natives *added = &bindings->classes[bindings->class_count];
    unsigned first = bindings->method_count;
    jmethodID *methods = NULL, again = NULL, binder;
    jint count = 0;

    for (unsigned i = 0; i < table->count; i++) {
        if (!is_signature_of(signature, &table->rows[i]))
            continue;
        /* None yet of a class that is not linked: none is bound either. */
        if (!methods &&
            (*threads->jvmti)->GetClassMethods(threads->jvmti, class, &count, &methods) !=
                JVMTI_ERROR_NONE)
            return false;
        binder = find_bind_again(threads, jni, class, &table->rows[i]);
        add_method(threads, bindings, &table->rows[i], methods, count, binder != NULL);
        if (binder)
            again = binder;
    }
    (*threads->jvmti)->Deallocate(threads->jvmti, (unsigned char *)methods);
    if (bindings->method_count == first && !again)
        return false;
    *added = (struct bound_natives){.class = again ? (*jni)->NewGlobalRef(jni, class) : class,
                                    .bind_again = again,
                                    .methods = &bindings->methods[first],
                                    .count = (jint)(bindings->method_count - first)};
    bindings->class_count++;
    return true;
}

const struct bound_natives *io_natives__bind(struct java_threads *threads, JNIEnv *jni,
                                             struct io_bindings *bindings,
                                             const struct bound_natives *next)
{
    jvmtiEnv *jvmti = threads->jvmti;
    jclass *classes = NULL;
    jint count = 0;

    bindings->class_count = bindings->method_count = 0;
    if (!threads->hears_waits ||
        (*jvmti)->GetClassLoaderClasses(jvmti, NULL, &count, &classes) != JVMTI_ERROR_NONE)
        return next;
    for (jint i = 0; i < count; i++) {
        char *signature = NULL;
        bool added =
            (*jvmti)->GetClassSignature(jvmti, classes[i], &signature, NULL) == JVMTI_ERROR_NONE &&
            add_class(threads, jni, bindings, classes[i], signature);

        (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
        if (!added)
            (*jni)->DeleteLocalRef(jni, classes[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
    for (unsigned i = 0; i < bindings->class_count; i++) {
        bindings->classes[i].next = next;
        next = &bindings->classes[i];
    }
    return next;
}
