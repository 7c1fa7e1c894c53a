/*
 * Where exactly samples found their top frames: bytecode indices, offsets in compiled code and in
 * native functions; and the compiled code itself.
 *
 * The bytes of code and strings stay the reader's: keep it open. Records that make no sense are
 * left out and counted.
 */
#ifndef TREADLE_REPORT_PLACES_H
#define TREADLE_REPORT_PLACES_H

#include "tools/report/report_model.h"

struct report_place {
    uint32_t method;  /* the method that bci is of, or the native function; or REPORT_NONE */
    uint32_t code;    /* index of the compiled code that it is in; or REPORT_NONE */
    int32_t bci;      /* -1: not known, and of native functions */
    uint64_t offset;  /* in the compiled code or the native function */
    uint64_t samples; /* in a ledger with CPU and wall samples: of one kind */
};

struct report_code {
    uint32_t method; /* or REPORT_NONE */
    enum ledger_compiler compiler;
    uint64_t address;
    uint64_t size;
    uint64_t loaded_ns;   /* on the ledger's clock; 0: before the agent first looked */
    uint64_t unloaded_ns; /* 0: still there */
    const unsigned char *bytes;
    size_t byte_count; /* 0: the code was freed before it could be copied */
};

/* What the ledger has of one method's code. */
struct report_method_code {
    const unsigned char *bytecode;
    size_t bytecode_bytes;
    const unsigned char *lines; /* pairs of uint16_t: bytecode index, line */
    size_t line_bytes;
    struct text build_id; /* of a native function's file */
    uint64_t address;     /* of a native function */
    uint64_t size;        /* 0: not known */
};

struct report_places {
    const struct report_model *model;
    const struct ledger_reader *reader;
    struct report_place *places;
    uint32_t place_count;
    struct report_code *codes;
    uint32_t code_count;
    uint32_t *first_record; /* by method: index in the model's records, or REPORT_NONE */
    uint32_t *next_record;  /* by that index: the same method's next one */
    uint64_t skipped;
    struct text_store texts;
};

/* The model must have been loaded by the same reader. In a ledger with CPU and wall samples only
 * those of the column's kind count. */
struct report_places *report_places__load(const struct report_model *model,
                                          const struct ledger_reader *reader,
                                          enum report_column column);
void report_places__free(struct report_places *places);

/* What the ledger has of the method's code; the first of its records that has any code counts. */
struct report_method_code report_places__code_of(struct report_places *places, uint32_t method);

/* The line that a bytecode index is in; 0: not known. */
uint32_t report_method_code__line(const struct report_method_code *code, int64_t bci);

/* "C1", "C2", "stub", "compiled". */
const char *report_compiler__name(enum ledger_compiler compiler);

#endif
