#include "agent/methods/generated_names.h"

#include "agent/methods/class_name.h"

#include <string.h>
#include <sys/mman.h>

#define TABLE_BYTES (GENERATED_NAMES_SLOTS * sizeof(struct generated_name))
#define FULL        (GENERATED_NAMES_SLOTS / 4 * 3)
#define HASH_DIGITS 8u /* the shortest word that is taken for a hash, … */
#define HASH_TENS   3u /* … with so many decimal digits in it at least */
#define KIND_SEED   0x9e3779b97f4a7c15u

void generated_names__init(struct generated_names *names)
{
    void *slots = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    memset(names, 0, sizeof(*names));
    pthread_mutex_init(&names->lock, NULL);
    names->slots = slots == MAP_FAILED ? NULL : slots;
}

void generated_names__end(struct generated_names *names)
{
    if (names->slots)
        munmap(names->slots, TABLE_BYTES);
    memset(names, 0, sizeof(*names));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t hex_run(const char *name, size_t length)
{
    size_t run = 0;

    while (run < length && is_hex(name[run]))
        run++;
    return run;
}

static bool begins_word(const char *name, size_t at)
{
    return at == 0 || !(is_letter(name[at - 1]) || is_digit(name[at - 1]));
}

/* Hexadecimal digits at the begin of a word: the word ends behind them, and is of one case, with
 * digits in it. */
static bool is_hash(const char *name, size_t at, size_t run, size_t length)
{
    size_t digits = 0, small = 0;

    for (size_t i = at; i < at + run; i++) {
        digits += is_digit(name[i]);
        small += name[i] >= 'a';
    }
    return run >= HASH_DIGITS && digits >= HASH_TENS && (small == 0 || small + digits == run) &&
           (at + run == length || !is_letter(name[at + run]));
}

/* How long the number is that begins there; 0: none does. */
static size_t number_at(const char *name, size_t at, size_t length)
{
    size_t run = begins_word(name, at) ? hex_run(name + at, length - at) : 0, tens = 0;

    if (run && is_hash(name, at, run, length))
        return run;
    while (at + tens < length && is_digit(name[at + tens]))
        tens++;
    if (tens != 1 || name[at] != '0' || at + 2 >= length || name[at + 1] != 'x')
        return tens;
    run = hex_run(name + at + 2, length - at - 2);
    return run ? 2 + run : tens;
}

static bool has_digit(const char *name, size_t length)
{
    for (size_t at = 0; at < length; at++)
        if (is_digit(name[at]))
            return true;
    return false;
}

/* False: there is no number in it, or it is too long. */
static bool fold(const char *name, size_t length, struct shared_name *shared)
{
    bool found = false;

    shared->length = 0;
    if (length > GENERATED_NAME_MAX || !has_digit(name, length))
        return false;
    for (size_t at = 0; at < length;) {
        size_t run = is_hex(name[at]) ? number_at(name, at, length) : 0;

        found |= run != 0;
        shared->text[shared->length++] = run ? '#' : name[at];
        at += run ? run : 1;
    }
    return found;
}

/* FNV-1a [G. Fowler, L. C. Noll, K.-P. Vo], of 64 bits. Never 0. */
static uint64_t hash_of(const char *name, size_t length, uint64_t seed)
{
    uint64_t hash = 14695981039346656037u ^ seed;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)class_name__dotted(name[i])) * 1099511628211u;
    return hash ? hash : 1;
}

/* A page that is read before it is written is mapped twice, and the second time the other
 * processors are told. Nearly all that is looked for is written next. The exchange is a write for
 * the page, whatever it finds. */
static void touch(struct generated_name *slot)
{
    uint64_t nothing = 0;

    (void)__atomic_compare_exchange_n(&slot->hash, &nothing, 0, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
}

/* Under the lock. Its slot, or the free one where it would be. */
static struct generated_name *find(const struct generated_names *names, uint64_t hash)
{
    size_t at = (hash ^ hash >> 32) % GENERATED_NAMES_SLOTS;

    touch(&names->slots[at]);
    while (names->slots[at].hash && names->slots[at].hash != hash)
        at = (at + 1) % GENERATED_NAMES_SLOTS;
    return &names->slots[at];
}

static void take(struct generated_names *names, uint64_t hash)
{
    struct generated_name *slot = find(names, hash);

    names->used += slot->hash == 0;
    slot->hash = hash;
}

/* Under the lock. */
static bool is_shared(struct generated_names *names, uint64_t name, uint64_t kind, bool is_made)
{
    if (find(names, name)->hash)
        return false;
    if (names->used + 2 > FULL || find(names, kind)->count >= GENERATED_NAMES_KEPT)
        return true;
    if (is_made) {
        take(names, kind);
        find(names, kind)->count++;
        take(names, name);
    }
    return false;
}

bool generated_names__shares(struct generated_names *names, const char *name, size_t length,
                             bool is_made, struct shared_name *shared)
{
    bool shares;

    if (!names || !names->slots || !fold(name, length, shared))
        return false;
    pthread_mutex_lock(&names->lock);
    shares = is_shared(names, hash_of(name, length, 0),
                       hash_of(shared->text, shared->length, KIND_SEED), is_made);
    pthread_mutex_unlock(&names->lock);
    return shares;
}

/* A shared name has no number in it that would be replaced: the member begins where it began. */
bool generated_names__shares_member(struct generated_names *names, const char *class_name,
                                    size_t class_length, const char *member, size_t length,
                                    bool is_made, struct shared_name *shared)
{
    char whole[GENERATED_NAME_MAX];
    size_t before = class_length + 1;

    if (!has_digit(member, length) || before + length > sizeof(whole))
        return false;
    memcpy(whole, class_name, before - 1);
    whole[before - 1] = '.';
    memcpy(whole + before, member, length);
    if (!generated_names__shares(names, whole, before + length, is_made, shared))
        return false;
    shared->length -= before;
    memmove(shared->text, shared->text + before, shared->length);
    return true;
}

size_t generated_names__bytes(const struct generated_names *names)
{
    return __atomic_load_n(&names->used, __ATOMIC_RELAXED) * sizeof(struct generated_name);
}
