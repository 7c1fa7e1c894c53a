/*
 * The constant pool of a class file (JVMS 4.4). Existing entries stay as they are and where they
 * are; new entries are appended. Text is in the file's encoding: modified UTF-8 without a NUL at
 * the end. One thread at a time.
 */
#ifndef TREADLE_CONSTANT_POOL_H
#define TREADLE_CONSTANT_POOL_H

#include "agent/classfile/class_file.h"

enum constant_tag {
    CONSTANT_UTF8 = 1,
    CONSTANT_INTEGER = 3,
    CONSTANT_FLOAT = 4,
    CONSTANT_LONG = 5,
    CONSTANT_DOUBLE = 6,
    CONSTANT_CLASS = 7,
    CONSTANT_STRING = 8,
    CONSTANT_FIELD = 9,
    CONSTANT_METHOD = 10,
    CONSTANT_INTERFACE_METHOD = 11,
    CONSTANT_NAME_AND_TYPE = 12,
    CONSTANT_METHOD_HANDLE = 15,
    CONSTANT_METHOD_TYPE = 16,
    CONSTANT_DYNAMIC = 17,
    CONSTANT_INVOKE_DYNAMIC = 18,
    CONSTANT_MODULE = 19,
    CONSTANT_PACKAGE = 20,
};

struct class_text {
    const uint8_t *bytes;
    uint32_t length;
};

bool class_text__is(struct class_text text, const char *word);

/* An entry that is looked up by its content: a text or a class. */
struct constant_pool_slot {
    uint32_t index; /* 0: the slot is empty */
    uint32_t at;    /* offset of its tag: in the file, or, for indices from the file's count on, in
                       `added` */
};

struct constant_pool {
    const uint8_t *bytes;             /* the whole class file */
    uint32_t *offset;                 /* of an entry's tag; 0 for unused indices */
    uint32_t count;                   /* of the file, the unused index 0 included */
    uint32_t next;                    /* the index of the next new entry */
    struct class_writer added;        /* the new entries */
    struct constant_pool_slot *slots; /* a hash table, made when first needed */
    uint32_t slot_count;              /* a power of two */
    uint32_t *filled;                 /* the slots in use, in the order of their indices */
    uint32_t filled_count;
};

/* A mark in the new entries, to return to. */
struct constant_pool_mark {
    uint32_t next;
    size_t bytes;
};

/* Reads the pool, beginning at its count. 0 or -ENOMEM; the reader records whether the pool was
 * well-formed. */
int constant_pool__read(struct constant_pool *pool, struct class_reader *reader);
void constant_pool__close(struct constant_pool *pool);

/* For the file's own entries. false: there is no such entry, or it is of another kind. */
bool constant_pool__text(const struct constant_pool *pool, uint32_t index, struct class_text *text);
bool constant_pool__class_name(const struct constant_pool *pool, uint32_t index,
                               struct class_text *name);
/* The name and type of a field, a method, an interface's method or a dynamic call site. */
bool constant_pool__member(const struct constant_pool *pool, uint32_t index,
                           struct class_text *name, struct class_text *descriptor);

/* Each returns the new entry's index, or 0: the pool is full, or was full when one of the entry's
 * parts was added. Existing texts and classes are reused. A failed allocation is recorded in
 * `added`. */
uint32_t constant_pool__add_text(struct constant_pool *pool, struct class_text text);
uint32_t constant_pool__add_class(struct constant_pool *pool, struct class_text name);
uint32_t constant_pool__add_integer(struct constant_pool *pool, uint32_t value);
uint32_t constant_pool__add_name_and_type(struct constant_pool *pool, uint32_t name, uint32_t type);
uint32_t constant_pool__add_method(struct constant_pool *pool, uint32_t owner, uint32_t member);

struct constant_pool_mark constant_pool__mark(const struct constant_pool *pool);
void constant_pool__go_back(struct constant_pool *pool, struct constant_pool_mark mark);

#endif
