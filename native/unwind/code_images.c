#include "native/unwind/code_images.h"

#include "native/unwind/code_image.h"
#include "native/unwind/image_ranges.h"
#include "native/unwind/image_scan.h"
#include "native/unwind/libunwind_walker.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Bounds for a process that loads and unloads libraries for ever. Beyond them new images are left
 * out, or have no table. */
#define IMAGES_MAX      4096u
#define TABLE_BYTES_MAX (UINT64_C(256) << 20)

struct code_images {
    struct image_ranges ranges;
    struct image_scan scan;
    enum unwind_engine engine;
    struct libunwind_walker *walker; /* NULL unless the engine is libunwind */
    struct code_image *known;        /* every image ever seen, linked */
    struct code_images_count count;
};

/* True if rows of call frame information become rules on this processor. */
static bool has_tables(void)
{
    return tracked_registers.number[TRACKED_FP] != UINT64_MAX;
}

enum unwind_engine unwind_engine__default(void)
{
    return has_tables() ? UNWIND_WITH_TABLES : UNWIND_WITH_LIBUNWIND;
}

struct code_images *code_images__new(void)
{
    struct code_images *images = calloc(1, sizeof(*images));

    if (images)
        images->engine = has_tables() ? UNWIND_WITH_TABLES : UNWIND_WITH_NOTHING;
    return images;
}

int code_images__use(struct code_images *images, enum unwind_engine engine)
{
    struct libunwind_walker *walker = NULL;
    int error = 0;

    if (engine == UNWIND_WITH_TABLES && !has_tables())
        return -ENOTSUP;
    if (engine == UNWIND_WITH_LIBUNWIND)
        error = libunwind_walker__open(&walker);
    if (error)
        return error;
    libunwind_walker__close(images->walker);
    images->walker = walker;
    images->engine = engine;
    return 0;
}

enum unwind_engine code_images__engine(const struct code_images *images)
{
    return images->engine;
}

static void delete_image(struct code_image *image)
{
    if (!image)
        return;
    unwind_table__delete(image->own_table);
    frame_copy__free(&image->own_copy);
    free(image->path);
    free(image->build_id);
    free(image);
}

void code_images__delete(struct code_images *images)
{
    if (!images)
        return;
    while (images->known) {
        struct code_image *image = images->known;

        images->known = image->next;
        delete_image(image);
    }
    libunwind_walker__close(images->walker);
    image_ranges__free(&images->ranges);
    image_scan__free(&images->scan);
    free(images);
}

/* The known image that is the scanned one at the same place, even if it was gone in between; or
 * NULL. */
static struct code_image *known_image(const struct code_images *images,
                                      const struct scanned_image *scanned, const char *path)
{
    struct code_image *image = images->known;

    while (image &&
           (image->bias != scanned->bias || image->start != scanned->start ||
            image->end != scanned->end || strcmp(image->build_id, scanned->build_id.text) != 0 ||
            strcmp(image->path, path) != 0))
        image = image->next;
    return image;
}

static bool has_table(const struct code_image *image)
{
    return image->table != NULL;
}

static bool has_frames(const struct code_image *image)
{
    return image->frames.copy.header.bytes != NULL;
}

/* An image of the same build, mapped elsewhere, that has what is asked for; or NULL. */
static const struct code_image *same_build(const struct code_images *images,
                                           const struct code_image *wanted,
                                           bool (*has)(const struct code_image *image))
{
    const struct code_image *image = wanted->build_id[0] ? images->known : NULL;

    while (image && (!has(image) || strcmp(image->build_id, wanted->build_id) != 0 ||
                     image->code_start - image->bias != wanted->code_start - wanted->bias ||
                     image->code_end - image->bias != wanted->code_end - wanted->bias))
        image = image->next;
    return image;
}

static void make_table(struct code_images *images, struct code_image *image,
                       const struct scanned_image *scanned)
{
    struct frame_copy copy;
    struct unwind_source source = {&copy.header, &copy.eh_frame, image->code_start,
                                   image->code_end};
    int error = frame_copy__take(&copy, scanned);

    if (!error) {
        error = unwind_table__new(&image->own_table, &source);
        frame_copy__free(&copy);
    }
    if (error == -ENOMEM)
        images->count.dropped++;
    if (error)
        return;
    image->table = image->own_table;
    images->count.bytes += unwind_table__bytes(image->own_table);
}

static void give_table(struct code_images *images, struct code_image *image,
                       const struct scanned_image *scanned)
{
    const struct code_image *other = same_build(images, image, has_table);

    /* A table counts from the start of the code, so it serves wherever the build is mapped. */
    if (other)
        image->table = other->table;
    else if (images->count.bytes >= TABLE_BYTES_MAX)
        images->count.dropped++;
    else
        make_table(images, image, scanned);
}

static void copy_frames(struct code_images *images, struct code_image *image,
                        const struct scanned_image *scanned)
{
    struct image_frames *frames = &image->frames;
    int error = images->count.bytes < TABLE_BYTES_MAX ? frame_copy__take(&image->own_copy, scanned)
                                                      : -ENOMEM;

    if (error == -ENOMEM)
        images->count.dropped++;
    if (error)
        return;
    frames->copy = image->own_copy;
    images->count.bytes += frames->copy.header.length + frames->copy.eh_frame.length;
    (void)frame_header__read(&frames->copy.header, &frames->header);
}

/* Gives an image its frame sections. Those of another image of the same build are the same bytes,
 * but count from other addresses. */
static void give_frames(struct code_images *images, struct code_image *image,
                        const struct scanned_image *scanned)
{
    const struct code_image *other = same_build(images, image, has_frames);

    if (!other) {
        copy_frames(images, image, scanned);
        return;
    }
    image->frames = other->frames;
    image->frames.copy.header.address += image->bias - other->bias;
    image->frames.copy.eh_frame.address += image->bias - other->bias;
    image->frames.header.eh_frame += image->bias - other->bias;
}

static struct code_image *add_image(struct code_images *images, const struct scanned_image *scanned,
                                    const char *path)
{
    struct code_image *image = calloc(1, sizeof(*image));

    if (!image)
        return NULL;
    image->path = strdup(path);
    image->build_id = strdup(scanned->build_id.text);
    if (!image->path || !image->build_id) {
        delete_image(image);
        return NULL;
    }
    image->bias = scanned->bias;
    image->start = scanned->start;
    image->end = scanned->end;
    image->code_start = scanned->code_start;
    image->code_end = scanned->code_end;
    give_table(images, image, scanned);
    if (images->walker)
        give_frames(images, image, scanned);
    image->next = images->known;
    images->known = image;
    return image;
}

/* How many images are kept, mapped or gone. */
static size_t kept(const struct code_images *images)
{
    return images->count.mapped + images->count.gone;
}

static void recount(struct code_images *images)
{
    images->count.mapped = 0;
    images->count.gone = 0;
    for (const struct code_image *image = images->known; image; image = image->next)
        if (image->mapped)
            images->count.mapped++;
        else
            images->count.gone++;
}

static int mark_mapped(struct code_images *images)
{
    char path[PATH_MAX];

    for (struct code_image *image = images->known; image; image = image->next)
        image->mapped = false;
    recount(images);
    for (size_t i = 0; i < images->scan.count; i++) {
        const struct scanned_image *scanned = &images->scan.images[i];
        struct code_image *image;

        image_scan__path(&images->scan, scanned, path, sizeof(path));
        image = known_image(images, scanned, path);
        if (!image && kept(images) >= IMAGES_MAX) {
            images->count.dropped++;
            continue;
        }
        if (!image) {
            image = add_image(images, scanned, path);
            images->count.mapped++;
        }
        if (!image)
            return -ENOMEM;
        image->mapped = true;
    }
    recount(images);
    return 0;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct image_range *a = left, *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

static int publish_mapped(struct code_images *images)
{
    struct image_range *sorted = calloc(images->count.mapped + 1, sizeof(*sorted));
    size_t count = 0;
    int error;

    if (!sorted)
        return -ENOMEM;
    for (const struct code_image *image = images->known; image; image = image->next)
        if (image->mapped)
            sorted[count++] = (struct image_range){image->code_start, image->code_end, image};
    qsort(sorted, count, sizeof(*sorted), compare_ranges);
    error = image_ranges__publish(&images->ranges, sorted, count);
    free(sorted);
    return error;
}

int code_images__refresh(struct code_images *images)
{
    int error;

    if (!image_scan__is_old(&images->scan))
        return 0;
    error = image_scan__run(&images->scan);
    if (!error)
        error = mark_mapped(images);
    if (!error)
        error = publish_mapped(images);
    if (error)
        image_scan__free(&images->scan); /* so that the next time looks again */
    return error;
}

static const struct unwind_rule *rule_at(const struct code_image *image, uint64_t address,
                                         struct code_function *function)
{
    const struct unwind_rule *rule = NULL;
    uint32_t start, size;

    if (image->table)
        rule = unwind_table__find(image->table, address - image->code_start, &start, &size);
    if (!function)
        return rule;
    function->image = image;
    function->start = (rule ? image->code_start + start : address) - image->bias;
    function->size = rule ? size : 0;
    return rule;
}

/* For code without a row: follows fp, if the return address that fp leads to is in an image. */
static enum unwind_result step_chain(const struct code_images *images,
                                     struct frame_registers *registers, uint64_t stack_end)
{
    uint64_t pc = unwind_rule__chained_pc(registers, stack_end);

    if (pc == 0 || !image_ranges__find(&images->ranges, pc - 1))
        return UNWIND_NO_TABLE;
    unwind_rule__step_chain(registers);
    return UNWIND_STEPPED;
}

static enum unwind_result step_in(const struct code_images *images, const struct code_image *image,
                                  const struct unwind_rule *rule, struct frame_registers *registers,
                                  uint64_t stack_end, bool is_return_address)
{
    enum unwind_result result = UNWIND_NO_TABLE;

    if (images->walker)
        result = libunwind_walker__step(images->walker, &image->frames, registers, stack_end,
                                        is_return_address);
    else if (rule)
        return unwind_rule__step(rule, registers, stack_end);
    return result == UNWIND_NO_TABLE ? step_chain(images, registers, stack_end) : result;
}

enum unwind_result code_images__step(const struct code_images *images,
                                     struct frame_registers *registers, uint64_t stack_end,
                                     bool is_return_address, struct code_function *function)
{
    uint64_t address = registers->pc - is_return_address;
    const struct code_image *image = image_ranges__find(&images->ranges, address);

    if (!image) {
        if (function)
            *function = (struct code_function){0};
        return UNWIND_UNKNOWN_CODE;
    }
    return step_in(images, image, rule_at(image, address, function), registers, stack_end,
                   is_return_address);
}

void code_images__abandon_step(const struct code_images *images)
{
    libunwind_walker__abandon(images->walker);
}

bool code_images__find(const struct code_images *images, uint64_t address,
                       struct code_function *function)
{
    const struct code_image *image = image_ranges__find(&images->ranges, address);

    if (image && function)
        (void)rule_at(image, address, function);
    else if (function)
        *function = (struct code_function){0};
    return image != NULL;
}

const char *code_image__path(const struct code_image *image)
{
    return image->path;
}

const char *code_image__build_id(const struct code_image *image)
{
    return image->build_id;
}

uint64_t code_image__start(const struct code_image *image)
{
    return image->start;
}

uint64_t code_image__end(const struct code_image *image)
{
    return image->end;
}

uint64_t code_image__bias(const struct code_image *image)
{
    return image->bias;
}

struct code_images_count code_images__count(const struct code_images *images)
{
    return images->count;
}
