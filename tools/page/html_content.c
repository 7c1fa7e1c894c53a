#include "tools/page/html_content.h"

#include "native/metrics/kernel_metrics.h"
#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"
#include "tools/report/report_losses.h"
#include "tools/views/view_latency.h"

#include <errno.h>
#include <string.h>

enum html_frame html_content__frame(enum ledger_node_kind kind)
{
    static const enum html_frame frames[] = {
        [NODE_ROOT] = HTML_FRAME_ROOT,     [NODE_EXACT] = HTML_FRAME_EXACT,
        [NODE_GAP] = HTML_FRAME_GAP,       [NODE_SAMPLED] = HTML_FRAME_SAMPLED,
        [NODE_NATIVE] = HTML_FRAME_NATIVE, [NODE_KERNEL] = HTML_FRAME_KERNEL,
        [NODE_FOLDED] = HTML_FRAME_FOLDED, [NODE_UNSEEN] = HTML_FRAME_UNSEEN,
        [NODE_LOGICAL] = HTML_FRAME_EXACT,
    };

    return frames[kind];
}

json_t *html_content__column(uint64_t of_nodes, enum report_column column)
{
    static const char *const units[] = {
        [UNIT_NS] = "ns", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes"};
    json_t *object = json_object();
    bool kernel = column >= COLUMN_KERNEL;
    const char *meaning =
        kernel ? kernel_metric__get((enum ledger_metric)((unsigned)column - COLUMN_KERNEL))->meaning
               : "";

    json_object_set_new(object, "name", json_string(report_column__name(column)));
    json_object_set_new(object, "key", json_string(report_column__key(column)));
    json_object_set_new(object, "title", json_string(report_column__title(column)));
    json_object_set_new(object, "meaning", json_string(meaning));
    json_object_set_new(object, "unit", json_string(units[report_column__unit(column)]));
    json_object_set_new(object, "of_nodes", json_boolean(of_nodes >> column & 1));
    return object;
}

static void append_text(json_t *array, const char *text)
{
    struct text_store texts = {0};

    json_array_append_new(array, json_row__text(text__from_java(&texts, text, strlen(text))));
    text_store__release(&texts);
}

json_t *html_content__losses(const struct report_model *model)
{
    struct report_losses_line losses[REPORT_LOSSES_LINES];
    size_t count = report_losses__of(model, losses);
    json_t *array = json_array();
    char corrected[CORRECTED_TEXT_BYTES];

    for (size_t i = 0; i < count; i++)
        append_text(array, losses[i].text);
    report_losses__corrected(&model->header, corrected);
    if (corrected[0])
        append_text(array, corrected);
    return array;
}

void html_content__values(struct html_block *block, const struct report_model *model,
                          const bool *selected, const uint64_t *values)
{
    uint64_t between = 0;

    for (uint32_t i = 0; i < model->node_count; i++) {
        if (!selected[model->nodes[i].thread])
            continue;
        if (values[i]) {
            html_block__number(block, between);
            html_block__number(block, values[i]);
            between = 0;
        } else {
            between++;
        }
    }
}

json_t *html_content__file_name(const char *path)
{
    struct text_store texts = {0};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    json_t *result = json_row__text(text__from_java(&texts, name, strlen(name)));

    text_store__release(&texts);
    return result;
}

int html_content__methods(struct html_block *block, FILE *out, const struct report_method *methods,
                          uint32_t count)
{
    FILE *stream = html_block__begin_stream(block, out, "methods");

    if (!stream)
        return -ENOMEM;
    fputc('[', stream);
    for (uint32_t i = 0; i < count; i++) {
        const struct report_method *method = &methods[i];
        struct text_store texts = {0};
        json_t *row = json_array();

        json_array_append_new(row, json_row__text(method->class_name));
        json_array_append_new(row, json_row__text(report_method__full_name(&texts, method)));
        json_array_append_new(row, json_row__text(method->signature));
        json_array_append_new(row, json_row__text(method->source));
        fputs(i ? "," : "", stream);
        json_row__write(stream, row);
        text_store__release(&texts);
    }
    fputc(']', stream);
    html_block__end_stream(block, stream);
    return 0;
}

json_t *html_content__latency(const struct report_latency *latency)
{
    json_t *row = json_object(), *cpu = json_object();

    json_object_set_new(row, "method", json_row__integer(latency->method));
    json_object_set_new(row, "calls", json_row__integer(latency->calls));
    json_object_set_new(row, "count", json_row__integer(latency->of[LATENCY_ELAPSED].count));
    view_latency__add(row, &latency->of[LATENCY_ELAPSED]);
    json_object_set_new(row, "histogram", view_latency__buckets(&latency->of[LATENCY_ELAPSED]));
    view_latency__add(cpu, &latency->of[LATENCY_CPU]);
    json_object_set_new(cpu, "histogram", view_latency__buckets(&latency->of[LATENCY_CPU]));
    json_object_set_new(row, "cpu", cpu);
    return row;
}
