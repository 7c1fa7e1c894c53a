#define TREADLE_FORMAT_ONLY /* reads stacks, has none */
#include "native/activity/segment_reader.h"

#include "native/activity/whole_characters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SEGMENT_BYTES_MAX (UINT64_C(64) << 20)
#define READ_TRIES        32u

struct segment_reader {
    char path[256];
    int fd;
    uint64_t inode;
    const char *base;
    uint64_t bytes;           /* mapped */
    struct treadle_head head; /* as it was when it was checked */
};

/* Writes the line; always returns false. */
__attribute__((format(printf, 3, 4))) static bool refuse(char *why, size_t why_bytes,
                                                         const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
    return false;
}

static bool check_format(const struct treadle_head *head, char *why, size_t why_bytes)
{
    if (memcmp(head->magic, TREADLE_MAGIC, sizeof(head->magic)) != 0)
        return refuse(why, why_bytes, "no segment of logical stacks, or one that is being made");
    if (head->byte_order != TREADLE_BYTE_ORDER)
        return refuse(why, why_bytes, "byte order %#x, expected %#x", head->byte_order,
                      TREADLE_BYTE_ORDER);
    if (head->format != TREADLE_FORMAT)
        return refuse(why, why_bytes,
                      "format %u of the program's treadle.h, expected %u: use the `treadle` that "
                      "belongs to it",
                      head->format, TREADLE_FORMAT);
    return true;
}

/* An array of records that is at least as large as this reader's idea of a record. */
static bool is_array(uint64_t offset, uint64_t record_bytes, uint64_t least_bytes, uint64_t count)
{
    return offset >= sizeof(struct treadle_head) && offset % 8 == 0 && record_bytes % 4 == 0 &&
           record_bytes >= least_bytes && record_bytes <= 65536 && count <= 65536 &&
           offset + record_bytes * count <= SEGMENT_BYTES_MAX;
}

static bool check_sizes(const struct treadle_head *head, char *why, size_t why_bytes)
{
    if (!is_array(head->identifiers_offset, head->identifier_bytes,
                  sizeof(struct treadle_identifier), head->identifiers_max))
        return refuse(why, why_bytes, "identifiers of %u bytes at byte %u, which cannot be",
                      head->identifier_bytes, head->identifiers_offset);
    if (!is_array(head->slots_offset, head->slot_bytes, head->frames_offset, head->slots_max) ||
        head->slot_bytes % 8 != 0 || head->frames_offset % 8 != 0 ||
        head->frames_offset < offsetof(struct treadle_slot, frames) || head->frame_bytes % 8 != 0 ||
        head->frame_bytes < sizeof(struct treadle_frame) || head->frames_max > SEGMENT_FRAMES_MAX ||
        head->frames_offset + (uint64_t)head->frame_bytes * head->frames_max > head->slot_bytes)
        return refuse(why, why_bytes, "stacks of %u frames of %u bytes at byte %u, which cannot be",
                      head->frames_max, head->frame_bytes, head->slots_offset);
    return true;
}

/* Maps the whole file as it is now. */
static bool map_all(struct segment_reader *reader, uint64_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ, MAP_SHARED, reader->fd, 0);

    if (base == MAP_FAILED)
        return false;
    if (reader->base)
        munmap((void *)(uintptr_t)reader->base, reader->bytes);
    reader->base = base;
    reader->bytes = bytes;
    return true;
}

static bool check_file(struct segment_reader *reader, char *why, size_t why_bytes)
{
    struct stat file;

    if (fstat(reader->fd, &file) != 0)
        return refuse(why, why_bytes, "%s", strerror(errno));
    if (!S_ISREG(file.st_mode))
        return refuse(why, why_bytes, "no regular file");
    if (file.st_uid != geteuid() || (file.st_mode & 077) != 0)
        return refuse(why, why_bytes,
                      "of user %u with mode %03o, expected a file of your own with "
                      "mode 600",
                      file.st_uid, file.st_mode & 0777);
    if ((uint64_t)file.st_size < sizeof(reader->head) || (uint64_t)file.st_size > SEGMENT_BYTES_MAX)
        return refuse(why, why_bytes, "%lld bytes, expected %zu to %llu", (long long)file.st_size,
                      sizeof(reader->head), (unsigned long long)SEGMENT_BYTES_MAX);
    reader->inode = file.st_ino;
    if (pread(reader->fd, &reader->head, sizeof(reader->head), 0) != (ssize_t)sizeof(reader->head))
        return refuse(why, why_bytes, "cannot be read: %s", strerror(errno));
    return check_format(&reader->head, why, why_bytes) &&
           check_sizes(&reader->head, why, why_bytes) &&
           (map_all(reader, (uint64_t)file.st_size) ||
            refuse(why, why_bytes, "cannot be mapped: %s", strerror(errno)));
}

struct segment_reader *segment_reader__open(const char *path, char *why, size_t why_bytes)
{
    struct segment_reader *reader = calloc(1, sizeof(*reader));

    if (!reader) {
        refuse(why, why_bytes, "no memory");
        return NULL;
    }
    snprintf(reader->path, sizeof(reader->path), "%s", path);
    reader->fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (reader->fd < 0)
        refuse(why, why_bytes, "%s", strerror(errno));
    else if (check_file(reader, why, why_bytes))
        return reader;
    segment_reader__close(reader);
    return NULL;
}

bool segment_reader__is_headless(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct treadle_head head = {.pid = 0};
    struct stat file;
    bool headless = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
                    (uint64_t)file.st_size <= SEGMENT_BYTES_MAX &&
                    pread(fd, &head, sizeof(head), 0) >= 0 && !treadle__has_magic(&head);

    if (fd >= 0)
        close(fd);
    return headless;
}

void segment_reader__close(struct segment_reader *reader)
{
    if (!reader)
        return;
    if (reader->base)
        munmap((void *)(uintptr_t)reader->base, reader->bytes);
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader);
}

const char *segment_reader__path(const struct segment_reader *reader)
{
    return reader->path;
}

pid_t segment_reader__pid(const struct segment_reader *reader)
{
    return reader->head.pid;
}

uint64_t segment_reader__start_ticks(const struct segment_reader *reader)
{
    return reader->head.start_ticks;
}

uint64_t segment_reader__inode(const struct segment_reader *reader)
{
    return reader->inode;
}

const char *segment_reader__unrecorded(const struct segment_reader *reader)
{
    switch (reader->head.unrecorded) {
    case TREADLE_RECORDED:
        return NULL;
    case TREADLE_NO_KEY:
        return "it had no thread-specific key left (PTHREAD_KEYS_MAX) when treadle.h asked for one";
    case TREADLE_NO_FORK_HANDLER:
        return "treadle.h could not register a handler of forks (pthread_atfork)";
    default:
        return "for a reason that only a later treadle knows";
    }
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Writes a field of the head, through the file: the mapping is for reading. */
static bool write_field(const struct segment_reader *reader, const void *value, size_t bytes,
                        size_t offset)
{
    return pwrite(reader->fd, value, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool write_watch(const struct segment_reader *reader, uint32_t watch)
{
    return write_field(reader, &watch, sizeof(watch), offsetof(struct treadle_head, watch));
}

/* Readers hold a shared lock on the file while they watch, so that the last one knows that it is.
 */
int segment_reader__watch(struct segment_reader *reader, uint64_t lease_ns)
{
    uint64_t until_ns = monotonic_ns() + lease_ns;
    struct treadle_head now;

    if (flock(reader->fd, LOCK_SH | LOCK_NB) != 0)
        return -errno;
    if (pread(reader->fd, &now, sizeof(now), 0) != (ssize_t)sizeof(now))
        return -EIO;
    if (now.watch == 0 || until_ns > now.watch_until_ns)
        if (!write_field(reader, &until_ns, sizeof(until_ns),
                         offsetof(struct treadle_head, watch_until_ns)))
            return -EIO;
    if (now.watch != 0)
        return 0;
    now.last_watch = now.last_watch + 1 ? now.last_watch + 1 : 2;
    if (!write_field(reader, &now.last_watch, sizeof(now.last_watch),
                     offsetof(struct treadle_head, last_watch)) ||
        !write_watch(reader, now.last_watch))
        return -EIO;
    return 0;
}

void segment_reader__end_watch(struct segment_reader *reader)
{
    if (flock(reader->fd, LOCK_EX | LOCK_NB) == 0)
        (void)write_watch(reader, 0);
    (void)flock(reader->fd, LOCK_UN);
}

static uint32_t load_32(const char *at)
{
    return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static uint64_t load_64(const char *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

/* Maps what the file has grown by, if so many bytes are needed. */
static void grow_to(struct segment_reader *reader, uint64_t bytes)
{
    struct stat file;

    if (bytes > reader->bytes && fstat(reader->fd, &file) == 0 &&
        (uint64_t)file.st_size > reader->bytes && (uint64_t)file.st_size <= SEGMENT_BYTES_MAX)
        (void)map_all(reader, (uint64_t)file.st_size);
}

uint32_t segment_reader__slots(struct segment_reader *reader)
{
    uint32_t used = load_32(reader->base + offsetof(struct treadle_head, slots_used));

    used = used < reader->head.slots_max ? used : reader->head.slots_max;
    grow_to(reader, reader->head.slots_offset + (uint64_t)used * reader->head.slot_bytes);
    if (reader->bytes < reader->head.slots_offset)
        return 0;
    uint64_t there = (reader->bytes - reader->head.slots_offset) / reader->head.slot_bytes;
    return used < there ? used : (uint32_t)there;
}

enum frame_state {
    FRAME_OPEN,
    FRAME_POPPED,
    FRAME_TORN,
};

/* Copies a frame word by word, the check first and once more at the end. */
static enum frame_state copy_frame(const char *from, struct treadle_frame *to)
{
    uint64_t words[sizeof(*to) / 8], number, check;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        words[i] = load_64(from + i * 8);
    memcpy(to, words, sizeof(*to));
    if (load_64(from) != to->check || to->serial == 0)
        return FRAME_TORN;
    switch (to->what >> 32 & 0xff) {
    case TREADLE_TEXT:
        number = treadle__fold(to->parameter);
        break;
    case TREADLE_NUMBER:
        number = to->parameter[0];
        break;
    default:
        number = 0;
    }
    check = treadle__check(to->serial, to->place, to->what, number);
    return to->check == check ? FRAME_OPEN : to->check == ~check ? FRAME_POPPED : FRAME_TORN;
}

static void take_frame(struct segment_frame *frame, const struct treadle_frame *from)
{
    uint32_t length = (uint32_t)(from->what >> 40 & 0xff);

    frame->place = from->place & ~UINT64_C(1); /* the bit says that the frame has an id */
    frame->identifier = (uint32_t)from->what;
    frame->kind = (uint32_t)(from->what >> 32 & 0xff);
    frame->length = length;
    frame->number = (int64_t)from->parameter[0];
    memcpy(frame->text, from->parameter, sizeof(frame->text));
    if (length >= TREADLE_PARAMETER_BYTES) /* may have been cut */
        frame->length = (uint32_t)whole_characters__length(frame->text, TREADLE_PARAMETER_BYTES);
}

/*
 * One look at the stack, from the youngest frame to the oldest. A frame that has been popped since
 * the state was read was open then, or is about to be written over: then the state has not changed.
 * Serial numbers that do not rise say that an older frame is newer than the one above it.
 */
static bool look(const struct segment_reader *reader, const char *slot, struct segment_stack *stack)
{
    uint64_t state = load_64(slot), younger = UINT64_MAX;
    uint64_t open = state & TREADLE_DEPTH_MASK;
    struct treadle_frame frame;

    stack->depth = open < reader->head.frames_max ? (uint32_t)open : reader->head.frames_max;
    for (uint32_t i = stack->depth; i-- > 0;) {
        enum frame_state found = copy_frame(
            slot + reader->head.frames_offset + (size_t)i * reader->head.frame_bytes, &frame);

        if (found != FRAME_OPEN && load_64(slot) == state && i + 1 == open) {
            stack->depth = i;
            continue;
        }
        if (found == FRAME_TORN || frame.serial >= younger)
            return false;
        younger = frame.serial;
        take_frame(&stack->frames[i], &frame);
    }
    return true;
}

enum segment_read segment_reader__read(const struct segment_reader *reader, uint32_t slot,
                                       struct segment_stack *stack)
{
    const char *at =
        reader->base + reader->head.slots_offset + (size_t)slot * reader->head.slot_bytes;
    uint32_t watch = load_32(reader->base + offsetof(struct treadle_head, watch));

    stack->depth = 0;
    stack->tid = (pid_t)load_32(at + offsetof(struct treadle_slot, tid));
    if (stack->tid <= 0)
        return SEGMENT_NO_THREAD;
    if (watch && load_32(at + offsetof(struct treadle_slot, watch)) != watch)
        return SEGMENT_STACK;
    for (unsigned tried = 0; tried < READ_TRIES; tried++)
        if (look(reader, at, stack))
            return SEGMENT_STACK;
    stack->depth = 0;
    return SEGMENT_TORN;
}

size_t segment_reader__identifier(const struct segment_reader *reader, uint32_t index,
                                  char text[TREADLE_IDENTIFIER_BYTES])
{
    uint64_t offset =
        reader->head.identifiers_offset + (uint64_t)index * reader->head.identifier_bytes;
    uint32_t length;

    if (index >= reader->head.identifiers_max ||
        offset + sizeof(struct treadle_identifier) > reader->bytes)
        return 0;
    length = load_32(reader->base + offset);
    length = length < TREADLE_IDENTIFIER_BYTES ? length : TREADLE_IDENTIFIER_BYTES;
    memcpy(text, reader->base + offset + offsetof(struct treadle_identifier, text), length);
    return length < TREADLE_IDENTIFIER_BYTES ? length : whole_characters__length(text, length);
}

/* Where the ring is said to be: only the number of parts changes while the process runs. */
static bool is_ring(const struct segment_reader *reader, uint32_t max)
{
    return max && max <= SEGMENT_PARTS_MAX && reader->head.part_bytes % 8 == 0 &&
           is_array(reader->head.parts_offset, reader->head.part_bytes, sizeof(struct treadle_part),
                    max);
}

uint64_t segment_reader__parts(struct segment_reader *reader, uint32_t *max)
{
    uint64_t end;

    *max = load_32(reader->base + offsetof(struct treadle_head, parts_max));
    if (!is_ring(reader, *max)) {
        *max = 0;
        return 0;
    }
    end = reader->head.parts_offset + (uint64_t)*max * reader->head.part_bytes;
    grow_to(reader, end);
    if (end > reader->bytes) {
        *max = 0;
        return 0;
    }
    return load_64(reader->base + offsetof(struct treadle_head, parts_begun));
}

uint64_t segment_reader__parts_at_open(const struct segment_reader *reader)
{
    return reader->head.parts_begun;
}

static void take_part(struct segment_part *to, const struct treadle_part *from)
{
    to->id[0] = from->id[0];
    to->id[1] = from->id[1];
    to->begin_ns = from->begin_ns;
    to->elapsed_ns = from->end_ns > from->begin_ns ? from->end_ns - from->begin_ns : 0;
    to->cpu_ns = from->cpu_ns < to->elapsed_ns ? from->cpu_ns : to->elapsed_ns;
    to->tid = from->tid;
    to->flags = from->flags;
    to->depth = from->depth;
    to->count = from->depth < TREADLE_FRAMES ? from->depth : TREADLE_FRAMES;
    for (uint32_t i = 0; i < to->count; i++)
        take_frame(&to->frames[i], &from->frames[i]);
}

enum segment_part_read segment_reader__read_part(const struct segment_reader *reader, uint64_t turn,
                                                 struct segment_part *part)
{
    uint32_t max = load_32(reader->base + offsetof(struct treadle_head, parts_max));
    uint64_t offset = reader->head.parts_offset, words[sizeof(struct treadle_part) / 8], state;
    struct treadle_part copy;

    if (!is_ring(reader, max))
        return SEGMENT_PART_GONE;
    offset += turn % max * reader->head.part_bytes;
    if (offset + sizeof(copy) > reader->bytes)
        return SEGMENT_PART_GONE;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        words[i] = load_64(reader->base + offset + i * 8);
    memcpy(&copy, words, sizeof(copy));
    state = copy.state & TREADLE_PART_STATE_MASK;
    if (copy.state >> TREADLE_PART_STATE_BITS > turn)
        return SEGMENT_PART_GONE;
    if (copy.state >> TREADLE_PART_STATE_BITS < turn || state < TREADLE_PART_OPEN ||
        copy.check != treadle__part_check(&copy, copy.state))
        return SEGMENT_NO_PART;
    take_part(part, &copy);
    return state == TREADLE_PART_OPEN ? SEGMENT_OPEN_PART : SEGMENT_PART;
}

struct segment_losses segment_reader__losses(const struct segment_reader *reader)
{
    const char *base = reader->base;
    struct segment_losses losses = {
        .lost_threads = load_64(base + offsetof(struct treadle_head, lost_threads)),
        .lost_identifiers = load_64(base + offsetof(struct treadle_head, lost_identifiers)),
        .cut_identifiers = load_64(base + offsetof(struct treadle_head, cut_identifiers)),
        .lost_parts = load_64(base + offsetof(struct treadle_head, lost_parts)),
    };
    uint32_t used = load_32(base + offsetof(struct treadle_head, slots_used));

    for (uint32_t i = 0; i < used && i < reader->head.slots_max; i++) {
        uint64_t at = reader->head.slots_offset + (uint64_t)i * reader->head.slot_bytes;

        if (at + reader->head.slot_bytes > reader->bytes)
            break;
        losses.lost_frames += load_64(base + at + offsetof(struct treadle_slot, lost_frames));
        losses.cut_parameters += load_64(base + at + offsetof(struct treadle_slot, cut_parameters));
    }
    return losses;
}
