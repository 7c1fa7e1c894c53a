#include "agent/sampling/sample_places.h"

#include "native/fault_guard.h"
#include "native/tree/sample_tree.h"

/* Machine code of one method that is kept: it is compiled again now and then, and where classes
 * come and go it has code for each. */
#define CODES_OF_A_METHOD_MAX 32u

/* The record of a piece of code; its bytes are taken while it is there. */
static ledger_ref record_code(const struct frame_names *names, ledger_ref method, uint64_t begin,
                              uint64_t end, uint64_t loaded_ns)
{
    ledger_ref ref = ledger__take_shared(names->ledger, LEDGER_CODE, 1);
    struct fault_guard guard;
    struct code_blob blob;
    struct ledger_code *code;

    if (!ref)
        return 0;
    code = ledger__at(names->ledger, ref);
    code->address = begin;
    code->size = (uint32_t)(end - begin);
    code->loaded_ns = loaded_ns;
    code->compiler = COMPILER_OTHER;
    if (frame_names__find_blob(names, begin, &blob) && blob.level > 0)
        code->compiler = blob.level == 4 ? COMPILER_C2 : COMPILER_C1;
    else if (((struct ledger_method *)ledger__at(names->ledger, method))->flags & METHOD_SYMBOL)
        code->compiler = COMPILER_NONE;
    if (fault_guard__enter(&guard) == 0)
        code->bytes = ledger__string(names->ledger, (const char *)(uintptr_t)begin, code->size);
    fault_guard__leave(&guard);
    __atomic_store_n(&code->method, method, __ATOMIC_RELEASE);
    return ref;
}

static void place_bytecode(const struct frame_names *names, const struct named_frame *top,
                           struct sample_place *place)
{
    place->owner = frame_names__record_of(names, top->java);
    place->bci = top->bci;
    if (place->owner)
        place->first = &((struct ledger_method *)ledger__at(names->ledger, place->owner))->places;
}

/* None: too many of its method are kept already. */
static ledger_ref code_record(const struct frame_names *names, struct compiled_method *code)
{
    struct java_method *method = code->method;

    if (!code->code && method && method->codes < CODES_OF_A_METHOD_MAX &&
        frame_names__record_of(names, method)) {
        code->code = record_code(names, method->ref, code->begin, code->end, code->loaded_ns);
        method->codes += code->code != 0;
    }
    return code->code;
}

static void place_compiled(const struct frame_names *names, const struct named_frames *frames,
                           uint64_t address, struct sample_place *place)
{
    const struct named_frame *top = &frames->frame[frames->kernel];
    struct compiled_method *code = frames->top_code;

    if (!code_record(names, code) && top->java) {
        place_bytecode(names, top, place);
        return;
    }
    place->owner = code->code;
    place->offset = address - code->begin;
    place->method = top->java ? frame_names__record_of(names, top->java) : 0;
    if (top->java)
        top->java->was_on_top = true;
    place->bci = top->bci;
    if (code->code)
        place->first = &((struct ledger_code *)ledger__at(names->ledger, code->code))->places;
}

static void place_symbol(const struct frame_names *names, uint64_t address,
                         struct sampled_symbol *symbol, bool is_stub, struct sample_place *place)
{
    place->bci = -1;
    place->offset = address - symbol->begin;
    place->owner = symbol->method;
    place->first = &((struct ledger_method *)ledger__at(names->ledger, symbol->method))->places;
    if (!is_stub)
        return;
    if (!symbol->code)
        symbol->code = record_code(names, symbol->method, symbol->begin, symbol->end, 0);
    place->owner = symbol->code;
    if (symbol->code)
        place->first = &((struct ledger_code *)ledger__at(names->ledger, symbol->code))->places;
}

void sample_places__count(const struct frame_names *names, const struct named_frames *frames,
                          const struct sample *sample)
{
    const struct named_frame *top = &frames->frame[frames->kernel];
    const struct sample_frame *raw = sample->frames;
    struct sample_place place = {0};

    if (frames->count == frames->kernel)
        return;
    raw += sample_frame__kind(raw) == FRAME_KERNEL;
    if (top->symbol && top->symbol->method)
        place_symbol(names, raw->where, top->symbol, sample_frame__kind(raw) == FRAME_STUB, &place);
    else if (top->java && top->interpreted)
        place_bytecode(names, top, &place);
    else if (frames->top_code)
        place_compiled(names, frames, raw->where, &place);
    if (place.owner && place.first)
        (void)sample_tree__count_place(names->ledger, &place, sample->flags & SAMPLE_IS_WALL);
}
