#include "agent/hotspot/stack_walk.h"

#include "native/unwind/machine_code.h"

/*
 * The layout of frames on x86-64 and arm64, the same since JDK 9. An interpreted frame:
 *     fp + 8 return address, fp saved fp, fp - 8 the caller's sp, fp - 24 Method *,
 *     fp - 64 bytecode pointer (where the interpreter calls; else it is in a register)
 * A compiled one, of so many bytes from sp on: the last two words are saved fp and return address.
 */
#define INTERPRETED_SENDER_SP 8
#define INTERPRETED_METHOD    24
#define INTERPRETED_BYTECODE  64

#define STACK_MAX (64u << 20) /* where its end is not known */

struct walk {
    const struct stack_walker *walker;
    const struct stack_position *start;
    struct sample *sample;
    uint32_t room;
    struct frame_registers at;
    struct preserved_registers preserved; /* of at */
    uint64_t end;
    bool top;       /* nothing was called from here: the address is the one that is executed */
    bool java;      /* a Java frame was met */
    uint32_t whole; /* frames up to the last Java frame */
    bool resumed;   /* from the thread's last Java frame */
};

enum step {
    STEP_ON,
    STEP_END,
    STEP_FAILED, /* with sample->failure */
};

static enum step fail(struct walk *walk, enum ledger_walk_failure failure)
{
    walk->sample->failure = failure;
    return STEP_FAILED;
}

static void emit(struct walk *walk, enum sample_frame_kind kind, uint64_t where, uint64_t detail)
{
    walk->sample->frames[walk->sample->frame_count++] = sample_frame__make(kind, where, detail);
    if (kind == FRAME_COMPILED || kind == FRAME_INTERPRETED) {
        walk->java = true;
        walk->whole = walk->sample->frame_count;
    }
}

static bool is_on_stack(const struct walk *walk, uint64_t address)
{
    return address >= walk->at.sp && address < walk->end && address % 8 == 0;
}

/* A word of the stack; 0 if it is none. */
static uint64_t load(const struct walk *walk, uint64_t address)
{
    return is_on_stack(walk, address) ? *(const uint64_t *)(uintptr_t)address : 0;
}

/* Can that be where a call returns to? The interpreter pushes an entry of its own, which no call
 * instruction precedes, before it jumps to the method. */
static bool is_return_address(const struct walk *walk, uint64_t address)
{
    struct code_function function;
    struct code_blob blob;

    if (code_cache__may_hold(&walk->walker->code, address))
        return code_cache__find(&walk->walker->code, address, &blob) && address > blob.code &&
               (blob.kind == BLOB_INTERPRETER || machine_code__follows_call(address));
    return code_images__find(walk->walker->images, address, &function) &&
           machine_code__follows_call(address);
}

/* To the frame whose return address and saved fp stand there. */
static enum step go_to(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp)
{
    if (sp <= walk->at.sp || sp > walk->end || pc == 0)
        return fail(walk, WALK_BAD_FRAME);
    walk->at.pc = pc;
    walk->at.sp = sp;
    walk->at.fp = fp;
    walk->preserved = (struct preserved_registers){0}; /* Java code keeps none for its caller */
    walk->top = false;
    return STEP_ON;
}

/* The frame ends before that word, which is its return address. */
static enum step return_from(struct walk *walk, uint64_t slot, uint64_t fp)
{
    return go_to(walk, load(walk, slot), slot + 8, fp);
}

/* Code that may or may not have set up its frame: the return address is on top of the stack, or
 * behind a saved fp. */
static bool return_early(struct walk *walk, enum step *step)
{
    uint64_t sp = walk->at.sp;

    if (is_return_address(walk, load(walk, sp)))
        *step = return_from(walk, sp, walk->at.fp);
    else if (is_return_address(walk, load(walk, sp + 8)))
        *step = return_from(walk, sp + 8, load(walk, sp));
    else
        return false;
    return true;
}

static enum step leave_compiled(struct walk *walk, const struct code_blob *blob)
{
    uint64_t last = walk->at.sp + blob->frame_bytes - 8;
    enum step step;

    if (walk->top) {
        if (machine_code__pops_fp(walk->at.pc) &&
            is_return_address(walk, load(walk, walk->at.sp + 8)))
            return return_from(walk, walk->at.sp + 8, load(walk, walk->at.sp));
        if ((blob->frame_bytes == 0 || walk->at.pc - blob->code < blob->frame_complete ||
             machine_code__is_leaving(walk->at.pc)) &&
            return_early(walk, &step))
            return step;
        if (!is_return_address(walk, load(walk, last)) && return_early(walk, &step))
            return step;
    }
    if (blob->frame_bytes == 0)
        return fail(walk, WALK_BAD_FRAME);
    walk->at.fp_known = true;
    return return_from(walk, last, load(walk, last - 8));
}

static enum step step_compiled(struct walk *walk, const struct code_blob *blob)
{
    /* A call may be the last instruction: its return address is another's already. */
    emit(walk, FRAME_COMPILED, walk->at.pc - !walk->top, code_blob__identity(blob));
    return leave_compiled(walk, blob);
}

/* Is that a Method? Whatever reads like one: with code, constants and a class that has a name. */
static bool is_method(const struct vm_structs *structs, const void *method)
{
    const void *const_method, *pool, *holder, *name;

    if (!method || (uintptr_t)method % 8 != 0)
        return false;
    const_method = vm_structs__pointer(method, structs->method_const);
    if (!const_method || (uintptr_t)const_method % 8 != 0)
        return false;
    pool = vm_structs__pointer(const_method, structs->const_constants);
    if (!pool || (uintptr_t)pool % 8 != 0)
        return false;
    holder = vm_structs__pointer(pool, structs->pool_holder);
    if (!holder || (uintptr_t)holder % 8 != 0)
        return false;
    name = vm_structs__pointer(holder, structs->klass_name);
    return name && vm_structs__short(const_method, structs->const_name) <
                       vm_structs__int(pool, structs->pool_length);
}

/* 1 + the index; 0: it is not in the method's code. */
static uint64_t bytecode_index(const struct vm_structs *structs, const void *method,
                               uint64_t bytecode)
{
    const char *const_method = vm_structs__pointer(method, structs->method_const);
    uint64_t begin = (uint64_t)(uintptr_t)(const_method + structs->const_bytes);
    uint16_t size = vm_structs__short(const_method, structs->const_code_size);

    return bytecode >= begin && bytecode - begin < size ? bytecode - begin + 1 : 0;
}

static enum step step_interpreted(struct walk *walk)
{
    const struct vm_structs *structs = &walk->walker->structs;
    uint64_t fp = walk->at.fp;
    const void *method;
    enum step step;
    uint64_t index = 0;

    if (!walk->at.fp_known || !is_on_stack(walk, fp))
        return walk->top && return_early(walk, &step) ? step : fail(walk, WALK_BAD_FRAME);
    method = (const void *)(uintptr_t) * (const uint64_t *)(uintptr_t)(fp - INTERPRETED_METHOD);
    if (!is_method(structs, method))
        return walk->top && return_early(walk, &step) ? step : fail(walk, WALK_BAD_METHOD);
    if (walk->top)
        index = bytecode_index(structs, method, walk->start->bytecode);
    if (!index)
        index = bytecode_index(structs, method, load(walk, fp - INTERPRETED_BYTECODE));
    emit(walk, FRAME_INTERPRETED, (uint64_t)(uintptr_t)method, index);
    return go_to(walk, load(walk, fp + 8), load(walk, fp - INTERPRETED_SENDER_SP), load(walk, fp));
}

static enum step leave_by_fp(struct walk *walk)
{
    uint64_t fp = walk->at.fp;

    if (!walk->at.fp_known || !is_on_stack(walk, fp))
        return fail(walk, WALK_BAD_FRAME);
    return return_from(walk, fp + 8, load(walk, fp));
}

/* Stubs are many, and no two alike. On top of the stack they are worth a frame. */
static enum step step_stub(struct walk *walk, const struct code_blob *blob)
{
    const uint64_t *call_stub = walk->walker->structs.call_stub_return_address;
    enum step step;

    if (walk->at.pc == *call_stub)
        return leave_by_fp(walk);
    if (walk->top) {
        emit(walk, FRAME_STUB, walk->at.pc, 0);
        if (blob->frame_bytes)
            return leave_compiled(walk, blob);
        return return_early(walk, &step) ? step : leave_by_fp(walk);
    }
    if (blob->frame_bytes)
        return leave_compiled(walk, blob);
    /* When a virtual thread is mounted, its older frames may stay in the heap; then the oldest
     * frame on the stack returns to a stub that brings them back. */
    walk->sample->flags |= SAMPLE_IS_PARTIAL;
    return STEP_END;
}

static enum step step_code(struct walk *walk)
{
    struct code_blob blob;

    if (!code_cache__find(&walk->walker->code, walk->at.pc - !walk->top, &blob))
        return fail(walk, WALK_UNKNOWN_CODE);
    if (blob.kind == BLOB_INTERPRETER)
        return step_interpreted(walk);
    if (blob.kind == BLOB_OTHER)
        return step_stub(walk, &blob);
    return step_compiled(walk, &blob);
}

/* A sample of CPU time that is taken right behind a system call is of the kernel's side. */
static bool is_behind_system_call(const struct walk *walk)
{
    struct code_function function;

    return walk->top && walk->sample->frame_count == 0 && !(walk->sample->flags & SAMPLE_IS_WALL) &&
           code_images__find(walk->walker->images, walk->at.pc, &function) &&
           machine_code__follows_system_call(walk->at.pc);
}

static enum step step_native(struct walk *walk)
{
    static const enum ledger_walk_failure failures[] = {
        [UNWIND_UNKNOWN_CODE] = WALK_UNKNOWN_CODE,
        [UNWIND_NO_TABLE] = WALK_NO_UNWIND,
        [UNWIND_BAD_FRAME] = WALK_BAD_FRAME,
        [UNWIND_BUSY] = WALK_BUSY,
    };
    enum unwind_result result;
    uint64_t pc = walk->at.pc - !walk->top;

    if (is_behind_system_call(walk))
        emit(walk, FRAME_KERNEL, 0, 0);
    result = code_images__step(walk->walker->images, &walk->at, walk->end, !walk->top, NULL);
    if (result == UNWIND_UNKNOWN_CODE)
        return fail(walk, WALK_UNKNOWN_CODE);
    emit(walk, FRAME_NATIVE, pc, 0);
    if (result == UNWIND_END)
        return STEP_END;
    if (result != UNWIND_STEPPED)
        return fail(walk, failures[result]);
    walk->top = walk->at.interrupted;
    return STEP_ON;
}

/* If native code that cannot be unwound was called from Java, the thread's anchor knows the Java
 * frame. */
static bool resume(struct walk *walk)
{
    const struct vm_structs *structs = &walk->walker->structs;
    const char *anchor = walk->start->java_thread;
    uint64_t pc, sp;

    /* If the JVM's code cache is not known, no other structure is known either. */
    if (!anchor || walk->resumed || walk->java || walk->walker->code.heap_count == 0)
        return false;
    anchor += structs->thread_anchor;
    sp = (uint64_t)(uintptr_t)vm_structs__pointer(anchor, structs->anchor_sp);
    pc = (uint64_t)(uintptr_t)vm_structs__pointer(anchor, structs->anchor_pc);
    /* The same frame is as good, whose fp only the anchor may know. */
    if (sp < walk->at.sp || sp >= walk->end)
        return false;
    if (!pc)
        pc = *(const uint64_t *)(uintptr_t)(sp - 8);
    if (!code_cache__may_hold(&walk->walker->code, pc))
        return false;
    walk->resumed = true;
    walk->top = false;
    walk->at.sp = sp;
    walk->at.pc = pc;
    walk->at.fp = structs->anchor_fp >= 0
                      ? (uint64_t)(uintptr_t)vm_structs__pointer(anchor, structs->anchor_fp)
                      : 0;
    walk->at.fp_known = walk->at.fp != 0;
    walk->preserved = (struct preserved_registers){0};
    walk->sample->failure = SAMPLE_IS_WHOLE;
    return true;
}

/* A step has left a frame, with so many frames before it; or, resumed, has passed some by. What the
 * pusher calls lies further in than the place of its frame. */
static void note_inner(struct walk *walk, uint32_t before, bool resumed)
{
    struct sample *sample = walk->sample;

    if (walk->start->place < walk->start->registers.sp ||
        sample->inner_frames != SAMPLE_INNER_UNKNOWN || walk->at.sp <= walk->start->place)
        return;
    sample->inner_frames =
        (uint16_t)(sample->frame_count - (!resumed && sample->frame_count > before));
}

void stack_walk__run(const struct stack_walker *walker, const struct stack_position *position,
                     struct sample *sample, uint32_t room)
{
    struct walk walk = {.walker = walker,
                        .start = position,
                        .sample = sample,
                        .room = room - 1, /* a step emits two frames at the most */
                        .at = position->registers,
                        .preserved = position->preserved,
                        .end = position->end ? position->end : position->registers.sp + STACK_MAX,
                        .top = true};
    enum step step = STEP_ON;

    walk.at.preserved = &walk.preserved;
    sample->frame_count = 0;
    sample->failure = SAMPLE_IS_WHOLE;
    if (position->faulted)
        emit(&walk, FRAME_KERNEL, 0, 0);
    while (step == STEP_ON && sample->frame_count < walk.room) {
        uint32_t before = sample->frame_count;
        bool resumed = false;

        step =
            code_cache__may_hold(&walker->code, walk.at.pc) ? step_code(&walk) : step_native(&walk);
        if (step == STEP_FAILED && resume(&walk)) {
            step = STEP_ON;
            resumed = true;
        }
        if (step == STEP_ON)
            note_inner(&walk, before, resumed);
    }
    if (step == STEP_ON)
        sample->failure = WALK_TOO_DEEP;
    if (walk.java && sample->failure == SAMPLE_IS_WHOLE)
        sample->frame_count = walk.whole;
}

bool stack_walker__open(struct stack_walker *walker, const struct code_images *images,
                        const char **missing)
{
    walker->images = images;
    if (!vm_structs__read(&walker->structs, missing))
        return false;
    *missing = "CodeCache::_heaps";
    return code_cache__open(&walker->code, &walker->structs);
}
