#include "native/unwind/libunwind_walker.h"

#include "native/unwind/walked_stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often a thread tries to enter, some nanoseconds apart. */
#define ENTER_TRIES 2000u

/* A step reads some hundred words of the frame sections; a damaged image is stopped here. */
#define READS_MAX 100000u

/* Code may keep words below sp, and a row may name a word that was popped already. */
#define RED_ZONE 128u

#define TABLE_ENCODING 0x3bu /* signed, four bytes, relative to the header: the usual one */

#define TEXT_OF(word) #word
#define NAME_OF(word) TEXT_OF(word)

/* SYMBOL(step) is "_Ux86_64_step" on x86-64. */
#define SYMBOL(name) NAME_OF(UNW_OBJ(name))

#if defined(__x86_64__)
#define LIBRARY "libunwind-x86_64.so.8"
enum { NUMBER_OF_FP = UNW_X86_64_RBP, NUMBER_OF_PC = UNW_X86_64_RIP };
static const int preserved_numbers[PRESERVED_REGISTERS] = {
    UNW_X86_64_RBX, UNW_X86_64_R12, UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15, UNW_X86_64_R10};
#elif defined(__aarch64__)
#define LIBRARY "libunwind-aarch64.so.8"
enum { NUMBER_OF_FP = UNW_AARCH64_X29, NUMBER_OF_PC = UNW_AARCH64_PC };
static const int preserved_numbers[PRESERVED_REGISTERS] = {
    UNW_AARCH64_X19, UNW_AARCH64_X20, UNW_AARCH64_X21, UNW_AARCH64_X22,
    UNW_AARCH64_X23, UNW_AARCH64_X24, UNW_AARCH64_X25, UNW_AARCH64_X26,
    UNW_AARCH64_X27, UNW_AARCH64_X28, UNW_AARCH64_X30};
#else
#define LIBRARY NULL
enum { NUMBER_OF_FP = -1, NUMBER_OF_PC = UNW_REG_IP };
static const int preserved_numbers[PRESERVED_REGISTERS] = {-1};
#endif

typedef int (*search_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *, unw_proc_info_t *, int,
                            void *);

struct libunwind_walker {
    void *library;
    unw_addr_space_t space;
    int (*init)(unw_cursor_t *, unw_addr_space_t, void *);
    int (*step)(unw_cursor_t *);
    int (*get)(unw_cursor_t *, int, unw_word_t *);
    search_table search;
    unw_addr_space_t (*new_space)(unw_accessors_t *, int);
    void (*delete_space)(unw_addr_space_t);
    _Atomic(pthread_t) inside; /* the thread that is in libunwind; 0: none */
};

/* What libunwind's questions during one step are answered from. */
struct step {
    const struct libunwind_walker *walker;
    const struct image_frames *frames; /* NULL: there are none */
    const struct frame_registers *registers;
    struct walked_stack stack;
    uint64_t address; /* in the frame's code */
    uint64_t entry;   /* address of the entry for it in the header's table */
    uint64_t start, end;
    unsigned reads;
};

/* Reads a word of a section by its address; bytes of the word beside the section are 0. False: no
 * byte of it is in the section. */
static bool read_section(const struct frame_section *section, uint64_t address, unw_word_t *value)
{
    uint64_t before = address < section->address ? section->address - address : 0;
    uint64_t offset = address + before - section->address;
    uint64_t bytes = sizeof(*value) - before;

    if (before >= sizeof(*value) || offset >= section->length)
        return false;
    if (bytes > section->length - offset)
        bytes = section->length - offset;
    *value = 0;
    memcpy((char *)value + before, section->bytes + offset, (size_t)bytes);
    return true;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                      void *context)
{
    struct step *step = context;

    (void)space;
    if (write || !step->frames || step->reads++ >= READS_MAX)
        return -UNW_EINVAL;
    if (walked_stack__holds(&step->stack, address))
        *value = walked_stack__load(address);
    else if (address >= step->start && address < step->end)
        *value = 0; /* on arm64, libunwind looks whether this is the kernel's trampoline */
    else if (!read_section(&step->frames->copy.header, address, value) &&
             !read_section(&step->frames->copy.eh_frame, address, value))
        return -UNW_EINVAL;
    return 0;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
                      void *context)
{
    const struct step *step = context;
    const struct frame_registers *registers = step->registers;

    (void)space;
    if (write)
        return -UNW_EREADONLYREG;
    if (number == NUMBER_OF_PC) {
        *value = step->address;
    } else if (number == UNW_REG_SP) {
        *value = registers->sp;
    } else if (number == NUMBER_OF_FP && registers->fp_known) {
        *value = registers->fp;
    } else {
        for (int i = 0; registers->preserved && i < PRESERVED_REGISTERS; i++)
            if (number == preserved_numbers[i]) {
                *value = registers->preserved->value[i];
                return 0;
            }
        return -UNW_EBADREG;
    }
    return 0;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t address, unw_proc_info_t *info,
                          int need, void *context)
{
    const struct step *step = context;
    unw_dyn_info_t table = {
        .start_ip = step->start, .end_ip = step->end, .format = UNW_INFO_FORMAT_REMOTE_TABLE};

    if (!step->frames || address < step->start || address >= step->end)
        return -UNW_ENOINFO;
    table.u.rti.segbase = step->frames->copy.header.address;
    table.u.rti.table_data = step->entry;
    table.u.rti.table_len = 1;
    return step->walker->search(space, address, &table, info, need, context);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *context)
{
    (void)space, (void)info, (void)context;
}

static int no_list(unw_addr_space_t space, unw_word_t *list, void *context)
{
    (void)space, (void)list, (void)context;
    return -UNW_ENOINFO;
}

static int no_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
                    void *context)
{
    (void)space, (void)number, (void)value, (void)write, (void)context;
    return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *context)
{
    (void)space, (void)cursor, (void)context;
    return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t space, unw_word_t address, char *name, size_t room,
                   unw_word_t *offset, void *context)
{
    (void)space, (void)address, (void)name, (void)room, (void)offset, (void)context;
    return -UNW_ENOINFO;
}

static bool resolve(struct libunwind_walker *walker)
{
    const struct {
        const char *name;
        void *function; /* where its pointer goes */
    } wanted[] = {
        {SYMBOL(init_remote), &walker->init},
        {SYMBOL(step), &walker->step},
        {SYMBOL(get_reg), &walker->get},
        {SYMBOL(dwarf_search_unwind_table), &walker->search},
        {SYMBOL(create_addr_space), &walker->new_space},
        {SYMBOL(destroy_addr_space), &walker->delete_space},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        void *function = dlsym(walker->library, wanted[i].name);

        if (!function)
            return false;
        memcpy(wanted[i].function, &function, sizeof(function));
    }
    return true;
}

#define STANDARD_FILES (STDERR_FILENO + 1)

/* Takes the numbers of closed standard files: how many. */
static unsigned take_standard_files(int taken[STANDARD_FILES])
{
    unsigned count = 0;

    while (count < STANDARD_FILES) {
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (fd < 0)
            break;
        if (fd >= STANDARD_FILES) {
            close(fd);
            break;
        }
        taken[count++] = fd;
    }
    return count;
}

/* The first cursor sets up the library's own state. A pipe is part of that, which it keeps: what a
 * program with closed standard files prints must not get into the pipe. */
static void set_up_library(struct libunwind_walker *walker)
{
    struct frame_registers registers = {0};
    struct step nothing = {.walker = walker, .registers = &registers};
    unw_cursor_t cursor;
    int taken[STANDARD_FILES];
    unsigned count = take_standard_files(taken);

    (void)walker->init(&cursor, walker->space, &nothing);
    while (count > 0)
        close(taken[--count]);
}

static int create_space(struct libunwind_walker *walker)
{
    unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                 .put_unwind_info = put_unwind_info,
                                 .get_dyn_info_list_addr = no_list,
                                 .access_mem = access_mem,
                                 .access_reg = access_reg,
                                 .access_fpreg = no_fpreg,
                                 .resume = no_resume,
                                 .get_proc_name = no_name};

    walker->space = walker->new_space(&accessors, 0); /* has no cache unless one is asked for */
    if (!walker->space)
        return -ENOMEM;
    set_up_library(walker);
    return 0;
}

int libunwind_walker__open(struct libunwind_walker **walker)
{
    static const char *const library = LIBRARY;
    struct libunwind_walker *new = calloc(1, sizeof(*new));
    int error;

    *walker = NULL;
    if (!new)
        return -ENOMEM;
    /* A symbol that is bound when it is first used would be bound in a handler. */
    new->library = library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    error = new->library &&resolve(new) ? create_space(new) : -ELIBACC;
    if (error)
        libunwind_walker__close(new);
    else
        *walker = new;
    return error;
}

void libunwind_walker__close(struct libunwind_walker *walker)
{
    if (!walker)
        return;
    if (walker->space)
        walker->delete_space(walker->space);
    if (walker->library)
        (void)dlclose(walker->library);
    free(walker);
}

static void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool enter(struct libunwind_walker *walker)
{
    for (unsigned i = 0; i < ENTER_TRIES; i++) {
        pthread_t nobody = 0;

        if (atomic_compare_exchange_strong(&walker->inside, &nobody, pthread_self()))
            return true;
        rest();
    }
    return false;
}

static void leave(struct libunwind_walker *walker)
{
    atomic_store(&walker->inside, 0);
}

void libunwind_walker__abandon(struct libunwind_walker *walker)
{
    if (walker && atomic_load(&walker->inside) == pthread_self())
        leave(walker);
}

/* Finds the function's description: its place in the table and its bounds. False: there is none. */
static bool find_function(struct step *step, bool *signal_frame)
{
    const struct image_frames *frames = step->frames;
    const struct frame_section *eh_frame = &frames->copy.eh_frame;
    struct call_frame_entry entry;
    uint64_t index, description;

    if (frames->header.table_encoding != TABLE_ENCODING ||
        !frame_header__find(&frames->copy.header, &frames->header, step->address, &index))
        return false;
    description = frame_header__description(&frames->copy.header, &frames->header, index);
    if (description < eh_frame->address ||
        call_frame_info__entry(eh_frame, description - eh_frame->address, &entry) != 1 ||
        !entry.understood || step->address - entry.start >= entry.size)
        return false;
    step->entry = frames->copy.header.address + frames->header.table + 8 * index;
    step->start = entry.start;
    step->end = entry.start + entry.size;
    *signal_frame = entry.signal_frame;
    return true;
}

/* Takes over what libunwind found, if it leads up the stack. On processors whose calls push
 * nothing, a function that has pushed nothing has an empty frame. */
static enum unwind_result take(const struct libunwind_walker *walker, unw_cursor_t *cursor,
                               struct frame_registers *registers, uint64_t stack_end,
                               bool may_be_empty)
{
    unw_word_t pc = 0, sp = 0, value;

    (void)walker->get(cursor, UNW_REG_IP, &pc);
    (void)walker->get(cursor, UNW_REG_SP, &sp);
    if (pc == 0)
        return UNWIND_END;
    if (sp < registers->sp || sp > stack_end || sp % STACK_WORD ||
        (sp == registers->sp && !may_be_empty))
        return UNWIND_BAD_FRAME;
    registers->fp_known = walker->get(cursor, NUMBER_OF_FP, &value) == 0;
    if (registers->fp_known)
        registers->fp = value;
    for (int i = 0; registers->preserved && i < PRESERVED_REGISTERS; i++)
        registers->preserved->value[i] =
            walker->get(cursor, preserved_numbers[i], &value) == 0 ? value : 0;
    registers->pc = pc;
    registers->sp = sp;
    return UNWIND_STEPPED;
}

static enum unwind_result step_in(const struct libunwind_walker *walker, struct step *step,
                                  struct frame_registers *registers, uint64_t stack_end,
                                  bool may_be_empty)
{
    /* libunwind notes where registers are and reads them later, so it reads a copy of the registers
     * as they were. */
    struct preserved_registers preserved;
    struct frame_registers before = *registers;
    unw_cursor_t cursor;
    int result;

    if (before.preserved) {
        preserved = *before.preserved;
        before.preserved = &preserved;
    }
    step->registers = &before;
    result = walker->init(&cursor, walker->space, step);
    if (result == 0)
        result = walker->step(&cursor);
    if (result == 0)
        return UNWIND_END;
    return result > 0 ? take(walker, &cursor, registers, stack_end, may_be_empty)
                      : UNWIND_BAD_FRAME;
}

enum unwind_result libunwind_walker__step(struct libunwind_walker *walker,
                                          const struct image_frames *frames,
                                          struct frame_registers *registers, uint64_t stack_end,
                                          bool is_return_address)
{
    struct step step = {.walker = walker,
                        .frames = frames,
                        .stack = {registers->sp - RED_ZONE, stack_end},
                        .address = registers->pc - is_return_address};
    bool signal_frame, may_be_empty = SIGNAL_FRAMES_ARE_READ && !is_return_address;
    enum unwind_result result;

    if (registers->sp % STACK_WORD || registers->sp < RED_ZONE || registers->sp >= stack_end)
        return UNWIND_BAD_FRAME;
    if (!find_function(&step, &signal_frame))
        return UNWIND_NO_TABLE;
    if (signal_frame && SIGNAL_FRAMES_ARE_READ)
        return frame_registers__leave_signal_frame(registers, stack_end) ? UNWIND_STEPPED
                                                                         : UNWIND_BAD_FRAME;
    if (!enter(walker))
        return UNWIND_BUSY;
    result = step_in(walker, &step, registers, stack_end, may_be_empty);
    leave(walker);
    if (result == UNWIND_STEPPED)
        registers->interrupted = signal_frame;
    return result;
}
