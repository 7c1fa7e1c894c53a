#include "tools/top/top_screen.h"

#include "native/ledger/ledger_time.h"
#include "tools/command.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/top/terminal_guard.h"
#include "tools/top/top_lines.h"

#include <curses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MOST_MS     1000
#define INTERVAL_LEAST   UINT64_C(100000000)
#define INTERVAL_MOST    UINT64_C(3600000000000)
#define FILTER_BYTES     64u
#define GLOB_BYTES       (FILTER_BYTES + 3u)
#define PATH_LINES_LEAST 4

enum mode {
    MODE_THREADS,
    MODE_HELP,
    MODE_FILTER, /* a name is being typed */
};

struct top_screen {
    struct top_request request; /* the user may change it */
    struct top_readings *readings;
    uint32_t intervals; /* shown so far */
    enum mode mode;
    bool quits;
    bool paused;
    bool is_over; /* there will be no more readings */
    char typed[FILTER_BYTES];
    char glob[GLOB_BYTES];

    struct report_thread selected; /* with a name of its own; or none: the first row */
    bool follows;                  /* `selected` is one */
    uint32_t cursor;               /* the selected row, in the order that is shown */
    uint32_t first;                /* the first row that is seen */
    int page;                      /* rows that are seen */
    uint32_t shown;                /* rows that there are */
};

static void draw_line(int line, int column, int attributes, char *text)
{
    if (line < LINES) {
        size_t room = COLS > column ? (size_t)(COLS - column) : 1;
        char *cut = NULL;

        if (text__columns(text) > room)
            cut = text__printable((struct text){text, strlen(text)}, room);
        (void)attrset(attributes);
        if (attributes & (int)A_REVERSE)
            (void)mvhline(line, 0, ' ', COLS);
        (void)mvaddstr(line, column, cut ? cut : text);
        (void)attrset((int)A_NORMAL);
        free(cut);
    }
    free(text);
}

/* ---- what is selected ---- */

static void forget_selected(struct top_screen *screen)
{
    free((char *)(uintptr_t)screen->selected.name.bytes);
    screen->selected = (struct report_thread){0};
    screen->follows = false;
}

/* Remembers the thread in the row of the cursor, whatever row it is in next time. */
static void select_row(struct top_screen *screen, const struct interval_row *row)
{
    const struct report_thread *thread = interval__thread(screen->readings->interval, row);
    char *name = memory__zeroed(thread->name.length + 1, 1);

    memcpy(name, thread->name.bytes, thread->name.length);
    forget_selected(screen);
    screen->selected = *thread;
    screen->selected.name = (struct text){name, thread->name.length};
    screen->follows = true;
}

static void find_selected(struct top_screen *screen, const struct top_view *view)
{
    screen->shown = view->count;
    for (uint32_t i = 0; screen->follows && i < view->count; i++)
        if (report_thread__is_same(
                &screen->selected,
                interval__thread(view->interval, &view->interval->row[view->order[i]]))) {
            screen->cursor = i;
            return;
        }
    /* It is gone, or nothing was selected. */
    forget_selected(screen);
    screen->cursor = 0;
}

static void move_cursor(struct top_screen *screen, int64_t by)
{
    int64_t to = (int64_t)screen->cursor + by;

    if (!screen->readings->interval || !screen->shown)
        return;
    to = to < 0 ? 0 : to >= screen->shown ? screen->shown - 1 : to;
    uint32_t count;
    uint32_t *order = interval_order__of(screen->readings->interval, screen->request.threads,
                                         screen->request.sort, &count);
    if ((uint64_t)to < count) {
        select_row(screen, &screen->readings->interval->row[order[to]]);
        screen->cursor = (uint32_t)to;
    }
    free(order);
}

/* ---- drawing ---- */

static void draw_path(const struct top_view *view, const struct interval_row *row, int line,
                      int lines)
{
    struct interval_path path = interval_path__of(view->interval, row);
    /* The thread's own step only if it is all there is. */
    uint32_t from = path.count > 1 ? 1 : 0;
    uint32_t room = lines > 1 ? (uint32_t)lines - 1 : 0;
    uint32_t first = path.count > room && path.count - room > from ? path.count - room : from;

    draw_line(line, 0, (int)A_BOLD,
              top_line__path_title(view, row, &path, first > from ? first - from : 0));
    for (uint32_t i = first; i < path.count; i++)
        draw_line(line + 1 + (int)(i - first), 0, 0, top_line__step(view, &path, i));
    free(path.steps);
}

static void draw_rows(struct top_screen *screen, const struct top_view *view, int line, int lines)
{
    struct top_view narrow = *view;

    narrow.columns = view->columns > 2 ? view->columns - 2 : 1;
    struct top_layout layout = top_layout__of(&narrow);
    (void)mvhline(line, 0, ' ', COLS);
    draw_line(line, 2, (int)A_REVERSE, top_line__titles(&narrow, &layout));
    lines--;
    screen->page = lines > 1 ? lines : 1;
    if (screen->cursor < screen->first)
        screen->first = screen->cursor;
    if (screen->cursor >= screen->first + (uint32_t)screen->page)
        screen->first = screen->cursor - (uint32_t)screen->page + 1;
    if (screen->first + (uint32_t)screen->page > view->count)
        screen->first =
            view->count > (uint32_t)screen->page ? view->count - (uint32_t)screen->page : 0;
    for (int i = 0; i < lines && screen->first + (uint32_t)i < view->count; i++) {
        uint32_t at = screen->first + (uint32_t)i;
        bool selected = at == screen->cursor;

        if (selected)
            (void)mvaddstr(line + 1 + i, 0, ">");
        draw_line(line + 1 + i, 2, selected ? (int)A_BOLD : 0,
                  top_line__row(&narrow, &layout, &view->interval->row[view->order[at]]));
    }
}

static void draw_interval(struct top_screen *screen)
{
    uint32_t count;
    uint32_t *order = interval_order__of(screen->readings->interval, screen->request.threads,
                                         screen->request.sort, &count);
    struct top_view view = {.interval = screen->readings->interval,
                            .order = order,
                            .count = count,
                            .columns = COLS > 0 ? (size_t)COLS : 1};

    find_selected(screen, &view);
    for (unsigned i = 0; i < TOP_HEAD_LINES; i++)
        draw_line((int)i, 0, 0, top_line__head(&view, i));
    int body = LINES - (int)TOP_HEAD_LINES - 1;
    int path_lines = body / 3 > PATH_LINES_LEAST ? body / 3 : PATH_LINES_LEAST;
    if (count && (int64_t)count + 1 + path_lines < body)
        path_lines = body - (int)count - 1;
    if (!count || body < 2 * PATH_LINES_LEAST)
        path_lines = 0;
    draw_rows(screen, &view, (int)TOP_HEAD_LINES, body - path_lines);
    if (!count && body > 2)
        (void)mvaddstr((int)TOP_HEAD_LINES + 1, 2, "no thread's name matches");
    if (path_lines)
        draw_path(&view, &view.interval->row[order[screen->cursor]], LINES - 1 - path_lines,
                  path_lines);
    free(order);
}

/* ---- keys ---- */

static void quit(struct top_screen *screen, int key)
{
    (void)key;
    screen->quits = true;
}

static void help(struct top_screen *screen, int key)
{
    (void)key;
    screen->mode = MODE_HELP;
}

static void begin_filter(struct top_screen *screen, int key)
{
    (void)key;
    screen->mode = MODE_FILTER;
    screen->typed[0] = '\0';
}

static void toggle_pause(struct top_screen *screen, int key)
{
    (void)key;
    screen->paused = !screen->paused;
}

static void sort_by(struct top_screen *screen, int key)
{
    /* The first letter, but for those whose is taken. */
    static const struct {
        int key;
        const char *name;
    } keys[] = {{'c', "cpu"},    {'w', "waiting"}, {'a', "calls"},  {'s', "switches"},
                {'f', "faults"}, {'d', "delay"},   {'m', "mounts"}, {'n', "name"}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        for (size_t j = 0; keys[i].key == key && j < interval_sort_count; j++)
            if (strcmp(keys[i].name, interval_sorts[j].name) == 0)
                screen->request.sort = &interval_sorts[j];
    screen->first = 0;
}

static void sort_next(struct top_screen *screen, int key)
{
    size_t at = (size_t)(screen->request.sort - interval_sorts);
    size_t step = key == '>' ? 1 : interval_sort_count - 1;

    screen->request.sort = &interval_sorts[(at + step) % interval_sort_count];
    screen->first = 0;
}

static void change_interval(struct top_screen *screen, int key)
{
    uint64_t *interval_ns = &screen->request.interval_ns;

    *interval_ns = key == '+' ? *interval_ns * 2 : *interval_ns / 2;
    if (*interval_ns < INTERVAL_LEAST)
        *interval_ns = INTERVAL_LEAST;
    if (*interval_ns > INTERVAL_MOST)
        *interval_ns = INTERVAL_MOST;
}

static void move_key(struct top_screen *screen, int key)
{
    move_cursor(screen, key == KEY_UP      ? -1
                        : key == KEY_DOWN  ? 1
                        : key == KEY_PPAGE ? -screen->page
                        : key == KEY_NPAGE ? screen->page
                                           : (int64_t)UINT32_MAX);
}

static void follow_top(struct top_screen *screen, int key)
{
    (void)key;
    forget_selected(screen);
    screen->first = 0;
}

static const struct key {
    int keys[8];
    void (*act)(struct top_screen *screen, int key);
    const char *help;
} key_table[] = {
    {{KEY_UP, KEY_DOWN, KEY_PPAGE, KEY_NPAGE, KEY_END},
     move_key,
     "Up Down PgUp PgDn End   select a thread; its hot path is shown below"},
    {{KEY_HOME}, follow_top, "Home        select whatever thread comes first"},
    {{'<', '>'}, sort_next, "< >         sort by the key before, the next key"},
    {{'c', 'w', 'a', 's', 'f', 'd', 'm', 'n'},
     sort_by,
     "c w a s     sort by cpu, waiting, calls, switches"},
    {{0}, NULL, "f d m n     sort by faults, delay, mounts, name"},
    {{'/'}, begin_filter, "/           show threads of a name only; * and ? may stand in it"},
    {{' '}, toggle_pause, "Space       hold the picture, and go on"},
    {{'+', '-'}, change_interval, "+ -         double the interval, halve it"},
    {{'h', '?'}, help, "h ?         this help"},
    {{'q', 'Q'}, quit, "q           quit"},
};
#define KEY_ROWS       (sizeof(key_table) / sizeof(key_table[0]))
#define FILTER_COLUMNS 24u

static void draw_help(void)
{
    (void)mvaddstr(0, 0, "Keys of treadle top; any key leads back");
    for (size_t i = 0; i < KEY_ROWS && (int)i + 2 < LINES; i++)
        draw_line((int)i + 2, 2, 0, strdup(key_table[i].help));
}

static void draw_status(const struct top_screen *screen)
{
    const struct top_request *request = &screen->request;
    uint64_t asked_ns = request->interval_ns;
    uint64_t least_ns = top_readings__due_ns(screen->readings, 0) - screen->readings->taken_ns;
    const char *threads = request->threads;
    char *only =
        threads ? text__printable_middle((struct text){threads, strlen(threads)}, FILTER_COLUMNS)
                : NULL;
    char line[640];

    if (screen->mode == MODE_FILTER)
        snprintf(line, sizeof(line), "threads named: %s_   (Enter; empty for all)", screen->typed);
    else if (screen->is_over)
        snprintf(line, sizeof(line), "%s; this is its last interval; q quits",
                 screen->readings->message);
    else
        snprintf(line, sizeof(line), "%severy %s%s  sorted by %s%s%s  h help  q quit",
                 screen->paused ? "HELD  " : "", quantity__ns(asked_ns).text,
                 least_ns > asked_ns ? " or longer" : "", request->sort->name,
                 only ? "  only " : "", only ? only : "");
    draw_line(LINES - 1, 0, (int)A_REVERSE,
              text__printable((struct text){line, strlen(line)}, COLS > 1 ? (size_t)COLS - 1 : 1));
    free(only);
}

static void draw(struct top_screen *screen)
{
    (void)erase();
    if (screen->mode == MODE_HELP)
        draw_help();
    else if (screen->readings->interval)
        draw_interval(screen);
    else if (LINES > 1)
        (void)mvaddstr(0, 0, "the first interval is being measured");
    draw_status(screen);
    (void)refresh();
}

static void set_filter(struct top_screen *screen)
{
    snprintf(screen->glob, sizeof(screen->glob), "%s", screen->typed);
    screen->request.threads = screen->typed[0] ? screen->glob : NULL;
    screen->first = 0;
}

static void type(struct top_screen *screen, int key)
{
    size_t length = strlen(screen->typed);

    if (key == '\n' || key == '\r' || key == KEY_ENTER || key == 27) {
        screen->mode = MODE_THREADS;
        if (key != 27)
            set_filter(screen);
    } else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && length) {
        /* All bytes of a character go together. */
        while (length && (screen->typed[--length] & 0xc0) == 0x80)
            continue;
        screen->typed[length] = '\0';
    } else if (key >= ' ' && key <= 0xff && key != 127 && length + 1 < sizeof(screen->typed)) {
        screen->typed[length] = (char)key;
        screen->typed[length + 1] = '\0';
    }
}

static void press(struct top_screen *screen, int key)
{
    if (key == KEY_RESIZE)
        return;
    if (screen->mode == MODE_FILTER) {
        type(screen, key);
        return;
    }
    if (screen->mode == MODE_HELP) {
        screen->mode = MODE_THREADS;
        return;
    }
    for (size_t i = 0; i < KEY_ROWS; i++)
        for (size_t j = 0; j < 8 && key_table[i].keys[j]; j++)
            if (key_table[i].keys[j] == key) {
                key_table[i].act(screen, key);
                return;
            }
}

/* ---- time ---- */

static void take_reading(struct top_screen *screen)
{
    if (top_readings__take(screen->readings) == TOP_FAILED) {
        screen->is_over = true;
        return;
    }
    if (screen->readings->interval && screen->request.count &&
        ++screen->intervals >= screen->request.count)
        screen->quits = true;
}

static long milliseconds_left(const struct top_screen *screen)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t due_ns = top_readings__due_ns(screen->readings, screen->request.interval_ns);

    if (screen->is_over || screen->paused)
        return WAIT_MOST_MS;
    uint64_t left_ms = due_ns > now_ns ? (due_ns - now_ns + 999999) / 1000000 : 0;
    return left_ms < WAIT_MOST_MS ? (long)left_ms : WAIT_MOST_MS;
}

static void run(struct top_screen *screen)
{
    bool is_there = true;

    while (!screen->quits && is_there && !terminal_guard__signal()) {
        int key;

        draw(screen);
        long left_ms = milliseconds_left(screen);
        is_there = terminal_guard__wait(left_ms);
        while ((key = getch()) != ERR && !screen->quits)
            press(screen, key);
        if (!screen->paused && !screen->is_over && !screen->quits && milliseconds_left(screen) == 0)
            take_reading(screen);
    }
}

int top_screen__run(const struct top_request *request, struct top_readings *readings)
{
    struct top_screen screen = {.request = *request, .readings = readings};

    if (terminal_guard__take() != 0) {
        const char *kind = getenv("TERM");

        return command__fail("no full screen on a terminal '%s'; `treadle top --once` needs none",
                             kind ? kind : "");
    }
    run(&screen);
    int number = terminal_guard__signal();
    terminal_guard__give_back();
    forget_selected(&screen);
    if (number && number != SIGINT)
        (void)raise(number);
    if (screen.is_over)
        command__note("%s", readings->message);
    return EXIT_FINE;
}
