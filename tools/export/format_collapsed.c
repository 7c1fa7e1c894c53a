/*
 * Collapsed stacks, as flame graph programs read them: "thread;frame;frame value", one line a node
 * whose base is not 0, the outermost frame first. A root's own line has the thread only.
 */
#include "tools/export/call_path.h"
#include "tools/export/export_format.h"
#include "tools/export/frame_names.h"
#include "tools/views/view_losses.h"

#include <inttypes.h>

static void write_thread(const struct export_job *job, const struct frame_names *names,
                         struct call_path *path, uint32_t thread, FILE *out)
{
    const struct report_model *model = job->model;
    const struct report_thread *row = &model->threads[thread];
    struct text_store store = {0};

    call_path__enter(path, 0, frame_text__escaped(&store, thread_name__of(row), ';'));
    for (uint32_t i = row->first_node; i < row->end_node; i++) {
        const struct report_node *node = &model->nodes[i];
        uint64_t value = model->base[job->column][i];

        if (node->depth > 0)
            call_path__enter(path, node->depth, names->items[node->method]);
        if (value == 0)
            continue;
        struct text text = call_path__text(path);
        fwrite(text.bytes, 1, text.length, out);
        fprintf(out, " %" PRIu64 "\n", value);
    }
    text_store__release(&store);
}

int format_collapsed__write(const struct export_job *job, FILE *out, const char *path)
{
    (void)path;
    struct frame_names names;
    struct call_path stack = {0};
    frame_names__make(&names, job->model, job->selected);
    frame_names__escape(&names, job->model);
    for (uint32_t i = 0; i < job->model->thread_count && !ferror(out); i++)
        if (job->selected[i])
            write_thread(job, &names, &stack, i, out);
    view_losses__collapsed(out, job->model, job->source, "0");
    call_path__release(&stack);
    frame_names__release(&names);
    return 0;
}
