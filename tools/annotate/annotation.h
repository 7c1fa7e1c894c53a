/*
 * A method's samples beside its lines, its bytecode and its machine code.
 */
#ifndef TREADLE_ANNOTATION_H
#define TREADLE_ANNOTATION_H

#include "tools/report/report_places.h"
#include "tools/symbols/native_symbols.h"

enum listing_kind {
    LISTING_SOURCE,   /* positions are line numbers */
    LISTING_BYTECODE, /* bytecode indices */
    LISTING_CODE,     /* offsets */
};

struct listing_row {
    uint64_t position;
    uint32_t line; /* 0: not known */
    uint64_t samples;
    char *text; /* "" where the ledger has none; owned */
    char *note; /* the method that the line is of, if it is another method; or NULL; owned */
};

struct listing {
    enum listing_kind kind;
    char *title; /* owned */
    struct listing_row *rows;
    size_t row_count;
    size_t row_room;
    uint64_t samples;               /* what shares are of */
    const struct report_code *code; /* of compiled code; else NULL */
};

struct annotation {
    uint32_t method;
    uint64_t samples;     /* all with the method on top, inlined copies included */
    uint64_t interpreted; /* of these */
    uint64_t compiled;
    uint64_t elsewhere; /* of these, inlined into other methods */
    uint64_t unplaced;  /* of these, at an unknown place in the method */
    struct listing *listings;
    size_t listing_count;
};

struct annotation_wish {
    const char *source; /* a folder or a file; NULL: bytecode instead */
    bool code;
};

/* Makes the listings that the wish asks for, as far as there is something to list. NULL and one
 * line in `message` if the source cannot be read. */
struct annotation *annotation__new(struct report_places *places, struct native_symbols *symbols,
                                   uint32_t method, const struct annotation_wish *wish,
                                   char *message, size_t message_bytes);
void annotation__free(struct annotation *annotation);

/* Returns the number of samples with the method on top, as annotation__new counts them. */
uint64_t annotation__samples(const struct report_places *places, uint32_t method);

/* Adds a listing at the end and takes over its title; adds a row at the end of a listing and takes
 * over its text. */
struct listing *annotation__add(struct annotation *annotation, enum listing_kind kind, char *title);
struct listing_row *listing__add(struct listing *listing, uint64_t position, char *text);
void annotation__drop_last(struct annotation *annotation);

/* Returns the row that a position lies in: the last row that begins at or before the position;
 * NULL if the position lies before all rows. Rows must be in order. */
struct listing_row *listing__row_at(struct listing *listing, uint64_t position);

/* Adds samples to the row that a position lies in; false if there is none. */
bool listing__count(struct listing *listing, uint64_t position, uint64_t samples);

/* The parts of annotation__new, each in a file of its own. */
int annotation__add_source(struct annotation *annotation, struct report_places *places,
                           const struct report_method_code *code, const char *source, char *message,
                           size_t message_bytes);
void annotation__add_bytecode(struct annotation *annotation, struct report_places *places,
                              const struct report_method_code *code, const char *title);
void annotation__add_compiled(struct annotation *annotation, struct report_places *places);
void annotation__add_native(struct annotation *annotation, struct report_places *places,
                            struct native_symbols *symbols, const struct report_method_code *code);

#endif
