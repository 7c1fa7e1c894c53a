/*
 * Call frame information as it stands in .eh_frame (LSB core, "Exception Frames"; DWARF 5, 6.4):
 * which functions there are and what their rows say. Trusts no byte. All functions only read their
 * arguments: they are async-signal-safe, but running a program may take long.
 */
#ifndef TREADLE_CALL_FRAME_INFO_H
#define TREADLE_CALL_FRAME_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of a section, and the address that its own pointers assume for the first one. */
struct frame_section {
    const uint8_t *bytes;
    size_t length;
    uint64_t address;
};

enum cfa_kind {
    CFA_UNCLEAR,
    CFA_OF_REGISTER, /* cfa_register + cfa_offset */
    CFA_OF_EXPRESSION,
};

enum saved_kind {
    SAVED_NOWHERE, /* the register is what it was for the caller */
    SAVED_UNDEFINED,
    SAVED_AT_CFA, /* at CFA + offset */
    SAVED_BY_EXPRESSION,
    SAVED_OTHERWISE,
};

struct expression {
    const uint8_t *bytes;
    size_t length;
};

/* A place where a register of the caller is kept. */
struct saved_register {
    enum saved_kind kind;
    int64_t offset;
    struct expression expression;
};

enum { TRACKED_FP, TRACKED_RETURN_ADDRESS, TRACKED_COUNT };

/* What one row says: for the registers that are tracked. */
struct call_frame_row {
    enum cfa_kind cfa;
    bool signal_frame;
    uint64_t cfa_register;
    int64_t cfa_offset;
    struct expression cfa_expression;
    struct saved_register saved[TRACKED_COUNT];
};

/* DWARF's numbers of the tracked registers, for this processor. */
struct tracked_registers {
    uint64_t number[TRACKED_COUNT];
};

/* A function's description: a frame description entry with what its common entry adds. */
struct call_frame_entry {
    uint64_t start;
    uint64_t size;
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_address; /* number of the register that has it */
    bool signal_frame;
    bool augmented;  /* has augmentation data */
    bool understood; /* false: there is a function, but nothing is known of its rows */
    uint8_t pointer_encoding;
    size_t length;                /* of the entry and its length field; the next entry follows */
    struct frame_section initial; /* call frame instructions: of the common entry */
    struct frame_section program; /* call frame instructions: the entry's own */
};

/* Reads the entry at an offset of .eh_frame. 1: the entry of a function. 0: a common entry, or one
 * that cannot be read; entry->length leads to the next one. -ENODATA: the end of the section, or an
 * entry after which no next one can be found. */
int call_frame_info__entry(const struct frame_section *section, size_t offset,
                           struct call_frame_entry *entry);

/* Calls `found` for every row of a function from its start on, in order of address. If the program
 * cannot be followed, the rows end before the function does, and the last row is CFA_UNCLEAR. No
 * rows follow after `found` has returned false. */
typedef bool (*call_frame_row_found)(void *context, uint64_t offset,
                                     const struct call_frame_row *row);
void call_frame_program__run(const struct call_frame_entry *entry,
                             const struct tracked_registers *tracked, call_frame_row_found found,
                             void *context);

/* .eh_frame_hdr: where .eh_frame is, and a table of its entries if it has one. */
struct frame_header {
    uint64_t eh_frame; /* address */
    uint64_t count;    /* of table; 0: none */
    uint8_t table_encoding;
    size_t table; /* offset in the header */
};

/* Reads .eh_frame_hdr. 0, or -EINVAL: it cannot be used. */
int frame_header__read(const struct frame_section *section, struct frame_header *header);

/* Returns the address of the description that the table's entry leads to; 0 if the table ends
 * before. */
uint64_t frame_header__description(const struct frame_section *section,
                                   const struct frame_header *header, uint64_t index);

/* Finds the table's last entry that begins at or before an address. False: there is none. */
bool frame_header__find(const struct frame_section *section, const struct frame_header *header,
                        uint64_t address, uint64_t *index);

#endif
