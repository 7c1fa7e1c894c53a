/* Java methods by name, by jmethodID and by address: one method is one, however it is met. */
#include "agent/sampling/java_methods.h"
#include "fake_jvm.h"
#include "native/fault_guard.h"

#include <stdio.h>
#include <sys/mman.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define THREADS 4
#define NAMES   300

/* As the agent's: for as long as the process lives. All can be reached, for the leak checker. */
struct kept {
    struct java_methods methods;
    struct kept *older;
};

static struct java_methods *make(void)
{
    static struct kept *newest;
    struct kept *kept = calloc(1, sizeof *kept);
    assert_non_null(kept);
    kept->older = newest;
    newest = kept;
    java_methods__init(&kept->methods, &fake_structs);
    return &kept->methods;
}

static struct java_method *named(struct java_methods *methods, const char *class_name,
                                 const char *name, const char *signature)
{
    return java_methods__by_name(methods, class_name, strlen(class_name), name, strlen(name),
                                 signature, strlen(signature));
}

static void one_method_is_one(void **state)
{
    (void)state;
    struct java_methods *methods = make();
    struct fake_method in_memory;
    const struct fake_id id = {"Lpkg/Some$Inner;", "run", "(I)V"};
    const struct fake_id again = id;
    fake_method__make(&in_memory, "pkg/Some$Inner", "run", "(I)V");
    struct java_method *method = java_methods__by_address(methods, &in_memory);
    assert_non_null(method);
    assert_string_equal(method->class_name, "pkg.Some$Inner");
    assert_string_equal(method->name, "run");
    assert_string_equal(method->signature, "(I)V");
    assert_null(method->id);
    assert_ptr_equal(java_methods__by_address(methods, &in_memory), method);
    assert_ptr_equal(java_methods__by_id(methods, &fake_jvmti, id_of(&id)), method);
    assert_ptr_equal(method->id, id_of(&id));
    assert_ptr_equal(java_methods__by_id(methods, &fake_jvmti, id_of(&id)), method);
    assert_ptr_equal(java_methods__by_id(methods, &fake_jvmti, id_of(&again)), method);
    assert_ptr_equal(named(methods, "pkg.Some$Inner", "run", "(I)V"), method);
    assert_ptr_not_equal(named(methods, "pkg.Some$Inner", "run", "()V"), method);
    /* Names are three texts, not one. */
    assert_ptr_not_equal(named(methods, "pkg.Some$Inner", "ru", "n(I)V"), method);
    assert_int_equal(methods->count, 3);
}

/* HotSpot's own name of such a class has a plus where everybody else's has a dot. */
static void a_hidden_class_has_one_name(void **state)
{
    (void)state;
    struct java_methods *methods = make();
    struct fake_method in_memory;
    const struct fake_id id = {"Lpkg/Some$$Lambda.0x00007f12a4001000;", "apply", "()V"};
    fake_method__make(&in_memory, "pkg/Some$$Lambda+0x00007f12a4001000", "apply", "()V");
    struct java_method *method = java_methods__by_address(methods, &in_memory);
    assert_non_null(method);
    assert_string_equal(method->class_name, "pkg.Some$$Lambda.0x00007f12a4001000");
    assert_ptr_equal(java_methods__by_id(methods, &fake_jvmti, id_of(&id)), method);
}

static void what_is_gone_is_none(void **state)
{
    (void)state;
    struct java_methods *methods = make();
    static struct fake_method method;
    const struct fake_id gone = {NULL, "run", "()V"};
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(fault_guard__install(), 0);
    assert_null(java_methods__by_id(methods, &fake_jvmti, id_of(&gone)));
    assert_null(java_methods__by_address(methods, page));
    fake_method__make(&method, "pkg/Some", "run", "()V");
    method.constant = (const void *)page;
    assert_null(java_methods__by_address(methods, &method));
    fake_method__make(&method, "pkg/Some", "run", "()V");
    method.klass_name = (const void *)page;
    assert_null(java_methods__by_address(methods, &method));
    /* What is there, but no method. */
    fake_method__make(&method, "pkg/Some", "run", "V");
    assert_null(java_methods__by_address(methods, &method));
    fake_method__make(&method, "pkg/Some", "", "()V");
    assert_null(java_methods__by_address(methods, &method));
    fake_method__make(&method, "pkg/Some", "run", "()V");
    method.symbols[1].length = 5000;
    assert_null(java_methods__by_address(methods, &method));
    assert_int_equal(methods->count, 0);
    fault_guard__remove();
}

static void another_method_at_the_same_address(void **state)
{
    (void)state;
    struct java_methods *methods = make();
    static struct fake_method first, second;
    fake_method__make(&first, "pkg/Some", "first", "()V");
    fake_method__make(&second, "pkg/Some", "second", "()V");
    assert_string_equal(java_methods__by_address(methods, &first)->name, "first");
    first.constant = second.constant;
    assert_string_equal(java_methods__by_address(methods, &first)->name, "second");
    assert_string_equal(java_methods__by_address(methods, &first)->name, "second");
    assert_int_equal(methods->count, 2);
}

static void *ask(void *context)
{
    struct java_methods *methods = context;
    static struct java_method *found[THREADS][NAMES];
    static _Atomic int next;
    struct java_method **mine = found[next++ % THREADS];
    char name[16];
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        mine[i] = named(methods, "pkg.Some", name, "()V");
    }
    return (void *)mine;
}

static void count_visit(void *context, struct java_method *method)
{
    unsigned *count = context;
    *count += method->name != NULL;
}

static void threads_get_the_same(void **state)
{
    (void)state;
    struct java_methods *methods = make();
    pthread_t threads[THREADS];
    struct java_method **found[THREADS];
    unsigned visits = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, methods), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], (void **)&found[i]), 0);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < NAMES; j++)
            assert_ptr_equal(found[i][j], found[0][j]);
    java_methods__each(methods, count_visit, &visits);
    assert_int_equal(visits, NAMES);
}

static void generated_classes_share_methods(void **state)
{
    (void)state;
    static struct generated_names names;
    struct java_methods *methods = make();
    struct fake_method in_memory;
    char name[40];
    generated_names__init(&names);
    methods->generated = &names;
    for (unsigned i = 0; i < 3 * GENERATED_NAMES_KEPT; i++) {
        snprintf(name, sizeof name, "pkg.Made%u", i);
        assert_non_null(named(methods, name, "run", "()V"));
    }
    assert_int_equal(methods->count, GENERATED_NAMES_KEPT + 1);
    struct java_method *shared = named(methods, "pkg.Made#", "run", "()V");
    assert_int_equal(methods->count, GENERATED_NAMES_KEPT + 1);
    assert_string_equal(shared->class_name, "pkg.Made#");
    fake_method__make(&in_memory, "pkg/Made9999", "run", "()V");
    assert_ptr_equal(java_methods__by_address(methods, &in_memory), shared);
    assert_string_equal(named(methods, "pkg.Made7", "run", "()V")->class_name, "pkg.Made7");
    generated_names__end(&names);
    methods->generated = NULL;
}

/* Names that have nothing in common. */
static void any_number_of_methods_has_room(void **state)
{
    (void)state;
    struct java_methods *methods = make();
    static char name[4000];
    unsigned kept = 0;
    struct java_method *first = NULL, *last = NULL;
    memset(name, 'x', sizeof name - 1);
    for (unsigned i = 0; i < 10000; i++) {
        int digits = snprintf(name, sizeof name, "%u", i);
        name[digits] = 'x';
        last = named(methods, "pkg.Class", name, "()V");
        assert_non_null(last);
        first = first ? first : last;
        kept += last->name[0] != '(';
    }
    assert_string_equal(last->class_name, "(other classes)");
    assert_ptr_equal(named(methods, "pkg.Another", "run", "()V"), last);
    assert_int_equal(methods->count, kept + 1);
    assert_in_range(java_methods__bytes(methods), JAVA_METHODS_BYTES_MAX,
                    JAVA_METHODS_BYTES_MAX + (1u << 20));
    memset(name, 'x', sizeof name - 1);
    name[0] = '0';
    assert_ptr_equal(named(methods, "pkg.Class", name, "()V"), first);
}

/* Classes that are loaded again: the same name, another jmethodID each time. */
static void any_number_of_ids_has_room(void **state)
{
    (void)state;
    struct java_methods *methods = make();
    struct fake_id *ids = calloc(JAVA_METHODS_PLACES_MAX + 10, sizeof *ids);
    struct java_method *method = NULL;
    assert_non_null(ids);
    for (unsigned i = 0; i < JAVA_METHODS_PLACES_MAX + 10; i++) {
        ids[i] = (struct fake_id){"Lpkg/Again;", "run", "()V"};
        method = java_methods__by_id(methods, &fake_jvmti, id_of(&ids[i]));
        assert_ptr_equal(method, java_methods__by_id(methods, &fake_jvmti, id_of(&ids[0])));
    }
    assert_int_equal(methods->count, 1);
    /* All were forgotten once: what is held is less than so many would take. */
    assert_in_range(java_methods__bytes(methods), 1, JAVA_METHODS_PLACES_MAX * 16);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_method_is_one),
        cmocka_unit_test(a_hidden_class_has_one_name),
        cmocka_unit_test(what_is_gone_is_none),
        cmocka_unit_test(another_method_at_the_same_address),
        cmocka_unit_test(threads_get_the_same),
        cmocka_unit_test(generated_classes_share_methods),
        cmocka_unit_test(any_number_of_methods_has_room),
        cmocka_unit_test(any_number_of_ids_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
