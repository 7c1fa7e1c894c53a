#include "tools/report/report_images.h"

#include "tools/report/memory.h"
#include "tools/report/report_errors.h"

#include <stdlib.h>
#include <string.h>

/* The rows that are no file's come first. */
enum fixed_row {
    ROW_JAVA,
    ROW_INTERPRETED,
    ROW_NO_FRAME,
    ROW_NO_SAMPLES,
    FIXED_ROWS,
};

struct counting {
    const struct report_model *model;
    enum report_column column;    /* whose errors are wanted … */
    struct report_errors *errors; /* … of the nodes; or NULL: they have none */
    struct image_row *rows;
    double *squares; /* by row: of the errors of its nodes */
    uint32_t row_count;
    uint32_t *row_of; /* by method, of native functions */
};

static const struct text no_text = {"", 0};

struct by_image {
    uint32_t method;
    struct text image;
};

static int compare_image(const void *a, const void *b)
{
    const struct by_image *x = a;
    const struct by_image *y = b;
    int order = text__compare(x->image, y->image);

    return order ? order : x->method < y->method ? -1 : x->method > y->method;
}

static struct image_row row_of_image(const struct report_method *method)
{
    bool jvm = strcmp(method->image.bytes, "[jvm]") == 0;
    bool kernel = strcmp(method->image.bytes, "[kernel]") == 0;

    return (struct image_row){
        .kind = jvm      ? IMAGE_JVM
                : kernel ? IMAGE_KERNEL
                         : IMAGE_NATIVE,
        .name = method->class_name,
        .path = jvm || kernel ? no_text : method->image,
    };
}

/* A row for each image, and which one each native function belongs to. */
static void find_images(struct counting *counting)
{
    const struct report_model *model = counting->model;
    struct by_image *sorted = memory__zeroed(model->method_count, sizeof(*sorted));
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->method_count; i++)
        if (report_method__is_native_function(&model->methods[i]))
            sorted[count++] = (struct by_image){i, model->methods[i].image};
    qsort(sorted, count, sizeof(*sorted), compare_image);
    counting->rows = memory__zeroed((size_t)FIXED_ROWS + count, sizeof(*counting->rows));
    counting->squares = memory__zeroed((size_t)FIXED_ROWS + count, sizeof(*counting->squares));
    counting->rows[ROW_JAVA] =
        (struct image_row){.kind = IMAGE_JAVA, .name = {"Java, compiled", 14}, .path = no_text};
    counting->rows[ROW_INTERPRETED] = (struct image_row){
        .kind = IMAGE_INTERPRETED, .name = {"Java, interpreted", 17}, .path = no_text};
    counting->rows[ROW_NO_FRAME] =
        (struct image_row){.kind = IMAGE_NO_FRAME, .name = {"(no frame)", 10}, .path = no_text};
    counting->rows[ROW_NO_SAMPLES] =
        (struct image_row){.kind = IMAGE_NO_SAMPLES, .name = {"(no samples)", 12}, .path = no_text};
    counting->row_count = FIXED_ROWS;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || text__compare(sorted[i - 1].image, sorted[i].image) != 0)
            counting->rows[counting->row_count++] = row_of_image(&model->methods[sorted[i].method]);
        counting->row_of[sorted[i].method] = counting->row_count - 1;
    }
    free(sorted);
}

/* To the nearest whole one. */
static uint64_t part_of(uint64_t value, uint64_t part, uint64_t whole)
{
    if (part >= whole)
        return whole ? value : 0;
    return (uint64_t)(((unsigned __int128)value * part + whole / 2) / whole);
}

/* Part of a node's base: a row that has any may be off by as much as the node. */
static void add_part(struct counting *counting, uint32_t node, uint32_t row,
                     enum report_column column, uint64_t part)
{
    counting->rows[row].base[column] += part;
    if (part && counting->errors && column == counting->column)
        counting->squares[row] +=
            (double)counting->errors->base[node] * (double)counting->errors->base[node];
}

/* All of a node's base to one row, or to the other where no sample that says something of it has
 * the node on top; but the part of interpreted code. */
static void add_base(struct counting *counting, uint32_t node, uint32_t with, uint32_t without,
                     uint64_t interpreted, uint64_t met)
{
    const struct report_model *model = counting->model;

    for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
        if (!model->base[column])
            continue;
        uint64_t base = model->base[column][node];
        enum report_column samples = report_columns__samples_of(&model->header, column);
        uint32_t row = with == without || model->base[samples][node] ? with : without;
        uint64_t slow = part_of(base, interpreted, met);
        add_part(counting, node, ROW_INTERPRETED, column, slow);
        add_part(counting, node, row, column, base - slow);
    }
}

static void add_node(struct counting *counting, uint32_t node)
{
    const struct report_model *model = counting->model;
    const struct report_samples *samples = &model->samples[node];
    uint64_t own = model->base[COLUMN_SAMPLES][node];
    uint32_t row = counting->row_of[model->nodes[node].method];

    switch (model->nodes[node].kind) {
    case NODE_NATIVE:
    case NODE_KERNEL:
        row = row ? row : ROW_NO_FRAME;
        add_base(counting, node, row, row, 0, 0);
        break;
    case NODE_SAMPLED:
        add_base(counting, node, ROW_JAVA, ROW_JAVA, samples->interpreted,
                 model->cum[COLUMN_SAMPLES][node]);
        break;
    case NODE_EXACT:
        add_base(counting, node, ROW_JAVA, ROW_NO_SAMPLES, samples->interpreted, own);
        break;
    case NODE_UNSEEN:
        add_base(counting, node, ROW_NO_SAMPLES, ROW_NO_SAMPLES, 0, 0);
        break;
    case NODE_ROOT:
    case NODE_LOGICAL:
    case NODE_GAP:
    case NODE_FOLDED:
        add_base(counting, node, ROW_NO_FRAME, ROW_NO_SAMPLES, 0, 0);
        break;
    }
}

static bool is_empty(const struct image_row *row)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (row->base[column])
            return false;
    return true;
}

struct report_images *report_images__new(const struct report_model *model, const bool *selected,
                                         enum report_column column)
{
    struct report_images *images = memory__zeroed(1, sizeof(*images));
    struct counting counting = {.model = model, .column = column};

    counting.errors = report_errors__of_nodes(model, column);
    counting.row_of = memory__zeroed(model->method_count, sizeof(*counting.row_of));
    find_images(&counting);
    for (uint32_t i = 0; model->samples && i < model->node_count; i++)
        if (selected[model->nodes[i].thread])
            add_node(&counting, i);
    for (uint32_t i = 0; i < counting.row_count; i++) {
        counting.rows[i].error = report_errors__of_squares(counting.squares[i]);
        if (!is_empty(&counting.rows[i]))
            counting.rows[images->row_count++] = counting.rows[i];
    }
    images->rows = counting.rows;
    free(counting.squares);
    report_errors__free(counting.errors);
    free(counting.row_of);
    return images;
}

void report_images__free(struct report_images *images)
{
    free(images->rows);
    free(images);
}

const char *image_kind__name(enum image_kind kind)
{
    static const char *const names[] = {
        [IMAGE_JAVA] = "java",
        [IMAGE_INTERPRETED] = "interpreted",
        [IMAGE_JVM] = "jvm",
        [IMAGE_NATIVE] = "native",
        [IMAGE_KERNEL] = "kernel",
        [IMAGE_NO_FRAME] = "no_frame",
        [IMAGE_NO_SAMPLES] = "no_samples",
    };

    return names[kind];
}

struct text report_images__of_method(const struct report_method *method)
{
    if (report_method__is_native_function(method))
        return method->class_name;
    return method->class_name.length ? (struct text){"Java", 4} : (struct text){"(no frame)", 10};
}
