/* Names, lines and code of a real shared library: with debug information, stripped with a separate
 * debug file, stripped without one, and one of another build. */
#include "tools/symbols/native_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/drawn_report.h"
#include "tests/unit/symbol_fixture.h"

#define FULL     FIXTURE_DIR "/libsymbol-fixture.so"
#define STRIPPED FIXTURE_DIR "/stripped/libsymbol-fixture.so"
#define LINKED   FIXTURE_DIR "/linked/libsymbol-fixture.so"

struct fixture {
    void *library;
    char build_id[128];
    uint64_t spin;
    uint64_t hidden;
    int line;
};

/* What the linker wrote as the file's build id, by the file's own notes. */
static int note_build_id(struct dl_phdr_info *info, size_t size, void *context)
{
    struct fixture *fixture = context;
    (void)size;
    if (!strstr(info->dlpi_name, "libsymbol-fixture"))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + header->p_vaddr);
        const char *end = at + header->p_memsz;
        while (header->p_type == PT_NOTE && at < end) {
            const ElfW(Nhdr) *note = (const void *)at;
            const unsigned char *id =
                (const void *)(at + sizeof(*note) + ((note->n_namesz + 3) & ~3u));
            for (unsigned k = 0; note->n_type == NT_GNU_BUILD_ID && k < note->n_descsz; k++)
                snprintf(fixture->build_id + 2 * (size_t)k, 3, "%02x", id[k]);
            at = (const char *)id + ((note->n_descsz + 3) & ~3u);
        }
    }
    return 1;
}

static uint64_t address_in_file(const void *address)
{
    Dl_info info;
    assert_int_not_equal(dladdr(address, &info), 0);
    return (uint64_t)((const char *)address - (const char *)info.dli_fbase);
}

static int load_fixture(void **state)
{
    static struct fixture fixture;
    fixture.library = dlopen(FULL, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(fixture.library);
    void *(*hidden)(void);
    *(void **)&hidden = dlsym(fixture.library, "fixture_hidden_address");
    fixture.spin = address_in_file(dlsym(fixture.library, "_ZN4demo6Engine4spinEi"));
    fixture.hidden = address_in_file(hidden());
    fixture.line = *(const int *)dlsym(fixture.library, "fixture_line");
    dl_iterate_phdr(note_build_id, &fixture);
    assert_string_not_equal(fixture.build_id, "");
    *state = &fixture;
    return 0;
}

static void check_names(const struct fixture *fixture, const char *path, bool full)
{
    struct native_image *image = native_image__open(path, fixture->build_id);
    struct native_function function;
    const char *file = NULL;
    int line = 0;
    assert_non_null(image);
    assert_int_equal(native_image__function(image, fixture->spin + 3, &function), 0);
    assert_string_equal(function.name, "_ZN4demo6Engine4spinEi");
    assert_int_equal(function.address, fixture->spin);
    assert_true(function.size > 3);
    int error = native_image__function(image, fixture->hidden, &function);
    assert_int_equal(error, full ? 0 : -ENOENT);
    if (full)
        assert_string_equal(function.name, "fixture_hidden");
    error = native_image__line(image, fixture->spin, &file, &line);
    assert_int_equal(error, full ? 0 : -ENOENT);
    if (full) {
        assert_non_null(strstr(file, "symbol_fixture.c"));
        assert_int_equal(line, fixture->line);
    }
    native_image__close(image);
}

static void a_file_with_debug_information(void **state)
{
    check_names(*state, FULL, true);
}

static void a_stripped_file_and_its_debug_file(void **state)
{
    check_names(*state, LINKED, true);
}

/* Only what it exports has a name. */
static void a_stripped_file_alone(void **state)
{
    check_names(*state, STRIPPED, false);
}

static void a_file_of_another_build_is_none(void **state)
{
    const struct fixture *fixture = *state;
    char other[128];
    snprintf(other, sizeof(other), "%s", fixture->build_id);
    other[0] = other[0] == '0' ? '1' : '0';
    assert_null(native_image__open(FULL, other));
    assert_null(native_image__open(FULL, ""));
    assert_null(native_image__open(FULL, "00"));
    assert_null(native_image__open(FIXTURE_DIR "/nowhere.so", fixture->build_id));
}

/* A ledger can name any file. */
static void what_is_no_image_is_none(void **state)
{
    (void)state;
    assert_null(native_image__open("/dev/zero", ""));
    assert_null(native_image__open("/", ""));
    assert_null(native_image__open("/proc/self/status", ""));
    assert_null(native_image__open(__FILE__, ""));
    assert_null(native_image__open("", ""));
}

/* libdw would unpack a whole file before it looks at the build id. */
static void what_is_packed_is_not_unpacked(void **state)
{
    const struct fixture *fixture = *state;
    assert_null(native_image__open(FIXTURE_DIR "/packed/library.gz", fixture->build_id));
    assert_null(native_image__open(FIXTURE_DIR "/packed/bomb", fixture->build_id));
    check_names(fixture, FIXTURE_DIR "/packed/libsymbol-fixture.so", false);
    check_names(fixture, FIXTURE_DIR "/packed/sections", true);
}

static void machine_code_is_what_is_mapped(void **state)
{
    const struct fixture *fixture = *state;
    struct native_image *image = native_image__open(STRIPPED, fixture->build_id);
    size_t size = 16;
    const void *mapped = dlsym(fixture->library, "_ZN4demo6Engine4spinEi");
    const unsigned char *code = native_image__code(image, fixture->spin, &size);
    assert_non_null(code);
    assert_int_equal(size, 16);
    assert_memory_equal(code, mapped, 16);
    assert_null(native_image__code(image, UINT64_MAX - 4, &size));
    size = SIZE_MAX;
    assert_non_null(native_image__code(image, fixture->spin, &size));
    assert_true(size < 1u << 20);
    native_image__close(image);
}

static void names_of_other_languages(void **state)
{
    static const char *const names[][2] = {
        {"_ZN4demo6Engine4spinEi", "demo::Engine::spin(int)"},
        {"malloc", "malloc"},
        {"_Zwhat", "_Zwhat"},
        {"i", "i"},
        {"", ""},
    };
    struct text_store store = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(native_symbols__demangled(&store, names[i][0]).bytes, names[i][1]);
    static char hostile[60000];
    memset(hostile, 'S', sizeof(hostile) - 1);
    hostile[0] = '_';
    hostile[1] = 'Z';
    hostile[2] = 'N';
    assert_string_equal(native_symbols__demangled(&store, hostile).bytes, hostile);
    text_store__release(&store);
}

/* A template of two of the parameter before, twenty times: of 200 bytes come 35 MB. */
static void draw_endless(char name[400], unsigned number)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t used = (size_t)snprintf(name, 400, "_Z5f%04u1AIiiE", number);
    for (unsigned i = 0; i < 20; i++)
        used += (size_t)snprintf(name + used, 400 - used, "S_IS%c_S%c_E", digits[i], digits[i]);
}

static void names_that_grow_without_end_stay_as_they_are(void **state)
{
    (void)state;
    struct text_store store = {0};
    struct rusage before, after;
    char name[400];
    draw_endless(name, 0);
    (void)getrusage(RUSAGE_SELF, &before);
    assert_string_equal(native_symbols__demangled(&store, name).bytes, name);
    (void)getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss < before.ru_maxrss + 8 * 1024); /* KiB */
    text_store__release(&store);
}

/* Two thousand such names have 16 KB made of each before they fail: that is all there is for a
 * report. A name after these stays mangled, and one before does not. */
static void names_that_fail_are_paid_for(void **state)
{
    const struct fixture *fixture = *state;
    struct drawing drawing;
    char message[512] = "", name[400];
    drawing__begin(&drawing, 4u << 20);
    ledger_ref image = drawing__image(&drawing, FULL, fixture->build_id);
    drawing__symbol(&drawing, image, FULL, "_ZN4demo6Engine4spinEi", 1);
    for (unsigned i = 0; i < 2100; i++) {
        draw_endless(name, i);
        drawing__symbol(&drawing, image, FULL, name, 2 + i);
    }
    drawing__symbol(&drawing, image, FULL, "_ZN4demo6Engine4stopEi", 2102);
    drawing.ledger.header->state = LEDGER_CLOSED;
    struct ledger_reader *reader =
        ledger_reader__open_fd(drawing.ledger.fd, "drawing", message, sizeof(message));
    assert_string_equal(message, "");
    struct report_model *model = native_symbols__load_model(reader, 0);
    assert_int_equal(model->method_count, METHOD_FIRST_REAL + 2102);
    assert_string_equal(model->methods[METHOD_FIRST_REAL].name.bytes, "demo::Engine::spin(int)");
    assert_string_equal(model->methods[METHOD_FIRST_REAL + 2101].name.bytes,
                        "_ZN4demo6Engine4stopEi");
    report_model__free(model);
    ledger_reader__close(reader);
    drawing__end(&drawing);
}

/* The model: by the ledger's name, by the file, and by the address where the file is another one.
 */
static void functions_of_a_ledger_have_names(void **state)
{
    const struct fixture *fixture = *state;
    static const char *const expected[] = {"demo::Engine::spin(int)", "fixture_hidden",
                                           "libsymbol-fixture.so+0x10"};
    struct drawing drawing;
    char message[512] = "";
    drawing__begin(&drawing, 1u << 20);
    ledger_ref image = drawing__image(&drawing, FULL, fixture->build_id);
    ledger_ref other = drawing__image(&drawing, FULL, "00ff");
    drawing__symbol(&drawing, image, FULL, "_ZN4demo6Engine4spinEi", fixture->spin);
    drawing__symbol(&drawing, image, FULL, NULL, fixture->spin);
    drawing__symbol(&drawing, image, FULL, NULL, fixture->hidden);
    drawing__symbol(&drawing, other, FULL, NULL, 0x10);
    drawing.ledger.header->state = LEDGER_CLOSED;
    struct ledger_reader *reader =
        ledger_reader__open_fd(drawing.ledger.fd, "drawing", message, sizeof(message));
    assert_string_equal(message, "");
    struct report_model *model = native_symbols__load_model(reader, 0);
    assert_int_equal(model->method_count, METHOD_FIRST_REAL + 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_string_equal(model->methods[METHOD_FIRST_REAL + i].name.bytes, expected[i]);
    report_model__free(model);
    ledger_reader__close(reader);
    drawing__end(&drawing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_with_debug_information),
        cmocka_unit_test(a_stripped_file_and_its_debug_file),
        cmocka_unit_test(a_stripped_file_alone),
        cmocka_unit_test(a_file_of_another_build_is_none),
        cmocka_unit_test(what_is_no_image_is_none),
        cmocka_unit_test(what_is_packed_is_not_unpacked),
        cmocka_unit_test(machine_code_is_what_is_mapped),
        cmocka_unit_test(names_of_other_languages),
        cmocka_unit_test(names_that_grow_without_end_stay_as_they_are),
        cmocka_unit_test(names_that_fail_are_paid_for),
        cmocka_unit_test(functions_of_a_ledger_have_names),
    };
    return cmocka_run_group_tests(tests, load_fixture, NULL);
}
