/*
 * Walks of stacks that are laid out here, word by word, as HotSpot's frames are. The code that they
 * return to is bytes; only what a walk reads of code is there, the calls before return addresses.
 */
#include "agent/hotspot/stack_walk.h"
#include "fake_jvm.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

enum {
    COMPILED = 0, /* offsets into code */
    OUTER = 256,
    INTERPRETER = 512,
    JVM = 768, /* a function of libjvm */
    CODE_BYTES = 1024,
    AFTER_CALL = 64, /* in each, right behind a call instruction */
    ELSEWHERE = 128, /* behind another instruction */
    FRAME_BYTES = 48,
    WORDS = 32,
};

static _Alignas(8) uint8_t code[CODE_BYTES];
static struct fake_method in_memory;
static struct stack_walker walker;
static uint64_t stack[WORDS];
static const uint64_t no_stub = 0;

static uint64_t address_of(size_t offset)
{
    return (uint64_t)(uintptr_t)&code[offset];
}

bool code_cache__find(const struct code_cache *cache, uint64_t address, struct code_blob *blob)
{
    size_t offset = (size_t)(address - address_of(0));
    (void)cache;
    *blob = (struct code_blob){.kind = BLOB_METHOD, .method = &in_memory, .frame_complete = 16};
    if (offset >= INTERPRETER) {
        blob->kind = BLOB_INTERPRETER;
        blob->code = address_of(INTERPRETER);
    } else {
        blob->code = address_of(offset >= OUTER ? OUTER : COMPILED);
        blob->frame_bytes = FRAME_BYTES;
    }
    blob->end = blob->code + 256;
    return offset < JVM;
}

bool code_images__find(const struct code_images *images, uint64_t address,
                       struct code_function *function)
{
    (void)images, (void)function;
    return address >= address_of(JVM) && address < address_of(CODE_BYTES);
}

/* What is below the JVM's function cannot be told. */
enum unwind_result code_images__step(const struct code_images *images,
                                     struct frame_registers *registers, uint64_t stack_end,
                                     bool is_return_address, struct code_function *function)
{
    (void)images, (void)registers, (void)stack_end, (void)is_return_address, (void)function;
    return UNWIND_BAD_FRAME;
}

bool code_cache__open(struct code_cache *cache, const struct vm_structs *structs)
{
    (void)cache, (void)structs;
    return false;
}

bool vm_structs__read(struct vm_structs *structs, const char **missing)
{
    (void)structs, (void)missing;
    return false;
}

static void plant_call(size_t end)
{
#if defined(__aarch64__)
    const uint32_t call = 0x94000000;
    memcpy(&code[end - 4], &call, 4);
#else
    code[end - 5] = 0xe8;
#endif
}

static int set_up(void **state)
{
    (void)state;
    for (size_t of = 0; of < CODE_BYTES; of += 256)
        plant_call(of + AFTER_CALL);
    fake_method__make(&in_memory, "pkg/Class", "m", "()V");
    walker.structs = fake_structs;
    walker.structs.call_stub_return_address = &no_stub;
    walker.code = (struct code_cache){
        .structs = &walker.structs, .heap_count = 1, .low = address_of(0), .high = address_of(JVM)};
    memset(stack, 0, sizeof(stack));
    return 0;
}

static uint64_t word_address(size_t index)
{
    return (uint64_t)(uintptr_t)&stack[index];
}

/* An interpreted frame whose saved fp stands there, called by nobody. */
static void lay_interpreted(size_t fp)
{
    stack[fp - 1] = word_address(fp + 2);
    stack[fp - 3] = (uint64_t)(uintptr_t)&in_memory;
}

/* The walk's frames, a letter each: N, C, I; `!` ends what was not walked to the end. An
 * interpreted frame that nobody called is such an end. */
static void check_walk(size_t pc, size_t sp, const char *wanted)
{
    static const char letters[] = {[FRAME_NATIVE] = 'N',
                                   [FRAME_COMPILED] = 'C',
                                   [FRAME_INTERPRETED] = 'I',
                                   [FRAME_STUB] = 'S',
                                   [FRAME_KERNEL] = 'K'};
    struct stack_position position = {
        .registers = {.pc = address_of(pc), .sp = word_address(sp), .fp_known = true},
        .end = word_address(WORDS)};
    union {
        struct sample sample;
        uint8_t room[sizeof(struct sample) + 16 * sizeof(struct sample_frame)];
    } raw = {0};
    char told[20] = "";
    uint32_t i;

    stack_walk__run(&walker, &position, &raw.sample, 16);
    for (i = 0; i < raw.sample.frame_count; i++)
        told[i] = letters[sample_frame__kind(&raw.sample.frames[i])];
    if (raw.sample.failure != SAMPLE_IS_WHOLE)
        told[i] = '!';
    assert_string_equal(told, wanted);
}

/* sp is word 0: four words of the method's own, of which nothing is known, saved fp, return
 * address. */
static void compiled_called_by(uint64_t return_address)
{
    stack[4] = word_address(12);
    stack[5] = return_address;
    lay_interpreted(12);
}

static void a_compiled_method_called_by_a_compiled_one(void **state)
{
    (void)state;
    compiled_called_by(address_of(OUTER + AFTER_CALL));
    stack[10] = word_address(16);
    stack[11] = address_of(INTERPRETER + ELSEWHERE);
    lay_interpreted(16);
    check_walk(COMPILED + ELSEWHERE, 0, "CCI!");
}

/* The interpreter jumps to compiled code: what it pushed follows no call. What an earlier call left
 * in a word that the method has not written yet looks more like a return address than that. */
static void a_compiled_method_called_by_the_interpreter(void **state)
{
    (void)state;
    compiled_called_by(address_of(INTERPRETER + ELSEWHERE));
    check_walk(COMPILED + ELSEWHERE, 0, "CI!");
    for (size_t word = 0; word < 2; word++) {
        stack[word] = address_of(JVM + AFTER_CALL);
        check_walk(COMPILED + ELSEWHERE, 0, "CI!");
    }
}

/* Before the method has made its frame, sp is at the return address; after that of the caller's fp
 * was saved, one word below. */
static void a_compiled_method_that_has_no_frame_yet(void **state)
{
    (void)state;
    compiled_called_by(address_of(INTERPRETER + ELSEWHERE));
    check_walk(COMPILED + 8, 4, "CI!");
    check_walk(COMPILED + ELSEWHERE, 4, "CI!");
    compiled_called_by(address_of(OUTER + AFTER_CALL));
    stack[10] = word_address(16);
    stack[11] = address_of(INTERPRETER + ELSEWHERE);
    lay_interpreted(16);
    check_walk(COMPILED + 8, 5, "CCI!");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_compiled_method_called_by_a_compiled_one, set_up),
        cmocka_unit_test_setup(a_compiled_method_called_by_the_interpreter, set_up),
        cmocka_unit_test_setup(a_compiled_method_that_has_no_frame_yet, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
