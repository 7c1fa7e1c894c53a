#include "native/preload/call_frames.h"

#include "native/preload/loaded_image.h"
#include "native/unwind/call_frame_info.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

int call_frames__init(struct call_frames *frames)
{
    void *places = mmap(NULL, sizeof(uint64_t) << CALL_PLACES_BITS, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (places == MAP_FAILED)
        return -ENOMEM;
    frames->places = places;
    frames->find_object = loaded_image__find_object();
    return 0;
}

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)

#define DWARF_FP UINT64_C(6)
#define DWARF_SP UINT64_C(7)
#define DWARF_RA UINT64_C(16)

typedef int find_object(void *address, struct dl_find_object *result);

struct search {
    uint64_t offset; /* of the place in its function */
    struct call_frame_row row;
    bool found;
};

static bool note_row(void *context, uint64_t offset, const struct call_frame_row *row)
{
    struct search *search = context;

    if (offset > search->offset)
        return false;
    search->row = *row;
    search->found = true;
    return true;
}

static uint32_t rule_of(const struct call_frame_row *row)
{
    bool fp = row->cfa_register == DWARF_FP;

    if (row->cfa != CFA_OF_REGISTER || (!fp && row->cfa_register != DWARF_SP) ||
        row->cfa_offset < 0 || row->cfa_offset % 8 || row->cfa_offset / 8 >= FRAME_RULE_UNKNOWN)
        return FRAME_RULE_UNKNOWN;
    return (uint32_t)(row->cfa_offset / 8) | (fp ? FRAME_RULE_FP : 0);
}

static struct frame_section section_at(uint64_t address, uint64_t end)
{
    return (struct frame_section){(const uint8_t *)(uintptr_t)address, end - address, address};
}

/* The entry of the function that contains the address. */
static bool find_entry(const struct call_frames *frames, uint64_t address,
                       struct call_frame_entry *entry)
{
    find_object *find = (find_object *)(uintptr_t)frames->find_object;
    struct dl_find_object object;
    struct frame_section header, section;
    struct frame_header read;
    uint64_t index, description, end;

    if (!find || find((void *)(uintptr_t)address, &object) != 0 || !object.dlfo_eh_frame)
        return false;
    end = (uint64_t)(uintptr_t)object.dlfo_map_end;
    header = section_at((uint64_t)(uintptr_t)object.dlfo_eh_frame, end);
    if (frame_header__read(&header, &read) != 0 ||
        !frame_header__find(&header, &read, address, &index))
        return false;
    description = frame_header__description(&header, &read, index);
    if (read.eh_frame >= end || description < read.eh_frame || description >= end)
        return false;
    section = section_at(read.eh_frame, end);
    return call_frame_info__entry(&section, description - read.eh_frame, entry) == 1 &&
           entry->understood && address - entry->start < entry->size;
}

/* The place is a return address: what counts is the call before it. */
static uint32_t find_rule(const struct call_frames *frames, uint64_t place)
{
    static const struct tracked_registers tracked = {{DWARF_FP, DWARF_RA}};
    struct search search = {.found = false};
    struct call_frame_entry entry;

    if (!find_entry(frames, place - 1, &entry))
        return FRAME_RULE_UNKNOWN;
    search.offset = place - 1 - entry.start;
    call_frame_program__run(&entry, &tracked, note_row, &search);
    return search.found ? rule_of(&search.row) : FRAME_RULE_UNKNOWN;
}

#else

static uint32_t find_rule(const struct call_frames *frames, uint64_t place)
{
    (void)frames, (void)place;
    return FRAME_RULE_UNKNOWN;
}

#endif

void call_frames__forget(struct call_frames *frames)
{
    (void)madvise(frames->places, sizeof(uint64_t) << CALL_PLACES_BITS, MADV_DONTNEED);
}

uint32_t call_frames__look_up(struct call_frames *frames, uint64_t place)
{
    uint32_t rule = find_rule(frames, place);

    __atomic_store_n(
        &frames->places[place * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CALL_PLACES_BITS)],
        place << 16 | rule, __ATOMIC_RELAXED);
    return rule;
}
