#include "native/glob_list.h"

#include "native/hash_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of editors that write UTF-8 so */
#define FILE_BYTES_MAX  (64u << 20)

/* FNV-1a: the hash of each beginning of a text is on the way to the hash of the whole. */
#define HASH_BEGIN 2166136261u
#define HASH_PRIME 16777619u

/* What a glob asks of the text behind its literal part. */
struct glob_tail {
    struct glob_tail *next;
    const char *glob; /* begins with a star */
    size_t length;
};

/* The globs of one literal part. */
struct glob_group {
    UT_hash_handle hh;
    const char *literal;
    struct glob_tail *tails;
    bool is_name;  /* the literal part alone is in the list */
    bool is_scope; /* it ends in the last dot of a longer literal part */
};

/* The texts that all the pointers lead into. */
struct glob_source {
    struct glob_source *next;
    size_t length;
    char bytes[];
};

struct glob_list {
    struct glob_group *groups;
    struct glob_source *sources;
    bool *has_tails; /* by a literal part's length: there are groups with tails */
    size_t lengths;  /* in has_tails */
};

bool glob__matches(const char *glob, size_t glob_length, const char *text, size_t text_length)
{
    const char *glob_end = glob + glob_length, *text_end = text + text_length;
    const char *star = NULL, *retry = NULL;

    while (text < text_end)
        if (glob < glob_end && *glob == '*') {
            star = glob++;
            retry = text;
        } else if (glob < glob_end && *glob == *text) {
            glob++;
            text++;
        } else if (star) {
            glob = star + 1;
            text = ++retry;
        } else {
            return false;
        }
    while (glob < glob_end && *glob == '*')
        glob++;
    return glob == glob_end;
}

static uint32_t hash_step(uint32_t hash, char byte)
{
    return (hash ^ (uint8_t)byte) * HASH_PRIME;
}

static struct glob_group *find(const struct glob_list *list, const char *text, size_t length,
                               uint32_t hash)
{
    struct glob_group *found = NULL;

    HASH_FIND_BYHASHVALUE(hh, list->groups, text, length, hash, found);
    return found;
}

/* The group of a literal part, made if need be; NULL without memory. */
static struct glob_group *group(struct glob_list *list, const char *literal, size_t length)
{
    struct glob_group *made;
    uint32_t hash = HASH_BEGIN;

    for (size_t i = 0; i < length; i++)
        hash = hash_step(hash, literal[i]);
    made = find(list, literal, length, hash);
    if (made)
        return made;
    made = calloc(1, sizeof(*made));
    if (!made)
        return NULL;
    made->literal = literal;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, list->groups, made->literal, length, hash, made);
    if (made->hh.tbl)
        return made;
    free(made);
    return NULL;
}

static int note_length(struct glob_list *list, size_t length)
{
    if (length >= list->lengths) {
        bool *grown = realloc(list->has_tails, (length + 1) * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        memset(grown + list->lengths, 0, (length + 1 - list->lengths) * sizeof(*grown));
        list->has_tails = grown;
        list->lengths = length + 1;
    }
    list->has_tails[length] = true;
    return 0;
}

static int add_tail(struct glob_list *list, struct glob_group *of, const char *glob, size_t length,
                    size_t literal_length)
{
    struct glob_tail *tail;

    if (note_length(list, literal_length) != 0)
        return -ENOMEM;
    tail = calloc(1, sizeof(*tail));
    if (!tail)
        return -ENOMEM;
    *tail = (struct glob_tail){of->tails, glob + literal_length, length - literal_length};
    of->tails = tail;
    return 0;
}

static int add_glob(struct glob_list *list, const char *glob, size_t length)
{
    const char *star = memchr(glob, '*', length);
    size_t literal_length = star ? (size_t)(star - glob) : length;
    const char *dot = memrchr(glob, '.', literal_length);
    struct glob_group *own = group(list, glob, literal_length);

    if (!own)
        return -ENOMEM;
    if (dot && dot + 1 < glob + length) {
        struct glob_group *scope = group(list, glob, (size_t)(dot + 1 - glob));

        if (!scope)
            return -ENOMEM;
        scope->is_scope = true;
    }
    if (star)
        return add_tail(list, own, glob, length, literal_length);
    own->is_name = true;
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* One line of a file, which may hold a comment or nothing. */
static int add_line(struct glob_list *list, const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] == '#' && (i == 0 || is_blank(line[i - 1])))
            length = i;
    while (length && is_blank(line[0])) {
        line++;
        length--;
    }
    while (length && is_blank(line[length - 1]))
        length--;
    return length ? add_glob(list, line, length) : 0;
}

/* Room for so many bytes, which the list owns. */
static struct glob_source *source(struct glob_list *list, size_t length)
{
    struct glob_source *made = malloc(sizeof(*made) + length);

    if (!made)
        return NULL;
    made->length = length;
    made->next = list->sources;
    list->sources = made;
    return made;
}

static int read_all(int fd, struct glob_source *into)
{
    size_t used = 0;

    while (used < into->length) {
        ssize_t got = read(fd, into->bytes + used, into->length - used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        used += (size_t)got;
    }
    into->length = used;
    return 0;
}

/* The file's content; NULL with *error set. Only of a regular file: no other has a known end. */
static const struct glob_source *load(struct glob_list *list, const char *path, int *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct glob_source *content = NULL;
    struct stat file = {0};

    *error = fd < 0 || fstat(fd, &file) != 0 ? -errno : 0;
    if (!*error && !S_ISREG(file.st_mode))
        *error = S_ISDIR(file.st_mode) ? -EISDIR : -ESPIPE;
    if (!*error && file.st_size > (off_t)FILE_BYTES_MAX)
        *error = -EFBIG;
    if (!*error) {
        content = source(list, (size_t)file.st_size);
        *error = content ? read_all(fd, content) : -ENOMEM;
    }
    if (fd >= 0)
        close(fd);
    return *error ? NULL : content;
}

static int add_file(struct glob_list *list, const char *path, char *message, size_t message_bytes)
{
    const char *line, *end;
    int error;
    const struct glob_source *content = load(list, path, &error);

    if (!content) {
        snprintf(message, message_bytes, "%s: cannot be read: %s", path,
                 error == -ESPIPE ? "not a regular file" : strerror(-error));
        return error;
    }
    line = content->bytes;
    end = line + content->length;
    if (content->length >= strlen(BYTE_ORDER_MARK) &&
        memcmp(line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
        line += strlen(BYTE_ORDER_MARK);
    while (line < end && !error) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));

        if (!line_end)
            line_end = end;
        error = add_line(list, line, (size_t)(line_end - line));
        line = line_end + 1;
    }
    return error;
}

/* `items` is the list's own copy, in which each item gets its end. */
static int add_items(struct glob_list *list, char *items, char *message, size_t message_bytes)
{
    char *rest = NULL;
    int error = 0;

    for (char *item = strtok_r(items, ";", &rest); item && !error;
         item = strtok_r(NULL, ";", &rest))
        error = item[0] == '@' ? add_file(list, item + 1, message, message_bytes)
                               : add_glob(list, item, strlen(item));
    return error;
}

int glob_list__new(struct glob_list **list, const char *text, char *message, size_t message_bytes)
{
    struct glob_list *made = calloc(1, sizeof(*made));
    struct glob_source *items = made ? source(made, strlen(text) + 1) : NULL;
    int error = items ? 0 : -ENOMEM;

    snprintf(message, message_bytes, "no memory for so many globs");
    if (items) {
        memcpy(items->bytes, text, items->length);
        error = add_items(made, items->bytes, message, message_bytes);
    }
    if (error) {
        glob_list__delete(made);
        return error;
    }
    message[0] = '\0';
    *list = made;
    return 0;
}

bool glob_list__is_same(const struct glob_list *a, const struct glob_list *b)
{
    const struct glob_source *mine, *other;

    if (!a || !b)
        return a == b;
    for (mine = a->sources, other = b->sources; mine && other;
         mine = mine->next, other = other->next)
        if (mine->length != other->length || memcmp(mine->bytes, other->bytes, mine->length) != 0)
            return false;
    return mine == other;
}

static void delete_group(struct glob_group *of)
{
    while (of->tails) {
        struct glob_tail *next = of->tails->next;

        free(of->tails);
        of->tails = next;
    }
    free(of);
}

void glob_list__delete(struct glob_list *list)
{
    struct glob_group *at, *next;

    if (!list)
        return;
    HASH_ITER (hh, list->groups, at, next) {
        HASH_DELETE(hh, list->groups, at);
        delete_group(at);
    }
    while (list->sources) {
        struct glob_source *rest = list->sources->next;

        free(list->sources);
        list->sources = rest;
    }
    free(list->has_tails);
    free(list);
}

typedef bool (*test_tail)(const struct glob_tail *tail, const char *rest, size_t length);

static bool tail_matches(const struct glob_tail *tail, const char *rest, size_t length)
{
    return glob__matches(tail->glob, tail->length, rest, length);
}

/* A glob that ends in a star and matches a text matches all that begin with it. */
static bool tail_takes_all(const struct glob_tail *tail, const char *rest, size_t length)
{
    return tail->glob[tail->length - 1] == '*' && tail_matches(tail, rest, length);
}

static bool tail_is_there(const struct glob_tail *tail, const char *rest, size_t length)
{
    (void)tail, (void)rest, (void)length;
    return true;
}

/* Whether a glob whose literal part the text begins with passes the test. *whole then is the group
 * of the whole text, or NULL. */
static bool any_tail(const struct glob_list *list, const char *text, size_t length, test_tail test,
                     const struct glob_group **whole, unsigned *looks)
{
    uint32_t hash = HASH_BEGIN;
    size_t at = 0;

    *whole = NULL;
    for (;; at++) {
        const struct glob_group *found = NULL;

        if ((at < list->lengths && list->has_tails[at]) || at == length) {
            ++*looks;
            found = find(list, text, at, hash);
        }
        for (const struct glob_tail *tail = found ? found->tails : NULL; tail; tail = tail->next) {
            ++*looks;
            if (test(tail, text + at, length - at))
                return true;
        }
        if (at == length) {
            *whole = found;
            return false;
        }
        hash = hash_step(hash, text[at]);
    }
}

bool glob_list__matches(const struct glob_list *list, const char *text, size_t length,
                        unsigned *looks)
{
    const struct glob_group *whole;
    unsigned unused = 0;

    return any_tail(list, text, length, tail_matches, &whole, looks ? looks : &unused) ||
           (whole && whole->is_name);
}

bool glob_list__reaches_into(const struct glob_list *list, const char *scope, size_t length)
{
    const struct glob_group *whole;
    unsigned looks = 0;

    return any_tail(list, scope, length, tail_is_there, &whole, &looks) ||
           (whole && whole->is_scope);
}

bool glob_list__takes_whole(const struct glob_list *list, const char *scope, size_t length)
{
    const struct glob_group *whole;
    unsigned looks = 0;

    return any_tail(list, scope, length, tail_takes_all, &whole, &looks);
}

static const struct glob_group *find_literal(const struct glob_list *list, const char *text,
                                             size_t length)
{
    uint32_t hash = HASH_BEGIN;

    for (size_t i = 0; i < length; i++)
        hash = hash_step(hash, text[i]);
    return find(list, text, length, hash);
}

bool glob_list__names(const struct glob_list *list, const char *text, size_t length)
{
    const struct glob_group *found = find_literal(list, text, length);
    const char *dot = memrchr(text, '.', length);
    const struct glob_tail *tail;

    if (found && found->is_name)
        return true;
    found = dot ? find_literal(list, text, (size_t)(dot + 1 - text)) : NULL;
    for (tail = found ? found->tails : NULL; tail; tail = tail->next)
        if (tail->length == 1)
            return true;
    return false;
}
