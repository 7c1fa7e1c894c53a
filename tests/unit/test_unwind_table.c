/* Every row of the images that a JVM runs most, against binutils' reading of the same file; and
 * tables made of damaged bytes. */
#include "native/unwind/call_frame_info.h"
#include "native/unwind/code_images.h"
#include "native/unwind/unwind_table.h"
#include "tests/unit/readelf_rows.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define STACK_WORDS (UINT64_C(1) << 17)

/* A stack of which each word is its own address and a bit more, so that what was read tells from
 * where. fp points into its middle. */
static uint64_t stack[STACK_WORDS];

#define MARK UINT64_C(0x5000000000000000)

static uint64_t low(void)
{
    return (uint64_t)(uintptr_t)stack;
}

static uint64_t stack_end(void)
{
    return low() + sizeof stack;
}

static uint64_t stack_middle(void)
{
    return low() + sizeof stack / 2;
}

static void fill_stack(void)
{
    for (uint64_t i = 0; i < STACK_WORDS; i++)
        stack[i] = (low() + i * 8) | MARK;
}

/* What is compared, and what came of it. */
struct comparison {
    struct code_images *images;
    uint64_t bias;
    unsigned rows, expressions;
};

/* What the step from there must come to. */
struct expected_step {
    enum unwind_result result;
    uint64_t cfa;
    uint64_t fp;
    bool fp_known;
};

static struct expected_step expected_of(const struct printed_row *row)
{
    struct expected_step expected = {.result = UNWIND_NO_TABLE};
    bool by_fp = strncmp(row->cfa, "rbp", 3) == 0;
    long offset;

    if (strcmp(row->return_address, "u") == 0) {
        expected.result = UNWIND_END;
        return expected;
    }
    if (strcmp(row->return_address, "c-8") != 0 || (!by_fp && strncmp(row->cfa, "rsp", 3) != 0))
        return expected;
    expected.result = UNWIND_STEPPED;
    expected.cfa = (by_fp ? stack_middle() : low()) + (uint64_t)strtol(row->cfa + 3, NULL, 10);
    expected.fp = stack_middle();
    expected.fp_known = true;
    if (row->fp[0] == 'c') {
        offset = strtol(row->fp + 1, NULL, 10);
        /* Below sp it is what was popped: in the register again. */
        if (expected.cfa + (uint64_t)offset >= low())
            expected.fp = (expected.cfa + (uint64_t)offset) | MARK;
    }
    return expected;
}

static void compare_at(const struct comparison *comparison, const struct printed_row *row,
                       uint64_t address)
{
    struct expected_step expected = expected_of(row);
    struct frame_registers registers = {
        address + comparison->bias, low(), stack_middle(), true, false, NULL};
    struct code_function function;
    enum unwind_result result =
        code_images__step(comparison->images, &registers, stack_end(), false, &function);

    if (result != expected.result ||
        (result == UNWIND_STEPPED &&
         (registers.sp != expected.cfa || registers.pc != ((expected.cfa - 8) | MARK) ||
          registers.fp != expected.fp || !registers.fp_known)))
        fail_msg("at %#lx, %s %s %s: result %d, sp %+ld, fp %#lx", (unsigned long)address, row->cfa,
                 row->fp, row->return_address, (int)result, (long)(registers.sp - low()),
                 (unsigned long)registers.fp);
    if (function.start != row->function_start ||
        function.start + function.size != row->function_end)
        fail_msg("at %#lx: function %#lx, %u bytes", (unsigned long)address,
                 (unsigned long)function.start, function.size);
}

/* Both ends of where the row applies. */
static void compare_row(void *context, const struct printed_row *row)
{
    struct comparison *comparison = context;

    if (row->signal_frame)
        return;
    if (strcmp(row->cfa, "exp") == 0 || strcmp(row->fp, "exp") == 0) {
        comparison->expressions++;
        return;
    }
    comparison->rows++;
    compare_at(comparison, row, row->from);
    compare_at(comparison, row, row->to - 1);
}

static void compare_image(const char *path, unsigned rows_min)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    struct comparison comparison = {.images = code_images__new()};
    struct link_map *map;

    assert_non_null(comparison.images);
    if (!library) {
        fail_msg("%s", dlerror());
        return;
    }
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    comparison.bias = map->l_addr;
    assert_int_equal(code_images__refresh(comparison.images), 0);
    fill_stack();
    if (!readelf_rows__read(map->l_name, compare_row, &comparison))
        skip();
    print_message("%s: %u rows, %u more with expressions\n", path, comparison.rows,
                  comparison.expressions);
    assert_true(comparison.rows > rows_min);
    assert_true(comparison.expressions < comparison.rows / 100);
    code_images__delete(comparison.images);
    /* Never closed: what it allocated when it was loaded would be a leak then. */
}

static void every_row_of_libc(void **state)
{
    (void)state;
    compare_image("libc.so.6", 10000);
}

static void every_row_of_libjvm(void **state)
{
    (void)state;
    glob_t found;
    if (glob("/usr/lib/jvm/*/lib/server/libjvm.so", 0, NULL, &found) != 0)
        skip();
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *path = realpath(found.gl_pathv[i], NULL);
        bool known = false;

        assert_non_null(path);
        for (size_t j = 0; j < i; j++) {
            char *other = realpath(found.gl_pathv[j], NULL);

            known |= other && strcmp(other, path) == 0;
            free(other);
        }
        if (!known)
            compare_image(path, 100000);
        free(path);
    }
    globfree(&found);
}

/* The sections of the image that this test is. */
struct own_frames {
    struct frame_section header, eh_frame;
    uint64_t code_start, code_end;
};

static int find_own_frames(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    struct own_frames *frames = context;

    (void)info_bytes;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t address = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
            frames->code_start = address;
            frames->code_end = address + segment->p_memsz;
        } else if (segment->p_type == PT_GNU_EH_FRAME) {
            frames->header = (struct frame_section){(const uint8_t *)(uintptr_t)address,
                                                    segment->p_memsz, address};
        }
    }
    return 1;
}

static size_t eh_frame_bytes(const struct frame_section *to_the_end)
{
    struct call_frame_entry entry;
    size_t offset = 0;

    while (call_frame_info__entry(to_the_end, offset, &entry) != -ENODATA)
        offset += entry.length;
    return offset + 4;
}

static struct own_frames own_frames(void)
{
    struct own_frames frames = {0};
    struct frame_header header;

    (void)dl_iterate_phdr(find_own_frames, &frames);
    assert_int_equal(frame_header__read(&frames.header, &header), 0);
    frames.eh_frame = (struct frame_section){(const uint8_t *)(uintptr_t)header.eh_frame, 1u << 20,
                                             header.eh_frame};
    frames.eh_frame.length = eh_frame_bytes(&frames.eh_frame);
    return frames;
}

/* Own memory to the byte, so that the address sanitizer sees what is read beyond. */
static struct frame_section copy_of(const struct frame_section *section, size_t length)
{
    struct frame_section copy = {malloc(length ? length : 1), length, section->address};

    assert_non_null(copy.bytes);
    memcpy((void *)(uintptr_t)copy.bytes, section->bytes, length);
    return copy;
}

static void free_copy(const struct frame_section *copy)
{
    free((void *)(uintptr_t)copy->bytes);
}

/* Made or not: what is found in it lies in the code, and every rule can be followed. */
static void make_and_look(const struct frame_section *header, const struct frame_section *eh_frame,
                          const struct own_frames *frames)
{
    const struct unwind_source source = {header, eh_frame, frames->code_start, frames->code_end};
    uint64_t code_bytes = frames->code_end - frames->code_start;
    struct unwind_table *table;

    if (unwind_table__new(&table, &source) != 0) {
        assert_null(table);
        return;
    }
    for (uint64_t at = 0; at < code_bytes + 2000; at += 37) {
        struct frame_registers registers = {at, low(), stack_middle(), true, false, NULL};
        uint32_t start, size;
        const struct unwind_rule *rule = unwind_table__find(table, at, &start, &size);

        if (!rule)
            continue;
        assert_true(start <= at && at - start < size && start + size <= code_bytes);
        if (unwind_rule__step(rule, &registers, stack_end()) == UNWIND_STEPPED)
            assert_true(registers.sp > low() && registers.sp <= stack_end());
    }
    unwind_table__delete(table);
}

static void damaged_bytes(void **state)
{
    (void)state;
    struct own_frames frames = own_frames();
    struct frame_section header = copy_of(&frames.header, frames.header.length);
    struct frame_section eh_frame = copy_of(&frames.eh_frame, frames.eh_frame.length);
    uint32_t random = 1;
    fill_stack();
    for (int round = 0; round < 3000; round++) {
        const struct frame_section *victim = round % 4 == 0 ? &header : &eh_frame;
        uint8_t *bytes = (uint8_t *)(uintptr_t)victim->bytes;
        size_t at[8];
        uint8_t old[8];

        for (int i = 0; i < 8; i++) {
            random = random * 1664525 + 1013904223;
            /* The header's first bytes are few among many and say most. */
            at[i] = (random >> 8) % (round % 4 == 0 && i < 2 ? 12 : victim->length + 1);
            at[i] -= at[i] == victim->length;
            old[i] = bytes[at[i]];
            random = random * 1664525 + 1013904223;
            bytes[at[i]] = (uint8_t)(random >> 24);
        }
        make_and_look(&header, &eh_frame, &frames);
        for (int i = 8; i-- > 0 && round % 50;)
            bytes[at[i]] = old[i];
    }
    free_copy(&header);
    free_copy(&eh_frame);
}

static void bytes_cut_short(void **state)
{
    (void)state;
    struct own_frames frames = own_frames();
    fill_stack();
    for (size_t length = 0; length <= frames.eh_frame.length;
         length += length < 200 ? 1 : frames.eh_frame.length / 100) {
        struct frame_section eh_frame = copy_of(&frames.eh_frame, length);
        struct frame_section header =
            copy_of(&frames.header, length < frames.header.length ? length : frames.header.length);

        make_and_look(&frames.header, &eh_frame, &frames);
        make_and_look(&header, &frames.eh_frame, &frames);
        make_and_look(&header, &eh_frame, &frames);
        free_copy(&eh_frame);
        free_copy(&header);
    }
}

/* Without the header's table, by the order in the section, the same comes out. */
static void a_header_without_a_table(void **state)
{
    (void)state;
    struct own_frames frames = own_frames();
    struct frame_section header = copy_of(&frames.header, frames.header.length);
    struct unwind_source source = {&frames.header, &frames.eh_frame, frames.code_start,
                                   frames.code_end};
    struct unwind_table *with, *without;
    assert_int_equal(unwind_table__new(&with, &source), 0);
    ((uint8_t *)(uintptr_t)header.bytes)[2] = 0xff; /* how the count is written: not at all */
    source.header = &header;
    assert_int_equal(unwind_table__new(&without, &source), 0);
    assert_int_equal(unwind_table__functions(with), unwind_table__functions(without));
    assert_int_equal(unwind_table__rows(with), unwind_table__rows(without));
    unwind_table__delete(with);
    unwind_table__delete(without);
    free_copy(&header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_libc),
        cmocka_unit_test(every_row_of_libjvm),
        cmocka_unit_test(damaged_bytes),
        cmocka_unit_test(bytes_cut_short),
        cmocka_unit_test(a_header_without_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
