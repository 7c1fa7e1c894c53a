#include "tools/page/html_moments.h"

#include "tools/arguments/ledger_argument.h"
#include "tools/command.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/output/json_rows.h"
#include "tools/page/html_content.h"
#include "tools/report/memory.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_moments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool open_one(struct html_moment *moment, const char *source)
{
    char message[512];

    moment->path = ledger_argument__path(source);
    if (!moment->path)
        return false;
    moment->reader = live_ledger__read(moment->path, message, sizeof(message));
    if (!moment->reader) {
        command__fail("%s", message);
        return false;
    }
    struct report_model *model = report_model__load(moment->reader, 0);
    uint64_t start_ns = report_process__start_ns(&model->header);
    moment->asof_ns = report_model__asof_ns(model);
    moment->at_ns = report_model__epoch_ns(model, moment->asof_ns);
    moment->wall_ns = moment->at_ns > start_ns ? moment->at_ns - start_ns : 0;
    report_model__free(model);
    return true;
}

static int compare_moments(const void *a, const void *b)
{
    const struct html_moment *x = a;
    const struct html_moment *y = b;

    return (x->asof_ns > y->asof_ns) - (x->asof_ns < y->asof_ns);
}

/* One process, and one ledger of it: after another begin of profiling all counts from 0. */
static bool is_one_process(const struct html_moment *a, const struct html_moment *b)
{
    const struct ledger_header *x = ledger_reader__header(a->reader);
    const struct ledger_header *y = ledger_reader__header(b->reader);
    static const char need[] = "a heat map needs snapshots of one process";
    const char *merged = x->pid == 0 ? a->path : y->pid == 0 ? b->path : NULL;

    if (merged)
        command__fail("%s: is merged from several ledgers; %s", merged, need);
    else if (x->pid != y->pid)
        command__fail("%s: is of process %d, %s of process %d; %s; `treadle diff` compares two",
                      b->path, (int)y->pid, a->path, (int)x->pid, need);
    else if (x->start_ticks != y->start_ticks || x->epoch_ns != y->epoch_ns)
        command__fail("%s: is of another run than %s; %s; `treadle diff` compares two", b->path,
                      a->path, need);
    else
        return true;
    return false;
}

static void close_one(struct html_moment *moment)
{
    if (moment->reader)
        ledger_reader__close(moment->reader);
    free(moment->path);
    *moment = (struct html_moment){0};
}

/* What two ledgers say of the same moment is said once. */
static void leave_out_the_same(struct html_moments *moments)
{
    uint32_t kept = 1;

    for (uint32_t i = 1; i < moments->count; i++) {
        struct html_moment *before = &moments->moments[kept - 1];
        struct html_moment *moment = &moments->moments[i];

        if (moment->asof_ns == before->asof_ns) {
            fprintf(stderr, "treadle: %s: is of the same moment as %s; left out\n", moment->path,
                    before->path);
            close_one(moment);
            continue;
        }
        moments->moments[kept++] = *moment;
    }
    moments->count = kept;
}

struct html_moments *html_moments__open(char *const *sources, uint32_t count)
{
    struct html_moments *moments = memory__zeroed(1, sizeof(*moments));

    moments->moments = memory__zeroed(count, sizeof(*moments->moments));
    for (uint32_t i = 0; i < count; i++) {
        moments->count++;
        if (!open_one(&moments->moments[i], sources[i]) ||
            (i > 0 && !is_one_process(&moments->moments[0], &moments->moments[i]))) {
            html_moments__close(moments);
            return NULL;
        }
    }
    qsort(moments->moments, count, sizeof(*moments->moments), compare_moments);
    leave_out_the_same(moments);
    return moments;
}

void html_moments__close(struct html_moments *moments)
{
    for (uint32_t i = 0; i < moments->count; i++)
        close_one(&moments->moments[i]);
    free(moments->moments);
    free(moments);
}

/* A table of values for each column, by node of the last reading. */
struct values {
    uint64_t *of[COLUMN_COUNT];
};

static void take_room(struct values *values, uint64_t columns, uint32_t nodes)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column))
            values->of[column] = memory__zeroed(nodes, sizeof(uint64_t));
}

static void release(struct values *values)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        free(values->of[column]);
}

static void add_last(struct values *values, const struct report_model *last)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (values->of[column] && last->base[column])
            memcpy(values->of[column], last->base[column],
                   last->node_count * sizeof(*values->of[column]));
}

static uint64_t add_earlier(struct values *values, const struct html_moment *moment,
                            const struct report_moments *finder, uint64_t columns,
                            const struct symbol_names *names)
{
    uint64_t left_out = 0;
    struct report_model *earlier = report_model__load_named(moment->reader, columns, names);
    uint32_t *node_of = report_moments__find(finder, earlier, &left_out);

    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (values->of[column])
            report_moments__add(values->of[column], node_of, earlier, column);
    free(node_of);
    report_model__free(earlier);
    return left_out;
}

static void write_growth(struct html_block *block, FILE *out, const char *name,
                         const struct report_model *last, const bool *selected,
                         const uint64_t *growth)
{
    html_block__begin(block, out, name);
    html_content__values(block, last, selected, growth);
    html_block__end(block);
}

void html_moments__write_columns(struct html_moments *moments, struct html_block *block, FILE *out,
                                 const struct report_model *last, const bool *selected,
                                 uint64_t columns, const struct symbol_names *names)
{
    struct report_moments *finder = report_moments__new(last);
    uint64_t *growth = memory__zeroed(last->node_count, sizeof(*growth));
    struct values before = {0};

    moments->left_out = 0;
    for (uint32_t i = 0; i < moments->count; i++) {
        struct values now = {0};

        take_room(&now, columns, last->node_count);
        if (i + 1 == moments->count)
            add_last(&now, last);
        else
            moments->left_out += add_earlier(&now, &moments->moments[i], finder, columns, names);
        for (enum report_column column = 0; column < COLUMN_COUNT && i > 0; column++) {
            char name[80];

            if (!now.of[column])
                continue;
            snprintf(name, sizeof(name), "moment-%u-%s", i - 1, report_column__name(column));
            report_moments__grow(last, before.of[column], now.of[column], growth);
            write_growth(block, out, name, last, selected, growth);
        }
        release(&before);
        before = now;
    }
    release(&before);
    free(growth);
    report_moments__free(finder);
}

int html_moments__write_list(const struct html_moments *moments, struct html_block *block,
                             FILE *out)
{
    FILE *stream = html_block__begin_stream(block, out, "moments");

    if (!stream)
        return -ENOMEM;
    json_t *all = json_object();
    json_t *list = json_array();
    for (uint32_t i = 0; i < moments->count; i++) {
        const struct html_moment *moment = &moments->moments[i];
        json_t *object = json_object();

        json_object_set_new(object, "ledger", html_content__file_name(moment->path));
        json_object_set_new(object, "asof_ns", json_row__integer(moment->asof_ns));
        json_object_set_new(object, "at_ns", json_row__integer(moment->at_ns));
        json_object_set_new(object, "wall_ns", json_row__integer(moment->wall_ns));
        json_array_append_new(list, object);
    }
    json_object_set_new(all, "moments", list);
    json_object_set_new(all, "left_out", json_row__integer(moments->left_out));
    json_row__write(stream, all);
    html_block__end_stream(block, stream);
    return 0;
}
